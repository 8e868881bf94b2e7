"""Coriolis matrices as sums over links, `C = sum T_j' (B_j T_j + L_j dT_j/dt)`: [Mishra] Lemma 1, [Feurstein] (3.41).

`T_j` (6 x nv) is the link's body Jacobian; the five matrices differ in `B_j` alone (THEORY's table).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fallingcat.lie import SE3
from fallingcat.model import Model, State

from .motion import STEP, Rotor, moving_links, rotors
from .projected_newton_euler import jacobians

ad, adt = SE3().ad, SE3().adt


def body_jacobians(model: Model, state: State, shift: Any = None) -> list[np.ndarray]:
    """`T_j` about the center of mass, in link axes, where the inertia is `diag(m, Theta)`."""
    rotations = [k.rotation for k in moving_links(model, state, np.zeros(model.nv), shift)]
    pairs = zip(rotations, jacobians(model, state, shift), strict=True)
    return [np.concatenate([R.T @ J.position, J.rotation]) for R, J in pairs]


def coriolis_matrix(model: Model, state: State, factorization: str) -> np.ndarray:
    """The sum over links, for the factorizations that are one."""
    T = body_jacobians(model, state)
    T_dot = [np.imag(later) / STEP for later in body_jacobians(model, state, shift=state.velocity)]
    C = np.zeros((model.nv, model.nv))
    for link, Tj, Tj_dot in zip(model.links, T, T_dot, strict=True):
        L = np.zeros((6, 6))
        L[:3, :3], L[3:, 3:] = link.body.mass * np.eye(3), link.body.inertia
        nu = Tj @ state.velocity
        C += Tj.T @ (body_matrix(factorization, L, nu) @ Tj + L @ Tj_dot)
    for T_rotor, L in map(as_body, rotors(model)):
        C += T_rotor.T @ body_matrix(factorization, L, T_rotor @ state.velocity) @ T_rotor
    return C


def as_body(rotor: Rotor) -> tuple[np.ndarray, np.ndarray]:
    """`T` (6 x nv, constant) and `L` (6 x 6) of a rotor."""
    L = np.zeros((6, 6))
    L[3:, 3:] = rotor.inertia * np.eye(3)
    return np.concatenate([np.zeros_like(rotor.spin), rotor.spin]), L


def body_matrix(factorization: str, L: np.ndarray, nu: np.ndarray) -> np.ndarray:
    """`B_j`."""
    passive, coadjoint = L @ ad(nu) - ad(nu).T @ L, -adt(L @ nu)
    matrices = {
        "newton_euler": -ad(nu).T @ L,
        "passive": passive,
        "coadjoint": coadjoint,
        "christoffel": 0.5 * (passive + coadjoint),
    }
    return matrices[factorization]
