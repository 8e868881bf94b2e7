"""Strict priorities under limits in machine code, from a guess of what is held; each answer is looked at."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from .active_set import Limited
from .least_squares import Level
from .lexicographic import SOLVED, SOLVER

NONE = -1e300
"""The lower side of limits, which have none."""
OPTIMAL = 1e-9
"""The largest violation of the optimality conditions, relative to the gradients; else the careful way."""
_MEMORY = threading.local()


def sorted_out(levels: Sequence[Level], G: np.ndarray, h: np.ndarray, n: int, held: np.ndarray) -> Limited | None:
    """As :func:`.limited` without damping, starting as if the limits ``held`` (bool) were equations; None where that
    does not end well, as for limits that contradict each other.

    >>> one = Level(np.eye(2), np.array([2.0, 1.0]), np.ones(2))
    >>> found = sorted_out([one], np.array([[1.0, 0.0]]), np.array([1.5]), 2, np.array([True]))
    >>> found.x.round(12), found.multipliers.round(12)
    (array([1.5, 1. ]), array([0.5]))
    """
    bench = _bench(n, tuple(len(level.b) for level in levels), len(h))
    return bench.solve(levels, G, h, held)


def _bench(n: int, heights: tuple[int, ...], limits: int) -> _Bench:
    """The memory of this thread for problems of one shape."""
    known = _MEMORY.__dict__.setdefault("benches", {})
    shape = (n, heights, limits)
    if shape not in known:
        if len(known) >= 32:
            known.clear()
        known[shape] = _Bench(*shape)
    found: _Bench = known[shape]
    return found


class _Bench:
    def __init__(self, n: int, heights: tuple[int, ...], limits: int) -> None:
        heights = (*heights, n)  # at last the least norm
        ends, levels, m, deep = np.cumsum([0, *heights]), len(heights), max(heights), n + 1
        rows = int(ends[-1])
        self.ends, self.rows, self.limits = ends, rows, limits
        self.given, self.value = np.zeros((rows + limits, n)), np.zeros(rows + limits)
        self.given[ends[-2] : rows] = np.eye(n)
        self.root, lower, self.held = np.ones(rows), np.full(limits, NONE), np.zeros(limits, np.int64)
        self.x, self.multipliers, self.report = np.zeros(n), np.zeros(limits), np.zeros(4)
        sizes = np.array([n, 0, 0, levels, limits, 0])
        self.go = SOLVER.bound(
            sizes, np.zeros((1, n)), self.given, np.arange(rows + limits), self.value, self.root, lower, ends,
            self.held, self.x, self.multipliers, np.zeros(rows), np.zeros(levels, np.int64), self.report,
            *(np.zeros((deep, n)), np.zeros(deep), np.zeros(deep, np.int64), np.zeros((deep, deep))),  # S, s, D, L
            *(np.zeros(deep, np.int64), np.zeros((rows, n)), np.zeros(rows), np.zeros((rows, n))),  # names, B, b, C
            *(np.zeros((limits, n)), np.zeros(limits), np.zeros(limits + levels, np.int64)),  # G, g, known
            *(np.zeros((n, m + 2)), np.zeros(n, np.int64), np.zeros(n + limits, np.int64)),  # columns, live, used
            *(np.zeros((deep, m + 2)), np.zeros(levels + 1, np.int64), np.zeros(n)),  # H, starts, w
            *(np.zeros(deep), np.zeros(m), np.zeros(limits)),  # t, r, signs
        )  # fmt: skip

    def solve(self, levels: Sequence[Level], G: np.ndarray, h: np.ndarray, held: np.ndarray) -> Limited | None:
        for level, begin, end in zip(levels, self.ends, self.ends[1:], strict=False):
            self.given[begin:end], self.value[begin:end], self.root[begin:end] = level.A, level.b, np.sqrt(level.weight)
        self.given[self.rows :], self.value[self.rows :] = G, h
        self.held[:] = held
        if self.go() != SOLVED or self.report[2] > OPTIMAL:
            return None
        return Limited(self.x.copy(), np.maximum(self.multipliers, 0.0), np.zeros(self.limits), float(self.report[2]))
