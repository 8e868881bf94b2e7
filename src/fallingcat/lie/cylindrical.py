"""C: turns about and shifts along a fixed axis; a rod in a sleeve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import array, scale
from ..arrays.types import Float_6_m, Floats_nq, Pose, Vector_m
from ..caching import cached_property
from .abelian import Abelian, unit
from .group import constant
from .rotations import about, angle_about, homogeneous


@dataclass(frozen=True)
class Cylindrical(Abelian):
    """Cylindrical motions along ``axis``, which [From] Table 1 omits.

    ``x = [v, w]``, coordinates ``[distance, angle]``.

    Example:
        >>> rod = Cylindrical()
        >>> rod.log(rod.exp(np.array([0.5, 1.0])))
        array([0.5, 1. ])
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """unit vector"""

    name = "C"
    dim = 2
    coordinate_names = ("distance", "angle")

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``[v, w]``."""
        return homogeneous(about(self.axis, x[1]), scale(x[0], np.array(self.axis)))

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``[v, w]``."""
        return array([np.array(self.axis) @ g[:3, 3], angle_about(self.axis, g[:3, :3])])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 2)."""
        along, zero = np.array(self.axis), np.zeros(3)
        return constant(np.stack([np.concatenate([along, zero]), np.concatenate([zero, along])], axis=1))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements."""
        parts = rng.normal(size=(*batch, 1)), rng.uniform(-np.pi, np.pi, size=(*batch, 1))
        return np.concatenate(parts, axis=-1)
