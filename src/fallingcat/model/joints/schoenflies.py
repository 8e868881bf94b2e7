"""A Schoenflies joint: translations, and turns about the z axis of the joint frame."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import Group
from ...lie import Schoenflies as SchoenfliesGroup
from .kind import JointKind


@dataclass(frozen=True)
class Schoenflies(JointKind):
    """Motions of X(z); coordinates ``[x, y, z, angle]``, rates ``[vx, vy, vz, wz]`` in the outer frame.

    Example:
        >>> Schoenflies().transform([1.0, 2.0, 3.0, 0.5])[:3, 3]
        array([1., 2., 3.])
    """

    name = "schoenflies"

    @cached_property
    def group(self) -> Group:
        """Group X(z) of configurations."""
        return SchoenfliesGroup()
