"""Feasibility-prone differential dynamic programming on the configuration group."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model import State
from .evaluation import Evaluation, Expansion, Nodes, Penalties, nodes_of
from .problem import Problem
from .result import OptimalResult, Status
from .riccati import Policy, backward

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
ENOUGH_SHRINKING = 0.25
"""Violation relative to the one before that needs no larger penalty."""


def solve(
    problem: Problem,
    forces: Any = None,
    states: State | None = None,
    *,
    iterations: int = 200,
    tolerance: float = 1e-6,
    constraint_tolerance: float = 1e-6,
) -> OptimalResult:
    """Solve an optimal control problem by differential dynamic programming.

    Gauss-Newton Hessians of the residuals, multiple shooting (a guess of the states need not be a motion), bounds on
    the forces by projected Newton steps in the Riccati recursion, other constraints by an augmented Lagrangian.

    Args:
        problem: Problem.
        forces: Guess of the joint forces, ``n`` or ``steps x n``; None: zero.
        states: Guess of the states, ``steps + 1``; None: the motion under the guess of the forces.
        iterations: Largest number of iterations.
        tolerance: Largest derivative of the cost by a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.

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
    solver = Solver(problem, tolerance, constraint_tolerance)
    return solver.run(solver.motion.guess(forces, states), iterations)


