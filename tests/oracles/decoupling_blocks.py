"""The closed-form blocks of [Feurstein] Propositions 3.3.1 and 3.3.2, term by term, as sums over links.

`a_b`, `a_j` are `ad` of the base's and of link j's twist, `A_jb` and `J_jq` the two blocks of a link's Jacobian.
Corrected as THEORY says: the lower left block of Prop. 3.3.2 is `-C_xy'`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fallingcat.lie import SE3
from fallingcat.model import Model, State

from . import hamel
from .link_matrices import body_jacobians, coriolis_matrix
from .projected_newton_euler import mass_matrix, mass_matrix_derivative

ad = SE3().ad


class Blocks(NamedTuple):
    """Base and joints apart: `M = diag(Mx, My)` and four blocks of `C`."""

    Mx: np.ndarray
    My: np.ndarray
    Cx: np.ndarray
    Cxy: np.ndarray
    Cyx: np.ndarray
    Cy: np.ndarray


def _parts(model: Model, state: State, Tx: np.ndarray, Ty: np.ndarray) -> tuple[np.ndarray, ...]:
    m, M = model.m, mass_matrix(model, state)
    M_dot = mass_matrix_derivative(model, state, state.velocity)
    A = np.linalg.solve(M[:m, :m], M[:m, m:])  # Mbb^-1 Mbq
    My = np.linalg.inv(Ty).T @ (M[m:, m:] - M[:m, m:].T @ A) @ np.linalg.inv(Ty)
    return M[:m, :m], M_dot[:m, :m], A, My, np.linalg.inv(Tx), np.linalg.inv(Ty)


def decoupled(
    model: Model, state: State, Tx: np.ndarray, Tx_dot: np.ndarray, Ty: np.ndarray, Ty_dot: np.ndarray
) -> Blocks:
    """Prop. 3.3.1: the matrix (3.39) of the Hamel equations; joints that are angles and lengths."""
    m, C = model.m, hamel.coriolis_matrix(model, state)
    Mbb, Mbb_dot, A, My, Txi, Tyi = _parts(model, state, Tx, Ty)
    Cb, Cbq, Cqb, Cq = C[:m, :m], C[:m, m:], C[m:, :m], C[m:, m:]
    a_b = model.base.ad(state.twist)
    Cx = Txi.T @ (Mbb_dot - a_b.T @ Mbb - Mbb @ Txi @ Tx_dot) @ Txi
    Cyx = Tyi.T @ (Cqb - A.T @ Cb) @ Txi
    Cy = Tyi.T @ (Cq - Cqb @ A - A.T @ Cbq + A.T @ Cb @ A) @ Tyi - My @ Ty_dot @ Tyi
    return Blocks(Txi.T @ Mbb @ Txi, My, Cx, np.zeros((m, model.n)), Cyx, Cy)


def passive_decoupled(
    model: Model, state: State, Tx: np.ndarray, Tx_dot: np.ndarray, Ty: np.ndarray, Ty_dot: np.ndarray
) -> Blocks:
    """Prop. 3.3.2: the passive matrix (3.82)."""
    m, C = model.m, coriolis_matrix(model, state, "passive")
    Mbb, Mbb_dot, A, My, Txi, Tyi = _parts(model, state, Tx, Ty)
    Cb, Cbq, Cqb, Cq = C[:m, :m], C[:m, m:], C[m:, :m], C[m:, m:]
    a_b = model.base.ad(state.twist)
    turn_b, turn_q = np.zeros((m, m)), np.zeros((m, model.n))
    for link, T in zip(model.links, body_jacobians(model, state), strict=True):
        L = np.zeros((6, 6))
        L[:3, :3], L[3:, 3:] = link.body.mass * np.eye(3), link.body.inertia
        A_jb, J_jq, a_j = T[:, :m], T[:, m:], ad(T @ state.velocity)
        turn_b += A_jb.T @ L @ a_j @ A_jb
        turn_q += A_jb.T @ L @ a_j @ J_jq
    Cx = Txi.T @ (Mbb_dot - a_b.T @ Mbb - Mbb @ Txi @ Tx_dot + turn_b) @ Txi
    Cxy = Txi.T @ (turn_q - turn_b @ A) @ Tyi
    Cy = Tyi.T @ (Cq - Cqb @ A - A.T @ Cbq + A.T @ Cb @ A) @ Tyi - My @ Ty_dot @ Tyi
    return Blocks(Txi.T @ Mbb @ Txi, My, Cx, Cxy, -Cxy.T, Cy)
