"""Hierarchical least squares under inequalities: a sequence of convex problems, each solved by an active set.

Each level moves only in the null space of the levels before it, so that priorities are strict by construction; rank
loss needs no special case, because steps are those of least norm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import NumericsError
from .least_squares import RANK_TOLERANCE, Level

TOLERANCE = 1e-9
"""Tolerance of multipliers, relative to the gradient, and of limits, relative to their size."""


class LimitedResult(NamedTuple):
    """Result of :func:`limited_least_squares`."""

    x: np.ndarray
    """``n``"""
    multipliers: np.ndarray
    """one for each limit, of the first level that it constrains; 0 where it is inactive"""
    excess: np.ndarray
    """relaxation of each limit where limits contradict each other; all 0 where they do not"""
    residual: float
    """the largest violation of the optimality conditions, over all levels, relative to the gradients"""


class _ActiveSetResult(NamedTuple):
    x: np.ndarray
    active: list[int]
    """active limits"""
    multipliers: np.ndarray
    residual: float


def limited_least_squares(
    levels: Sequence[Level], G: np.ndarray, h: np.ndarray, n: int, damping: float = 0.0
) -> LimitedResult:
    """Hierarchical least squares, as :func:`.hierarchical`, with ``G x <= h`` above all levels.

    Where limits contradict each other, those that ``x = 0`` violates are relaxed, by the least sum of squares.

    Example:
        >>> one = Level(np.eye(2), np.array([2.0, 1.0]), np.ones(2))
        >>> found = limited_least_squares([one], np.array([[1.0, 0.0]]), np.array([1.5]), 2)
        >>> found.x.round(12), found.multipliers.round(12)
        (array([1.5, 1. ]), array([0.5]))
    """
    x, excess, multipliers, residual = _feasible(G, h, n)
    room, fixed, at = h + excess, np.zeros((0, n)), list[int]()
    for A, b, weight in [*levels, Level(np.eye(n), np.zeros(n), np.ones(n))]:  # at last the least norm
        w = np.sqrt(weight)
        A, b = A * w[:, None], b * w
        pulled, aim = (np.vstack([A, damping * np.eye(n)]), np.append(b, damping * x)) if damping else (A, b)
        reached = _constrained_minimum(pulled, aim, G, room, fixed, x, at)
        x, at, residual = reached.x, reached.active, max(residual, reached.residual)
        multipliers = np.where(multipliers > 0.0, multipliers, reached.multipliers)
        fixed = np.vstack([fixed, _rows(A, fixed)])
    return LimitedResult(x, multipliers, excess, residual)


def _feasible(G: np.ndarray, h: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Feasible ``x``, or the least relaxation of the limits with multipliers that prove it, and their residual.

    Limits that ``x = 0`` violates get slack ``s``: ``|s|^2`` becomes least under ``G x - s <= h``.
    """
    broken = np.flatnonzero(h < 0.0)
    excess, none = np.zeros(len(h)), np.zeros(len(h))
    if not len(broken):
        return np.zeros(n), excess, none, 0.0
    k = len(broken)
    slack = np.zeros((len(h), k))
    slack[broken, range(k)] = -1.0
    A = np.hstack([np.zeros((k, n)), np.eye(k)])
    start = np.concatenate([np.zeros(n), -h[broken]])
    reached = _constrained_minimum(A, np.zeros(k), np.hstack([G, slack]), h, np.zeros((0, n + k)), start, [])
    size = max(1.0, float(np.abs(h[broken]).max()))
    excess[broken] = np.where(reached.x[n:] > TOLERANCE * size, reached.x[n:], 0.0)
    return reached.x[:n], excess, reached.multipliers if excess.any() else none, reached.residual


def _constrained_minimum(
    A: np.ndarray, b: np.ndarray, G: np.ndarray, h: np.ndarray, fixed: np.ndarray, x: np.ndarray, at: list[int]
) -> _ActiveSetResult:
    """Nearest point to a feasible ``x`` where ``|A x - b|`` is least under ``G x <= h``, with ``fixed x`` constant.

    A primal active set: go to the best point of the active faces, at first those of ``at``; stop at the first limit in
    the way; leave the face whose multiplier is most negative.
    """
    at = _independent(fixed, G, at)
    scale = max(1.0, float(np.abs(x).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
    most = 20 * (len(x) + len(h)) + 20
    for round_ in range(most):
        held = np.vstack([fixed, G[at]]).T
        Q, R = np.linalg.qr(held, mode="complete")
        Z, k = Q[:, held.shape[1] :], held.shape[1]
        p = Z @ (_inverse(A @ Z, A) @ (b - A @ x))
        ahead, room = G @ p, np.maximum(h - G @ x, 0.0)
        ahead[at] = 0.0
        # limits along which the step does not move but for rounding cannot block it: their ratios would be 0 / 0
        hit = np.flatnonzero(ahead > 1e-13 * max(1.0, float(np.abs(p).max(initial=0.0))))
        ratios = room[hit] / ahead[hit]
        if len(hit) and ratios.min() < 1.0:
            x = x + ratios.min() * p
            at = [*at, int(hit[np.argmin(ratios)])]
            continue
        x = x + p
        gradient = A.T @ (A @ x - b)
        forces = np.linalg.solve(R[:k], -Q[:, :k].T @ gradient)
        push, size = forces[len(fixed) :], max(1.0, float(np.abs(gradient).max(initial=0.0)))
        wrong = [i for i, m in enumerate(push) if m < -TOLERANCE * size]
        if not wrong:
            multipliers = np.zeros(len(h))
            multipliers[at] = np.where(push > TOLERANCE * size, push, 0.0)
            unbalanced = np.abs(gradient + held @ forces).max(initial=0.0) / size
            beyond = np.maximum(G @ x - h, 0.0).max(initial=0.0) / scale
            return _ActiveSetResult(x, at, multipliers, float(max(unbalanced, beyond)))
        # the most negative multiplier is the fastest choice but may cycle; Bland's rule (the first) cannot
        worst = min(wrong, key=lambda i: push[i]) if round_ < most // 2 else min(wrong, key=lambda i: at[i])
        at = [*at[:worst], *at[worst + 1 :]]
    raise NumericsError(f"active set of {len(h)} limits on {len(x)} velocities did not converge in {most} steps")


def _independent(fixed: np.ndarray, G: np.ndarray, at: list[int]) -> list[int]:
    """Limits whose rows are independent of ``fixed``, which is orthonormal, and of those before them."""
    basis, kept = fixed, list[int]()
    for i in at:
        row = G[i] - basis.T @ (basis @ G[i])
        row = row - basis.T @ (basis @ row)  # twice is enough: orthogonal to rounding
        size = np.linalg.norm(row)
        # nearly dependent limits have huge multipliers of opposite signs: the later one is left out
        if size > 1e-6 * np.linalg.norm(G[i]):
            basis, kept = np.vstack([basis, row / size]), [*kept, i]
    return kept


def _inverse(AZ: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of ``AZ``, whose rank is judged by the size of ``A``."""
    U, d, Vt = np.linalg.svd(AZ, full_matrices=False)
    kept = d > RANK_TOLERANCE * np.linalg.norm(A)
    return np.asarray((Vt[kept].T / d[kept]) @ U[:, kept].T)


def _rows(A: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span the part of ``A`` beyond ``fixed``."""
    Z = np.linalg.qr(fixed.T, mode="complete")[0][:, len(fixed) :]
    _, d, Vt = np.linalg.svd(A @ Z, full_matrices=False)
    return np.asarray(Vt[d > RANK_TOLERANCE * np.linalg.norm(A)] @ Z.T)
