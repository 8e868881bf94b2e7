r"""Spherical coordinates, [ETH] (2.7), (2.8), (2.16), (2.17).

.. math::

    r = \begin{pmatrix} r c_\theta s_\phi \\ r s_\theta s_\phi \\ r c_\phi \end{pmatrix}, \qquad
    E_P = \begin{bmatrix} c_\theta s_\phi & -r s_\phi s_\theta & r c_\phi c_\theta \\
          s_\phi s_\theta & r c_\theta s_\phi & r c_\phi s_\theta \\ c_\phi & 0 & -r s_\phi \end{bmatrix}, \qquad
    E_P^{-1} = \begin{bmatrix} c_\theta s_\phi & s_\phi s_\theta & c_\phi \\
          -s_\theta / (r s_\phi) & c_\theta / (r s_\phi) & 0 \\
          c_\phi c_\theta / r & c_\phi s_\theta / r & -s_\phi / r \end{bmatrix}

    \theta = \mathrm{atan2}(y, x), \quad \phi = \mathrm{atan2}(\sqrt{x^2 + y^2}, z)

[ETH] writes theta for the azimuth and phi for the polar angle (from +z), the other way round from ISO 80000-2. Its
footnote says that Matlab gives the elevation "instead of azimuthal angle": it means instead of the *polar* angle
(elevation = pi/2 - phi).
"""

from typing import final

from ...arrays import arctan2, array, cos, sin, sqrt
from ...arrays.types import Matrix, Scalar, Vector
from .chart import PositionChart, magnitude


@final
class Spherical(PositionChart):
    """Distance (m), azimuth (rad), angle from +z (rad) ``(r, theta, phi)``; singular on the whole z axis.

    Example:
        >>> Spherical().to_position([2.0, 0.0, 0.0])
        array([0., 0., 2.])
    """

    name = "spherical"
    symbols = ("r", "theta", "phi")

    def singularity(self, x: Vector) -> Scalar:
        """Distance from the z axis in metres, ``|r sin(phi)|``."""
        r, _, phi = self._admit(x)
        return magnitude(r * sin(phi))

    def _position(self, x: Vector) -> Vector:
        r, theta, phi = x
        rho = r * sin(phi)
        return array([rho * cos(theta), rho * sin(theta), r * cos(phi)])

    def _coordinates(self, r: Vector) -> Vector:
        x, y, z = r
        rho_squared = x * x + y * y
        return array([sqrt(rho_squared + z * z), arctan2(y, x), arctan2(sqrt(rho_squared), z)])

    def _rates(self, x: Vector) -> Matrix:
        r, theta, phi = x
        ct, st, cp, sp = cos(theta), sin(theta), cos(phi), sin(phi)
        return array(
            [
                [ct * sp, -r * sp * st, r * cp * ct],
                [sp * st, r * ct * sp, r * cp * st],
                [cp, 0.0, -r * sp],
            ]
        )

    def _rates_inverse(self, x: Vector) -> Matrix:
        r, theta, phi = x
        ct, st, cp, sp = cos(theta), sin(theta), cos(phi), sin(phi)
        return array(
            [
                [ct * sp, sp * st, cp],
                [-st / (r * sp), ct / (r * sp), 0.0],
                [cp * ct / r, cp * st / r, -sp / r],
            ]
        )
