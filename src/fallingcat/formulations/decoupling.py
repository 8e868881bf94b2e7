"""Base and joints apart: the whole family of [Feurstein] (3.80), and its members with names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import block, concatenate, is_numeric, numbers_only, solve
from ..arrays.types import Matrix, Matrix_m_m, Matrix_n_n, Pose, Vector_6
from ..dynamics import (
    link_pose,
    link_twist,
    mass_matrix_derivative,
    momentum,
    momentum_matrix,
    momentum_matrix_derivative,
)
from ..dynamics.checks import call_with_state, check_robot, check_state, choice, numbers, positive
from ..errors import ModelError, NumericsError, describe
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Model, State
from ..model.literals import ALIGNED_FRAMES, AlignedFrame
from ..records import concise
from .center_frames import (
    Orientation,
    axes_of,
    check_orientation,
    frame_matrices,
    from_base,
    slides,
    slides_with_gravity,
    to_base,
)
from .connection import connection_rate, shape
from .velocity_change import VelocityChange, derived_rate, upper

_SE3 = SE3()
DECOUPLING_CHECKS = ("mass decoupling", "force decoupling")


def decoupling(
    model: Model,
    state: State,
    Tx: Matrix | Callable[[State], Matrix] | None = None,
    Ty: Matrix | Callable[[State], Matrix] | None = None,
    Tx_dot: Matrix_m_m | None = None,
    Ty_dot: Matrix_n_n | None = None,
) -> VelocityChange:
    """Decoupling change of velocity ``T = [[Tx, Tx A], [0, Ty]]``, [Feurstein] (3.80).

    The mass matrix becomes block-diagonal; ``C_xy = 0`` for the ``newton_euler`` and ``hamel`` matrices (Prop.
    3.3.1), and for ``passive`` ones it is the block of Prop. 3.3.2.  ``Tx`` and ``Ty`` are functions of the state, and
    their rates are derived; or matrices, constant unless you give their rates, which no certificate can prove.

    Args:
        model: Robot.
        state: Configuration and velocity.
        Tx: Invertible matrix (m x m), or function of the state; None: the identity.
        Ty: Invertible matrix (n x n), or function of the state; None: the identity.
        Tx_dot: Rate of a matrix ``Tx`` (m x m).
        Ty_dot: Rate of a matrix ``Ty`` (n x n).

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(cat, state).change(fc.changes.decoupling(cat, state))
        >>> bool(abs(eom.M[:6, 6:]).max() < 1e-12)
        True
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
    inverse = upper(X, _inverse_or_default(Tx, X), XA, Y, _inverse_or_default(Ty, Y))[1]
    T_dot = block([[X_dot, XA_dot], [np.zeros((model.n, model.m)), Y_dot]])
    change = VelocityChange.of(
        model, state, matrix, "decoupling", "Tx locked velocity", "Ty joint rates", DECOUPLING_CHECKS, T_dot, inverse
    )
    known = all(given is None or callable(given) for given in (Tx, Ty))
    return change if known else replace(change, at=None)


def centroidal(model: Model, state: State, orientation: Orientation = "world") -> VelocityChange:
    """Locked velocity at the center of mass, along the world's axes: [Traversaro] (38)-(39).

    ``Tx = Ad(H_Gb)``.  The mass matrix is ``diag(m 1, I_G, Lq)`` and gravity ``(-m g, 0, 0)``; the linear rows and
    columns of the Coriolis matrix vanish for ``christoffel`` only (Lemma 4.3 claims it for every passive one).

    ``orientation`` gives the frame other axes ([Feurstein] 3.3.4, what its axioms leave open): those of the ``base``,
    the ``principal`` axes of the frozen robot, in which ``I_G`` is diagonal, its ``virtual_chassis``, or a function
    ``state -> R_wc`` (3 x 3, to the world) of pose and joints.  Mass and forces decouple in all of them; gravity turns
    with the axes.

    Args:
        model: Robot.
        state: Configuration and velocity.
        orientation: ``world``, ``base``, ``principal``, ``virtual_chassis``, or a function ``state -> R_wc``.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> M = fc.equations(cat, state).change(fc.changes.centroidal(cat, state, "principal")).M[:6, :6]
        >>> bool(abs(M - np.diag(np.diag(M))).max() < 1e-12)
        True
    """
    check_robot(model, state)
    check_orientation(model, state, orientation)
    label = f"locked velocity at the center of mass, {axes_of(orientation)}"
    return _centroidal_adjoint(model, state, orientation, "centroidal", label)


def locked(model: Model, state: State) -> VelocityChange:
    """Locked velocity ``mu`` in the base frame: ``Tx = 1``, the velocity of the REL equations ([Mishra] Lemma 2).

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(cat, state).change(fc.changes.locked(cat, state))
        >>> bool(np.allclose(eom.v[:6], fc.locked_velocity(cat, state)))
        True
    """
    return replace(decoupling(model, state), name="locked", base="locked velocity, base frame", joints="joint rates")


