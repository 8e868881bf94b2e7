"""SO(2): rotations about a fixed axis; a revolute joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import array
from ..arrays.types import Float_6_m, Floats_nq, Pose, Vector_m
from ..caching import cached_property
from .abelian import Abelian, unit
from .group import constant
from .rotations import about, angle_about, embed


@dataclass(frozen=True)
class SO2(Abelian):
    """Rotations about ``axis`` (z by default); ``x`` and the coordinate are the angle.

    Example:
        >>> SO2((1.0, 0.0, 0.0)).exp(np.array([np.pi / 2])).round(4)
        array([[ 1.,  0.,  0.,  0.],
               [ 0.,  0., -1.,  0.],
               [ 0.,  1.,  0.,  0.],
               [ 0.,  0.,  0.,  1.]])
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """unit vector"""

    name = "SO(2)"
    dim = 1
    coordinate_names = ("angle",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``angle``."""
        return embed(about(self.axis, x[0]))

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``angle``."""
        return array([angle_about(self.axis, g[:3, :3])])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 1)."""
        return constant(np.array([[0.0, 0.0, 0.0, *self.axis]]).T)

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: uniform in ``(-pi, pi)``."""
        return rng.uniform(-np.pi, np.pi, size=(*batch, 1))
