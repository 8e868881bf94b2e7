r"""Cylindrical coordinates, [ETH] (2.5), (2.6), (2.13)-(2.15).

.. math::

    r = \begin{pmatrix} \rho c_\theta \\ \rho s_\theta \\ z \end{pmatrix}, \qquad
    E_P = \begin{bmatrix} c_\theta & -\rho s_\theta & 0 \\ s_\theta & \rho c_\theta & 0 \\
          0 & 0 & 1 \end{bmatrix}, \qquad
    E_P^{-1} = \begin{bmatrix} c_\theta & s_\theta & 0 \\ -s_\theta / \rho & c_\theta / \rho & 0 \\
               0 & 0 & 1 \end{bmatrix}

    \rho = \sqrt{x^2 + y^2}, \quad \theta = \mathrm{atan2}(y, x)
"""

from typing import final

from ...arrays import arctan2, array, cos, sin, sqrt
from ...arrays.types import Matrix, Scalar, Vector
from .chart import PositionChart, magnitude


@final
class Cylindrical(PositionChart):
    """Distance from the z axis (m), azimuth (rad), height (m) ``(rho, theta, z)``; singular on the z axis.

    Example:
        >>> Cylindrical().from_position([3.0, 4.0, 1.0]).round(6)
        array([5.      , 0.927295, 1.      ])
    """

    name = "cylindrical"
    symbols = ("rho", "theta", "z")

    def singularity(self, x: Vector) -> Scalar:
        """Distance from the z axis in metres, ``|rho|``."""
        return magnitude(self._admit(x)[0])

    def _position(self, x: Vector) -> Vector:
        rho, theta, z = x
        return array([rho * cos(theta), rho * sin(theta), z])

    def _coordinates(self, r: Vector) -> Vector:
        x, y, z = r
        return array([sqrt(x * x + y * y), arctan2(y, x), z])

    def _rates(self, x: Vector) -> Matrix:
        rho, theta, _ = x
        c, s = cos(theta), sin(theta)
        return array([[c, -rho * s, 0.0], [s, rho * c, 0.0], [0.0, 0.0, 1.0]])

    def _rates_inverse(self, x: Vector) -> Matrix:
        rho, theta, _ = x
        c, s = cos(theta), sin(theta)
        return array([[c, s, 0.0], [-s / rho, c / rho, 0.0], [0.0, 0.0, 1.0]])
