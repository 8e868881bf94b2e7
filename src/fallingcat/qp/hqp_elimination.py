"""Elimination of equations, held limits and levels of a hierarchical problem, in plain loops that are compiled.

Every equation and every level becomes pivot rows ``x_d + sum_c S_c x_c = s`` of columns ``d`` that are no longer free:

- equations, then limits that are held: each row by its largest entry;
- each level, in the columns that are free: ``Q [R1 R2] z = b`` by Householder, so ``z_d + R1^-1 R2 z_c = R1^-1 Q' b``.

A column that is free to the end is zero.  Multipliers follow by the transposed elimination.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiler.cpu.signatures import fields
from ..compiler.loop_compiler import Integers, Matrix, Vector
from .householder import add, back_substitute, copy, dot, fill, size_of, triangular
from .least_squares import MIN_LEVEL_SIZE, RANK_TOLERANCE

MAX_DEPENDENT_RESIDUAL = 1e-7
"""Largest residual of an equation that depends on others, relative to its size."""


class HQPProblem(NamedTuple):
    """Problem: rows of equations, levels and limits, in this order."""

    n: int
    """columns"""
    equations: int
    levels: int
    limits: int
    late_begin: int
    """equations from here on, and limits, should take columns from ``split_column`` on"""
    split_column: int
    constant_rows: Matrix
    """rows that never change"""
    changing_rows: Matrix
    """rows that do"""
    row_indices: Integers
    """place of each row in ``changing_rows``, or, counted from -1 downwards, in ``constant_rows``"""
    value: Vector
    """right side of each row, of limits the upper one"""
    root: Vector
    """square root of the weight of each row of a level"""
    lower: Vector
    """lower bound of each limit"""
    ends: Integers
    """ends of the levels, counted from the first row of the first, which is 0"""
    rounds: int
    """rounds at most"""
    within_drive_limits: int
    """1: after the last round there is an answer within the limits of drives; 0: the problem is unfinished then"""
    torques: int
    """first row of the level of the torques, counted as ``ends``"""
    forces: int
    """level of the least contact forces"""
    joints: int
    """number of torques"""
    drives: Integers
    """for each torque its limit, or -1"""


class HQPSolution(NamedTuple):
    """Solution."""

    active_sides: Integers
    """side of each limit: -1, 0 or 1, for the lower one, none and the upper one; the guess, and then the answer"""
    x: Vector
    multipliers: Vector
    """multiplier of each limit, of the first level that feels it; negative on the lower side"""
    misses: Vector
    """``A x - b`` of all levels"""
    ranks: Integers
    """number of columns that each level took"""
    report: Vector
    """the equation that contradicts others, the rounds, how far from optimal it is, how many limits are still wrong,
    how far the most violated one is violated, 1 where contradictory equations were left out"""


class Memory(NamedTuple):
    """Intermediate results."""

    S: Matrix
    s: Vector
    D: Integers
    """pivot rows, their right sides and columns"""
    L: Matrix
    """factor of equations and held limits, in terms of pivot rows"""
    names: Integers
    """limit of each pivot row that is one"""
    B: Matrix
    b: Vector
    """rows of levels, weighted, in what equations leave free"""
    C: Matrix
    """and in terms of pivot rows"""
    G: Matrix
    g: Vector
    """rows of limits in what equations leave free"""
    known_flags: Integers
    """flags of limits, then of levels, that are there yet"""
    columns: Matrix
    live: Integers
    free_columns: Integers
    """one level in the columns that are free, which these are, and a mark for each"""
    H: Matrix
    """``Q`` and ``R1`` of the pivot rows of levels"""
    level_begins: Integers
    """first pivot row of each level"""
    w: Vector
    t: Vector
    r: Vector
    signs: Vector
    """sign of the multiplier of each limit, positive where it is held rightly"""
    sides: Integers
    best_iterate: Vector
    """iterate that violates limits least"""


def memory(n: int, rows: int, limits: int, levels: int, tallest: int) -> Memory:
    """Memory for problems of this size; ``tallest``: rows of one level, at most."""
    shapes = {
        "S": (n + 1, n), "s": n + 1, "D": n + 1, "L": (n + 1, n + 1), "names": n + 1, "B": (rows, n), "b": rows,
        "C": (rows, n), "G": (limits, n), "g": limits, "known_flags": limits + levels, "columns": (n, tallest + 2),
        "live": n, "free_columns": n, "H": (n + 1, tallest + 2), "level_begins": levels, "w": n, "t": n + 1,
        "r": tallest, "signs": limits, "sides": limits, "best_iterate": n,
    }  # fmt: skip
    kinds = {"Integers": np.int64, "Vector": float, "Matrix": float}
    return Memory(**{name: np.zeros(shapes[name], kinds[type_]) for name, type_ in fields(Memory).items()})


# rows of the problem --------------------------------------------------------------------------------------------------


def fetch(a: HQPProblem, i: int, row: Vector) -> None:
    """Copy row ``i`` of the problem."""
    if a.row_indices[i] < 0:
        copy(a.n, a.constant_rows[-1 - a.row_indices[i]], row)
    else:
        copy(a.n, a.changing_rows[a.row_indices[i]], row)


def row_product(a: HQPProblem, i: int, x: Vector) -> float:
    """Dot product of row ``i`` of the problem and ``x``."""
    return (
        dot(a.n, a.constant_rows[-1 - a.row_indices[i]], x)
        if a.row_indices[i] < 0
        else dot(a.n, a.changing_rows[a.row_indices[i]], x)
    )


# pivot rows -----------------------------------------------------------------------------------------------------------


def eliminate_value(n: int, row: Vector, value: float, m: Memory, first: int, p: int, L: Vector) -> float:
    """Value of ``row x = value`` after elimination of pivots ``first`` to ``p``; ``L``: the factors."""
    for k in range(first, p):
        times = row[m.D[k]]
        L[k] = times
        if times != 0.0:
            add(n, -times, m.S[k], row)
            row[m.D[k]] = 0.0
            value -= times * m.s[k]
    return value


def accept_pivot(n: int, split: int, first: int, p: int, m: Memory) -> bool:
    """True if row ``p`` of ``S x = s`` becomes the next pivot row; columns from the split on are preferred."""
    row, size = m.S[p], size_of(n, m.S[p])
    m.s[p] = eliminate_value(n, row, m.s[p], m, first, p, m.L[p])
    best, column = 0.0, 0
    for c in range(n):
        # another column is taken only where its entry is a thousand times larger: small pivots lose digits
        x = abs(row[c]) if c >= split else 1e-3 * abs(row[c])
        if x > best:
            best, column = x, c
    pivot = row[column]
    if not abs(pivot) > RANK_TOLERANCE * size:  # "not >" also rejects NaN, which would give more pivots than columns
        return False
    for c in range(n):
        row[c] = row[c] / pivot
    row[column] = 1.0
    m.s[p] = m.s[p] / pivot
    m.D[p] = column
    m.L[p, p] = pivot
    return True


def back(n: int, p: int, m: Memory, x: Vector) -> None:
    """Back substitution for ``x`` from the pivot rows, the last first."""
    fill(n, 0.0, x)
    for k in range(p - 1, -1, -1):
        x[m.D[k]] = m.s[k] - dot(n, m.S[k], x)


# one level ------------------------------------------------------------------------------------------------------------


def project_level(a: HQPProblem, m: Memory, level: int, done: int) -> None:
    """Weighted rows of a level in the free columns of the equations, unless they are known already."""
    if m.known_flags[a.limits + level] == 0:
        for i in range(a.ends[level], a.ends[level + 1]):
            fetch(a, a.equations + i, m.B[i])
            m.b[i] = eliminate_value(a.n, m.B[i], a.value[a.equations + i], m, 0, done, m.w) * a.root[i]
            for c in range(a.n):
                m.B[i, c] = m.B[i, c] * a.root[i]
        m.known_flags[a.limits + level] = 1


def eliminate_level(a: HQPProblem, m: Memory, level: int, done: int, p: int) -> int:
    """Number of pivot rows of a level, which are appended from ``p`` on."""
    n, begin, rows, free, size = a.n, a.ends[level], a.ends[level + 1] - a.ends[level], 0, 0.0
    for c in range(n):
        m.free_columns[c] = 0
    for k in range(p):
        m.free_columns[m.D[k]] = 1
    for c in range(n):
        if m.free_columns[c] == 0:
            m.live[free] = c
            free += 1
    for i in range(rows):
        copy(n, m.B[begin + i], m.w)
        size += dot(n, m.w, m.w)
        m.r[i] = eliminate_value(n, m.w, m.b[begin + i], m, done, p, m.C[begin + i])
        for c in range(free):
            m.columns[c, i] = m.w[m.live[c]]
    # rows that are nothing but rounding, as of a point on a joint axis, have no rank
    least = MIN_LEVEL_SIZE * MIN_LEVEL_SIZE
    rank = triangular(rows, free, m.columns, m.live, m.r, size if size > least else least)
    back_substitute(rank, rows, m.columns, m.r)
    for k in range(rank):
        fill(n, 0.0, m.S[p + k])
        m.S[p + k, m.live[k]] = 1.0
        m.s[p + k] = m.r[k]
        m.D[p + k] = m.live[k]
        copy(rows + 2, m.columns[k], m.H[p + k])
    for c in range(rank, free):
        column = m.columns[c]
        if dot(rank, column, column) > 0.0:
            back_substitute(rank, rows, m.columns, column)
            for k in range(rank):
                m.S[p + k, m.live[c]] = column[k]
    return rank


def solve_multipliers(rows: int, rank: int, p: int, m: Memory) -> None:
    """Solution ``r`` of least norm of ``(Q R1)' r = t``, for the pivots from ``p`` on."""
    fill(rows, 0.0, m.r)
    for k in range(rank):
        m.r[k] = (m.t[p + k] - dot(k, m.H[p + k], m.r)) / m.H[p + k, rows]
    for k in range(rank - 1, -1, -1):
        x, r = m.H[p + k][k:], m.r[k:]
        add(rows - k, -m.H[p + k, rows + 1] * dot(rows - k, x, r), x, r)


