"""Derivatives of centroidal momentum, of its rate, and of the center of mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, concatenate
from ..arrays.types import Matrix, Vector, Vector_nv, Wrench
from ..lie import SE3
from ..lie.rotations import block_diagonal, homogeneous, skew
from ..model import Model, State
from ..records import concise
from .checks import check_robot, total_mass, vector
from .derivative_sweeps import Motion, changes, motion_of
from .derivatives import by_directions
from .momentum import centroidal_momentum_matrix, centroidal_momentum_matrix_derivative, momentum

_SE3 = SE3()


@concise
class CentroidalDerivatives(NamedTuple):
    """Derivatives of the momentum ``h`` about the center of mass, along the world's axes, and of its rate (6 x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> found = fc.dynamics.centroidal_dynamics_derivatives(cat, cat.neutral(), np.zeros(cat.nv))
        >>> found.rate_by_acceleration.shape == (6, cat.nv)
        True
    """

    momentum_by_configuration: Matrix
    """derivative of ``h = A_G v``, on the tangent; by velocity it is ``A_G``"""
    rate_by_configuration: Matrix
    """derivative of ``dh/dt = A_G a + dA_G/dt v``, on the tangent"""
    rate_by_velocity: Matrix
    """derivative of ``dh/dt``, by ``[twist; rates]``"""
    rate_by_acceleration: Matrix
    """``A_G``"""


@concise
class CenterOfMassDerivatives(NamedTuple):
    """Derivatives of velocity and acceleration of the center of mass in the world (3 x nv).

    Those of its position are :func:`center_of_mass_jacobian`.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> found = fc.dynamics.center_of_mass_derivatives(cat, cat.neutral(), np.zeros(cat.nv))
        >>> found.velocity_by_configuration.shape == (3, cat.nv)
        True
    """

    velocity_by_configuration: Matrix
    """derivative of ``J v``, on the tangent"""
    acceleration_by_configuration: Matrix
    """derivative of ``J a + dJ/dt v``, on the tangent"""
    acceleration_by_velocity: Matrix
    """derivative of ``J a + dJ/dt v``, by ``[twist; rates]``"""


@argument_sizes(acceleration="nv")
def centroidal_dynamics_derivatives(model: Model, state: State, acceleration: Vector_nv) -> CentroidalDerivatives:
    """Derivatives of centroidal momentum and of its rate, by configuration, velocity and acceleration.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).

    Returns:
        Four ``6 x nv`` matrices; those by configuration on the tangent of :func:`displace`.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> found = centroidal_dynamics_derivatives(cat, state, np.zeros(cat.nv))
        >>> rate = found.momentum_by_configuration @ state.velocity  # dh/dt at constant velocity
        >>> bool(np.allclose(rate, centroidal_momentum_matrix_derivative(cat, state) @ state.velocity, atol=1e-12))
        True
    """
    check_robot(model, state)
    a = vector(acceleration, model.nv, "acceleration")
    total_mass(model)
    if not all(joint.kind.fixed_axes for joint in model.joints):
        return _by_directions(model, state, a)
    motion = motion_of(model, state)
    force, found = changes(model, state, motion, a)
    momenta = motion.sums([L @ nu for L, nu in zip(motion.inertias, motion.twists, strict=True)])
    joints = list(zip(motion.total, motion.axis_brackets, motion.axes, momenta, strict=True))[1:]
    still = [np.zeros((6, model.m)), *(L @ dnu - _SE3.adt(p) @ s for L, dnu, s, p in joints)]
    A = motion.places.columns([x.momenta for x in found])
    rate = [found[0].behind, *(x.before_joint for x in found[1:])]
    X = _SE3.Ad(homogeneous(state.pose[:3, :3].T, motion.total[0].moment * (1.0 / model.mass))).T
    return CentroidalDerivatives(
        X @ motion.places.columns(still) + _moving_frame(model, state, motion, A, momenta[0]),
        X @ motion.places.columns(rate) + _moving_frame(model, state, motion, A, force),
        X @ motion.places.columns([x.by_speed for x in found]),
        X @ A,
    )


@argument_sizes(acceleration="nv")
def center_of_mass_derivatives(model: Model, state: State, acceleration: Vector_nv) -> CenterOfMassDerivatives:
    """Derivatives of the velocity and the acceleration of the center of mass.

    The linear rows of :func:`centroidal_dynamics_derivatives`, divided by the mass.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Time derivative of the quasi-velocity ``[twist; rates]``, ``nv`` (m/s^2, rad/s^2).

    Returns:
        Three ``3 x nv`` matrices; those by configuration on the tangent of :func:`displace`.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> found = fc.dynamics.center_of_mass_derivatives(cat, state, np.zeros(cat.nv))
        >>> along = found.velocity_by_configuration @ state.velocity
        >>> bool(np.allclose(along, fc.dynamics.center_of_mass_bias(cat, state), atol=1e-12))
        True
    """
    check_robot(model, state)
    found = centroidal_dynamics_derivatives(model, state, acceleration)
    return CenterOfMassDerivatives(*(rows[:3] * (1.0 / total_mass(model)) for rows in found[:3]))


def _moving_frame(model: Model, state: State, motion: Motion, A: Matrix, wrench: Wrench) -> Matrix:
    """Change of a wrench or momentum ``[f; t]`` of the base frame, seen in the centroidal one as that moves (6 x nv).

    When the base turns by ``w``, both parts turn; when a joint moves the center by ``d`` in the base, the torque about
    it changes by ``f x d``.
    """
    R, f, center = state.pose[:3, :3], wrench[:3], motion.total[0].moment * (1.0 / model.mass)
    torque, w = wrench[3:] - skew(center) @ f, motion.axes[0][3:]
    by_base = -concatenate([skew(f) @ w, skew(torque) @ w])
    by_joints = concatenate([np.zeros((3, model.n)), skew(f) @ (A[:3, model.m :] * (1.0 / model.mass))])
    return block_diagonal([R, R]) @ concatenate([by_base, by_joints], axis=1)


def _by_directions(model: Model, state: State, a: Vector) -> CentroidalDerivatives:
    """Derivatives direction by direction, for joints whose axes turn within the child."""

    def rate(at: State) -> Vector:
        turning = centroidal_momentum_matrix_derivative(model, at) @ at.velocity
        return centroidal_momentum_matrix(model, at) @ a + turning

    like = [*state, a]
    still, A = by_directions(model, state, lambda at: momentum(model, at, "centroidal"), like)
    return CentroidalDerivatives(still, *by_directions(model, state, rate, like), A)
