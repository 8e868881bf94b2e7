"""A loop of one's own: a massless rod with ball joints at its ends, ``|p_2 - p_1| = length``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fallingcat.arrays import sqrt
from fallingcat.model import Loop
from fallingcat.model.loops import RobotMotion, Rows


@dataclass(frozen=True, eq=False)
class Rod(Loop):
    """Joins the origins of two links or frames; ``second`` may be None, a place in the world."""

    name: str
    first: str
    second: str | None
    length: float
    """m"""
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """in ``second`` (m)"""

    @property
    def count(self) -> int:
        return 1

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(name for name in (self.first, self.second) if name is not None)

    @property
    def internal(self) -> bool:
        return self.second is not None

    def rows(self, motion: RobotMotion) -> Rows:
        end = np.eye(4)
        end[:3, 3] = self.place
        H, J, bias = motion.frame(self.first, np.eye(4))
        G, K, drift = motion.frame(self.second, end)
        d, rows, turn = G[:3, 3] - H[:3, 3], (K - J)[:3], (drift - bias)[:3]
        size: Any = sqrt(d @ d)
        u, rate = d / size, rows @ motion.velocity
        across = (rate @ rate - (u @ rate) * (u @ rate)) / size
        return Rows(np.reshape(size - self.length, 1), (u @ rows)[None], np.reshape(u @ turn + across, 1))
