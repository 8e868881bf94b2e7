"""Feasibility-prone differential dynamic programming on the configuration group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.checks import choice, positive
from ..errors import ModelError
from ..model import State
from .evaluation import Evaluation, Expansion, Nodes, Penalties, Rows
from .problem import Problem, check_count, check_problem
from .result import KKT, OptimalResult, Status
from .riccati import Policy

STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Shares of an iteration's change that are tried, from the whole one on."""
MIN_DECREASE = 1e-4
"""Share of the expected decrease of the cost that a step must bring."""
MIN_DAMPING, FIRST_DAMPING, MAX_DAMPING = 1e-9, 1e-6, 1e9
"""Damping of the Hessian: the smallest, the first after a failure, and that at which a solver gives up."""
DAMPING_GROWTH, DAMPING_DECAY = 10.0, 0.2
"""Factors of the damping after a failure and after a success."""
MAX_GAP = 1e-9
"""Largest difference (m, rad, m/s, rad/s) between a node and the step before it in a motion."""
INITIAL_PENALTY = 10.0
"""Penalty of a squared constraint at first."""
PENALTY_GROWTH = 10.0
"""Factor of the penalties of constraints whose violation has not shrunk enough."""
MAX_PENALTY = 1e8
"""Penalty beyond which constraints are taken to contradict each other."""
ROUNDING, MAX_FLAT_STEPS = 1e-13, 5
"""Relative change of the cost that rounding hides, and the number of steps that are taken below it."""
SUFFICIENT_DECREASE = 0.25
"""Violation relative to the one before that needs no larger penalty."""


def solve(
    problem: Problem,
    forces: Any = None,
    states: State | None = None,
    *,
    method: str = "ddp",
    iterations: int = 200,
    tolerance: float = 1e-7,
    constraint_tolerance: float = 1e-6,
    threads: int = 1,
) -> OptimalResult:
    """Solve an optimal control problem.

    ``"ddp"`` is differential dynamic programming: Gauss-Newton Hessians of the residuals, multiple shooting (a guess of
    the states need not be a motion), bounds on the forces by projected Newton steps in the Riccati recursion, other
    constraints by an augmented Lagrangian.  ``"ipopt"`` hands the same problem to IPOPT through CasADi, by direct
    transcription; only it finds free times of phases.

    Args:
        problem: Problem.
        forces: Guess of the joint forces, ``n`` or ``steps x n``; None: zero.
        states: Guess of the states, ``steps + 1``; None: the motion under the guess of the forces.
        method: ``"ddp"`` or ``"ipopt"``, which needs the extra ``casadi``.
        iterations: Largest number of iterations.
        tolerance: Largest derivative of the Lagrangian by a state or a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.
        threads: Threads of ``"ddp"`` that share the nodes.

    Returns:
        Result; of an interrupted solver (Ctrl-C) the best motion so far.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> step = fc.simulation.step_derivatives(cat, dt=0.02)
        >>> def bend(model, state, forces, data):
        ...     return 10.0 * (state.joints - data)
        >>> def effort(model, state, forces, data):
        ...     return forces
        >>> problem = fc.optimal.Problem(step, cat.neutral(), 25, effort, bend, data=[0.5, 0.2])
        >>> fc.optimal.solve(problem).status
        <Status.CONVERGED: 'converged'>
    """
    choice(method, ("ddp", "ipopt"), "method")
    check_problem(problem)
    check_count(iterations, "iterations")
    positive(tolerance, "tolerance")
    positive(constraint_tolerance, "constraint_tolerance")
    if method == "ipopt":
        from .ipopt import solve_by_ipopt

        return solve_by_ipopt(problem, forces, states, iterations, tolerance, constraint_tolerance)
    solver = Solver(problem, tolerance, constraint_tolerance, threads)
    return solver.run(solver.motion.guess(forces, states), iterations)


