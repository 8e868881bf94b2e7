r"""Angle and axis, [ETH] (2.46), (2.48)-(2.50), (2.100)-(2.103).

.. math::

    R = \cos\theta \, 1 + \sin\theta \, \hat n + (1 - \cos\theta) \, n n^T, \qquad
    E = [\, n \;\; \sin\theta \, 1 + (1 - \cos\theta) \hat n \,], \qquad
    E^{-1} = \begin{bmatrix} n^T \\ -\tfrac12 \cot\tfrac\theta2 \, \hat n^2 - \tfrac12 \hat n \end{bmatrix}

with :math:`\sin\theta / (1 - \cos\theta) = \cot(\theta / 2)`, which does not cancel for small angles. E holds for rates
that keep the axis a unit vector, :math:`n^T \dot n = 0`, and the rates that E^-1 gives do.

**Near 0 and pi.** At theta = 2 k pi every axis names the same rotation and E has rank 1: the chart is singular (2.101
excludes only 0). At pi nothing is singular, but n and -n name the same rotation. The printed inverse map (2.49), (2.50)
loses half of the digits near 0 and pi (arccos) and divides by zero at both. Ours goes through the quaternion and loses
none: theta in [0, pi], the axis (1, 0, 0) at theta = 0, and at pi the one of n, -n that the quaternion's rule gives.
"""

from typing import final

import numpy as np

from ...arrays import arctan2, array, block, concatenate, cos, less, sin, sqrt, where
from ...arrays.types import Matrix, Rotation, Scalar, Vector
from ..rotations import quaternion_from_matrix, skew
from .chart import RotationChart, magnitude

# below this the axis of a quaternion's imaginary part is not resolved: its squares underflow
SMALLEST_SQUARE = 1e-300


@final
class AngleAxis(RotationChart):
    """Angle (rad) and unit axis ``(theta, nx, ny, nz)``; singular at theta = 0 and every whole turn.

    Example:
        >>> import numpy as np
        >>> AngleAxis().to_matrix([np.pi / 2, 0.0, 0.0, 1.0]).round(12) + 0.0
        array([[ 0., -1.,  0.],
               [ 1.,  0.,  0.],
               [ 0.,  0.,  1.]])
    """

    name = "angle-axis"
    symbols = ("theta", "nx", "ny", "nz")

    def singularity(self, x: Vector) -> Scalar:
        """Distance ``|sin(theta / 2)|``: the axis rate is the angular velocity divided by twice this number."""
        return magnitude(sin(0.5 * self._admit(x)[0]))

    def constraint(self, x: Vector) -> Scalar:
        """Residual ``|n|^2 - 1``."""
        return x[1:] @ x[1:] - 1.0

    def _matrix(self, x: Vector) -> Rotation:
        # angles as arrays of one number: a CasADi scalar times an array is not an array
        theta, n = x[:1], x[1:]
        c, s = cos(theta), sin(theta)
        return c * np.eye(3) + s * skew(n) + (1.0 - c) * (n[:, None] * n[None, :])

    def _coordinates(self, R: Rotation) -> Vector:
        q = quaternion_from_matrix(R)
        v, w = q[:3], q[3:]  # w >= 0, so theta <= pi
        squared = array([v @ v])
        none = less(squared, SMALLEST_SQUARE)
        length = sqrt(where(none, 1.0, squared))
        angle = where(none, 0.0, 2.0 * arctan2(length, w))
        axis = where(none, np.array([1.0, 0.0, 0.0]), v / length)
        return concatenate([angle, axis])

    def _rates(self, x: Vector) -> Matrix:
        theta, n = x[:1], x[1:]
        return block([[n[:, None], sin(theta) * np.eye(3) + (1.0 - cos(theta)) * skew(n)]])

    def _rates_inverse(self, x: Vector) -> Matrix:
        half, n = 0.5 * x[:1], x[1:]
        n_hat = skew(n)
        return block([[n[None, :]], [-0.5 * (cos(half) / sin(half)) * (n_hat @ n_hat) - 0.5 * n_hat]])
