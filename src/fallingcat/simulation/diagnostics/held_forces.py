"""Forces that a controller has given in a run, with which an error estimate repeats steps without asking it again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..events import TIME_TOLERANCE

HELD_TIME = 0.1
"""s: of a part that is repeated.  Without its controller a robot leaves its way in the time in which it falls over; in
much shorter parts errors of velocities do not show (runs of a quadruped and a humanoid, at 250 to 1,000 Hz)."""
MAX_NUMBERS = 5_000_000
"""Numbers of forces that are kept at most: 40 MB"""


class HeldForces(NamedTuple):
    """Forces of the robots whose errors are estimated, each held until the next ones."""

    times: list[float]
    """s"""
    values: list[np.ndarray]
    """``L x nv`` each, from that time on"""

    def see(self, t: float, forces: np.ndarray) -> None:
        """Record forces (L x nv) that act from a time (s) on."""
        if not self.values or not np.array_equal(forces, self.values[-1]):
            self.times.append(t)
            self.values.append(np.array(forces))

    def repeated(self, stepper: Any, on: Any, x: np.ndarray, robots: np.ndarray, dt: float, steps: int) -> Any:
        """Some robots on a device after steps of ``dt`` (s) from ``x`` (k x size), which are at the same time."""
        after, start = on.sent(x), float(x[0, 0]) * dt
        for count, forces in self._pieces(start, dt, steps):
            after = stepper.taken(on, after, dt, count, on.sent(forces[robots]))
        return after

    def _pieces(self, start: float, dt: float, steps: int) -> Iterator[tuple[int, np.ndarray]]:
        """Numbers of steps, and the forces in them."""
        k, done = max(0, bisect_right(self.times, start + TIME_TOLERANCE) - 1), 0
        while done < steps:
            last = k + 1 == len(self.times)
            until = steps if last else min(steps, int(np.ceil((self.times[k + 1] - start) / dt - 1e-6)))
            if until > done:
                yield until - done, self.values[k]
            k, done = k + 1, max(done, until)
