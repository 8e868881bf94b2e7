"""A free joint: no constraint at all."""

from __future__ import annotations

from dataclasses import dataclass

from ...caching import cached_property
from ...lie import SE3, Group
from .kind import JointKind


@dataclass(frozen=True)
class Free(JointKind):
    """Motions of SE(3); coordinates ``[x, y, z, qx, qy, qz, qw]``, rates ``[v; w]`` in the outer frame.

    Example:
        >>> Free().nq, Free().nv
        (7, 6)
    """

    name = "free"

    @cached_property
    def group(self) -> Group:
        """Group SE(3) of configurations."""
        return SE3()
