"""A humanoid stands up from a seat: optimal control with given contacts, tracked in the simulator, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...arrays import concatenate, tanh
from ...contact import CompliantFloor, Terrain, corners
from ...dynamics import center_of_mass, link_pose
from ...model import Frame, Model, State, robots
from ...optimal import ContactPhases, OptimalResult, Phase, Problem, solve
from ...simulation import Trajectory
from ...visualization import Chart, Line
from ..kind import Parameters, Progress, study_kind
from .tracked_plan import END_MEASURES, PLAN_MEASURES, SHARE, Controller, TrackedPlan, stand_still, track

SOLES: Final = ("left_sole", "right_sole")
ANKLES: Final = ("left_ankle", "right_ankle")
SEAT: Final = "seat"
STEP: Final = 0.02
"""s: of the plan"""
BENT_JOINTS: Final = ("hip_pitch", "knee_pitch", "ankle_pitch", "elbow_pitch")
SITTING, UPRIGHT = (-1.5, 2.0, -0.5, -1.5), (-0.3, 0.6, -0.3, -0.5)
"""rad"""
EDGE, EDGE_WIDTH = -0.135, 0.006
"""m: where the seat ends, behind the heels, and over which length its edge is rounded"""
SOLE_SIZE, SEAT_SIZE = (0.2, 0.1), (0.08, 0.24)
"""m: points of contact in the simulator are the corners"""
MIN_LOAD: Final = 1.0
"""N: force of the seat below which it does not hold the robot"""
GAIN: Final = 5.0
"""1/s: of whole-body control, which takes over at the end of the plan"""


class StandingUpParameters(Parameters):
    """Parameters of the motion."""

    leaning: Annotated[float, Field(gt=0.0, le=3.0)] = 0.8
    """s on the seat"""
    rising: Annotated[float, Field(gt=0.0, le=3.0)] = 1.2
    """s from the seat to the end of the plan"""
    standing: Annotated[float, Field(ge=0.0, le=10.0)] = 1.0
    """s after the plan, under its last gains"""
    friction: Annotated[float, Field(gt=0.0, le=2.0)] = 0.8


@dataclass(frozen=True)
class Seat(Terrain):
    """Ground that is higher behind an edge."""

    top: float

    def height(self, x: Any, y: Any) -> Any:
        """Height (m) at a place."""
        return self.top * (0.5 - 0.5 * tanh((x - EDGE) * (1.0 / EDGE_WIDTH)))


class StandingUpResult(NamedTuple):
    """The plan, and its run in the simulator with its feedback."""

    plan: OptimalResult
    run: Trajectory

    @property
    def seat_forces(self) -> np.ndarray:
        """Upward force (N) of the seat in the run."""
        return np.asarray(self.run.contact_forces[:, :4, 2].sum(axis=1))  # its corners come first

    @property
    def sole_tilt(self) -> float:
        """Largest tilt (rad) of a sole in the run."""
        up = [link_pose(self.run.model, s, sole)[2, 2] for s in self.run.states for sole in SOLES]
        return float(np.arccos(np.clip(min(up), -1.0, 1.0)))

    @property
    def center(self) -> np.ndarray:
        """Center of mass (m) in the run, from the middle of the soles."""
        model, states = self.run.model, list(self.run.states)
        middle = [np.mean([link_pose(model, s, sole)[:3, 3] for sole in SOLES], axis=0) for s in states]
        return np.array([center_of_mass(model, s) for s in states]) - np.array(middle)


def seated_humanoid() -> Model:
    """The sample humanoid with frames below its pelvis and at its ankles.

    A plan holds the ankles: about a point of its sole a loaded foot would be an inverted pendulum that falls within
    milliseconds, and the gradient of a motion of 2 s would be lost to rounding.
    """
    robot = robots.humanoid()
    below = np.eye(4)
    below[2, 3] = -0.08
    feet = [Frame(ankle, robot.frame(sole).link) for ankle, sole in zip(ANKLES, SOLES, strict=True)]
    return replace(robot, frames=(*robot.frames, Frame(SEAT, robot.link_names[0], below), *feet))


def bent_state(robot: Model, bent: tuple[float, ...]) -> State:
    """Robot with bent legs and arms, its soles on the ground at the origin."""
    angles = {f"{side}_{joint}": x for side in ("left", "right") for joint, x in zip(BENT_JOINTS, bent, strict=True)}
    state = robot.state(joints=angles)
    return state._replace(pose=robot.state(position=-link_pose(robot, state, SOLES[0])[:3, 3] * [1.0, 0.0, 1.0]).pose)


def standing_up_problem(parameters: StandingUpParameters) -> tuple[Problem, State]:
    """Problem of the study, and a guess of its states, which is no motion."""
    robot = seated_humanoid()
    start, end = (bent_state(robot, bent) for bent in (SITTING, UPRIGHT))
    leaning, rising = (max(1, round(x / STEP)) for x in (parameters.leaning, parameters.rising))
    phases = [Phase(leaning, (SEAT, *ANKLES)), Phase(rising, ANKLES)]
    dynamics = ContactPhases(robot, phases, STEP, friction=SHARE * parameters.friction)
    limits = SHARE * np.array([x.effort for x in robot.limits])
    steps = leaning + rising
    share = np.clip((np.arange(steps + 1) - leaning) / rising, 0.0, 1.0)[:, None]
    joints = (1.0 - share) * start.joints + share * end.joints

    def running_residual(model: Model, state: State, forces: Any, data: Any) -> Any:
        bent = 0.5 * (state.joints - data)
        return np.sqrt(STEP) * concatenate([0.02 * forces, 0.3 * state.rates, bent, *_sole_tilt(model, state)])

    def final_residual(model: Model, state: State, forces: Any, data: Any) -> Any:
        away = 20.0 * (state.pose[:3, 3] - end.pose[:3, 3])
        turned = 20.0 * (state.pose[:3, :3] - np.eye(3)).reshape(-1)
        return concatenate([away, turned, 3.0 * (state.joints - end.joints), 5.0 * state.twist, state.rates])

    problem = Problem(
        dynamics,
        start,
        cost=running_residual,
        final_cost=final_residual,
        inequality=_beyond_limits,
        force_limits=(-limits, limits),
        data=joints,
    )
    q = np.tile(robot.flatten(start)[0], (steps + 1, 1))
    q[:, :3] = (1.0 - share) * start.pose[:3, 3] + share * end.pose[:3, 3]
    q[:, 7:] = joints
    return problem, robot.unflatten(q, np.zeros((steps + 1, robot.nv)))


def _sole_tilt(model: Model, state: State) -> list[Any]:
    """Attitude of the soles, which could turn about the held ankles: they shall stay flat."""
    return [30.0 * (link_pose(model, state, sole)[:3, :3] - np.eye(3)).reshape(-1) for sole in SOLES]


def _beyond_limits(model: Model, state: State, forces: Any, data: Any) -> Any:
    low, high = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
    return concatenate([state.joints - high, low - state.joints])


def seated_scene(parameters: StandingUpParameters, robot: Model, start: State) -> tuple[Model, CompliantFloor]:
    """Robot with corners of its soles and of its seat, and the ground with the seat."""
    points: list[str] = []
    for frame, size in ((SEAT, SEAT_SIZE), *((sole, SOLE_SIZE) for sole in SOLES)):
        robot, found = corners(robot, frame, size)
        points += found
    seat = Seat(float(link_pose(robot, start, SEAT)[2, 3]))
    return robot, CompliantFloor(tuple(points), (5e4, 5e4), (1e3, 1e3), friction=parameters.friction, terrain=seat)


def stand_over_soles(model: Model, contacts: list[str], friction: float, posture: Any, state: State) -> Controller:
    """Whole-body control that stands over where the soles are."""
    middle = np.mean([link_pose(model, state, sole)[:3, 3] for sole in SOLES], axis=0)
    height = center_of_mass(model, state)[2] - middle[2]
    return stand_still(model, middle + np.array([0.0, 0.0, height]), posture, contacts, friction, GAIN)


@study_kind
class StandingUp(TrackedPlan[StandingUpParameters, StandingUpResult]):
    """Differential dynamic programming with given contacts; then its feedback in the simulator."""

    name, parameters, base_name = "standing-up", StandingUpParameters, "Pelvis"
    measures: Mapping[str, Callable[[StandingUpResult], SupportsFloat]] = {
        **PLAN_MEASURES,
        "torque": lambda seen: np.abs(seen.plan.forces).max(),
        "lean": lambda seen: np.degrees(seen.plan.states.joints[:, _joint(seen, "waist_pitch")].max()),
        "rise": lambda seen: seen.run.poses[-1, 2, 3] - seen.run.poses[0, 2, 3],
        "left_seat": lambda seen: seen.run.times[np.flatnonzero(seen.seat_forces > MIN_LOAD)[-1]],
        "center": lambda seen: np.linalg.norm(seen.center[-1, :2]),
        **END_MEASURES,
        "sole": lambda seen: np.degrees(seen.sole_tilt),
    }

    def run(self, parameters: StandingUpParameters, progress: Progress) -> StandingUpResult:
        """Plan, and simulate the plan with its feedback."""
        progress("planning", 0.0)
        problem, guess = standing_up_problem(parameters)
        plan = solve(problem, states=guess, iterations=1000, tolerance=1e-4, constraint_tolerance=1e-4)
        progress("simulating", 0.7)
        return StandingUpResult(plan, self.simulate_plan(plan, parameters))

    def simulate_plan(self, plan: OptimalResult, parameters: StandingUpParameters) -> Trajectory:
        """Run of a plan with its feedback, and of whole-body control after it."""
        problem = plan.problem
        robot, floor = seated_scene(parameters, problem.model, problem.start)
        contacts = [name for name in floor.points if not name.startswith(SEAT)]
        posture = bent_state(problem.model, UPRIGHT).joints
        stand = partial(stand_over_soles, robot, contacts, SHARE * parameters.friction, posture)
        end = float(plan.times[-1])
        return track(plan, robot, floor, end, stand, end + parameters.standing)

    def plan_charts(self, seen: StandingUpResult) -> Sequence[Chart]:
        """Center of mass, force of the seat, torques of the plan."""
        plan, run = seen.plan, seen.run
        names, legs = run.model.joint_names, ("left_hip_pitch", "left_knee_pitch", "left_ankle_pitch", "waist_pitch")
        return (
            Chart(
                "Center of mass, from the middle of the soles",
                run.times,
                [Line(x, seen.center[:, i]) for i, x in enumerate("xyz")],
                "m",
            ),
            Chart("Upward force of the seat", run.times, [Line("run", seen.seat_forces)], "N"),
            Chart(
                "Planned torques",
                plan.times[:-1],
                [Line(name, plan.forces[:, names.index(name)]) for name in legs],
                "N m",
            ),
        )


def _joint(seen: StandingUpResult, name: str) -> int:
    return seen.run.model.joint_names.index(name)
