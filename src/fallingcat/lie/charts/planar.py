"""Charts of what moves in a plane, [ETH] (2.136), (2.141)-(2.142): two coordinates of the position, one angle.

They describe part of all positions and rotations: a position chart drops the coordinate out of its plane, which such a
robot cannot change; a rotation about another axis is refused.  ``rate_matrix_inverse`` keeps the part of a velocity
that lies in the plane.
"""

from __future__ import annotations

from typing import final

import numpy as np

from ...arrays import array
from ...arrays.types import Matrix, Rotation, Scalar, Vector, Vector_3
from ...errors import ModelError, NumericsError, describe
from ..rotations import about, angle_about
from .chart import CONSTRAINT_TOLERANCE, PositionChart, RotationChart, can_be_checked


@final
class PlanarPosition(PositionChart):
    """Two of the three coordinates ``x``, ``y``, ``z`` (m); nowhere singular.

    Args:
        first: Name of the first coordinate.
        second: Name of the second one.

    Example:
        >>> PlanarPosition("x", "z").from_position([1.0, 0.0, 3.0])
        array([1., 3.])
    """

    def __init__(self, first: str = "x", second: str = "y") -> None:
        if first == second or not {first, second} <= {"x", "y", "z"}:
            raise ModelError(
                f"the coordinates of a plane are two of x, y, z, not {describe(first)} and {describe(second)}"
            )
        self.symbols = (first, second)
        self._axes = np.eye(3)[["xyz".index(each) for each in self.symbols]]

    name = "planar position"

    def singularity(self, x: Vector) -> Scalar:
        """Infinity: there is no singular line."""
        return float("inf")

    def _position(self, x: Vector) -> Vector:
        return self._axes.T @ x

    def _coordinates(self, r: Vector) -> Vector:
        return self._axes @ r

    def _rates(self, x: Vector) -> Matrix:
        return self._axes.T

    def _rates_inverse(self, x: Vector) -> Matrix:
        return self._axes


@final
class PlanarAngle(RotationChart):
    """Angle (rad, in (-pi, pi]) of a rotation about a constant axis; other rotations are refused.

    Args:
        axis: Axis, 3; its length does not matter.

    Example:
        >>> angle = PlanarAngle((0.0, 1.0, 0.0))
        >>> angle.from_matrix(angle.to_matrix([0.5])).round(12)
        array([0.5])
    """

    name = "planar angle"
    symbols = ("angle",)

    def __init__(self, axis: Vector_3 = (0.0, 0.0, 1.0)) -> None:
        try:
            given = np.array(axis, dtype=float)
        except (TypeError, ValueError):
            given = np.zeros(0)
        size = float(np.linalg.norm(given))
        if given.shape != (3,) or not 0.0 < size < np.inf:
            raise ModelError(f"the axis of an angle is a vector of 3 numbers that is not zero, not {describe(axis)}")
        self.axis = tuple((given / size).tolist())

    def singularity(self, x: Vector) -> Scalar:
        """Distance 1: there is no singular set."""
        return 1.0

    def _matrix(self, x: Vector) -> Rotation:
        return about(self.axis, x[0])

    def _coordinates(self, R: Rotation) -> Vector:
        angle = angle_about(self.axis, R)
        if can_be_checked(R):
            excess = float(np.abs(about(self.axis, angle) - R).max())
            if not excess <= CONSTRAINT_TOLERANCE:
                raise NumericsError(f"chart {self.name}: no rotation about the axis {self.axis}", value=excess)
        return array([angle])

    def _rates(self, x: Vector) -> Matrix:
        return np.array(self.axis)[:, None]

    def _rates_inverse(self, x: Vector) -> Matrix:
        return np.array(self.axis)[None]
