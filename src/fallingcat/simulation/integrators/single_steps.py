"""Steps of one robot, one by one, as error estimates repeat them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..problem.problem import Problem
from .base import Step


class SingleSteps(NamedTuple):
    """Steps of one robot, one by one, as error estimates repeat them: a function of the user is evaluated in them.

    States are ``[steps so far, ...; packed state]``, with ``head`` numbers first; it is its own device.
    """

    problem: Problem
    step: Step
    head: int = 1

    def part(self, robots: np.ndarray) -> SingleSteps:
        """Itself: the one robot."""
        return self

    def fetched(self, x: np.ndarray) -> np.ndarray:
        """States (1 x size) on this machine."""
        return x

    def restarted(self, x: np.ndarray, times: float) -> np.ndarray:
        """``1 x size``: ``x`` before steps so many times shorter."""
        return np.hstack([times * x[:, :1], x[:, 1:]])

    def repeated(self, on: Any, x: np.ndarray, dt: float, steps: int) -> np.ndarray:
        """``1 x size``: ``x`` after ``steps`` of ``dt`` (s)."""
        (first,), size = x, x.shape[1] - self.head
        packed = first[self.head :]
        try:
            for k in range(steps):
                packed = self.step(packed, np.array([(first[0] + k) * dt, dt]))[:size]
        except Exception:  # a function may refuse states to which only longer steps bring it
            packed = np.full_like(packed, np.nan)
        return np.append(first[: self.head], packed)[None]
