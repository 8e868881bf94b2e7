"""Derivatives of the dynamics, on the tangent of the configuration.

A configuration is moved by a tangent vector ``d`` (nv): the base pose becomes ``pose exp(d_b)``, each joint's element
``g exp(d_j)``, which for angles and lengths is plain addition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import argument_sizes, block, concatenate, is_numeric, map_each, scale, solve_tree, stack
from ..arrays.differentiate import derivative
from ..arrays.types import Matrix, Scalar, Vector, Vector_nv, Wrench
from ..model import Model, State
from ..model.literals import Representation
from ..progress import check_memory, warn_of_time
from ..records import concise
from .checks import check_robot, check_state, vector
from .derivative_sweeps import Changes, Motion, changes, motion_of
from .forward import forward_dynamics
from .inverse import inverse_dynamics
from .mass import mass_matrix
from .rotors import with_rotors
from .sweeps import places_above


@concise
class InverseDerivatives(NamedTuple):
    """Derivatives of :func:`inverse_dynamics` (each nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> found = fc.inverse_dynamics_derivatives(cat, cat.neutral(), np.zeros(cat.nv))
        >>> bool(np.allclose(found.acceleration, fc.mass_matrix(cat, cat.neutral())))
        True
    """

    configuration: Matrix
    """with respect to the configuration, on the tangent"""
    velocity: Matrix
    """with respect to ``[twist; rates]``"""
    acceleration: Matrix
    """with respect to the acceleration: the mass matrix"""


@concise
class ForwardDerivatives(NamedTuple):
    """Derivatives of :func:`forward_dynamics` (each nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> found = fc.forward_dynamics_derivatives(cat, cat.neutral(), np.zeros(cat.nv))
        >>> bool(np.allclose(found.forces @ fc.mass_matrix(cat, cat.neutral()), np.eye(cat.nv)))
        True
    """

    configuration: Matrix
    """with respect to the configuration, on the tangent"""
    velocity: Matrix
    """with respect to ``[twist; rates]``"""
    forces: Matrix
    """with respect to the forces: the inverse of the mass matrix"""


@argument_sizes(acceleration="nv")
def inverse_dynamics_derivatives(
    model: Model,
    state: State,
    acceleration: Vector_nv,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> InverseDerivatives:
    """Derivatives of :func:`inverse_dynamics` by configuration, velocity and acceleration.

    ``wrenches`` on links keep their numbers in their ``representation``: a ``body`` wrench moves with its link, as
    Pinocchio's ``fext`` does, an ``inertial`` one stays where it is.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).
        wrenches: External wrenches ``[f; t]`` (N, N m) by names of links or frames; None: no wrenches.
        representation: Axes and point of the wrenches: ``body`` (those of the link), ``mixed`` (its origin, world axes)
            or ``inertial`` (the world's origin and axes).

    Returns:
        Three ``nv x nv`` matrices; that by configuration on the tangent of :func:`displace`.

    Example:
        >>> from fallingcat.model import robots
        >>> arm = robots.planar_arm()
        >>> inverse_dynamics_derivatives(arm, arm.neutral(), np.zeros(arm.nv)).configuration.shape == (arm.nv, arm.nv)
        True
    """
    check_robot(model, state)
    acceleration = vector(acceleration, model.nv, "acceleration")
    if not all(joint.kind.fixed_axes for joint in model.joints):

        def forces(at: State) -> Vector:
            return inverse_dynamics(model, at, acceleration, wrenches, representation)

        return InverseDerivatives(
            *by_directions(model, state, forces, like=[*state, acceleration]), mass_matrix(model, state)
        )
    motion = motion_of(model, state, wrenches, representation)
    return InverseDerivatives(*_force_derivatives_at(model, state, motion, acceleration), mass_of(model, motion))


@argument_sizes(forces="nv")
def forward_dynamics_derivatives(
    model: Model,
    state: State,
    forces: Vector_nv,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> ForwardDerivatives:
    """Derivatives of :func:`forward_dynamics` by configuration, velocity and forces.

    ``-M^-1`` times the derivatives of the inverse dynamics; ``wrenches`` as in :func:`inverse_dynamics_derivatives`.

    Args:
        model: Robot.
        state: Configuration and velocity.
        forces: Generalised forces ``[base wrench; joint forces]``, ``nv`` (N, N m).
        wrenches: External wrenches ``[f; t]`` (N, N m) by names of links or frames; None: no wrenches.
        representation: Axes and point of the wrenches: ``body`` (those of the link), ``mixed`` (its origin, world axes)
            or ``inertial`` (the world's origin and axes).

    Returns:
        Three ``nv x nv`` matrices; that by configuration on the tangent of :func:`displace`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> found = fc.forward_dynamics_derivatives(arm, arm.neutral(), np.zeros(arm.nv))
        >>> found.configuration.shape == found.velocity.shape == (arm.nv, arm.nv)
        True
    """
    check_state(model, state)
    forces = vector(forces, model.nv, "forces")
    what = f"derivatives of the forward dynamics of {model.name!r}"
    check_memory(what, 130.0 * model.nv**2, "lock joints (model.lock)")
    warn_of_time(what, 6e-10 * model.nv**3, "lock joints (model.lock), or take a part of it")
    _check_regular(model, state)
    if all(joint.kind.fixed_axes for joint in model.joints):
        motion = motion_of(model, state, wrenches, representation)  # all from one sweep
        M = mass_of(model, motion)
        bias = [s.T @ f for s, f in zip(motion.axes, motion.sums(motion.bias_forces), strict=True)]
        by_q, by_v = _force_derivatives_at(
            model, state, motion, solve_tree(M, forces - motion.places.vector(bias), places_above(model))
        )
    else:
        acceleration = forward_dynamics(model, state, forces, wrenches, representation)
        by_q, by_v, M = inverse_dynamics_derivatives(model, state, acceleration, wrenches, representation)
    n = model.nv
    solved = solve_tree(M, concatenate([-by_q, -by_v, np.eye(n)], axis=1), places_above(model))
    return ForwardDerivatives(solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :])


def _check_regular(model: Model, state: State) -> None:
    """An error that names the joint, or the base, that moves nothing that has inertia; on numbers only."""
    if all(map(is_numeric, state)):
        forward_dynamics(model, state, np.zeros(model.nv))


def mass_of(model: Model, motion: Motion, found: Sequence[Changes] | None = None) -> Matrix:
    """Mass matrix (nv x nv) from the same sweep, or from :func:`.changes`."""
    if found is None:
        momenta = map_each(lambda L, s: L @ s, motion.total, motion.axes)
    else:
        momenta = [change.momenta for change in found]
    return with_rotors(model, motion.places.symmetric(motion.places.upper_rows(motion.tree, (motion.axes, momenta))))


def _force_derivatives_at(model: Model, state: State, motion: Motion, acceleration: Vector) -> tuple[Matrix, Matrix]:
    """The derivatives of the forces by configuration and by velocity, at an acceleration."""
    return by_motion(motion, changes(model, state, motion, acceleration)[1])


def by_motion(motion: Motion, found: Sequence[Changes]) -> tuple[Matrix, Matrix]:
    """The same from :func:`.changes`."""
    tree, axes, places = motion.tree, motion.axes, motion.places
    behind, before = [x.behind for x in found], [x.before_joint for x in found]
    momenta, rows = [x.momenta.T for x in found], [x.row for x in found]
    below_q = [(momenta, [x.da for x in found]), (rows, [x.dnu[3:] for x in found])]
    below_v = [(momenta, [x.da_by_speed for x in found]), (rows, [s[3:] for s in axes])]
    if motion.wrench_slopes is not None:  # bodies take their wrenches along no farther than these let them
        turned = [turn @ s for turn, s in zip(motion.wrench_slopes, axes, strict=True)]
        behind, before = ([x - y for x, y in zip(xs, turned, strict=True)] for xs in (behind, before))
        below_q.append(([-(s.T @ turn) for turn, s in zip(motion.wrench_slopes, axes, strict=True)], axes))
    upper_q = [
        concatenate([s.T @ own, row[:, own.shape[1] :]], axis=1)
        for s, own, row in zip(axes, behind, places.upper_rows(tree, (axes, before)), strict=True)
    ]
    upper_v = places.upper_rows(tree, (axes, [x.by_speed for x in found]))
    by_q = places.strips(upper_q, places.lower_columns(tree, *below_q))
    return by_q, places.strips(upper_v, places.lower_columns(tree, *below_v))


@argument_sizes(forces="nv")
def linearize(
    model: Model,
    state: State,
    forces: Vector_nv,
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> tuple[Matrix, Matrix]:
    """Linearization of the dynamics about a state and its forces.

    ``d/dt [x; dv] = A [x; dv] + B dF``, where ``x`` is the deviation of the configuration on the tangent, which the
    robot's own motion turns: ``dx/dt = dv - ad(v) x`` with the bracket of the base's and of each joint's group.
    ``wrenches`` as in :func:`inverse_dynamics_derivatives`.

    Args:
        model: Robot.
        state: Configuration and velocity.
        forces: Generalised forces ``[base wrench; joint forces]``, ``nv`` (N, N m).
        wrenches: External wrenches ``[f; t]`` (N, N m) by names of links or frames; None: no wrenches.
        representation: Axes and point of the wrenches: ``body`` (those of the link), ``mixed`` (its origin, world axes)
            or ``inertial`` (the world's origin and axes).

    Returns:
        ``A`` (2nv x 2nv) and ``B`` (2nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> A, B = fc.linearize(arm, arm.neutral(), fc.gravity_forces(arm, arm.neutral()))
        >>> A.shape == (2 * arm.nv, 2 * arm.nv), B.shape == (2 * arm.nv, arm.nv)
        (True, True)
    """
    check_state(model, state)
    forces = vector(forces, model.nv, "forces")
    by_q, by_v, by_f = forward_dynamics_derivatives(model, state, forces, wrenches, representation)
    one, zero = np.eye(model.nv), np.zeros((model.nv, model.nv))
    bracket = model.configuration.ad(state.velocity)
    return block([[-bracket, one], [by_q, by_v]]), concatenate([zero, by_f])


@argument_sizes(tangent="nv")
def displace(model: Model, state: State, tangent: Vector_nv) -> State:
    """Move a configuration by a tangent vector: ``pose exp(d_b)``, ``g_j exp(d_j)``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        tangent: ``[d_b; d_j]``, ``nv`` (m, rad), body-fixed on the base.

    Returns:
        State there, with the same velocities.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> fc.dynamics.displace(arm, arm.neutral(), [0.1, 0.2, 0.3]).joints
        array([0.1, 0.2, 0.3])
    """
    check_state(model, state)
    return model.configuration.displace(state, vector(tangent, model.nv, "tangent"))


def by_directions(
    model: Model, state: State, function: Callable[[State], Vector], like: Sequence[Any]
) -> tuple[Matrix, Matrix]:
    """Derivatives of a vector by configuration and by velocity, direction by direction, for any joints.

    For those whose axes turn within the child (universal, reversed); ``like`` are the arrays that it computes with.
    """
    check_state(model, state)

    def faster(t: Scalar, d: Vector) -> State:
        twist, rates = state.twist + scale(t, d[: model.m]), state.rates + scale(t, d[model.m :])
        return state._replace(twist=twist, rates=rates)

    def directional_derivatives(moved: Callable[[Scalar, Vector], State]) -> Matrix:
        return stack([derivative(lambda t, d=d: function(moved(t, d)), like) for d in np.eye(model.nv)], axis=1)  # type: ignore[misc]

    return directional_derivatives(lambda t, d: displace(model, state, scale(t, d))), directional_derivatives(faster)
