r"""Cartesian coordinates, [ETH] (2.3), (2.4), (2.12): the position itself, :math:`E_P = 1`."""

from typing import final

import numpy as np

from ...arrays.types import Matrix, Scalar, Vector
from .chart import PositionChart


@final
class Cartesian(PositionChart):
    """Cartesian coordinates ``(x, y, z)`` in metres; nowhere singular.

    Example:
        >>> Cartesian().to_position([1.0, 2.0, 3.0])
        array([1., 2., 3.])
    """

    name = "Cartesian"
    symbols = ("x", "y", "z")

    def singularity(self, x: Vector) -> Scalar:
        """Infinity: there is no singular line."""
        return float("inf")

    def _position(self, x: Vector) -> Vector:
        return x

    def _coordinates(self, r: Vector) -> Vector:
        return r

    def _rates(self, x: Vector) -> Matrix:
        return np.eye(3)

    def _rates_inverse(self, x: Vector) -> Matrix:
        return np.eye(3)
