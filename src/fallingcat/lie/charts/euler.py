r"""Euler angles of any axis sequence: the one implementation behind ZYX, XYZ, ZYZ and ZXZ, [ETH] 2.4.5 and 2.5.1.

A sequence of axes ``i, j, k`` means :math:`R = C_i(\alpha) C_j(\beta) C_k(\gamma)`: each rotation about an axis of the
frame that the one before it made (intrinsic; read right to left it is the same about fixed axes). Let
:math:`u = C_j(\beta) e_k` be the third axis seen after the first rotation is taken off, and ``l`` the axis that is
neither ``i`` nor ``j``. Then

.. math:: E = C_i(\alpha) \, [e_i \;\; e_j \;\; u], \qquad \det E = \pm u_l,

and since ``u`` has no part along ``e_j`` the inverse is three rows of :math:`C_i(\alpha)^T`, one division by ``u_l``:

.. math:: \dot\gamma = w_l / u_l, \quad \dot\beta = w_j, \quad \dot\alpha = w_i - u_i \dot\gamma,
          \qquad w = C_i(\alpha)^T \omega .

``|u_l|`` is :math:`|\cos\beta|` for three different axes and :math:`|\sin\beta|` for ``k = i``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...arrays import arctan2, array, stack
from ...arrays.types import Matrix, Rotation, Scalar, Vector
from ..rotations import about
from .chart import RotationChart, magnitude

AXES = "xyz"


def elementary(axis: int, angle: Scalar) -> Rotation:
    """Elementary rotation C_x, C_y or C_z of [ETH] (2.26)-(2.28), for axis 0, 1 or 2."""
    return about(np.eye(3)[axis], angle)


def parity(i: int, j: int) -> int:
    """Sign s of e_i x e_j = s e_l, for two different axes: +1 in cyclic order, -1 otherwise.

    Example:
        >>> parity(0, 1), parity(1, 0)
        (1, -1)
    """
    return 1 if (i + 1) % 3 == j else -1


class EulerChart(RotationChart):
    """Three angles about the axes of ``sequence``; a concrete chart declares ``name``, ``symbols``, ``sequence``.

    ``from_matrix`` gives the middle angle in [-pi/2, pi/2] for three different axes and in [0, pi] for ``k = i``, the
    others in (-pi, pi]. It takes the first angle off before it reads the other two, so that on the singular set, where
    only a sum or difference of the outer angles has a meaning, it still returns angles of the very matrix given.

    Example:
        >>> from fallingcat.lie.charts import EulerXYZ
        >>> EulerXYZ().to_matrix([0.0, 0.0, 0.0]).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    sequence: ClassVar[str]
    """three of the letters ``x``, ``y``, ``z``"""

    def singularity(self, x: Vector) -> Scalar:
        """Distance ``|cos(middle)|`` for three different axes, ``|sin(middle)|`` if the first axis returns."""
        i, j, _ = self._axes()
        return magnitude(self._third_axis(self._admit(x)[1])[3 - i - j])

    def _axes(self) -> tuple[int, int, int]:
        i, j, k = (AXES.index(letter) for letter in self.sequence)
        return i, j, k

    def _third_axis(self, middle: Scalar) -> Vector:
        """Third axis ``u = C_j(middle) e_k``."""
        _, j, k = self._axes()
        return elementary(j, middle)[:, k]

    def _matrix(self, x: Vector) -> Rotation:
        i, j, k = self._axes()
        return elementary(i, x[0]) @ elementary(j, x[1]) @ elementary(k, x[2])

    def _coordinates(self, R: Rotation) -> Vector:
        i, j, k = self._axes()
        ell = 3 - i - j
        # R e_k = C_i(first) u : its parts along e_j and e_l give the first angle, the sign makes |u_l| = +-u_l positive
        sign = 1 if k == ell else -parity(i, j)
        first = arctan2(-sign * parity(i, j) * R[j, k], sign * R[ell, k])
        rest = elementary(i, first).T @ R  # = C_j(middle) C_k(last)
        m, s = 3 - j - k, parity(j, k)
        middle = arctan2(s * rest[m, k], rest[k, k])
        last = arctan2(s * rest[j, m], rest[j, j])
        return array([first, middle, last])

    def _rates(self, x: Vector) -> Matrix:
        i, j, _ = self._axes()
        columns = stack([np.eye(3)[i], np.eye(3)[j], self._third_axis(x[1])], axis=1)
        return elementary(i, x[0]) @ columns

    def _rates_inverse(self, x: Vector) -> Matrix:
        i, j, _ = self._axes()
        ell = 3 - i - j
        u = self._third_axis(x[1])
        inverse: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
        inverse[0][i], inverse[0][ell] = 1.0, -u[i] / u[ell]
        inverse[1][j] = 1.0
        inverse[2][ell] = 1.0 / u[ell]
        return array(inverse) @ elementary(i, x[0]).T
