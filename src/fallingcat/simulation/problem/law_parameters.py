"""Numbers of laws as arguments of machine code: other gains need no other code."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from ...arrays import Graph, is_numeric
from ...control import Law
from ...model import Model
from .compiled_dynamics import cached_kernel
from .fingerprint import field_names

LIBRARY = __name__.partition(".")[0]
ARGUMENT = "<argument>"
"""Value of a field whose number is an argument: part of what the kernels' cache knows a law by."""


def split_parameters(laws: Sequence[Law], model: Model) -> tuple[tuple[Law, ...], np.ndarray]:
    """Laws without their numbers, which is what the kernels' cache knows them by, and the numbers.

    These are the fields that hold a float, of laws and of laws in their fields, unless :attr:`.Law.tunable` names
    others.  A law of one's own whose methods cannot be traced without their values, because they branch on one, say,
    keeps its numbers: they are constants of its code.

    >>> from fallingcat.studies.hoppers import EnergyController, RadialSpring
    >>> from fallingcat.model import robots
    >>> hopper, spring = robots.revolute_hopper(), RadialSpring(2200.0, 0.14)
    >>> laws, numbers = split_parameters([EnergyController(10.0, 2.8, spring)], hopper)
    >>> numbers.tolist(), laws[0].gain
    ([10.0, 2.8, 2200.0, 0.14], '<argument>')
    """
    blank, numbers = list[Law](), list[float]()
    for law in laws:
        own = _numbers(law)
        without = _with(law, iter([ARGUMENT] * len(own)), float)
        taken = own if _takes_arguments(law, without, own, model) else []
        blank.append(without if taken else law)
        numbers += taken
    return tuple(blank), np.array(numbers)


def numbers_of(laws: Sequence[Law], blank: Sequence[Law]) -> list[float] | None:
    """The numbers of laws that are ``blank`` without them; None where they differ in more."""
    numbers = list[float]()
    for law, other in zip(laws, blank, strict=False):
        own = _numbers(law) if _float_fields(other, str) else []
        if (_with(law, iter([ARGUMENT] * len(own)), float) if own else law) != other:
            return None
        numbers += own
    return numbers if len(laws) == len(blank) else None


def tuned(laws: Sequence[Law], numbers: Sequence[Any]) -> tuple[Law, ...]:
    """The laws with other numbers, of any kind."""
    rest = iter(numbers)
    return tuple(_with(law, rest, str) for law in laws)


def field_sizes(blank: Sequence[Law]) -> dict[str, int]:
    """Count of numbers of each field of laws without their numbers, by the names of law and field."""
    return {f"{law.name}.{name}": len(_flat(value, str)) for law in blank for name, value in _float_fields(law, str)}


def _float_fields(law: Law, kind: type) -> list[tuple[str, Any]]:
    """Fields that hold floats, or the marks of arguments, or laws with such; inputs of a law may be tuples of them."""
    every = field_names(type(law)) if is_dataclass(law) else ()
    names, inputs = every if law.tunable is None else law.tunable, {*law.inputs.values()}
    held = [(name, getattr(law, name)) for name in dict.fromkeys((*names, *inputs))]
    return [(name, x) for name, x in held if isinstance(x, Law) or _fits(x, kind, name in inputs)]


def _fits(x: Any, kind: type, is_input: bool) -> bool:
    if is_input and isinstance(x, tuple):
        return (kind is float and {*map(type, x)} == {float}) or all(_fits(each, kind, True) for each in x)
    if kind is str:
        return type(x) is str and x == ARGUMENT
    return type(x) is float or (is_input and isinstance(x, (int, np.number)) and not isinstance(x, bool))


def _flat(value: Any, kind: type) -> list[Any]:
    """The numbers, or marks, of a field."""
    if isinstance(value, Law):
        return [x for _, part in _float_fields(value, kind) for x in _flat(part, kind)]
    return [x for each in value for x in _flat(each, kind)] if isinstance(value, tuple) else [value]


def _numbers(law: Law) -> list[float]:
    return _flat(law, float)


def _with(law: Law, numbers: Iterator[Any], kind: type) -> Law:
    changed = copy.copy(law)
    for name, value in _float_fields(law, kind):  # past __init__: a traced number has no value that could be checked
        new: Any
        if isinstance(value, Law):
            new = _with(value, numbers, kind)
        else:
            new = tuple(next(numbers) for _ in value) if isinstance(value, tuple) else next(numbers)
        object.__setattr__(changed, name, new)
    return changed


def _takes_arguments(law: Law, without: Law, own: list[float], model: Model) -> bool:
    """True if a law can be traced without the values of its numbers: the library's own laws can."""
    if not own or type(law).__module__.partition(".")[0] == LIBRARY:
        return bool(own)
    return bool(cached_kernel((_is_traced, model, without), lambda: _is_traced(law, len(own), model)))


class _EveryPoint(frozenset[str]):
    """Set of names that contains every name: all points touch."""

    def __contains__(self, name: object) -> bool:
        return True


def _is_traced(law: Law, count: int, model: Model) -> bool:
    """True if the methods that steps ask can be traced with ``count`` traced numbers."""
    graph = Graph()
    state = model.unflatten(graph.inputs("q", model.nq), graph.inputs("v", model.nv))
    clock, asked = graph.inputs("clock", 2), graph.inputs("asked", model.nv)
    at, dt = (model, clock[0], state), clock[1]
    try:
        changed = _with(law, iter(graph.inputs("numbers", count)), float)
        changed = changed.with_memory(graph.inputs("memory", law.memory_size(model)))
        for touching in (frozenset[str](), _EveryPoint()):
            for made in (
                changed.saturated_forces(*at, touching, asked),
                changed.joint_impedance(*at, touching, dt),
                changed.memory_rate(*at),
                changed.after(*at, dt),
                changed.implicit_damping(model, state, asked, dt),
            ):
                np.asarray(made).shape  # noqa: B018
        dry = changed.dry_friction(model)
    except Exception:  # whatever it is, constants are right
        return False
    return dry is None or is_numeric(dry)