def remaining_gradient(a: HQPProblem, f: HQPSolution, m: Memory, level: int, done: int, standing: int) -> float:
    """Remaining gradient of one level, relative to ``report[0]``; multipliers of held limits in ``t[done:]``.

    The gradient ``-A' (A x - b)`` is a sum of pivot rows, hence of the rows of levels before and of these limits.
    """
    fill(a.n, 0.0, m.w)
    for i in range(a.ends[level], a.ends[level + 1]):
        add(a.n, dot(a.n, m.B[i], f.x) - m.b[i], m.B[i], m.w)
    size = size_of(a.n, m.w)
    # relative to the gradient, but absolute where the level is met and the gradient is rounding
    f.report[0] = size if size > 1.0 else 1.0
    for k in range(done, m.level_begins[level]):
        m.t[k] = -m.w[m.D[k]]
        add(a.n, m.t[k], m.S[k], m.w)
    for before in range(level - 1, -1, -1):
        if f.ranks[before] > 0:
            begin, p = a.ends[before], m.level_begins[before]
            solve_multipliers(a.ends[before + 1] - begin, f.ranks[before], p, m)
            for i in range(a.ends[before + 1] - begin):
                add(p - done, -m.r[i], m.C[begin + i][done:], m.t[done:])
    for k in range(done + standing - 1, done - 1, -1):
        for i in range(k + 1, done + standing):
            m.t[k] -= m.L[i, k] * m.t[i]
        m.t[k] = m.t[k] / m.L[k, k]
    return size_of(a.n, m.w) / f.report[0]


