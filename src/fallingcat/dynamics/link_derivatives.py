"""Derivatives of the motion of single links, from the sweep behind the derivatives of the dynamics.

Moving a joint, seen from a link behind it, changes the motion of what is before the joint: the twist by ``ad(nu) s``,
the acceleration by ``ad(a) s + ad(nu) ad(nu) s - ad(nu_link) ad(nu) s`` (``nu``, ``a`` of the parent, ``s`` the axis).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Matrix, Pose, Vector
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Model
from .derivative_sweeps import Changes, Motion
from .spatial import motion_to_child
from .sweeps import ancestors, outward

_SE3 = SE3()


class LinkDerivatives(NamedTuple):
    """Motion of a link, body-fixed, and its derivatives by the ``c`` degrees of freedom that move it (6 x c each)."""

    columns: np.ndarray
    """``c``: places of these in a quasi-velocity"""
    pose: Pose
    """``4 x 4``, in the base"""
    J: Matrix
    """twist per quasi-velocity: also pose by configuration, and acceleration by acceleration"""
    twist: Vector
    """``6``"""
    twist_by_q: Matrix
    acceleration: Vector
    """``6``: of the origin of the link less gravity, and angular, as in :class:`.Response`"""
    acceleration_by_q: Matrix
    acceleration_by_v: Matrix

    def about(self, place: np.ndarray) -> LinkDerivatives:
        """The same about a place (3) in the link: linear parts are ``v + w x place``; all zero: about its origin."""
        if not place.any():
            return self
        moved = (shifted(x, place) for x in self[2:])
        return LinkDerivatives(self.columns, self.pose, *moved)

    def twist_at(self, velocity: Vector) -> Vector:
        """Twist (6) at another quasi-velocity (nv)."""
        return self.J @ velocity[self.columns]


def link_derivatives(
    model: Model, motion: Motion, found: Sequence[Changes], acceleration: Vector, link: int
) -> LinkDerivatives:
    """Derivatives of the motion of a link.

    Args:
        model: Robot, whose joints follow no others.
        motion: Its :class:`.Motion` at a state.
        found: Its :func:`.changes` at the acceleration.
        acceleration: ``nv``.
        link: Index of the link.
    """
    path, H = ancestors(motion.tree, link)[::-1], motion.poses[link]
    places = [np.arange(model.m), *(model.m + np.arange(v.start, v.stop) for v in model.v_slices)]
    columns = np.concatenate([places[k] for k in path])
    J = _to_link(H, [motion.axes[k] for k in path])
    nu = motion_to_child(H, motion.twists[link])
    nu_q = _to_link(H, [found[k].dnu for k in path])
    a = motion_to_child(H, motion.bias[link]) + J @ acceleration[columns]
    classical = concatenate([a[:3] + skew(nu[3:]) @ nu[:3], a[3:]])
    by_q, by_v = (_to_link(H, x) for x in ([found[k].da for k in path], [found[k].da_by_speed for k in path]))
    return LinkDerivatives(columns, H, J, nu, nu_q, classical, by_q + _turning(nu, nu_q), by_v + _turning(nu, J))


def twist_by_configuration(motion: Motion, link: int, velocity: Vector, places: Sequence[slice]) -> Matrix:
    """Derivative (6 x c) of the body-fixed twist of a link at a quasi-velocity (nv) by the configuration.

    Args:
        motion: Motion of the robot at the same configuration.
        link: Index of the link.
        velocity: Quasi-velocity, ``nv``.
        places: Place of base and joints in it.
    """
    own = [s @ velocity[place] for s, place in zip(motion.axes, places, strict=True)]
    twists = outward(motion.tree, own[0], lambda node, nu: nu + own[node.link])
    path, parents = ancestors(motion.tree, link)[::-1], motion.parents
    moved = [np.zeros_like(motion.axes[0]), *(_SE3.ad(twists[parents[k]]) @ motion.axes[k] for k in path[1:])]
    return _to_link(motion.poses[link], moved)


def shifted(motion: Any, place: np.ndarray) -> Any:
    """Motions (6, or 6 x k) of a link about a place (3) in it."""
    return concatenate([motion[:3] - skew(place) @ motion[3:], motion[3:]])


def _to_link(H: Pose, parts: Sequence[Matrix]) -> Matrix:
    """Motions (6 x k each) side by side, in the link frame: ``Ad(H^-1) [v; w] = [R' (v - p x w); R' w]``."""
    R, p, motions = H[:3, :3], H[:3, 3], concatenate(list(parts), axis=1)
    v, w = motions[:3], motions[3:]
    return concatenate([R.T @ (v - skew(p) @ w), R.T @ w])


def _turning(nu: Vector, by: Matrix) -> Any:
    """Part of the acceleration's derivative that the link's own twist makes of a derivative of its twist (6 x c)."""
    v, w = nu[:3], nu[3:]
    return concatenate([-2.0 * (skew(v) @ by[3:]), -(skew(w) @ by[3:])])
