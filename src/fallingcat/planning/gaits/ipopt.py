"""IPOPT problem of gaits, and its solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import Interrupted
from ...model import Model
from .interrupts import ctrl_c, interrupt_callback
from .objectives import Aim
from .transcription import Transcription

MAX_EXACT_SIZE = 70
"""Number of unknowns times joints up to which second derivatives are exact."""
POINTS_PER_HARMONIC = 32
"""Number of points for each harmonic at which shapes are held within limits."""
SOLVED_STATUSES = ("Solve_Succeeded",)
"""Status of IPOPT where it has found an optimum."""
INTERRUPTED_STATUS = "User_Requested_Stop"
"""Status of IPOPT after an interrupt."""
INFEASIBLE_STATUSES = ("Infeasible_Problem_Detected", "Restoration_Failed", "Not_Enough_Degrees_Of_Freedom")
"""Statuses of IPOPT where there is no solution."""


@dataclass(frozen=True, eq=False)
class GaitProblem:
    """Maximum of an objective minus ``weight`` times effort; or, with a target, the least effort that reaches it."""

    model: Model
    """with the joints that move and no others"""
    aim: Aim
    target: float | None
    effort: str
    weight: float
    budget: float | None
    low: np.ndarray
    high: np.ndarray
    harmonics: int

    @property
    def is_bounded(self) -> bool:
        """True if limits, weight, budget or target keep the gait finite."""
        limited = bool(np.isfinite(self.high - self.low).all())
        return limited or self.weight > 0.0 or self.budget is not None or self.target is not None


class Solution(NamedTuple):
    """Solution of IPOPT."""

    x: np.ndarray
    value: float
    effort: float
    message: str
    iterations: int
    gradient: float
    """largest entry of the gradient of the Lagrangian"""
    multipliers: Any

    @property
    def status(self) -> str:
        """Status: ``optimal``, ``infeasible``, ``unfinished`` or ``interrupted``."""
        if self.message == INTERRUPTED_STATUS:
            return "interrupted"
        return (
            "optimal"
            if self.message in SOLVED_STATUSES
            else "infeasible"
            if self.message in INFEASIBLE_STATUSES
            else "unfinished"
        )


class Solver:
    """Problem with a fixed number of integration steps."""

    def __init__(self, question: GaitProblem, steps: int) -> None:
        """Build the program."""
        self.gait_problem, model = question, question.model
        self.graph = Transcription(model, question.harmonics, steps, question.effort)
        casadi = self.casadi = self.graph.casadi
        x, weight = casadi.MX.sym("x", self.graph.size), casadi.MX.sym("weight")
        pose, effort, logs = self.graph.function(x)
        value = question.aim.of_graph(casadi, model, pose, logs)
        cost = effort if question.target is not None else weight * effort - question.aim.sign * value
        extra = [*([] if question.target is None else [value]), *([] if question.budget is None else [effort])]
        self.stops = np.flatnonzero(np.isfinite(question.low) | np.isfinite(question.high))
        self.count = POINTS_PER_HARMONIC * (1 + question.harmonics)
        shapes = self.graph.shapes(x, np.arange(self.count) / self.count)[self.stops.tolist(), :]
        g = casadi.vertcat(*extra, casadi.vec(shapes))
        self.problem = {"x": x, "p": weight, "f": cost, "g": g}
        self.outcome = casadi.Function("outcome", [x], [value, effort])
        """coefficients -> value, effort"""
        multipliers = casadi.MX.sym("m", g.shape[0])
        pull = casadi.gradient(cost + casadi.dot(multipliers, g), x)
        self.lagrangian_gradient = casadi.Function("pull", [x, weight, multipliers], [pull])
        """coefficients, weight, multipliers -> gradient of the Lagrangian"""

    def _bounds(self, margin: float) -> tuple[np.ndarray, np.ndarray]:
        asked = self.gait_problem
        first = [] if asked.target is None else [(asked.target, asked.target)]
        first += [] if asked.budget is None else [(0.0, asked.budget)]
        extra = np.array(first).reshape(-1, 2)
        low, high = asked.low[self.stops] + margin, asked.high[self.stops] - margin
        return np.hstack([extra[:, 0], np.tile(low, self.count)]), np.hstack([extra[:, 1], np.tile(high, self.count)])

    def solve(
        self,
        x: np.ndarray,
        weight: float,
        margin: float,
        most: int,
        tolerance: float,
        before: Solution | None = None,
        near: float = 1e-7,
    ) -> Solution:
        """Solve from ``x``, or from a solution ``before`` of a nearby problem; limits are ``margin`` narrower.

        Ctrl-C raises :class:`Interrupted` after the current iteration, with the answer so far.
        """
        ipopt: dict[str, Any] = {"print_level": 0, "sb": "yes", "max_iter": most, "tol": tolerance}
        ipopt["acceptable_iter"] = 0  # do not accept points that are only nearly optimal
        if self.graph.size * self.gait_problem.model.n > MAX_EXACT_SIZE:
            ipopt |= {"hessian_approximation": "limited-memory", "limited_memory_max_history": 30}
        start: dict[str, Any] = {"x0": x, "p": weight}
        if before is not None:
            ipopt |= {"warm_start_init_point": "yes", "mu_init": near}
            ipopt |= {f"warm_start_{what}_push": 0.01 * near for what in ("bound", "slack_bound", "mult_bound")}
            start["lam_g0"] = before.multipliers
        lower, upper = self._bounds(margin)
        with ctrl_c() as pressed:
            look = interrupt_callback(self.casadi, self.problem, pressed)
            options = {"print_time": False, "ipopt": ipopt, "iteration_callback": look}
            solver = self.casadi.nlpsol("gait", "ipopt", self.problem, options)
            found = solver(**start, lbg=lower, ubg=upper)
        at, multipliers, stats = np.asarray(found["x"]).ravel(), found["lam_g"], solver.stats()
        gradient = float(np.abs(np.asarray(self.lagrangian_gradient(at, weight, multipliers))).max())
        value, effort = (float(y) for y in self.outcome(at))
        count = stats["iter_count"] + (0 if before is None else before.iterations)
        words = INTERRUPTED_STATUS if pressed.is_set() else stats["return_status"]
        answer = Solution(at, value, effort, words, count, gradient, multipliers)
        if pressed.is_set():
            raise Interrupted("interrupted in the search for a gait", answer)
        return answer
