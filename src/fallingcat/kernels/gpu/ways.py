"""Ways to compute one program on the GPU, and which of them is the fastest, by a model of it (:mod:`.machine`).

A program in which much waits is cut into stages that pass values through memory, or computes some values twice
(:mod:`.recompute`), or all of them but a few (:mod:`.waists`), or in each stage all that its results need
(:mod:`.cones`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.program import Program
from ..ir.schedule import operands_of, schedule, waiting
from . import machine
from .cones import shared_out
from .cuda import laid_out
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
    """The stages of the way that takes the least time."""
    if length(program, dtype) > LONG * LARGEST:
        return min(_long_ways(program, dtype), key=lambda way: seconds(way, dtype) * _crowded(way, dtype))
    return min(_ways(program, dtype), key=lambda way: seconds(way, dtype))


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
        few = stages(way, dtype, cuts=cuts)
        yield few
        if len(few.stages) > 1:  # one more leaves room for reading what the last one wrote
            yield stages(way, dtype, cuts=cuts, more=1)


def seconds(way: Stages, dtype: str) -> float:
    """What a way takes for one state of many, about."""
    return sum(laid_out(stage, dtype).seconds for stage in way.stages)


def _crowded(way: Stages, dtype: str) -> float:
    """The same, if what waits beyond the registers took its time wherever it waits: in long programs compilers do not
    always keep to the moves, and the truth is between the two.
    """
    most = [waiting([line.value for line in stage.lines], operands_of(stage.lines)) for stage in way.stages]
    busy = [machine.seconds(stage, dtype, 0, SOME) for stage in way.stages]
    return sum(max(1.0, x / CROWDED[dtype]) ** 2 * time for x, time in zip(most, busy, strict=True))


def _ordered(program: Program) -> Program:
    return replace(program, instructions=schedule(program.instructions, program.inputs, program.outputs))
