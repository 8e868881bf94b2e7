"""Base class for force laws: a name, and forces that follow from time, state and contact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from functools import wraps
from traceback import extract_tb
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..._deprecated import former_methods
from ...arrays import Graph, is_numeric
from ...arrays.arguments import is_scalar, look_first
from ...arrays.numpy_protocol import natural, plain
from ...arrays.traced import TracedValueError
from ...dynamics.checks import check_fields, check_model
from ...errors import ModelError, describe
from ...model import Model, State
from .capabilities import DryFrictionLimit, Impedance, OwnState, Saturation


def _look(law: Law, model: Any, t: Any, state: Any, touching: Any) -> None:
    """Whether a law can answer this; values are not looked at."""
    check_fields(model, state)
    if not is_scalar(t):
        raise ModelError(f"the time of {law.name!r} is a number (s), not {describe(t)}")
    if not isinstance(touching, Set):
        raise ModelError(f"touching is a set of names of points, not {describe(touching)}")


_LOOKS: Mapping[str, Callable[..., None]] = {
    "forces": _look,
    "energy": lambda law, model, state: check_fields(model, state),
    "measured": lambda law, model, state: check_fields(model, state),
    "check": lambda law, model: check_model(model),
}


def _natural(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a law, given its state so that NumPy's own functions take expressions too."""

    @wraps(method)
    def asked(law: Law, *given: Any, **named: Any) -> Any:
        state = next((x for x in (*given, *named.values()) if isinstance(x, State)), None)
        if state is None or all(is_numeric(x) for x in state):
            return method(law, *given, **named)
        given = tuple(State(*map(natural, x)) if isinstance(x, State) else natural(x) for x in given)
        try:
            return plain(method(law, *given, **named))
        except (TypeError, IndexError) as error:
            instead = (
                ""
                if isinstance(error, TracedValueError)
                else f"{_place(error)}; write it with functions of fallingcat.arrays"
            )
            if isinstance(error, IndexError):
                instead = "; cases are where(c, a, b), not x[c] = a"
            raise ModelError(f"law {law.name!r} on expressions, of which steps are made: {error}{instead}") from error

    return asked


def _place(error: Exception) -> str:
    """The line of the user's in which NumPy was asked, if it is known."""
    frames = extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.line and "site-packages" not in frame.filename]
    return f" in `{lines[-1][:80]}`" if lines else ""


_WRITTEN = {"forces", "saturated_forces", "energy", "joint_impedance", "memory_rate", "after"}
"""The methods that a user writes for every kind of number."""


