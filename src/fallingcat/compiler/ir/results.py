"""The result of a function as a tree: arrays are its leaves, containers its nodes, and one fold walks it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...arrays import Traced, where
from ...arrays.operations import CONDITIONS
from ...errors import ModelError
from ...lie import Group
from ...model import Model

T = TypeVar("T")


class Leaf(NamedTuple):
    """An array: its shape, and where it starts in the flat outputs."""

    shape: tuple[int, ...]
    start: int

    @property
    def end(self) -> int:
        """Start of the next one."""
        return self.start + math.prod(self.shape)


class Constant(NamedTuple):
    """A part that holds no numbers."""

    value: Any


class Node(NamedTuple):
    """A container: a tuple, a list, a dict, or a record (a named tuple or a dataclass)."""

    kind: type
    keys: tuple[Any, ...]
    """keys of a dict, fields of a record; none for a tuple or list"""
    parts: tuple[Leaf | Constant | Node, ...]

    @property
    def is_record(self) -> bool:
        """True if the parts are arguments of their own when it is made."""
        return hasattr(self.kind, "_fields") or dataclasses.is_dataclass(self.kind)

    def make(self, parts: list[Any]) -> Any:
        """The container of these parts."""
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if self.is_record else self.kind(parts)


Result = Leaf | Constant | Node


def fold(
    result: Result, leaf: Callable[[Leaf], T], constant: Callable[[Constant], T], node: Callable[[Node, list[T]], T]
) -> T:
    """Value of a tree, from those of its parts; parts in the order of the flat outputs."""
    if isinstance(result, Leaf):
        return leaf(result)
    if isinstance(result, Constant):
        return constant(result)
    return node(result, [fold(part, leaf, constant, node) for part in result.parts])


def flatten(value: Any, outputs: list[Any]) -> Result:
    """The tree of a value; its numbers are appended to ``outputs``."""
    if isinstance(value, (np.ndarray, Traced, float, int, np.number, np.bool_)):
        array, start = np.asarray(value, dtype=object), len(outputs)
        outputs.extend(_number(x) for x in array.flat)
        return Leaf(array.shape, start)
    if isinstance(value, dict):
        return Node(dict, tuple(value), tuple(flatten(x, outputs) for x in value.values()))
    if isinstance(value, (tuple, list)):
        return Node(type(value), getattr(value, "_fields", ()), tuple(flatten(x, outputs) for x in value))
    if value is None or isinstance(value, (str, frozenset, Model, Group)):
        return Constant(value)
    if callable(value):  # a part of a record; a closure may hold traced numbers
        return Constant(value if isinstance(value, FunctionType) and value.__closure__ is None else None)
    if dataclasses.is_dataclass(value):
        fields = tuple(field.name for field in dataclasses.fields(value) if field.init)
        return Node(type(value), fields, tuple(flatten(getattr(value, name), outputs) for name in fields))
    raise ModelError(f"compile takes functions that return arrays, tuples, dicts or records, not {type(value)!r}")


def _number(x: Any) -> Any:
    if isinstance(x, Traced):
        return where(x, 1.0, 0.0) if x.op in CONDITIONS else x
    return float(x)


def is_array(result: Result) -> bool:
    """True for one array, and no number."""
    return isinstance(result, Leaf) and result.shape != ()


def leaves(result: Result) -> list[Leaf]:
    """The arrays, in the order of the flat outputs."""
    return [leaf for _, leaf in named_arrays(result)]


def named_arrays(result: Result) -> list[tuple[str, Leaf]]:
    """The arrays with the fields of records that lead to them; keys of a dict are a robot's names, and say nothing.

    Example:
        >>> from fallingcat.model import State
        >>> leaves = Leaf((4, 4), 0), Leaf((1,), 16), Leaf((6,), 17), Leaf((1,), 23)
        >>> named_arrays(Node(State, State._fields, leaves))[1]
        ('joints', Leaf(shape=(1,), start=16))
    """

    def node(at: Node, parts: list[list[tuple[str, Leaf]]]) -> list[tuple[str, Leaf]]:
        fields = at.keys if at.is_record else ("",) * len(parts)
        pairs = ((field, *one) for field, part in zip(fields, parts, strict=True) for one in part)
        return [("_".join(x for x in (field, name) if x), leaf) for field, name, leaf in pairs]

    return fold(result, lambda leaf: [("", leaf)], lambda constant: [], node)


def size(result: Result) -> int:
    """Number of entries."""
    return max((leaf.end for leaf in leaves(result)), default=0)


def rebuild(result: Result, flat: np.ndarray) -> Any:
    """The value with the numbers ``flat`` (..., n): arrays with the leading batch shape, in their containers."""

    def array(leaf: Leaf) -> Any:
        part = flat[..., leaf.start : leaf.end].reshape((*flat.shape[:-1], *leaf.shape))
        return part if part.ndim else part[()]

    return fold(result, array, lambda constant: constant.value, Node.make)


def builder(result: Result) -> Callable[[tuple[np.ndarray, ...]], Any]:
    """A function that puts the arrays of :func:`leaves` together: one expression, made once.

    Example:
        >>> tree = Node(dict, ("a", "b"), (Leaf((2,), 0), Node(list, (), (Leaf((), 2), Leaf((3,), 3)))))
        >>> builder(tree)((np.ones(2), np.array(5.0), np.zeros(3)))
        {'a': array([1., 1.]), 'b': [np.float64(5.0), array([0., 0., 0.])]}
    """
    if isinstance(result, Node) and hasattr(result.kind, "_fields") and all(map(is_array, result.parts)):
        return partial(tuple.__new__, result.kind)
    known: list[Any] = []
    function: Callable[[tuple[np.ndarray, ...]], Any] = eval(  # our own text: brackets, numbers and the names below
        f"lambda x: {_text(result, known, itertools.count())}", {"c": known, "new": tuple.__new__}
    )
    return function


def _text(result: Result, known: list[Any], numbers: Iterator[int]) -> str:
    def constant(value: Any) -> str:
        known.append(value)
        return f"c[{len(known) - 1}]"

    def node(at: Node, parts: list[str]) -> str:
        if at.kind is dict:
            return f"{{{', '.join(f'{constant(key)}: {part}' for key, part in zip(at.keys, parts, strict=True))}}}"
        items = "".join(f"{part}, " for part in parts)
        if at.kind in (tuple, list):
            return f"({items})" if at.kind is tuple else f"[{items}]"
        if hasattr(at.kind, "_fields"):
            return f"new({constant(at.kind)}, ({items}))"
        return f"{constant(at.kind)}({items})" if at.is_record else f"{constant(at.kind)}(({items}))"

    return fold(
        result,
        lambda leaf: f"x[{next(numbers)}]" if leaf.shape else f"x[{next(numbers)}][()]",
        lambda at: constant(at.value),
        node,
    )
