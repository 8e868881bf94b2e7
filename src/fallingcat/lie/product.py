"""Products: several groups side by side; a universal joint, a whole shape space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Float_6_m, FloatArray, Floats_nq, Matrix, Matrix_m_m, Vector, Vector_m, Vector_nq
from ..caching import cached_property
from ..errors import ModelError, describe
from ..records import concise
from .group import Group, constant
from .rotations import block_diagonal


@concise
@dataclass(frozen=True)
class Product(Group):
    """Direct product of ``factors``: elements are block-diagonal matrices of the factors' elements.

    The factors do not see each other: brackets between them vanish.  (Chaining their motions, as a universal joint
    does, is the business of the joint.)

    Example:
        >>> from fallingcat.lie import R1, SO2
        >>> cylinder = Product((SO2(), R1()))
        >>> cylinder.log(cylinder.exp(np.array([0.5, 2.0])))
        array([0.5, 2. ])
    """

    factors: tuple[Group, ...]
    """groups, in order"""

    def __post_init__(self) -> None:
        if not isinstance(self.factors, tuple) or not all(isinstance(f, Group) for f in self.factors):
            raise ModelError(f"factors is a tuple of groups, not {describe(self.factors)}")
        object.__setattr__(self, "name", " x ".join(f.name for f in self.factors) or "1")
        object.__setattr__(self, "dim", sum(f.dim for f in self.factors))
        object.__setattr__(self, "coordinate_names", tuple(n for f in self.factors for n in f.coordinate_names))
        object.__setattr__(self, "additive", all(f.additive for f in self.factors))

    # identity, inverse ----------------------------------------------------------------------------------------

    def identity(self) -> FloatArray:
        """Neutral element, block-diagonal."""
        return np.asarray(block_diagonal([f.identity() for f in self.factors]))

    def inverse(self, g: Matrix) -> Matrix:
        """Inverse element, block by block."""
        return self._blocks(lambda f, block: f.inverse(block), self.split_element(g))

    # hat, vee -------------------------------------------------------------------------------------------------

    def hat(self, x: Vector_m) -> Matrix:
        """Block-diagonal matrix of an algebra vector."""
        return self._blocks(lambda f, part: f.hat(part), self.split(x))

    def vee(self, matrix: Matrix) -> Vector_m:
        """Algebra vector of a block-diagonal matrix."""
        return self._vector(lambda f, block: f.vee(block), self.split_element(matrix))

    # exp, log -------------------------------------------------------------------------------------------------

    def exp(self, x: Vector_m) -> Matrix:
        """Exponential map, factor by factor."""
        return self._blocks(lambda f, part: f.exp(part), self.split(x))

    def log(self, g: Matrix) -> Vector_m:
        """Logarithm, factor by factor."""
        return self._vector(lambda f, block: f.log(block), self.split_element(g))

    # Ad, ad, adt ----------------------------------------------------------------------------------------------

    def Ad(self, g: Matrix) -> Matrix_m_m:
        """Adjoint matrix, block-diagonal (m x m)."""
        return self._blocks(lambda f, block: f.Ad(block), self.split_element(g))

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket, block-diagonal (m x m)."""
        return self._blocks(lambda f, part: f.ad(part), self.split(x))

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket, block-diagonal (m x m)."""
        return self._blocks(lambda f, part: f.adt(part), self.split(h))

    # derivative of the exponential ----------------------------------------------------------------------------

    def dexp_left(self, x: Vector) -> Matrix_m_m:
        """Left derivative of the exponential, block-diagonal (m x m)."""
        return self._blocks(lambda f, part: f.dexp_left(part), self.split(x))

    def dexp_left_inverse(self, x: Vector) -> Matrix_m_m:
        """Inverse of :meth:`dexp_left`."""
        return self._blocks(lambda f, part: f.dexp_left_inverse(part), self.split(x))

    def logarithm_rate(self, v: Vector_m, x: Vector_m) -> Vector_m:
        """Rate of ``x`` when the point ``exp(x)`` moves with body velocity ``v``."""
        return self._vector(lambda f, part: f.logarithm_rate(*part), self._pairs(self.split(v), self.split(x)))

    # selection matrix -----------------------------------------------------------------------------------------

    @cached_property
    def selection(self) -> Float_6_m:
        """Selection matrix (6 x m): the twist of the chained motion ``g1 g2 ...`` when it passes the identity."""
        return constant(np.concatenate([np.zeros((6, 0)), *(f.selection for f in self.factors)], axis=1))

    # flat coordinates -----------------------------------------------------------------------------------------

    def coordinates(self, g: Matrix) -> Vector_nq:
        """Flat coordinates of an element."""
        return self._vector(lambda f, block: f.coordinates(block), self.split_element(g))

    def element(self, q: Vector_nq) -> Matrix:
        """Element with the flat coordinates ``q``."""
        return self._blocks(lambda f, part: f.element(part), self.split_coordinates(q))

    def moved(self, q: Vector_nq, x: Vector_m) -> Vector_nq:
        """Flat coordinates of ``element(q) exp(x)``."""
        return self._vector(lambda f, part: f.moved(*part), self._pairs(self.split_coordinates(q), self.split(x)))

    def between(self, q: Vector_nq, p: Vector_nq) -> Vector_m:
        """Vector that moves the flat coordinates ``q`` to ``p``."""
        parts = self._pairs(self.split_coordinates(q), self.split_coordinates(p))
        return self._vector(lambda f, part: f.between(*part), parts)

    # random ---------------------------------------------------------------------------------------------------

    def random_coordinates(self, rng: np.random.Generator, *batch: int) -> Floats_nq:
        """Flat coordinates of random elements."""
        parts = (f.random_coordinates(rng, *batch) for f in self.factors)
        return np.concatenate([np.zeros((*batch, 0)), *parts], axis=-1)

    # parts ----------------------------------------------------------------------------------------------------

    def split(self, x: Vector_m) -> list[Vector]:
        """Parts of an algebra vector that belong to the factors.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            Part (``dim`` of the factor) for each factor.
        """
        return self._split(x, [f.dim for f in self.factors])

    def split_coordinates(self, q: Vector_nq) -> list[Vector]:
        """Parts of flat coordinates that belong to the factors.

        Args:
            q: Flat coordinates, ``nq``.

        Returns:
            Part (``dim`` of the factor) for each factor.
        """
        return self._split(q, [f.nq for f in self.factors])

    def split_element(self, g: Matrix) -> list[Matrix]:
        """Elements of the factors in a block-diagonal element.

        Args:
            g: Block-diagonal element (k x k).

        Returns:
            Element (k x k) for each factor.
        """
        sizes = [len(f.identity()) for f in self.factors]
        ends = list(accumulate(sizes))
        return [g[end - size : end, end - size : end] for size, end in zip(sizes, ends, strict=True)]

    def _split(self, x: Vector, sizes: list[int]) -> list[Any]:
        ends = list(accumulate(sizes))
        return [x[end - size : end] for size, end in zip(sizes, ends, strict=True)]

    def _pairs(self, first: list[Any], second: list[Any]) -> list[Any]:
        return list(zip(first, second, strict=True))

    def _blocks(self, function: Callable[[Group, Any], Any], parts: list[Any]) -> Matrix:
        return block_diagonal([function(f, part) for f, part in zip(self.factors, parts, strict=True)])

    def _vector(self, function: Callable[[Group, Any], Any], parts: list[Any]) -> Vector:
        return concatenate([np.zeros(0), *(function(f, part) for f, part in zip(self.factors, parts, strict=True))])
