"""A joint of one's own: the saddle joint at the root of a thumb, two hinges whose axes do not meet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from fallingcat.arrays import scale, stack
from fallingcat.lie import SE3, SO2, Group, Product
from fallingcat.lie.rotations import about, homogeneous
from fallingcat.model import JointKind

G = SE3()


@dataclass(frozen=True)
class Saddle(JointKind):
    """A hinge about x, then a hinge along y through ``(0, 0, reach)``: ``H(q) = exp(q0 s0) exp(q1 s1)``."""

    reach: float = 0.05
    """from the first axis to the second (m)"""

    name = "saddle"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        return cls(float(rng.uniform(0.02, 0.2)))

    @cached_property
    def group(self) -> Group:
        return Product((SO2((1.0, 0.0, 0.0)), SO2((0.0, 1.0, 0.0))))

    @property
    def screws(self) -> tuple[np.ndarray, np.ndarray]:
        """The two axes as twists ``[v; w]``; the second one passes through ``(0, 0, reach)``."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), np.array([-self.reach, 0.0, 0.0, 0.0, 1.0, 0.0])

    def second(self, q: Any) -> Any:
        """``exp(q1 s1)``: a turn about the axis of the second hinge."""
        R, p = about((0.0, 1.0, 0.0), q[1]), np.array([0.0, 0.0, self.reach])
        return homogeneous(R, p - R @ p)

    def transform(self, q: Any) -> Any:
        return homogeneous(about((1.0, 0.0, 0.0), q[0]), np.zeros(3)) @ self.second(q)

    def motion_subspace(self, q: Any) -> Any:
        first, second = self.screws
        return stack([G.Ad(G.inverse(self.second(q))) @ first, second], axis=1)

    def motion_subspace_derivative(self, q: Any, rates: Any) -> Any:
        first, second = self.screws
        seen = G.Ad(G.inverse(self.second(q))) @ first
        return stack([-(G.ad(scale(rates[1], second)) @ seen), np.zeros(6)], axis=1)
