"""Lexicographic least squares under equations and limits, in plain loops that are compiled.

Find ``x`` with ``E x = e`` and ``lower <= G x <= upper`` that makes ``|A_1 x - b_1|`` least, among those
``|A_2 x - b_2|``, and so on.  Some limits are held as if they were equations; then the limit that is violated most is
held too, and the one whose multiplier is most wrong released, until there is none.  Strict priorities are weights
whose ratio is infinite, so the sign of a multiplier is that of the first level that depends on it.  A good guess of
the active limits - that of the last tick - is right in the first round.  Rounds may cycle, which is rare and reported;
every solution comes with its violation of the optimality conditions.

With some limits held, all of it is one elimination, see :mod:`.hqp_elimination`.

A bounded problem ends after ``rounds`` with the iterate that violates limits least; where it violates some, drives keep
the torques of that iterate within their limits, and motion and contact forces follow from the equations of motion.
"""

from __future__ import annotations

from ..compiler.loop_compiler import LoopSource
from .householder import add, backwards, copy, dot, fill, size_of, triangular
from .hqp_elimination import (
    Found,
    Given,
    Memory,
    along,
    back,
    balanced,
    begun,
    climb,
    fetch,
    forget,
    freed,
    memory,
    pushes,
    reduced,
    settled,
    taken,
)
from .least_squares import RANK_TOLERANCE

__all__ = ["CONTRADICTION", "MAX_ROUNDS", "NOT_FINITE", "SOLVED", "SOLVER", "UNFINISHED", "Found", "Given", "memory"]

LIMIT_TOLERANCE = 1e-10
"""Tolerance of limits, relative to their size."""
MULTIPLIER_TOLERANCE = 1e-9
"""Tolerance of multipliers, relative to the gradients of their level."""
MAX_ROUNDS, RESTART_ROUND = 80, 40
"""Rounds at most; the second half starts anew, with no limit held."""
SOLVED, CONTRADICTION, UNFINISHED, NOT_FINITE = 0, 1, 2, 3


def hold(a: Given, f: Found, m: Memory, done: int) -> int:
    """Number of pivot rows with those of held limits; limits that depend on others are released."""
    p, first = done, a.equations + a.ends[a.levels]
    for i in range(a.limits):
        f.multipliers[i], m.signs[i] = 0.0, 0.0
        if f.held[i] != 0:
            if m.known[i] == 0:
                fetch(a, first + i, m.G[i])
                m.g[i] = reduced(a.n, m.G[i], 0.0, m, 0, done, m.w)
                m.known[i] = 1
            copy(a.n, m.G[i], m.S[p])
            m.s[p] = m.g[i] + (a.value[first + i] if f.held[i] > 0 else a.lower[i])
            if p < a.n and taken(a.n, a.split, done, p, m):
                m.names[p] = i
                p += 1
            else:
                f.held[i] = 0
    return p


def weigh(a: Given, f: Found, m: Memory, done: int, standing: int) -> float:
    """Violation of the optimality conditions with these limits held; sets multipliers, of the first level with one."""
    worst, undecided = 0.0, standing
    for level in range(a.levels):
        if a.ends[level + 1] > a.ends[level] and (undecided > 0 or f.ranks[level] > 0):
            freed(a, m, level, done)
            off = balanced(a, f, m, level, done, standing)
            worst = off if off > worst else worst
            for k in range(done, done + standing):
                i = m.names[k]
                if m.signs[i] == 0.0 and abs(m.t[k]) > MULTIPLIER_TOLERANCE * f.report[0]:
                    m.signs[i] = m.t[k] * f.held[i]
                    f.multipliers[i] = m.t[k]
                    undecided -= 1
    return worst


def change(a: Given, f: Found, m: Memory, anew: bool) -> int:
    """Number of wrong limits; the most violated one is held, the most wrongly held one released, or all (``anew``)."""
    wrong, most, tight, least, loose, first = 0, 0.0, -1, 0.0, -1, a.equations + a.ends[a.levels]
    for i in range(a.limits):
        if f.held[i] != 0:
            if m.signs[i] < 0.0:
                wrong += 1
            if m.signs[i] < least:
                least, loose = m.signs[i], i
        else:
            here, upper, lower = along(a, first + i, f.x), a.value[first + i], a.lower[i]
            over, under = (here - upper) / (1.0 + abs(upper)), (lower - here) / (1.0 + abs(lower))
            m.sides[i] = 1 if over > under else -1
            over = over if over > under else under
            if over > LIMIT_TOLERANCE:
                wrong += 1
            if over > LIMIT_TOLERANCE and over > most:
                most, tight = over, i
    f.report[4] = most
    if tight >= 0:
        f.held[tight] = m.sides[tight]
    if loose >= 0:
        f.held[loose] = 0
    if anew and wrong > 0:
        for i in range(a.limits):
            f.held[i] = 0
    return wrong


