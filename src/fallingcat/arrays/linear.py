"""Linear equations, for every kind of number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NumericsError
from .building import is_numeric, jax_numpy


def solve(a: Any, b: Any) -> Any:
    """The solution ``x`` of ``a @ x = b``, with ``a`` (n, n) and ``b`` (n,) or (n, k).

    Numbers are solved by LAPACK or JAX with pivoting.  Expressions are eliminated in place, without looking at
    values: pivots are taken in order, past entries that are exactly zero, so symmetric positive definite matrices
    (mass matrices) are always safe.

    >>> solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0]))
    array([1., 2.])
    """
    jnp = jax_numpy(a, b)
    if jnp is not None:
        return jnp.linalg.solve(a, b)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object or b.dtype == object:
        return _eliminate(a, b)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise NumericsError(f"the {a.shape[0]} x {a.shape[1]} matrix of a linear system is singular") from None


def _eliminate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gauss elimination of expressions, then back substitution."""
    n = len(a)
    rows = np.concatenate([a, b.reshape(n, -1)], axis=1).astype(object)
    for k in range(n):
        pivot = next((i for i in range(k, n) if not _is_zero(rows[i, k])), None)
        if pivot is None:
            raise NumericsError(f"column {k} of the matrix of a linear system has no pivot: it is singular")
        rows[[k, pivot]] = rows[[pivot, k]]
        inverse = 1.0 / rows[k, k]
        for i in range(k + 1, n):
            if not _is_zero(rows[i, k]):
                factor = rows[i, k] * inverse
                rows[i, k + 1 :] = [x - factor * y for x, y in zip(rows[i, k + 1 :], rows[k, k + 1 :], strict=True)]
    x = rows[:, n:]
    for k in reversed(range(n)):
        for j in range(x.shape[1]):
            rest = sum((rows[k, i] * x[i, j] for i in range(k + 1, n)), start=0.0)
            x[k, j] = (x[k, j] - rest) / rows[k, k]
    return x.reshape(b.shape)


def _is_zero(x: Any) -> bool:
    """Whether the entry is the exact number zero (and not an expression that might become zero)."""
    if is_numeric(x):
        return bool(x == 0)
    return bool(getattr(x, "is_zero", False)) if not callable(getattr(x, "is_zero", False)) else bool(x.is_zero())
