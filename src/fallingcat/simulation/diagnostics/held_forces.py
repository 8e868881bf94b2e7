"""Forces that a sampled controller has given, with which an error estimate repeats steps without asking it again."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

from ..events import TIME_TOLERANCE

HELD_SAMPLES, MAX_HELD_TIME = 20, 0.1
"""Samples, and s: of a part that is repeated, at most.  Without its controller a robot leaves its way as fast as it
controls, or falls over; in much shorter parts errors of velocities do not show (runs of a quadruped and a humanoid, at
250 to 1,000 Hz)."""
MAX_NUMBERS = 5_000_000
"""Numbers of forces that are kept at most: 40 MB"""


class HeldForces(NamedTuple):
    """Forces of the robots whose errors are estimated, each held until the next ones."""

    times: list[float]
    """s"""
    values: list[np.ndarray]
    """``L x n`` or ``L x nv`` each, from that time on"""

    def see(self, t: float, forces: np.ndarray) -> None:
        """Record forces that act from a time (s) on."""
        if not self.values or not np.array_equal(forces, self.values[-1]):
            self.times.append(t)
            self.values.append(np.array(forces))

    def repeated(
        self, stepper: Any, on: Any, x: np.ndarray, robots: np.ndarray, t: float, end: float, dt: float
    ) -> Any:
        """Some robots on a device from ``x`` (k x size) at ``t`` to ``end`` (s), in steps of at most ``dt`` (s)."""
        nv, size = stepper.problem.model.nv, 0.0
        k, after = max(0, bisect_right(self.times, t + TIME_TOLERANCE) - 1), on.sent(x)
        while t < end - TIME_TOLERANCE:
            until = min(end, self.times[k + 1]) if k + 1 < len(self.times) else end
            if until > t + TIME_TOLERANCE:
                steps = max(1, int(np.ceil((until - t) / dt - 1e-6)))
                if abs((until - t) / steps - size) > TIME_TOLERANCE:
                    size = (until - t) / steps
                    after = on.sent(stepper.timed(np.array(on.fetched(after), dtype=float), t, size))
                forces = self.values[k][robots]
                padded = np.hstack([np.zeros((len(forces), nv - forces.shape[1])), forces])
                after, t = stepper.taken(on, after, size, steps, on.sent(padded)), until
            k += 1
        return after
