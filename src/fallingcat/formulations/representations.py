"""Body-fixed, mixed and inertial representation of the base velocity ([Traversaro] 2.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dynamics.checks import check_state
from ..lie import Group
from ..lie.rotations import block_diagonal, skew
from ..model import Model, State
from .equations import VelocityChange, upper
from .time import later

REPRESENTATIONS = ("body", "mixed", "inertial")


def body(model: Model, state: State) -> VelocityChange:
    """The identity: the base twist is body-fixed already."""
    check_state(model, state)
    return _of_base(model, state, "body", "twist of the base, body-fixed")


def mixed(model: Model, state: State) -> VelocityChange:
    """Base velocity at the base's origin, along the world's axes: ``[R v; R w]``; [Traversaro]'s ``B[A]``."""
    check_state(model, state)
    return _of_base(model, state, "mixed", "velocity of the base's origin and of the base, along the world's axes")


def inertial(model: Model, state: State) -> VelocityChange:
    """Base velocity at the world's origin, along the world's axes: ``Ad(H_wb) [v; w]`` (the spatial twist)."""
    check_state(model, state)
    return _of_base(model, state, "inertial", "spatial twist of the base")


def base_matrices(group: Group, representation: str, pose: Any, twist: Any) -> tuple[Any, Any, Any]:
    """``X``, ``X^-1`` and ``dX/dt`` (m x m): body-fixed twist of a frame at ``pose`` to the wanted representation."""
    if representation == "body":
        return np.eye(group.dim), np.eye(group.dim), np.zeros((group.dim, group.dim))
    if representation == "inertial":
        X, X_inverse = group.Ad(pose), group.Ad(group.inverse(pose))
        return X, X_inverse, X @ group.ad(twist)
    S, Sp, R = group.selection, group.coselection, pose[:3, :3]
    W = skew((S @ twist)[3:])
    X, X_inverse = (Sp @ block_diagonal([Q, Q]) @ S for Q in (R, R.T))
    return X, X_inverse, X @ (Sp @ block_diagonal([W, W]) @ S)


def _of_base(model: Model, state: State, representation: str, label: str) -> VelocityChange:
    m, n = model.m, model.n

    def matrix(at: State) -> tuple[Any, Any, Any]:
        return base_matrices(model.base, representation, at.pose, at.twist)

    X, X_inverse, X_dot = matrix(state)
    one = np.eye(n)
    T, inverse = upper(X, X_inverse, np.zeros((m, n)), one, one)
    T_dot = block_diagonal([X_dot, np.zeros((n, n))])
    at: Callable[[complex], Any] = lambda step: block_diagonal([matrix(later(model, state, step))[0], one])  # noqa: E731
    return VelocityChange(T, T_dot, inverse, representation, label, at=at)
