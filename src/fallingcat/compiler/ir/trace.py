"""Running a function once on traced numbers, and putting its results together again."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Graph, why_numbers_only
from ...arrays.graph import TooLong
from ...arrays.loops import LoopBody
from ...arrays.numpy_protocol import natural
from ...errors import ModelError
from ...model import Model
from .inputs import (
    FLAT_STATE_FIELDS,
    Argument,
    Shape,
    function_name,
    further_arguments,
    state_arguments,
    state_inputs,
    state_of,
)
from .regroup import regroup_moments, regroups
from .results import Result, flatten

MAX_OPERATIONS = 2_000_000
"""Operations; a function with more would compile for minutes."""


class TooLarge(ModelError):
    """A function has more operations than a kernel may have."""


class Recipe(NamedTuple):
    """Arguments of :func:`compile`; they say everything, so a kernel is pickled as its recipe and made from it."""

    model: Model
    function: Callable[..., Any]
    inputs: Mapping[str, Shape] = {}
    state: tuple[str, ...] | None = FLAT_STATE_FIELDS
    """the inputs that say the state; None: the function takes none"""
    options: Mapping[str, Any] = {}
    dtype: str = "float64"

    @property
    def too_large(self) -> TooLarge:
        """Error that says why there is no code of it."""
        most = f"more than {MAX_OPERATIONS:,} operations, the most of a kernel"
        return TooLarge(f"{function_name(self.function)} of {self.model.name!r} has {most}")


class Face(NamedTuple):
    """Kernel from outside: all that a call needs beside machine code."""

    arguments: tuple[Argument, ...]
    state: tuple[str, ...]
    """the first of them, which say the state"""
    result: Result
    """structure of the result, into which flat outputs are put"""
    operations: dict[str, int] | None
    """number of operations of each kind, before fusing; None: too many for a kernel"""


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
    """structure of the result, into which flat outputs are put"""
    graph: Graph

    @property
    def face(self) -> Face:
        """Kernel from outside."""
        return Face(self.arguments, self.state, self.result, self.graph.count(self.outputs))


def trace(recipe: Recipe, loops: bool | Callable[[LoopBody], bool] = False, *, whole: bool = False) -> Trace:
    """Run ``function(model, state, further inputs..., **options)`` on traced numbers, and keep ``loops``, some or none.

    A velocity that does not matter is no argument, unless the state is wanted ``whole``: where no call can leave it
    out, the signature should not depend on the robot.

    A function of more than :data:`MAX_OPERATIONS` operations raises :class:`TooLarge` before all of them are written.
    """
    model, function, _, state, options, _ = recipe
    why = why_numbers_only(function)
    if why is not None:
        raise ModelError(f"{function.__name__} takes numbers only: {why}")
    graph, given = Graph(loops, MAX_OPERATIONS), state or ()
    arguments = _arguments(recipe)
    prefixes = [f"{a.name}_" if i < len(given) else f"a_{a.name}_" for i, a in enumerate(arguments)]
    outputs: list[Any] = []
    try:
        flat = [graph.inputs(prefix, a.size) for prefix, a in zip(prefixes, arguments, strict=True)]
        alike = recipe._replace(model=regroup_moments(model)) if regroups(function, options) else recipe
        result = flatten(call_with_flat_values(alike, given, arguments, flat), outputs)
    except TooLong:
        raise recipe.too_large from None
    if (
        not whole and given == FLAT_STATE_FIELDS and {*graph.needed(outputs)}.isdisjoint(flat[1])
    ):  # the velocity does not matter
        del arguments[1], flat[1]
        given = FLAT_STATE_FIELDS[:1]
    return Trace(tuple(arguments), given, flat, outputs, result, graph)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Without the garbage collector, which would look at a hundred thousand new expressions again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def tried(recipe: Recipe) -> Face:
    """Face of a function that is too large to be traced.

    What it gives for random numbers says its result, and whether the velocity matters.
    """
    rng, arguments, given = np.random.default_rng(0), _arguments(recipe), recipe.state or ()
    known = state_inputs(recipe.model, recipe.model.random_state(rng)) if given else {}
    small = 1e-2  # steps of a simulation end somewhere, then
    values = [known[a.name] if i < len(given) else small * rng.normal(size=a.size) for i, a in enumerate(arguments)]

    def outputs() -> tuple[Result, list[float]]:
        flat: list[float] = []
        with np.errstate(all="ignore"):  # random numbers may lead anywhere
            return flatten(call_with_flat_values(recipe, given, arguments, values), flat), flat

    try:
        result, numbers = outputs()
        if given == FLAT_STATE_FIELDS:
            values[1] = rng.normal(size=arguments[1].size)
            if np.array_equal(numbers, outputs()[1], equal_nan=True):
                del arguments[1]
                given = FLAT_STATE_FIELDS[:1]
    except Exception as error:  # whatever a function says to random numbers
        raise recipe.too_large from error
    return Face(tuple(arguments), given, result, None)


def _arguments(recipe: Recipe) -> list[Argument]:
    model, function, inputs, state, options, _ = recipe
    further = further_arguments(model, function, inputs, options, state is not None)
    return [*state_arguments(model, state or ()), *further]


def call_with_flat_values(
    recipe: Recipe, given: Sequence[str], arguments: Sequence[Argument], values: Sequence[Any]
) -> Any:
    """Result of the function for flat ``values`` of any kind; the first arguments, ``given``, say the state."""
    model, function, _, state, options, _ = recipe
    if str(getattr(function, "__module__", "")).partition(".")[0] != __name__.partition(".")[0]:
        values = [natural(x) for x in values]  # a function of the user may be written in plain NumPy
    shaped = [x.reshape(a.shape)[()] for a, x in zip(arguments, values, strict=True)]
    first = [] if state is None else [state_of(model, dict(zip(given, shaped, strict=False)))]
    bound = inspect.signature(function).bind_partial(model, *first, **options)
    count = len(given)
    bound.arguments |= {a.name: x for a, x in zip(arguments[count:], shaped[count:], strict=True)}
    return function(*bound.args, **bound.kwargs)
