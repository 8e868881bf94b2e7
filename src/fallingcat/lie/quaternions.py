"""Algebra of quaternions ``q = [x, y, z, w]``, scalar last, [ETH] (2.56)-(2.64) (who writes the scalar first).

``q = [u; w]`` turns vectors by ``q p(r) q^-1`` where ``p(r) = [r; 0]``, and products of quaternions are products of
rotations: ``R(a b) = R(a) R(b)``.  Every function takes every kind of number and quaternions of any length but 0.

>>> a, b = np.array([0.6, 0.0, 0.0, 0.8]), np.array([0.0, 0.6, 0.0, 0.8])
>>> product(a, b)
array([0.48, 0.48, 0.36, 0.64])
>>> bool(np.allclose(left_matrix(a) @ b, right_matrix(b) @ a))
True
"""

from __future__ import annotations

import numpy as np

from ..arrays import block, concatenate, cross, is_numeric, scale
from ..arrays.arguments import as_array
from ..arrays.types import Matrix, Vector
from ..errors import ModelError
from .rotations import skew

__all__ = ["inverse", "left_matrix", "product", "right_matrix", "rotate"]


def product(a: Vector, b: Vector) -> Vector:
    """Product ``a b``, [ETH] (2.57): ``[w_a u_b + w_b u_a + u_a x u_b; w_a w_b - u_a . u_b]``.

    Args:
        a: Quaternion ``xyzw``, 4.
        b: Quaternion ``xyzw``, 4.

    Returns:
        Quaternion ``xyzw``, 4.

    Example:
        >>> product([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0])  # two half turns
        array([ 0.,  0.,  0., -1.])
    """
    a, b = _quaternion(a), _quaternion(b)
    u, v, w, s = a[:3], b[:3], a[3:], b[3:]
    return concatenate([w * v + s * u + cross(u, v), w * s - (u[None] @ v)])


def inverse(q: Vector) -> Vector:
    """Quaternion of the rotation back, ``q^-1 = [-u; w] / |q|^2``, [ETH] (2.56).

    Args:
        q: Quaternion ``xyzw``, 4.

    Returns:
        Quaternion ``xyzw``, 4.

    Example:
        >>> inverse(np.array([0.0, 0.0, 1.0, 1.0]))
        array([-0. , -0. , -0.5,  0.5])
    """
    q = _quaternion(q)
    if is_numeric(q) and not (q != 0.0).any():
        raise ModelError("a quaternion of length 0 has no inverse")
    return scale(1.0 / (q @ q), concatenate([-q[:3], q[3:]]))


def left_matrix(a: Vector) -> Matrix:
    """Matrix ``M_l(a)`` with ``a b = M_l(a) b``, [ETH] (2.58)-(2.59), scalar last.

    Args:
        a: Quaternion ``xyzw``, 4.

    Returns:
        ``4 x 4`` matrix.

    Example:
        >>> bool((left_matrix([0.0, 0.0, 0.0, 1.0]) == np.eye(4)).all())
        True
    """
    return _matrix(_quaternion(a), 1.0)


def right_matrix(b: Vector) -> Matrix:
    """Matrix ``M_r(b)`` with ``a b = M_r(b) a``, [ETH] (2.60)-(2.61), scalar last.

    Args:
        b: Quaternion ``xyzw``, 4.

    Returns:
        ``4 x 4`` matrix.

    Example:
        >>> bool((right_matrix([0.0, 0.0, 0.0, 1.0]) == np.eye(4)).all())
        True
    """
    return _matrix(_quaternion(b), -1.0)


def rotate(q: Vector, r: Vector) -> Vector:
    """Vector turned by a quaternion: the first three numbers of ``q p(r) q^-1``, [ETH] (2.62)-(2.64).

    With ``q`` of the rotation matrix ``R_AB`` it takes coordinates in B to coordinates in A.

    Args:
        q: Quaternion ``xyzw``, 4.
        r: Vector (3).

    Returns:
        Turned vector, 3.

    Example:
        >>> half = np.sqrt(0.5)
        >>> rotate([0.0, 0.0, half, half], [1.0, 0.0, 0.0]).round(12)
        array([0., 1., 0.])
    """
    pure = concatenate([as_array(r, (3,), "a vector"), np.zeros(1)])
    return product(product(q, pure), inverse(q))[:3]


def _matrix(q: Vector, side: float) -> Matrix:
    u, w = q[:3], q[3:]
    return block([[w * np.eye(3) + side * skew(u), u[:, None]], [-u[None], w[None]]])


def _quaternion(q: Vector) -> Vector:
    return as_array(q, (4,), "a quaternion xyzw")
