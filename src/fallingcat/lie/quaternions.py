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

from typing import Any

import numpy as np

from ..arrays import block, concatenate, cross, is_numeric, scale
from ..arrays.arguments import as_array
from ..errors import ModelError
from .rotations import skew

__all__ = ["inverse", "left_matrix", "product", "right_matrix", "rotate"]


def product(a: Any, b: Any) -> Any:
    """``a b`` (4), [ETH] (2.57): ``[w_a u_b + w_b u_a + u_a x u_b; w_a w_b - u_a . u_b]``."""
    a, b = _quaternion(a), _quaternion(b)
    u, v, w, s = a[:3], b[:3], a[3:], b[3:]
    return concatenate([w * v + s * u + cross(u, v), w * s - (u[None] @ v)])


def inverse(q: Any) -> Any:
    """``q^-1 = [-u; w] / |q|^2`` (4), [ETH] (2.56): the quaternion of the rotation back.

    >>> inverse(np.array([0.0, 0.0, 1.0, 1.0]))
    array([-0. , -0. , -0.5,  0.5])
    """
    q = _quaternion(q)
    if is_numeric(q) and not (q != 0.0).any():
        raise ModelError("a quaternion of length 0 has no inverse")
    return scale(1.0 / (q @ q), concatenate([-q[:3], q[3:]]))


def left_matrix(a: Any) -> Any:
    """``M_l(a)`` (4 x 4) with ``a b = M_l(a) b``, [ETH] (2.58)-(2.59), scalar last."""
    return _matrix(_quaternion(a), 1.0)


def right_matrix(b: Any) -> Any:
    """``M_r(b)`` (4 x 4) with ``a b = M_r(b) a``, [ETH] (2.60)-(2.61), scalar last."""
    return _matrix(_quaternion(b), -1.0)


def rotate(q: Any, r: Any) -> Any:
    """The vector ``r`` (3) turned by ``q``: the first three numbers of ``q p(r) q^-1``, [ETH] (2.62)-(2.64).

    With ``q`` of the rotation matrix ``R_AB`` it takes coordinates in B to coordinates in A.

    >>> half = np.sqrt(0.5)
    >>> rotate([0.0, 0.0, half, half], [1.0, 0.0, 0.0]).round(12)
    array([0., 1., 0.])
    """
    pure = concatenate([as_array(r, (3,), "a vector"), np.zeros(1)])
    return product(product(q, pure), inverse(q))[:3]


def _matrix(q: Any, side: float) -> Any:
    u, w = q[:3], q[3:]
    return block([[w * np.eye(3) + side * skew(u), u[:, None]], [-u[None], w[None]]])


def _quaternion(q: Any) -> Any:
    return as_array(q, (4,), "a quaternion xyzw")
