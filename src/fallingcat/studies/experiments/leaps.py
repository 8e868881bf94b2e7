"""A quadruped jumps onto a box, or turns a backflip: optimal control with given contact phases, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...arrays import concatenate, cos, sin, tanh
from ...contact import CompliantFloor, Terrain
from ...dynamics import link_pose
from ...model import Model, State, robots
from ...optimal import ContactPhases, OptimalResult, Phase, Problem, solve
from ...simulation import Trajectory
from ...visualization import Chart, Line
from ..kind import Parameters, Progress, study_kind
from .tracked_plan import END_MEASURES, PLAN_MEASURES, SHARE, Controller, TrackedPlan, stand_still, track

FEET: Final = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
CROUCH: Final = np.tile([0.0, 0.8, -1.6], 4)
TUCK: Final = np.tile([0.0, 1.2, -2.3], 4)
STEP: Final = 0.01
"""s"""
EDGE, EDGE_WIDTH, CLEARANCE = 0.38, 0.03, 0.02
"""m: where the box begins, over which length its edge is rounded, and how far feet stay from it"""
DELAY, GAIN, HEIGHT = 0.01, 10.0, 0.27
"""s after the planned touchdown at which whole-body control takes over, its gain (1/s), and the height (m) of the
center of mass over the feet"""
TOLERANCES: Final[dict[str, Any]] = {"tolerance": 1e-4, "constraint_tolerance": 1e-4}
GUESS_NOISE, MAX_GUESSES = 0.01, 8
"""Deviation of the joints of a guess (rad) from one posture at all times, with which rounding decides where the search
goes; and guesses that are tried, as one search in six ends nowhere"""
UNLIMITED_SPEED: Final = 1e3
"""rad/s: with which a first plan is made, from which that within the limits starts"""


class LeapParameters(Parameters):
    """Parameters of the leap."""

    leap: Literal["box", "backflip"] = "box"
    height: Annotated[float, Field(ge=0.0, le=0.6)] = 0.4
    """m: of the box; none for a backflip"""
    distance: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.7
    """m: by which the robot moves on"""
    friction: Annotated[float, Field(gt=0.0, le=2.0)] = 0.8
    speed: Annotated[float, Field(gt=0.0, le=100.0)] = 30.0
    """rad/s: of the drives"""


@dataclass(frozen=True)
class Box(Terrain):
    """Ground that rises to a height at an edge."""

    top: float

    def height(self, x: Any, y: Any) -> Any:
        """Height (m) at a place."""
        return self.top * (0.5 + 0.5 * tanh((x - EDGE) * (1.0 / EDGE_WIDTH)))


class LeapResult(NamedTuple):
    """The plan, and its run in the simulator with its feedback."""

    plan: OptimalResult
    run: Trajectory
    parameters: LeapParameters

    @property
    def feet(self) -> np.ndarray:
        """``N x 4 x 3`` (m): feet in the run."""
        return _feet(self.run.model, list(self.run.states))

    @property
    def clearance(self) -> float:
        """Least height (m) of a foot over the ground in the flight of the plan."""
        ground = Box(_top(self.parameters))
        flight = np.flatnonzero(self.plan.problem.node_data[:, FLIGHT] > 0.0)
        feet = _feet(self.run.model, [self.plan.states.at(int(i)) for i in flight])
        return float((feet[..., 2] - ground.height(feet[..., 0], feet[..., 1])).min())

    @property
    def trunk_rotation(self) -> float:
        """Angle (rad) by which the trunk turns about the y axis in the run."""
        R = self.run.poses[:, :3, :3]
        angles = np.unwrap(np.arctan2(R[:, 0, 2], R[:, 0, 0]))
        return float(angles[-1] - angles[0])


STANCE, TOUCHDOWN, PLACE, ANGLE, FLIGHT, SPEED = 0, 1, slice(2, 5), 5, 6, 7
"""Columns of the data: weight of the posture, whether feet touch down, place and angle of the trunk, whether it flies,
and the largest speed of a joint."""


def _feet(model: Model, states: list[State]) -> np.ndarray:
    return np.array([[link_pose(model, state, foot)[:3, 3] for foot in FEET] for state in states])


def _top(parameters: LeapParameters) -> float:
    return parameters.height if parameters.leap == "box" else 0.0


def quick_dog(speed: float) -> Model:
    """The sample quadruped with drives of another speed (rad/s)."""
    dog = robots.quadruped()
    return replace(dog, joints=tuple(replace(j, limits=replace(j.limits, velocity=speed)) for j in dog.joints))


def leap_problem(parameters: LeapParameters) -> tuple[Problem, State]:
    """Problem of the study, and a guess of its states, which is no motion."""
    dog = quick_dog(parameters.speed)
    height = -float(link_pose(dog, dog.state(joints=CROUCH), FEET[0])[2, 3])
    start = dog.state(position=[0.0, 0.0, height], joints=CROUCH)
    flips = parameters.leap == "backflip"
    stance = [Phase(32, FEET), Phase(16, FEET[2:])] if flips else [Phase(40, FEET)]
    flight, landing = Phase(52 if flips else 44), Phase(60, FEET)
    phases = ContactPhases(dog, [*stance, flight, landing], STEP, friction=SHARE * parameters.friction)
    data = _data(start, parameters, [phase.steps for phase in phases.phases])
    limits = SHARE * np.array([x.effort for x in dog.limits])
    land = _feet(dog, [start])[0] + np.array([parameters.distance, 0.0, _top(parameters)])
    problem = Problem(
        phases,
        start,
        cost=running_residual,
        final_cost=final_residual,
        equality=lambda model, state, forces, data: data[TOUCHDOWN] * (_places(model, state) - land.ravel()),
        inequality=_limits(parameters),
        force_limits=(-limits, limits),
        data=data,
    )
    q = np.tile(dog.flatten(start)[0], (len(data), 1))
    q[:, :3], half = data[:, PLACE], 0.5 * data[:, ANGLE]
    q[:, 3:7] = np.stack([0.0 * half, np.sin(half), 0.0 * half, np.cos(half)], axis=1)
    return problem, dog.unflatten(q, np.zeros((len(data), dog.nv)))


def _data(start: State, parameters: LeapParameters, counts: list[int]) -> np.ndarray:
    """Numbers of each node for the terms."""
    takeoff, lands, turns = sum(counts[:-2]), sum(counts[:-1]), counts[0]
    i = np.arange(sum(counts) + 1)
    data, flown = np.zeros((len(i), 8)), np.clip((i - takeoff) / (lands - takeoff), 0.0, 1.0)
    goal = np.array([parameters.distance, 0.0, _top(parameters)])
    data[:, STANCE] = (i <= turns) | (i >= lands)
    data[:, TOUCHDOWN], data[:, FLIGHT] = i == lands, (i > takeoff) & (i < lands)
    data[:, PLACE] = start.pose[:3, 3] + flown[:, None] * goal
    data[:, SPEED] = parameters.speed
    data[:, 4] += 1.1 * flown * (1.0 - flown)
    if parameters.leap == "backflip":
        data[:, ANGLE] = -2.0 * np.pi * np.clip((i - turns) / (lands - turns), 0.0, 1.0)
    return data


# terms --------------------------------------------------------------------------------------------------------


def _attitude(state: State, angle: Any) -> Any:
    """Difference of the trunk's attitude from a turn about y."""
    c, s, R = cos(angle), sin(angle), state.pose[:3, :3]
    x, y, z = ([c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c])
    return concatenate([np.reshape(R[i, k] - axis[i], 1) for k, axis in enumerate((x, y, z)) for i in range(3)])


