"""Rotations as 3x3 matrices, unit quaternions ``xyzw`` and rotation vectors; the ground of every group here.

All functions take every kind of number, and none branches on a value, but for a short cut of plain floats.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Final

import numpy as np

from ..arrays import arctan2, array, block, concatenate, cos, less, scale, sin, sqrt, where
from ..arrays import skew as skew  # part of this module's vocabulary
from ..arrays.types import Matrix, Pose, Rotation, Scalar, Vector, Vector_4
from . import series

_LAST_ROW: Final = np.array([[0.0, 0.0, 0.0, 1.0]])


def unskew(matrix: Matrix) -> Vector:
    """Vector of the skew part of a matrix; the inverse of :func:`skew`."""
    return 0.5 * array(
        [matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]],
    )


def homogeneous(rotation: Rotation, position: Vector) -> Pose:
    """Homogeneous matrix ``[[R, p], [0, 1]]`` (4x4)."""
    return block([[rotation, position[:, None]], [_LAST_ROW[:, :3], _LAST_ROW[:, 3:]]])


def about(axis: Vector, angle: Scalar) -> Rotation:
    """Rotation by ``angle`` about a constant unit ``axis``: ``a a' + cos (1 - a a') + sin skew(a)``.

    Rows and columns that the axis leaves alone stay exactly 0 and 1.

    Example:
        >>> about((0.0, 0.0, 1.0), np.pi).round(3)
        array([[-1., -0.,  0.],
               [ 0., -1.,  0.],
               [ 0.,  0.,  1.]])
    """
    along, across, turned = _about(tuple(axis))
    return along + scale(cos(angle), across) + scale(sin(angle), turned)


@lru_cache(maxsize=4096)
def _about(axis: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Constants of a hinge: ``a a'``, ``1 - a a'`` and ``skew(a)``."""
    a = np.asarray(axis, dtype=float)
    along = np.outer(a, a)
    return along, np.eye(3) - along, skew(a)


def angle_about(axis: Vector, rotation: Rotation) -> Scalar:
    """Angle in (-pi, pi] of a rotation about the unit ``axis``."""
    # By sine and cosine: the arccosine of the trace alone loses half of the digits near 0 and pi, and the sign.
    sine = np.asarray(axis, dtype=float) @ unskew(rotation)
    cosine = 0.5 * (rotation[0, 0] + rotation[1, 1] + rotation[2, 2] - 1.0)
    return arctan2(sine, cosine)


def exp(w: Vector) -> Rotation:
    """Rotation matrix of the rotation vector ``w`` (radians): ``1 + a W + b W^2`` (Rodrigues)."""
    t, W = w @ w, skew(w)
    return np.eye(3) + scale(series.a(t), W) + scale(series.b(t), W @ W)


def left_jacobian(w: Vector) -> Matrix:
    """Left Jacobian ``J`` with ``skew(J dw) = dR R'``: ``1 + b W + c W^2``."""
    t, W = w @ w, skew(w)
    return np.eye(3) + scale(series.b(t), W) + scale(series.c(t), W @ W)


def left_jacobian_inverse(w: Vector) -> Matrix:
    """Inverse of :func:`left_jacobian`, ``1 - W/2 + d W^2``; infinite at ``|w| = 2 pi``."""
    t, W = w @ w, skew(w)
    return np.eye(3) - 0.5 * W + scale(series.d(t), W @ W)


def matrix_from_quaternion(quaternion: Vector) -> Rotation:
    """Rotation matrix of a quaternion ``q = [u, w]`` of any length but 0: ``1 + 2 (w skew(u) + skew(u)^2) / q.q``.

    Example:
        >>> matrix_from_quaternion(np.array([0.0, 0.0, 2.0, 0.0]))
        array([[-1.,  0.,  0.],
               [ 0., -1.,  0.],
               [ 0.,  0.,  1.]])
    """
    x, y, z, w = (quaternion[i] for i in range(4))
    s = 2.0 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = s * x, s * y, s * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, yz, zx = sx * y, sy * z, sz * x
    xw, yw, zw = sx * w, sy * w, sz * w
    return array(
        [
            [1.0 - (yy + zz), xy - zw, zx + yw],
            [xy + zw, 1.0 - (xx + zz), yz - xw],
            [zx - yw, yz + xw, 1.0 - (xx + yy)],
        ]
    )


