"""Base and joints apart: the whole family of [Feurstein] (3.80), and its members with names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import block, concatenate, cross, is_numeric, numbers_only, solve
from ..arrays.types import Matrix, Pose, Twist, Vector
from ..dynamics import (
    center_of_mass,
    link_pose,
    link_twist,
    mass_matrix_derivative,
    momentum,
    momentum_matrix,
    momentum_matrix_derivative,
)
from ..dynamics.checks import check_robot, check_state, choice, numbers, positive
from ..errors import ModelError, NumericsError, told
from ..lie import SE3
from ..lie.rotations import homogeneous, skew
from ..model import Model, State
from ..model.words import ALIGNED_FRAMES, AlignedFrame
from .connection import connection_rate, shape
from .equations import VelocityChange, derived_rate, upper

_SE3 = SE3()
DECOUPLED = ("mass decoupling", "force decoupling")


def decoupling(
    model: Model,
    state: State,
    Tx: Matrix | Callable[[State], Matrix] | None = None,
    Ty: Matrix | Callable[[State], Matrix] | None = None,
    Tx_dot: Matrix | None = None,
    Ty_dot: Matrix | None = None,
) -> VelocityChange:
    """``T = [[Tx, Tx A], [0, Ty]]`` with any invertible ``Tx`` (m x m) and ``Ty`` (n x n), [Feurstein] (3.80).

    The mass matrix becomes block-diagonal; ``C_xy = 0`` for the ``newton_euler`` and ``hamel`` matrices (Prop.
    3.3.1), and for ``passive`` ones it is the block of Prop. 3.3.2.  ``Tx`` and ``Ty`` are functions of the state, and
    their rates are derived; or matrices, constant unless you give their rates, which no certificate can prove.  Left
    out, they are the identity.
    """
    check_robot(model, state)
    one_x, one_y = np.eye(model.m), np.eye(model.n)
    x, y = _function(Tx, one_x), _function(Ty, one_y)

    def matrix(at: State) -> Matrix:
        X = x(at)
        return upper(X, X, X @ shape(model, at).A, y(at), one_y)[0]

    X, Y = _square(x(state), one_x, "Tx"), _square(y(state), one_y, "Ty")
    X_dot = _square(_rate(model, state, Tx, Tx_dot, "Tx"), one_x, "Tx_dot", invertible=False)
    Y_dot = _square(_rate(model, state, Ty, Ty_dot, "Ty"), one_y, "Ty_dot", invertible=False)
    parts = shape(model, state)
    XA, XA_dot = X @ parts.A, X_dot @ parts.A + X @ connection_rate(model, state, parts)
    inverse = upper(X, _inverted(Tx, X), XA, Y, _inverted(Ty, Y))[1]
    T_dot = block([[X_dot, XA_dot], [np.zeros((model.n, model.m)), Y_dot]])
    change = VelocityChange.of(
        model, state, matrix, "decoupling", "Tx locked velocity", "Ty joint rates", DECOUPLED, T_dot, inverse
    )
    known = all(given is None or callable(given) for given in (Tx, Ty))
    return change if known else replace(change, at=None)


def centroidal(model: Model, state: State) -> VelocityChange:
    """Locked velocity at the center of mass, along the world's axes: [Traversaro] (38)-(39).

    ``Tx = Ad(H_Gb)``.  The mass matrix is ``diag(m 1, I_G, Lq)`` and gravity ``(-m g, 0, 0)``; the linear rows and
    columns of the Coriolis matrix vanish for ``christoffel`` only (Lemma 4.3 claims it for every passive one).
    """
    check_robot(model, state)
    return _framed(model, state, "centroidal", "locked velocity at the center of mass, along the world's axes")


def locked(model: Model, state: State) -> VelocityChange:
    """Locked velocity ``mu`` in the base frame: ``Tx = 1``, the velocity of the REL equations ([Mishra] Lemma 2)."""
    return replace(decoupling(model, state), name="locked", base="locked velocity, base frame", joints="joint rates")


def momentum_map(model: Model, state: State, frame: AlignedFrame = "centroidal") -> VelocityChange:
    """The momentum itself as velocity: ``Tx = Ad(H_cb)^-T Mb`` ([Feurstein] Prop. 3.3.1).

    ``frame``: ``centroidal`` or ``world``; both are aligned with the world, so the momentum is a constant of motion
    in free flight and ``C_x v_x + C_xy v_y = 0`` (invariance) for every factorization.
    """
    check_robot(model, state)
    choice(frame, ALIGNED_FRAMES, "frame")
    one = np.eye(model.n)

    def matrix(at: State) -> Matrix:
        parts = shape(model, at)
        Tx = _to_base(model, at, frame).T @ parts.Mb
        return upper(Tx, Tx, Tx @ parts.A, one, one)[0]

    parts = shape(model, state)
    X, _, X_dot = _frame_matrices(model, state, frame)
    Xi = _to_base(model, state, frame)
    Mdot = mass_matrix_derivative(model, state)[: model.m, : model.m]
    Tx = Xi.T @ parts.Mb
    # d(X^-T)/dt = -X^-T (dX/dt)' X^-T
    Tx_dot = Xi.T @ Mdot - Xi.T @ X_dot.T @ Tx
    T_dot = _upper_rate(Tx, Tx_dot, parts.A, connection_rate(model, state, parts))
    inverse = upper(Tx, solve(parts.Mb, X.T), Tx @ parts.A, one, one)[1]
    claims = (*DECOUPLED, "invariance")
    return VelocityChange.of(
        model, state, matrix, "momentum map", f"momentum, {frame} frame", "joint rates", claims, T_dot, inverse
    )


def center_of_mass_base(model: Model, state: State) -> VelocityChange:
    """[Traversaro]'s ``G[B]`` (36)-(37): velocity of the center of mass, angular velocity of the base, world's axes.

    For a base SE(3); only the linear part decouples.
    """
    check_state(model, state)
    if not isinstance(model.base, SE3):
        raise ModelError(f"G[B] needs a base SE(3), not {model.base}")
    mass = model.mass
    n = model.n

    def matrix(at: State) -> Matrix:
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
    label = "velocity of the center of mass, angular velocity of the base, world's axes"
    return VelocityChange.of(model, state, matrix, "G[B]", label, T_dot=T_dot, inverse=inverse)


class Conservation(NamedTuple):
    """Whether the momentum, expressed in a frame, stays constant when no external wrench acts."""

    rate: Vector
    """its rate of change (6): ``ad(nu_c)' h_c``, [Feurstein] (3.60)-(3.62)"""
    conserved: bool


