"""Model-predictive control: an optimal control problem that is solved a little at every tick."""

from __future__ import annotations

import numpy as np

from ..arrays.types import FloatArray, Vector
from ..errors import ModelError, describe
from ..model import State
from ..records import short
from .problem import Problem
from .result import OptimalResult
from .solver import Solver

TIME_ROUNDING = 1e-9
"""s: a tick that is due within it is due."""


class MPC:
    """Predictive controller: ``controller(t, state) -> joint forces``, for :func:`fallingcat.simulate` and loops.

    At every tick the problem is moved to the measured state, the motion of the last tick by one step, and a fixed
    number of iterations improves it, so that a tick takes a bounded time.  Forces are held between ticks.

    Args:
        problem: Problem whose steps are the horizon.
        rate: Ticks per second; None: one in each step of the problem.
        iterations: Iterations in each tick.
        first: Iterations in the first tick.

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

    def __init__(self, problem: Problem, rate: float | None = None, iterations: int = 1, first: int = 50) -> None:
        dt = problem.dynamics.step.dt
        period = dt if rate is None else 1.0 / rate if rate > 0.0 else np.nan
        if not period > 0.0:
            raise ModelError(f"rate must be positive (ticks per second), got {describe(rate)}")
        self.problem, self.period, self.iterations, self.first = problem, period, iterations, first
        self.result: OptimalResult | None = None
        """plan of the last tick"""
        self._solver = Solver(problem, tolerance=1e-6, constraint_tolerance=1e-4)
        self._due = -np.inf
        self._ahead = 0.0
        """s: by how much the plan's start lies behind the present"""

    def __repr__(self) -> str:
        return f"<MPC of {short(self.problem.model.name)}: every {self.period:g} s>"

    def __call__(self, t: float, state: State) -> Vector:
        """Joint forces (n; N m or N) at a time: of the last tick, or of a new one if it is due."""
        if t < self._due - 2.0 * self.period:  # another run begins
            self.result, self._due, self._ahead = None, -np.inf, 0.0
        if t >= self._due - TIME_ROUNDING or self.result is None:
            self._ahead += 0.0 if self.result is None else self.period
            self.result = self.tick(state)
            self._due = t + self.period
        return self.result.forces[0]

    def tick(self, state: State) -> OptimalResult:
        """Plan from a state.

        Args:
            state: Measured state.

        Returns:
            Plan; its first forces are the ones to apply.
        """
        motion = self._solver.motion
        motion.start_at(state)
        if self.result is None:
            return self._solver.run(motion.guess(None, None), self.first)
        return self._solver.run(motion.rolled_out(self._shifted(self.result.forces)), self.iterations)

    def _shifted(self, forces: FloatArray) -> FloatArray:
        """Forces of the last plan, moved on by the steps that have passed; the last ones are repeated."""
        steps = int((self._ahead + TIME_ROUNDING) / self.problem.dynamics.step.dt)
        self._ahead -= steps * self.problem.dynamics.step.dt
        return forces[np.minimum(np.arange(len(forces)) + steps, len(forces) - 1)]
