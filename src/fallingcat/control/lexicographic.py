"""Least squares by strict priorities under equations and limits, in plain loops that become machine code.

Find ``x`` with ``E x = e`` and ``lower <= G x <= upper`` that makes ``|A_1 x - b_1|`` least, among those
``|A_2 x - b_2|``, and so on.  Some limits are held as if they were equations; then the limit that is violated most is
held too, and the one whose multiplier is most wrong let go, until there is none.  Strict priorities are weights whose
ratio is infinite, so the sign of a multiplier is that of the first level that feels it.  A good guess of what is held -
that of the last tick - is right in the first round.  Rounds may go in circles, which is rare and said; every answer
comes with how far it is from optimal.

With some limits held, all of it is one elimination.  Every equation and every level becomes pivot rows
``x_d + sum_c S_c x_c = s`` of columns ``d`` that are no longer free:

- equations, then limits that are held: each row by its largest entry;
- each level, in the columns that are free: ``Q [R1 R2] z = b`` by Householder, so ``z_d + R1^-1 R2 z_c = R1^-1 Q' b``.

A column that is free to the end is zero.  Multipliers run the same way backwards.
"""

from __future__ import annotations

from math import sqrt

from ..kernels.written import Integers, Matrix, Vector, Written

RANK = 1e-10
"""A row or column that is left smaller than this, relative to what it was before, depends on others."""
CONTRADICTED = 1e-7
"""What an equation that depends on others may miss, relative to its size."""
VIOLATED = 1e-10
"""Of limits, relative to their size."""
WRONG = 1e-9
"""Of multipliers, relative to the gradients of their level."""
ROUNDS = 80
"""In the second half anew, from nothing held."""
SOLVED, CONTRADICTION, UNFINISHED, NOT_FINITE = 0, 1, 2, 3


# vectors --------------------------------------------------------------------------------------------------------------


def add(n: int, factor: float, x: Vector, y: Vector) -> None:
    """``y += factor x``."""
    for i in range(n):
        y[i] += factor * x[i]


def dot(n: int, x: Vector, y: Vector) -> float:
    s = 0.0
    for i in range(n):
        s += x[i] * y[i]
    return s


def copy(n: int, x: Vector, y: Vector) -> None:
    for i in range(n):
        y[i] = x[i]


def fill(n: int, value: float, x: Vector) -> None:
    for i in range(n):
        x[i] = value


def size_of(n: int, x: Vector) -> float:
    return sqrt(dot(n, x, x))


# rows of the problem: those that never change, and those that were just computed --------------------------------------


def fetch(n: int, i: int, kept: Matrix, given: Matrix, where: Integers, row: Vector) -> None:
    if where[i] < 0:
        copy(n, kept[-1 - where[i]], row)
    else:
        copy(n, given[where[i]], row)


def along(n: int, i: int, kept: Matrix, given: Matrix, where: Integers, x: Vector) -> float:
    return dot(n, kept[-1 - where[i]], x) if where[i] < 0 else dot(n, given[where[i]], x)


def freed(
    n: int, begin: int, m: int, equations: int, done: int, kept: Matrix, given: Matrix, where: Integers, value: Vector,
    root: Vector, S: Matrix, s: Vector, D: Integers, B: Matrix, b: Vector, w: Vector,
) -> None:  # fmt: skip
    """The weighted rows of a level in what equations leave free."""
    for i in range(begin, begin + m):
        fetch(n, equations + i, kept, given, where, B[i])
        b[i] = reduced(n, B[i], value[equations + i], S, s, D, 0, done, w) * root[i]
        for c in range(n):
            B[i, c] = B[i, c] * root[i]


# pivot rows -----------------------------------------------------------------------------------------------------------


def reduced(
    n: int, row: Vector, value: float, S: Matrix, s: Vector, D: Integers, first: int, p: int, L: Vector
) -> float:
    """``row x = value`` without the columns of pivots ``first`` to ``p``: the new value; ``L``: how often each."""
    for k in range(first, p):
        times = row[D[k]]
        L[k] = times
        if times != 0.0:
            add(n, -times, S[k], row)
            row[D[k]] = 0.0
            value -= times * s[k]
    return value


