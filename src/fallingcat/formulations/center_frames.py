"""Frames at the center of mass, with axes of any orientation ([Feurstein] 3.3.4), and the world's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, cross, is_numeric
from ..arrays.types import Matrix, Pose, Twist, Vector
from ..dynamics import center_of_mass, locked_inertia, momentum_matrix
from ..dynamics.checks import call_with_state, choice, numbers
from ..dynamics.principal import principal_axes, virtual_chassis
from ..errors import ModelError, NumericsError
from ..lie import SE3
from ..lie.rotations import homogeneous
from ..model import Model, State
from ..model.literals import AlignedFrame
from .velocity_change import derived_rate

_SE3 = SE3()
AXES = {
    "world": "along the world's axes",
    "base": "along the base's axes",
    "principal": "along the principal axes",
    "virtual_chassis": "along the axes of the virtual chassis",
}
Orientation = str | Callable[[State], Matrix]
"""Axes of a frame at the center of mass: those of the ``world``, of the ``base``, the ``principal`` axes of the frozen
robot, its ``virtual_chassis`` (the one principal axis that stands out), or a function of the state (its pose and
joints) that gives ``R_wc`` (3 x 3), frame to world."""


class FrameMatrices(NamedTuple):
    """Adjoint matrices that take base twists to a frame c (m x m)."""

    X: Matrix
    """``Ad(H_cb)``"""
    inverse: Matrix
    """``Ad(H_bc)``"""
    rate: Matrix
    """``dX/dt``"""


def frame_matrices(
    model: Model, state: State, frame: AlignedFrame = "centroidal", orientation: Orientation = "world"
) -> FrameMatrices:
    """Adjoint ``X``, ``X^-1`` and ``dX/dt = X ad(nu_b) - ad(nu_c) X``; in frames that turn, the rate is derived."""
    X, inverse = from_base(model, state, frame, orientation), to_base(model, state, frame, orientation)
    if orientation != "world":
        rate = derived_rate(model, state, lambda at: from_base(model, at, frame, orientation), "the orientation")
        return FrameMatrices(X, inverse, rate)
    G, zero = model.base, np.zeros(6)
    nu_c = zero if frame == "world" else _centroidal_twist(model, state)
    ad_c, ad_b = (G.coselection @ _SE3.ad(nu) @ G.selection for nu in (nu_c, G.selection @ state.twist))
    return FrameMatrices(X, inverse, X @ ad_b - ad_c @ X)


def from_base(model: Model, state: State, frame: AlignedFrame, orientation: Orientation = "world") -> Matrix:
    """Adjoint ``Ad(H_cb)`` (m x m)."""
    G = model.base
    return G.coselection @ _SE3.Ad(_SE3.inverse(_frame_pose(model, state, frame, orientation))) @ G.selection


def to_base(model: Model, state: State, frame: AlignedFrame, orientation: Orientation = "world") -> Matrix:
    """Adjoint ``Ad(H_bc)`` (m x m)."""
    G = model.base
    return G.coselection @ _SE3.Ad(_frame_pose(model, state, frame, orientation)) @ G.selection


def check_orientation(model: Model, state: State, orientation: Any) -> None:
    """Refuse what gives no axes within the base's group, and axes that are not unique."""
    if not callable(orientation):
        choice(orientation, tuple(AXES), "orientation")
    if orientation == "world":
        return
    if orientation in ("principal", "virtual_chassis"):
        _check_principal(model, state)
    H = _frame_pose(model, state, "centroidal", orientation)
    if is_numeric(H) and np.isrealobj(H) and not model.base.contains(H, 1e-6):
        what = f"turn out of the base's group {model.base}" if _SE3.contains(H, 1e-6) else "are no rotation matrix"
        raise ModelError(f"the axes of the orientation {what}")


def axes_of(orientation: Orientation) -> str:
    """Name of these axes."""
    return AXES[orientation] if isinstance(orientation, str) else "along given axes"


def slides_with_gravity(model: Model) -> bool:
    """True if the base can slide along gravity: else the joints feel it whatever the base does."""
    directions = slides(model)
    return bool(np.allclose(directions @ (directions.T @ model.gravity), model.gravity, atol=1e-12))


def slides(model: Model) -> np.ndarray:
    """Directions (3 x k) in which the base group can translate."""
    S = model.base.selection
    return S[:3, ~S[3:].any(axis=0)]


def momentum_center(model: Model, state: State) -> Vector:
    """Center of mass (3) in the base frame."""
    return state.pose[:3, :3].T @ (center_of_mass(model, state) - state.pose[:3, 3])


def _frame_pose(model: Model, state: State, frame: AlignedFrame, orientation: Orientation) -> Pose:
    """``H_bc``: its origin is the world's, or the center of mass as far as the group can go there."""
    if frame == "world":
        return _SE3.inverse(state.pose)
    directions = slides(model)
    return homogeneous(_axes(model, state, orientation), directions @ (directions.T @ momentum_center(model, state)))


def _axes(model: Model, state: State, orientation: Orientation) -> Matrix:
    """``R_bc`` (3 x 3)."""
    if callable(orientation):
        return state.pose[:3, :3].T @ numbers(
            call_with_state(orientation, state, "the orientation"), (3, 3), "R_wc of the orientation"
        )
    if orientation == "world":
        return state.pose[:3, :3].T
    turned = {"principal": principal_axes, "virtual_chassis": virtual_chassis}
    return turned[orientation](model, state) if orientation in turned else np.eye(3)


def _check_principal(model: Model, state: State) -> None:
    """Refuse shapes with two equal moments, where the axes are not unique and have no rate."""
    inertia = locked_inertia(model, state, "centroidal")[3:, 3:]
    if is_numeric(inertia) and np.isrealobj(inertia):
        moments = np.linalg.eigvalsh(inertia)
        # the rate of an axis is divided by the difference of two moments: nearer than this it is rounding
        if np.diff(moments).min() <= 1e-9 * moments[-1]:
            raise NumericsError(
                "two principal moments of inertia are equal: their axes are not unique", value=float(moments[1])
            )


def _centroidal_twist(model: Model, state: State) -> Twist:
    """The twist (6) of the centroidal frame, in its own axes: it slides with the center of mass and never turns."""
    S, directions = model.base.selection, slides(model)
    R = state.pose[:3, :3]
    velocity = R.T @ (momentum_matrix(model, state, "world")[:3] @ state.velocity) * (1.0 / model.mass)
    base = S @ state.twist
    center = momentum_center(model, state)
    if directions.shape[1] < 3:  # the part of the center that the group cannot reach stays with the base's axes
        relative = velocity - base[:3] - cross(base[3:], center)
        reach = directions @ (directions.T @ center)
        velocity = base[:3] + cross(base[3:], reach) + directions @ (directions.T @ relative)
    return concatenate([R @ velocity, np.zeros(3)])
