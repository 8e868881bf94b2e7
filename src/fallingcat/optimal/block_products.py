"""Products of matrices and triangular solves in plain loops, by blocks of four rows that fill SIMD registers.

They are compiled by :mod:`fallingcat.compiler.loop_compiler`.
"""

from __future__ import annotations

from ..compiler.loop_compiler import Integers, Matrix, Vector
from ..qp.householder import add, copy, dot


def scaled(n: int, factor: float, x: Vector) -> None:
    """Multiply ``x`` by a factor; by 0 whatever it holds."""
    for i in range(n):
        x[i] = 0.0 if factor == 0.0 else factor * x[i]


def add_block(
    n: int,
    p: Vector,
    q: Vector,
    r: Vector,
    s: Vector,
    w: Vector,
    x: Vector,
    y: Vector,
    z: Vector,
    a: Vector,
    b: Vector,
    c: Vector,
    d: Vector,
) -> None:
    """Add ``[p; q; r; s]' [w; x; y; z]`` to ``[a; b; c; d]``, of the first four columns of ``p`` to ``s``."""
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    r0, r1, r2, r3 = r[0], r[1], r[2], r[3]
    s0, s1, s2, s3 = s[0], s[1], s[2], s[3]
    for i in range(n):
        a[i] = a[i] + p0 * w[i] + q0 * x[i] + r0 * y[i] + s0 * z[i]
        b[i] = b[i] + p1 * w[i] + q1 * x[i] + r1 * y[i] + s1 * z[i]
        c[i] = c[i] + p2 * w[i] + q2 * x[i] + r2 * y[i] + s2 * z[i]
        d[i] = d[i] + p3 * w[i] + q3 * x[i] + r3 * y[i] + s3 * z[i]


def add_rows(i: int, first: int, k: int, n: int, A: Matrix, B: Matrix, C: Matrix) -> None:
    """Add rows ``i`` to ``i + 3`` of ``A' B`` (A: k x m, B: k x n) to those of ``C``, from column ``first`` on."""
    j = 0
    while j + 3 < k:
        p, q, r, s = A[j][i:], A[j + 1][i:], A[j + 2][i:], A[j + 3][i:]
        w, x, y, z = B[j][first:], B[j + 1][first:], B[j + 2][first:], B[j + 3][first:]
        a, b, c, d = C[i][first:], C[i + 1][first:], C[i + 2][first:], C[i + 3][first:]
        add_block(n - first, p, q, r, s, w, x, y, z, a, b, c, d)
        j += 4
    while j < k:
        for row in range(i, i + 4):
            add(n - first, A[j, row], B[j][first:], C[row][first:])
        j += 1


def add_product(m: int, k: int, n: int, A: Matrix, B: Matrix, C: Matrix) -> None:
    """Add ``A' B`` (A: k x m, B: k x n) to ``C``."""
    i = 0
    while i + 3 < m:
        add_rows(i, 0, k, n, A, B, C)
        i += 4
    while i < m:
        for j in range(k):
            add(n, A[j, i], B[j], C[i])
        i += 1


def add_symmetric(m: int, k: int, A: Matrix, B: Matrix, C: Matrix) -> None:
    """Add ``A' B`` (k x m both) to ``C``: on and right of its diagonal, and a few entries left of it."""
    i = 0
    while i + 3 < m:
        add_rows(i, i, k, m, A, B, C)
        i += 4
    while i < m:
        for j in range(k):
            add(m - i, A[j, i], B[j][i:], C[i][i:])
        i += 1


def mirror(first: int, n: int, A: Matrix) -> None:
    """Copy what is above the diagonal to the other side, in the rows from ``first`` on."""
    for i in range(first, n):
        for j in range(i):
            A[i, j] = A[j, i]


def divided(n: int, size: int, U: Matrix, free: Integers, X: Matrix, negative: Matrix) -> None:
    """Replace ``X`` (n x size) by ``U'^-1 X``, zero where an input is not free; ``negative`` is its negative."""
    first = 0
    while first < n:
        end = first + 4 if first + 4 < n else n
        before = 0
        if end == first + 4:
            add_rows(first, 0, first, size, U, negative, X)
            before = first
        for i in range(first, end):
            for j in range(before, i):
                add(size, U[j, i], negative[j], X[i])
            scaled(size, 1.0 / U[i, i] if free[i] == 1 else 0.0, X[i])
            for j in range(size):
                negative[i, j] = -X[i, j]
        first = end


def divided_transposed(n: int, size: int, L: Matrix, free: Integers, X: Matrix) -> None:
    """Replace ``X`` (n x size) by ``-L'^-1 X``, zero where an input is not free."""
    first = 0
    while first + 4 < n:
        first += 4
    while first >= 0:
        end = first + 4 if first + 4 < n else n
        if end == first + 4:
            add_rows(first, 0, n - end, size, L[end:], X[end:], X)
        for i in range(end - 1, first - 1, -1):
            for j in range(i + 1, end):
                add(size, L[j, i], X[j], X[i])
            scaled(size, -1.0 / L[i, i] if free[i] == 1 else 0.0, X[i])
        first -= 4


PRODUCTS = (add, copy, dot, scaled, add_block, add_rows, add_product, add_symmetric, mirror)
LOOPS = (*PRODUCTS, divided, divided_transposed)
