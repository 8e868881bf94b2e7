"""The Hamel equations on a group times R^n, [Feurstein] (3.37)-(3.39), from derivatives of the mass matrix."""

from __future__ import annotations

import numpy as np

from fallingcat.model import Model, State

from .motion import bracket
from .projected_newton_euler import mass_matrix, mass_matrix_derivative


def coriolis_matrix(model: Model, state: State) -> np.ndarray:
    """(3.39), for joints whose coordinates are angles and lengths."""
    m, units = model.m, np.eye(model.nv)
    M = mass_matrix(model, state)
    M_dot = mass_matrix_derivative(model, state, state.velocity)
    by_q = [mass_matrix_derivative(model, state, unit) for unit in units[m:]]
    # (3.37): one row for each joint
    M_b_q = np.array([state.twist @ D[:m, :m] for D in by_q]).reshape(model.n, m)
    M_bq_q = np.array([state.twist @ D[:m, m:] for D in by_q]).reshape(model.n, model.n)
    M_q_q = np.array([state.rates @ D[m:, m:] for D in by_q]).reshape(model.n, model.n)
    a_b = np.stack([bracket(model, state.velocity, unit)[:m] for unit in units[:m]], axis=1) if m else np.zeros((0, 0))
    top = M_dot[:m] - a_b.T @ M[:m]
    left = M_dot[m:, :m] - 0.5 * M_b_q
    right = M_dot[m:, m:] - M_bq_q - 0.5 * M_q_q
    return np.concatenate([top, np.concatenate([left, right], axis=1)])