def taken(n: int, split: int, size: float, first: int, p: int, S: Matrix, s: Vector, D: Integers, L: Vector) -> bool:
    """Whether row ``p`` of ``S x = s`` becomes the next pivot row; columns from ``split`` on are preferred."""
    s[p] = reduced(n, S[p], s[p], S, s, D, first, p, L)
    best, column = 0.0, 0
    for c in range(n):
        x = abs(S[p, c]) if c >= split else 1e-3 * abs(S[p, c])
        if x > best:
            best, column = x, c
    pivot = S[p, column]
    if abs(pivot) <= RANK * size:
        return False
    for c in range(n):
        S[p, c] = S[p, c] / pivot
    S[p, column] = 1.0
    s[p] = s[p] / pivot
    D[p] = column
    L[p] = pivot
    return True


def back(n: int, p: int, S: Matrix, s: Vector, D: Integers, x: Vector) -> None:
    """``x`` of the pivot rows, the last first."""
    fill(n, 0.0, x)
    for k in range(p - 1, -1, -1):
        x[D[k]] = s[k] - dot(n, S[k], x)


# one level ------------------------------------------------------------------------------------------------------------


def triangular(m: int, n: int, columns: Matrix, live: Integers, b: Vector, size: float) -> int:
    """``columns`` (n, each of m numbers) made ``Q' columns``, the largest first, ``live`` sorted alike, ``b`` made
    ``Q' b``; the rank.

    Below the diagonal stay Householder's directions, with the diagonal in ``columns[k, m]`` and the factor of the
    reflection in ``columns[k, m + 1]``; of columns that are not reached yet this is the square of what is left.
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
        if square <= RANK * RANK * size:
            return k
        length = -sqrt(square) if x[0] > 0.0 else sqrt(square)
        factor = 1.0 / (length * (length - x[0]))
        x[0] -= length
        for j in range(k + 1, n):
            if columns[j, m + 1] > 0.0:
                y = columns[j][k:]
                add(m - k, -factor * dot(m - k, x, y), x, y)
                columns[j, m + 1] = columns[j, m + 1] - y[0] * y[0]
                if columns[j, m + 1] < 1e-6 * square:  # too much was taken away: anew
                    columns[j, m + 1] = dot(m - k - 1, y[1:], y[1:])
        add(m - k, -factor * dot(m - k, x, b[k:]), x, b[k:])
        columns[k, m] = length
        columns[k, m + 1] = factor
    return m if m < n else n


def backwards(rank: int, m: int, columns: Matrix, y: Vector) -> None:
    """``R1^-1 y``."""
    for k in range(rank - 1, -1, -1):
        y[k] = y[k] / columns[k, m]
        add(k, -y[k], columns[k], y)


def settled(
    n: int, begin: int, m: int, done: int, p: int, S: Matrix, s: Vector, D: Integers, B: Matrix, b: Vector, C: Matrix,
    columns: Matrix, live: Integers, used: Integers, H: Matrix, w: Vector, r: Vector,
) -> int:  # fmt: skip
    """The pivot rows of a level, from ``p`` on, and how many they are; ``H`` keeps ``Q`` and ``R1``, ``C`` the rows
    ``B`` in terms of earlier pivots.
    """
    for c in range(n):
        used[c] = 0
    for k in range(p):
        used[D[k]] = 1
    free, size = 0, 0.0
    for c in range(n):
        if used[c] == 0:
            live[free] = c
            free += 1
    for i in range(m):
        copy(n, B[begin + i], w)
        size += dot(n, w, w)
        r[i] = reduced(n, w, b[begin + i], S, s, D, done, p, C[begin + i])
        for c in range(free):
            columns[c, i] = w[live[c]]
    rank = triangular(m, free, columns, live, r, size)
    backwards(rank, m, columns, r)
    for k in range(rank):
        fill(n, 0.0, S[p + k])
        S[p + k, live[k]] = 1.0
        s[p + k] = r[k]
        D[p + k] = live[k]
        copy(m + 2, columns[k], H[p + k])
    for c in range(rank, free):
        if dot(rank, columns[c], columns[c]) > 0.0:
            backwards(rank, m, columns, columns[c])
            for k in range(rank):
                S[p + k, live[c]] = columns[c, k]
    return rank


def pushes(m: int, rank: int, p: int, H: Matrix, t: Vector, r: Vector) -> None:
    """``r`` (m) of least norm with ``(Q R1)' r = t``, of the pivots from ``p`` on."""
    fill(m, 0.0, r)
    for k in range(rank):
        r[k] = (t[p + k] - dot(k, H[p + k], r)) / H[p + k, m]
    for k in range(rank - 1, -1, -1):
        x = H[p + k][k:]
        add(m - k, -H[p + k, m + 1] * dot(m - k, x, r[k:]), x, r[k:])


