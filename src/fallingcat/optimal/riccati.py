"""Backward pass of differential dynamic programming, with bounds on the inputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays.types import FloatArray


class Policy(NamedTuple):
    """Change of the inputs by one iteration: ``du = k + K dx``."""

    k: FloatArray
    """``steps x n``"""
    K: FloatArray
    """``steps x n x x``: feedback gains; zero where an input is at its bound"""
    gradient: float
    """largest derivative of the value by an input that is free to change"""
    slope: float
    """first-order change of the cost by a whole step"""
    curvature: float
    """second-order change"""
    adjoint: FloatArray
    """``(steps + 1) x x``: derivative of the value by the state at each node"""


def backward(
    dynamics: FloatArray,
    gaps: FloatArray,
    slopes: FloatArray,
    hessians: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    damping: float,
) -> Policy | None:
    """Riccati recursion from the last node to the first.

    Args:
        dynamics: ``[A B]`` of every step, ``steps x x x (x + n)``.
        gaps: By how much each node lies behind the step before it, ``(steps + 1) x x``.
        slopes: Gradients of the costs by ``[x; u]``, ``(steps + 1) x (x + n)``.
        hessians: Their Gauss-Newton Hessians.
        bounds: Smallest and largest changes of the inputs, ``steps x n`` each.
        damping: Added to the diagonal of the Hessian by the inputs.

    Returns:
        Policy; None if a Hessian is not positive definite.
    """
    steps, size, both = dynamics.shape
    n = both - size
    k, K, adjoint = np.zeros((steps, n)), np.zeros((steps, n, size)), np.zeros((steps + 1, size))
    value, V = slopes[-1, :size], hessians[-1, :size, :size]
    adjoint[-1] = value
    costate = value
    gradient = slope = curvature = 0.0
    for i in reversed(range(steps)):
        F = dynamics[i]
        Q = hessians[i] + F.T @ (V @ F)
        q = slopes[i] + F.T @ (value + V @ gaps[i + 1])
        Quu, Qux, qu = Q[size:, size:] + damping * np.eye(n), Q[size:, :size], q[size:]
        try:
            np.linalg.cholesky(Quu)  # of an indefinite one the minimum would be none
        except np.linalg.LinAlgError:
            return None
        k[i], free = bounded_minimum(Quu, qu, bounds[0][i], bounds[1][i])
        if free.all():
            K[i] = -np.linalg.solve(Quu, Qux)
        elif free.any():
            K[i][free] = -np.linalg.solve(Quu[np.ix_(free, free)], Qux[free])
        # the recursion's own qu is small long before the derivative of the cost along the motion is
        along = slopes[i] + F.T @ costate
        costate, own = along[:size], along[size:]
        pushed_out = ((bounds[0][i] >= 0.0) & (own > 0.0)) | ((bounds[1][i] <= 0.0) & (own < 0.0))
        gradient = max(gradient, float(np.abs(own[~pushed_out]).max(initial=0.0)))
        slope += float(qu @ k[i])
        curvature += float(k[i] @ Quu @ k[i])
        value = q[:size] + K[i].T @ (Quu @ k[i] + qu) + Qux.T @ k[i]
        V = Q[:size, :size] + K[i].T @ (Quu @ K[i] + Qux) + Qux.T @ K[i]
        V = 0.5 * (V + V.T)
        adjoint[i] = value
    return Policy(k, K, gradient, slope, curvature, adjoint)


MAX_ACTIVE_SETS = 30
"""Changes of the set of inputs at their bounds in one box-constrained quadratic program."""


def bounded_minimum(H: FloatArray, g: FloatArray, low: FloatArray, high: FloatArray) -> tuple[FloatArray, np.ndarray]:
    """Minimize ``x' H x / 2 + g' x`` between bounds, by projected Newton steps.

    Args:
        H: Positive definite, ``n x n``.
        g: ``n``.
        low: Smallest values, ``n``.
        high: Largest values, ``n``.

    Returns:
        Minimum, and which entries are free.
    """
    free = np.ones(len(g), dtype=bool)
    x: FloatArray = -np.asarray(np.linalg.solve(H, g), dtype=float)
    if (low < x).all() and (x < high).all():
        return x, free
    x = np.clip(x, low, high)
    for _ in range(MAX_ACTIVE_SETS):
        slope = H @ x + g
        now = ~(((x <= low) & (slope > 0.0)) | ((x >= high) & (slope < 0.0)))
        if (now == free).all() and np.abs(slope[now]).max(initial=0.0) <= 1e-9 * (1.0 + np.abs(g).max(initial=0.0)):
            break
        free = now
        step = np.zeros_like(x)
        step[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        x = _projected(H, g, x, step, low, high)
    return x, free


def _projected(
    H: FloatArray, g: FloatArray, x: FloatArray, step: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Longest of the halved steps, projected onto the bounds, that lowers the cost."""
    cost = 0.5 * x @ H @ x + g @ x
    length = 1.0
    while length > 1e-4:
        moved = np.clip(x + length * step, low, high)
        if 0.5 * moved @ H @ moved + g @ moved <= cost:
            return moved
        length *= 0.5
    return x
