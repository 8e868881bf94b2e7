"""A ball joint."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import SO3, Group
from .kind import JointKind


@dataclass(frozen=True)
class Spherical(JointKind):
    """Rotations SO(3); coordinates the unit quaternion ``[qx, qy, qz, qw]``, rates ``w`` in the outer frame.

    Example:
        >>> Spherical().neutral()
        array([0., 0., 0., 1.])
    """

    name = "spherical"

    @cached_property
    def group(self) -> Group:
        """Group SO(3) of configurations."""
        return SO3()
