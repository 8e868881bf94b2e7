"""A hinge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...caching import cached_property
from ...lie import SO2, Group
from .axial import Axial, random_axis


@dataclass(frozen=True)
class Revolute(Axial):
    """Rotation about ``axis``; the coordinate is the angle.

    Example:
        >>> Revolute((0.0, 2.0, 0.0)).axis
        (0.0, 1.0, 0.0)
    """

    name = "revolute"
    planar = True
    stops = True

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        return cls((0.0, 0.0, float(rng.choice([-1.0, 1.0]))) if planar else random_axis(rng))

    @cached_property
    def group(self) -> Group:
        """Group SO(2) of configurations."""
        return SO2(self.axis)
