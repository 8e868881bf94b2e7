"""Lie algebras by their structure constants: the bracket is all that dynamics on a group needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import stack
from ..arrays.arguments import of_shape
from ..arrays.types import Float_m_m_m, Matrix_m_m, Tensor, Vector, Vector_m
from ..errors import ModelError, describe
from ..records import concise
from .group import Group, constant

TERMS = 24
"""Number of terms of the series of dexp: rounding for ``|ad(x)|`` up to 4."""


@concise
@dataclass(frozen=True, eq=False)
class Algebra:
    """Finite-dimensional Lie algebra, of rigid motions or not: ``[e_i, e_j] = sum_k constants[k, i, j] e_k``.

    Functions of :mod:`fallingcat.single_body` take it in the place of a group ([From] section 5: the equations need
    nothing but the bracket).  Constants that are not skew or break Jacobi's identity are refused.

    Example:
        >>> import fallingcat as fc
        >>> epsilon = np.stack([fc.lie.skew(e) for e in np.eye(3)], axis=1)  # [e1, e2] = e3, ...
        >>> rotations = Algebra(epsilon, "so(3)")
        >>> rotations.ad(np.array([1.0, 2.0, 3.0])).tolist() == fc.lie.SO3().ad(np.array([1.0, 2.0, 3.0])).tolist()
        True
    """

    constants: Float_m_m_m
    """``m x m x m``"""
    name: str = "algebra"
    """name of the algebra, for messages"""

    def __post_init__(self) -> None:
        try:
            c = np.array(self.constants, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"structure constants are m x m x m numbers, not {describe(self.constants)}") from None
        if c.ndim != 3 or len(set(c.shape)) != 1 or not np.isfinite(c).all():
            raise ModelError(f"structure constants are m x m x m finite numbers, not of shape {c.shape}")
        # the Jacobi identity is quadratic in the constants, so its rounding grows with their square
        size = max(1.0, float(np.abs(c).max(initial=0.0)))
        if np.abs(c + c.swapaxes(1, 2)).max(initial=0.0) > 1e-12 * size:
            raise ModelError(f"the bracket of {self.name!r} is not skew: constants[k, i, j] = -constants[k, j, i]")
        twice = np.einsum("lkm,mij->lkij", c, c)  # [e_k, [e_i, e_j]]
        jacobi = twice + twice.transpose(0, 2, 3, 1) + twice.transpose(0, 3, 1, 2)
        # squared: the sums are quadratic in the constants
        if np.abs(jacobi).max(initial=0.0) > 1e-12 * size**2:
            raise ModelError(f"the bracket of {self.name!r} breaks Jacobi's identity: it is that of no group")
        object.__setattr__(self, "constants", constant(c))

    @classmethod
    def of(cls, group: Group) -> Algebra:
        """Algebra of a group of rigid motions.

        Args:
            group: Group of :mod:`fallingcat.lie`.

        Returns:
            Its structure constants.
        """
        if not isinstance(group, Group):
            raise ModelError(f"the algebra of a group of fallingcat.lie, not of {describe(group)}")
        return cls(np.stack([group.ad(e) for e in np.eye(group.dim)], axis=1), group.name)

    @classmethod
    def of_matrices(cls, basis: Tensor, name: str = "algebra") -> Algebra:
        """Algebra of matrices that are closed under commutators, ``[a, b] = a b - b a``.

        Args:
            basis: Independent matrices, ``m x k x k``.
            name: Name of the algebra.

        Returns:
            Structure constants in this basis.

        Raises:
            ModelError: The matrices are dependent, or not closed under commutators.

        Example:
            >>> x, y, z = np.zeros((3, 3, 3))
            >>> x[0, 1], y[1, 2], z[0, 2] = 1.0, 1.0, 1.0  # Heisenberg's group
            >>> Algebra.of_matrices([x, y, z]).ad(np.array([1.0, 0.0, 0.0])) @ np.array([0.0, 1.0, 0.0])
            array([0., 0., 1.])
        """
        B = np.array(basis, dtype=float)
        if B.ndim != 3 or B.shape[1] != B.shape[2]:
            raise ModelError(f"a basis of matrices must have shape m x k x k, got {B.shape}")
        flat = B.reshape(len(B), -1).T
        brackets = (np.einsum("iab,jbc->ijac", B, B) - np.einsum("jab,ibc->ijac", B, B)).reshape(len(B) ** 2, -1).T
        found, _, rank, _ = np.linalg.lstsq(flat, brackets, rcond=None)
        if rank < len(B) or np.abs(flat @ found - brackets).max(initial=0.0) > 1e-12 * max(1.0, np.abs(brackets).max()):
            raise ModelError(f"the matrices of {name!r} are dependent, or not closed under commutators")
        return cls(found.reshape(len(B), len(B), len(B)), name)

    @property
    def dim(self) -> int:
        """Dimension ``m``."""
        return len(self.constants)

    def ad(self, x: Vector) -> Matrix_m_m:
        """Matrix of the Lie bracket, ``ad(x) y = [x, y]``.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        x = of_shape(x, (self.dim,), f"a vector of {self}")
        return stack([self.constants[k].T @ x for k in range(self.dim)])

    def adt(self, h: Vector) -> Matrix_m_m:
        """Transposed bracket of a momentum, skew.

        ``ad(x)' h = adt(h) x``.

        Args:
            h: Momentum, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        h = of_shape(h, (self.dim,), f"a momentum of {self}")
        return stack([self.constants[:, :, j].T @ h for j in range(self.dim)])

    def dexp_right(self, x: Vector_m) -> Matrix_m_m:
        """Right derivative of the exponential: body-fixed velocity of ``exp(x(t))`` per ``dx/dt``, [From] (29).

        ``sum (-ad)^k / (k + 1)!``.

        Args:
            x: Algebra vector, ``m``.

        Returns:
            ``m x m`` matrix.
        """
        one, A = np.eye(self.dim), self.ad(x)
        out: Any = one
        # Horner's rule, the smallest terms first: rounding errors of small terms are not added to large sums.
        for k in range(TERMS, 0, -1):  # 1 - A/2 (1 - A/3 (1 - ...))
            out = one - (A @ out) * (1.0 / (k + 1.0))
        return out

    def __str__(self) -> str:
        return self.name
