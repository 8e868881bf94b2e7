"""Base class for force laws: generalized forces as a function of time, state and contact."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from functools import wraps
from inspect import signature
from traceback import extract_tb
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from ..._deprecated import former_methods
from ...arrays import Graph, is_numeric
from ...arrays.arguments import check_arguments_first, is_scalar, shape_of
from ...arrays.numpy_protocol import natural, simplest_array
from ...arrays.traced import TracedValueError
from ...arrays.types import Scalar, Vector_nv
from ...dynamics.checks import check_fields, check_model
from ...errors import ModelError, describe
from ...model import Model, State
from .capabilities import DryFrictionLimit, Impedance, OwnState, Saturation


def _check_forces_arguments(law: Law, model: Any, t: Scalar, state: Any, touching: Any) -> None:
    """Check the arguments of :meth:`Law.forces`, not their values."""
    check_fields(model, state)
    if not is_scalar(t):
        raise ModelError(f"the time of {law.name!r} must be a number (s), got {describe(t)}")
    if not isinstance(touching, Set):
        raise ModelError(f"touching must be a set of names of points, got {describe(touching)}")


_ARGUMENT_CHECKS: Mapping[str, Callable[..., None]] = {
    "forces": _check_forces_arguments,
    "energy": lambda law, model, state: check_fields(model, state),
    "measured": lambda law, model, state: check_fields(model, state),
    "check": lambda law, model: check_model(model),
}


def _natural(method: Callable[..., Any]) -> Callable[..., Any]:
    """Method of a law whose state makes NumPy's functions accept expressions too."""

    @wraps(method)
    def asked(law: Law, *given: Any, **named: Any) -> Any:
        state = next((x for x in (*given, *named.values()) if isinstance(x, State)), None)
        if state is None or all(is_numeric(x) for x in state):
            return method(law, *given, **named)
        _check_signature(law, method, *given, **named)
        given = tuple(State(*map(natural, x)) if isinstance(x, State) else natural(x) for x in given)
        try:
            found = simplest_array(method(law, *given, **named))
            _check_size(law, method.__name__, given[0] if given else None, found)
            return found
        except (TypeError, IndexError) as error:
            instead = (
                ""
                if isinstance(error, TracedValueError)
                else f"{_user_code_line(error)}; write it with functions of fallingcat.arrays"
            )
            if isinstance(error, IndexError):
                instead = "; cases are where(c, a, b), not x[c] = a"
            raise ModelError(f"law {law.name!r} cannot be compiled: {error}{instead}") from error

    return asked


def _check_signature(law: Law, method: Callable[..., Any], *given: Any, **named: Any) -> None:
    """Refuse a method that cannot be called with its arguments."""
    try:
        signature(method).bind(law, *given, **named)
    except TypeError as error:
        takes = ", ".join([*signature(getattr(Law, method.__name__)).parameters][1:])
        rule = f"{method.__name__} of law {law.name!r} is called with ({takes})"
        raise ModelError(f"{rule}: {error}") from None


def _check_size(law: Law, method: str, model: Any, found: Any) -> None:
    """Refuse forces that are not one for each degree of freedom."""
    if method != "forces" or not isinstance(model, Model) or shape_of(found) == (model.nv,):
        return
    parts = f"{model.m} on the base and {model.n} on joints" if model.m else "on joints"
    raise ModelError(f"forces of law {law.name!r} must have shape ({model.nv},), {parts}, got {shape_of(found)}")


def _user_code_line(error: Exception) -> str:
    """Last line of user code in a traceback, if it is known."""
    frames = extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.line and "site-packages" not in frame.filename]
    return f" in `{lines[-1][:80]}`" if lines else ""


def _has_name(cls: type) -> bool:
    """True if a law has a name, or a field for it."""
    return any(
        "name" in vars(base) or "name" in vars(base).get("__annotations__", {})
        for base in cls.__mro__[:-1]
        if base is not Law
    )


_REQUIRED_METHODS = {"forces", "saturated_forces", "energy", "joint_impedance", "memory_rate", "after"}
"""The methods that a user writes for every kind of number."""


