"""The closed forms of [Mishra] (15)-(20), (35)-(36): every matrix a sum over links, dense Jacobians and all.

`Ad_k` (6 x m) takes base twists to link k (of a base group: through its selection matrix), `J_k` (6 x n) is the body
Jacobian of the joints, `M_k` the inertia; twists are linear first here, angular first in the paper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fallingcat.lie import SE3
from fallingcat.model import Model, State

from .link_matrices import as_body, body_jacobians
from .motion import STEP, rotors
from .projected_newton_euler import mass_matrix, mass_matrix_derivative

ad, adt = SE3().ad, SE3().adt


class Link(NamedTuple):
    """One term of the sums."""

    Ad: np.ndarray
    J: np.ndarray
    J_dot: np.ndarray
    Ad_dot: np.ndarray
    M: np.ndarray


def links(model: Model, state: State) -> list[Link]:
    """Every link, about its center of mass, and every rotor; rates along the state."""
    m = model.m
    T = body_jacobians(model, state)
    T_dot = [np.imag(x) / STEP for x in body_jacobians(model, state, shift=state.velocity)]
    out = []
    for link, now, rate in zip(model.links, T, T_dot, strict=True):
        M = np.zeros((6, 6))
        M[:3, :3], M[3:, 3:] = link.body.mass * np.eye(3), link.body.inertia
        out.append(Link(now[:, :m], now[:, m:], rate[:, m:], rate[:, :m], M))
    for T_rotor, M in map(as_body, rotors(model)):
        out.append(Link(T_rotor[:, :m], T_rotor[:, m:], np.zeros((6, model.n)), np.zeros((6, m)), M))
    return out


def connection(model: Model, state: State) -> np.ndarray:
    """`A_l = Mb^-1 Mbq` (m x n)."""
    M, m = mass_matrix(model, state), model.m
    return np.linalg.solve(M[:m, :m], M[:m, m:])


def connection_rate(model: Model, state: State) -> np.ndarray:
    """`dA_l/dt` from the rates of both blocks."""
    M, m = mass_matrix(model, state), model.m
    M_dot = mass_matrix_derivative(model, state, state.velocity)
    return np.linalg.solve(M[:m, :m], M_dot[:m, m:] - M_dot[:m, :m] @ connection(model, state))


def shape_inertia(model: Model, state: State) -> np.ndarray:
    """(19a)."""
    A, terms = connection(model, state), links(model, state)
    return sum(k.J.T @ k.M @ k.J for k in terms) - A.T @ locked_inertia(model, state) @ A


def locked_inertia(model: Model, state: State) -> np.ndarray:
    """`Mb` (7)."""
    return sum(k.Ad.T @ k.M @ k.Ad for k in links(model, state))


def P(model: Model, state: State, x: np.ndarray) -> np.ndarray:
    """(19b), Lemma 6."""
    return -sum(k.Ad.T @ (ad(k.J @ x).T @ k.M + k.M @ ad(k.J @ x)) @ k.Ad for k in links(model, state))


def S(model: Model, state: State, mu: np.ndarray) -> np.ndarray:
    """(19c), Lemma 7; the paper prints its transpose."""
    terms = links(model, state)
    return sum(k.J.T @ (ad(k.Ad @ mu).T @ k.M + adt(k.M @ k.Ad @ mu)) @ k.Ad for k in terms).T


def Gamma(model: Model, state: State) -> np.ndarray:
    """(19d), with the generalized Jacobians and their rates."""
    A, A_dot = connection(model, state), connection_rate(model, state)
    out = np.zeros((model.n, model.n))
    for k in links(model, state):
        J = k.J - k.Ad @ A
        J_dot = k.J_dot - k.Ad_dot @ A - k.Ad @ A_dot
        out += J.T @ (-adt(k.M @ J @ state.rates) @ J + k.M @ J_dot)
    return out


def M_nabla(M: np.ndarray, X: np.ndarray) -> np.ndarray:
    """`M_k nabla_X` of (20)."""
    return ad(X).T @ M + adt(M @ X) - M @ ad(X)


def B(model: Model, state: State, mu: np.ndarray) -> np.ndarray:
    """(19e)."""
    A, Smu = connection(model, state), S(model, state, mu)
    turn = model.base.adt(locked_inertia(model, state) @ mu)
    last = sum(k.J.T @ M_nabla(k.M, k.Ad @ mu) @ k.J for k in links(model, state))
    return -A.T @ turn @ A + Smu.T @ A - A.T @ Smu - last


def curvature(model: Model, state: State, x: np.ndarray) -> np.ndarray:
    """Theorem 2, (35)-(36): `DA(x, .)` (m x n)."""
    A, Mb = connection(model, state), locked_inertia(model, state)
    terms = links(model, state)
    beta = sum(k.J.T @ (M_nabla(k.M, k.J @ x) + 2.0 * k.M @ ad(k.J @ x)) @ k.Ad for k in terms)
    beta = beta - S(model, state, A @ x).T + A.T @ P(model, state, x) + A.T @ model.base.ad(A @ x).T @ Mb
    return -np.linalg.solve(Mb, beta.T)