# equations and all levels ---------------------------------------------------------------------------------------------


def eliminate_constraints(a: HQPProblem, f: HQPSolution, m: Memory) -> int:
    """Number of pivot rows of the equations, or -1 where one contradicts others."""
    done = 0
    for i in range(a.equations):
        fetch(a, i, m.S[done])
        m.s[done] = a.value[i]
        if accept_pivot(a.n, 0 if i < a.late_begin else a.split_column, 0, done, m):
            done += 1
        elif abs(m.s[done]) > MAX_DEPENDENT_RESIDUAL * (1.0 + abs(a.value[i])):
            f.report[0] = i
            return -1
    forget(a, m)
    return done


def forget(a: HQPProblem, m: Memory) -> None:
    """Rows in what equations leave free are not known: the equations are new."""
    for i in range(a.limits + a.levels):
        m.known_flags[i] = 0


def climb(a: HQPProblem, f: HQPSolution, m: Memory, done: int, p: int) -> int:
    """Number of pivot rows with those of all levels."""
    for level in range(a.levels):
        m.level_begins[level], f.ranks[level] = p, 0
        if p < a.n and a.ends[level + 1] > a.ends[level]:
            project_level(a, m, level, done)
            f.ranks[level] = eliminate_level(a, m, level, done, p)
            p += f.ranks[level]
    return p
