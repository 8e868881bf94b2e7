"""A pseudo-planar joint: a nut on a lead screw that slides in a plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ...caching import cached_property
from ...lie import Group
from ...lie import PseudoPlanar as PseudoPlanarGroup
from .kind import JointKind


@dataclass(frozen=True)
class PseudoPlanar(JointKind):
    """Motions of Y: shifts in the x-y plane of the joint frame, turns that advance by ``pitch`` (m/rad) along z.

    Coordinates ``[x, y, angle]``, rates ``[vx, vy, wz]`` in the outer frame.

    Example:
        >>> PseudoPlanar(pitch=0.1).transform([1.0, 2.0, 5.0])[:3, 3]
        array([1. , 2. , 0.5])
    """

    pitch: float = 0.01
    """m/rad"""

    name = "pseudo_planar"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        """Random joint of this kind; in the x-y plane if ``planar``."""
        return cls(rng.uniform(-0.2, 0.2))

    def __post_init__(self) -> None:
        PseudoPlanarGroup(self.pitch)  # refuses a pitch that is none

    @cached_property
    def group(self) -> Group:
        """Group Y of configurations."""
        return PseudoPlanarGroup(self.pitch)
