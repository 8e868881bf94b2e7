"""Running a function once on traced numbers, and putting its results together again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Graph, why_numbers_only
from ...errors import ModelError
from ...model import Model
from .inputs import FLAT, Argument, Shape, further_arguments, state_arguments, state_of
from .results import Result, flatten

LARGEST = 2_000_000
"""Operations; a function with more would compile for minutes."""


class Face(NamedTuple):
    """What a kernel looks like from outside: all that a call needs beside machine code."""

    arguments: tuple[Argument, ...]
    state: tuple[str, ...]
    """the first of them, which say the state"""
    result: Result
    """how to put flat outputs together"""
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
    result: Result
    """how to put flat outputs together"""
    graph: Graph

    @property
    def face(self) -> Face:
        return Face(self.arguments, self.state, self.result, self.graph.count(self.outputs))


def trace(
    model: Model,
    function: Callable[..., Any],
    inputs: Mapping[str, Shape],
    options: Mapping[str, Any],
    state: tuple[str, ...] | None = FLAT,
    loops: bool = False,
) -> Trace:
    """Run ``function(model, state, further inputs..., **options)`` on traced numbers, and keep ``loops`` or not.

    ``state`` names the inputs that say the state; None: the function takes no state.  A function of more than
    :data:`LARGEST` operations ends with :class:`~fallingcat.arrays.traced.TooLong` before it has written all of them.
    """
    why = why_numbers_only(function)
    if why is not None:
        raise ModelError(f"{function.__name__} takes numbers only: {why}")
    graph, given = Graph(loops, LARGEST), state or ()
    count = len(given)
    further = further_arguments(model, function, inputs, options, state is not None)
    arguments = [*state_arguments(model, given), *further]
    flat = [graph.inputs(f"{'' if i < count else 'a_'}{a.name}_", a.size) for i, a in enumerate(arguments)]
    shaped = [x.reshape(a.shape)[()] for a, x in zip(arguments, flat, strict=True)]
    first = [] if state is None else [state_of(model, dict(zip(given, shaped, strict=False)))]
    bound = inspect.signature(function).bind_partial(model, *first, **options)
    bound.arguments |= {a.name: x for a, x in zip(further, shaped[count:], strict=True)}
    outputs: list[Any] = []
    result = flatten(function(*bound.args, **bound.kwargs), outputs)
    if given == FLAT and not {*flat[1]} & {*graph.needed(outputs)}:  # the velocity does not matter
        del arguments[1], flat[1]
        given = FLAT[:1]
    return Trace(tuple(arguments), given, flat, outputs, result, graph)