def momentum_map(
    model: Model, state: State, frame: AlignedFrame = "centroidal", orientation: Orientation = "world"
) -> VelocityChange:
    """Momentum itself as velocity: ``Tx = Ad(H_cb)^-T Mb`` ([Feurstein] Prop. 3.3.1).

    Both frames are aligned with the world, so the momentum is a constant of motion in free flight and ``C_x v_x + C_xy
    v_y = 0`` (invariance) for every factorization.  A centroidal frame may have another ``orientation``: then the
    momentum turns in it, and invariance is not claimed.

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``centroidal`` or ``world``.
        orientation: Axes of the frame at the center of mass, as in :func:`fallingcat.changes.centroidal`.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(cat, state).change(fc.changes.momentum_map(cat, state, "world"))
        >>> bool(np.allclose(eom.v[:6], fc.momentum(cat, state, "world")))
        True
    """
    check_robot(model, state)
    choice(frame, ALIGNED_FRAMES, "frame")
    check_orientation(model, state, orientation)
    if frame == "world" and orientation != "world":
        raise ModelError("the world's frame has the world's axes: another orientation is one of the centroidal frame")
    one = np.eye(model.n)

    def matrix(at: State) -> Matrix:
        parts = shape(model, at)
        Tx = to_base(model, at, frame, orientation).T @ parts.Mb
        return upper(Tx, Tx, Tx @ parts.A, one, one)[0]

    parts = shape(model, state)
    X, Xi, X_dot = frame_matrices(model, state, frame, orientation)
    Mdot = mass_matrix_derivative(model, state)[: model.m, : model.m]
    Tx = Xi.T @ parts.Mb
    # d(X^-T)/dt = -X^-T (dX/dt)' X^-T
    Tx_dot = Xi.T @ Mdot - Xi.T @ X_dot.T @ Tx
    T_dot = _upper_rate(Tx, Tx_dot, parts.A, connection_rate(model, state, parts))
    inverse = upper(Tx, solve(parts.Mb, X.T), Tx @ parts.A, one, one)[1]
    claims = (*DECOUPLING_CHECKS, "invariance") if orientation == "world" else DECOUPLING_CHECKS
    label = f"momentum, {frame} frame" + ("" if orientation == "world" else f", {axes_of(orientation)}")
    return VelocityChange.of(model, state, matrix, "momentum map", label, "joint rates", claims, T_dot, inverse)


def center_of_mass_base(model: Model, state: State) -> VelocityChange:
    """Velocity of the center of mass, angular velocity of the base, world's axes: ``G[B]`` of [Traversaro] (36)-(37).

    For every base that can slide, along the directions in which it can; only this linear part decouples.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(cat, state).change(fc.changes.center_of_mass_base(cat, state))
        >>> bool(np.allclose(eom.v[:3], fc.momentum(cat, state, "world")[:3] / cat.mass))
        True
    """
    check_state(model, state)
    G, n, m = model.base, model.n, model.m
    turns = G.selection[3:].any(axis=0)
    if turns.all():
        raise ModelError(f"G[B] needs a base that can slide with the center of mass, not {G}")
    k, rest = int((~turns).sum()), np.eye(n)
    along, spin = slides(model).T, G.selection[3:, turns]

    def linear(J: Matrix) -> Matrix:
        """Rows (k x nv) of a momentum matrix, along the directions in which the base slides, over the mass."""
        return along @ J[:3] * (1.0 / model.mass)

    def matrix(at: State) -> Matrix:
        turn = spin.T @ at.pose[:3, :3] @ spin
        return block(
            [[linear(momentum_matrix(model, at, "world"))], [np.zeros((m - k, k)), turn, np.zeros((m - k, n))],
             [np.zeros((n, m)), rest]]
        )  # fmt: skip

    T, R = matrix(state), state.pose[:3, :3]
    W = skew((G.selection @ state.twist)[3:])
    turn_dot = spin.T @ R @ W @ spin
    T_dot = block(
        [[linear(momentum_matrix_derivative(model, state, "world"))],
         [np.zeros((m - k, k)), turn_dot, np.zeros((m - k, n))], [np.zeros((n, m + n))]]
    )  # fmt: skip
    # T = [[Q, J_w, J_q], [0, turn, 0], [0, 0, 1]] with rotations Q and turn
    Q, turn = T[:k, :k].T, T[k:m, k:m].T
    inverse = block(
        [[Q, -(Q @ T[:k, k:m] @ turn), -(Q @ T[:k, m:])], [np.zeros((m - k, k)), turn, np.zeros((m - k, n))],
         [np.zeros((n, m)), rest]]
    )  # fmt: skip
    label = "velocity of the center of mass, angular velocity of the base, world's axes"
    return VelocityChange.of(model, state, matrix, "G[B]", label, T_dot=T_dot, inverse=inverse)


@concise
class Conservation(NamedTuple):
    """Rate of the momentum in a frame when no external wrench acts, and the verdict of :func:`is_conserved`.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.formulations.is_conserved(cat, cat.random_state(np.random.default_rng(0)), "world").rate
        array([0., 0., 0., 0., 0., 0.])
    """

    rate: Vector_6
    """its rate of change (6): ``ad(nu_c)' h_c``, [Feurstein] (3.60)-(3.62)"""
    conserved: bool
    """True if the rate vanishes, up to the tolerance"""


