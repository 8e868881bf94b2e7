"""Mobility of contact points, ``J M^-1 J'``, which bounds the time steps on a compliant floor."""

from __future__ import annotations

import functools

import numpy as np

from ..constraints.loop_closure import equations
from ..dynamics import mass_matrix
from ..model import Model
from .base import Contact
from .point_contact import point_rows

MAX_MOBILITY = 1e9
"""1/kg: of points that nothing with mass holds; springs and dampers do, in steps that foresee them."""

FACE_POINTS = 4
"""Points by which a link touches flat ground at once, as the face of a box does."""


@functools.lru_cache(maxsize=8)
def effective_mass(model: Model, floor: Contact) -> float:
    """Largest eigenvalue (1/kg) of ``J M^-1 J'`` of the points of a floor, all pushed at once.

    It is taken among motions that keep loops closed, at the neutral configuration.
    """
    M = np.asarray(mass_matrix(model, model.neutral()), dtype=float)
    return float(largest_mobility(M[None], *point_mobility(model, floor))[0])


@functools.lru_cache(maxsize=8)
def touching_mobility(model: Model, floor: Contact) -> float:
    """:func:`effective_mass` (1/kg) of points that touch at once: at most :data:`FACE_POINTS` of the loosest.

    A robot may have points all over it.
    """
    state = model.neutral()
    J, M = point_rows(floor, model, state), np.asarray(mass_matrix(model, state), dtype=float)
    try:
        each = np.linalg.eigvalsh(J @ np.linalg.solve(M, J.transpose(0, 2, 1)))
    except np.linalg.LinAlgError:  # as in largest_mobility
        return effective_mass(model, floor)
    return min(effective_mass(model, floor), FACE_POINTS * float(each.max(initial=0.0)))


def point_mobility(model: Model, floor: Contact) -> tuple[np.ndarray, np.ndarray]:
    """``J' J`` of the points, and motions (nv x ...) that keep loops closed, at the neutral configuration."""
    state = model.neutral()
    J = point_rows(floor, model, state)
    JJ = np.einsum("pki,pkj->ij", J, J)
    if not model.loops:
        return JJ, np.eye(model.nv)
    # motions that keep loops closed; redundant rows of a loop leave singular values of rounding
    _, size, rows = np.linalg.svd(np.asarray(equations(model, state).jacobian, dtype=float))
    return JJ, rows[int((size > 1e-9).sum()) :].T


def largest_mobility(masses: np.ndarray, JJ: np.ndarray, free: np.ndarray) -> np.ndarray:
    """``N``: :func:`effective_mass` of robots with these mass matrices (N x nv x nv)."""
    try:
        gives = np.linalg.eigvals(np.linalg.solve(free.T @ masses @ free, free.T @ JJ @ free)).real
    except np.linalg.LinAlgError:  # springs and dampers may be all that resists; else the step says what is singular
        return np.full(len(masses), MAX_MOBILITY)
    return np.minimum(gives.max(axis=-1, initial=0.0), MAX_MOBILITY)
