"""A Schoenflies joint: translations, and turns about the z axis of the joint frame."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import Group
from ...lie import Schoenflies as SchoenfliesGroup
from .kind import JointKind


@dataclass(frozen=True)
class Schoenflies(JointKind):
    """Motions of X(z); coordinates ``[x, y, z, angle]``, rates ``[vx, vy, vz, wz]`` in the outer frame."""

    name = "schoenflies"

    @cached_property
    def group(self) -> Group:
        return SchoenfliesGroup()
