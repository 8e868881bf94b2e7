"""Results that are not one array: their arrays are views of one, put into tuples, dicts and records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .trace import Constant, is_array


def views(structure: Any) -> list[tuple[int, tuple[int, ...]]]:
    """Where in the flat output each array starts, and its shape.

    >>> views((tuple, [(2, 3), Constant(None), (4,)]))
    [(0, (2, 3)), (6, (4,))]
    """
    out: list[tuple[int, tuple[int, ...]]] = []
    _add(structure, out, 0)
    return out


def _add(structure: Any, out: list[tuple[int, tuple[int, ...]]], start: int) -> int:
    if isinstance(structure, Constant):
        return start
    if is_array(structure):
        out.append((start, structure))
        return start + int(np.prod(structure, dtype=int))
    kind, parts = structure
    for part in parts:
        start = _add(part[1] if kind is dict else part, out, start)
    return start


def builder(structure: Any) -> Callable[[tuple[np.ndarray, ...]], Any]:
    """A function that puts the arrays of :func:`views` together: one expression, made once.

    >>> builder((dict, [("a", (2,)), ("b", (list, [(), (3,)]))]))((np.ones(2), np.array(5.0), np.zeros(3)))
    {'a': array([1., 1.]), 'b': [np.float64(5.0), array([0., 0., 0.])]}
    """
    if isinstance(structure, tuple) and not is_array(structure) and hasattr(structure[0], "_fields"):
        kind, parts = structure
        if all(is_array(part) and part for part in parts):
            return partial(tuple.__new__, kind)
    known: list[Any] = []
    text = _text(structure, known, iter(range(len(views(structure)))))
    function: Callable[[tuple[np.ndarray, ...]], Any] = eval(  # our own text: brackets, numbers and the names below
        f"lambda x: {text}", {"c": known, "new": tuple.__new__}
    )
    return function


def _text(structure: Any, known: list[Any], numbers: Any) -> str:
    def constant(value: Any) -> str:
        known.append(value)
        return f"c[{len(known) - 1}]"

    if isinstance(structure, Constant):
        return constant(structure.value)
    if is_array(structure):
        return f"x[{next(numbers)}]" if structure else f"x[{next(numbers)}][()]"
    kind, parts = structure
    if kind is dict:
        return f"{{{', '.join(f'{constant(key)}: {_text(part, known, numbers)}' for key, part in parts)}}}"
    items = "".join(f"{_text(part, known, numbers)}, " for part in parts)
    if kind is tuple or kind is list:
        return f"({items})" if kind is tuple else f"[{items}]"
    if hasattr(kind, "_fields"):
        return f"new({constant(kind)}, ({items}))"
    return f"{constant(kind)}({items})" if dataclasses.is_dataclass(kind) else f"{constant(kind)}(({items}))"
