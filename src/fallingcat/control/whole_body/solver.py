"""Memory and compiled solver of the whole-body problem of one robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError, NumericsError
from ...model import Model
from ...qp.compiled_hqp import (
    CONTRADICTION,
    LIMIT_TOLERANCE,
    MAX_ROUNDS,
    NOT_FINITE,
    SOLVED,
    SOLVER,
    HQPProblem,
    HQPSolution,
    memory,
)
from ...qp.hqp_reference import limited_least_squares
from ...qp.least_squares import RANK_TOLERANCE, Level
from .plan import Plan, plan_of
from .problem import UNBOUNDED, ProblemKind, TorqueLimits, efforts

MAX_OPTIMALITY_ERROR = 1e-8
"""Largest violation of the optimality conditions, relative to the gradients; above it the reference solver is used."""
PROBLEMS_AT_ONCE = 256
"""Number of problems that are posed together: their numbers fit into the processor's cache."""


class Solution(NamedTuple):
    """Solution; its arrays may be overwritten by the next problem."""

    x: np.ndarray
    """``[acceleration; forces / mass]``"""
    misses: np.ndarray
    """``A x - b`` of all levels"""
    multipliers: np.ndarray
    """multiplier of each limit, negative at a lower bound"""
    ranks: tuple[int, ...]
    optimality: float
    rounds: int
    excess: np.ndarray
    """relaxation of each limit where limits contradict each other"""
    interrupted: bool = False
    """True if the rounds ended before the optimum"""
    contradiction: bool = False
    """True if contacts contradict each other, and some were left out"""


