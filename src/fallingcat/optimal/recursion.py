"""Riccati recursion and box-constrained quadratic programs in plain loops.

They are compiled by :mod:`fallingcat.compiler.loop_compiler`.  Matrices of one node lie below each other in one matrix.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ..compiler.loop_compiler import Integers, LoopSource, Matrix, Vector
from ..qp.householder import add, copy, dot
from . import block_products
from .block_products import add_product, add_symmetric, divided, divided_transposed, mirror, scaled

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
    implied: int
    """number of the first in ``x`` whose change ``start dq + way dv`` follows from that of as many behind them"""
    lead: int
    """number of the first of these, for which ``start`` and ``way`` are matrices: for the others 1 and ``dt``"""
    dynamics: Matrix
    """``[A B]`` of each step, without the rows that are implied"""
    start: Matrix
    way: Matrix
    dt: Vector
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
    """residual of the stationarity conditions, slope and curvature of the cost"""


class Room(NamedTuple):
    """Workspace."""

    V: Matrix
    G: Matrix
    Q: Matrix
    L: Matrix
    U: Matrix
    Y: Matrix
    q: Vector
    value: Vector
    slope: Vector
    step: Vector
    trial: Vector
    product: Vector
    free: Integers


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


def clipped(low: float, x: float, high: float) -> float:
    """``x`` within bounds."""
    return low if x < low else (high if x > high else x)


def inside(n: int, low: Vector, high: Vector, x: Vector) -> int:
    """1 if ``x`` is within its bounds and at none."""
    for i in range(n):
        if not (low[i] < x[i] and x[i] < high[i]):
            return 0
    return 1


def largest(n: int, x: Vector) -> float:
    """Largest absolute value."""
    most = 0.0
    for i in range(n):
        most = abs(x[i]) if abs(x[i]) > most else most
    return most


def changed_inputs(n: int, low: Vector, high: Vector, x: Vector, slope: Vector, free: Integers) -> int:
    """Number of inputs that become free, or held at a bound that they push against; ``free`` says which are."""
    changes = 0
    for i in range(n):
        held = (x[i] <= low[i] and slope[i] > 0.0) or (x[i] >= high[i] and slope[i] < 0.0)
        now = 0 if held else 1
        changes += 1 if now != free[i] else 0
        free[i] = now
    return changes


def projected_search(n: int, H: Matrix, g: Vector, low: Vector, high: Vector, x: Vector, room: Room) -> None:
    """Move ``x`` along ``room.step`` within bounds: on the box a whole Newton step may raise the cost."""
    cost = quadratic(n, H, g, x)
    length = 1.0
    while length > 1e-4:
        for i in range(n):
            room.trial[i] = clipped(low[i], x[i] + length * room.step[i], high[i])
        if quadratic(n, H, g, room.trial) <= cost:
            copy(n, room.trial, x)
            break
        length = 0.5 * length


def bounded(n: int, H: Matrix, g: Vector, low: Vector, high: Vector, x: Vector, L: Matrix, room: Room) -> int:
    """Least ``x' H x / 2 + g' x`` between bounds, by projected Newton steps; ``L`` factors the free part of ``H``."""
    free = room.free
    for i in range(n):
        free[i] = 1
        x[i] = -g[i]
    if factored(n, H, free, L) != SOLVED:
        return INDEFINITE
    solved(n, L, x)
    if inside(n, low, high, x) == 1:
        return SOLVED
    for i in range(n):
        x[i] = clipped(low[i], x[i], high[i])
    for turn in range(MAX_ACTIVE_SETS):
        for i in range(n):
            room.slope[i] = dot(n, H[i], x) + g[i]
        changes = changed_inputs(n, low, high, x, room.slope, free)
        for i in range(n):
            room.step[i] = -room.slope[i] if free[i] == 1 else 0.0
        if turn > 0 and changes == 0 and largest(n, room.step) <= SLOPE_TOLERANCE * (1.0 + largest(n, g)):
            break
        if factored(n, H, free, L) != SOLVED:
            return INDEFINITE
        solved(n, L, room.step)
        projected_search(n, H, g, low, high, x, room)
    return factored(n, H, free, L)


def add_implied(implied: int, lead: int, n: int, way: Matrix, dt: float, X: Matrix) -> None:
    """Add ``way' X`` of the implied rows of ``X`` (n columns) to as many rows behind them."""
    add_product(lead, lead, n, way, X, X[implied:])
    for i in range(lead, implied):
        add(n, dt, X[i], X[implied + i])


def add_implied_to(implied: int, lead: int, way: Matrix, dt: float, x: Vector) -> None:
    """:func:`add_implied` for one column."""
    for i in range(lead):
        add(lead, x[i], way[i], x[implied:])
    add(implied - lead, dt, x[lead:], x[implied + lead :])


def add_gradient(given: Given, node: int, x: Vector, y: Vector) -> None:
    """Add ``F' x`` to ``y``, for ``x`` of :func:`add_implied_to`."""
    F = given.dynamics[node * (given.size - given.implied) :]
    start = given.start[node * given.lead :]
    for i in range(given.implied, given.size):
        add(given.size + given.n, x[i], F[i - given.implied], y)
    for i in range(given.lead):
        add(given.lead, x[i], start[i], y)
    add(given.implied - given.lead, 1.0, x[given.lead :], y[given.lead :])