def running_residual(model: Model, state: State, forces: Any, data: Any) -> Any:
    """Residual on the way."""
    posture = data[STANCE] * CROUCH + (1.0 - data[STANCE]) * TUCK
    bent = (0.3 + 1.7 * data[STANCE]) * (state.joints - posture)
    way, turn = state.pose[:3, 3] - data[PLACE], 2.0 * _attitude(state, data[ANGLE])
    return np.sqrt(STEP) * concatenate([0.05 * forces, 0.1 * state.rates, bent, way, turn])


def final_residual(model: Model, state: State, forces: Any, data: Any) -> Any:
    """Residual at the end."""
    place, turn = 10.0 * (state.pose[:3, 3] - data[PLACE]), 10.0 * _attitude(state, data[ANGLE])
    return concatenate([place, 2.0 * state.twist, state.rates, 3.0 * (state.joints - CROUCH), turn])


def _places(model: Model, state: State) -> Any:
    return concatenate([link_pose(model, state, foot)[:3, 3] for foot in FEET])


def _limits(parameters: LeapParameters) -> Callable[..., Any]:
    """Joint angles and speeds within limits, feet above the ground in flight."""
    ground = Box(_top(parameters))

    def limit_excess(model: Model, state: State, forces: Any, data: Any) -> Any:
        low, high = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
        feet = _places(model, state).reshape(-1, 3)
        below = [data[FLIGHT] * (ground.height(x, y) + CLEARANCE - z) for x, y, z in feet]
        speeds = [state.rates / data[SPEED] - 1.0, -1.0 - state.rates / data[SPEED]]
        return concatenate([state.joints - high, low - state.joints, *speeds, *(np.reshape(x, 1) for x in below)])

    return limit_excess


