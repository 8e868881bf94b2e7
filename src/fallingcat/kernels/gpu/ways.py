"""Ways to compute one program on the GPU, and which of them is the fastest, by a model of it (:mod:`.machine`).

A program in which much waits is cut into stages that pass values through memory, or computes some values twice
(:mod:`.recompute`), or all of them but a few (:mod:`.waists`), or in each stage all that its results need
(:mod:`.cones`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import NamedTuple

from ..ir.program import Program
from ..ir.schedule import schedule, waiting
from .cones import shared_out
from .cuda import laid_out, suited
from .machine import Work
from .recompute import recompute
from .stages import LARGEST, Stages, length, stages
from .waists import parted, parted_again

PRICES = (2, 4, 8)
"""Instructions that may be repeated for each value that need not be kept."""
LONG = 3
"""Stages, at least, of a long program."""
MORE = (4, 8, 16)
"""Stages, beyond the fewest, in which a long program is tried."""
WAISTS, EARLY, SHORT = 2, 0.45, 3_600
"""Waists of a long program, the share of inputs that values depend on after them, and the length of its stages then."""

CROWDED, SOME = {"float32": 160, "float64": 100}, 8
"""Values of a thread: where more wait, each costs; warps of such a stage."""


def fastest(program: Program, dtype: str) -> Stages:
    """The stages of the way that takes the least time; the first of them, if several do.

    What a way takes is known once its registers are planned, which takes long.  So those that could take the least come
    first, and the others are left out once one takes less than they could.
    """
    long = length(program, dtype) > LONG * LARGEST
    ways = [_looked_at(way, long, dtype) for way in (_long_ways if long else _ways)(program, dtype)]
    price, best = inf, 0
    for k in sorted(range(len(ways)), key=lambda k: ways[k].least):
        if ways[k].least > price:
            break
        price, best = min((price, best), (seconds(ways[k].stages, dtype) * ways[k].factor, k))
    return ways[best].stages


def _long_ways(program: Program, dtype: str) -> Iterator[Stages]:
    """Of a program in which hundreds of values wait wherever it is cut: in many short stages they wait in memory."""
    for way in (program, recompute(program, PRICES[0])):
        ordered = _ordered(way)
        for more in MORE:
            yield stages(ordered, dtype, more=more)
    parts = parted(program, EARLY)
    while parts and len(parts.cuts) <= WAISTS:
        yield stages(parts.program, dtype, SHORT, parts.cuts)
        alone = shared_out(parts, dtype, SHORT)
        yield stages(alone.program, dtype, cuts=alone.cuts)
        parts = parted_again(parts, EARLY)


def _ways(program: Program, dtype: str) -> Iterator[Stages]:
    whole = _ordered(program)
    plain = stages(whole, dtype)
    if len(plain.stages) == 1 and not laid_out(plain.stages[0], dtype).moves.places:
        yield plain  # nothing waits that registers do not hold
        return
    again = [_ordered(way) for way in (recompute(program, price) for price in PRICES) if way is not program]
    parts = parted(program)
    for way, cuts in [(whole, ()), *((way, ()) for way in again), *([parts] if parts else [])]:
        few = plain if way is whole else stages(way, dtype, cuts=cuts)
        yield few
        if len(few.stages) > 1:  # one more leaves room for reading what the last one wrote
            yield stages(way, dtype, cuts=cuts, more=1)


def seconds(way: Stages, dtype: str) -> float:
    """What a way takes for one state of many, about."""
    return sum(laid_out(stage, dtype).seconds for stage in way.stages)


class _Look(NamedTuple):
    """A way, and what is known of it before its registers are planned."""

    stages: Stages
    factor: float
    """of its price, which decides, to its time"""
    least: float
    """its price is no less"""


def _looked_at(way: Stages, long: bool, dtype: str) -> _Look:
    works = [Work.of(stage, dtype) for stage in way.stages]
    most = [waiting(stage.lines) for stage in way.stages]
    factor = _crowded(works, most, dtype) if long else 1.0
    least = [min(work.least(shape.warps(0)) for shape in suited(x, dtype)) for work, x in zip(works, most, strict=True)]
    return _Look(way, factor, sum(least) * factor)


def _crowded(works: list[Work], most: list[int], dtype: str) -> float:
    """The time of a way, if what waits beyond the registers took its time wherever it waits: in long programs compilers
    do not always keep to the moves, and the truth is between the two.
    """
    busy = [work.seconds(0, SOME) for work in works]
    return sum(max(1.0, x / CROWDED[dtype]) ** 2 * time for x, time in zip(most, busy, strict=True))


def _ordered(program: Program) -> Program:
    return replace(program, instructions=schedule(program.instructions, program.inputs, program.outputs))