def expanded(given: Given, node: int, room: Room) -> None:
    """``Q = H + F' V F`` of a node, on and right of the diagonal; ``V`` is used up.

    Of semi-implicit steps ``F = [start + way D; D]``: products of ``D`` alone, half as many.
    """
    size = given.size
    both = size + given.n
    implied = given.implied
    lead = given.lead
    dense = size - implied
    D = given.dynamics[node * dense :]
    start = given.start[node * lead :]
    way = given.way[node * lead :]
    H = given.hessians[node * both :]
    dt = given.dt[node]
    for i in range(size):
        scaled(both, 0.0, room.G[i])
        copy(implied - lead, room.V[i][lead:], room.G[i][lead:])
    add_product(size, lead, lead, room.V, start, room.G)
    add_implied(implied, lead, size, way, dt, room.V)
    add_product(size, dense, both, room.V[implied:], D, room.G)
    for i in range(both):
        copy(both, H[i], room.Q[i])
    add_product(lead, lead, both, start, room.G, room.Q)
    for i in range(lead, implied):
        add(both, 1.0, room.G[i], room.Q[i])
    add_implied(implied, lead, both, way, dt, room.G)
    add_symmetric(both, dense, D, room.G[implied:], room.Q)


def begin(given: Given, found: Found, room: Room) -> None:
    """Value at the last node."""
    size = given.size
    last = given.hessians[given.steps * (size + given.n) :]
    for i in range(size):
        copy(size, last[i], room.V[i])
    copy(size, given.slopes[given.steps], room.value)
    copy(size, room.value, found.adjoint[given.steps])
    found.report[0] = 0.0
    found.report[1] = 0.0
    found.report[2] = 0.0


def add_slope(given: Given, node: int, room: Room) -> None:
    """``q = slope + F' (value + V gap)`` of a node."""
    size = given.size
    for i in range(size):
        room.product[i] = room.value[i] + dot(size, room.V[i], given.gaps[node + 1])
    copy(size + given.n, given.slopes[node], room.q)
    add_implied_to(given.implied, given.lead, given.way[node * given.lead :], given.dt[node], room.product)
    add_gradient(given, node, room.product, room.q)


def report(given: Given, node: int, found: Found, room: Room) -> None:
    """Gradient and change of the cost by the inputs of a node, whose Hessian is in ``room.Y``."""
    k = found.k[node]
    for i in range(given.n):
        own = room.q[given.size + i]
        held = (given.low[node, i] >= 0.0 and own > 0.0) or (given.high[node, i] <= 0.0 and own < 0.0)
        if not held and abs(own) > found.report[0]:
            found.report[0] = abs(own)
        found.report[1] += own * k[i]
        found.report[2] += k[i] * dot(given.n, room.Y[i], k)


def policy_of(given: Given, node: int, found: Found, room: Room) -> None:
    """``value = qx + Qxu k``, ``V = Qxx - (L^-1 Qux)' (L^-1 Qux)``, ``K = -L'^-1 L^-1 Qux``, of the free inputs."""
    size = given.size
    n = given.n
    k = found.k[node]
    K = found.K[node * n :]
    copy(size, room.q, room.value)
    for i in range(n):
        add(size, k[i], room.Q[size + i], room.value)
    # the value's derivatives are multipliers of the dynamics: what is left of d Lagrangian / dx is Qxu k
    for i in range(size if node > 0 else 0):
        own = abs(room.value[i] - room.q[i])
        found.report[0] = own if own > found.report[0] else found.report[0]
    for i in range(n):
        copy(size, room.Q[size + i], K[i])
        for j in range(i + 1):
            room.U[j, i] = room.L[i, j]
    divided(n, size, room.U, room.free, K, room.Y)
    for i in range(size):
        copy(size, room.Q[i], room.V[i])
    add_symmetric(size, n, K, room.Y, room.V)
    mirror(0, size, room.V)
    divided_transposed(n, size, room.L, room.free, K)
    copy(size, room.value, found.adjoint[node])


def backward_pass(given: Given, found: Found, room: Room) -> int:
    """Policy from the last node to the first."""
    size = given.size
    n = given.n
    begin(given, found, room)
    for node in range(given.steps - 1, -1, -1):
        add_slope(given, node, room)
        expanded(given, node, room)
        mirror(size, size + n, room.Q)
        for i in range(n):
            room.Q[size + i, size + i] += given.damping[0]
            copy(n, room.Q[size + i][size:], room.Y[i])
        if bounded(n, room.Y, room.q[size:], given.low[node], given.high[node], found.k[node], room.L, room) != SOLVED:
            return INDEFINITE
        report(given, node, found, room)
        policy_of(given, node, found, room)
    return SOLVED


BOUNDS = (clipped, inside, largest, changed_inputs, projected_search)
LOOPS = (*block_products.LOOPS, factored, solved, quadratic, *BOUNDS, bounded)
STEPS = (add_implied, add_implied_to, add_gradient, expanded, begin, add_slope, report, policy_of, backward_pass)
RECURSION = LoopSource(*LOOPS, *STEPS)
