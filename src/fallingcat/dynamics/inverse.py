"""Inverse dynamics: the forces that a motion needs (recursive Newton-Euler)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, cross, takes
from ..arrays.types import Matrix, Vector
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import Representation
from .checks import check_robot, check_state, vector
from .rotors import with_rotor_forces
from .spatial import RigidInertia, rigid_inertias, wrench_to_parent
from .sweeps import Node, Places, inward, nodes, outward
from .wrenches import in_link_frames


class LinkMotion(NamedTuple):
    """How a link moves, in its own frame: a point ``x`` of it has the acceleration ``a + K x``.

    No linear velocity is needed: ``a`` is the classical acceleration of the origin (less gravity), ``w`` the angular
    velocity, ``alpha`` its rate and ``K = skew(alpha) + skew(w)^2``.
    """

    w: Vector
    alpha: Vector
    a: Vector
    K: Matrix


@takes(acceleration="nv")
def inverse_dynamics(
    model: Model,
    state: State,
    acceleration: Vector,
    wrenches: Mapping[str, Any] | None = None,
    representation: Representation = "body",
) -> Vector:
    """The generalised forces ``[base wrench; joint forces]`` (nv) that give the robot an acceleration.

    ``M(q) acceleration + C(q, v) v + g(q) - sum J_j' wrench_j``, in O(n), where ``acceleration`` (nv) is the time
    derivative of the quasi-velocity ``[twist; rates]``.  ``wrenches`` maps link (or frame) names to external wrenches
    ``[f; t]`` on them, in this representation: ``body``, ``mixed`` (link origin, world axes) or ``inertial``.

    >>> from fallingcat.model import robots
    >>> arm = robots.planar_arm()
    >>> inverse_dynamics(arm, arm.neutral(), np.zeros(arm.nv)).shape == (arm.nv,)
    True
    """
    check_robot(model, state)
    acceleration = vector(acceleration, model.nv, "acceleration")
    tree = nodes(model, state)
    rates_dot = acceleration[model.m :]

    def step(node: Node, parent: LinkMotion) -> LinkMotion:
        return carried(node, parent, rates_dot[model.v_slices[node.link - 1]])

    motions = outward(tree, base_motion(model, state, acceleration[: model.m]), step)
    own = [_force(inertia, motion) for inertia, motion in zip(rigid_inertias(model), motions, strict=True)]
    for link, wrench in in_link_frames(model, state, wrenches, representation):
        own[link] = own[link] - wrench
    forces = inward(tree, own, lambda node, force: wrench_to_parent(node.H, force))
    pulls = [model.base.selection.T @ forces[0], *(node.S.T @ forces[node.link] for node in tree)]
    return with_rotor_forces(model, Places.of(model).vector(pulls), rates_dot)


def base_motion(model: Model, state: State, acceleration: Any) -> LinkMotion:
    """The base's motion; gravity enters as an acceleration of the world."""
    twist, rate = model.base.selection @ state.twist, model.base.selection @ acceleration
    v, w = twist[:3], twist[3:]
    a = rate[:3] + cross(w, v) - state.pose[:3, :3].T @ model.gravity
    return _motion(w, rate[3:], a)


def carried(node: Node, parent: LinkMotion, rates_dot: Any) -> LinkMotion:
    """The motion of a child link: what its parent imparts, then Coriolis and joint motion."""
    R, p = node.H[:3, :3], node.H[:3, 3]
    relative = node.S @ node.rates
    rate = node.S @ rates_dot if node.constant else node.S @ rates_dot + node.S_dot @ node.rates
    v, w_joint = relative[:3], relative[3:]
    w_parent = R.T @ parent.w
    w = w_parent + w_joint
    alpha = R.T @ parent.alpha + cross(w_parent, w_joint) + rate[3:]
    a = R.T @ (parent.a + parent.K @ p) + cross(w + w_parent, v) + rate[:3]
    return _motion(w, alpha, a)


def _motion(w: Any, alpha: Any, a: Any) -> LinkMotion:
    W = skew(w)
    return LinkMotion(w, alpha, a, skew(alpha) + W @ W)


def _force(inertia: RigidInertia, motion: LinkMotion) -> Any:
    """Newton and Euler: ``[m a + K h; h x a + I alpha + w x I w]``."""
    m, h, I = inertia.mass, inertia.moment, inertia.inertia  # noqa: E741
    f = m * motion.a + motion.K @ h
    return concatenate([f, cross(h, motion.a) + I @ motion.alpha + cross(motion.w, I @ motion.w)])


def bias_forces(model: Model, state: State) -> Vector:
    """``C(q, v) v + g(q)`` (nv): the forces that keep the quasi-velocity constant."""
    check_robot(model, state)
    return inverse_dynamics(model, state, np.zeros(model.nv))


def gravity_forces(model: Model, state: State) -> Vector:
    """``g(q)`` (nv): the forces that hold the robot at rest against gravity."""
    check_state(model, state)
    at_rest = State(state.pose, state.joints, np.zeros(model.m), np.zeros(model.n))
    return bias_forces(model, at_rest)