class Outcome(NamedTuple):
    """Motion after some iterations."""

    nodes: Nodes
    found: Expansion | None
    """None: nothing needed it yet"""
    policy: Policy | None
    penalties: Penalties
    status: Status
    iterations: int


class Solver:
    """Iterations of :func:`solve`.

    Args:
        problem: Problem.
        tolerance: Largest derivative of the Lagrangian by a state or a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.
        threads: Threads that share the nodes.
    """

    def __init__(self, problem: Problem, tolerance: float, constraint_tolerance: float, threads: int = 1) -> None:
        if getattr(problem.dynamics, "free_times", False):
            raise ModelError("free times of phases are found by method='ipopt'; for 'ddp' each phase has one dt")
        self.problem, self.motion = problem, Evaluation(problem, threads)
        self.tolerance, self.constraint_tolerance = tolerance, constraint_tolerance

    # iterations -----------------------------------------------------------------------------------------------

    def run(self, nodes: Nodes, iterations: int) -> OptimalResult:
        """Result of :meth:`improved`."""
        return self.result(self.improved(nodes, iterations))

    def improved(self, nodes: Nodes, iterations: int, penalties: Penalties | None = None) -> Outcome:
        """Iterate to a minimum, with penalties that grow until the constraints hold."""
        penalties, violated = penalties or self.motion.penalties(INITIAL_PENALTY), np.inf
        found: Expansion | None = None
        policy, damping = None, MIN_DAMPING
        status, count, self._flat = Status.MAX_ITERATIONS, 0, MAX_FLAT_STEPS
        try:
            while count < iterations:
                count += 1
                found = found or self.motion.expanded(nodes, penalties)
                policy = self.policy(nodes, damping)
                minimum = policy is not None and self.is_minimum(policy, found)
                moved = None if policy is None or minimum else self.searched(nodes, found, policy, penalties)
                if moved is not None:
                    nodes, damping, found = moved, max(DAMPING_DECAY * damping, MIN_DAMPING), None
                elif not minimum and damping < MAX_DAMPING:
                    damping = max(DAMPING_GROWTH * damping, FIRST_DAMPING)
                else:  # nothing lowers the cost with these penalties
                    before, violated = violated, self.violation(found)[0]
                    if violated <= self.constraint_tolerance:
                        status = Status.CONVERGED if minimum else Status.STALLED
                        break
                    if penalties.weight >= MAX_PENALTY:
                        status = Status.INFEASIBLE
                        break
                    grow = violated > SUFFICIENT_DECREASE * before
                    penalties, damping, found = self.next_penalties(found, penalties, grow), MIN_DAMPING, None
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return Outcome(nodes, found, policy, penalties, status, count)

    def policy(self, nodes: Nodes, damping: float) -> Policy | None:
        """Change of the forces that the expansion asks for."""
        room, (low, high) = self.motion.recursion, self.problem.limits
        np.subtract(low, nodes.forces, out=room.low)
        np.subtract(high, nodes.forces, out=room.high)
        return room.policy(damping)

    def is_minimum(self, policy: Policy, found: Expansion) -> bool:
        """True if gradient and gaps vanish."""
        return policy.gradient <= self.tolerance * (1.0 + found.cost) and found.gap <= MAX_GAP

    # constraints ----------------------------------------------------------------------------------------------

    def violation(self, found: Expansion) -> tuple[float, str]:
        """Largest violation of a constraint, and where it is."""
        node, final = self.motion.equal
        worst, where = 0.0, ""
        for name, values, equal in (
            ("", found.rows.node[1:], node),
            ("final ", found.rows.final[None], final),
            ("friction cone", found.rows.cones, None),
        ):
            beyond = values if equal is None else np.where(equal, np.abs(values), values)
            if beyond.size and beyond.max() > worst:
                i, row = np.unravel_index(int(beyond.argmax()), beyond.shape)
                worst = float(beyond[i, row])
                if equal is None:
                    where = f"friction cone of {self.problem.dynamics.points[row // 2]!r} at node {i}"  # type: ignore[union-attr]
                    continue
                at = self.problem.steps if name else i + 1
                kind, first = ("equality", 0) if equal[row] else ("inequality", int(equal.sum()))
                where = f"row {row - first} of the {name}{kind} at node {at}"
        return worst, where

    def next_penalties(self, found: Expansion, penalties: Penalties, grow: bool) -> Penalties:
        """Multipliers after a minimum, and penalties that grow where the violation has not shrunk enough."""
        weight, old, rows = penalties.weight, penalties.multipliers, found.rows
        node, final = self.motion.equal
        new = []
        for m, c, equal in (
            (old.node, rows.node, node),
            (old.final, rows.final, final),
            (old.cones, rows.cones, False),
        ):
            moved = m + weight * c  # of inequalities never negative: they push one way only
            new.append(np.where(equal, moved, np.maximum(0.0, moved)))
        new[0][:1] = 0.0  # the start is given: forces cannot change its rows
        return Penalties(PENALTY_GROWTH * weight if grow else weight, Rows(*new))

    def complementarity(self, found: Expansion, penalties: Penalties) -> float:
        """Largest product of an inequality and its multiplier."""
        node, final = self.motion.equal
        own, rows = penalties.multipliers, found.rows
        products = (own.node[1:, ~node] * rows.node[1:, ~node], own.final[~final] * rows.final[~final])
        return max(float(np.abs(x).max(initial=0.0)) for x in (*products, own.cones * rows.cones))

    # line search ----------------------------------------------------------------------------------------------

    def searched(self, nodes: Nodes, about: Expansion, policy: Policy, penalties: Penalties) -> Nodes | None:
        """First of the step lengths that lowers cost and gaps together."""
        gap = about.gaps
        # a price above the largest multiplier makes the merit exact: no cost is worth an open gap
        price = 10.0 * float(np.abs(policy.adjoint).max()) if gap > 1e-9 else 0.0
        merit = about.cost + price * gap
        filled: Policy | None = policy
        for length in STEP_LENGTHS:
            moved = self.motion.followed(nodes, filled, length)
            filled = None  # the rows stay as they are
            if moved is None:
                continue
            left = (1.0 - length) * gap  # to first order
            decrease = merit - self.motion.cost(moved, penalties) - price * left
            expected = -length * (policy.slope + 0.5 * length * policy.curvature) + length * price * gap
            if decrease > 0.0 and decrease >= MIN_DECREASE * expected:
                return moved
            rounding = ROUNDING * (1.0 + abs(merit))
            if self._flat and abs(decrease) <= rounding and expected <= rounding:  # too little to be seen in the cost
                self._flat -= 1
                return moved
        return None

    # result ---------------------------------------------------------------------------------------------------

    def result(self, outcome: Outcome) -> OptimalResult:
        """Result of iterations, with the gains of the undamped policy about it."""
        nodes, found = outcome.nodes, outcome.found
        if found is None or outcome.status is Status.INTERRUPTED:  # perhaps in the middle of an expansion
            found = self.motion.expanded(nodes, outcome.penalties)
        policy = self.policy(nodes, MIN_DAMPING) or outcome.policy
        violation, where = self.violation(found)
        gradient = np.inf if policy is None else policy.gradient
        return OptimalResult(
            problem=self.problem,
            states=self.problem.model.unflatten(nodes.q, nodes.v),
            forces=nodes.forces,
            gains=self.motion.recursion.K.copy(),
            memory=nodes.memory,
            cost=found.plain,
            status=outcome.status,
            iterations=outcome.iterations,
            kkt=KKT(gradient, found.gap, violation, self.complementarity(found, outcome.penalties)),
            violated=where,
            contact_forces=nodes.contact.reshape(len(nodes.forces), -1, 3),
            times=self.problem.stepping.times,
        )
