"""The numbers of laws as arguments of machine code: other gains need no other code."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from ..control import Law

OWN = __name__.partition(".")[0]


def apart(laws: Sequence[Law]) -> tuple[tuple[Law, ...], np.ndarray]:
    """The laws with zeros for numbers, which is what the kernels' cache knows them by, and the numbers.

    Only the library's own laws are taken apart: what a law of yours does with its numbers is not known here.

    >>> from fallingcat.control import EnergyController, RadialSpring
    >>> laws, numbers = apart([EnergyController(10.0, 2.8, RadialSpring(2200.0, 0.14))])
    >>> numbers.tolist(), laws[0].gain
    ([10.0, 2.8, 2200.0, 0.14], 0.0)
    """
    numbers = [x for law in laws for x in _numbers(law)]
    return tuned(laws, np.zeros(len(numbers)).tolist()), np.array(numbers)


def tuned(laws: Sequence[Law], numbers: Sequence[Any]) -> tuple[Law, ...]:
    """The laws with other numbers, of any kind."""
    rest = iter(numbers)
    return tuple(_with(law, rest) for law in laws)


def places(laws: Sequence[Law]) -> dict[tuple[str, str], slice]:
    """Where the numbers of each law's fields are among those of :func:`apart`, by the names of law and field.

    >>> from fallingcat.control import JointDamper, JointSpring
    >>> places([JointSpring(3.0), JointDamper(0.1)])
    {('joint springs', 'stiffness'): slice(0, 1, None), ('joint dampers', 'damping'): slice(1, 2, None)}
    """
    found, start = {}, 0
    for law in laws:
        for name, value in _tunable(law):
            size = len(_numbers(value)) if isinstance(value, Law) else np.size(value)
            found[law.name, name] = slice(start, start + size)
            start += size
    return found


def _tunable(law: Any) -> list[tuple[str, Any]]:
    """The fields that hold floats, or laws with such, and those that the law takes as inputs."""
    if not is_dataclass(law):
        return []
    own, inputs = type(law).__module__.partition(".")[0] == OWN, {*getattr(law, "inputs", {}).values()}
    held = [(field.name, getattr(law, field.name)) for field in fields(law)]
    return [
        (name, value)
        for name, value in held
        if name in inputs or (own and (type(value) is float or isinstance(value, Law)))
    ]


def _numbers(law: Law) -> list[float]:
    parts = (_numbers(value) if isinstance(value, Law) else np.ravel(value).tolist() for _, value in _tunable(law))
    return [x for part in parts for x in part]


def _with(law: Law, numbers: Iterator[Any]) -> Law:
    changed = copy.copy(law)
    for name, value in _tunable(law):  # past __init__: a traced number has no value that could be checked
        if isinstance(value, Law):
            new: Any = _with(value, numbers)
        else:
            new = tuple(next(numbers) for _ in value) if isinstance(value, tuple) else next(numbers)
        object.__setattr__(changed, name, new)
    return changed