class Solver:
    """Iterations of :func:`solve`.

    Args:
        problem: Problem.
        tolerance: Largest derivative of the cost by a free force, relative to ``1 + cost``.
        constraint_tolerance: Largest violation of a constraint.
    """

    def __init__(self, problem: Problem, tolerance: float, constraint_tolerance: float) -> None:
        self.problem, self.motion = problem, Evaluation(problem)
        self.tolerance, self.constraint_tolerance = tolerance, constraint_tolerance

    # iterations -----------------------------------------------------------------------------------------------

    def run(self, nodes: Nodes, iterations: int) -> OptimalResult:
        """Iterate to a minimum, with penalties that grow until the constraints hold."""
        penalties, violated = self.motion.penalties(INITIAL_PENALTY), np.inf
        found, policy, damping = self.motion.expanded(nodes, penalties), None, MIN_DAMPING
        status, count = Status.MAX_ITERATIONS, 0
        try:
            while count < iterations:
                count += 1
                policy = self.policy(nodes, found, damping)
                minimum = policy is not None and self.is_minimum(policy, found)
                moved = None if policy is None or minimum else self.searched(nodes, found, policy, penalties)
                if moved is not None:
                    nodes, damping = moved, max(DAMPING_DECAY * damping, MIN_DAMPING)
                elif not minimum and damping < MAX_DAMPING:
                    damping = max(DAMPING_GROWTH * damping, FIRST_DAMPING)
                    continue
                else:  # nothing lowers the cost with these penalties
                    before, violated = violated, self.violation(found)[0]
                    if violated <= self.constraint_tolerance:
                        status = Status.CONVERGED if minimum else Status.STALLED
                        break
                    if penalties.weight >= MAX_PENALTY:
                        status = Status.INFEASIBLE
                        break
                    penalties, damping = (
                        next_penalties(found, penalties, violated > ENOUGH_SHRINKING * before),
                        MIN_DAMPING,
                    )
                found = self.motion.expanded(nodes, penalties)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return self.result(nodes, found, policy, status, count)

    def policy(self, nodes: Nodes, about: Expansion, damping: float) -> Policy | None:
        """Change of the forces that the expansion asks for."""
        low, high = self.problem.limits
        bounds = (low - nodes.forces, high - nodes.forces)
        size, x = self.motion.size, 2 * self.motion.nv
        # memory on which no step depends, such as the first guess of a contact solver, need not be carried along
        felt = np.concatenate([np.ones(x, dtype=bool), about.dynamics[:, :, x:size].any(axis=(0, 1))])
        if felt.all():
            return backward(about.dynamics, about.gaps, about.slopes, about.hessians, bounds, damping)
        both = np.concatenate([felt, np.ones(self.problem.model.n, dtype=bool)])
        hessians = about.hessians[:, both][:, :, both]
        dynamics = about.dynamics[:, felt][:, :, both]
        found = backward(dynamics, about.gaps[:, felt], about.slopes[:, both], hessians, bounds, damping)
        if found is None:
            return None
        K, adjoint = np.zeros((*found.K.shape[:2], size)), np.zeros((len(about.gaps), size))
        K[:, :, felt], adjoint[:, felt] = found.K, found.adjoint
        return found._replace(K=K, adjoint=adjoint)

    def is_minimum(self, policy: Policy, found: Expansion) -> bool:
        """True if gradient and gaps vanish."""
        return policy.gradient <= self.tolerance * (1.0 + found.cost) and float(np.abs(found.gaps).max()) <= MAX_GAP

    def violation(self, found: Expansion) -> tuple[float, str]:
        """Largest violation of a constraint, and where it is."""
        worst, where = 0.0, ""
        for name, values in (("equality", np.abs(found.equality)), ("inequality", found.inequality)):
            if values.size and values.max() > worst:
                node, row = np.unravel_index(int(values.argmax()), values.shape)
                final = "final " if name == "equality" and node == self.problem.steps else ""
                worst, where = float(values.max()), f"row {row} of the {final}{name} at node {node}"
        return worst, where

    # line search ----------------------------------------------------------------------------------------------

    def searched(self, nodes: Nodes, about: Expansion, policy: Policy, penalties: Penalties) -> Nodes | None:
        """First of the step lengths that lowers cost and gaps together."""
        gap = float(np.abs(about.gaps).sum())
        price = 10.0 * float(np.abs(policy.adjoint).max()) if gap > 1e-9 else 0.0
        merit = about.cost + price * gap
        for length in STEP_LENGTHS:
            moved = self.moved(nodes, about, policy, length)
            if moved is None:
                continue
            left = (1.0 - length) * gap  # to first order
            decrease = merit - self.motion.cost(moved, penalties) - price * left
            expected = -length * (policy.slope + 0.5 * length * policy.curvature) + length * price * gap
            if decrease > 0.0 and decrease >= MIN_DECREASE * expected:
                return moved
        return None

    def moved(self, nodes: Nodes, about: Expansion, policy: Policy, length: float) -> Nodes | None:
        """Motion under the policy: steps, with a share ``1 - length`` of the gaps left open."""
        low, high = self.problem.limits
        path, forces = [self.motion.first], np.empty_like(nodes.forces)
        open_gaps = (1.0 - length) * about.gaps
        closed = not open_gaps.any()
        for i in range(self.problem.steps):
            x = path[-1]
            dx = self.motion.away((nodes.q[i], nodes.v[i], nodes.memory[i]), x)
            forces[i] = np.clip(nodes.forces[i] + length * policy.k[i] + policy.K[i] @ dx, low, high)
            q, v, memory = self.motion.advanced(x, forces[i])
            if not np.isfinite(v).all():
                return None
            if not closed:
                g = open_gaps[i + 1]
                q, v = self.motion.displaced(q, -g[: self.motion.nv]), v - g[self.motion.nv : 2 * self.motion.nv]
                memory = memory - g[2 * self.motion.nv :] if self.motion.carried else memory
            path.append((q, v, memory))
        return nodes_of(path, forces)

    # result ---------------------------------------------------------------------------------------------------

    def result(
        self, nodes: Nodes, found: Expansion, policy: Policy | None, status: Status, iterations: int
    ) -> OptimalResult:
        """Result of a motion."""
        violation, where = self.violation(found)
        gains = np.zeros((self.problem.steps, self.problem.model.n, self.motion.size)) if policy is None else policy.K
        return OptimalResult(
            problem=self.problem,
            states=self.problem.model.unflatten(nodes.q, nodes.v),
            forces=nodes.forces,
            gains=gains,
            memory=nodes.memory,
            cost=found.plain,
            status=status,
            iterations=iterations,
            gradient=np.inf if policy is None else policy.gradient,
            gap=float(np.abs(found.gaps).max()),
            violation=violation,
            violated=where,
        )


def next_penalties(found: Expansion, penalties: Penalties, grow: bool) -> Penalties:
    """Multipliers after a minimum, and penalties that grow where the violation has not shrunk enough."""
    weight = penalties.weight
    equality = penalties.equality + weight * found.equality
    inequality = np.maximum(0.0, penalties.inequality + weight * found.inequality)
    return Penalties(PENALTY_GROWTH * weight if grow else weight, equality, inequality)
