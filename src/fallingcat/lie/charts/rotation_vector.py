r"""Rotation vector: exponential coordinates of SO(3), [ETH] (2.47), (2.104)-(2.107).

.. math::

    R = \exp(\hat\varphi), \qquad
    E = 1 + \frac{1 - \cos\theta}{\theta^2} \hat\varphi + \frac{\theta - \sin\theta}{\theta^3} \hat\varphi^2, \qquad
    E^{-1} = 1 - \tfrac12 \hat\varphi
             + \frac{1}{\theta^2} \Bigl(1 - \frac{\theta}{2} \frac{\sin\theta}{1 - \cos\theta}\Bigr) \hat\varphi^2 ,
    \qquad \theta = |\varphi| .

E is the left dexp of SO(3), the body-frame one is the right dexp. Correction to [ETH]: both are stated for
:math:`\theta \ne 0`. Both are smooth at 0 (E = 1 there, and so is ours); what must be excluded from (2.105) and
(2.107) is :math:`\theta = 2 k \pi`, k = 1, 2, ..., where det E = (2 sin(theta/2) / theta)^2 vanishes.
"""

from typing import final

from ...arrays.types import Matrix, Rotation, Scalar, Vector
from .. import rotations, series
from .chart import RotationChart, magnitude


@final
class RotationVector(RotationChart):
    """Rotation vector ``(x, y, z)``: angle (rad) times unit axis; singular on the spheres of radius 2 pi, 4 pi, ...

    ``from_matrix`` is the logarithm of SO(3): its length lies in [0, pi]. At pi, where the two signs of the axis name
    the same rotation, it returns one of them.

    Example:
        >>> RotationVector().from_matrix([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]).round(6)
        array([1.570796, 0.      , 0.      ])
    """

    name = "rotation vector"
    symbols = ("x", "y", "z")

    def singularity(self, x: Vector) -> Scalar:
        """Distance ``|sin(theta / 2)| / (theta / 2)`` = sqrt(det E): 1 at 0, 2/pi at a half turn, 0 at 2 pi."""
        x = self._admit(x)
        return magnitude(series.a(0.25 * (x @ x)))

    def _matrix(self, x: Vector) -> Rotation:
        return rotations.exp(x)

    def _coordinates(self, R: Rotation) -> Vector:
        return rotations.log(R)

    def _rates(self, x: Vector) -> Matrix:
        return rotations.left_jacobian(x)

    def _rates_inverse(self, x: Vector) -> Matrix:
        return rotations.left_jacobian_inverse(x)
