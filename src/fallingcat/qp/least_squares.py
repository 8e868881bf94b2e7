"""Hierarchical least squares: each level as well as possible without changing the levels before it.

Floats use singular values (LAPACK).  For other kinds of number rows are orthogonalized with pivoting, the largest
first, by arithmetic and choices alone: that compiles to straight-line machine code, and differentiates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, is_numeric, less, maximum, scale, sqrt, stack, where
from ..arrays.types import Matrix, Scalar, Vector

RANK_TOLERANCE = 1e-10
"""Size below which a row, orthogonalized to those before it, is dependent, relative to the largest of its level."""
MIN_LEVEL_SIZE = 1e-3
"""Smallest size assumed for a level (m, rad): smaller rows, times :data:`RANK_TOLERANCE`, are
rounding, as of a point on a joint axis."""


class Level(NamedTuple):
    """Weighted least-squares level ``sum weight (A x - b)^2``."""

    A: Matrix
    """``rows x n``"""
    b: Vector
    """``rows``"""
    weight: Vector
    """``rows``, not negative"""


class LeastSquaresResult(NamedTuple):
    """Result of :func:`hierarchical`."""

    x: Vector
    """``n``: the optimal vector of least norm"""
    ranks: list[Any]
    """for each level the number of rows that are independent of each other and of the levels before it"""


def hierarchical(
    levels: Sequence[Level],
    n: int,
    damping: Scalar = 0.0,
    root: Matrix | None = None,
    sizes: Sequence[Scalar] | None = None,
) -> LeastSquaresResult:
    """Vector ``x`` (n) that is best for the first level, among those for the second, ... and then of least norm.

    That is [ETH] (2.220), with the projector of *all* levels before.  A level with ``damping`` minimizes
    ``|A x - b|^2 + damping^2 |dx|^2`` with its contribution ``dx`` (2.208): it loses accuracy near singularities, the
    levels before do not.  The norm is ``|x|``, or ``|root^-1 x|`` for an invertible ``root`` (n x n), such as ``L^-T``
    of a mass matrix ``L L'``.

    Rows are dependent where they are small relative to the largest of their level, or to ``sizes``, one for each level:
    those of factors whose product is ``A``, which may be nothing but rounding.

    Example:
        >>> both = Level(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 3.0]), np.ones(2))  # contradict each other
        >>> found = hierarchical([both, Level(np.eye(2)[:1], np.array([5.0]), np.ones(1))], 2)
        >>> found.x.round(12), [int(rank) for rank in found.ranks]
        (array([ 5., -3.]), [1, 1])
    """
    seen = [level if root is None else level._replace(A=level.A @ root) for level in levels]
    least = MIN_LEVEL_SIZE if root is None else MIN_LEVEL_SIZE * norm(root)
    plain = all(is_numeric(x) for level in seen for x in level) and is_numeric(damping)
    plain = plain and is_numeric(least) and (sizes is None or all(map(is_numeric, sizes)))
    if sizes is None:
        sizes = [maximum(least, norm(sqrt(level.weight)[:, None] * level.A)) for level in seen]
    y, ranks = (_by_singular_values if plain else _by_elimination)(seen, n, damping, sizes)
    return LeastSquaresResult(y if root is None else root @ y, ranks)


def orthonormal(A: Matrix, size: Scalar | None = None) -> Matrix:
    """Orthonormal rows that span those of ``A`` (rows x n); for other kinds of number, zeros where rows are dependent.

    ``size`` judges the rank, as in :func:`hierarchical`.

    Example:
        >>> abs(orthonormal(np.array([[0.0, 2.0], [0.0, 3.0]])))
        array([[0., 1.]])
    """
    if is_numeric(A):
        _, d, Vt = np.linalg.svd(A, full_matrices=False)
        return Vt[d > RANK_TOLERANCE * (maximum(MIN_LEVEL_SIZE, norm(A)) if size is None else size)]
    size = maximum(MIN_LEVEL_SIZE, norm(A)) if size is None else size
    return stack(_orthogonal(list(A), [0.0] * len(A), [], A.shape[1], size)[0])


def norm(A: Matrix) -> Scalar:
    """Frobenius norm of a matrix, of every kind of number."""
    return np.linalg.norm(A) if is_numeric(A) else sqrt(sum((row @ row for row in A), start=0.0))


def _by_singular_values(levels: Sequence[Level], n: int, damping: float, sizes: Any) -> tuple[Any, list[Any]]:
    """Levels by singular values of ``A Z = U d V'``, with the null space ``Z`` of the levels before."""
    y, Z, ranks = np.zeros(n), np.eye(n), list[Any]()
    for (A, b, weight), size in zip(levels, sizes, strict=True):
        w = np.sqrt(weight)
        # in the null space of all levels before: a level cannot change what they have got
        U, d, Vt = np.linalg.svd((A * w[:, None]) @ Z)
        rank = int((d > RANK_TOLERANCE * size).sum())
        d, missing = d[:rank], (b - A @ y) * w
        y = y + Z @ (Vt[:rank].T @ (d / (d * d + damping**2) * (U[:, :rank].T @ missing)))
        Z, ranks = Z @ Vt[rank:].T, [*ranks, rank]
    return y, ranks


