"""Vector operations and Householder triangularization in plain loops.

They are compiled by :mod:`fallingcat.compiler.loop_compiler`.
"""

from __future__ import annotations

from math import sqrt

from ..compiler.loop_compiler import Integers, Matrix, Vector
from .least_squares import RANK_TOLERANCE


def add(n: int, factor: float, x: Vector, y: Vector) -> None:
    """Add ``factor x`` to ``y``."""
    for i in range(n):
        y[i] += factor * x[i]


def dot(n: int, x: Vector, y: Vector) -> float:
    """Dot product of ``x`` and ``y``."""
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


def copy(n: int, x: Vector, y: Vector) -> None:
    """Copy ``x`` to ``y``."""
    for i in range(n):
        y[i] = x[i]


def fill(n: int, value: float, x: Vector) -> None:
    """Set all entries of ``x`` to ``value``."""
    for i in range(n):
        x[i] = value


def size_of(n: int, x: Vector) -> float:
    """Euclidean norm of ``x``."""
    return sqrt(dot(n, x, x))


def triangular(m: int, n: int, columns: Matrix, live: Integers, b: Vector, size: float) -> int:
    """Rank of ``columns`` (n, each of m numbers), which become ``Q' columns``, largest first; ``b`` becomes ``Q' b``.

    ``live`` is permuted like the columns.  Below the diagonal stay Householder's directions, with the diagonal in
    ``columns[k, m]`` and the factor of the reflection in ``columns[k, m + 1]``; for columns that are not reached yet
    this is the remaining squared norm.
    """
    for k in range(n):
        columns[k, m + 1] = dot(m, columns[k], columns[k])
    for k in range(m if m < n else n):
        best = k
        for j in range(k + 1, n):
            if columns[j, m + 1] > columns[best, m + 1]:
                best = j
        if best != k:
            for i in range(m + 2):
                columns[k, i], columns[best, i] = columns[best, i], columns[k, i]
            live[k], live[best] = live[best], live[k]
        x = columns[k][k:]
        square = dot(m - k, x, x)
        # columns come largest first: if this one is rounding, all others are
        if square <= RANK_TOLERANCE * RANK_TOLERANCE * size:
            return k
        # the sign with which length - x[0] does not cancel
        length = -sqrt(square) if x[0] > 0.0 else sqrt(square)
        factor = 1.0 / (length * (length - x[0]))
        x[0] -= length
        for j in range(k + 1, n):
            if columns[j, m + 1] > 0.0:
                y = columns[j][k:]
                add(m - k, -factor * dot(m - k, x, y), x, y)
                columns[j, m + 1] = columns[j, m + 1] - y[0] * y[0]
                if columns[j, m + 1] < 1e-6 * square:  # cancellation: the updated norm is inaccurate, compute it anew
                    columns[j, m + 1] = dot(m - k - 1, y[1:], y[1:])
        add(m - k, -factor * dot(m - k, x, b[k:]), x, b[k:])
        columns[k, m] = length
        columns[k, m + 1] = factor
    return m if m < n else n


def back_substitute(rank: int, m: int, columns: Matrix, y: Vector) -> None:
    """Replace ``y`` by ``R1^-1 y``."""
    for k in range(rank - 1, -1, -1):
        y[k] = y[k] / columns[k, m]
        add(k, -y[k], columns[k], y)
