"""Momentum, in the base, in the world and about the center of mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import block, map_each, solve
from ..arrays.types import Matrix, Twist, Vector
from ..lie import SE3
from ..lie.rotations import block_diagonal, homogeneous, skew
from ..model import Model, State
from ..model.literals import MOMENTUM_FRAMES, MomentumFrame
from .checks import choice, total_mass
from .geometry import Geometry, geometry, inertias, subtree_sums
from .spatial import RigidInertia

_SE3 = SE3()


def momentum(model: Model, state: State, frame: MomentumFrame = "base") -> Vector:
    """The momentum ``[p; l]`` (6; N s, N m s) of the whole robot.

    ``frame``: ``base`` (about the base's origin, along its axes), ``mixed`` (about it, along the world's axes:
    [Traversaro] (15)), ``world`` (about the world's origin; conserved in free flight but for gravity) or ``centroidal``
    (about the center of mass, along the world's axes).

    >>> from fallingcat.model import robots
    >>> body = robots.free_body()
    >>> bool(momentum(body, body.state(twist=[1.0, 0, 0, 0, 0, 0]))[0] == body.mass)
    True
    """
    return momentum_matrix(model, state, frame) @ state.velocity


def momentum_matrix(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix:
    """``A`` (6 x nv) with ``[p; l] = A [twist; rates]``; frames as in :func:`momentum`."""
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))
    return _seen_from(frame, model, state, total[0]) @ _columns(geo, total)


def momentum_matrix_derivative(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix:
    """``dA/dt`` (6 x nv) of :func:`momentum_matrix` along the state."""
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    L = inertias(model, geo)
    total, rate = subtree_sums(geo, L), subtree_sums(geo, map_each(lambda L, nu: L.rate(nu), L, geo.twists))
    X, Y = _seen_from(frame, model, state, total[0]), _moving(frame, model, state, geo, rate[0])

    def columns(L: RigidInertia, L_dot: RigidInertia, s: Any, s_dot: Any) -> Any:
        """In the frame that stands still where the base is now, then seen from the wanted one, which moves."""
        return X @ (L_dot @ s + L @ s_dot) + Y @ (L @ s)

    return geo.places.columns(map_each(columns, total, rate, geo.axes, geo.axes_dot))


def centroidal_momentum_matrix(model: Model, state: State) -> Matrix:
    """``A_G`` (6 x nv): momentum about the center of mass, along the world's axes, per quasi-velocity."""
    return momentum_matrix(model, state, "centroidal")


def centroidal_momentum_matrix_derivative(model: Model, state: State) -> Matrix:
    """``dA_G/dt`` (6 x nv) along the state."""
    return momentum_matrix_derivative(model, state, "centroidal")


def locked_inertia(model: Model, state: State, frame: MomentumFrame = "base") -> Matrix:
    """``6 x 6``: the inertia of the robot frozen in its shape; frames as in :func:`momentum` ([Traversaro] 5)."""
    choice(frame, MOMENTUM_FRAMES, "frame")
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))[0]
    X = _seen_from(frame, model, state, total)
    return X @ total.matrix() @ X.T


def average_velocity(model: Model, state: State, frame: MomentumFrame = "base") -> Twist:
    """``[v; w]`` (6): the twist that the frozen robot would need for the same momentum ([Traversaro] 5)."""
    return solve(locked_inertia(model, state, frame), momentum(model, state, frame))


def _moving(frame: MomentumFrame, model: Model, state: State, geo: Geometry, rate: RigidInertia) -> Matrix:
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