def balanced(
    n: int, level: int, done: int, standing: int, ends: Integers, starts: Integers, ranks: Integers, S: Matrix,
    D: Integers, L: Matrix, B: Matrix, b: Vector, C: Matrix, H: Matrix, x: Vector, w: Vector, t: Vector, r: Vector,
    sizes: Vector,
) -> float:  # fmt: skip
    """The multipliers ``t[done:]`` of limits that are held, for one level; what is left of its gradient, relative to
    its size, which is in ``sizes[0]``.

    The gradient ``-A' (A x - b)`` is a sum of pivot rows, hence of the rows of levels before and of these limits.
    """
    fill(n, 0.0, w)
    for i in range(ends[level], ends[level + 1]):
        add(n, dot(n, B[i], x) - b[i], B[i], w)
    size = size_of(n, w)
    size = size if size > 1.0 else 1.0
    for k in range(done, starts[level]):
        t[k] = -w[D[k]]
        add(n, t[k], S[k], w)
    for before in range(level - 1, -1, -1):
        if ranks[before] > 0:
            pushes(ends[before + 1] - ends[before], ranks[before], starts[before], H, t, r)
            for i in range(ends[before + 1] - ends[before]):
                add(starts[before] - done, -r[i], C[ends[before] + i][done:], t[done:])
    for k in range(done + standing - 1, done - 1, -1):
        for i in range(k + 1, done + standing):
            t[k] -= L[i, k] * t[i]
        t[k] = t[k] / L[k, k]
    sizes[0] = size
    return size_of(n, w) / size


# all of it ------------------------------------------------------------------------------------------------------------


