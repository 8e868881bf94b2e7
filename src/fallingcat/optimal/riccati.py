"""Backward pass of differential dynamic programming, with bounds on the inputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays.types import FloatArray
from .recursion import RECURSION, SOLVED, Found, Given, Room


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


class Recursion:
    """Compiled Riccati recursion with its arrays, which are filled before every :meth:`policy`.

    Args:
        steps: Number of steps.
        size: Numbers in ``x``.
        n: Numbers in ``u``.
    """

    def __init__(self, steps: int, size: int, n: int) -> None:
        both, wide = size + n, max(size, n)
        self.dynamics = np.zeros((steps, size, both))
        """``[A B]`` of every step"""
        self.gaps, self.slopes = np.zeros((steps + 1, size)), np.zeros((steps + 1, both))
        """by how much each node lies behind the step before it; gradients of the costs by ``[x; u]``"""
        self.hessians = np.zeros((steps + 1, both, both))
        """their Gauss-Newton Hessians"""
        self.low, self.high = np.zeros((steps, n)), np.zeros((steps, n))
        """least and largest changes of the inputs"""
        self.k, self.K, self.adjoint = np.zeros((steps, n)), np.zeros((steps, n, size)), np.zeros((steps + 1, size))
        self._damping, self._report = np.zeros(1), np.zeros(3)
        rows = {name: x.reshape(-1, x.shape[-1]) for name, x in (("F", self.dynamics), ("H", self.hessians))}
        costs = (self.gaps, self.slopes, rows["H"], self.low, self.high, self._damping)
        found = Found(self.k, self.K.reshape(-1, size), self.adjoint, self._report)
        room = Room(
            V=np.zeros((size, size)),
            G=np.zeros((size, both)),
            Q=np.zeros((both, both)),
            L=np.zeros((n, n)),
            Y=np.zeros((n, wide)),
            **{name: np.zeros(both) for name in Room._fields[5:-1]},
            free=np.zeros(n, dtype=np.int64),
        )
        self._run = RECURSION.bound(Given(steps, size, n, rows["F"], *costs), found, room)

    def policy(self, damping: float) -> Policy | None:
        """Policy for what the arrays hold.

        Args:
            damping: Added to the diagonal of the Hessian by the inputs.

        Returns:
            Policy, whose arrays the next call overwrites; None if a Hessian is not positive definite.
        """
        self._damping[0] = damping
        if self._run() != SOLVED:
            return None
        gradient, slope, curvature = self._report.tolist()
        return Policy(self.k, self.K, gradient, slope, curvature, self.adjoint)


def backward(dynamics: Any, gaps: Any, slopes: Any, hessians: Any, bounds: Any, damping: float) -> Policy | None:
    """Riccati recursion from the last node to the first, of the arrays of a :class:`Recursion`.

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
    made = Recursion(steps, size, both - size)
    made.dynamics[:], made.gaps[:], made.slopes[:], made.hessians[:] = dynamics, gaps, slopes, hessians
    made.low[:], made.high[:] = bounds
    return made.policy(damping)
