"""Record of a sampled controller: an error estimate repeats steps with its forces, without asking it again."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..events import TIME_TOLERANCE

HELD_SAMPLES, MAX_HELD_TIME = 20, 0.1
"""Samples, and s: of a part that is repeated, at most.  Without its controller a robot leaves its way as fast as it
controls, or falls over; in much shorter parts errors of velocities do not show (runs of a quadruped and a humanoid, at
250 to 1,000 Hz)."""
MAX_NUMBERS = 5_000_000
"""Numbers of forces, and of rates, that are kept at most: 40 MB each"""


class HeldForces(NamedTuple):
    """Forces of the robots whose errors are estimated, each held until the next ones."""

    times: list[float]
    """s"""
    values: list[np.ndarray]
    """``L x n`` or ``L x nv`` each, from that time on"""
    rates: list[np.ndarray]
    """``L x n``: of the joints at each sample of the controller after the first"""

    def see(self, t: float, forces: np.ndarray) -> None:
        """Record forces that act from a time (s) on."""
        if not self.values or not np.array_equal(forces, self.values[-1]):
            self.times.append(t)
            self.values.append(np.array(forces))

    def repeated(
        self, stepper: Any, on: Any, x: np.ndarray, robots: np.ndarray, t: float, end: float, dt: float, parts: int
    ) -> Any:
        """Some robots on a device from ``x`` (k x size) at ``t`` to ``end`` (s), in parts of steps of ``dt`` (s)."""
        nv, known = stepper.problem.model.nv, 0.0
        k, after = max(0, bisect_right(self.times, t + TIME_TOLERANCE) - 1), on.sent(x)
        while t < end - TIME_TOLERANCE:
            until = min(end, self.times[k + 1]) if k + 1 < len(self.times) else end
            forces = self.values[k][robots] if until > t else np.zeros((len(x), nv))
            padded = on.sent(np.hstack([np.zeros((len(forces), nv - forces.shape[1])), forces]))
            for start, size, steps in steps_between(t, until, dt):
                if abs(size - known) > TIME_TOLERANCE:
                    known = size
                    after = on.sent(stepper.timed(np.array(on.fetched(after), dtype=float), start, size / parts))
                after = stepper.taken(on, after, size / parts, steps * parts, padded)
            t, k = max(t, until), k + 1
        return after


def steps_between(t: float, end: float, dt: float) -> Iterator[tuple[float, float, int]]:
    """Starts, sizes (s) and numbers of the steps of a run: they end at whole multiples of ``dt``, and at ``end``.

    >>> [(round(t, 9), round(size, 9), count) for t, size, count in steps_between(0.003, 0.011, 0.002)]
    [(0.003, 0.001, 1), (0.004, 0.002, 3), (0.01, 0.001, 1)]
    """
    # 1e-6 of a step: times are sums of steps, whose rounding must not leave a sliver
    first = min(end, math.ceil(t / dt - 1e-6) * dt)
    if first > t + TIME_TOLERANCE:
        yield t, first - t, 1
    whole = math.floor((end - first) / dt + 1e-6)
    if whole > 0:
        yield first, dt, whole
    last = first + max(whole, 0) * dt
    if end > last + TIME_TOLERANCE:
        yield last, end - last, 1
