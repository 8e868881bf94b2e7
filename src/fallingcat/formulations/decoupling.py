"""Base and joints apart: the whole family of [Feurstein] (3.80), and its members with names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, cross, is_numeric, solve
from ..dynamics import (
    center_of_mass,
    link_pose,
    link_twist,
    mass_matrix_derivative,
    momentum,
    momentum_matrix,
    momentum_matrix_derivative,
)
from ..dynamics.checks import check_robot, check_state, choice, positive
from ..errors import ModelError, NumericsError
from ..lie import SE3
from ..lie.rotations import homogeneous, skew
from ..model import Model, State
from .connection import connection_rate, shape
from .equations import VelocityChange, upper
from .time import later

_SE3 = SE3()
DECOUPLED = frozenset({"decoupled mass", "decoupled coriolis"})


def decoupling(
    model: Model,
    state: State,
    Tx: Any | None = None,
    Ty: Any | None = None,
    Tx_dot: Any | None = None,
    Ty_dot: Any | None = None,
) -> VelocityChange:
    """``T = [[Tx, Tx A], [0, Ty]]`` with any invertible ``Tx`` (m x m) and ``Ty`` (n x n), [Feurstein] (3.80).

    The mass matrix becomes block-diagonal; ``C_xy = 0`` for the ``newton_euler`` and ``hamel`` matrices (Prop.
    3.3.1), and for ``passive`` ones it is the block of Prop. 3.3.2.  ``Tx`` and ``Ty`` are the identity if left out;
    if they vary in time, give their derivatives.
    """
    check_robot(model, state)
    one_x, one_y = np.eye(model.m), np.eye(model.n)
    Tx = _square(Tx, one_x, "Tx")
    Ty = _square(Ty, one_y, "Ty")
    Tx_dot = _square(Tx_dot, 0.0 * one_x, "Tx_dot", invertible=False)
    Ty_dot = _square(Ty_dot, 0.0 * one_y, "Ty_dot", invertible=False)

    def tops(at: State, step: complex) -> tuple[Any, Any, Any]:
        return Tx + step * Tx_dot, shape(model, at).A, Ty + step * Ty_dot

    parts = shape(model, state)
    A_dot = connection_rate(model, state, parts)
    T, inverse = upper(Tx, solve(Tx, one_x), Tx @ parts.A, Ty, solve(Ty, one_y) if model.n else Ty)
    top = concatenate([Tx_dot, Tx_dot @ parts.A + Tx @ A_dot], axis=1)
    T_dot = concatenate([top, concatenate([np.zeros((model.n, model.m)), Ty_dot], axis=1)])

    def at(step: complex) -> Any:
        X, A, Y = tops(later(model, state, step), step)
        return upper(X, X, X @ A, Y, Y)[0]

    return VelocityChange(T, T_dot, inverse, "decoupling", "Tx locked velocity", "Ty joint rates", DECOUPLED, at)


def centroidal(model: Model, state: State) -> VelocityChange:
    """Locked velocity at the center of mass, along the world's axes: [Traversaro] (38)-(39).

    ``Tx = Ad(H_Gb)``.  The mass matrix is ``diag(m 1, I_G, Lq)`` and gravity ``(-m g, 0, 0)``; the linear rows and
    columns of the Coriolis matrix vanish for ``christoffel`` only (Lemma 4.3 claims it for every passive one).
    """
    check_robot(model, state)
    return _framed(model, state, "centroidal", "locked velocity at the center of mass, along the world's axes")


def locked(model: Model, state: State) -> VelocityChange:
    """Locked velocity ``mu`` in the base frame: ``Tx = 1``, the velocity of the REL equations ([Mishra] Lemma 2)."""
    check_robot(model, state)
    change = decoupling(model, state)
    return VelocityChange(
        change.T,
        change.T_dot,
        change.inverse,
        "locked",
        "locked velocity, base frame",
        "joint rates",
        DECOUPLED,
        change.at,
    )


def momentum_map(model: Model, state: State, frame: str = "centroidal") -> VelocityChange:
    """The momentum itself as velocity: ``Tx = Ad(H_cb)^-T Mb`` ([Feurstein] Prop. 3.3.1).

    ``frame``: ``centroidal`` or ``world``; both are aligned with the world, so the momentum is a constant of motion
    in free flight and ``C_x v_x + C_xy v_y = 0`` (invariance) for every factorization.
    """
    check_robot(model, state)
    choice(frame, ("centroidal", "world"), "frame")
    parts = shape(model, state)
    X, _, X_dot = _frame_matrices(model, state, frame)
    Xi = _to_base(model, state, frame)
    M_dot = mass_matrix_derivative(model, state)[: model.m, : model.m]
    Tx = Xi.T @ parts.Mb
    # d(X^-T)/dt = -X^-T (dX/dt)' X^-T
    Tx_dot = Xi.T @ M_dot - Xi.T @ X_dot.T @ Tx
    inverse_x = solve(parts.Mb, X.T)
    A_dot = connection_rate(model, state, parts)
    one = np.eye(model.n)
    T, inverse = upper(Tx, inverse_x, Tx @ parts.A, one, one)
    top = concatenate([Tx_dot, Tx_dot @ parts.A + Tx @ A_dot], axis=1)
    T_dot = concatenate([top, np.zeros((model.n, model.nv))])

    def at(step: complex) -> Any:
        moved = later(model, state, step)
        now = shape(model, moved)
        X = _to_base(model, moved, frame).T @ now.Mb
        return upper(X, X, X @ now.A, one, one)[0]

    claims = DECOUPLED | {"invariant base"}
    return VelocityChange(T, T_dot, inverse, "momentum map", f"momentum, {frame} frame", "joint rates", claims, at)


def center_of_mass_base(model: Model, state: State) -> VelocityChange:
    """[Traversaro]'s ``G[B]`` (36)-(37): velocity of the center of mass, angular velocity of the base, world's axes.

    For a base SE(3); only the linear part decouples.
    """
    check_state(model, state)
    if not isinstance(model.base, SE3):
        raise ModelError(f"G[B] needs a base SE(3), not {model.base}")
    mass = model.mass
    n = model.n

    def matrix(at: State) -> Any:
        R = at.pose[:3, :3]
        J = momentum_matrix(model, at, "world")[:3] * (1.0 / mass)
        spin = concatenate([np.zeros((3, 3)), R, np.zeros((3, n))], axis=1)
        rest = concatenate([np.zeros((n, 6)), np.eye(n)], axis=1)
        return concatenate([J, spin, rest])

    T, R, w = matrix(state), state.pose[:3, :3], state.twist[3:]
    J_dot = momentum_matrix_derivative(model, state, "world")[:3] * (1.0 / mass)
    spin = concatenate([np.zeros((3, 3)), R @ skew(w), np.zeros((3, n))], axis=1)
    T_dot = concatenate([J_dot, spin, np.zeros((n, 6 + n))])
    # J = [R, J_w, J_q]: invert by hand
    J = T[:3]
    top = concatenate([R.T, -(R.T @ J[:, 3:6] @ R.T), -(R.T @ J[:, 6:])], axis=1)
    middle = concatenate([np.zeros((3, 3)), R.T, np.zeros((3, n))], axis=1)
    inverse = concatenate([top, middle, T[6:]])
    return VelocityChange(
        T, T_dot, inverse, "G[B]", "velocity of the center of mass, angular velocity of the base, world's axes",
        at=lambda step: matrix(later(model, state, step)),
    )  # fmt: skip


class Conservation(NamedTuple):
    """Whether the momentum, expressed in a frame, stays constant when no external wrench acts."""

    rate: Any
    """its rate of change (6): ``ad(nu_c)' h_c``, [Feurstein] (3.60)-(3.62)"""
    conserved: bool


