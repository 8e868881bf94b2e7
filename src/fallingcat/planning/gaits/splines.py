"""Cubic splines of shapes, given by points and slopes at equal distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays.types import FloatArray, Vector
from ...errors import ModelError
from ...records import concise
from .curve_arguments import at_once, finite
from .curves import Curve, Jet


def hermite(x: Vector) -> FloatArray:
    """Weights (3 x N x 4) of ``a, b, a', b'`` in a cubic from a to b and its two derivatives, at shares ``x`` (N).

    Example:
        >>> hermite(0.5)[0].tolist()
        [[0.5, 0.5, 0.125, -0.125]]
    """
    x = np.atleast_1d(np.asarray(x, dtype=float))
    y = 1.0 - x
    values = [y * y * (1.0 + 2.0 * x), x * x * (3.0 - 2.0 * x), x * y * y, -x * x * y]
    slopes = [-6.0 * x * y, 6.0 * x * y, y * (1.0 - 3.0 * x), x * (3.0 * x - 2.0)]
    bends = [12.0 * x - 6.0, 6.0 - 12.0 * x, 6.0 * x - 4.0, 6.0 * x - 2.0]
    return np.stack([np.stack(some, axis=1) for some in (values, slopes, bends)])


@concise
@dataclass(frozen=True, eq=False)
class Spline(Curve):
    """Cubic spline through ``points`` with ``slopes`` at s = 0, 1/N, ..., 1.

    Its second derivative is linear between the nodes and may jump there.

    Example:
        >>> half = Spline([[0.0], [1.0]], [[0.0], [0.0]])(0.5)
        >>> half.q.item(), half.dq.item(), half.ddq.item()
        (0.5, 1.5, 0.0)
    """

    points: FloatArray
    """``N + 1 x k``"""
    slopes: FloatArray
    """``N + 1 x k``, by s"""

    def __post_init__(self) -> None:
        """Check shapes and values."""
        for name in ("points", "slopes"):
            object.__setattr__(self, name, finite(getattr(self, name), 2, name))
        if len(self.points) < 2 or self.points.shape != self.slopes.shape:
            raise ModelError(
                f"points {self.points.shape} and slopes {self.slopes.shape} must have one shape, of two rows or more"
            )

    @classmethod
    def along(cls, curve: Curve, intervals: int) -> Spline:
        """Spline through points of another curve; exact where that is a spline whose intervals are divided.

        Args:
            curve: Curve of k coordinates.
            intervals: Number of intervals N.

        Returns:
            Spline with N + 1 nodes.
        """
        jet = curve(np.arange(intervals + 1) / intervals)
        return cls(jet.q, jet.dq)

    @property
    def size(self) -> int:
        """Number of coordinates k."""
        return self.points.shape[1]

    @property
    def intervals(self) -> int:
        """Number of intervals N."""
        return len(self.points) - 1

    @property
    def breaks(self) -> tuple[float, ...]:
        """Nodes."""
        return tuple((np.arange(self.intervals + 1) / self.intervals).tolist())

    def __call__(self, s: Vector) -> Jet:
        """Points and derivatives at ``s``; at a node those of the interval after it."""
        place = at_once(s, "s") * self.intervals
        k = np.clip(np.floor(place).astype(int), 0, self.intervals - 1)
        return self.within(k, place - k)

    def within(self, k: Vector, x: Vector) -> Jet:
        """Points and derivatives inside given intervals, their ends included.

        Args:
            k: Indices (N) of the intervals.
            x: Shares (N) of the intervals, from 0 to 1.

        Returns:
            Points and first two derivatives (N x k each).
        """
        h = 1.0 / self.intervals
        ends = np.stack([self.points[k], self.points[k + 1], h * self.slopes[k], h * self.slopes[k + 1]], axis=1)
        q, dq, ddq = np.einsum("dni,nik->dnk", hermite(x), ends)
        return Jet(q, dq / h, ddq / h**2)
