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
    """largest derivative of the Lagrangian by a state or by an input that is free to change; the multipliers of the
    dynamics are the value's derivatives.  The derivative of the cost by an input along the whole motion behind it would
    grow with everything that is unstable in it, and with it its rounding."""
    slope: float
    """first-order change of the cost by a whole step"""
    curvature: float
    """second-order change"""
    adjoint: FloatArray
    """``(steps + 1) x x``: derivative of the value by the state at each node"""


class Implied(NamedTuple):
    """Numbers in ``x`` whose change follows from that of others: configurations of semi-implicit steps."""

    rows: int = 0
    """number of the first in ``x`` whose change is ``start dq + way dv``, of as many behind them"""
    lead: int = 0
    """number of the first of these, for which ``start`` and ``way`` are matrices: for the others 1 and ``dt``"""


NONE = Implied()


class Arrays(NamedTuple):
    """Expansion and policy of a recursion, or of many with an axis before the others."""

    dynamics: FloatArray
    """``[A B]`` of every step, without the rows that are implied"""
    start: FloatArray
    """derivatives of the implied rows by their start, see :class:`Implied`"""
    way: FloatArray
    """by the numbers behind them"""
    dt: FloatArray
    """lengths of the steps (s)"""
    gaps: FloatArray
    """by how much each node lies behind the step before it"""
    slopes: FloatArray
    """gradients of the costs by ``[x; u]``"""
    hessians: FloatArray
    """their Gauss-Newton Hessians"""
    low: FloatArray
    """least changes of the inputs"""
    high: FloatArray
    """largest ones"""
    k: FloatArray
    K: FloatArray
    adjoint: FloatArray

    @classmethod
    def of(
        cls,
        steps: int,
        size: int,
        n: int,
        implied: Implied = NONE,
        batch: tuple[int, ...] = (),
        zeros: Any = np.zeros,
    ) -> Arrays:
        """New arrays."""
        both, lead = size + n, (implied.lead, implied.lead)
        ways = ((size - implied.rows, both), lead, lead, ())
        nodes = ((size,), (both,), (both, both))
        shapes = [*((steps, *shape) for shape in ways), *((steps + 1, *shape) for shape in nodes)]
        shapes += [(steps, n), (steps, n), (steps, n), (steps, n, size), (steps + 1, size)]
        return cls(*(zeros((*batch, *shape)) for shape in shapes))


class Recursion:
    """Compiled Riccati recursion with its arrays, which are filled before every :meth:`policy`.

    Args:
        steps: Number of steps.
        size: Numbers in ``x``.
        n: Numbers in ``u``.
        first: First numbers in ``x``, on which steps depend; those behind them are left out where no step does; None:
            all.
        implied: Numbers in ``x`` whose change follows from that of others.
        arrays: Arrays to work on; None: new ones.
    """

    def __init__(
        self,
        steps: int,
        size: int,
        n: int,
        first: int | None = None,
        implied: Implied = NONE,
        arrays: Arrays | None = None,
    ) -> None:
        both, wide = size + n, max(size, n)
        self.arrays = made = Arrays.of(steps, size, n, implied) if arrays is None else arrays
        self.dynamics, self.gaps, self.slopes, self.hessians = made.dynamics, made.gaps, made.slopes, made.hessians
        self.low, self.high, self.k, self.K, self.adjoint = made[-5:]
        self._sizes, self._first = (steps, size, n), size if first is None else first
        self._smaller: Recursion | None = None
        self._damping, self._report = np.zeros(1), np.zeros(3)
        D, start, way, H = (_rows(x) for x in (made.dynamics, made.start, made.way, made.hessians))
        found = Found(self.k, self.K.reshape(-1, size), self.adjoint, self._report)
        room = Room(
            V=np.zeros((size, size)),
            G=np.zeros((size, both)),
            Q=np.zeros((both, both)),
            L=np.zeros((n, n)),
            U=np.zeros((n, n)),
            Y=np.zeros((n, wide)),
            **{name: np.zeros(both) for name in Room._fields[6:-1]},
            free=np.zeros(n, dtype=np.int64),
        )
        ways, costs = (D, start, way, made.dt), (self.gaps, self.slopes, H, self.low, self.high, self._damping)
        self._run = RECURSION.bound(Given(steps, size, n, *implied, *ways, *costs), found, room)

    def policy(self, damping: float) -> Policy | None:
        """Policy for what the arrays hold.

        Args:
            damping: Added to the diagonal of the Hessian by the inputs.

        Returns:
            Policy, whose arrays the next call overwrites; None if a Hessian is not positive definite.
        """
        size = self._sizes[1]
        # memory on which no step depends, such as the first guess of a contact solver, need not be carried along
        felt = np.arange(size) < self._first
        if self._first < size:
            felt |= self.dynamics[:, :, :size].any(axis=(0, 1))
        if not felt.all():
            return self._policy_of_subset(felt, damping)
        self._damping[0] = damping
        if self._run() != SOLVED:
            return None
        gradient, slope, curvature = self._report.tolist()
        return Policy(self.k, self.K, gradient, slope, curvature, self.adjoint)

    def _policy_of_subset(self, felt: Any, damping: float) -> Policy | None:
        """:meth:`policy` for some of the numbers in ``x``; gains of the others are zero."""
        (steps, _, n), count = self._sizes, int(felt.sum())
        if self._smaller is None or self._smaller._sizes[1] != count:
            self._smaller = Recursion(steps, count, n)
        small, both = self._smaller, np.concatenate([felt, np.ones(n, dtype=bool)])
        small.dynamics[:], small.gaps[:] = self.dynamics[:, felt][:, :, both], self.gaps[:, felt]
        small.slopes[:], small.hessians[:] = self.slopes[:, both], self.hessians[:, both][:, :, both]
        small.low[:], small.high[:] = self.low, self.high
        found = small.policy(damping)
        if found is None:
            return None
        self.K[:], self.adjoint[:] = 0.0, 0.0  # other numbers may have been felt before
        self.k[:], self.K[:, :, felt], self.adjoint[:, felt] = found.k, found.K, found.adjoint
        return found._replace(k=self.k, K=self.K, adjoint=self.adjoint)


def _rows(x: FloatArray) -> FloatArray:
    """Matrices below each other."""
    return x.reshape(x.shape[0] * x.shape[1], x.shape[2])


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
