"""Fixed-point iteration until convergence, traced as one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import ModelError
from .building import array, is_numeric
from .elementwise import less, where
from .loops import RepeatBody, repeats
from .traced import Traced
from .types import Vector

MAX_UNROLLED = 16
"""Rounds of a loop that are written one after the other where numbers have no loops: CasADi, C, derivatives."""

IterateAndFlag = tuple[Any, Any]
"""``x`` (k), and a number that is positive if it has arrived."""


class TooManyRounds(ModelError):
    """Error of a loop that cannot be written out: it has more rounds than numbers without loops take."""


def while_loop(
    step: Callable[[Any], IterateAndFlag | Iterator[IterateAndFlag]],
    start: Vector,
    most: int,
    unrolled: int | None = None,
) -> Vector:
    """Iterate ``x, arrived = step(x)`` from ``start`` until ``arrived > 0``, ``most`` times at most.

    A step may yield such pairs one after the other, cheap ones first: the first that has arrived is taken, else the
    last, and what comes after is not worked out.

    Traced numbers become one loop of machine code, which holds the step once; what the step does not change is worked
    out before.  Each state of a block of SIMD lanes, or of a warp of a GPU, stays as it is once it has arrived.
    Where there are no such loops (C, CasADi, derivatives), up to 16 rounds are written one after the other, with the
    same result; more are refused, unless ``unrolled`` says how many will do there: for what tells whether it arrived.

    Args:
        step: Function ``x -> (x, arrived)``, or a generator of such pairs.
        start: First ``x``, ``k``.
        most: Largest number of rounds.
        unrolled: Rounds that suffice where no loop can be compiled; None refuses more than 16 there.

    Returns:
        Last ``x``, ``k``.

    Example:
        >>> while_loop(lambda x: (0.5 * (x + 2.0 / x), 1e-9 - abs(x * x - 2.0)[0]), np.ones(1), 20).round(12)
        array([1.41421356])
    """
    graph = next((x.graph for x in np.asarray(start).flat if type(x) is Traced), None)
    if graph is None:
        return _loop_rounds(step, start, most) if is_numeric(start) else _unrolled_rounds(step, start, most, unrolled)
    if graph.loops is False:
        return _unrolled_rounds(step, start, most, unrolled)
    symbols = [graph.symbol() for _ in start]
    graph.recording = True
    try:
        body = RepeatBody(symbols, _exits(_pairs(step, array(symbols))), most)
    finally:
        graph.recording = False
    if not graph.keeps(body):
        raise ModelError("what is repeated until it has arrived runs on this processor or a GPU alone")
    loop = graph.node("loop", body, *body.shared_nodes, *start)
    return array([graph.node("part", loop, i, 0) for i in range(len(start))])


def loops_here(x: Any) -> bool:
    """True if :func:`repeat` makes one loop of machine code for this processor of these numbers, outside of another."""
    graph = next((e.graph for e in np.asarray(x).flat if type(e) is Traced), None)
    return graph is not None and not graph.recording and (graph.loops is True or graph.loops is repeats)


def _pairs(step: Callable[[Any], IterateAndFlag | Iterator[IterateAndFlag]], x: Any) -> Iterator[IterateAndFlag]:
    made = step(x)
    return iter([made]) if isinstance(made, tuple) else made


def _exits(pairs: Iterator[IterateAndFlag]) -> list[list[Any]]:
    """Points where a round may end: each time all numbers, those of the first pair that has arrived, and if one has."""
    exits: list[list[Any]] = []
    for x, arrived in pairs:
        before = exits[-1] if exits else None
        here = [*x, arrived]
        exits.append(
            here if before is None else [where(less(0.0, before[-1]), a, b) for a, b in zip(before, here, strict=True)]
        )
    return exits


def _loop_rounds(step: Callable[[Any], IterateAndFlag | Iterator[IterateAndFlag]], x: Any, most: int) -> Any:
    for _ in range(most):
        for found, arrived in _pairs(step, x):
            if arrived > 0.0:
                return found
        x = found
    return x


def _unrolled_rounds(
    step: Callable[[Any], IterateAndFlag | Iterator[IterateAndFlag]], x: Any, most: int, enough: int | None
) -> Any:
    """Unrolled rounds, all or as many as are ``enough``: those after the last one change nothing."""
    if most > MAX_UNROLLED and enough is None:
        rule = f"what is repeated up to {most} times runs on this processor or a GPU alone"
        raise TooManyRounds(f"{rule}: C, CasADi and derivatives take at most {MAX_UNROLLED} rounds")
    arrived: Any = -1.0
    for _ in range(most if enough is None else min(most, enough)):
        for found, here in _pairs(step, x):
            x = where(less(0.0, arrived), x, found)
            arrived = where(less(0.0, arrived), arrived, here)
        if is_numeric(arrived) and arrived > 0.0:
            break
    return x
