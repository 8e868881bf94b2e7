"""Derivatives of the motion of single links, from the sweep behind the derivatives of the dynamics.

Moving a joint, seen from a link behind it, changes the motion of what is before the joint: the twist by ``ad(nu) s``,
the acceleration by ``ad(a) s + ad(nu) ad(nu) s - ad(nu_link) ad(nu) s`` (``nu``, ``a`` of the parent, ``s`` the axis).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Matrix, Pose, Vector
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Model
from .derivative_sweeps import Changes, Motion
from .spatial import motion_to_child
from .sweeps import ancestors, propagate_outward

_SE3 = SE3()


class LinkDerivatives(NamedTuple):
    """Motion of a link about a place in it, and its derivatives by the ``c`` degrees of freedom that move it (6 x c).

    Along the axes of the link; linear parts are ``v + w x place``.
    """

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

    def twist_at(self, velocity: Vector) -> Vector:
        """Twist (6) at another quasi-velocity (nv)."""
        return self.J @ velocity[self.columns]


def link_derivatives(
    model: Model, motion: Motion, found: Sequence[Changes], acceleration: Vector, about: Mapping[int, Vector]
) -> list[LinkDerivatives]:
    """Derivatives of the motions of some links.

    Args:
        model: Robot, whose joints follow no others.
        motion: Its :class:`.Motion` at a state.
        found: Its :func:`.changes` at the acceleration.
        acceleration: ``nv``.
        about: Place (3) in each link, by its index.
    """
    paths = [ancestors(motion.tree, link)[::-1] for link in about]
    places = [np.arange(model.m), *(model.m + np.arange(v.start, v.stop) for v in model.v_slices)]
    columns = [np.concatenate([places[k] for k in path]) for path in paths]

    def derivatives_of_link(
        place: Vector, H: Pose, nu: Vector, bias: Vector, rates: Vector, *by: Matrix
    ) -> tuple[Any, ...]:
        J, nu_q, by_q, by_v = (_to_link(H, x) for x in by)
        nu = motion_to_child(H, nu)
        a = motion_to_child(H, bias) + J @ rates
        classical = concatenate([a[:3] + skew(nu[3:]) @ nu[:3], a[3:]])
        found = J, nu, nu_q, classical, by_q + _transport_term(nu, nu_q), by_v + _transport_term(nu, J)
        return tuple(shift_motions(x, place) for x in found)

    by_joint = [(s, change.dnu, change.da, change.da_by_speed) for s, change in zip(motion.axes, found, strict=True)]
    by = [[concatenate([by_joint[k][i] for k in path], axis=1) for path in paths] for i in range(4)]
    own = ([x[link] for link in about] for x in (motion.poses, motion.twists, motion.bias))
    moves = map(derivatives_of_link, [*about.values()], *own, [acceleration[places] for places in columns], *by)
    poses = (motion.poses[link] for link in about)
    return [LinkDerivatives(*each[:2], *each[2]) for each in zip(columns, poses, moves, strict=True)]


def twists_by_configuration(
    motion: Motion, about: Mapping[int, Vector], velocity: Vector, places: Sequence[slice]
) -> list[Matrix]:
    """Derivatives (6 x c each) of the body-fixed twists of links at a quasi-velocity (nv) by the configuration.

    Args:
        motion: Motion of the robot at the same configuration.
        about: Place (3) in each link, by its index.
        velocity: Quasi-velocity, ``nv``.
        places: Place of base and joints in it.
    """
    own = [s @ velocity[place] for s, place in zip(motion.axes, places, strict=True)]
    twists, parents = propagate_outward(motion.tree, own[0], lambda node, nu: nu + own[node.link]), motion.parents
    paths = [ancestors(motion.tree, link)[::-1] for link in about]
    behind = sorted({k for path in paths for k in path[1:]})
    by_link = {0: np.zeros_like(motion.axes[0])}
    by_link |= {k: _SE3.ad(twists[parents[k]]) @ motion.axes[k] for k in behind}
    moved = [concatenate([by_link[k] for k in path], axis=1) for path in paths]
    each = zip(about.items(), moved, strict=True)
    return [shift_motions(_to_link(motion.poses[link], x), place) for (link, place), x in each]


def shift_motions(motion: Any, place: np.ndarray) -> Any:
    """Motions (6, or 6 x k) of a link about a place (3) in it."""
    return concatenate([motion[:3] - skew(place) @ motion[3:], motion[3:]])


def _to_link(H: Pose, motions: Matrix) -> Matrix:
    """Motions (6 x k) in the link frame: ``Ad(H^-1) [v; w] = [R' (v - p x w); R' w]``."""
    R, p, v, w = H[:3, :3], H[:3, 3], motions[:3], motions[3:]
    return concatenate([R.T @ (v - skew(p) @ w), R.T @ w])


def _transport_term(nu: Vector, by: Matrix) -> Any:
    """Part of the acceleration's derivative that the link's own twist makes of a derivative of its twist (6 x c)."""
    v, w = nu[:3], nu[3:]
    return concatenate([-2.0 * (skew(v) @ by[3:]), -(skew(w) @ by[3:])])
