"""Groups whose elements commute: nothing to transform, no bracket, no Coriolis forces."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.arguments import as_array
from ..errors import ModelError
from .group import Group


class Abelian(Group):
    """A commutative group: ``Ad = 1``, ``ad = 0``, ``dexp = 1``; motions add."""

    additive = True

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Any) -> np.ndarray:
        return np.eye(self.dim)

    def ad(self, x: Any) -> np.ndarray:
        return np.zeros((self.dim, self.dim))

    def adt(self, h: Any) -> np.ndarray:
        return np.zeros((self.dim, self.dim))

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Any) -> np.ndarray:
        return np.eye(self.dim)

    def dexp_left_inverse(self, x: Any) -> np.ndarray:
        return np.eye(self.dim)

    def seen_ahead(self, v: Any, x: Any) -> Any:
        return v

    # flat coordinates: the algebra itself -----------------------------------------------------------------------

    def coordinates(self, g: Any) -> Any:
        return self.log(g)

    def element(self, q: Any) -> Any:
        return self.exp(q)

    def moved(self, q: Any, x: Any) -> Any:
        return q + x

    def between(self, q: Any, p: Any) -> Any:
        return p - q


def unit(axis: Any) -> tuple[float, float, float]:
    """``axis`` as a tuple of floats of length 1."""
    vector = as_array(axis, (3,), "an axis")
    length = float(np.linalg.norm(vector))
    if not 0.0 < length < np.inf:
        raise ModelError(f"an axis is a finite 3-vector that is not zero, not {axis!r}")
    exact = abs(length - 1.0) <= 4.0 * np.finfo(float).eps  # a unit vector stays what it is, to the last bit
    x, y, z = (vector if exact else vector / length).tolist()
    return (x, y, z)
