r"""Unit quaternion, [ETH] (2.51)-(2.55), (2.94)-(2.99).

**Order.** The parameters are ``(x, y, z, w)``, scalar last, as everywhere in this library (and in Pinocchio, ROS and
SciPy); [ETH] writes the scalar first: :math:`\xi = (\xi_0, \check\xi) = (w, v)`. With :math:`v = (x, y, z)`,

.. math::

    R = 1 + 2 w \hat v + 2 \hat v^2, \qquad
    E = 2 H = 2 \, [\, w 1 + \hat v \;\; -v \,], \qquad
    E^{-1} = \tfrac12 H^T, \qquad E E^{-1} = |q|^2 \, 1 .

The chart covers every rotation twice (q and -q) and is nowhere singular. Correction to [ETH]: the printed inverse map
(2.55) takes the signs of the imaginary part from :math:`c_{32} - c_{23}` and so on, which all vanish at theta = pi; for
the half turn about (1, -1, 0) it returns the half turn about (1, 1, 0). "Any rotation" is therefore not described. Near
pi its square roots of small differences also lose half of the digits. `quaternion_from_matrix` divides by the largest
component instead.
"""

from typing import final

import numpy as np

from ...arrays import block, sqrt
from ...arrays.types import Matrix, Rotation, Scalar, Vector
from ..rotations import matrix_from_quaternion, quaternion_from_matrix, skew
from .chart import RotationChart


@final
class UnitQuaternion(RotationChart):
    """Unit quaternion ``(x, y, z, w)``; nowhere singular, two quaternions for each rotation.

    Example:
        >>> chart = UnitQuaternion()
        >>> chart.from_matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).round(6)
        array([0.      , 0.      , 0.707107, 0.707107])
        >>> chart.to_matrix([0.0, 0.0, 0.0, 2.0])
        Traceback (most recent call last):
        ...
        fallingcat.errors.NumericsError: no point of chart unit quaternion: x = 0, y = 0, z = 0, w = 2 (value: 3.0)
    """

    name = "unit quaternion"
    symbols = ("x", "y", "z", "w")

    def singularity(self, x: Vector) -> Scalar:
        """Length ``|q|``: 1 for every unit quaternion."""
        q = self._admit(x)
        return sqrt(q @ q)

    def constraint(self, x: Vector) -> Scalar:
        """Residual ``|q|^2 - 1``."""
        return x @ x - 1.0

    def _matrix(self, x: Vector) -> Rotation:
        return matrix_from_quaternion(x)

    def _coordinates(self, R: Rotation) -> Vector:
        return quaternion_from_matrix(R)

    def _rates(self, x: Vector) -> Matrix:
        return 2.0 * _half_rates(x)

    def _rates_inverse(self, x: Vector) -> Matrix:
        return 0.5 * _half_rates(x).T


def _half_rates(q: Vector) -> Matrix:
    """H of [ETH] (2.96), its first column moved to the end."""
    v, w = q[:3], q[3:]
    return block([[w * np.eye(3) + skew(v), -v[:, None]]])