class Law(Impedance, Saturation, DryFrictionLimit, OwnState, ABC):
    """Forces on a robot, written for every kind of number, so that a whole simulation step can be compiled.

    Write your own as a frozen dataclass: ``name`` is its line in the energy ledger, and :meth:`forces` uses NumPy or
    ``fallingcat.arrays``, with ``where`` for cases instead of ``if`` on values.  Whether something touches *is* plain
    data: a law may ask ``if "foot" in touching``.  A law that is the gradient of an energy may say so by a method
    ``energy(model, state)`` (J), which :func:`fallingcat.testing.check_law` then holds it to.

    What else a law may offer is in :mod:`fallingcat.control.laws.capabilities`: :class:`.Impedance`, :class:`.Saturation`,
    :class:`.DryFrictionLimit` and :class:`.OwnState`; none of it has to be.

    A law may have a state of its own, as an observer has: :meth:`memory_size` numbers, ``self.memory`` in its methods,
    from :meth:`begin` on.  Put into a run as it is, it is integrated with the robot by :meth:`memory_rate`; in a
    :class:`.Sampled`, it goes from look to look by :meth:`after`, and sees what is :meth:`sensed`.
    """

    name: str
    commanded: bool = True
    """Whether drives bring it about, so that their limits bound it; not so the springs that are built into a robot."""
    tunable: tuple[str, ...] | None = None
    """Names of the fields, floats or laws, whose numbers are arguments of compiled steps, so that robots of a batch may
    differ in them; None: all fields that hold a float or a law, ``()``: none.  A law that cannot be traced without
    their values, because it branches on one, say, keeps them as constants."""
    ignores_contact: bool = False
    """Whether its forces never ask what touches: beside a controller in Python they are then compiled."""
    nominal_inertia: bool = False
    """Whether it is made for the inertias of the model, so that robots with inertias of their own feel the same."""

    inputs: Mapping[str, str] = MappingProxyType({})
    """Numbers that every call of a compiled step may give anew, without another compilation: the names by which calls
    give them (``sim.step(targets=...)``), and the fields that hold them, floats or tuples of floats."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        former_methods(cls)
        for name in _WRITTEN & vars(cls).keys():
            setattr(cls, name, _natural(vars(cls)[name]))
        look_first(cls, _LOOKS)

    def __post_init__(self) -> None:
        """Fields are what they are declared to be: finite numbers, if they can be looked at, texts, rows of either,
        which become tuples, so that laws can be compared.
        """
        for field in getattr(self, "__dataclass_fields__", {}).values():
            kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
            wanted, none, _ = kind.partition(" | None")
            x = getattr(self, field.name)
            if wanted not in _DECLARED or (none and x is None):
                continue
            fits, rule = _DECLARED[wanted]
            if wanted.startswith("tuple") and (isinstance(x, list) or (isinstance(x, np.ndarray) and x.ndim == 1)):
                x = tuple(x.tolist() if isinstance(x, np.ndarray) else x)
                object.__setattr__(self, field.name, x)
            if not fits(x):
                whose = type(self).__name__ if wanted == "str" else repr(self.name)
                raise ModelError(f"{field.name} of {whose} {rule}{', or None' if none else ''}, not {describe(x)}")

    @abstractmethod
    def forces(self, model: Model, t: Any, state: State, touching: frozenset[str]) -> Any:
        """Generalised forces ``[base wrench; joint forces]`` (nv) at time ``t`` (s); ``touching``: points on the
        ground.
        """

    def sized(self, model: Model) -> Self:
        """The law with one number for each joint where its :attr:`inputs` may be given so: what compiled steps take."""
        return self

    def check_inputs(self) -> None:
        """Raises where :attr:`inputs` name fields that hold no numbers."""
        for name, field in self.inputs.items():
            x = getattr(self, field, None)
            if not (_is_number(x) or _is_row(x)):
                raise ModelError(
                    f"input {name!r} of {self.name!r}: its field {field!r} holds numbers, not {describe(x)}"
                )

    def check(self, model: Model) -> None:
        """Raises where the law cannot act on ``model``; asked once before a run, whatever is compiled later."""


look_first(Law, _LOOKS)


def _is_number(x: Any) -> bool:
    """Whether ``x`` is one finite number, or one of a compiled step, which cannot be looked at."""
    if is_numeric(x):
        return bool(np.shape(x) == () and np.isrealobj(x) and abs(x) <= int(np.finfo(float).max))
    return is_scalar(x) and hasattr(x, "__mul__") and not callable(x)


def _is_row(x: Any) -> bool:
    """Whether ``x`` is a tuple of such numbers."""
    return isinstance(x, tuple) and all(map(_is_number, x))


_DECLARED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "float": (_is_number, "is a finite number"),
    "str": (lambda x: isinstance(x, str), "is a text"),
    "tuple[float, ...]": (_is_row, "is a row of finite numbers"),
    "tuple[float, float, float]": (lambda x: _is_row(x) and len(x) == 3, "is a row of three finite numbers"),
    "tuple[str, ...]": (lambda x: isinstance(x, tuple) and all(isinstance(e, str) for e in x), "is a row of names"),
    "Model": (lambda x: isinstance(x, Model), "is a Model"),
}
"""By how a field is declared: whether something fits, and the rule."""


def acts_on_base(model: Model, law: Law) -> bool:
    """Whether a law's wrench on the base may be other than zero at any state: its expression is not just zeros.

    >>> from fallingcat.control import JointDamper
    >>> from fallingcat.model import robots
    >>> acts_on_base(robots.cat(), JointDamper(1.0))
    False
    """
    graph = Graph()
    state = model.unflatten(graph.inputs("q", model.nq), graph.inputs("v", model.nv))
    law = law.remembering(graph.inputs("memory", law.memory_size(model)))
    wrench = law.forces(model, graph.input("t"), state, frozenset())[: model.m]
    return any(not is_numeric(x) or x != 0.0 for x in wrench)
