"""Internal and external velocities of a link ([Feurstein] 3.3.4): the generalized Jacobian of space robots."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate, solve
from ..dynamics import jacobian, jacobian_derivative, mass_matrix
from ..dynamics.checks import choice
from ..errors import ModelError, NumericsError
from ..model import Frame, Model, State
from .connection import Shape, connection_rate, shape
from .decoupling import DECOUPLED, _frame_matrices, _to_base
from .equations import VelocityChange
from .time import later

Place = str | Frame


def internal_jacobian(model: Model, state: State, link: Place) -> Any:
    """``J_int = J_q - A_jb A`` (m x n): the twist of ``link`` per joint rate when the momentum is zero ([Feurstein]
    (3.96)).

    The generalized Jacobian of space robots; the twist is body-fixed, in the algebra of the base's group.
    """
    return _internal(model, state, link, shape(model, state))


def internal_external(model: Model, state: State, link: Place, weight: str = "inertia") -> VelocityChange:
    """``[external; internal]``: locked velocity at the center of mass, and internal velocity of ``link``, (3.96).

    ``T = [[A_cb, A_cb A], [0, J_int]]``.  With more joints than the ``m`` internal velocities a right inverse of
    ``J_int`` is used: ``inertia`` (dynamically consistent) or ``moore_penrose``; the changed equations then speak of
    motions without velocity in its null space.
    """
    choice(weight, ("inertia", "moore_penrose"), "weight")
    m, n = model.m, model.n
    if n < m:
        raise ModelError(
            f"the internal velocity of a link has {m} components: {n} joint degrees of freedom are too few"
        )
    parts = shape(model, state)
    J = _internal(model, state, link, parts)
    X, _, X_dot = _frame_matrices(model, state, "centroidal")
    Xi = _to_base(model, state, "centroidal")
    W = np.eye(n) if weight == "moore_penrose" else reduced_shape_inertia(model, state, parts)
    J_right = _right_inverse(J, W, link)
    A_dot = connection_rate(model, state, parts)
    T = concatenate([concatenate([X, X @ parts.A], axis=1), concatenate([np.zeros((m, m)), J], axis=1)])
    top = concatenate([X_dot, X_dot @ parts.A + X @ A_dot], axis=1)
    J_dot = _internal_rate(model, state, link, parts, A_dot)
    T_dot = concatenate([top, concatenate([np.zeros((m, m)), J_dot], axis=1)])
    inverse = concatenate(
        [
            concatenate([Xi, -(parts.A @ J_right)], axis=1),
            concatenate([np.zeros((n, m)), J_right], axis=1),
        ]
    )

    def at(step: complex) -> Any:
        moved = later(model, state, step)
        now = shape(model, moved)
        X = _frame_matrices(model, moved, "centroidal")[0]
        J = _internal(model, moved, link, now)
        return concatenate([concatenate([X, X @ now.A], axis=1), concatenate([np.zeros((m, m)), J], axis=1)])

    name = link.name if isinstance(link, Frame) else link
    return VelocityChange(
        T, T_dot, inverse, f"internal/external at {name}", "external velocity at the center of mass",
        f"internal velocity of {name}", DECOUPLED, at if n == m else None,
    )  # fmt: skip


def reduced_shape_inertia(model: Model, state: State, parts: Shape) -> Any:
    """``Lq = Mqq - A' Mb A`` (n x n): the joints' inertia when the momentum stays as it is ([Mishra] (19a))."""
    m = model.m
    return mass_matrix(model, state)[m:, m:] - parts.A.T @ parts.Mbq


def _internal(model: Model, state: State, link: Place, parts: Shape) -> Any:
    J = model.base.coselection @ jacobian(model, state, link)
    return J[:, model.m :] - J[:, : model.m] @ parts.A


def _internal_rate(model: Model, state: State, link: Place, parts: Shape, A_dot: Any) -> Any:
    C, m = model.base.coselection, model.m
    J, J_dot = C @ jacobian(model, state, link), C @ jacobian_derivative(model, state, link)
    return J_dot[:, m:] - J_dot[:, :m] @ parts.A - J[:, :m] @ A_dot


def _right_inverse(J: Any, W: Any, link: Place) -> Any:
    """``W^-1 J' (J W^-1 J')^-1``."""
    WJ = solve(W, J.T)
    try:
        inner = J @ WJ
        if np.isrealobj(inner) and inner.dtype != object and np.linalg.cond(inner) > 1e12:
            raise NumericsError("singular")
        return WJ @ solve(inner, np.eye(len(J)))
    except NumericsError:
        name = link.name if isinstance(link, Frame) else link
        raise NumericsError(f"the internal Jacobian of {name!r} has lost rank: a dynamic singularity") from None
