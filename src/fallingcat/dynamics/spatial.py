"""Motions and wrenches across a joint, and the inertia of a rigid body; with 3-vectors, because they trace well.

``H`` maps coordinates of the child to those of the parent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import block, concatenate, cross
from ..lie.rotations import skew
from ..model import Body


def motion_to_child(H: Any, motion: Any) -> Any:
    """``Ad(H^-1) [v; w] = [R' (v + w x p); R' w]``: a twist or an acceleration, carried along by the parent."""
    R, p = H[:3, :3], H[:3, 3]
    v, w = motion[:3], motion[3:]
    return concatenate([R.T @ (v + cross(w, p)), R.T @ w])


def wrench_to_parent(H: Any, wrench: Any) -> Any:
    """``Ad(H^-1)' [f; t] = [R f; R t + p x R f]``."""
    R, p = H[:3, :3], H[:3, 3]
    f = R @ wrench[:3]
    return concatenate([f, R @ wrench[3:] + cross(p, f)])


class RigidInertia(NamedTuple):
    """The inertia of a body about the origin of a frame: ``mass``, ``moment = mass * center``, ``inertia`` (3x3)."""

    mass: Any
    moment: Any
    inertia: Any

    @classmethod
    def of(cls, body: Body) -> RigidInertia:
        """The inertia of a link's body in the link frame."""
        return cls(body.mass, body.mass * body.center, body.spatial_inertia[3:, 3:])

    def to_parent(self, H: Any) -> RigidInertia:
        """The same inertia in the parent frame: ``R I R' - P [R h] - [h'] P`` with ``P = skew(p)``."""
        R, p = H[:3, :3], H[:3, 3]
        h = R @ self.moment
        moved = h + self.mass * p
        inertia = R @ self.inertia @ R.T - skew(p) @ skew(h) - skew(moved) @ skew(p)
        return RigidInertia(self.mass, moved, inertia)

    def __add__(self, other: Any) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, self.moment + other.moment, self.inertia + other.inertia)

    def __matmul__(self, motion: Any) -> Any:
        """``[m v + w x h; h x v + I w]``: the momentum of a twist; a 6 x k matrix is taken column by column."""
        v, w = motion[:3], motion[3:]
        H = skew(self.moment)
        return concatenate([self.mass * v - H @ w, H @ v + self.inertia @ w])

    def matrix(self) -> Any:
        """``6 x 6``: ``[[m 1, -[h]], [[h], I]]``."""
        H = skew(self.moment)
        return block([[self.mass * np.eye(3), -H], [H, self.inertia]])
