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
from .householder import add, back_substitute, copy, dot, fill, size_of, triangular
from .hqp_elimination import (
    HQPProblem,
    HQPSolution,
    Memory,
    accept_pivot,
    back,
    climb,
    eliminate_constraints,
    eliminate_level,
    eliminate_value,
    fetch,
    forget,
    memory,
    project_level,
    remaining_gradient,
    row_product,
    solve_multipliers,
)
from .least_squares import RANK_TOLERANCE

__all__ = [
    "CONTRADICTION",
    "MAX_ROUNDS",
    "NOT_FINITE",
    "OUT_OF_ROUNDS",
    "SOLVED",
    "SOLVER",
    "HQPProblem",
    "HQPSolution",
    "memory",
]

LIMIT_TOLERANCE = 1e-10
"""Tolerance of limits, relative to their size."""
MULTIPLIER_TOLERANCE = 1e-9
"""Tolerance of multipliers, relative to the gradients of their level."""
MAX_ROUNDS, RESTART_ROUND = 80, 40
"""Rounds at most; the second half starts anew, with no limit held."""
SOLVED, CONTRADICTION, OUT_OF_ROUNDS, NOT_FINITE = 0, 1, 2, 3


def eliminate_held_limits(a: HQPProblem, f: HQPSolution, m: Memory, done: int) -> int:
    """Number of pivot rows with those of held limits; limits that depend on others are released."""
    p, first = done, a.equations + a.ends[a.levels]
    for i in range(a.limits):
        f.multipliers[i], m.signs[i] = 0.0, 0.0
        if f.active_sides[i] != 0:
            if m.known_flags[i] == 0:
                fetch(a, first + i, m.G[i])
                m.g[i] = eliminate_value(a.n, m.G[i], 0.0, m, 0, done, m.w)
                m.known_flags[i] = 1
            copy(a.n, m.G[i], m.S[p])
            m.s[p] = m.g[i] + (a.value[first + i] if f.active_sides[i] > 0 else a.lower[i])
            if p < a.n and accept_pivot(a.n, a.split_column, done, p, m):
                m.names[p] = i
                p += 1
            else:
                f.active_sides[i] = 0
    return p


def weigh(a: HQPProblem, f: HQPSolution, m: Memory, done: int, standing: int) -> float:
    """Violation of the optimality conditions with these limits held; sets multipliers, of the first level with one."""
    worst, undecided = 0.0, standing
    for level in range(a.levels):
        if a.ends[level + 1] > a.ends[level] and (undecided > 0 or f.ranks[level] > 0):
            project_level(a, m, level, done)
            off = remaining_gradient(a, f, m, level, done, standing)
            worst = off if off > worst else worst
            for k in range(done, done + standing):
                i = m.names[k]
                if m.signs[i] == 0.0 and abs(m.t[k]) > MULTIPLIER_TOLERANCE * f.report[0]:
                    m.signs[i] = m.t[k] * f.active_sides[i]
                    f.multipliers[i] = m.t[k]
                    undecided -= 1
    return worst


def change(a: HQPProblem, f: HQPSolution, m: Memory, anew: bool) -> int:
    """Number of wrong limits; the most violated one is held, the most wrongly held one released, or all (``anew``)."""
    wrong, most, tight, least, loose, first = 0, 0.0, -1, 0.0, -1, a.equations + a.ends[a.levels]
    for i in range(a.limits):
        if f.active_sides[i] != 0:
            if m.signs[i] < 0.0:
                wrong += 1
            if m.signs[i] < least:
                least, loose = m.signs[i], i
        else:
            here, upper, lower = row_product(a, first + i, f.x), a.value[first + i], a.lower[i]
            over, under = (here - upper) / (1.0 + abs(upper)), (lower - here) / (1.0 + abs(lower))
            m.sides[i] = 1 if over > under else -1
            over = over if over > under else under
            if over > LIMIT_TOLERANCE:
                wrong += 1
            if over > LIMIT_TOLERANCE and over > most:
                most, tight = over, i
    f.report[4] = most
    if tight >= 0:
        f.active_sides[tight] = m.sides[tight]
    if loose >= 0:
        f.active_sides[loose] = 0
    if anew and wrong > 0:
        for i in range(a.limits):
            f.active_sides[i] = 0
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


