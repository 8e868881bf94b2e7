"""Boxes in shape space, with polynomials and quadrature on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations_with_replacement

import numpy as np

from ...arrays.types import Float_n, Float_n_k, Float_N_n, FloatArray, Matrix, Matrix_N_n, Vector
from ...errors import ModelError
from ...records import concise
from ..gaits.curve_arguments import finite, samples
from ..gaits.gait import Motion, check_motion

MAX_DEGREES = (0, 24, 10, 6, 4, 3, 2, 2)
"""Largest total degree of polynomials over a box of 0, 1, 2, ... directions."""
MIN_WIDTH = 1e-9
"""Width, relative to the widest direction, below which a direction is left out."""


@concise
@dataclass(frozen=True, eq=False)
class Region:
    """Box of shapes ``q = origin + directions r`` with each ``r`` between ``low`` and ``high``.

    Example:
        >>> Region(np.eye(3)[:, :2], np.zeros(3), [-1.0, -1.0], [1.0, 1.0]).size
        2
    """

    directions: Float_n_k
    """``n x k``"""
    origin: Float_n
    """``n``"""
    low: FloatArray
    """``k``"""
    high: FloatArray
    """``k``"""

    def __post_init__(self) -> None:
        """Check shapes and values."""
        for name, rank in {"directions": 2, "origin": 1, "low": 1, "high": 1}.items():
            object.__setattr__(self, name, finite(getattr(self, name), rank, f"{name} of a region"))
        n, k = self.directions.shape
        if self.origin.shape != (n,) or self.low.shape != (k,) or self.high.shape != (k,):
            raise ModelError(
                f"a region of {k} directions in {n} joints must have an origin of {n} and {k} bounds each way"
            )
        if k >= len(MAX_DEGREES):
            raise ModelError(
                f"a region must have at most {len(MAX_DEGREES) - 1} directions, got {k}: choose fewer joints"
            )
        if np.linalg.matrix_rank(self.directions) < k or not (self.low < self.high).all():
            raise ModelError("a region must have independent directions, and low below high")
        object.__setattr__(self, "_inverse", np.linalg.pinv(self.directions))

    @classmethod
    def around(cls, motion: Motion, *others: Vector) -> Region:
        """Smallest box around a motion, in the directions in which it spreads.

        Args:
            motion: Gait or curve of all joints.
            *others: Further shapes (n, or N x n) inside the box.

        Returns:
            Box in the principal directions of the points.

        Example:
            >>> from fallingcat.planning import Circle
            >>> box = Region.around(Circle(0.5).embedded(np.eye(4)[:, 1:3]))
            >>> (box.high - box.low).round(6).tolist()
            [1.0, 1.0]
        """
        check_motion(motion)
        path = motion(np.linspace(0.0, motion.duration, 513)).q
        points = np.vstack([path, *(samples(x, path.shape[1], "a shape") for x in others)])
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        _, sizes, rows = np.linalg.svd(points - middle, full_matrices=False)
        if not sizes[0] > 0.0:
            raise ModelError("the gait stays at one shape: the region around it is empty")
        directions = rows[sizes > MIN_WIDTH * sizes[0]].T
        r = (points - middle) @ directions
        return cls(directions, middle, r.min(axis=0), r.max(axis=0))

    @property
    def size(self) -> int:
        """Number of directions k."""
        return len(self.low)

    @property
    def middle(self) -> Float_n:
        """Shape (n) in the middle."""
        return np.asarray(self.origin + self.directions @ (0.5 * (self.low + self.high)))

    def shapes(self, r: Matrix) -> Float_N_n:
        """Shapes of coordinates.

        Args:
            r: Coordinates (N x k).

        Returns:
            Joint coordinates (N x n).
        """
        return np.asarray(self.origin + samples(r, self.size, "r") @ self.directions.T)

    def coordinates(self, joints: Matrix_N_n) -> FloatArray:
        """Coordinates of the points of the region that are nearest to shapes.

        Args:
            joints: Shapes (N x n).

        Returns:
            Coordinates (N x k).
        """
        inverse: FloatArray = self.__dict__["_inverse"]
        return np.asarray((samples(joints, len(self.origin), "joints") - self.origin) @ inverse.T)

    def quadrature(self) -> tuple[FloatArray, FloatArray]:
        """Gauss quadrature, exact for squares of the polynomials and more.

        Returns:
            Nodes (N x k) and weights (N) with sum 1.
        """
        nodes, weights = np.polynomial.legendre.leggauss(self.degree + 2)
        grid = np.stack(np.meshgrid(*[nodes] * self.size, indexing="ij"), axis=-1).reshape(-1, self.size)
        mass = np.prod(np.stack(np.meshgrid(*[0.5 * weights] * self.size, indexing="ij"), axis=-1), axis=-1).ravel()
        return self.low + 0.5 * (grid + 1.0) * (self.high - self.low), mass

    @property
    def degree(self) -> int:
        """Total degree of the polynomials."""
        return MAX_DEGREES[self.size]

    def polynomials(self, r: Matrix) -> FloatArray:
        """Products of Legendre polynomials but the constant one.

        Args:
            r: Coordinates (N x k).

        Returns:
            Values (N x P).
        """
        index, value = self._powers(), self._legendre(r)
        return np.asarray(reduce(np.multiply, [value[:, i][:, index[:, i]] for i in range(self.size)]))

    def slopes(self, r: Matrix) -> FloatArray:
        """Derivatives of the polynomials by ``r``.

        Args:
            r: Coordinates (N x k).

        Returns:
            Derivatives (N x k x P).
        """
        index, value = self._powers(), self._legendre(r)
        change = np.polynomial.legendre.legder(np.eye(self.degree + 1))  # column d: the slope of the polynomial d
        slope = value[..., :-1] @ change
        factors = [value[:, i][:, index[:, i]] for i in range(self.size)]
        out = []
        for i, width in enumerate(self.high - self.low):
            own = slope[:, i][:, index[:, i]] * (2.0 / width)
            out.append(reduce(np.multiply, [own, *(f for j, f in enumerate(factors) if j != i)]))
        return np.stack(out, axis=1)

    def _legendre(self, r: np.ndarray) -> np.ndarray:
        x = 2.0 * (samples(r, self.size, "r") - self.low) / (self.high - self.low) - 1.0
        return np.asarray(np.polynomial.legendre.legvander(x, self.degree))

    def _powers(self) -> np.ndarray:
        """Degrees (P x k) of the factors of each polynomial."""
        picks = [c for d in range(1, self.degree + 1) for c in combinations_with_replacement(range(self.size), d)]
        return np.array([np.bincount(pick, minlength=self.size) for pick in picks])
