r"""Nine direction cosines, [ETH] Example 2.8.2: the columns of the rotation matrix, one after the other.

With the columns :math:`c_1, c_2, c_3` of R, :math:`\dot c_i = \omega \times c_i`, so

.. math::

    E = \tfrac12 \, [\, \hat c_1 \;\; \hat c_2 \;\; \hat c_3 \,], \qquad
    E^{-1} = -\begin{bmatrix} \hat c_1 \\ \hat c_2 \\ \hat c_3 \end{bmatrix}, \qquad E E^{-1} = 1 .
"""

from typing import final

import numpy as np

from ...arrays import concatenate, cross, sqrt
from ...arrays.types import Matrix, Rotation, Scalar, Vector
from ..rotations import skew
from .chart import RotationChart


@final
class DirectionCosines(RotationChart):
    """Nine direction cosines ``(r11, r21, r31, r12, ..., r33)``: nowhere singular, with six constraints.

    Example:
        >>> import numpy as np
        >>> DirectionCosines().from_matrix([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        array([ 0.,  1.,  0., -1.,  0.,  0.,  0.,  0.,  1.])
    """

    name = "direction cosines"
    symbols = tuple(f"r{row}{column}" for column in (1, 2, 3) for row in (1, 2, 3))

    def singularity(self, x: Vector) -> Scalar:
        """Distance 1: there is no singular set."""
        return 1.0

    def constraint(self, x: Vector) -> Scalar:
        """Distance of the columns from a right-handed orthonormal basis."""
        R = x.reshape(3, 3).T
        excess = concatenate([(R.T @ R - np.eye(3)).ravel(), cross(R[:, 0], R[:, 1]) - R[:, 2]])
        return sqrt(excess @ excess)

    def _matrix(self, x: Vector) -> Rotation:
        return x.reshape(3, 3).T

    def _coordinates(self, R: Rotation) -> Vector:
        return R.T.reshape(9)

    def _rates(self, x: Vector) -> Matrix:
        return 0.5 * concatenate([skew(x[k : k + 3]) for k in (0, 3, 6)], axis=1)

    def _rates_inverse(self, x: Vector) -> Matrix:
        return -concatenate([skew(x[k : k + 3]) for k in (0, 3, 6)])