def eliminate_equations(a: HQPProblem, m: Memory, first: int, end: int, split: int, done: int) -> int:
    """Number of pivot rows with equations ``first`` to ``end``; those that depend on others are left out."""
    for i in range(first, end):
        fetch(a, i, m.S[done])
        m.s[done] = a.value[i]
        if done < a.n and independent(a.n, m, done) and accept_pivot(a.n, split, 0, done, m):
            done += 1
    return done


def eliminate_torques(a: HQPProblem, m: Memory, done: int) -> int:
    """Number of pivot rows with those of all torques, which are those of the best iterate within their limits."""
    first = a.equations + a.torques
    for j in range(a.joints):
        fetch(a, first + j, m.S[done])
        torque, i = row_product(a, first + j, m.best_iterate), a.drives[j]
        if i >= 0:
            upper, lower = a.value[a.equations + a.ends[a.levels] + i], a.lower[i]
            torque = upper if torque > upper else torque
            torque = lower if torque < lower else torque
        m.s[done] = torque
        if done < a.n and accept_pivot(a.n, 0, 0, done, m):
            done += 1
    return done


def within_drives(a: HQPProblem, f: HQPSolution, m: Memory) -> None:
    """Motion and contact forces of the best iterate's torques, within their limits.

    Equations of motion come first, then contacts that agree with them; what is left, internal forces, becomes least.
    """
    done = eliminate_equations(a, m, a.late_begin, a.equations, 0, 0)
    done = eliminate_equations(a, m, 0, a.late_begin, 0, eliminate_torques(a, m, done))
    forget(a, m)
    project_level(a, m, a.forces, done)
    back(a.n, done + eliminate_level(a, m, a.forces, done, done), m, f.x)


def iterate(a: HQPProblem, f: HQPSolution, m: Memory, done: int) -> int:
    """Rounds of the active set; the best iterate is kept."""
    least = 1e300
    for attempt in range(a.rounds):
        held = eliminate_held_limits(a, f, m, done)
        back(a.n, climb(a, f, m, done, held), m, f.x)
        f.report[2] = weigh(a, f, m, done, held - done)
        f.report[3] = change(a, f, m, attempt == RESTART_ROUND)
        f.report[1] = attempt + 1
        if f.report[4] <= least:
            least = f.report[4]
            copy(a.n, f.x, m.best_iterate)
        if f.report[3] == 0.0:
            return SOLVED
    f.report[4] = least
    return OUT_OF_ROUNDS


def solve(a: HQPProblem, f: HQPSolution, m: Memory) -> int:
    """Status of the solution, see the module."""
    done = eliminate_constraints(a, f, m)
    f.report[5] = 0.0
    if done < 0:
        if a.within_drive_limits == 0:
            return CONTRADICTION
        f.report[5] = 1.0
        done = eliminate_equations(
            a, m, 0, a.late_begin, 0, eliminate_equations(a, m, a.late_begin, a.equations, a.split_column, 0)
        )
        forget(a, m)
    outcome = iterate(a, f, m, done)
    if outcome == OUT_OF_ROUNDS and a.within_drive_limits != 0:
        copy(a.n, m.best_iterate, f.x)
        if f.report[4] > 0.0:
            within_drives(a, f, m)
    for i in range(a.ends[a.levels]):
        f.misses[i] = row_product(a, a.equations + i, f.x) - a.value[a.equations + i]
    for c in range(a.n):
        # "not <" also finds NaN
        if not abs(f.x[c]) < 1e200:
            return NOT_FINITE
    return outcome


SOLVER = LoopSource(
    add, dot, copy, fill, size_of, fetch, row_product, eliminate_value, accept_pivot, back, triangular,
    back_substitute, project_level, eliminate_level, solve_multipliers, remaining_gradient, forget,
    eliminate_constraints, climb, eliminate_held_limits, weigh, change, independent, eliminate_equations,
    eliminate_torques, within_drives, iterate, solve,
)  # fmt: skip