def independent(n: int, m: Memory, p: int) -> bool:
    """True if row ``p`` is independent of the pivot rows before it, beyond the rounding of its elimination."""
    copy(n, m.S[p], m.w)
    largest = size_of(n, m.w)
    for k in range(p):
        times = m.w[m.D[k]]
        if times != 0.0:
            grown = abs(times) * size_of(n, m.S[k])
            largest = grown if grown > largest else largest
            add(n, -times, m.S[k], m.w)
            m.w[m.D[k]] = 0.0
    return size_of(n, m.w) > RANK_TOLERANCE * largest


def agreeing(a: Given, m: Memory, first: int, end: int, split: int, done: int) -> int:
    """Number of pivot rows with equations ``first`` to ``end``; those that depend on others are left out."""
    for i in range(first, end):
        fetch(a, i, m.S[done])
        m.s[done] = a.value[i]
        if done < a.n and independent(a.n, m, done) and taken(a.n, split, 0, done, m):
            done += 1
    return done


def driven(a: Given, m: Memory, done: int) -> int:
    """Number of pivot rows with those of all torques, which are those of the best iterate within their limits."""
    first = a.equations + a.torques
    for j in range(a.joints):
        fetch(a, first + j, m.S[done])
        torque, i = along(a, first + j, m.best), a.drives[j]
        if i >= 0:
            upper, lower = a.value[a.equations + a.ends[a.levels] + i], a.lower[i]
            torque = upper if torque > upper else torque
            torque = lower if torque < lower else torque
        m.s[done] = torque
        if done < a.n and taken(a.n, 0, 0, done, m):
            done += 1
    return done


def within_drives(a: Given, f: Found, m: Memory) -> None:
    """Motion and contact forces of the best iterate's torques, within their limits.

    Equations of motion come first, then contacts that agree with them; what is left, internal forces, becomes least.
    """
    done = agreeing(a, m, a.late, a.equations, 0, 0)
    done = agreeing(a, m, 0, a.late, 0, driven(a, m, done))
    forget(a, m)
    freed(a, m, a.forces, done)
    back(a.n, done + settled(a, m, a.forces, done, done), m, f.x)


def iterate(a: Given, f: Found, m: Memory, done: int) -> int:
    """Rounds of the active set; the best iterate is kept."""
    least = 1e300
    for attempt in range(a.rounds):
        held = hold(a, f, m, done)
        back(a.n, climb(a, f, m, done, held), m, f.x)
        f.report[2] = weigh(a, f, m, done, held - done)
        f.report[3] = change(a, f, m, attempt == RESTART_ROUND)
        f.report[1] = attempt + 1
        if f.report[4] <= least:
            least = f.report[4]
            copy(a.n, f.x, m.best)
        if f.report[3] == 0.0:
            return SOLVED
    f.report[4] = least
    return UNFINISHED


def solve(a: Given, f: Found, m: Memory) -> int:
    """Status of the solution, see the module."""
    done = begun(a, f, m)
    f.report[5] = 0.0
    if done < 0:
        if a.bounded == 0:
            return CONTRADICTION
        f.report[5] = 1.0
        done = agreeing(a, m, 0, a.late, 0, agreeing(a, m, a.late, a.equations, a.split, 0))
        forget(a, m)
    outcome = iterate(a, f, m, done)
    if outcome == UNFINISHED and a.bounded != 0:
        copy(a.n, m.best, f.x)
        if f.report[4] > 0.0:
            within_drives(a, f, m)
    for i in range(a.ends[a.levels]):
        f.misses[i] = along(a, a.equations + i, f.x) - a.value[a.equations + i]
    for c in range(a.n):
        # "not <" also finds NaN
        if not abs(f.x[c]) < 1e200:
            return NOT_FINITE
    return outcome


SOLVER = LoopSource(
    add, dot, copy, fill, size_of, fetch, along, reduced, taken, back, triangular, backwards, freed, settled, pushes,
    balanced, forget, begun, climb, hold, weigh, change, independent, agreeing, driven, within_drives, iterate, solve,
)  # fmt: skip
