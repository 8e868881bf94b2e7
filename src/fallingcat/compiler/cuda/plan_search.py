"""Search for the fastest plan of a program on the GPU, by a cost model (:mod:`fallingcat.compiler.cuda.cost_model`).

A program in which much waits is cut into stages that pass values through memory, or computes some values twice
(:mod:`fallingcat.compiler.cuda.rematerialization`), or all of them but a few
(:mod:`fallingcat.compiler.cuda.min_cut`), or in each stage all that its results need
(:mod:`fallingcat.compiler.cuda.output_partition`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import heapify, heapreplace
from itertools import pairwise
from typing import NamedTuple

from ..ir.program import Program
from ..ir.schedule import schedule, waiting
from .cost_model import Work
from .emitter import SHAPES, candidate_shapes, stage_layout
from .min_cut import split, split_last
from .output_partition import Shares, split_outputs
from .rematerialization import recompute
from .stages import MAX_STAGE_INSTRUCTIONS, Stages, connect_parts, length, stages

REPEATED_INSTRUCTIONS = (2, 4, 8)
"""Instructions that may be repeated for each value that need not be kept."""
MIN_LONG_STAGES = 3
"""Stages, at least, of a long program."""
EXTRA_STAGES = (4, 8, 16)
"""Stages, beyond the fewest, in which a long program is tried."""
MAX_CUTS, LATE_INPUT_SHARE, MIN_PART_INSTRUCTIONS = 2, 0.45, 3_600
"""Waists of a long program, the share of inputs that values depend on after them, and the length of its stages then."""

MAX_FREE_VALUES, SPILLING_WARPS = {"float32": 160, "float64": 100}, 8
"""Values of a thread: where more wait, each costs; warps of such a stage."""


def fastest(program: Program, dtype: str) -> Stages:
    """The stages of the way that takes the least time; the first of them, if several do.

    What a way takes is known once its registers are planned, which takes long.  So it is always the way that could take
    the least of which more is found out, until there is nothing more to find out about that.
    """
    judge = _PlanPrices(dtype, length(program, dtype) > MIN_LONG_STAGES * MAX_STAGE_INSTRUCTIONS)
    heap = [judge.first(k, plan) for k, plan in enumerate((_long_plans if judge.long else _plans)(program, dtype))]
    heapify(heap)
    while heap[0].closer:
        heapreplace(heap, heap[0].closer())
    return heap[0].stages


def _long_plans(program: Program, dtype: str) -> Iterator[Stages | Shares]:
    """Ways for a program with hundreds of values at every cut: in many short stages they wait in memory."""
    for plan in (program, recompute(program, REPEATED_INSTRUCTIONS[0])):
        ordered = _ordered(plan)
        for more in EXTRA_STAGES:
            yield stages(ordered, dtype, more=more)
    parts = split(program, LATE_INPUT_SHARE)
    while parts and len(parts.cuts) <= MAX_CUTS:
        yield stages(parts.program, dtype, MIN_PART_INSTRUCTIONS, parts.cuts)
        yield split_outputs(parts, dtype, MIN_PART_INSTRUCTIONS)
        parts = split_last(parts, LATE_INPUT_SHARE)


def _plans(program: Program, dtype: str) -> Iterator[Stages]:
    whole = _ordered(program)
    plain = stages(whole, dtype)
    if len(plain.stages) == 1:
        plain = with_layouts(plain, dtype)
        if not plain.stages[0].laid.moves.places:  # nothing waits that registers do not hold
            yield plain
            return
    tried = (recompute(program, price) for price in REPEATED_INSTRUCTIONS)
    again = [_ordered(plan) for plan in tried if plan is not program]
    parts = split(program)
    for plan, cuts in [(whole, ()), *((plan, ()) for plan in again), *([parts] if parts else [])]:
        few = plain if plan is whole else stages(plan, dtype, cuts=cuts)
        yield few
        if len(few.stages) > 1:  # one more leaves room for reading what the last one wrote
            yield stages(plan, dtype, cuts=cuts, more=1)


def seconds(plan: Stages, dtype: str) -> float:
    """Time of a way for one state of many (s), about."""
    return sum(stage.laid.seconds for stage in with_layouts(plan, dtype).stages)


def with_layouts(plan: Stages, dtype: str) -> Stages:
    """With how each stage lies on the machine."""
    return plan._replace(stages=[x if x.laid else x._replace(laid=stage_layout(x, dtype)) for x in plan.stages])


class _ScoredPlan(NamedTuple):
    """A way, by what is known of it."""

    price: float
    """no less than this"""
    number: int
    stages: Stages
    closer: Callable[[], _ScoredPlan] | None
    """the same, when more is known; None: the price is exact"""


class _PlanPrices(NamedTuple):
    """Prices of ways: what they take or, of long programs, the product of that and what they take if crowded."""

    dtype: str
    long: bool

    def first(self, number: int, plan: Stages | Shares) -> _ScoredPlan:
        """At first sight."""
        return self._shape_price(number, plan) if isinstance(plan, Stages) else self._draft_price(number, plan)

    def _draft_price(self, number: int, shares: Shares) -> _ScoredPlan:
        """Parts in no order may come to be cut into stages; what they compute, read and write is known."""
        lines = shares.program.instructions
        parts = [lines[a:b] for a, b in pairwise([0, *shares.cuts, len(lines)])]
        plan = connect_parts(shares.program, parts)
        works = [Work.of(stage, self.dtype) for stage in plan.stages]
        price = sum(min(work.floor(shape.warps(0)) for shape in SHAPES[self.dtype]) for work in works)
        factor = sum(work.floor(SPILLING_WARPS) for work in works) if self.long else 1.0
        return _ScoredPlan(
            price * factor, number, plan, lambda: self._shape_price(number, _in_stages(shares, self.dtype))
        )

    def _shape_price(self, number: int, plan: Stages) -> _ScoredPlan:
        """Shapes that a stage may have, by what waits."""
        most = [waiting(stage.lines) for stage in plan.stages]
        stages = [(Work.of(stage, self.dtype), x) for stage, x in zip(plan.stages, most, strict=True)]
        price = sum(min(work.least(shape.warps(0)) for shape in candidate_shapes(x, self.dtype)) for work, x in stages)
        factor = sum(self._crowded_time(*stage) for stage in stages) if self.long else 1.0
        return _ScoredPlan(
            price * factor, number, plan, lambda: self._exact_price(number, with_layouts(plan, self.dtype), factor)
        )

    def _exact_price(self, number: int, plan: Stages, factor: float) -> _ScoredPlan:
        return _ScoredPlan(seconds(plan, self.dtype) * factor, number, plan, None)

    def _crowded_time(self, work: Work, most: int) -> float:
        """Time of a stage if what waits beyond the registers took its time wherever it waits.

        In long programs compilers do not always keep to the moves, and the truth is between the two.
        """
        return max(1.0, most / MAX_FREE_VALUES[self.dtype]) ** 2 * work.seconds(0, SPILLING_WARPS)


def _in_stages(shares: Shares, dtype: str) -> Stages:
    parts = shares.ordered
    return stages(parts.program, dtype, cuts=parts.cuts)


def _ordered(program: Program) -> Program:
    return replace(program, instructions=schedule(program.instructions, program.inputs, program.outputs))
