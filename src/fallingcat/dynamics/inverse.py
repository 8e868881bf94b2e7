"""Inverse dynamics: the forces that a motion needs (recursive Newton-Euler)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, concatenate, cross
from ..arrays.types import Matrix, Vector, Vector_nv, Wrench
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import Representation
from .checks import check_robot, check_state, vector
from .rotors import with_rotor_forces
from .spatial import RigidInertia, rigid_inertias, wrench_to_parent
from .sweeps import Node, Places, accumulate_inward, nodes, propagate_outward
from .wrenches import in_link_frames


class LinkMotion(NamedTuple):
    """Motion of a link in its own frame: a point ``x`` of it has the acceleration ``a + K x``.

    No linear velocity is needed: ``a`` is the classical acceleration of the origin (less gravity), ``w`` the angular
    velocity, ``alpha`` its rate and ``K = skew(alpha) + skew(w)^2``.
    """

    w: Vector
    alpha: Vector
    a: Vector
    K: Matrix


@argument_sizes(acceleration="nv")
def inverse_dynamics(
    model: Model,
    state: State,
    acceleration: Vector_nv,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> Vector_nv:
    """Generalised forces that give the robot an acceleration, by the recursive Newton-Euler algorithm.

    ``M(q) acceleration + C(q, v) v + g(q) - sum J_j' wrench_j``, in O(n).

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).
        wrenches: External wrenches ``[f; t]`` (N, N m) by names of links or frames; None: no wrenches.
        representation: Axes and point of the wrenches: ``body`` (those of the link), ``mixed`` (its origin, world axes)
            or ``inertial`` (the world's origin and axes).

    Returns:
        ``[base wrench; joint forces]``, ``nv`` (N, N m).

    Example:
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
        return child_motion(node, parent, rates_dot[model.v_slices[node.link - 1]])

    motions = propagate_outward(tree, base_motion(model, state, acceleration[: model.m]), step)
    own = [_force(inertia, motion) for inertia, motion in zip(rigid_inertias(model), motions, strict=True)]
    for link, wrench in in_link_frames(model, state, wrenches, representation):
        own[link] = own[link] - wrench
    forces = accumulate_inward(tree, own, lambda node, force: wrench_to_parent(node.H, force))
    projected = [model.base.selection.T @ forces[0], *(node.S.T @ forces[node.link] for node in tree)]
    return with_rotor_forces(model, Places.from_model(model).vector(projected), rates_dot)


def base_motion(model: Model, state: State, acceleration: Vector) -> LinkMotion:
    """Motion of the base; gravity enters as an acceleration of the world."""
    twist, rate = model.base.selection @ state.twist, model.base.selection @ acceleration
    v, w = twist[:3], twist[3:]
    a = rate[:3] + cross(w, v) - state.pose[:3, :3].T @ model.gravity
    return _motion(w, rate[3:], a)


def child_motion(node: Node, parent: LinkMotion, rates_dot: Vector) -> LinkMotion:
    """Motion of a child link: what its parent imparts, then Coriolis and joint motion."""
    R, p = node.H[:3, :3], node.H[:3, 3]
    relative = node.S @ node.rates
    rate = node.S @ rates_dot if node.constant else node.S @ rates_dot + node.S_dot @ node.rates
    v, w_joint = relative[:3], relative[3:]
    w_parent = R.T @ parent.w
    w = w_parent + w_joint
    alpha = R.T @ parent.alpha + cross(w_parent, w_joint) + rate[3:]
    a = R.T @ (parent.a + parent.K @ p) + cross(w + w_parent, v) + rate[:3]
    return _motion(w, alpha, a)


def _motion(w: Vector, alpha: Vector, a: Vector) -> LinkMotion:
    W = skew(w)
    return LinkMotion(w, alpha, a, skew(alpha) + W @ W)


def _force(inertia: RigidInertia, motion: LinkMotion) -> Wrench:
    """Newton and Euler: ``[m a + K h; h x a + I alpha + w x I w]``."""
    m, h, I = inertia.mass, inertia.moment, inertia.inertia  # noqa: E741
    f = m * motion.a + motion.K @ h
    return concatenate([f, cross(h, motion.a) + I @ motion.alpha + cross(motion.w, I @ motion.w)])


def bias_forces(model: Model, state: State) -> Vector_nv:
    """Bias forces ``C(q, v) v + g(q)``, which keep the quasi-velocity constant.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Generalised forces, ``nv`` (N, N m).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> C, g = fc.coriolis_matrix(cat, state), fc.gravity_forces(cat, state)
        >>> bool(np.allclose(fc.bias_forces(cat, state), C @ state.velocity + g))
        True
    """
    check_robot(model, state)
    return inverse_dynamics(model, state, np.zeros(model.nv))


def gravity_forces(model: Model, state: State) -> Vector_nv:
    """Gravity forces ``g(q)``, which hold the robot at rest.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        Generalised forces, ``nv`` (N, N m).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> bool(np.allclose(fc.gravity_forces(body, body.neutral())[:3], -body.mass * body.gravity))
        True
    """
    check_state(model, state)
    at_rest = State(state.pose, state.joints, np.zeros(model.m), np.zeros(model.n))
    return bias_forces(model, at_rest)
