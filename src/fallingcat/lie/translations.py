"""R, R^2 and R^3: translations along an axis, in the x-y plane, in space; prismatic joints, gantries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays.types import Float_6_m, Floats_nq, Pose, Vector_m
from ..caching import cached_property
from .abelian import Abelian, unit
from .group import constant
from .rotations import homogeneous


class _Translations(Abelian):
    """Translations along the columns of ``selection[:3]``; ``x`` and the coordinates are lengths in meters."""

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map."""
        return homogeneous(np.eye(3), self.selection[:3] @ x)

    def log(self, g: Pose) -> Vector_m:
        """Logarithm."""
        return self.selection[:3].T @ g[:3, 3]

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements."""
        return rng.normal(size=(*batch, self.dim))


@dataclass(frozen=True)
class R1(_Translations):
    """Translations along ``axis`` (z by default); coordinate ``distance``.

    Example:
        >>> R1((1.0, 0.0, 0.0)).exp(np.array([2.0]))[:3, 3]
        array([2., 0., 0.])
    """

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """unit vector"""

    name = "R"
    dim = 1
    coordinate_names = ("distance",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(self.axis))

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 1)."""
        return constant(np.array([[*self.axis, 0.0, 0.0, 0.0]]).T)


@dataclass(frozen=True)
class R2(_Translations):
    """Translations in the x-y plane; coordinates ``[x, y]``.

    Example:
        >>> R2().exp(np.array([2.0, 3.0]))[:3, 3]
        array([2., 3., 0.])
    """

    name = "R^2"
    dim = 2
    coordinate_names = ("x", "y")

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 2)."""
        return constant(np.eye(6)[:, :2])


@dataclass(frozen=True)
class R3(_Translations):
    """Translations in space; coordinates ``[x, y, z]``.

    Example:
        >>> R3().exp(np.array([2.0, 3.0, 4.0]))[:3, 3]
        array([2., 3., 4.])
    """

    name = "R^3"
    dim = 3
    coordinate_names = ("x", "y", "z")

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 3)."""
        return constant(np.eye(6)[:, :3])
