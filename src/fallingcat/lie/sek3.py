"""SE_k(3): a rotation with k vectors that turn along; position, velocity and landmarks of a state estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import block, concatenate, stack
from ..arrays.types import Float_6_m, FloatArray, Floats_nq, Matrix, Matrix_m_m, Scalar, Vector, Vector_m, Vector_nq
from ..caching import cached_property
from ..errors import ModelError, describe
from . import rotations
from .group import Group, constant
from .rotations import skew, unskew
from .se3 import dexp_left, dexp_left_inverse
from .so3 import SO3


@dataclass(frozen=True)
class SEk3(Group):
    """Extended poses ``(R, t_1, ..., t_k)`` with ``(R, t)(S, u) = (R S, R u + t)``; SE(3) for one vector.

    Elements are ``(3 + k) x (3 + k)`` matrices ``[[R, t_1 ... t_k], [0, 1]]``, algebra vectors ``[x_1; ...; x_k; w]``,
    coordinates ``[t_1, ..., t_k, qx, qy, qz, qw]``.  The first vector is the position of the pose ``(R, t_1)``, which
    :attr:`selection` speaks of.  Inertial navigation lives in ``k = 2`` (position and velocity), with a vector more for
    each landmark.

    Example:
        >>> group = SEk3(2)
        >>> group, group.dim, group.identity().shape
        (SEk3(vectors=2), 9, (5, 5))
        >>> x = np.array([1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.5])
        >>> bool(np.allclose(group.log(group.exp(x)), x))
        True
    """

    vectors: int = 2
    """k: number of vectors"""

    def __post_init__(self) -> None:
        k = self.vectors
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ModelError(f"vectors must be a whole number of at least 1, got {describe(k)}")
        names = [f"{axis}{i + 1}" for i in range(k) for axis in "xyz"]
        object.__setattr__(self, "name", f"SE_{k}(3)")
        object.__setattr__(self, "dim", 3 * k + 3)
        object.__setattr__(self, "coordinate_names", (*names, "qx", "qy", "qz", "qw"))

    # identity, inverse ----------------------------------------------------------------------------------------

    def identity(self) -> FloatArray:
        """Neutral element."""
        return np.eye(3 + self.vectors)

    def inverse(self, g: Matrix) -> Matrix:
        """Inverse element ``(R', -R' t_i)``."""
        R = g[:3, :3].T
        return self._element(R, -(R @ g[:3, 3:]))

    # hat, vee -------------------------------------------------------------------------------------------------

    def hat(self, x: Vector_m) -> Matrix:
        """Matrix ``[[skew w, x_1 ... x_k], [0, 0]]``."""
        k = self.vectors
        return concatenate([concatenate([skew(x[-3:]), self._columns(x)], axis=1), np.zeros((k, 3 + k))])

    def vee(self, matrix: Matrix) -> Vector_m:
        """Algebra vector of a matrix."""
        return concatenate([matrix[:3, 3:].T.reshape(-1), unskew(matrix[:3, :3])])

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Matrix:
        """Exponential map: all vectors turn as the position of SE(3) does."""
        w = x[-3:]
        return self._element(rotations.exp(w), rotations.left_jacobian(w) @ self._columns(x))

    def log(self, g: Matrix) -> Vector_m:
        """Logarithm ``[x_1; ...; x_k; w]``."""
        w = rotations.log(g[:3, :3])
        return concatenate([(rotations.left_jacobian_inverse(w) @ g[:3, 3:]).T.reshape(-1), w])

    def distance_to_group(self, g: np.ndarray) -> float:
        """Distance of a matrix from SE_k(3), without a logarithm."""
        R, below = g[:3, :3], g[3:] - self.identity()[3:]
        if np.linalg.det(R) <= 0.0:
            return np.inf
        return float(max(0.5 * np.abs(R @ R.T - np.eye(3)).max(), np.abs(below).max()))

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Matrix) -> Matrix_m_m:
        """Adjoint matrix (m x m): ``R`` on the diagonal, ``skew(t_i) R`` in the last columns."""
        R = g[:3, :3]
        return self._arrow(R, [skew(t) @ R for t in g[:3, 3:].T])

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket (m x m)."""
        return self._arrow(skew(x[-3:]), [skew(t) for t in self._columns(x).T])

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket (m x m), skew."""
        k, P = self.vectors, [skew(p) for p in self._columns(h).T]
        zero = np.zeros((3, 3))
        rows = [[zero] * k + [P[i]] for i in range(k)]
        return block([*rows, [*P, skew(h[-3:])]])

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Vector) -> Matrix_m_m:
        """Left derivative of the exponential."""
        return dexp_left(self.ad(x), self.squared_angle(x))

    def dexp_left_inverse(self, x: Vector) -> Matrix_m_m:
        """Inverse of :meth:`dexp_left`."""
        return dexp_left_inverse(self.ad(x), self.squared_angle(x))

    def squared_angle(self, x: Vector_m) -> Scalar:
        """Square of the rotation angle."""
        return x[-3:] @ x[-3:]

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x m): the twist of the pose ``(R, t_1)``."""
        S = np.zeros((6, self.dim))
        S[:3, :3] = S[3:, -3:] = np.eye(3)
        return constant(S)

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Matrix) -> Vector_nq:
        """Flat coordinates ``[t_1, ..., t_k, qx, qy, qz, qw]`` of an element."""
        return concatenate([g[:3, 3:].T.reshape(-1), rotations.quaternion_from_matrix(g[:3, :3])])

    def element(self, q: Vector_nq) -> Matrix:
        """Element with given flat coordinates."""
        return self._element(rotations.matrix_from_quaternion(q[-4:]), self._columns(q))

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements: vectors normal, rotations uniform."""
        quaternion = SO3().random_coordinates(rng, *batch)
        return np.concatenate([rng.normal(size=(*batch, 3 * self.vectors)), quaternion], axis=-1)

    # parts ----------------------------------------------------------------------------------------------------

    def _columns(self, x: Vector) -> Matrix:
        """``3 x k``: the vectors at the front of ``x``."""
        return stack([x[3 * i : 3 * i + 3] for i in range(self.vectors)]).T

    def _element(self, R: Matrix, t: Matrix) -> Matrix:
        k = self.vectors
        return concatenate([concatenate([R, t], axis=1), np.eye(3 + k)[3:]])

    def _arrow(self, diagonal: Matrix, last: list[Matrix]) -> Matrix:
        """Matrix with one block on the diagonal, and others in the last columns."""
        k, zero = self.vectors, np.zeros((3, 3))
        rows = [[diagonal if j == i else zero for j in range(k)] + [last[i]] for i in range(k)]
        return block([*rows, [zero] * k + [diagonal]])
