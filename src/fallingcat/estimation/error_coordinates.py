"""Coordinates of the estimation error: one filter, and a change of coordinates.

The equations of the filter are those of the right-invariant error ``xi`` of ``X^ = exp(xi) X`` on SE_k(3), in which
they do not depend on the estimate.  Other errors ``delta`` are a change ``xi = T(X^) delta`` of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..arrays import block, concatenate, scale
from ..arrays.types import Matrix, Vector
from ..lie import SEk3, rotations
from ..lie.rotations import skew


class ErrorCoordinates(ABC):
    """Error of an extended pose, as a vector."""

    @abstractmethod
    def change(self, group: SEk3, X: Matrix) -> Matrix:
        """``T`` with ``xi = T delta`` (square)."""

    @abstractmethod
    def change_inverse(self, group: SEk3, X: Matrix) -> Matrix:
        """Inverse of :meth:`change`."""

    @abstractmethod
    def error(self, group: SEk3, X: Matrix, true: Matrix) -> Vector:
        """Error of the estimate ``X``."""

    @abstractmethod
    def correct(self, group: SEk3, X: Matrix, delta: Vector) -> Matrix:
        """Element whose error was ``delta``."""


class Invariant(ErrorCoordinates):
    """Right-invariant error: covariances do not depend on where the robot is, and stay consistent."""

    def change(self, group: SEk3, X: Matrix) -> Matrix:
        """Identity."""
        return np.eye(group.dim)

    def change_inverse(self, group: SEk3, X: Matrix) -> Matrix:
        """Identity."""
        return np.eye(group.dim)

    def error(self, group: SEk3, X: Matrix, true: Matrix) -> Vector:
        """``log(X^ X^-1)``."""
        return group.log(X @ group.inverse(true))

    def correct(self, group: SEk3, X: Matrix, delta: Vector) -> Matrix:
        """``exp(-xi) X^``."""
        return group.exp(-delta) @ X


class Additive(ErrorCoordinates):
    """Differences of positions and velocities beside a rotation error: the usual extended Kalman filter."""

    def change(self, group: SEk3, X: Matrix) -> Matrix:
        """Adjoint matrix of the translations: ``xi_i = delta_i + t_i x delta_R``."""
        return _shear(group, X, 1.0)

    def change_inverse(self, group: SEk3, X: Matrix) -> Matrix:
        """The same with the opposite sign."""
        return _shear(group, X, -1.0)

    def error(self, group: SEk3, X: Matrix, true: Matrix) -> Vector:
        """``[t_i^ - t_i; log(R^ R')]``."""
        turn = rotations.log(X[:3, :3] @ true[:3, :3].T)
        return concatenate([(X[:3, 3:] - true[:3, 3:]).T.reshape(-1), turn])

    def correct(self, group: SEk3, X: Matrix, delta: Vector) -> Matrix:
        """``(exp(-delta_R) R^, t_i^ - delta_i)``."""
        R = rotations.exp(-delta[-3:]) @ X[:3, :3]
        t = X[:3, 3:] - delta[:-3].reshape(-1, 3).T
        return concatenate([concatenate([R, t], axis=1), X[3:]])


def _shear(group: SEk3, X: Matrix, sign: float) -> Matrix:
    k, zero = group.vectors, np.zeros((3, 3))
    rows = [[np.eye(3) if j == i else zero for j in range(k)] + [scale(sign, skew(X[:3, 3 + i]))] for i in range(k)]
    return block([*rows, [zero] * k + [np.eye(3)]])


COORDINATES: dict[str, ErrorCoordinates] = {"invariant": Invariant(), "additive": Additive()}


def with_biases(matrix: Matrix) -> Matrix:
    """Matrix on the error of the extended pose that leaves the six biases as they are."""
    n = len(matrix)
    return block([[matrix, np.zeros((n, 6))], [np.zeros((6, n)), np.eye(6)]])


def on_diagonal(blocks: Sequence[Matrix], start: int, size: int) -> Matrix:
    """Square matrix with 3 x 3 blocks on its diagonal from ``start`` on."""
    after = size - start - 3 * len(blocks)
    sizes = [start, *[3] * len(blocks), after]
    diagonal = [np.zeros((start, start)), *blocks, np.zeros((after, after))]
    rows = [
        [diagonal[i] if i == j else np.zeros((sizes[i], sizes[j])) for j in range(len(sizes)) if sizes[j]]
        for i in range(len(sizes))
        if sizes[i]
    ]
    return block(rows)
