"""Running a function once on traced numbers, and putting its results together again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Graph, Traced, where, why_numbers_only
from ...errors import ModelError
from ...lie import Group
from ...model import Model
from .inputs import FLAT, Argument, Shape, further_arguments, state_arguments, state_of


class Face(NamedTuple):
    """What a kernel looks like from outside: all that a call needs beside machine code."""

    arguments: tuple[Argument, ...]
    state: tuple[str, ...]
    """the first of them, which say the state"""
    structure: Any
    """how to put flat outputs together: an array's shape, or a container of such"""
    operations: dict[str, int]
    """how many of each kind, before fusing"""


class Trace(NamedTuple):
    """A function of a robot, as expressions of flat inputs."""

    arguments: tuple[Argument, ...]
    state: tuple[str, ...]
    """the first of them, which say the state"""
    inputs: list[np.ndarray]
    """flat"""
    outputs: list[Any]
    """flat: traced numbers and floats"""
    structure: Any
    """how to put flat outputs together: an array's shape, or a container of such"""
    graph: Graph

    @property
    def face(self) -> Face:
        return Face(self.arguments, self.state, self.structure, self.graph.count(self.outputs))


def trace(
    model: Model,
    function: Callable[..., Any],
    inputs: Mapping[str, Shape],
    options: Mapping[str, Any],
    state: tuple[str, ...] | None = FLAT,
    loops: bool = False,
) -> Trace:
    """Run ``function(model, state, further inputs..., **options)`` on traced numbers, and keep ``loops`` or not.

    ``state`` names the inputs that say the state; None: the function takes no state.
    """
    why = why_numbers_only(function)
    if why is not None:
        raise ModelError(f"{function.__name__} takes numbers only: {why}")
    graph, given = Graph(loops), state or ()
    count = len(given)
    further = further_arguments(model, function, inputs, options, state is not None)
    arguments = [*state_arguments(model, given), *further]
    flat = [graph.inputs(f"{'' if i < count else 'a_'}{a.name}_", a.size) for i, a in enumerate(arguments)]
    shaped = [x.reshape(a.shape)[()] for a, x in zip(arguments, flat, strict=True)]
    first = [] if state is None else [state_of(model, dict(zip(given, shaped, strict=False)))]
    bound = inspect.signature(function).bind_partial(model, *first, **options)
    bound.arguments |= {a.name: x for a, x in zip(further, shaped[count:], strict=True)}
    outputs: list[Any] = []
    structure = _flatten(function(*bound.args, **bound.kwargs), outputs)
    if given == FLAT and not {*flat[1]} & {*graph.needed(outputs)}:  # the velocity does not matter
        del arguments[1], flat[1]
        given = FLAT[:1]
    return Trace(tuple(arguments), given, flat, outputs, structure, graph)


def _flatten(result: Any, outputs: list[Any]) -> Any:
    """Appends the numbers in ``result`` to ``outputs``; returns how to build it again."""
    if isinstance(result, (np.ndarray, Traced, float, int, np.number)):
        array = np.asarray(result, dtype=object)
        outputs.extend(_number(x) for x in array.flat)
        return array.shape
    if isinstance(result, dict):
        return (dict, [(key, _flatten(x, outputs)) for key, x in result.items()])
    if isinstance(result, (tuple, list)):
        return (type(result), [_flatten(x, outputs) for x in result])
    if result is None or isinstance(result, (str, frozenset, Model, Group)):
        return Constant(result)
    if callable(result):  # a part of a record; a closure may hold traced numbers
        return Constant(result if isinstance(result, FunctionType) and result.__closure__ is None else None)
    if dataclasses.is_dataclass(result):
        fields = [getattr(result, field.name) for field in dataclasses.fields(result) if field.init]
        return (type(result), [_flatten(x, outputs) for x in fields])
    raise ModelError(f"compile takes functions that return arrays, tuples, dicts or records, not {type(result)!r}")


def _number(x: Any) -> Any:
    if isinstance(x, Traced):
        return where(x, 1.0, 0.0) if x.op == "less" else x
    return float(x)


class Constant(NamedTuple):
    """A part of a result that holds no numbers."""

    value: Any


def is_array(structure: Any) -> bool:
    """Whether the result is one array."""
    return isinstance(structure, tuple) and all(isinstance(n, int) for n in structure)


def size(structure: Any) -> int:
    """How many numbers a result holds."""
    if isinstance(structure, Constant):
        return 0
    if is_array(structure):
        return int(np.prod(structure, dtype=int))
    kind, parts = structure
    return sum(size(part[1] if kind is dict else part) for part in parts)


def rebuild(structure: Any, flat: np.ndarray) -> Any:
    """The result with the numbers ``flat`` (..., n): arrays with the leading batch shape, in their containers."""
    result, end = _rebuild(structure, flat, 0)
    assert end == flat.shape[-1]
    return result


def _rebuild(structure: Any, flat: np.ndarray, start: int) -> tuple[Any, int]:
    if isinstance(structure, Constant):
        return structure.value, start
    if is_array(structure):
        end = start + int(np.prod(structure, dtype=int))
        part = flat[..., start:end].reshape((*flat.shape[:-1], *structure))
        return (part if part.ndim else part[()]), end
    kind, parts = structure
    items: list[Any] = []
    for part in parts:
        key, inner = part if kind is dict else (None, part)
        item, start = _rebuild(inner, flat, start)
        items.append((key, item) if kind is dict else item)
    record = hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)
    return (kind(*items) if record else kind(items)), start