class Solver:
    """Solver ``solve(q, v, numbers)`` that starts each time from the limits active in the last solution.

    With ``rounds`` it ends after as many, with an answer that fulfils the equations of motion and the limits of drives.
    """

    def __init__(self, model: Model, plan: Plan, rounds: int | None = None) -> None:
        """Allocate the memory, and bind the compiled solver to it."""
        self.model, self.plan, self.rounds, shape = model, plan, rounds, plan.shape
        n, rows, limits, levels = shape.n, shape.ends[-1], len(shape.limits), len(shape.ends) - 1
        given, m = int(plan.row_indices.max(initial=-1)) + 1, int(np.diff(shape.ends).max())
        parts = np.cumsum([given * n, shape.first_limit + limits, rows])
        self._flat_problem, self._zeros = (np.zeros(parts[-1] + limits) for _ in range(2))
        first, self.value, self.root, self.lower = np.split(self._flat_problem, parts)
        problem = HQPProblem(
            n, shape.equations, levels, limits, shape.contact_rows, shape.accelerations,
            plan.constant_rows, first.reshape(given, n), plan.row_indices, self.value, self.root, self.lower,
            np.array(shape.ends), rounds or MAX_ROUNDS, int(rounds is not None), plan.torque_rows.start,
            2 * levels - 3 - plan.setup.torque_level, model.n, _drive_limits(model, plan.setup),
        )  # fmt: skip
        x, multipliers, misses, report = (np.zeros(k) for k in (n, limits, rows, 6))
        held, ranks = (np.zeros(k, np.int64) for k in (limits, levels))
        self.problem, self.solution = problem.changing_rows, HQPSolution(held, x, multipliers, misses, ranks, report)
        self._go = SOLVER.bound(problem, self.solution, memory(n, rows, limits, levels, m))

    def __reduce__(self) -> Any:
        """Pickle by robot and problem, with the numbers of the memory."""
        return _rebuild_solver, (self.model, self.plan.setup, self.rounds, (self._flat_problem, *self.solution))

    def solve(self, q: np.ndarray, v: np.ndarray, numbers: np.ndarray) -> Solution:
        """Solution from the guess in ``active_sides``; by the reference solver where the compiled one fails."""
        posed = self.plan.kernel(q, v, numbers)
        if posed.ndim != 1:
            raise ModelError(f"q must have shape ({self.model.nq},), got {np.shape(q)}: one state at a time")
        if posed @ self._zeros != 0.0:  # a cheap test of finiteness: 0 * inf and 0 * nan are nan
            raise NumericsError(self._not_finite(q, v))
        return self._solution_at(posed, q, v)

    def solve_batch(self, q: np.ndarray, v: np.ndarray, numbers: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Torques (N x n) of many states (N x nq, N x nv), NaN where a state is not finite.

        Each starts from its guess in ``held`` (N x limits), which is overwritten by the active limits.  ``numbers`` are
        those of all of them, or of each (N x count).
        """
        torques = np.full((len(q), self.model.n), np.nan)
        for first in range(0, len(q), PROBLEMS_AT_ONCE):
            part = slice(first, first + PROBLEMS_AT_ONCE)
            posed = self.plan.kernel(q[part], v[part], numbers[part] if numbers.ndim == 2 else numbers)
            for i in first + np.flatnonzero(np.isfinite(posed).all(axis=1)):
                self.solution.active_sides[:] = held[i]
                try:
                    torques[i] = self.torques(self._solution_at(posed[i - first], q[i], v[i]))
                except NumericsError as error:
                    raise NumericsError(f"robot {i}: {error}") from None
                held[i] = self.solution.active_sides
        return torques

    def _solution_at(self, posed: np.ndarray, q: np.ndarray, v: np.ndarray) -> Solution:
        """Solution of the problem of the kernel, at ``q`` and ``v``."""
        self._flat_problem[:] = posed
        code = self._go()
        if code == CONTRADICTION:
            raise NumericsError(self._contradiction(int(self.solution.report[0])))
        if code == NOT_FINITE:
            raise NumericsError(self._not_finite(q, v))
        f, (_, rounds, worst, _, _, relaxed) = self.solution, self.solution.report.tolist()
        unfinished = code != SOLVED or worst > MAX_OPTIMALITY_ERROR
        if unfinished and self.rounds is None:
            return self._reference_solution()
        ranks = tuple(f.ranks.tolist())
        return Solution(f.x, f.misses, f.multipliers, ranks, worst, int(rounds), _NO_NUMBERS, unfinished, relaxed > 0.0)

    def torques(self, found: Solution) -> np.ndarray:
        """Joint torques (n) ``M a + h - J' f``."""
        return found.misses[self.plan.torque_rows].copy()

    def rows(self, first: int, end: int) -> np.ndarray:
        """Rows of the last problem."""
        where = self.plan.row_indices[first:end]
        found = [self.plan.constant_rows[-1 - i] if i < 0 else self.problem[i] for i in where]
        return np.array(found).reshape(-1, self.plan.shape.n)

    def excess(self, x: np.ndarray) -> np.ndarray:
        """Violation of each limit of the last problem."""
        here, first = self.rows(self.plan.shape.first_limit, len(self.value)) @ x, self.plan.shape.first_limit
        over = np.maximum(here - self.value[first:], self.lower - here)
        return np.where(over > LIMIT_TOLERANCE * (1.0 + np.abs(self.value[first:])), over, 0.0)

    def _reference_solution(self) -> Solution:
        """Reference solution by singular values and a primal active set, for contradictory or degenerate limits.

        It starts where drives and friction are within their limits, so that those of velocities are relaxed first.
        """
        shape = self.plan.shape
        U, d, Vt = np.linalg.svd(self.rows(0, shape.equations))
        rank = int((d > RANK_TOLERANCE * d.max(initial=0.0)).sum())
        x = Vt[:rank].T @ ((U[:, :rank].T @ self.value[: shape.equations]) / d[:rank])
        Z = Vt[rank:].T
        G = self.rows(shape.first_limit, len(self.value))
        below = np.flatnonzero(self.lower > UNBOUNDED)
        sides, of = np.vstack([G, -G[below]]), np.append(np.arange(len(G)), below)
        most = np.append(self.value[shape.first_limit :], -self.lower[below])
        first = np.flatnonzero(~shape.relaxed[of])
        begun = limited_least_squares([], sides[first] @ Z, most[first] - sides[first] @ x, Z.shape[1])
        x, excess = x + Z @ begun.x, np.zeros(len(of))
        excess[first] = begun.excess
        A, b = self.rows(shape.equations, shape.first_limit), self.value[shape.equations : shape.first_limit]
        parts = [slice(*pair) for pair in zip(shape.ends[:-1], shape.ends[1:], strict=True)]
        levels = [Level(A[i] @ Z, b[i] - A[i] @ x, self.root[i] ** 2) for i in parts]
        room = most + excess - sides @ x
        room[first] = np.maximum(room[first], 0.0)  # feasible but for rounding
        found = limited_least_squares(levels, sides @ Z, room, Z.shape[1])
        pushes, excess = found.multipliers.copy(), excess + found.excess
        pushes[first] = np.where(begun.excess.any(), np.maximum(pushes[first], begun.multipliers), pushes[first])
        multipliers = pushes[: len(G)] - np.bincount(below, pushes[len(G) :], len(G))
        x = x + Z @ found.x
        self.solution.active_sides[:] = np.sign(multipliers)
        ranks, residual = tuple(self.solution.ranks.tolist()), max(begun.residual, found.residual)
        return Solution(x, A @ x - b, multipliers, ranks, residual, 0, np.bincount(of, excess, len(G)))

    def _contradiction(self, row: int) -> str:
        if row < self.plan.shape.contact_rows:
            places = ", ".join(self.plan.setup.contacts)
            return f"contacts of {self.model.name!r} contradict each other: {places} cannot all be without acceleration"
        return f"contacts of {self.model.name!r} need forces that no drive and no contact can exert"

    def _not_finite(self, q: np.ndarray, v: np.ndarray) -> str:
        """Message that names the measurement that is not finite, if it is one."""
        for what, x in (("q", q), ("v", v)):
            if not np.isfinite(x).all():
                return f"{what}[{int(np.argmin(np.isfinite(x)))}] of {self.model.name!r} is not finite"
        return f"desired accelerations of these tasks of {self.model.name!r} are not finite"


def _drive_limits(model: Model, setup: ProblemKind) -> np.ndarray:
    """Index of the limit of each torque, the tightest of several; -1: none."""
    found, row, least = np.full(model.n, -1), 0, np.inf
    for limit in setup.limits:
        if isinstance(limit, TorqueLimits):
            places = efforts(model)[0]
            if limit.fraction < least:
                found[places], least = row + np.arange(len(places)), limit.fraction
            row += len(places)
        else:
            row += len(limit.rows(model, model.neutral()).h)
    return found


def _rebuild_solver(model: Model, setup: ProblemKind, rounds: int | None, memory: tuple[np.ndarray, ...]) -> Solver:
    """Solver with new memory and the same contents: machine code holds the addresses of its arrays."""
    solver = Solver(model, plan_of(model, setup), rounds)
    for mine, kept in zip((solver._flat_problem, *solver.solution), memory, strict=True):
        mine[:] = kept
    return solver


_NO_NUMBERS = np.zeros(0)
