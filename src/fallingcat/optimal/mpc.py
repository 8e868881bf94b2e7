"""Model-predictive control: an optimal control problem that is solved a little at every tick."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.arguments import as_number
from ..arrays.types import FloatArray, Vector
from ..dynamics.checks import positive
from ..errors import ModelError, NumericsError, describe
from ..model import State
from ..records import short
from .evaluation import Nodes
from .phases import ContactPhases
from .problem import Problem, check_count, check_measured, check_problem
from .result import OptimalResult, Status
from .solver import Outcome, Solver

TIME_ROUNDING = 1e-9
"""s: a tick that is due within it is due."""


class MPC:
    """Predictive controller: ``controller(t, state) -> joint forces``, for :func:`fallingcat.simulate` and loops.

    At every tick the problem is moved to the measured state, the motion of the last tick by one step, and a fixed
    number of iterations improves it, so that a tick takes a bounded time.  Forces are held between ticks.  The first
    plan starts from a motion that stays where it is.

    Args:
        problem: Problem whose steps are the horizon.
        rate: Ticks per second; None: one in each step of the problem.
        iterations: Iterations in each tick.
        first: Iterations in the first tick.
        penalty: Weight of squared violations of constraints, friction cones included; it stays the same in all ticks.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> def reach(model, state, forces, data):
        ...     return fc.arrays.concatenate([10.0 * (state.joints - data), state.rates, 0.05 * forces])
        >>> problem = fc.optimal.Problem(step, arm.neutral(), 20, reach, reach, data=[0.5, -0.3, 0.2])
        >>> run = fc.simulate(arm, arm.neutral(), 1.0, fc.optimal.MPC(problem))
        >>> bool(np.abs(run.joints[-1] - [0.5, -0.3, 0.2]).max() < 0.05)
        True
    """

    def __init__(
        self,
        problem: Problem,
        rate: float | None = None,
        iterations: int = 1,
        first: int = 50,
        penalty: float = 1e5,
    ) -> None:
        check_problem(problem)
        self.step = float(problem.stepping.times[1])
        period = self.step if rate is None else 1.0 / positive(rate, "rate of an MPC (ticks per second)")
        check_count(iterations, "iterations")
        check_count(first, "first")
        positive(penalty, "penalty")
        if isinstance(problem.dynamics, ContactPhases) and len(problem.dynamics.phases) > 1:
            raise ModelError("phases of a predictive controller would have to move on: give it steps, or one phase")
        self.problem, self.period, self.iterations, self.first = problem, period, iterations, first
        self._solver = Solver(problem, tolerance=1e-6, constraint_tolerance=1e-4)
        self._penalties = self._solver.motion.penalties(penalty)
        self._plan: Outcome | None = None
        self._due = -np.inf
        self._ahead = 0.0
        """s: by how much the plan's start lies behind the present"""

    def __repr__(self) -> str:
        return f"<MPC of {short(self.problem.model.name)}: every {self.period:g} s>"

    @property
    def result(self) -> OptimalResult | None:
        """Plan of the last tick; None before the first."""
        return None if self._plan is None else self._solver.result(self._plan)

    def __call__(self, t: float, state: State) -> Vector:
        """Joint forces (n; N m or N) at a time: of the last tick, or of a new one if it is due."""
        if isinstance(t, float) and not np.isfinite(t):
            raise NumericsError(f"the time of a tick must be finite (s), got {describe(t)}")
        as_number(t, "the time of a tick (s)", real=True)
        if t < self._due - 2.0 * self.period:  # another run begins
            self.reset()
        if t >= self._due - TIME_ROUNDING or self._plan is None:
            self._ahead += 0.0 if self._plan is None else self.period
            self.tick(state)
            self._due = t + self.period
        assert self._plan is not None
        return self._plan.nodes.forces[0]

    def reset(self) -> None:
        """Forget the last plan."""
        self._plan, self._due, self._ahead = None, -np.inf, 0.0

    def tick(self, state: State, data: Any = None) -> Vector:
        """Plan from a state.

        Args:
            state: Measured state.
            data: Numbers for the terms from now on, as :attr:`.Problem.data`; None: as they are.

        Returns:
            Joint forces to apply (n; N m or N).
        """
        motion = self._solver.motion
        check_measured(self.problem.model, state)
        motion.start_at(state)
        if data is not None:
            motion.data[:] = self._checked(data)
        if self._plan is None:
            still = State(*(np.repeat(np.asarray(part)[None], motion.steps + 1, axis=0) for part in state))
            plan = self._solver.improved(motion.guess(None, still), self.first, self._penalties)
        else:
            plan = self._solver.improved(self._shifted_plan(self._plan.nodes), self.iterations, self._penalties)
        if plan.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # for the loop or the run around it
        self._plan = plan
        return plan.nodes.forces[0]

    def _checked(self, data: Any) -> FloatArray:
        """Numbers for the terms, as many as those of the problem."""
        nodes, count = self._solver.motion.data.shape
        try:
            numbers = np.broadcast_to(np.asarray(data, dtype=float), (nodes, count))
        except (TypeError, ValueError, OverflowError):
            numbers = np.full((nodes, count), np.nan)
        if not np.isfinite(numbers).all():
            raise ModelError(f"data must be {count} finite numbers, or {nodes} x {count}, got {describe(data)}")
        return numbers

    def _shifted_plan(self, nodes: Nodes) -> Nodes:
        """Last plan, moved on by the steps that have passed, from the measured state; the end is repeated.

        Its nodes are no motion then: the iteration closes the gaps behind the first and before the last.
        """
        steps = int((self._ahead + TIME_ROUNDING) / self.step)
        self._ahead -= steps * self.step
        count = len(nodes.forces)
        later = np.minimum(np.arange(count + 1) + steps, count)
        q, v, memory = (x[later] for x in nodes.at(slice(None)))
        for part, now in zip((q, v, memory), self._solver.motion.first, strict=True):
            part[0] = now
        held = np.minimum(later[:-1], count - 1)
        return Nodes(q, v, memory, nodes.forces[held], nodes.contact[held])
