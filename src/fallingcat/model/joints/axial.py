"""Base class of the joints about or along one axis."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ...arrays.types import Vector
from ...errors import ModelError
from ...lie.abelian import unit
from .kind import JointKind


@dataclass(frozen=True)
class Axial(JointKind):
    """Joint with an ``axis``: a unit vector of the joint frame (any length is normalised)."""

    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """unit vector of the joint frame"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", checked_axis(self.axis))

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        return cls(random_axis(rng))

    def reversed(self) -> Self:
        """Same joint about the opposite axis: the same coordinates mean the same motion, seen from the other side."""
        x, y, z = self.axis
        return replace(self, axis=(-x, -y, -z))


def random_axis(rng: np.random.Generator) -> tuple[float, float, float]:
    """Random direction, not normalised."""
    x, y, z = rng.normal(size=3)
    return float(x), float(y), float(z)


def checked_axis(axis: Vector) -> tuple[float, float, float]:
    """Axis as a tuple of floats of length 1, or an error that speaks of joints."""
    try:
        return unit(axis)
    except ModelError:
        raise ModelError(f"the axis of a joint is a finite 3-vector that is not zero, not {axis!r}") from None