def first_plan(problem: Problem, guess: State) -> OptimalResult:
    """Plan without speed limits of the drives, from which that within them starts."""
    data = problem.node_data.copy()
    data[:, SPEED] = UNLIMITED_SPEED
    for seed in range(MAX_GUESSES):
        noise = GUESS_NOISE * np.random.default_rng(seed).normal(size=guess.joints.shape)
        noise[0] = 0.0  # the start is given
        varied = guess._replace(joints=guess.joints + noise)
        found = solve(replace(problem, data=data), states=varied, iterations=300, **TOLERANCES)
        if found.converged:
            break
    return found


def stand_over_feet(model: Model, friction: float, state: State) -> Controller:
    """Whole-body control that stands over where the feet are."""
    center = _feet(model, [state])[0].mean(axis=0) + np.array([0.0, 0.0, HEIGHT])
    return stand_still(model, center, CROUCH, FEET, friction, GAIN)


# study --------------------------------------------------------------------------------------------------------


@study_kind
class Leap(TrackedPlan[LeapParameters, LeapResult]):
    """Differential dynamic programming with given contacts; then its feedback in the simulator."""

    name, parameters, base_name = "leap", LeapParameters, "Trunk"
    measures: Mapping[str, Callable[[LeapResult], SupportsFloat]] = {
        **PLAN_MEASURES,
        "peak": lambda seen: seen.plan.states.pose[:, 2, 3].max(),
        "clearance": lambda seen: seen.clearance,
        "torque": lambda seen: np.abs(seen.plan.forces).max(),
        "speed": lambda seen: np.abs(seen.plan.states.rates).max(),
        "push": lambda seen: seen.plan.contact_forces[..., 2].sum(axis=1).max() / (9.81 * seen.run.model.mass),
        "turned": lambda seen: np.degrees(seen.trunk_rotation),
        "foot_height": lambda seen: seen.feet[-1, :, 2].min(),
        **END_MEASURES,
    }

    def run(self, parameters: LeapParameters, progress: Progress) -> LeapResult:
        """Plan, and simulate the plan with its feedback."""
        progress("planning", 0.0)
        problem, guess = leap_problem(parameters)
        first = first_plan(problem, guess)
        progress("planning within the speed of the drives", 0.4)
        plan = solve(problem, first.forces, first.states, iterations=1000, **TOLERANCES)
        progress("simulating", 0.7)
        box = Box(_top(parameters)) if _top(parameters) else None
        floor = CompliantFloor(FEET, (5e4, 5e4), (5e2, 5e2), friction=parameters.friction, terrain=box)
        lands = plan.times[np.flatnonzero(problem.node_data[:, TOUCHDOWN])[0]]
        stand = partial(stand_over_feet, problem.model, SHARE * parameters.friction)
        run = track(plan, problem.model, floor, float(lands) + DELAY, stand, float(plan.times[-1]))
        return LeapResult(plan, run, parameters)

    def plan_charts(self, seen: LeapResult) -> Sequence[Chart]:
        """Ground forces and torques of the plan."""
        plan, names = seen.plan, seen.run.model.joint_names
        return (
            Chart(
                "Planned forces of the ground, upwards",
                plan.times[:-1],
                [Line(f, plan.contact_forces[:, i, 2]) for i, f in enumerate(FEET)],
                "N",
            ),
            Chart(
                "Planned torques, left legs",
                plan.times[:-1],
                [Line(names[i], plan.forces[:, i]) for i in (1, 2, 7, 8)],
                "N m",
            ),
        )