@numbers_only("it compares a residual with a tolerance")
def is_conserved(model: Model, state: State, frame: str, tolerance: float = 1e-9) -> Conservation:
    """Is the momentum expressed in ``frame`` a constant of motion? [Feurstein] Prop. 3.2.1, (3.62).

    ``frame``: ``world``, ``centroidal``, ``base``, or a link's or frame's name.
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    if not isinstance(frame, str):
        raise ModelError(f"frame is 'world', 'centroidal', 'base', or the name of a link or frame, not {told(frame)}")
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
    one = np.eye(model.n)

    def matrix(at: State) -> Matrix:
        X = _frame_matrices(model, at, "centroidal")[0]
        return upper(X, X, X @ shape(model, at).A, one, one)[0]

    parts = shape(model, state)
    X, _, X_dot = _frame_matrices(model, state, "centroidal")
    T_dot = _upper_rate(X, X_dot, parts.A, connection_rate(model, state, parts))
    inverse = upper(X, _to_base(model, state, "centroidal"), X @ parts.A, one, one)[1]
    claims = (*DECOUPLED, "gravity", "linear blocks") if _slides_with_gravity(model) else DECOUPLED
    return VelocityChange.of(model, state, matrix, name, label, "joint rates", claims, T_dot, inverse)


def _upper_rate(X: Matrix, X_dot: Matrix, A: Matrix, A_dot: Matrix) -> Matrix:
    """The rate of ``[[X, X A], [0, 1]]``."""
    n, nv = A.shape[1], sum(A.shape)
    return concatenate([concatenate([X_dot, X_dot @ A + X @ A_dot], axis=1), np.zeros((n, nv))])


def _slides_with_gravity(model: Model) -> bool:
    """Whether the base can slide along gravity: else the joints feel it whatever the base does."""
    slides = _slides(model)
    return bool(np.allclose(slides @ (slides.T @ model.gravity), model.gravity, atol=1e-12))


def _slides(model: Model) -> np.ndarray:
    """The directions (3 x k) in which the base group can translate."""
    S = model.base.selection
    return S[:3, ~S[3:].any(axis=0)]


def _frame_pose(model: Model, state: State, frame: AlignedFrame) -> Pose:
    """``H_bc``: the frame's axes are the world's; its origin, the center of mass as far as the group can go there."""
    if frame == "world":
        return _SE3.inverse(state.pose)
    slides = _slides(model)
    center = momentum_center(model, state)
    return homogeneous(state.pose[:3, :3].T, slides @ (slides.T @ center))


def momentum_center(model: Model, state: State) -> Vector:
    """The center of mass (3) in the base frame."""
    return state.pose[:3, :3].T @ (center_of_mass(model, state) - state.pose[:3, 3])


def _frame_matrices(model: Model, state: State, frame: AlignedFrame) -> tuple[Matrix, Pose, Matrix]:
    """``X = Ad(H_cb)`` (m x m), the pose, and ``dX/dt = X ad(nu_b) - ad(nu_c) X``."""
    G = model.base
    H = _frame_pose(model, state, frame)
    X = G.coselection @ _SE3.Ad(_SE3.inverse(H)) @ G.selection
    twist = G.selection @ state.twist
    nu_c = np.zeros(6) if frame == "world" else _centroidal_twist(model, state)
    ad_c = G.coselection @ _SE3.ad(nu_c) @ G.selection
    ad_b = G.coselection @ _SE3.ad(twist) @ G.selection
    return X, H, X @ ad_b - ad_c @ X


def _centroidal_twist(model: Model, state: State) -> Twist:
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


def _to_base(model: Model, state: State, frame: AlignedFrame) -> Matrix:
    G = model.base
    return G.coselection @ _SE3.Ad(_frame_pose(model, state, frame)) @ G.selection


def _function(given: Any | None, one: np.ndarray) -> Callable[[State], Matrix]:
    """``Tx`` or ``Ty`` as a function of the state."""
    if callable(given):
        return given
    return lambda at: one if given is None else given


def _rate(model: Model, state: State, given: Any | None, rate: Any | None, what: str) -> Any:
    """The rate of ``Tx`` or ``Ty``: as it is given, or derived from a function of the state."""
    if rate is None and callable(given):
        return derived_rate(model, state, given, what)
    size = model.m if what == "Tx" else model.n
    return np.zeros((size, size)) if rate is None else rate


def _inverted(given: Any | None, X: Any) -> Any:
    return X if given is None or not len(X) else solve(X, np.eye(len(X)))


def _square(X: Any, like: np.ndarray, what: str, invertible: bool = True) -> Any:
    numbers(X, like.shape, what)
    if invertible and is_numeric(X) and len(like) and np.linalg.cond(X) > 1e12:
        raise NumericsError(f"{what} is singular", value=float(np.linalg.cond(X)))
    return X