def is_conserved(model: Model, state: State, frame: str, tolerance: float = 1e-9) -> Conservation:
    """Is the momentum expressed in ``frame`` a constant of motion? [Feurstein] Prop. 3.2.1, (3.62).

    ``frame``: ``world``, ``centroidal``, ``base``, or a link's or frame's name.
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    if frame == "world":
        nu, h = np.zeros(6), momentum(model, state, "world")
    elif frame == "centroidal":
        h = momentum(model, state, "centroidal")
        nu = concatenate([h[:3] * (1.0 / model.mass), np.zeros(3)])
    else:
        name = model.links[0].name if frame == "base" else frame
        nu = link_twist(model, state, name)
        h = _SE3.Ad(link_pose(model, state, name)).T @ momentum(model, state, "world")
    rate = _SE3.ad(nu).T @ h
    size = float(np.linalg.norm(nu)) * float(np.linalg.norm(h))
    return Conservation(rate, bool(np.abs(rate).max() <= tolerance * max(size, 1e-300)))


def _framed(model: Model, state: State, name: str, label: str) -> VelocityChange:
    """``Tx = X``, the adjoint that takes base twists to the centroidal frame."""
    parts = shape(model, state)
    X, _, X_dot = _frame_matrices(model, state, "centroidal")
    Xi = _to_base(model, state, "centroidal")
    A_dot = connection_rate(model, state, parts)
    one = np.eye(model.n)
    T, inverse = upper(X, Xi, X @ parts.A, one, one)
    top = concatenate([X_dot, X_dot @ parts.A + X @ A_dot], axis=1)
    T_dot = concatenate([top, np.zeros((model.n, model.nv))])

    def at(step: complex) -> Any:
        moved = later(model, state, step)
        X = _frame_matrices(model, moved, "centroidal")[0]
        return upper(X, X, X @ shape(model, moved).A, one, one)[0]

    claims = DECOUPLED | {"constant gravity", "linear blocks"} if _slides_with_gravity(model) else DECOUPLED
    return VelocityChange(T, T_dot, inverse, name, label, "joint rates", claims, at)


def _slides_with_gravity(model: Model) -> bool:
    """Whether the base can slide along gravity: else the joints feel it whatever the base does."""
    slides = _slides(model)
    return bool(np.allclose(slides @ (slides.T @ model.gravity), model.gravity, atol=1e-12))


def _slides(model: Model) -> np.ndarray:
    """The directions (3 x k) in which the base group can translate."""
    S = model.base.selection
    return S[:3, ~S[3:].any(axis=0)]


def _frame_pose(model: Model, state: State, frame: str) -> Any:
    """``H_bc``: the frame's axes are the world's; its origin, the center of mass as far as the group can go there."""
    if frame == "world":
        return _SE3.inverse(state.pose)
    slides = _slides(model)
    center = momentum_center(model, state)
    return homogeneous(state.pose[:3, :3].T, slides @ (slides.T @ center))


def momentum_center(model: Model, state: State) -> Any:
    """The center of mass (3) in the base frame."""
    return state.pose[:3, :3].T @ (center_of_mass(model, state) - state.pose[:3, 3])


def _frame_matrices(model: Model, state: State, frame: str) -> tuple[Any, Any, Any]:
    """``X = Ad(H_cb)`` (m x m), the pose, and ``dX/dt = X ad(nu_b) - ad(nu_c) X``."""
    G = model.base
    H = _frame_pose(model, state, frame)
    X = G.coselection @ _SE3.Ad(_SE3.inverse(H)) @ G.selection
    twist = G.selection @ state.twist
    nu_c = np.zeros(6) if frame == "world" else _centroidal_twist(model, state)
    ad_c = G.coselection @ _SE3.ad(nu_c) @ G.selection
    ad_b = G.coselection @ _SE3.ad(twist) @ G.selection
    return X, H, X @ ad_b - ad_c @ X


def _centroidal_twist(model: Model, state: State) -> Any:
    """The twist (6) of the centroidal frame, in its own axes: it slides with the center of mass and never turns."""
    S, slides = model.base.selection, _slides(model)
    R = state.pose[:3, :3]
    velocity = R.T @ (momentum_matrix(model, state, "world")[:3] @ state.velocity) * (1.0 / model.mass)
    base = S @ state.twist
    center = momentum_center(model, state)
    if slides.shape[1] < 3:  # the part of the center that the group cannot reach stays with the base's axes
        relative = velocity - base[:3] - cross(base[3:], center)
        reach = slides @ (slides.T @ center)
        velocity = base[:3] + cross(base[3:], reach) + slides @ (slides.T @ relative)
    return concatenate([R @ velocity, np.zeros(3)])


def _to_base(model: Model, state: State, frame: str) -> Any:
    G = model.base
    return G.coselection @ _SE3.Ad(_frame_pose(model, state, frame)) @ G.selection


def _square(X: Any, default: np.ndarray, what: str, invertible: bool = True) -> Any:
    if X is None:
        return default
    if np.shape(X) != default.shape:
        raise ModelError(f"{what} has shape {default.shape}, not {np.shape(X)}")
    if is_numeric(X) and len(default):
        if not np.isfinite(X).all():
            raise ModelError(f"{what} holds a number that is not finite")
        if invertible and np.linalg.cond(X) > 1e12:
            raise NumericsError(f"{what} is singular", value=float(np.linalg.cond(X)))
    return X