def solve(
    sizes: Integers, kept: Matrix, given: Matrix, where: Integers, value: Vector, root: Vector, lower: Vector,
    ends: Integers, held: Integers, x: Vector, multipliers: Vector, misses: Vector, ranks: Integers, report: Vector,
    S: Matrix, s: Vector, D: Integers, L: Matrix, names: Integers, B: Matrix, b: Vector, C: Matrix, G: Matrix,
    g: Vector, known: Integers, columns: Matrix, live: Integers, used: Integers, H: Matrix, starts: Integers, w: Vector,
    t: Vector, r: Vector, signs: Vector,
) -> int:  # fmt: skip
    """See the module.  ``sizes``: columns, equations of the first and of the second kind, levels, limits, the first
    column that others than equations of the first kind should take.  Rows are those of equations, levels, limits, in
    this order; ``value`` is their right side, of limits the upper one.  ``held`` is -1, 0 or 1 for each limit: the
    guess, and then the answer.

    Beside ``x`` and ``multipliers``, ``misses`` are ``A x - b`` of all levels, and ``report`` has the equation that
    contradicts others, the rounds, how far from optimal the answer is, and how many limits are still wrong.  The rest
    is memory.
    """
    n, first, equations, levels, limits, split = sizes[0], sizes[1], sizes[1] + sizes[2], sizes[3], sizes[4], sizes[5]
    rows = ends[levels]
    done = 0
    for i in range(equations):
        fetch(n, i, kept, given, where, S[done])
        s[done] = value[i]
        size = size_of(n, S[done])
        if taken(n, 0 if i < first else split, size, 0, done, S, s, D, L[done]):
            done += 1
        elif abs(s[done]) > CONTRADICTED * (1.0 + abs(value[i])):
            report[0] = i
            return CONTRADICTION
    for i in range(limits + levels):
        known[i] = 0
    outcome = UNFINISHED
    for attempt in range(ROUNDS):
        p = done
        for i in range(limits):
            multipliers[i] = 0.0
            signs[i] = 0.0
            if held[i] != 0:
                if known[i] == 0:
                    fetch(n, equations + rows + i, kept, given, where, G[i])
                    g[i] = reduced(n, G[i], 0.0, S, s, D, 0, done, w)
                    known[i] = 1
                copy(n, G[i], S[p])
                s[p] = g[i] + (value[equations + rows + i] if held[i] > 0 else lower[i])
                if p < n and taken(n, split, size_of(n, S[p]), done, p, S, s, D, L[p]):
                    names[p] = i
                    p += 1
                else:
                    held[i] = 0
        standing = p - done
        for level in range(levels):
            begin, m = ends[level], ends[level + 1] - ends[level]
            starts[level], ranks[level] = p, 0
            if p < n and m > 0:
                if known[limits + level] == 0:
                    freed(n, begin, m, equations, done, kept, given, where, value, root, S, s, D, B, b, w)
                    known[limits + level] = 1
                ranks[level] = settled(n, begin, m, done, p, S, s, D, B, b, C, columns, live, used, H, w, r)
                p += ranks[level]
        back(n, p, S, s, D, x)
        worst, undecided = 0.0, standing
        for level in range(levels):
            if ends[level + 1] > ends[level] and (undecided > 0 or ranks[level] > 0):
                if known[limits + level] == 0:
                    begin, m = ends[level], ends[level + 1] - ends[level]
                    freed(n, begin, m, equations, done, kept, given, where, value, root, S, s, D, B, b, w)
                    known[limits + level] = 1
                off = balanced(n, level, done, standing, ends, starts, ranks, S, D, L, B, b, C, H, x, w, t, r, report)
                worst = off if off > worst else worst
                for k in range(done, done + standing):
                    i = names[k]
                    if signs[i] == 0.0 and abs(t[k]) > WRONG * report[0]:
                        signs[i] = t[k] * held[i]
                        multipliers[i] = t[k]
                        undecided -= 1
        wrong, most, tight, least, loose = 0, 0.0, -1, 0.0, -1
        for i in range(limits):
            row = equations + rows + i
            if held[i] != 0:
                if signs[i] < 0.0:
                    wrong += 1
                if signs[i] < least:
                    least, loose = signs[i], i
            else:
                here = along(n, row, kept, given, where, x)
                over, under = (here - value[row]) / (1.0 + abs(value[row])), (lower[i] - here) / (1.0 + abs(lower[i]))
                used[i] = 1 if over > under else -1
                over = over if over > under else under
                if over > VIOLATED:
                    wrong += 1
                if over > VIOLATED and over > most:
                    most, tight = over, i
        report[1], report[2], report[3] = attempt + 1.0, worst, wrong
        if wrong == 0:
            outcome = SOLVED
            break
        if attempt == ROUNDS // 2:
            for i in range(limits):
                held[i] = 0
        else:
            if tight >= 0:
                held[tight] = used[tight]
            if loose >= 0:
                held[loose] = 0
    for i in range(rows):
        misses[i] = along(n, equations + i, kept, given, where, x) - value[equations + i]
    for c in range(n):
        if not abs(x[c]) < 1e200:
            return NOT_FINITE
    return outcome


SOLVER = Written(
    add, dot, copy, fill, size_of, fetch, along, reduced, freed, taken, back, triangular, backwards, settled, pushes,
    balanced, solve,
)  # fmt: skip
