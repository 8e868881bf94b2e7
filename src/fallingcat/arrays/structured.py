"""Matrices with structure: symmetric, skew, turned.

Of numbers NumPy's products are the fastest; of expressions nothing is computed that the structure already tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .building import array
from .traced import Traced
from .types import Matrix, Rotation, Scalar, Vector


def upper_triangle(matrix: Matrix) -> Matrix:
    """Upper triangle of a matrix of expressions, which :func:`mirror` and :func:`skew_mirror` complete.

    Args:
        matrix: ``n x n``.

    Returns:
        The matrix with zeros below the diagonal; matrices of numbers as they are.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> upper_triangle(Graph().inputs("m", 4).reshape(2, 2))
        array([[m0, m1],
               [0.0, m3]], dtype=object)
    """
    if not isinstance(matrix, np.ndarray) or matrix.dtype != object or not len(matrix):
        return matrix
    return array([[x if i <= j else 0.0 for j, x in enumerate(row)] for i, row in enumerate(matrix)])


def mirror(matrix: Matrix) -> Matrix:
    """Symmetric matrix made exactly symmetric; of expressions, the lower half is dropped and never computed.

    Args:
        matrix: ``n x n``, symmetric up to rounding.

    Returns:
        Symmetric ``n x n`` matrix.

    Example:
        >>> mirror(np.array([[1.0, 2.0], [4.0, 1.0]]))
        array([[1., 3.],
               [3., 1.]])
    """
    n = len(matrix)
    if not n or not isinstance(matrix, np.ndarray) or matrix.dtype != object:
        return 0.5 * (matrix + matrix.T)
    return array([[matrix[min(i, j), max(i, j)] for j in range(n)] for i in range(n)])


def gram(Y: Matrix, weights: Vector) -> Matrix:
    """Product ``Y diag(weights) Y'``, exactly symmetric.

    Args:
        Y: ``m x n``.
        weights: ``n``.

    Returns:
        Symmetric ``m x m`` matrix.

    Example:
        >>> gram(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([2.0, 1.0]))
        array([[6., 6.],
               [6., 9.]])
    """
    W, n = Y * weights, len(Y)
    if not isinstance(W, np.ndarray) or W.dtype != object:
        return mirror(W @ Y.T)
    half = [[W[i] @ Y[j] for j in range(i, n)] for i in range(n)]
    return array([[half[min(i, j)][abs(i - j)] for j in range(n)] for i in range(n)])


def skew_mirror(matrix: Matrix) -> Matrix:
    """Skew matrix made exactly skew; of expressions, the lower half is dropped and never computed.

    Args:
        matrix: ``n x n``, skew up to rounding.

    Returns:
        Skew ``n x n`` matrix.

    Example:
        >>> skew_mirror(np.array([[0.0, 2.0], [-4.0, 0.0]]))
        array([[ 0.,  3.],
               [-3.,  0.]])
    """
    n = len(matrix)
    if not isinstance(matrix, np.ndarray) or matrix.dtype != object:
        return 0.5 * (matrix - matrix.T)
    rows = [[0.0 if i == j else matrix[i, j] if i < j else -matrix[j, i] for j in range(n)] for i in range(n)]
    return array(rows) if n else matrix


class Turn(NamedTuple):
    """Rotation ``R = Q G``: first a turn ``G`` about a coordinate axis, then ``Q``, which exchanges axes and signs."""

    axis: int
    cos: Scalar
    sin: Scalar
    places: list[int]
    """target axis of each axis under ``Q``"""
    signs: list[float]


def rotate_matrix(R: Rotation, M: Matrix) -> Matrix:
    """Product ``R M R'`` (3x3).

    The part of ``M`` across the axis turns by twice the angle: with ``D = M_aa - M_bb``, ``E = M_ab + M_ba`` and

        ``t = s^2 D + s c E``,  ``r = s c D - s^2 E``

    the four entries change by ``-t, r, r, t``: 4 products instead of 16.  Of numbers, NumPy's products are faster.

    Args:
        R: Rotation, ``3 x 3``.
        M: ``3 x 3`` matrix.

    Returns:
        ``3 x 3`` matrix.

    Example:
        >>> quarter_turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        >>> rotate_matrix(quarter_turn, np.diag([1.0, 2.0, 3.0])).diagonal()
        array([2., 1., 3.])
    """
    turn = _turn(R)
    if turn is None:
        return R @ M @ R.T
    j, c, s = turn.axis, turn.cos, turn.sin
    a, b = (j + 1) % 3, (j + 2) % 3
    D, E = M[a, a] - M[b, b], M[a, b] + M[b, a]
    t, r = (s * s) * D + (s * c) * E, (s * c) * D - (s * s) * E
    N = np.empty((3, 3), dtype=object)
    N[a, a], N[b, b], N[a, b], N[b, a], N[j, j] = M[a, a] - t, M[b, b] + t, M[a, b] + r, M[b, a] + r, M[j, j]
    N[a, j], N[b, j] = c * M[a, j] - s * M[b, j], s * M[a, j] + c * M[b, j]
    N[j, a], N[j, b] = c * M[j, a] - s * M[j, b], s * M[j, a] + c * M[j, b]
    out = np.empty((3, 3), dtype=object)
    for x in range(3):
        for y in range(3):
            out[turn.places[x], turn.places[y]] = N[x, y] * (turn.signs[x] * turn.signs[y])
    return out


def _turn(R: Rotation) -> Turn | None:
    """Turn of a matrix of traced numbers about one axis, if it is one."""
    if not (isinstance(R, np.ndarray) and R.dtype == object):
        return None
    for j in range(3):
        i = [row for row in range(3) if _is_unit(R[row, j])]
        a, b = (j + 1) % 3, (j + 2) % 3
        if len(i) != 1 or any(_is_number(R[i[0], k]) is False or R[i[0], k] != 0.0 for k in (a, b)):
            continue
        for first, second in ((0, 1), (1, 0)):  # which of the other rows is that of axis a
            rows = [row for row in range(3) if row != i[0]]
            p, q = rows[first], rows[second]
            c, s = R[p, a], -R[p, b]
            if not (isinstance(c, Traced) and isinstance(s, Traced)):
                continue
            for sign in (1.0, -1.0):
                if R[q, a] is sign * s and R[q, b] is sign * c:
                    places, signs = [0, 0, 0], [1.0, 1.0, 1.0]
                    places[j], places[a], places[b] = i[0], p, q
                    signs[j], signs[b] = float(R[i[0], j]), sign
                    return Turn(j, c, s, places, signs)
    return None


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, int, np.number))


def _is_unit(x: Any) -> bool:
    return _is_number(x) and abs(x) == 1.0
