"""Momentum, in the base, in the world and about the center of mass."""

from __future__ import annotations

import numpy as np

from ..arrays import block, map_each, solve
from ..arrays.types import Matrix, Matrix_6_6, Matrix_6_nv, Twist, Vector, Vector_6
from ..lie import SE3
from ..lie.rotations import block_diagonal, homogeneous, skew
from ..model import Model, State
from ..model.literals import MOMENTUM_FRAMES, MomentumFrame
from .checks import choice, total_mass
from .geometry import Geometry, geometry, inertias, subtree_sums
from .spatial import RigidInertia

_SE3 = SE3()


def momentum(model: Model, state: State, frame: MomentumFrame = "base") -> Vector_6:
    """Momentum ``[p; l]`` of the whole robot.

    About the world's origin it is conserved in free flight but for gravity; the ``mixed`` one is [Traversaro] (15).

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``base`` (base origin and axes), ``mixed`` (base origin, world axes), ``world`` (world origin and axes)
            or ``centroidal`` (center of mass, world axes).

    Returns:
        ``[p; l]``, 6 (N s, N m s).

    Example:
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> bool(momentum(body, body.state(twist=[1.0, 0, 0, 0, 0, 0]))[0] == body.mass)
        True
    """
    return momentum_matrix(model, state, frame) @ state.velocity


def momentum_matrix(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix_6_nv:
    """Momentum matrix ``A`` with ``[p; l] = A [twist; rates]``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        frame: ``base`` (base origin and axes), ``mixed`` (base origin, world axes), ``world`` (world origin and axes)
            or ``centroidal`` (center of mass, world axes).

    Returns:
        ``6 x nv`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> bool(np.allclose(fc.momentum_matrix(cat, cat.neutral()), fc.mass_matrix(cat, cat.neutral())[:6]))
        True
    """
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))
    return _seen_from(frame, model, state, total[0]) @ _columns(geo, total)


def momentum_matrix_derivative(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix_6_nv:
    """Time derivative of :func:`momentum_matrix` along the state.

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``base`` (base origin and axes), ``mixed`` (base origin, world axes), ``world`` (world origin and axes)
            or ``centroidal`` (center of mass, world axes).

    Returns:
        ``dA/dt``, ``6 x nv`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> p_dot = fc.dynamics.momentum_matrix_derivative(cat, state, "world")[:3] @ state.velocity
        >>> bool(np.allclose(p_dot, cat.mass * fc.dynamics.center_of_mass_bias(cat, state)))
        True
    """
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    L = inertias(model, geo)
    total, rate = subtree_sums(geo, L), subtree_sums(geo, map_each(lambda L, nu: L.rate(nu), L, geo.twists))
    X, Y = _seen_from(frame, model, state, total[0]), _frame_change_rate(frame, model, state, geo, rate[0])

    def columns(L: RigidInertia, L_dot: RigidInertia, s: Matrix, s_dot: Matrix) -> Matrix:
        """In the frame that stands still where the base is now, then seen from the wanted one, which moves."""
        return X @ (L_dot @ s + L @ s_dot) + Y @ (L @ s)

    return geo.places.columns(map_each(columns, total, rate, geo.axes, geo.axes_dot))


def centroidal_momentum_matrix(model: Model, state: State) -> Matrix_6_nv:
    """Centroidal momentum matrix ``A_G``.

    Maps ``[twist; rates]`` to the momentum about the center of mass, along the world's axes.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        ``6 x nv`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> h = fc.centroidal_momentum_matrix(cat, state) @ state.velocity
        >>> bool(np.allclose(h, fc.momentum(cat, state, "centroidal")))
        True
    """
    return momentum_matrix(model, state, "centroidal")


def centroidal_momentum_matrix_derivative(model: Model, state: State) -> Matrix_6_nv:
    """Time derivative of :func:`centroidal_momentum_matrix` along the state.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        ``dA_G/dt``, ``6 x nv`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> rate = fc.dynamics.centroidal_momentum_matrix_derivative(cat, state)
        >>> bool(np.allclose(rate, fc.dynamics.momentum_matrix_derivative(cat, state, "centroidal")))
        True
    """
    return momentum_matrix_derivative(model, state, "centroidal")


def locked_inertia(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix_6_6:
    """Locked inertia: that of the robot frozen in its shape ([Traversaro] 5).

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        frame: ``base`` (base origin and axes), ``mixed`` (base origin, world axes), ``world`` (world origin and axes)
            or ``centroidal`` (center of mass, world axes).

    Returns:
        ``6 x 6`` matrix (kg, kg m, kg m^2).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> bool(np.allclose(fc.dynamics.locked_inertia(body, body.neutral()), fc.mass_matrix(body, body.neutral())))
        True
    """
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))[0]
    X = _seen_from(frame, model, state, total)
    return X @ total.matrix() @ X.T


def average_velocity(model: Model, state: State, frame: MomentumFrame = "base") -> Twist:
    """Average velocity: the twist of the frozen robot with the same momentum ([Traversaro] 5).

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``base`` (base origin and axes), ``mixed`` (base origin, world axes), ``world`` (world origin and axes)
            or ``centroidal`` (center of mass, world axes).

    Returns:
        ``[v; w]``, 6 (m/s, rad/s).

    Example:
        >>> import fallingcat as fc
        >>> body = fc.robots.free_body()
        >>> fc.dynamics.average_velocity(body, body.state(twist=[1.0, 0, 0, 0, 0, 0])).round(12)
        array([1., 0., 0., 0., 0., 0.])
    """
    return solve(locked_inertia(model, state, frame), momentum(model, state, frame))


def _frame_change_rate(frame: MomentumFrame, model: Model, state: State, geo: Geometry, rate: RigidInertia) -> Matrix:
    """``6 x 6``: how :func:`_seen_from` changes; a first moment changes by the momentum."""
    if frame == "base":
        return _SE3.ad(geo.twists[0]).T
    if frame == "world":
        return np.zeros((6, 6))
    R, zero = state.pose[:3, :3], np.zeros((3, 3))
    speed = R @ geo.twists[0][:3] if frame == "mixed" else (R @ rate.moment) * (1.0 / total_mass(model))
    return block([[zero, zero], [-(skew(speed) @ R), zero]])


def _columns(geo: Geometry, total: list[RigidInertia]) -> Matrix:
    return geo.places.columns(map_each(lambda L, s: L @ s, total, geo.axes))


def _seen_from(frame: MomentumFrame, model: Model, state: State, total: RigidInertia) -> Matrix:
    """``6 x 6``: takes momenta about the base to the wanted frame."""
    if frame == "base":
        return np.eye(6)
    if frame == "world":
        return _SE3.Ad(_SE3.inverse(state.pose)).T
    R = state.pose[:3, :3]
    if frame == "mixed":
        return block_diagonal([R, R])
    center = _center(model, total)
    return _SE3.Ad(homogeneous(R.T, center)).T


def _center(model: Model, total: RigidInertia) -> Vector:
    """The center of mass in the base frame."""
    return total.moment * (1.0 / total_mass(model))
