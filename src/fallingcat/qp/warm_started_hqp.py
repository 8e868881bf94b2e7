"""Strict priorities under limits by the compiled solver, warm-started with a guess of the active limits."""

from __future__ import annotations

import threading
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .compiled_hqp import MAX_ROUNDS, SOLVED, SOLVER, HQPProblem, HQPSolution, memory
from .least_squares import Level

NO_LOWER_BOUND = -1e300
"""Lower bound of the limits, which have none."""
OPTIMALITY_TOLERANCE = 1e-9
"""Largest violation of the optimality conditions, relative to the gradients; above it the reference solver is used."""
_MEMORY = threading.local()


class Stack(NamedTuple):
    """All levels, stacked."""

    A: np.ndarray
    """``k x n``"""
    b: np.ndarray
    weight: np.ndarray
    ends: tuple[int, ...]
    """end of each level, after a zero"""

    @property
    def levels(self) -> list[Level]:
        """List of the levels."""
        return [Level(*(x[i:j] for x in self[:3])) for i, j in pairwise(self.ends)]


class WarmStartedResult(NamedTuple):
    """Result of :func:`solve_warm_started`."""

    x: np.ndarray
    misses: np.ndarray
    """``A x - b`` of all levels"""
    ranks: tuple[int, ...]
    """for each level the number of rows that are independent of each other and of all before, active limits too"""
    multipliers: np.ndarray
    """multipliers, as of :class:`.Limited`"""
    residual: float
    """the largest violation of the optimality conditions, relative to the gradients"""


def solve_warm_started(
    stack: Stack, norm: np.ndarray, G: np.ndarray, h: np.ndarray, held: Any
) -> WarmStartedResult | None:
    """Solution of :func:`.limited` without damping, of least ``|norm x|`` (n x n), warm-started; None where it fails.

    The limits ``held`` (bool) are the first guess of the active ones.  It fails for limits that contradict each other.

    Example:
        >>> stack = Stack(np.eye(2), np.array([2.0, 1.0]), np.ones(2), (0, 2))
        >>> found = solve_warm_started(stack, np.eye(2), np.array([[1.0, 0.0]]), np.array([1.5]), np.array([True]))
        >>> found.x.round(12), found.multipliers.round(12)
        (array([1.5, 1. ]), array([0.5]))
    """
    return _bench(len(norm), stack.ends, len(h)).solve(stack, norm, G, h, held)


def _bench(n: int, ends: tuple[int, ...], limits: int) -> _Workspace:
    """Memory of this thread for problems of one shape."""
    known = _MEMORY.__dict__.setdefault("benches", {})
    shape = (n, ends, limits)
    if shape not in known:
        if len(known) >= 32:
            known.clear()
        known[shape] = _Workspace(*shape)
    found: _Workspace = known[shape]
    return found


class _Workspace:
    def __init__(self, n: int, ends: tuple[int, ...], limits: int) -> None:
        self.k, all_ = ends[-1], np.array([*ends, ends[-1] + n])  # at last the least norm
        levels, rows = len(all_) - 1, int(all_[-1])
        floats, whole = (partial(np.zeros, dtype=kind) for kind in (float, np.int64))
        self.problem = HQPProblem(
            n, equations=0, levels=levels, limits=limits, late_begin=0, split_column=0, constant_rows=floats((1, n)),
            changing_rows=floats((rows + limits, n)), row_indices=np.arange(rows + limits), value=floats(rows + limits),
            root=np.ones(rows), lower=np.full(limits, NO_LOWER_BOUND), ends=all_,
            rounds=MAX_ROUNDS, within_drive_limits=0, torques=0, forces=0, joints=0, drives=whole(0),
        )  # fmt: skip
        self.solution = HQPSolution(whole(limits), floats(n), floats(limits), floats(rows), whole(levels), floats(6))
        tallest = int(np.diff(all_).max())
        self.go = SOLVER.bound(self.problem, self.solution, memory(n, rows, limits, levels, tallest))

    def solve(
        self, stack: Stack, norm: np.ndarray, G: np.ndarray, h: np.ndarray, held: Any
    ) -> WarmStartedResult | None:
        a, found, k, first = self.problem, self.solution, self.k, self.k + len(norm)
        a.changing_rows[:k], a.changing_rows[k:first], a.changing_rows[first:] = stack.A, norm, G
        a.value[:k], a.value[first:] = stack.b, h
        np.sqrt(stack.weight, out=a.root[:k])
        found.active_sides[:] = held
        # the active set was not found in the rounds, or limits contradict each other: the reference solver decides
        if self.go() != SOLVED or found.report[2] > OPTIMALITY_TOLERANCE:
            return None
        ranks, pushes = tuple(found.ranks[:-1].tolist()), np.maximum(found.multipliers, 0.0)
        return WarmStartedResult(found.x.copy(), found.misses[:k].copy(), ranks, pushes, float(found.report[2]))
