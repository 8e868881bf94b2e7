"""Riccati recursion and box-constrained quadratic programs in plain loops.

They are compiled by :mod:`fallingcat.compiler.loop_compiler`.  Matrices of one node lie below each other in one matrix.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ..compiler.loop_compiler import Integers, LoopSource, Matrix, Vector
from ..qp.householder import add, copy, dot

MAX_ACTIVE_SETS = 30
"""Changes of the set of inputs at their bounds in one box-constrained quadratic program."""
SLOPE_TOLERANCE = 1e-9
"""Slope by a free input at which a quadratic program is solved, relative to ``1 + |g|``."""
SOLVED, INDEFINITE = 0, 1


class Given(NamedTuple):
    """Expansion about a motion: ``x`` has ``size`` numbers, ``u`` has ``n``."""

    steps: int
    size: int
    n: int
    dynamics: Matrix
    """``[A B]`` of each step"""
    gaps: Matrix
    slopes: Matrix
    hessians: Matrix
    low: Matrix
    """least change of the inputs of each step"""
    high: Matrix
    damping: Vector
    """one number"""


class Found(NamedTuple):
    """Policy, and what the recursion says about it."""

    k: Matrix
    K: Matrix
    adjoint: Matrix
    report: Vector
    """largest free gradient, slope and curvature of the cost"""


class Room(NamedTuple):
    """Workspace."""

    V: Matrix
    G: Matrix
    Q: Matrix
    L: Matrix
    Y: Matrix
    q: Vector
    value: Vector
    costate: Vector
    along: Vector
    slope: Vector
    step: Vector
    trial: Vector
    product: Vector
    free: Integers


def add_four(
    n: int,
    a: float,
    b: float,
    c: float,
    d: float,
    e: float,
    f: float,
    g: float,
    h: float,
    w: Vector,
    x: Vector,
    y: Vector,
    z: Vector,
    s: Vector,
    t: Vector,
) -> None:
    """Add ``a w + b x + c y + d z`` to ``s`` and ``e w + f x + g y + h z`` to ``t``."""
    for i in range(n):
        s[i] = s[i] + a * w[i] + b * x[i] + c * y[i] + d * z[i]
        t[i] = t[i] + e * w[i] + f * x[i] + g * y[i] + h * z[i]


def add_product(m: int, k: int, n: int, A: Matrix, B: Matrix, C: Matrix) -> None:
    """Add ``A B`` (m x k, k x n) to ``C``."""
    i = 0
    while i + 1 < m:
        p, q = A[i], A[i + 1]
        j = 0
        while j + 3 < k:
            w, x, y, z = B[j], B[j + 1], B[j + 2], B[j + 3]
            a, b, c, d = p[j], p[j + 1], p[j + 2], p[j + 3]
            e, f, g, h = q[j], q[j + 1], q[j + 2], q[j + 3]
            add_four(n, a, b, c, d, e, f, g, h, w, x, y, z, C[i], C[i + 1])
            j += 4
        while j < k:
            add(n, p[j], B[j], C[i])
            add(n, q[j], B[j], C[i + 1])
            j += 1
        i += 2
    if i < m:
        for j in range(k):
            add(n, A[i, j], B[j], C[i])


def add_transposed(m: int, k: int, n: int, A: Matrix, B: Matrix, C: Matrix) -> None:
    """Add ``A' B`` (A: k x m, B: k x n) to ``C``: on and right of its diagonal, and at most one entry left of it."""
    i = 0
    while i + 1 < m:
        s, t = C[i][i:], C[i + 1][i:]
        j = 0
        while j + 3 < k:
            w, x, y, z = B[j][i:], B[j + 1][i:], B[j + 2][i:], B[j + 3][i:]
            a, b, c, d = A[j, i], A[j + 1, i], A[j + 2, i], A[j + 3, i]
            e, f, g, h = A[j, i + 1], A[j + 1, i + 1], A[j + 2, i + 1], A[j + 3, i + 1]
            add_four(n - i, a, b, c, d, e, f, g, h, w, x, y, z, s, t)
            j += 4
        while j < k:
            add(n - i, A[j, i], B[j][i:], s)
            add(n - i, A[j, i + 1], B[j][i:], t)
            j += 1
        i += 2
    if i < m:
        for j in range(k):
            add(n - i, A[j, i], B[j][i:], C[i][i:])


def mirror(n: int, A: Matrix) -> None:
    """Copy what is right of the diagonal to the other side."""
    for i in range(n):
        for j in range(i):
            A[i, j] = A[j, i]


def factored(n: int, H: Matrix, free: Integers, L: Matrix) -> int:
    """Cholesky factor of the free rows and columns of ``H``, with the identity for the others."""
    for i in range(n):
        for j in range(i + 1):
            if free[i] == 0 or free[j] == 0:
                L[i, j] = 1.0 if i == j else 0.0
            else:
                s = H[i, j] - dot(j, L[i], L[j])
                if i == j:
                    if not s > 0.0:
                        return INDEFINITE
                    L[i, i] = sqrt(s)
                else:
                    L[i, j] = s / L[j, j]
    return SOLVED


def solved(n: int, L: Matrix, x: Vector) -> None:
    """Replace ``x`` by ``(L L')^-1 x``."""
    for i in range(n):
        x[i] = (x[i] - dot(i, L[i], x)) / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] = x[i] / L[i, i]
        add(i, -x[i], L[i], x)


def quadratic(n: int, H: Matrix, g: Vector, x: Vector) -> float:
    """``x' H x / 2 + g' x``."""
    s = 0.0
    for i in range(n):
        s += x[i] * (0.5 * dot(n, H[i], x) + g[i])
    return s


