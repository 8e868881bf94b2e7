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


def _floats(law: Any) -> list[tuple[str, Any]]:
    """The fields that hold floats, or laws with such."""
    if not is_dataclass(law) or type(law).__module__.partition(".")[0] != OWN:
        return []
    held = [(field.name, getattr(law, field.name)) for field in fields(law)]
    return [(name, value) for name, value in held if type(value) is float or isinstance(value, Law)]


def _numbers(law: Law) -> list[float]:
    return [x for _, value in _floats(law) for x in (_numbers(value) if isinstance(value, Law) else [value])]


def _with(law: Law, numbers: Iterator[Any]) -> Law:
    changed = copy.copy(law)
    for name, value in _floats(law):  # past __init__: a traced number has no value that could be checked
        object.__setattr__(changed, name, _with(value, numbers) if isinstance(value, Law) else next(numbers))
    return changed
