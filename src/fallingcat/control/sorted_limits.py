"""Strict priorities under limits in machine code, from a guess of what is held; each answer is looked at."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

import numpy as np

from .active_set import Limited
from .least_squares import Level
from .lexicographic import SOLVED, SOLVER, Found, Given, memory

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
        ends = np.cumsum([0, *heights, n])  # at last the least norm
        levels, rows = len(ends) - 1, int(ends[-1])
        floats, whole = (partial(np.zeros, dtype=kind) for kind in (float, np.int64))
        self.given = Given(
            n, equations=0, levels=levels, limits=limits, late=0, split=0, kept=floats((1, n)),
            given=floats((rows + limits, n)), where=np.arange(rows + limits), value=floats(rows + limits),
            root=np.ones(rows), lower=np.full(limits, NONE), ends=ends,
        )  # fmt: skip
        self.given.given[ends[-2] : rows] = np.eye(n)
        self.found = Found(whole(limits), floats(n), floats(limits), floats(rows), whole(levels), floats(4))
        self.go = SOLVER.bound(self.given, self.found, memory(n, rows, limits, levels, max(*heights, n)))

    def solve(self, levels: Sequence[Level], G: np.ndarray, h: np.ndarray, held: np.ndarray) -> Limited | None:
        a, found = self.given, self.found
        for level, begin, end in zip(levels, a.ends, a.ends[1:], strict=False):
            a.given[begin:end], a.value[begin:end], a.root[begin:end] = level.A, level.b, np.sqrt(level.weight)
        a.given[a.ends[-1] :], a.value[a.ends[-1] :] = G, h
        found.held[:] = held
        if self.go() != SOLVED or found.report[2] > OPTIMAL:
            return None
        off = float(found.report[2])
        return Limited(found.x.copy(), np.maximum(found.multipliers, 0.0), np.zeros(len(h)), off)
