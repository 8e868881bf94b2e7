"""Sweeps behind the derivatives: what moving a joint, or its speed, changes in the forces behind it.

In the frame that coincides with the base, moving a joint carries everything behind it along a rigid motion: the forces
behind it answer as if their parent's motion had changed instead, by one composite matrix per link, in O(n x depth).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, map_each
from ..arrays.types import Matrix, Pose, Twist, Vector, Wrench
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import Representation
from .geometry import geometry
from .spatial import RigidInertia, coadjoint_action, rigid_inertias
from .sweeps import Node, Places, accumulate_inward, ancestors, propagate_outward
from .wrenches import in_base_frame

_SE3 = SE3()
ad, adt = _SE3.ad, _SE3.adt


class _Gain(NamedTuple):
    """Derivative of a body's force by its twist: ``dL/dt - adt(L nu) = [[0, -2 [p]], [0, K]]``."""

    p: Vector
    K: Matrix

    def __add__(self, other: Any) -> _Gain:
        return _Gain(self.p + other.p, self.K + other.K)

    def __matmul__(self, motions: Matrix) -> Matrix:
        """Product with each column of a 6 x k matrix."""
        w = motions[3:]
        return concatenate([-2.0 * (skew(self.p) @ w), self.K @ w])

    def left_product(self, axes: Matrix) -> Matrix:
        """``axes' @ gain`` (k x 3): the part that multiplies angular velocities; the other is zero."""
        return (2.0 * (skew(self.p) @ axes[:3]) + self.K.T @ axes[3:]).T


class Motion(NamedTuple):
    """Quantities that hold for every acceleration, in the standing frame: lists over links, and sums over subtrees."""

    tree: Sequence[Node]
    places: Places
    poses: list[Pose]
    """``4 x 4`` of each link, in the base"""
    axes: list[Matrix]
    axis_brackets: list[Matrix]
    """``ad(nu) s`` (6 x k) with the parent's twist: what turning the joint does to the twist behind it"""
    axes_dot: list[Matrix]
    twists: list[Twist]
    inertias: list[RigidInertia]
    bias: list[Vector]
    """accelerations (6) without those of the joints, less gravity"""
    bias_forces: list[Wrench]
    """the wrench (6) that each body then needs beside those that act on it"""
    total: list[RigidInertia]
    gain: list[_Gain]
    wrench_slopes: list[Matrix] | None
    """change of the external wrenches on the subtree of each link as it turns (6 x 6); None where none does"""

    @property
    def parents(self) -> list[int]:
        """Place of the parent of each link but the base."""
        return [0, *(node.parent for node in self.tree)]

    def sums(self, own: Sequence[Any]) -> list[Any]:
        """Sum over each link and everything that it carries."""
        return accumulate_inward(self.tree, own, lambda node, value: value)


