"""H: screw motions about a fixed axis with a fixed pitch; a lead screw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import array, scale
from ..arrays.types import Float_6_m, Floats_nq, Pose, Vector_m
from ..caching import cached_property
from ..errors import ModelError, describe
from .abelian import Abelian, unit
from .group import constant
from .rotations import about, homogeneous


@dataclass(frozen=True)
class Helical(Abelian):
    """Screw motions: a turn by ``x`` about ``axis`` carries the body ``pitch * x`` along it (pitch in m/rad, not zero).

    The advance tells the number of turns, so ``log`` is exact for every angle, not only up to pi.

    Example:
        >>> screw = Helical(pitch=0.5)
        >>> screw.log(screw.exp(np.array([10.0])))
        array([10.])
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """unit vector"""
    pitch: float = 1.0
    """m/rad, not zero"""

    name = "H"
    dim = 1
    coordinate_names = ("angle",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))
        if not isinstance(self.pitch, (int, float)) or not 0.0 < abs(self.pitch) < np.inf:
            raise ModelError(f"the pitch of a screw is finite and not zero, not {describe(self.pitch)}: use SO2 or R1")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``angle``."""
        return homogeneous(about(self.axis, x[0]), scale(self.pitch * x[0], np.array(self.axis)))

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``angle``."""
        return array([(np.array(self.axis) @ g[:3, 3]) / self.pitch])

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 1)."""
        return constant(np.concatenate([self.pitch * np.array(self.axis), self.axis])[:, None])

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements."""
        return rng.uniform(-np.pi, np.pi, size=(*batch, 1))
