"""A planar joint: the outer side slides and turns in the x-y plane of the joint frame."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import SE2, Group
from .kind import JointKind


@dataclass(frozen=True)
class Planar(JointKind):
    """Motions of SE(2); coordinates ``[x, y, angle]``, rates ``[vx, vy, wz]`` in the outer frame.

    Example:
        >>> Planar().transform([1.0, 2.0, 0.0])[:3, 3]
        array([1., 2., 0.])
    """

    name = "planar"
    planar = True

    @cached_property
    def group(self) -> Group:
        """Group SE(2) of configurations."""
        return SE2()
