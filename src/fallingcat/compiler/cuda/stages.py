"""Cutting a long program into stages, each a GPU kernel of its own.

A multiprocessor holds about 8,000 instructions in its cache; a longer kernel waits for its own text most of the time
(measured: five cycles in seven).  The cuts are where few values wait; those go through memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from ...arrays.operations import OPERATIONS
from ..ir.instructions import Input, Instruction
from ..ir.program import Program

MAX_STAGE_INSTRUCTIONS = 8_000
"""Machine instructions of a stage, by :func:`cost`."""


class Stage(NamedTuple):
    """A stretch of the program: reads inputs and places of the workspace, writes outputs and such places."""

    lines: list[Instruction]
    inputs: dict[int, Input]
    """value -> where it comes from; the workspace is one argument more"""
    outputs: list[tuple[int, Any]]
    """(place in the flat output, value or float)"""
    stores: list[tuple[int, Any]]
    """(place in the workspace, value or float)"""
    laid: Any = None
    """layout of threads and registers (:class:`.StageLayout`), if it is known already"""


class Stages(NamedTuple):
    """The stages in order, and the size of the workspace between them, in values."""

    stages: list[Any]
    """:class:`Stage`, :class:`.RepeatedInstructions`, or :class:`.Rounds`"""
    places: int


def costs(lines: Sequence[Instruction], dtype: str) -> list[float]:
    """Machine instructions of each, about: sine and cosine come together; a double constant takes one to load."""
    own = {op: row.cost[dtype == "float64"] for op, row in OPERATIONS.items()}  # a fused product is one
    if dtype == "float32":
        return [own.get(op, 1) for _, op, _ in lines]
    return [1.1 * (own.get(op, 1) + [*map(type, operands)].count(float)) for _, op, operands in lines]


def length(program: Program, dtype: str) -> float:
    """Machine instructions of the whole program, about; reading takes two and writing four."""
    return sum(costs(program.instructions, dtype)) + 2 * len(program.inputs) + 4 * len(program.outputs)


def stages(
    program: Program, dtype: str, largest: int = MAX_STAGE_INSTRUCTIONS, cuts: Sequence[int] = (), more: int = 0
) -> Stages:
    """Program (in the order of its instructions) in as few stages as fit, or in some ``more``.

    With ``cuts`` after so many instructions, if that is said.
    """
    written = Counter(x for x in program.outputs if isinstance(x, int))
    made: list[list[Instruction]] = []
    for start, end in pairwise([0, *cuts, len(program.instructions)]):
        lines = program.instructions[start:end]
        all_in = [c + 4 * written.get(x, 0) for c, (x, _, _) in zip(costs(lines, dtype), lines, strict=True)]
        count = max(1, -int(-(sum(all_in) + 2 * len(program.inputs)) // largest))
        inner = bounds(lines, all_in, count + more)
        made += [list(lines[a:b]) for a, b in pairwise([0, *inner, len(lines)])]
    return connect_parts(program, made)


def bounds(lines: Sequence[Instruction], costs: list[float], count: int) -> list[int]:
    """Near equal parts; each cut where the fewest values wait, a sixth of a part around."""
    if count == 1:
        return []
    waiting = _live_counts(lines)
    total, sums = sum(costs), [0.0, *accumulate(costs)]
    cuts = [0]
    for k in range(1, count):
        low, high = (k - 1 / 6) * total / count, (k + 1 / 6) * total / count
        first = max(cuts[-1] + 1, bisect_left(sums, low))
        near = range(first, min(bisect_right(sums, high), len(lines)))
        if near:  # else one instruction is as long as a part
            cuts.append(min(near, key=waiting.__getitem__))
    return cuts[1:]


def _live_counts(lines: Sequence[Instruction]) -> list[int]:
    """Before each instruction: how many values that were made are still to be used."""
    last = {x: at for at, line in enumerate(lines) for x in line.operands if type(x) is int}
    change = [0] * (len(lines) + 1)
    for at, line in enumerate(lines):
        if line.value in last:
            change[at + 1] += 1
            change[last[line.value] + 1] -= 1
    return list(accumulate(change))


def connect_parts(program: Program, cut: list[list[Instruction]]) -> Stages:
    """Each part of ``cut`` as a stage that reads the program's inputs and what others have left in the workspace."""
    home = {line.value: s for s, lines in enumerate(cut) for line in lines}
    used = [dict.fromkeys([x for line in lines for x in line.operands if type(x) is int]) for lines in cut]
    until = {x: s for s, values in enumerate(used) for x in values if home.get(x, s) < s}
    place_of, size = _places(home, until)
    workspace = len(program.argument_sizes)
    made: list[Stage] = []
    for s, (lines, outputs) in enumerate(zip(cut, _outputs_by_stage(program, home, len(cut)), strict=True)):
        inputs = {x: program.inputs.get(x) or Input(workspace, place_of[x]) for x in used[s] if home.get(x, -1) < s}
        inputs |= {x: program.inputs[x] for _, x in outputs if isinstance(x, int) and x in program.inputs}
        stores = [(place_of[line.value], line.value) for line in lines if line.value in place_of]
        made.append(Stage(lines, inputs, outputs, stores))
    return Stages(made, size)


def _places(home: dict[int, int], until: dict[int, int]) -> tuple[dict[int, int], int]:
    """Places in the workspace of the values of ``until``, and how many there are.

    Each is taken from the stage that makes the value to the last that reads it.
    """
    place_of: dict[int, int] = {}
    taken: list[tuple[int, int]] = []  # (the first stage that may write it, place)
    free: list[int] = []
    for x in sorted(until, key=home.__getitem__):
        while taken and taken[0][0] <= home[x]:
            heappush(free, heappop(taken)[1])
        place_of[x] = heappop(free) if free else len(taken)
        heappush(taken, (until[x] + 1, place_of[x]))
    return place_of, len(taken) + len(free)


def _outputs_by_stage(program: Program, home: dict[int, int], count: int) -> list[list[tuple[int, Any]]]:
    """The outputs of each stage; constants and inputs, which any could write, are shared out evenly."""
    shares: list[list[tuple[int, Any]]] = [[] for _ in range(count)]
    anyones = []
    for place, x in enumerate(program.outputs):
        if isinstance(x, int) and x in home:
            shares[home[x]].append((place, x))
        else:
            anyones.append((place, x))
    for item in anyones:
        min(shares, key=len).append(item)
    return shares
