"""Motions and wrenches across a joint, and the inertia of a rigid body; with 3-vectors, because they trace well.

``H`` maps coordinates of the child to those of the parent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import block, concatenate, cross, mirror, rotate_matrix, scale, stack
from ..arrays.types import Matrix, Pose, Scalar, Twist, Vector, Wrench
from ..lie.rotations import skew
from ..model import Body, Model
from .checks import check_dynamic

# the linear map J -> tr(J) 1 - J on flattened 3x3 matrices: one product for every kind of number
_TRACE_LESS = np.outer(np.eye(3).ravel(), np.eye(3).ravel()) - np.eye(9)


def motion_to_child(H: Pose, motion: Twist) -> Twist:
    """Twist or acceleration, carried along by the parent: ``Ad(H^-1) [v; w] = [R' (v + w x p); R' w]``."""
    R, p = H[:3, :3], H[:3, 3]
    v, w = motion[:3], motion[3:]
    return concatenate([R.T @ (v + cross(w, p)), R.T @ w])


def wrench_to_parent(H: Pose, wrench: Wrench) -> Wrench:
    """Wrench on the parent, ``Ad(H^-1)' [f; t] = [R f; R t + p x R f]``."""
    R, p = H[:3, :3], H[:3, 3]
    f = R @ wrench[:3]
    return concatenate([f, R @ wrench[3:] + cross(p, f)])


def wrenches_to_parent(H: Pose, wrenches: Matrix) -> Matrix:
    """Same of each column of a ``6 x k`` matrix."""
    R, p = H[:3, :3], H[:3, 3:]
    f = R @ wrenches[:3]
    lever = stack([p[1] * f[2] - p[2] * f[1], p[2] * f[0] - p[0] * f[2], p[0] * f[1] - p[1] * f[0]])
    return concatenate([f, R @ wrenches[3:] + lever])


def coadjoint_action(twist: Twist, momentum: Wrench) -> Wrench:
    """Coadjoint action ``ad([v; w])' [p; l] = [p x w; l x w + p x v]``."""
    v, w, p, angular = twist[:3], twist[3:], momentum[:3], momentum[3:]
    return concatenate([cross(p, w), cross(angular, w) + cross(p, v)])


def bracket(a: Twist, b: Twist) -> Twist:
    """Lie bracket ``ad(a) b = [a_w x b_v + a_v x b_w; a_w x b_w]``."""
    return concatenate([cross(a[3:], b[:3]) + cross(a[:3], b[3:]), cross(a[3:], b[3:])])


class RigidInertia(NamedTuple):
    """Inertia of a body about the origin of a frame, as moments of its mass.

    ``mass = sum m``, ``moment = sum m x`` (3) and ``second_moment = sum m x x'`` (3x3, symmetric) over points: ten
    numbers, which add up over bodies and move between frames more cheaply than a 6x6 matrix.
    """

    mass: Scalar
    """kg"""
    moment: Vector
    """3 (kg m)"""
    second_moment: Matrix
    """``3 x 3`` (kg m^2)"""

    @classmethod
    def from_body(cls, body: Body) -> RigidInertia:
        """Inertia of a link's body in the link frame."""
        return cls(body.mass, body.first_moment, body.second_moment)

    @property
    def inertia(self) -> Matrix:
        """Rotational inertia ``I = tr(J) 1 - J`` (3x3), of the second moment ``J``."""
        return (_TRACE_LESS @ self.second_moment.reshape(9)).reshape(3, 3)

    def to_parent(self, H: Pose) -> RigidInertia:
        """Same inertia in the parent frame: ``R J R' + p q' + q p'`` with ``q = R h + m p / 2``."""
        R, p = H[:3, :3], H[:3, 3]
        h, shift = R @ self.moment, scale(self.mass, p)
        cross_term = p[:, None] * (h + 0.5 * shift)[None, :]
        second = mirror(rotate_matrix(R, self.second_moment) + cross_term + cross_term.T)
        return RigidInertia(self.mass, h + shift, second)

    def rate(self, twist: Twist) -> RigidInertia:
        """Rate of the moments when the body moves with ``twist``: the matrix of this is ``-(ad' L + L ad)``.

        ``dh/dt`` is the linear momentum, ``dJ/dt = v h' + W J + transposed``.
        """
        v, w = twist[:3], twist[3:]
        half = v[:, None] * self.moment[None, :] + skew(w) @ self.second_moment
        return RigidInertia(0.0, scale(self.mass, v) + cross(w, self.moment), mirror(half + half.T))

    def times_ad(self, twist: Twist) -> Matrix:
        """Product ``L ad(twist)`` (6x6): ``[[m W, m V - H W], [H W, H V + I W]]``."""
        V, W, H = skew(twist[:3]), skew(twist[3:]), skew(self.moment)
        HW = H @ W
        return block([[scale(self.mass, W), scale(self.mass, V) - HW], [HW, H @ V + self.inertia @ W]])

    def __add__(self, other: Any) -> RigidInertia:
        return RigidInertia(
            self.mass + other.mass, self.moment + other.moment, self.second_moment + other.second_moment
        )

    def __matmul__(self, motion: Twist) -> Wrench:
        """Momentum of a twist, ``[m v + w x h; h x v + I w]``; a 6 x k matrix is taken column by column."""
        v, w = motion[:3], motion[3:]
        H = skew(self.moment)
        return concatenate([scale(self.mass, v) - H @ w, H @ v + self.inertia @ w])

    def matrix(self) -> Matrix:
        """Spatial inertia ``L`` (6x6): ``[[m 1, -H], [H, I]]``."""
        H = skew(self.moment)
        return block([[scale(self.mass, np.eye(3)), -H], [H, self.inertia]])


def rigid_inertias(model: Model) -> list[RigidInertia]:
    """Inertia of each link in its frame; an error where the model is a kinematic one."""
    check_dynamic(model)
    return [RigidInertia.from_body(link.body) for link in model.links]
