"""Linear equations, for every kind of number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import NumericsError
from .building import array, is_numeric, jax_numpy, stack
from .elementwise import sqrt
from .map import map_each
from .types import Matrix, Vector


def solve(a: Matrix, b: Vector | Matrix) -> Vector | Matrix:
    """Solution ``x`` of ``a @ x = b``, with ``a`` (n, n) and ``b`` (n,) or (n, k).

    Numbers are solved by LAPACK or JAX with pivoting.  Expressions are eliminated in place, without looking at
    values: pivots are taken in order, past entries that are exactly zero, so symmetric positive definite matrices
    (mass matrices) are always safe.

    Args:
        a: Matrix, ``n x n``, not singular.
        b: Right-hand side, ``n`` or ``n x k``.

    Returns:
        Solution, of the shape of ``b``.

    Example:
        >>> solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
        array([1., 2.])
    """
    jnp = jax_numpy(a, b)
    if jnp is not None:
        return jnp.linalg.solve(a, b)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object or b.dtype == object:
        return _GaussElimination(a).solve(b)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise NumericsError(f"the {a.shape[0]} x {a.shape[1]} matrix of a linear system is singular") from None


def solver(a: Matrix) -> Callable[[Any], Any]:
    """Function ``b -> x`` that solves ``a @ x = b`` for several right-hand sides, as :func:`solve` does.

    Expressions are eliminated once.

    Args:
        a: Matrix, ``n x n``, not singular.

    Returns:
        Function of a right-hand side, ``n`` or ``n x k``.

    Example:
        >>> solver(np.array([[2.0, 0.0], [1.0, 1.0]]))(np.array([2.0, 3.0]))
        array([1., 2.])
    """
    return _GaussElimination(a).solve if isinstance(a, np.ndarray) and a.dtype == object else lambda b: solve(a, b)


def solve_tree(a: Matrix, b: Vector | Matrix, parents: Sequence[int]) -> Vector | Matrix:
    """Solution of ``a @ x = b`` for a symmetric positive definite ``a`` (n, n) with the zeros of a tree.

    Entry (i, j) is zero unless one is above the other: ``parents[i] < i`` is what is next above i, -1 where nothing is.

    Mass matrices are such.  Expressions are eliminated from the tips inwards, which fills no zero ([Featherstone] 6.5),
    ``a = L' D L``, and the columns of ``b`` are solved one like the other.

    Args:
        a: Symmetric positive definite matrix, ``n x n``.
        b: Right-hand side, ``n`` or ``n x k``.
        parents: Row next above each row in the tree, -1 at a root.

    Returns:
        Solution, of the shape of ``b``.

    Example:
        >>> a = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])  # 1 and 2 on 0
        >>> solve_tree(a, a @ np.array([1.0, 2.0, 3.0]), [-1, 0, 0]).round(12)
        array([1., 2., 3.])
    """
    if (is_numeric(a) and is_numeric(b)) or jax_numpy(a, b) is not None:
        return solve(a, b)
    root = factor_tree(a, parents)
    if b.ndim == 1:
        return root.solve(b)
    return stack(map_each(root.solve, list(b.T)), axis=1) if b.size else b


class TreeFactors(NamedTuple):
    """Factors ``a = L' D L`` for ``a`` as in :func:`solve_tree`: so ``a^-1 = L^-1 D^-1 L^-T``."""

    factors: list[list[tuple[int, Any]]]
    """``L`` below its unit diagonal, row by row from the nearest column up"""
    inverses: Vector
    """``n``: ``1 / D``"""

    def solve_transposed(self, x: Any) -> Any:
        """Product ``L^-T x``, from tips to the root."""
        x = list(x)
        for k in reversed(range(len(x))):
            for i, factor in self.factors[k]:
                x[i] = x[i] - factor * x[k]
        return array(x)

    def solve_lower(self, x: Any) -> Any:
        """Product ``L^-1 x``, from the root to tips."""
        x = list(x)
        for k in range(len(x)):
            for i, factor in reversed(self.factors[k]):  # what was found last is needed last
                x[k] = x[k] - factor * x[i]
        return array(x)

    def solve(self, b: Any) -> Any:
        """Product ``a^-1 b`` (n)."""
        return self.solve_lower(
            [inverse * y for inverse, y in zip(self.inverses, self.solve_transposed(b), strict=True)]
        )

    @property
    def inverse(self) -> Matrix:
        """Inverse ``L^-1`` (n x n)."""
        rows: list[Any] = []
        for k, above in enumerate(self.factors):
            rows.append(sum((-factor * rows[i] for i, factor in above), start=np.eye(len(self.factors))[k]))
        return stack(rows)


