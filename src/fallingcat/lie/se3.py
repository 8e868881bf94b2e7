"""SE(3): all rigid motions; a free-floating base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import block, concatenate, scale
from ..arrays.types import (
    Float_4_4,
    Float_6_m,
    Floats_nq,
    Matrix,
    Matrix_m_m,
    Pose,
    Scalar,
    Vector,
    Vector_m,
    Vector_nq,
)
from ..caching import cached_property
from . import rotations, series
from .group import Group, constant
from .rotations import homogeneous, skew
from .so3 import SO3


@dataclass(frozen=True)
class SE3(Group):
    """Rigid motions; ``x = [v; w]``, coordinates ``[x, y, z, qx, qy, qz, qw]``.

    Example:
        >>> SE3().exp(np.array([0.0, 0.0, 1.0, 0.0, 0.0, np.pi])).round(4)
        array([[-1., -0.,  0.,  0.],
               [ 0., -1.,  0.,  0.],
               [ 0.,  0.,  1.,  1.],
               [ 0.,  0.,  0.,  1.]])
    """

    name = "SE(3)"
    dim = 6
    coordinate_names = ("x", "y", "z", "qx", "qy", "qz", "qw")

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Pose:
        """Exponential map of ``[v; w]``."""
        v, w = x[:3], x[3:]
        return homogeneous(rotations.exp(w), rotations.left_jacobian(w) @ v)

    def log(self, g: Pose) -> Vector_m:
        """Logarithm ``[v; w]``."""
        w = rotations.log(g[:3, :3])
        return concatenate([rotations.left_jacobian_inverse(w) @ g[:3, 3], w])

    def distance_to_group(self, g: Float_4_4) -> float:
        """Distance of a matrix from SE(3), without a logarithm.

        ``|R R' - 1|`` is up to twice the distance of ``R`` from the rotations.
        """
        R, last = g[:3, :3], g[3] - np.array([0.0, 0.0, 0.0, 1.0])
        # a reflection is orthogonal too
        if np.linalg.det(R) <= 0.0:
            return np.inf
        return float(max(0.5 * np.abs(R @ R.T - np.eye(3)).max(), np.abs(last).max()))

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Matrix_m_m:
        """Adjoint matrix (6 x 6)."""
        R, p = g[:3, :3], g[:3, 3]
        return block([[R, skew(p) @ R], [np.zeros((3, 3)), R]])

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (6 x 6)."""
        V, W = skew(x[:3]), skew(x[3:])
        return block([[W, V], [np.zeros((3, 3)), W]])

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (6 x 6), skew."""
        P, L = skew(h[:3]), skew(h[3:])
        return block([[np.zeros((3, 3)), P], [P, L]])

    # derivative of the exponential: the eigenvalues +-i angle of ad are double, so derivatives of b, c, d enter ---

    def dexp_left(self, x: Vector) -> Matrix_m_m:
        """Left derivative of the exponential."""
        return dexp_left(self.ad(x), self.squared_angle(x))

    def dexp_left_inverse(self, x: Vector) -> Matrix_m_m:
        """Inverse of :meth:`dexp_left`."""
        return dexp_left_inverse(self.ad(x), self.squared_angle(x))

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x 6)."""
        return constant(np.eye(6))

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates ``[x, y, z, qx, qy, qz, qw]`` of an element."""
        return concatenate([g[:3, 3], rotations.quaternion_from_matrix(g[:3, :3])])

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``[x, y, z, qx, qy, qz, qw]``."""
        return homogeneous(rotations.matrix_from_quaternion(q[3:]), q[:3])

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: positions normal, rotations uniform."""
        quaternion = SO3().random_coordinates(rng, *batch)
        return np.concatenate([rng.normal(size=(*batch, 3)), quaternion], axis=-1)


def dexp_left(ad: Matrix, t: Scalar) -> Matrix:
    """``sum ad^k / (k + 1)!`` of a bracket whose eigenvalues are 0 and, twice, +-i angle; ``t`` is angle^2."""
    b, c, b1, c1 = (f(t) for f in (series.b, series.c, series.b1, series.c1))
    ad2 = ad @ ad
    even, odd = scale(c - t * c1, ad2) - scale(c1, ad2 @ ad2), scale(b - t * b1, ad) - scale(b1, ad @ ad2)
    return np.eye(len(ad)) + odd + even


def dexp_left_inverse(ad: Matrix, t: Scalar) -> Matrix:
    """Inverse of :func:`dexp_left`."""
    d, d1 = series.d(t), series.d1(t)
    ad2 = ad @ ad
    return np.eye(len(ad)) - 0.5 * ad + scale(d - t * d1, ad2) - scale(d1, ad2 @ ad2)
