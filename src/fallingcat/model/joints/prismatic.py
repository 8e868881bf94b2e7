"""A slider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...caching import cached_property
from ...lie import R1, Group
from .axial import Axial, random_axis


@dataclass(frozen=True)
class Prismatic(Axial):
    """Translation along ``axis``; the coordinate is the distance in meters.

    Example:
        >>> Prismatic((1.0, 0.0, 0.0)).transform([0.5])[:3, 3]
        array([0.5, 0. , 0. ])
    """

    name = "prismatic"
    planar = True
    stops = True

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        if not planar:
            return cls(random_axis(rng))
        angle = rng.uniform(-np.pi, np.pi)
        return cls((float(np.cos(angle)), float(np.sin(angle)), 0.0))

    @cached_property
    def group(self) -> Group:
        """Group R of configurations."""
        return R1(self.axis)
