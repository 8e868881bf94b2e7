"""Distribution of the load among redundant contact points: of all forces, the ones farthest from every bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .complementarity import MIN_SINGULAR_VALUE, Collision

MAX_ROUNDS = 40
"""in which bounds are drawn in until they are where they belong"""
MAX_NEWTON_STEPS = 20
"""of Newton's method in each of them"""
ROUNDING_RESIDUAL = 1e-12
"""of what is left between forces and their bounds, relative to the pushes"""
CENTERED_STEP = 1e-6
"""Steps, in their own measure, after which the center is near."""


def centred(law: Collision, x: np.ndarray, ways: Sequence[np.ndarray]) -> np.ndarray | None:
    """Forces that do the same as ``x``, ``G`` times them, strictly within their bounds; None where there are none.

    ``ways`` has for each point the directions (columns) of which its force is made: all of its rows, then it is bounded
    by its cone; one, as of a point that slides; or none, of a point that leaves.  Of all such forces these maximise
    ``sum log(push^2 - |drag|^2 / friction^2)``: the analytic center.  All pushes may be short at first, and ever less,
    until none is.

    >>> law = Collision(np.ones((2, 2)), np.array([-1.0, -1.0]), ([0], [1]), np.zeros(2), 0.0)  # one push, in two parts
    >>> centred(law, np.array([1.0, 0.0]), [np.eye(1), np.eye(1)]).round(9)
    array([0.5, 0.5])
    """
    carry = [i for i, way in enumerate(ways) if way.size]
    if not carry:
        return None
    B, forces, A = np.zeros((len(x), 0)), np.zeros((len(carry), 3, len(x))), np.zeros((len(carry), 3))
    for which, i in enumerate(carry):
        own, way = law.rows[i], ways[i]
        part = np.zeros((len(x), way.shape[1]))
        part[own] = way
        B, forces[which, range(len(own)), own] = np.hstack([B, part]), 1.0
        A[which, 0], A[which, 1 : way.shape[1]] = 1.0, -1.0 / max(float(law.mu[i]), 1e-100) ** 2
    _, s, Vt = np.linalg.svd(law.G @ B)
    free = B @ Vt[int((s > MIN_SINGULAR_VALUE * s.max(initial=0.0)).sum()) :].T
    least, size = _least(forces @ x, A), float(np.abs(forces[:, 0] @ x).mean())
    if not free.size or size == 0.0:
        return x if least > 0.0 else None
    short = max(0.0, 0.1 * size - least)
    for _ in range(MAX_ROUNDS):
        for _ in range(MAX_NEWTON_STEPS):
            step, far = _newton(forces @ x + [short, 0.0, 0.0], A, forces @ free)
            if not np.isfinite(far):  # a force lies on its bound: there is no inside to go to
                return None
            x = x + free @ step
            if far < CENTERED_STEP:
                break
        if short == 0.0:
            return x
        least = _least(forces @ x, A)
        if short + least < ROUNDING_RESIDUAL * size:
            break
        short = 0.0 if least > 0.0 else short - 0.9 * (short + least)
    return None


def _least(y: np.ndarray, A: np.ndarray) -> float:
    """The least of ``push - |drag| / friction``."""
    return float((y[:, 0] - np.sqrt((-A[:, 1:] * y[:, 1:] ** 2).sum(axis=1))).min())


def _newton(y: np.ndarray, A: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, float]:
    """A step of Newton's method for ``min -sum log(y' A y)`` along ``F``, and its size.

    Steps are damped by their size (the logarithms are self-concordant), so that they stay within the bounds.
    """
    c, slope = (A * y**2).sum(axis=1), np.einsum("ij,ijk->ik", A * y, F)
    g = -2.0 * (slope / c[:, None]).sum(axis=0)
    H = 4.0 * (slope / c[:, None]).T @ (slope / c[:, None]) - 2.0 * np.einsum("ijk,ij,ijl->kl", F, A / c[:, None], F)
    if not (np.isfinite(g).all() and np.isfinite(H).all()):
        return np.zeros(len(g)), float("nan")
    step = -np.linalg.lstsq(H, g, rcond=1e-12)[0]
    size = float(np.sqrt(max(-float(g @ step), 0.0)))
    return step / (1.0 + size), size
