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
    """

    pitch: float = 0.01

    name = "pseudo_planar"

    @classmethod
    def sample(cls, rng: np.random.Generator, *, planar: bool = False) -> Self:
        return cls(rng.uniform(-0.2, 0.2))

    def __post_init__(self) -> None:
        PseudoPlanarGroup(self.pitch)  # refuses a pitch that is none

    @cached_property
    def group(self) -> Group:
        return PseudoPlanarGroup(self.pitch)
