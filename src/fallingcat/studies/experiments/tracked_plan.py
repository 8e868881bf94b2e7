"""Base of studies that plan a motion by differential dynamic programming and track it in the simulator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol, SupportsFloat, TypeVar

import numpy as np

from ...contact import CompliantFloor
from ...control import (
    CenterOfMassTask,
    JointLimits,
    JointsTask,
    Limit,
    RotationTask,
    SampledController,
    TorqueLimits,
    WholeBody,
)
from ...model import Model, State
from ...optimal import OptimalResult
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Parameters
from ..simulated import SimulatedKind
from ..tables import Study

RATE: Final = 1000.0
"""Hz: of the feedback in the simulated run"""
SHARE: Final = 0.9
"""Share of the drives' torque and of the friction that a plan may use: the rest is for the feedback."""
Controller = Callable[[float, State], Any]


class PlannedRun(Protocol):
    """Result of a study with a plan and its simulated run."""

    @property
    def plan(self) -> OptimalResult:
        """Optimal motion."""

    @property
    def run(self) -> Trajectory:
        """Its run in the simulator, with its feedback."""


P = TypeVar("P", bound=Parameters)
R = TypeVar("R", bound=PlannedRun)

PLAN_MEASURES: Final[Mapping[str, Callable[[Any], SupportsFloat]]] = {
    "converged": lambda seen: float(seen.plan.converged),
    "iterations": lambda seen: seen.plan.iterations,
    "violation": lambda seen: seen.plan.violation,
    "defect": lambda seen: seen.plan.certify()[0].value,
    "momentum": lambda seen: next(x.value for x in seen.plan.certify() if x.name == "momentum balance"),
}
"""Measures of any plan."""
END_MEASURES: Final[Mapping[str, Callable[[Any], SupportsFloat]]] = {
    "missed": lambda seen: np.linalg.norm(seen.run.poses[-1, :3, 3] - seen.plan.states.pose[-1][:3, 3]),
    "tilt": lambda seen: np.degrees(np.arccos(np.clip(seen.run.poses[-1, 2, 2], -1.0, 1.0))),
    "moves": lambda seen: np.linalg.norm(seen.run.twists[-1]),
}
"""Measures of the end of any run: distance of the base from the plan, its tilt and its twist."""


class TrackedPlan(SimulatedKind[P, R]):
    """Base class for kinds of study that simulate a plan with its feedback."""

    base_name = "Base"
    """title of the base in charts"""

    def motion(self, seen: R) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    @abstractmethod
    def plan_charts(self, seen: R) -> Sequence[Chart]:
        """Charts of the kind, below those of the base."""

    def figures(self, study: Study, seen: R) -> Figures:
        """The robot in motion, its base in the run beside that of the plan, and the charts of the kind."""
        plan, run = seen.plan, seen.run
        run_chart, plan_chart = (
            Chart(f"{self.base_name} in the {name}", times, [Line(x, p[:, i, 3]) for i, x in enumerate("xyz")], "m")
            for name, times, p in (("run", run.times, run.poses), ("plan", plan.times, plan.states.pose))
        )
        return Figures((*run.animate().blocks[:1], run_chart), (plan_chart, *self.plan_charts(seen)))


def track(
    plan: OptimalResult,
    robot: Model,
    floor: CompliantFloor,
    until: float,
    stand: Callable[[State], Controller],
    duration: float,
) -> Trajectory:
    """Run of a plan with its feedback, and from a time on of the controller that is made for the state then.

    Args:
        plan: Optimal motion.
        robot: Robot of the plan, perhaps with further frames.
        floor: Ground.
        until: Time (s) at which the other controller takes over.
        stand: Makes it from the state.
        duration: Time (s) that is simulated.
    """
    stiff = replace(plan, problem=replace(plan.problem, force_limits=None))  # the feedback may use all of the drives
    law = SampledController(Catch(stiff.controller(), until, stand), rate=RATE)
    return simulate(robot, plan.problem.start, duration, law, floor, dt=1e-3, every=10)


class Catch:
    """Controller: the feedback of a plan until a time, then the one that is made for the state that it finds.

    Args:
        flight: Controller of the plan.
        until: Time (s) at which the other one takes over.
        stand: Makes the other one from a state.
    """

    def __init__(self, flight: Controller, until: float, stand: Callable[[State], Controller]) -> None:
        self.flight, self.landing_time, self.stand = flight, until, stand
        self._standing_controller: Controller | None = None

    def __call__(self, t: float, state: State) -> Any:
        """Joint forces (n)."""
        if t < self.landing_time:
            self._standing_controller = None
            return self.flight(t, state)
        if self._standing_controller is None:
            self._standing_controller = self.stand(state)
        return self._standing_controller(t, state)


def stand_still(
    model: Model, center: np.ndarray, posture: Any, contacts: Sequence[str], friction: float, gain: float
) -> Controller:
    """Whole-body control that keeps the center of mass at a place (3, m), the base upright and a posture."""
    tasks = [CenterOfMassTask(center, gain=gain), RotationTask(model.link_names[0], np.eye(3), gain=gain)]
    limits: list[Limit | TorqueLimits] = [TorqueLimits(), JointLimits()]
    return WholeBody(model, [tasks, [JointsTask(posture, gain=gain)]], contacts, friction, limits).compile()
