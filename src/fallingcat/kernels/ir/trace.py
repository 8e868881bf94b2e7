"""Running a function once on traced numbers, and putting its results together again."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Graph, Traced, sizes_of, where, why_numbers_only
from ...errors import ModelError
from ...lie import Group
from ...model import Model


class Argument(NamedTuple):
    """One input of a kernel: a flat vector."""

    name: str
    size: int
    meaning: str


class Face(NamedTuple):
    """What a kernel looks like from outside: all that a call needs beside machine code."""

    arguments: tuple[Argument, ...]
    structure: Any
    """how to put flat outputs together: an array's shape, or a container of such"""
    operations: dict[str, int]
    """how many of each kind, before fusing"""


class Trace(NamedTuple):
    """A function of a robot, as expressions of flat inputs."""

    arguments: tuple[Argument, ...]
    inputs: list[np.ndarray]
    outputs: list[Any]
    """flat: traced numbers and floats"""
    structure: Any
    """how to put flat outputs together: an array's shape, or a container of such"""
    graph: Graph

    @property
    def face(self) -> Face:
        return Face(self.arguments, self.structure, self.graph.count(self.outputs))


def trace(
    model: Model,
    function: Callable[..., Any],
    sizes: Mapping[str, int],
    options: Mapping[str, Any],
    loops: bool = False,
) -> Trace:
    """Run ``function(model, state, further arguments..., **options)`` on traced numbers, and keep ``loops`` or not."""
    why = why_numbers_only(function)
    if why is not None:
        raise ModelError(f"{function.__name__} takes numbers only: {why}")
    graph = Graph(loops)
    arguments = [
        Argument("q", model.nq, "configuration: base coordinates, then joints"),
        Argument("v", model.nv, "quasi-velocity: base twist, then joint rates"),
    ]
    known = {name: getattr(model, attribute) for name, attribute in sizes_of(function).items()} | dict(sizes)
    for name in _further(function, options, sizes):
        if name not in known:
            raise ModelError(f"compile cannot tell the size of the argument {name!r}: say sizes={{{name!r}: ...}}")
        arguments.append(Argument(name, int(known[name]), "further argument"))
    inputs = [graph.inputs(f"{argument.name}_", argument.size) for argument in arguments]
    state = model.unflatten(inputs[0], inputs[1])
    result = function(model, state, *inputs[2:], **options)
    outputs: list[Any] = []
    structure = _flatten(result, outputs)
    needed = set(graph.needed(outputs))
    keep = [i for i, x in enumerate(inputs) if i != 1 or any(node in needed for node in x)]  # v, if it matters
    return Trace(tuple(arguments[i] for i in keep), [inputs[i] for i in keep], outputs, structure, graph)


def _further(function: Callable[..., Any], options: Mapping[str, Any], sizes: Mapping[str, int]) -> list[str]:
    """The names of the arguments after model and state that must be given, or that ``sizes`` asks for."""
    parameters = list(inspect.signature(function).parameters.values())[2:]
    return [
        p.name
        for p in parameters
        if p.name not in options
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        and (p.default is p.empty or p.name in sizes)
    ]


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