def motion_of(
    model: Model,
    state: State,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> Motion:
    """Quantities of :class:`Motion` at a state: one sweep outwards, and each body's share."""
    geo = geometry(model, state)
    tree, axes = geo.tree, geo.axes
    above = [np.zeros(6), *(geo.twists[node.parent] for node in tree)]
    moved = map_each(lambda nu, s: ad(nu) @ s, above, axes)
    own = [axes[0] @ state.twist, *(axes[node.link] @ node.rates for node in tree)]
    # an axis does not turn itself: of the joint's own motion only the other axes of the joint see something
    axes_dot = [x + ad(nu) @ s if s.shape[1] > 1 else x for x, nu, s in zip(moved, own, axes, strict=True)]
    speeds = [state.twist, *(node.rates for node in tree)]
    steps = [s_dot @ v for s_dot, v in zip(axes_dot, speeds, strict=True)]
    # gravity as an acceleration of the base upwards: every body feels it without a term of its own
    bias = propagate_outward(tree, steps[0] + _gravity(model, state), lambda node, a: a + steps[node.link])
    bodies = rigid_inertias(model)
    found = map_each(_body, geo.poses, bodies, geo.twists, bias)
    inertias, gains, forces = ([x[i] for x in found] for i in range(3))
    turns: list[Matrix] = [np.zeros((6, 6)) for _ in axes]
    for link, wrench, turn in in_base_frame(model, state, geo.poses, wrenches, representation):
        forces[link] = forces[link] - wrench
        turns[link] = turns[link] + turn
    total, gain, turning = (accumulate_inward(tree, x, lambda node, value: value) for x in (inertias, gains, turns))
    stays = turning if wrenches and representation != "body" else None
    about = (tree, geo.places, geo.poses, axes, moved, axes_dot, geo.twists)
    return Motion(*about, inertias, bias, forces, total, gain, stays)


def _body(H: Pose, body: RigidInertia, nu: Twist, a: Vector) -> tuple[RigidInertia, _Gain, Wrench]:
    """Inertia, gain and needed wrench of a body that moves with the twist ``nu`` and the acceleration ``a``."""
    L = body.to_parent(H)
    momentum = L @ nu
    gain = _Gain(momentum[:3], L.rate(nu).inertia - skew(momentum[3:]))
    return L, gain, L @ a - coadjoint_action(nu, momentum)


def changes(model: Model, state: State, motion: Motion, acceleration: Vector) -> tuple[Wrench, list[Changes]]:
    """Wrench (6) that the whole robot needs at an acceleration, and the effect of each joint's motion behind it."""
    rates_dot = [acceleration[: model.m], *(acceleration[model.m :][v] for v in model.v_slices)]
    steps = [s @ x for s, x in zip(motion.axes, rates_dot, strict=True)]
    further = propagate_outward(motion.tree, steps[0], lambda node, a: a + steps[node.link])
    forces = map_each(lambda L, a, f: f + L @ a, motion.inertias, further, motion.bias_forces)
    a = [x + y for x, y in zip(motion.bias, further, strict=True)]
    above = motion.parents[1:]
    needed = motion.sums(forces)
    found = map_each(
        _changes,
        motion.total,
        motion.gain,
        needed,
        motion.axes,
        motion.axes_dot,
        motion.axis_brackets,
        [np.zeros(6), *(motion.twists[i] for i in above)],
        [_gravity(model, state), *(a[i] for i in above)],
    )
    return needed[0], found


def with_wrenches(motion: Motion, found: Sequence[Changes], wrenches: Mapping[int, Wrench]) -> list[Changes]:
    """Changes of joints when wrenches (6, about and along the base) act on some links and move along with them."""
    carried = motion.sums([wrenches.get(k, np.zeros(6)) for k in range(len(found))])
    loaded = sorted({i for link in wrenches for i in ancestors(motion.tree, link)} - {0})
    each = [(found[k].before_joint, carried[k], motion.axes[k]) for k in loaded]
    before = map_each(lambda x, wrench, s: x + adt(wrench) @ s, *zip(*each, strict=True)) if each else []
    out = list(found)
    for k, x in zip(loaded, before, strict=True):
        out[k] = found[k]._replace(before_joint=x)
    return out


class Changes(NamedTuple):
    """Effect of moving a joint (by ``q``) or of its speed (by ``v``) on everything behind it (6 x k each)."""

    da: Matrix
    dnu: Matrix
    da_by_speed: Matrix
    behind: Matrix
    """forces behind the joint, by q"""
    before_joint: Matrix
    """the same seen from before the joint: the force behind it has moved along"""
    by_speed: Matrix
    momenta: Matrix
    row: Matrix
    """``s' gain`` (k x 3)"""


def _changes(
    L: RigidInertia, gain: _Gain, force: Wrench, s: Matrix, s_dot: Matrix, dnu: Matrix, nu: Twist, a: Vector
) -> Changes:
    """Effect of one joint, from the twist ``nu`` and the acceleration ``a`` of its parent.

    A moved joint, seen from behind it: its parent's twist changes by ``dnu = ad(nu) s``.
    """
    da, da_by_speed = ad(a) @ s + ad(nu) @ dnu, s_dot + dnu
    behind = L @ da + gain @ dnu
    by_speed = L @ da_by_speed + gain @ s
    return Changes(da, dnu, da_by_speed, behind, behind - adt(force) @ s, by_speed, L @ s, gain.left_product(s))


def _gravity(model: Model, state: State) -> Vector:
    return concatenate([-(state.pose[:3, :3].T @ model.gravity), np.zeros(3)])