def quaternion_from_matrix(rotation: Rotation) -> Vector_4:
    """Unit quaternion ``[x, y, z, w]``, ``w >= 0``, of a rotation matrix; exact at every angle.

    ``4 q q'`` is linear in the rotation matrix; of its rows ``4 q_i q`` the one with the largest diagonal is
    normalised, so nothing small is ever divided by.
    """
    floats = type(rotation) is np.ndarray and rotation.dtype == np.float64
    r = rotation.tolist() if floats else [[rotation[i, j] for j in range(3)] for i in range(3)]
    trace = r[0][0] + r[1][1] + r[2][2]
    xy, yz, zx = r[0][1] + r[1][0], r[1][2] + r[2][1], r[2][0] + r[0][2]
    xw, yw, zw = r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]
    rows = [
        [1.0 - trace + 2.0 * r[0][0], xy, zx, xw],
        [xy, 1.0 - trace + 2.0 * r[1][1], yz, yw],
        [zx, yz, 1.0 - trace + 2.0 * r[2][2], zw],
        [xw, yw, zw, 1.0 + trace],
    ]
    # The diagonal is 4 q_i^2, whose sum is 4: the largest is at least 1, and its row is safe to normalise.
    best = _row_of_largest(rows) if floats else _selected_row([array(row) for row in rows])
    return scale(1.0 / sqrt(best @ best), best)


def _row_of_largest(rows: list[list[float]]) -> Vector_4:
    """:func:`_selected_row` of plain numbers, in a twentieth of the time: controllers flatten a state in every tick."""
    best = np.array(rows[max((3, 0, 1, 2), key=lambda i: rows[i][i])])
    return -best if best[3] < 0.0 else best


def _selected_row(rows: list[Vector_4]) -> Vector_4:
    """Row with the largest diagonal, with a sign that makes its last entry positive."""
    best, largest = rows[3], rows[3][3]
    for i in range(3):
        better = less(largest, rows[i][i])
        best, largest = where(better, rows[i], best), where(better, rows[i][i], largest)
    return where(less(best[3], 0.0), -best, best)


# 2 asin(s) / s as a series of s**2: the angle over the sine of its half
_ARC = [float(Fraction(2 * factorial(2 * k), 4**k * factorial(k) ** 2 * (2 * k + 1))) for k in range(12)]


def log(rotation: Rotation) -> Vector:
    """Rotation vector, ``|w| <= pi``, of a rotation matrix; through the quaternion, so exact near pi too."""
    return log_quaternion(quaternion_from_matrix(rotation))


def log_quaternion(quaternion: Vector) -> Vector:
    """Rotation vector of a unit quaternion ``[x, y, z, w]`` with ``w >= 0``: ``2 atan2(|u|, w) u / |u|``."""
    u, w = quaternion[:3], quaternion[3]
    t = u @ u
    # Below it the 12 terms of the series leave 0.03^12, less than rounding; above it the root has finite slopes.
    small = less(t, 0.03)
    sine = sqrt(where(small, 1.0, t))
    near = series.polynomial(_ARC, where(small, t, 0.0))
    return scale(where(small, near, 2.0 * arctan2(sine, w) / sine), u)


def embed(rotation: Rotation) -> Pose:
    """Rotation as a 4x4 homogeneous matrix."""
    return homogeneous(rotation, np.zeros(3))


def block_diagonal(blocks: list[Matrix]) -> Matrix:
    """Matrix with the given square blocks on its diagonal and zeros elsewhere."""
    sizes = [len(b) for b in blocks]
    rows = [
        concatenate([b if i == j else np.zeros((sizes[i], sizes[j])) for j in range(len(blocks))], axis=1)
        for i, b in enumerate(blocks)
    ]
    return concatenate(rows) if rows else np.zeros((0, 0))