@numbers_only("it compares a residual with a tolerance")
def is_conserved(
    model: Model, state: State, frame: str | Callable[[State], Pose], tolerance: float = 1e-9
) -> Conservation:
    """Decide if the momentum expressed in a frame is a constant of motion: [Feurstein] Prop. 3.2.1, (3.62).

    Args:
        model: Robot.
        state: Configuration and velocity.
        frame: ``world``, ``centroidal``, ``base``, a link's or frame's name, or any moving frame: a function of the
            state (its pose and joints) that gives its pose ``H_wc`` (4 x 4).
        tolerance: Largest relative residual that counts as zero.

    Returns:
        Rate of the momentum (6), and whether it vanishes.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> is_conserved(cat, state, lambda s: np.eye(4)).conserved
        True
        >>> is_conserved(cat, state, lambda s: s.pose).conserved
        False
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    if callable(frame):
        H = numbers(call_with_state(frame, state, "the frame"), (4, 4), "H_wc of the frame")
        if not _SE3.contains(H, 1e-6):
            raise ModelError("the function of the frame gives no pose: H_wc is a rotation and a place")
        nu = _SE3.vee(_SE3.inverse(H) @ derived_rate(model, state, frame, "H_wc of the frame"))
        h = _SE3.Ad(H).T @ momentum(model, state, "world")
    elif not isinstance(frame, str):
        raise ModelError(
            f"frame is 'world', 'centroidal', 'base', the name of a link or frame, or a function, not {describe(frame)}"
        )
    elif frame == "world":
        nu, h = np.zeros(6), momentum(model, state, "world")
    elif frame == "centroidal":
        h = momentum(model, state, "centroidal")
        nu = concatenate([h[:3] * (1.0 / model.mass), np.zeros(3)])
    else:
        name = model.links[0].name if frame == "base" else frame
        nu = link_twist(model, state, name)
        h = _SE3.Ad(link_pose(model, state, name)).T @ momentum(model, state, "world")
    rate = _SE3.ad(nu).T @ h
    # the coadjoint product is bilinear: relative to the sizes of its factors, and 0 <= 0 where one is zero
    size = float(np.linalg.norm(nu)) * float(np.linalg.norm(h))
    return Conservation(rate, bool(np.abs(rate).max() <= tolerance * max(size, 1e-300)))


def _centroidal_adjoint(model: Model, state: State, orientation: Orientation, name: str, label: str) -> VelocityChange:
    """``Tx = X``, the adjoint that takes base twists to the centroidal frame."""
    one = np.eye(model.n)

    def matrix(at: State) -> Matrix:
        X = from_base(model, at, "centroidal", orientation)
        return upper(X, X, X @ shape(model, at).A, one, one)[0]

    parts = shape(model, state)
    X, Xi, X_dot = frame_matrices(model, state, "centroidal", orientation)
    T_dot = _upper_rate(X, X_dot, parts.A, connection_rate(model, state, parts))
    inverse = upper(X, Xi, X @ parts.A, one, one)[1]
    aligned = orientation == "world" and slides_with_gravity(model)
    claims = (*DECOUPLING_CHECKS, "gravity", "linear blocks") if aligned else DECOUPLING_CHECKS
    return VelocityChange.of(model, state, matrix, name, label, "joint rates", claims, T_dot, inverse)


def _upper_rate(X: Matrix, X_dot: Matrix, A: Matrix, A_dot: Matrix) -> Matrix:
    """Rate of ``[[X, X A], [0, 1]]``."""
    n, nv = A.shape[1], sum(A.shape)
    return concatenate([concatenate([X_dot, X_dot @ A + X @ A_dot], axis=1), np.zeros((n, nv))])


def _function(given: Matrix | Callable[[State], Matrix] | None, one: np.ndarray) -> Callable[[State], Matrix]:
    """``Tx`` or ``Ty`` as a function of the state."""
    if callable(given):
        return given
    return lambda at: one if given is None else given


def _rate(
    model: Model, state: State, given: Matrix | Callable[[State], Matrix] | None, rate: Matrix | None, what: str
) -> Matrix:
    """The rate of ``Tx`` or ``Ty``: as it is given, or derived from a function of the state."""
    if rate is None and callable(given):
        return derived_rate(model, state, given, what)
    size = model.m if what == "Tx" else model.n
    return np.zeros((size, size)) if rate is None else rate


def _inverse_or_default(given: Matrix | Callable[[State], Matrix] | None, X: Matrix) -> Matrix:
    return X if given is None or not len(X) else solve(X, np.eye(len(X)))


def _square(X: Any, like: np.ndarray, what: str, invertible: bool = True) -> Matrix:
    numbers(X, like.shape, what)
    # four digits of 16 are left to a solution with this condition
    if invertible and is_numeric(X) and len(like) and np.linalg.cond(X) > 1e12:
        raise NumericsError(f"{what} is singular", value=float(np.linalg.cond(X)))
    return X