def bounded(n: int, H: Matrix, g: Vector, low: Vector, high: Vector, x: Vector, L: Matrix, room: Room) -> int:
    """Least ``x' H x / 2 + g' x`` between bounds, by projected Newton steps; ``L`` factors the free part of ``H``."""
    free = room.free
    for i in range(n):
        free[i] = 1
        x[i] = -g[i]
    if factored(n, H, free, L) != SOLVED:
        return INDEFINITE
    solved(n, L, x)
    inside = 1
    size = 0.0
    for i in range(n):
        if not (low[i] < x[i] and x[i] < high[i]):
            inside = 0
        size = abs(g[i]) if abs(g[i]) > size else size
    if inside == 1:
        return SOLVED
    for i in range(n):
        x[i] = low[i] if x[i] < low[i] else (high[i] if x[i] > high[i] else x[i])
    for turn in range(MAX_ACTIVE_SETS):
        same = 1 if turn > 0 else 0
        worst = 0.0
        for i in range(n):
            s = dot(n, H[i], x) + g[i]
            room.slope[i] = s
            held = (x[i] <= low[i] and s > 0.0) or (x[i] >= high[i] and s < 0.0)
            now = 0 if held else 1
            if now != free[i]:
                same = 0
            free[i] = now
            if now == 1 and abs(s) > worst:
                worst = abs(s)
        if same == 1 and worst <= SLOPE_TOLERANCE * (1.0 + size):
            break
        if factored(n, H, free, L) != SOLVED:
            return INDEFINITE
        for i in range(n):
            room.step[i] = -room.slope[i] if free[i] == 1 else 0.0
        solved(n, L, room.step)
        cost = quadratic(n, H, g, x)
        length = 1.0
        # projected line search: on the box a whole Newton step may raise the cost
        while length > 1e-4:
            for i in range(n):
                s = x[i] + length * room.step[i]
                room.trial[i] = low[i] if s < low[i] else (high[i] if s > high[i] else s)
            if quadratic(n, H, g, room.trial) <= cost:
                copy(n, room.trial, x)
                break
            length = 0.5 * length
    return factored(n, H, free, L)


def backward_pass(given: Given, found: Found, room: Room) -> int:
    """Policy from the last node to the first."""
    steps = given.steps
    size = given.size
    n = given.n
    both = size + n
    last = given.hessians[steps * both :]
    for i in range(size):
        copy(size, last[i], room.V[i])
    copy(size, given.slopes[steps], room.value)
    copy(size, room.value, room.costate)
    copy(size, room.value, found.adjoint[steps])
    found.report[0] = 0.0
    found.report[1] = 0.0
    found.report[2] = 0.0
    for node in range(steps - 1, -1, -1):
        F = given.dynamics[node * size :]
        H = given.hessians[node * both :]
        K = found.K[node * n :]
        k = found.k[node]
        low = given.low[node]
        high = given.high[node]
        # Q = H + F' V F and q = slope + F' (value + V gap)
        for i in range(size):
            room.product[i] = room.value[i] + dot(size, room.V[i], given.gaps[node + 1])
            for j in range(both):
                room.G[i, j] = 0.0
        add_product(size, size, both, room.V, F, room.G)
        copy(both, given.slopes[node], room.q)
        copy(both, given.slopes[node], room.along)
        for i in range(size):
            add(both, room.product[i], F[i], room.q)
            add(both, room.costate[i], F[i], room.along)
        for i in range(both):
            copy(both, H[i], room.Q[i])
        add_transposed(both, size, both, F, room.G, room.Q)
        mirror(both, room.Q)
        for i in range(n):
            room.Q[size + i, size + i] += given.damping[0]
            copy(n, room.Q[size + i][size:], room.Y[i])
        if bounded(n, room.Y, room.q[size:], low, high, k, room.L, room) != SOLVED:
            return INDEFINITE
        # change of the cost, and its derivative along the motion
        for i in range(n):
            own = room.along[size + i]
            out = (low[i] >= 0.0 and own > 0.0) or (high[i] <= 0.0 and own < 0.0)
            if not out and abs(own) > found.report[0]:
                found.report[0] = abs(own)
            found.report[1] += room.q[size + i] * k[i]
            found.report[2] += k[i] * dot(n, room.Y[i], k)
        copy(size, room.along, room.costate)
        # value = qx + Qxu k, V = Qxx - (L^-1 Qux)' (L^-1 Qux), K = -L'^-1 L^-1 Qux, of the free inputs
        copy(size, room.q, room.value)
        for i in range(n):
            add(size, k[i], room.Q[size + i], room.value)
        for i in range(n):
            if room.free[i] == 1:
                copy(size, room.Q[size + i], K[i])
                for j in range(i):
                    add(size, -room.L[i, j], K[j], K[i])
                scaled(size, 1.0 / room.L[i, i], K[i])
            else:
                scaled(size, 0.0, K[i])
            for j in range(size):
                room.Y[i, j] = -K[i, j]
        for i in range(size):
            copy(size, room.Q[i], room.V[i])
        add_transposed(size, n, size, K, room.Y, room.V)
        mirror(size, room.V)
        for i in range(n - 1, -1, -1):
            scaled(size, -1.0 / room.L[i, i] if room.free[i] == 1 else 0.0, K[i])
            for j in range(i):
                add(size, room.L[i, j], K[i], K[j])
        copy(size, room.value, found.adjoint[node])
    return SOLVED


def scaled(n: int, factor: float, x: Vector) -> None:
    """Multiply ``x`` by a factor; by 0 whatever it holds."""
    for i in range(n):
        x[i] = 0.0 if factor == 0.0 else factor * x[i]


LOOPS = (add, copy, dot, scaled, add_four, add_product, add_transposed, mirror, factored, solved, quadratic, bounded)
RECURSION = LoopSource(*LOOPS, backward_pass)
