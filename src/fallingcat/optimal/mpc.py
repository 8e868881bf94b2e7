"""Model-predictive control: an optimal control problem that is solved a little at every tick."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays.arguments import as_number
from ..arrays.types import FloatArray, Vector_n
from ..dynamics.checks import positive
from ..errors import ModelError, NumericsError, describe
from ..model import State
from ..records import concise, short_text
from .evaluation import Nodes
from .phases import ContactPhases
from .problem import Problem, check_count, check_measured, check_problem
from .result import OptimalResult, Status
from .solver import Outcome, Solver

TIME_ROUNDING = 1e-9
"""s: a tick that is due within it is due."""


@concise
class Horizon(NamedTuple):
    """Contacts and data of the time ahead, for a tick of a predictive controller.

    Example:
        >>> Horizon(contacts=np.ones((20, 4))).data is None
        True
    """

    contacts: Any = None
    """``steps x points``: 1 where a point of :class:`.ContactPhases` is held in a step, else 0; None: as they are"""
    data: Any = None
    """numbers for the terms, as :attr:`.Problem.data`; None: as they are"""


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
        horizon: Function ``(t, state) -> Horizon``, called before each tick: contacts and data of the time ahead.

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
        horizon: Callable[[float, State], Horizon] | None = None,
    ) -> None:
        check_problem(problem)
        self.step = float(problem.stepping.times[1])
        period = self.step if rate is None else 1.0 / positive(rate, "rate of an MPC (ticks per second)")
        check_count(iterations, "iterations")
        check_count(first, "first")
        positive(penalty, "penalty")
        if horizon is not None and not callable(horizon):
            raise ModelError(f"horizon must be a function (t, state) -> Horizon, got {describe(horizon)}")
        if isinstance(problem.dynamics, ContactPhases) and len(problem.dynamics.phases) > 1:
            rule = "phases of a predictive controller would have to move on"
            raise ModelError(f"{rule}: give it steps, or one phase of all points and their contacts by horizon=")
        if isinstance(problem.dynamics, ContactPhases):  # contacts of its own, which change from tick to tick
            problem = replace(problem)
            problem.stepping.rows = problem.stepping.rows.copy()
        self.problem, self.period, self.iterations, self.first = problem, period, iterations, first
        self.horizon = horizon
        self._solver = Solver(problem, tolerance=1e-6, constraint_tolerance=1e-4)
        self._penalties = self._solver.motion.penalties(penalty)
        self._plan: Outcome | None = None
        self._due = -np.inf
        self._ahead = 0.0
        """s: by how much the plan's start lies behind the present"""

    def __copy__(self) -> MPC:
        """Controller with a memory of its own, for the same problem."""
        return copy.deepcopy(self, {id(self.problem): self.problem})

    def __repr__(self) -> str:
        return f"<MPC of {short_text(self.problem.model.name)}: every {self.period:g} s>"

    @property
    def result(self) -> OptimalResult | None:
        """Plan of the last tick; None before the first."""
        return None if self._plan is None else self._solver.result(self._plan)

    def __call__(self, t: float, state: State) -> Vector_n:
        """Joint forces (n; N m or N) at a time: of the last tick, or of a new one if it is due."""
        if isinstance(t, float) and not np.isfinite(t):
            raise NumericsError(f"the time of a tick must be finite (s), got {describe(t)}")
        as_number(t, "the time of a tick (s)", real=True)
        if t < self._due - 2.0 * self.period:  # another run begins
            self.reset()
        if t >= self._due - TIME_ROUNDING or self._plan is None:
            self._ahead += 0.0 if self._plan is None else self.period
            self.tick(state, *self._ahead_of(t, state))
            self._due = t + self.period
        assert self._plan is not None
        return self._plan.nodes.forces[0]

    def reset(self) -> None:
        """Forget the last plan."""
        self._plan, self._due, self._ahead = None, -np.inf, 0.0

    def _ahead_of(self, t: float, state: State) -> tuple[Any, Any]:
        """Data and contacts of the time ahead."""
        if self.horizon is None:
            return None, None
        check_measured(self.problem.model, state)
        ahead = self.horizon(t, state)
        if not isinstance(ahead, Horizon):
            raise ModelError(f"horizon at t = {t:g} s must be a fc.optimal.Horizon, got {describe(ahead)}")
        return ahead.data, ahead.contacts

    def tick(self, state: State, data: Any = None, contacts: Any = None) -> Vector_n:
        """Plan from a state.

        Args:
            state: Measured state.
            data: Numbers for the terms from now on, as :attr:`.Problem.data`; None: as they are.
            contacts: Points that are held from now on, as :attr:`.Horizon.contacts`; None: as they are.

        Returns:
            Joint forces to apply (n; N m or N).
        """
        motion = self._solver.motion
        check_measured(self.problem.model, state)
        motion.start_at(state)
        if data is not None:
            motion.data[:] = self._checked(data)
        if contacts is not None:
            held = self._held()
            held[:] = _mask(contacts, held.shape)
        if self._plan is None:
            still = State(*(np.repeat(np.asarray(part)[None], motion.steps + 1, axis=0) for part in state))
            plan = self._solver.improved(motion.guess(None, still), self.first, self._penalties)
        else:
            plan = self._solver.improved(self._shifted_plan(self._plan.nodes), self.iterations, self._penalties)
        if plan.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # for the loop or the run around it
        self._plan = plan
        return plan.nodes.forces[0]

    def _held(self) -> FloatArray:
        """Weights of the points in each step, which the kernels read."""
        dynamics = self.problem.dynamics
        points = len(dynamics.points) if isinstance(dynamics, ContactPhases) else 0
        if not points:
            raise ModelError("contacts are those of points of ContactPhases, and the problem has none")
        return self.problem.stepping.rows[:, 1 : 1 + points]

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


def _mask(contacts: Any, shape: tuple[int, ...]) -> FloatArray:
    """Zeros and ones, ``steps x points``."""
    try:
        mask = np.asarray(contacts, dtype=float)
    except (TypeError, ValueError, OverflowError):
        mask = np.zeros(0)
    if mask.shape != shape or not np.isin(mask, (0.0, 1.0)).all():
        raise ModelError(f"contacts must be zeros and ones of shape {shape}, got {describe(contacts)}")
    return mask
