"""Groups whose elements commute: nothing to transform, no bracket, no Coriolis forces."""

from __future__ import annotations

import numpy as np

from ..arrays.arguments import as_array
from ..arrays.types import Float_m_m, Pose, Vector, Vector_m, Vector_nq
from ..errors import ModelError
from .group import Group


class Abelian(Group):
    """Commutative group: ``Ad = 1``, ``ad = 0``, ``dexp = 1``; motions add."""

    additive = True

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Pose) -> Float_m_m:
        """Adjoint matrix: the identity."""
        return np.eye(self.dim)

    def ad(self, x: Vector) -> Float_m_m:
        """Matrix of the Lie bracket: zero."""
        return np.zeros((self.dim, self.dim))

    def adt(self, h: Vector) -> Float_m_m:
        """Transposed bracket: zero."""
        return np.zeros((self.dim, self.dim))

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Vector) -> Float_m_m:
        """Left derivative of the exponential: the identity."""
        return np.eye(self.dim)

    def dexp_left_inverse(self, x: Vector) -> Float_m_m:
        """Inverse of :meth:`dexp_left`: the identity."""
        return np.eye(self.dim)

    def logarithm_rate(self, v: Vector_m, x: Vector_m) -> Vector_m:
        """Rate of ``x`` when the point ``exp(x)`` moves with body velocity ``v``: ``v`` itself."""
        return v

    # flat coordinates: the algebra itself -----------------------------------------------------------------------

    def coordinates(self, g: Pose) -> Vector_nq:
        """Flat coordinates: the logarithm."""
        return self.log(g)

    def element(self, q: Vector_nq) -> Pose:
        """Element with the flat coordinates ``q``: their exponential."""
        return self.exp(q)

    def moved(self, q: Vector_nq, x: Vector_m) -> Vector_nq:
        """Sum ``q + x``."""
        return q + x

    def between(self, q: Vector_nq, p: Vector_nq) -> Vector_m:
        """Difference ``p - q``."""
        return p - q


def unit(axis: Vector) -> tuple[float, float, float]:
    """Axis as a tuple of floats of length 1."""
    vector = as_array(axis, (3,), "an axis")
    length = float(np.linalg.norm(vector))
    if not 0.0 < length < np.inf:
        raise ModelError(f"an axis is a finite 3-vector that is not zero, not {axis!r}")
    exact = abs(length - 1.0) <= 4.0 * np.finfo(float).eps  # a unit vector stays what it is, to the last bit
    x, y, z = (vector if exact else vector / length).tolist()
    return (x, y, z)
