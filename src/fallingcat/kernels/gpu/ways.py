"""Ways to compute one program on the GPU, and which of them is the fastest, by a model of the machine.

A program in which much waits is cut into stages that pass values through memory, or computes some values twice
(:mod:`.recompute`), or all of them but a few (:mod:`.waists`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.program import Program
from ..ir.schedule import operands_of, schedule, waiting
from .cuda import SHARED, laid_out
from .recompute import recompute
from .stages import LARGEST, Stage, Stages, cost, length, stages
from .waists import parted

PRICES = (4, 8)
"""Instructions that may be repeated for each value that need not be kept."""
LONG = 4
"""Stages, at least, of a long program."""
MORE = (2, 4, 8, 16)
"""Stages, beyond the fewest, in which a long program is tried."""

# seen on an H200
RATE = {"float32": 2.4e13, "float64": 1.9e13}
"""Machine instructions per second, of all lanes, with ...
"""
WARPS, ALONE = 12, 0.15
"""... so many warps on a multiprocessor; the share of it that is reached with few, beside what grows with them."""
BANDWIDTH = 3.4e12
"""Bytes per second."""
CROWDED = {"float32": 160, "float64": 100}
"""Values of a thread: where more wait, each costs."""
CACHED, UNCACHED = 8_192, 6.0
"""Machine instructions that a multiprocessor holds, and how many times as long the program takes if there are more."""


def fastest(program: Program, dtype: str) -> Stages:
    """The stages of the way that takes the least time."""
    if length(program, dtype) > LONG * LARGEST:
        return min(_long_ways(program, dtype), key=lambda way: sum(_roughly(stage, dtype) for stage in way.stages))
    return min(_ways(program, dtype), key=lambda way: sum(seconds(stage, dtype) for stage in way.stages))


def _long_ways(program: Program, dtype: str) -> Iterator[Stages]:
    """Of a program in which hundreds of values wait wherever it is cut: in many short stages they wait in memory."""
    for way in (program, recompute(program, PRICES[0])):
        ordered = _ordered(way)
        for more in MORE:
            yield stages(ordered, dtype, more=more)


def _ways(program: Program, dtype: str) -> Iterator[Stages]:
    whole = _ordered(program)
    plain = stages(whole, dtype)
    if len(plain.stages) == 1 and not laid_out(plain.stages[0], dtype)[1].places:
        yield plain  # nothing waits that registers do not hold
        return
    again = [_ordered(way) for way in (recompute(program, price) for price in PRICES) if way is not program]
    parts = parted(program)
    for way, first in [(whole, 0), *((way, 0) for way in again), *([parts] if parts else [])]:
        few = stages(way, dtype, first=first)
        yield few
        if len(few.stages) > 1:  # one more leaves room for reading what the last one wrote
            yield stages(way, dtype, first=first, more=1)


def seconds(stage: Stage, dtype: str) -> float:
    """What a stage takes for one state of many, about."""
    size, (shape, moves) = (8 if dtype == "float64" else 4), laid_out(stage, dtype)
    written = len(stage.outputs) + len(stage.stores)
    copies = sum(step.kind != "compute" for step in moves.steps)
    instructions = sum(cost(line, dtype) for line in stage.lines) + len(stage.inputs) + copies + 4 * written
    shared = max(1, moves.places * shape.block * size)
    warps = min(shape.least, max(1, SHARED // shared)) * shape.block // 32
    busy = min(1.0, ALONE + (1.0 - ALONE) * warps / WARPS)
    slow = UNCACHED if instructions > CACHED else 1.0
    moved = size * (len(stage.inputs) + written)
    return max(slow * instructions / (busy * RATE[dtype]), moved / BANDWIDTH)


def _roughly(stage: Stage, dtype: str) -> float:
    """:func:`seconds`, at once: what waits beyond the registers takes its time, wherever it waits."""
    instructions = sum(cost(line, dtype) for line in stage.lines)
    moved = (8 if dtype == "float64" else 4) * (len(stage.inputs) + len(stage.outputs) + len(stage.stores))
    most = waiting([line.value for line in stage.lines], operands_of(stage.lines))
    return max(1.0, most / CROWDED[dtype]) ** 2 * max(2.0 * instructions / RATE[dtype], moved / BANDWIDTH)


def _ordered(program: Program) -> Program:
    return replace(program, instructions=schedule(program.instructions, program.inputs, program.outputs))
