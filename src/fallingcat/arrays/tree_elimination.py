"""Linear equations with the zeros of a tree, whose matrix need not be symmetric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .building import array, is_numeric, jax_numpy, stack
from .linear import solve
from .types import Matrix, Vector


class TreeElimination:
    """Elimination of ``a`` (n, n) from the tips of a tree inwards, once for all right sides; it fills no zero.

    Entry (i, j) is zero unless one is above the other.  Pivots are those of the diagonal: ``a`` is definite, or nearly.

    Args:
        a: Matrix, ``n x n``.
        parents: Row next above each row in the tree, -1 at a root.

    Example:
        >>> a = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 0.0], [1.0, 0.0, 1.0]])  # 1 and 2 on 0
        >>> TreeElimination(a, [-1, 0, 0]).solve(a @ np.array([[1.0], [2.0], [3.0]])).round(12).T.tolist()
        [[1.0, 2.0, 3.0]]
    """

    def __init__(self, a: Matrix, parents: Sequence[int]) -> None:
        self._a, self._ancestors = a, list[list[int]]()
        for parent in parents:
            self._ancestors.append([parent, *self._ancestors[parent]] if parent >= 0 else [])
        if is_numeric(a) or jax_numpy(a) is not None:
            return
        rows = self._rows = np.array(a, dtype=object)
        self._inverses: list[Any] = [0.0] * len(parents)
        self._factors: list[list[Any]] = [[] for _ in parents]
        for k in reversed(range(len(parents))):
            inverse = self._inverses[k] = 1.0 / rows[k, k]
            for i in self._ancestors[k]:
                factor = rows[i, k] * inverse
                # both triangles: the matrix is not symmetric, though its zeros are
                for j in self._ancestors[k]:
                    rows[i, j] = rows[i, j] - factor * rows[k, j]
                self._factors[k].append(factor)

    def solve(self, b: Vector | Matrix) -> Vector | Matrix:
        """Solution ``x`` of ``a @ x = b`` (n, or n x m); zeros of columns stay zeros where they can."""
        if not hasattr(self, "_rows"):
            return solve(self._a, b)
        if b.ndim == 1:
            return self._column(b)
        return stack([self._column(column) for column in b.T], axis=1) if b.size else b

    def _column(self, b: Vector) -> Vector:
        x = list(b)
        for k in reversed(range(len(x))):
            for i, factor in zip(self._ancestors[k], self._factors[k], strict=True):
                x[i] = x[i] - factor * x[k]
        for k, inverse in enumerate(self._inverses):
            above = sum((self._rows[k, i] * x[i] for i in reversed(self._ancestors[k])), start=0.0)
            x[k] = (x[k] - above) * inverse
        return array(x)