class Law(Impedance, Saturation, DryFrictionLimit, OwnState, ABC):
    """Base class for force laws and controllers.

    A law is written for every kind of number, so that a whole simulation step can be compiled.  Write your own as a
    frozen dataclass: ``name`` is its line in the energy ledger, and :meth:`forces` uses NumPy or ``fallingcat.arrays``,
    with ``where`` for cases instead of ``if`` on values.  The set of touching points *is* plain data: a law may use
    ``if "foot" in touching``.  A law that is the gradient of an energy may define a method ``energy(model, state)``
    (J), which :func:`fallingcat.testing.check_law` then compares with the forces.

    Optional capabilities are in :mod:`fallingcat.control.laws.capabilities`: :class:`.Impedance`, :class:`.Saturation`,
    :class:`.DryFrictionLimit` and :class:`.OwnState`.

    A law may have a state of its own, as an observer has: :meth:`memory_size` numbers, ``self.memory`` in its methods,
    initialized by :meth:`begin`.  Put into a run as it is, the state is integrated with the robot by
    :meth:`memory_rate`; in a :class:`.SampledController` it advances from sample to sample by :meth:`after`, and the
    law receives the :meth:`sensed` state.

    Example:
        >>> from dataclasses import dataclass
        >>> import fallingcat as fc
        >>> @dataclass(frozen=True)
        ... class Drag(Law):
        ...     coefficient: float = 0.1  # N m s/rad
        ...     name: str = "drag"
        ...     def forces(self, model, t, state, touching):
        ...         return np.concatenate([np.zeros(model.m), -self.coefficient * state.rates])
        >>> arm = fc.robots.planar_arm()
        >>> Drag().forces(arm, 0.0, arm.state(rates=[1.0, 0.0, 2.0]), frozenset())
        array([-0.1, -0. , -0.2])
    """

    name: str
    """Line in the energy ledger; the name of the class where it gives none."""
    commanded: bool = True
    """True if drives exert it, so that their limits apply; False for springs that are built into a robot."""
    tunable: tuple[str, ...] | None = None
    """Names of the fields, floats or laws, whose numbers are arguments of compiled steps, so that robots of a batch may
    differ in them; None: all fields that hold a float or a law, ``()``: none.  A law that cannot be traced without
    their values, because it branches on one, say, keeps them as constants."""
    ignores_contact: bool = False
    """True if its forces do not depend on contact: beside a controller in Python they are then compiled."""
    nominal_inertia: bool = False
    """True if it uses the nominal inertias of the model, also for robots of a batch with inertias of their own."""

    inputs: Mapping[str, str] = MappingProxyType({})
    """Numbers that every call of a compiled step may give anew, without another compilation: the names by which calls
    give them (``sim.step(targets=...)``), and the fields that hold them, floats or tuples of floats."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the methods of a subclass: NumPy functions accept expressions, and arguments are checked first."""
        super().__init_subclass__(**options)
        former_methods(cls)
        if "forces" in vars(cls) and not _has_name(cls):
            cls.name = cls.__name__
        for name in _REQUIRED_METHODS & vars(cls).keys():
            setattr(cls, name, _natural(vars(cls)[name]))
        check_arguments_first(cls, _ARGUMENT_CHECKS)

    def __post_init__(self) -> None:
        """Check the fields against their declared types: finite numbers, texts, or rows of either.

        Rows become tuples, so that laws can be compared; numbers of compiled steps are not checked.
        """
        for field in getattr(self, "__dataclass_fields__", {}).values():
            kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
            wanted, none, _ = kind.partition(" | None")
            x = getattr(self, field.name)
            if wanted not in _FIELD_CHECKS or (none and x is None):
                continue
            fits, rule = _FIELD_CHECKS[wanted]
            if wanted.startswith("tuple") and (isinstance(x, list) or (isinstance(x, np.ndarray) and x.ndim == 1)):
                x = tuple(x.tolist() if isinstance(x, np.ndarray) else x)
                object.__setattr__(self, field.name, x)
            if not fits(x):
                whose = type(self).__name__ if wanted == "str" else repr(self.name)
                raise ModelError(f"{field.name} of {whose} {rule}{', or None' if none else ''}, got {describe(x)}")

    @abstractmethod
    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Generalized forces of the law.

        Args:
            model: Robot.
            t: Time (s).
            state: Configuration and velocity of the robot.
            touching: Names of the points on the ground.

        Returns:
            ``[base wrench; joint forces]`` (nv; N, N m), the wrench in the frame of the base.
        """

    def sized(self, model: Model) -> Self:
        """Law whose :attr:`inputs` have one number for each joint, as compiled steps take them.

        Args:
            model: Robot.

        Returns:
            The law itself where its inputs have a fixed size.
        """
        return self

    def check_inputs(self) -> None:
        """Check that the fields named by :attr:`inputs` hold numbers.

        Raises:
            ModelError: A field holds something else.
        """
        for name, field in self.inputs.items():
            x = getattr(self, field, None)
            if not (_is_number(x) or _is_row(x)):
                raise ModelError(
                    f"input {name!r} of {self.name!r}: its field {field!r} must hold numbers, got {describe(x)}"
                )

    def check(self, model: Model) -> None:
        """Check that the law fits a robot; called once before a run, whatever is compiled later.

        Args:
            model: Robot.

        Raises:
            ModelError: The law cannot act on this robot.
        """


check_arguments_first(Law, _ARGUMENT_CHECKS)


def _is_number(x: Any) -> bool:
    """True for one finite number, or one of a compiled step, whose value is unknown."""
    if type(x) is float:
        return math.isfinite(x)
    if is_numeric(x):
        return bool(np.shape(x) == () and np.isrealobj(x) and abs(x) <= int(np.finfo(float).max))
    return is_scalar(x) and hasattr(x, "__mul__") and not callable(x)


def _is_row(x: Any) -> bool:
    """True for a tuple of such numbers."""
    return isinstance(x, tuple) and all(map(_is_number, x))


_FIELD_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "float": (_is_number, "must be a finite number"),
    "str": (lambda x: isinstance(x, str), "must be a text"),
    "tuple[float, ...]": (_is_row, "must be a row of finite numbers"),
    "tuple[float, float, float]": (lambda x: _is_row(x) and len(x) == 3, "must be a row of three finite numbers"),
    "tuple[str, ...]": (
        lambda x: isinstance(x, tuple) and all(isinstance(e, str) for e in x),
        "must be a row of names",
    ),
    "Model": (lambda x: isinstance(x, Model), "must be a Model"),
}
"""By declared type of a field: test of a value, and the rule for the error message."""


def acts_on_base(model: Model, law: Law) -> bool:
    """True if a law may exert a wrench on the base: its expression is not identically zero.

    Args:
        model: Robot.
        law: Force law.

    Returns:
        False where the wrench is zero at every state.

    Example:
        >>> from fallingcat.control import JointDamper
        >>> from fallingcat.model import robots
        >>> acts_on_base(robots.cat(), JointDamper(1.0))
        False
    """
    graph = Graph()
    state = model.unflatten(graph.inputs("q", model.nq), graph.inputs("v", model.nv))
    law = law.with_memory(graph.inputs("memory", law.memory_size(model)))
    wrench = law.forces(model, graph.input("t"), state, frozenset())[: model.m]
    return any(not is_numeric(x) or x != 0.0 for x in wrench)
