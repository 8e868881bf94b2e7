"""A cart-pole and an acrobot swing up: optimal control of underactuated robots, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...arrays import concatenate, cos, sin
from ...control import SampledController
from ...lie import Trivial
from ...model import Joint, Limits, Model, State
from ...model.joints import Prismatic, Revolute
from ...model.robots.shapes import at, box_link
from ...optimal import OptimalResult, Problem, solve
from ...simulation import Trajectory, simulate, step_derivatives
from ...visualization import Chart, Line
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

POLE: Final = (0.03, 0.03, 1.0)
"""m: size of a rod"""
RATE: Final = 500.0
"""Hz: of the feedback in the simulated run"""
UPRIGHT_SHARE: Final = 0.2
"""Share of the plan, at its end, in which the robot shall stay upright."""


class SwingUpParameters(Parameters):
    """Parameters of the swing."""

    robot: Literal["cart-pole", "acrobot"] = "cart-pole"
    force: Annotated[float, Field(gt=0.0, le=1000.0)] = 12.0
    """N or N m: of the only drive"""
    duration: Annotated[float, Field(gt=0.0, le=20.0)] = 3.0
    """s"""
    steps: Annotated[int, Field(ge=10, le=1000)] = 60
    disturbance: Annotated[float, Field(ge=0.0, le=1.0)] = 0.05
    """rad: by which the simulated robot starts elsewhere than the plan"""


class SwingUpResult(NamedTuple):
    """The plan, and its run in the simulator with its feedback."""

    plan: OptimalResult
    run: Trajectory
    parameters: SwingUpParameters

    @property
    def plan_error(self) -> np.ndarray:
        """Angles (rad) between the links and upright, and speeds, at the end of the plan: ``4``."""
        return _deviation_from_upright(self.parameters.robot, self.plan.states.at(-1))

    @property
    def final_error(self) -> np.ndarray:
        """The same at the end of the run."""
        return _deviation_from_upright(self.parameters.robot, self.run.state(-1))


def cart_pole(force: float) -> Model:
    """Cart of 1 kg on a rail, with a pole of 0.3 kg and 1 m that hangs from it."""
    links = (box_link("rail", 1.0, (6.0, 0.03, 0.03)), box_link("cart", 1.0, (0.3, 0.2, 0.15)))
    pole = box_link("pole", 0.3, POLE, (0.0, 0.0, -0.5))
    drive, free = Limits(-3.0, 3.0, effort=force), Limits(effort=0.0)
    slide = Joint("slide", Prismatic((1.0, 0.0, 0.0)), "rail", "cart", limits=drive)
    swing = Joint("swing", Revolute((0.0, 1.0, 0.0)), "cart", "pole", at(y=0.12), limits=free)
    return Model("cart_pole", Trivial(), (*links, pole), (slide, swing))


def acrobot(force: float) -> Model:
    """Two rods of 1 kg and 1 m that hang from a bar, with a drive between them alone."""
    rods = [box_link(name, 1.0, POLE, (0.0, 0.0, -0.5)) for name in ("upper", "lower")]
    bar = box_link("bar", 1.0, (0.05, 0.6, 0.05))
    shoulder = Joint("shoulder", Revolute((0.0, 1.0, 0.0)), "bar", "upper", limits=Limits(effort=0.0))
    elbow = Joint("elbow", Revolute((0.0, 1.0, 0.0)), "upper", "lower", at(z=-1.0), limits=Limits(effort=force))
    return Model("acrobot", Trivial(), (bar, *rods), (shoulder, elbow))


def effort(model: Model, state: State, forces: Any, data: Any) -> Any:
    """Cost of the drive; near the end also of what is missing to the upright rest."""
    return concatenate([data[0] * forces, data[2] * upright(model, state, forces, data)])


def upright(model: Model, state: State, forces: Any, data: Any) -> Any:
    """Difference from the upright rest: of the cart-pole (``data[1] = 1``) at the middle of the rail."""
    a, b, cart = state.joints[:1], state.joints[1:], data[1]
    first, second = cart * b + (1.0 - cart) * a, cart * b + (1.0 - cart) * (a + b)
    angles = concatenate([cos(first) + 1.0, sin(first), cos(second) + 1.0, sin(second)])
    return concatenate([10.0 * angles, 10.0 * cart * a, 3.0 * state.rates])


def _deviation_from_upright(robot: str, state: State) -> np.ndarray:
    joints = state.joints if robot == "acrobot" else np.array([state.joints[1], 0.0])
    angles = np.array([joints[0], joints[0] + joints[1]]) - np.pi
    return np.concatenate([np.abs(np.arctan2(np.sin(angles), np.cos(angles))), np.abs(state.rates)])


def swing_up_problem(parameters: SwingUpParameters) -> Problem:
    """Problem of the study."""
    cart = parameters.robot == "cart-pole"
    model = (cart_pole if cart else acrobot)(parameters.force)
    step = step_derivatives(model, dt=parameters.duration / parameters.steps)
    late = np.arange(parameters.steps + 1) >= (1.0 - UPRIGHT_SHARE) * parameters.steps
    length = np.sqrt(parameters.duration / parameters.steps)
    data = np.column_stack(
        [np.full(len(late), length / parameters.force), np.full(len(late), cart), 0.3 * length * late]
    )
    return Problem(step, model.neutral(), parameters.steps, effort, upright, data=data)


@study_kind
class SwingUp(SimulatedKind[SwingUpParameters, SwingUpResult]):
    """Differential dynamic programming from a small rocking motion; then its feedback in the simulator."""

    name, parameters = "swing-up", SwingUpParameters
    measures: Mapping[str, Callable[[SwingUpResult], SupportsFloat]] = {
        "converged": lambda seen: float(seen.plan.converged),
        "iterations": lambda seen: seen.plan.iterations,
        "cost": lambda seen: seen.plan.cost,
        "missed": lambda seen: np.degrees(seen.plan_error[:2].max()),
        "speed": lambda seen: seen.plan_error[2:].max(),
        "kept": lambda seen: np.degrees(seen.final_error[:2].max()),
        "share": lambda seen: np.abs(seen.plan.forces).max() / seen.parameters.force,
        "defect": lambda seen: seen.plan.certify()[0].value,
        "gradient": lambda seen: next(x.value for x in seen.plan.certify() if x.name == "gradient"),
    }

    def run(self, parameters: SwingUpParameters, progress: Progress) -> SwingUpResult:
        """Plan, and simulate the plan with its feedback from a disturbed start."""
        progress("planning", 0.0)
        problem = swing_up_problem(parameters)
        times = np.arange(parameters.steps) * parameters.duration / parameters.steps
        rocking = 0.2 * parameters.force * np.sin(2.0 * np.pi * times / 1.3)
        plan = solve(problem, rocking[:, None] * (problem.limits[1] > 0.0), iterations=2000)
        progress("simulating", 0.7)
        model = problem.model
        start = model.state(joints=[0.0, parameters.disturbance])
        run = simulate(
            model, start, parameters.duration, SampledController(plan.controller(), rate=RATE), dt=1e-3, every=10
        )
        return SwingUpResult(plan, run, parameters)

    def motion(self, seen: SwingUpResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: SwingUpResult) -> Figures:
        """The robot in motion, its joints and the force of its drive."""
        names, plan = seen.run.model.joint_names, seen.plan
        driven = int(np.argmax(plan.problem.limits[1]))
        joints = [Line(name, seen.run.joints[:, i]) for i, name in enumerate(names)]
        planned = [Line(f"{name}, plan", plan.states.joints[:, i]) for i, name in enumerate(names)]
        charts = (
            Chart("Joints of the run", seen.run.times, joints, "rad, m"),
            Chart("Joints of the plan", plan.times, planned, "rad, m"),
            Chart("Drive of the plan", plan.times[:-1], [Line(names[driven], plan.forces[:, driven])], "N, N m"),
        )
        return Figures((*seen.run.animate().blocks[:1], charts[0]), charts[1:])