def inverse_root(a: Matrix, parents: Sequence[int]) -> Matrix:
    """Matrix ``R`` (n, n) with ``R' a R = 1``, for ``a`` as in :func:`solve_tree`; ``|R^-1 x|^2 = x' a x``.

    Args:
        a: Symmetric positive definite matrix, ``n x n``.
        parents: Row next above each row in the tree, -1 at a root.

    Returns:
        ``n x n`` matrix ``R``.

    Example:
        >>> a = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])
        >>> R = inverse_root(a, [-1, 0, 0])
        >>> (R.T @ a @ R).round(12).tolist() == np.eye(3).tolist()
        True
    """
    jnp = jax_numpy(a)
    if jnp is not None:
        return solve(jnp.linalg.cholesky(a).T, np.eye(len(a)))
    if is_numeric(a):
        try:
            return np.linalg.inv(np.linalg.cholesky(a)).T
        except np.linalg.LinAlgError:
            raise NumericsError(f"the {len(a)} x {len(a)} matrix of a norm is not positive definite") from None
    root = factor_tree(a, parents)
    rows: list[Any] = []
    # rows of L^-1 follow from those nearer to the root; scaling by D^-1/2 comes with the unit they start from
    for k, above in enumerate(root.factors):  # a = L' D L, R = L^-1 D^-1/2
        row = np.eye(len(a))[k] * sqrt(root.inverses[k])
        rows.append(sum((-factor * rows[i] for i, factor in above), start=row))
    return stack(rows)


def factor_tree(a: Matrix, parents: Sequence[int]) -> TreeFactors:
    """Factors of ``a`` as in :func:`solve_tree`, from the tips inwards.

    Args:
        a: Symmetric positive definite matrix, ``n x n``.
        parents: Row next above each row in the tree, -1 at a root.

    Returns:
        Factors ``L`` and ``1 / D`` of ``a = L' D L``.

    Example:
        >>> a = np.array([[3.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])
        >>> root = factor_tree(a, [-1, 0, 0])
        >>> root.solve_lower(root.inverses * root.solve_transposed(a @ np.array([1.0, 2.0, 3.0]))).round(12)
        array([1., 2., 3.])
    """
    a = np.array(a, dtype=object)
    above: list[list[int]] = []
    for parent in parents:
        above.append([parent, *above[parent]] if parent >= 0 else [])
    factors: list[list[tuple[int, Any]]] = [[] for _ in parents]
    inverses: list[Any] = [0.0] * len(parents)
    for k in reversed(range(len(parents))):
        # one division for each row: products are cheaper in compiled code
        inverses[k] = 1.0 / a[k, k]
        for at, i in enumerate(above[k]):
            factor = a[k, i] * inverses[k]
            # only entries between ancestors of k change, and of those one triangle: a tree fills no zero
            for j in above[k][at:]:
                a[i, j] = a[i, j] - factor * a[k, j]
            factors[k].append((i, factor))
    return TreeFactors(factors, array(inverses))


class _GaussElimination:
    """Gauss elimination of expressions, once for all right sides."""

    def __init__(self, a: np.ndarray) -> None:
        n = len(a)
        rows = self._rows = np.array(a, dtype=object)
        """``U`` on and above the diagonal, factors below"""
        self._order, self._inverses = np.arange(n), list[Any]()
        for k in range(n):
            # Values are unknown, so no largest pivot: symmetric positive definite matrices need none in any order.
            pivot = next((i for i in range(k, n) if not _is_zero(rows[i, k])), None)
            if pivot is None:
                raise NumericsError(f"column {k} of the matrix of a linear system has no pivot: it is singular")
            rows[[k, pivot]], self._order[[k, pivot]] = rows[[pivot, k]], self._order[[pivot, k]]
            self._inverses.append(1.0 / rows[k, k])
            for i in range(k + 1, n):
                if not _is_zero(rows[i, k]):
                    rows[i, k] = rows[i, k] * self._inverses[k]
                    rows[i, k + 1 :] = [
                        x - rows[i, k] * y for x, y in zip(rows[i, k + 1 :], rows[k, k + 1 :], strict=True)
                    ]

    def solve(self, b: Any) -> np.ndarray:
        """Substitution down and up."""
        rows, n = self._rows, len(self._rows)
        x = np.asarray(b).reshape(n, -1).astype(object)[self._order]
        for j in range(x.shape[1]):
            for k in range(n):
                for i in range(k + 1, n):
                    if not _is_zero(rows[i, k]):
                        x[i, j] = x[i, j] - rows[i, k] * x[k, j]
            for k in reversed(range(n)):
                rest = sum((rows[k, i] * x[i, j] for i in range(k + 1, n)), start=0.0)
                x[k, j] = (x[k, j] - rest) * self._inverses[k]
        return x.reshape(np.shape(b))


def _is_zero(x: Any) -> bool:
    """True if the entry is the exact number zero (and not an expression that might become zero)."""
    if is_numeric(x):
        return bool(x == 0)
    return bool(getattr(x, "is_zero", False)) if not callable(getattr(x, "is_zero", False)) else bool(x.is_zero())