def _by_elimination(levels: Sequence[Level], n: int, damping: Any, sizes: Any) -> tuple[Any, list[Any]]:
    y, basis, ranks = np.zeros(n), list[Any](), list[Any]()
    for (A, b, weight), size in zip(levels, sizes, strict=True):
        missing, w = b - A @ y, sqrt(weight)
        rows, missing = [A[i] * w[i] for i in range(len(A))], [missing[i] * w[i] for i in range(len(A))]
        found, factor, missing, rank = _orthogonal(rows, missing, basis, n, size)
        step = _least_squares(factor, missing, damping, len(found))
        y = sum((q * z for q, z in zip(found, step, strict=True)), start=y)
        basis, ranks = [*basis, *found], [*ranks, rank]
    return y, ranks


def _orthogonal(
    rows: list[Any], b: list[Any], basis: list[Any], n: int, size: Any
) -> tuple[list[Any], list[list[Any]], Any, Any]:
    """Factorization ``rows = factor @ found`` beyond ``basis``, with orthonormal ``found``, and the rank.

    ``found`` is zero where rows are dependent; ``b`` and ``factor`` are permuted alike.  Gram-Schmidt with row
    pivoting, each direction orthogonalized twice (twice is enough).
    """
    largest = size * size
    rows = [_orthogonal_part(row, basis) for row in rows]
    factor: list[list[Any]] = [[] for _ in rows]
    found: list[Any] = []
    rank: Any = 0.0
    for k in range(min(len(rows), n)):
        sizes = [row @ row if i >= k else 0.0 for i, row in enumerate(rows)]
        for i in range(k + 1, len(rows)):
            swap = less(sizes[k], sizes[i])
            for things in (rows, sizes, b):
                things[k], things[i] = where(swap, things[i], things[k]), where(swap, things[k], things[i])
            pairs = [(where(swap, x, y), where(swap, y, x)) for x, y in zip(factor[i], factor[k], strict=True)]
            factor[k], factor[i] = [x for x, _ in pairs], [y for _, y in pairs]
        q = _orthogonal_part(rows[k], [*basis, *found])
        square = q @ q
        # no branch on a number: dependent rows give a zero direction, so that one code serves traced numbers
        independent = less(RANK_TOLERANCE**2 * largest, square)
        q = q * where(independent, 1.0 / sqrt(where(independent, square, 1.0)), 0.0)
        rank = rank + where(independent, 1.0, 0.0)
        for i in range(len(rows)):
            along = rows[i] @ q if i >= k else 0.0
            factor[i].append(along)
            if i >= k:
                rows[i] = rows[i] - along * q
        found.append(q)
    return found, factor, b, rank


def _orthogonal_part(row: Any, basis: list[Any]) -> Any:
    """``row`` minus its projection on orthonormal directions, one after the other (modified Gram-Schmidt, stable)."""
    for q in basis:
        row = row - (row @ q) * q
    return row


def _least_squares(factor: list[list[Any]], b: list[Any], damping: Any, count: int) -> list[Any]:
    """Minimizer ``z`` (count) of ``|factor z - b|^2 + damping^2 |z|^2``; 0 where a column of ``factor`` is."""
    if not count:
        return []
    damped = not (isinstance(damping, (int, float)) and damping == 0)
    columns = [array([row[k] for row in factor]) for k in range(count)]
    if damped:
        columns = [np.concatenate([c, scale(damping, np.eye(count)[k])]) for k, c in enumerate(columns)]
        b = [*b, *[0.0] * count]
    rest, z = array(b), []
    upper: list[list[Any]] = []
    units: list[Any] = []
    for column in columns:
        upper.append([])
        for unit in units:
            upper[-1].append(column @ unit)
            column = column - upper[-1][-1] * unit
        size = column @ column
        some = less(0.0, size)
        length = sqrt(where(some, size, 1.0))
        # a column of zeros has 1 on the diagonal: its unknown becomes zero
        units.append(column * where(some, 1.0 / length, 0.0))
        upper[-1].append(where(some, length, 1.0))
    # direction by direction: with the columns of modified Gram-Schmidt at once, rounding grows with the condition
    for unit in units:
        z.append(rest @ unit)
        rest = rest - z[-1] * unit
    for k in reversed(range(count)):
        z[k] = z[k] / upper[k][k]
        for i in range(k):
            z[i] = z[i] - upper[k][i] * z[k]
    return z
