"""A humanoid reaches low while it balances, on two feet and then on one: whole-body control as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...contact import CompliantFloor, center_of_pressure, corners
from ...control import (
    CenterOfMassTask,
    JointLimits,
    JointsTask,
    Limit,
    PoseTask,
    PositionTask,
    RateLimits,
    RotationTask,
    SampledController,
    TorqueLimits,
    WholeBody,
    WholeBodyLoop,
)
from ...dynamics import center_of_mass, link_pose
from ...model import Model, State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

SOLE: Final = ((0.14, 0.05), (-0.06, 0.05), (-0.06, -0.05), (0.14, -0.05))
"""Corners of a foot (m)."""
BENT_POSTURE: Final = {"hip_pitch": -0.5, "knee_pitch": 1.0, "ankle_pitch": -0.5, "elbow_pitch": -0.5}
HAND, STANDING_SOLE, LIFTED_SOLE = "right_palm", "left_sole", "right_sole"
HAND_DOWN, HAND_UP, WEIGHT_SHIFTED, FOOT_LIFT, FOOT_RAISED, HAND_DOWN_AGAIN, END = 2.0, 4.0, 5.5, 5.7, 6.5, 8.0, 9.5
"""s: the hand is low, back up; the weight is on one foot, the other leaves the ground, is up; the hand is low again"""


class ReachingParameters(Parameters):
    """Heights of the hand, gain and rate of the controller."""

    low: Annotated[float, Field(ge=0.2, le=0.8)] = 0.3
    """m: height of the palm on two feet"""
    low_on_one: Annotated[float, Field(ge=0.3, le=0.8)] = 0.45
    """m: and on one"""
    gain: Annotated[float, Field(gt=0.0, le=30.0)] = 6.0
    """1/s, of center of mass and hand"""
    rate: Annotated[float, Field(ge=100.0, le=2000.0)] = 250.0
    """ticks a second"""


Stops = Sequence[tuple[float, np.ndarray]]
"""Times and positions of rests."""


def path(t: float, stops: Stops) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place, velocity and acceleration between stops, by polynomials of fifth order."""
    times = [at for at, _ in stops]
    i = min(max(int(np.searchsorted(times, t)) - 1, 0), len(stops) - 2)
    (ta, a), (tb, b) = stops[i], stops[i + 1]
    T = tb - ta
    s = min(max((t - ta) / T, 0.0), 1.0)
    way = b - a
    shares = (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        30.0 * (s * (1 - s)) ** 2 / T,
        60.0 * s * (1 - s) * (1 - 2 * s) / T**2,
    )
    return a + shares[0] * way, shares[1] * way, shares[2] * way


class InverseKinematicsResult(NamedTuple):
    """The motion, and what each tick planned."""

    run: Trajectory
    plan: Plan
    ticks: np.ndarray
    """``N`` (s)"""
    torques: np.ndarray
    optimality: np.ndarray
    rounds: np.ndarray

    def state_at(self, t: float) -> State:
        """State at a time of the run."""
        return self.run.at(t)

    def hand_error(self, t: float) -> float:
        """Distance of the hand from its goal (m)."""
        return float(
            np.linalg.norm(link_pose(self.run.model, self.state_at(t), HAND)[:3, 3] - path(t, self.plan.hand)[0])
        )

    def balance_error(self, start: float, end: float) -> float:
        """Largest distance of the center of mass from its path, along the ground (m)."""
        times = [t for t in self.run.times if start <= t <= end]
        gaps = [center_of_mass(self.run.model, self.state_at(t))[:2] - path(t, self.plan.center)[0][:2] for t in times]
        return float(np.linalg.norm(gaps, axis=1).max())

    @property
    def pressure_margin(self) -> float:
        """Smallest distance from the center of pressure to the edge of the foot while it stands on one (m)."""
        rooms = []
        for i in np.flatnonzero(self.run.times >= FOOT_RAISED):
            state, forces = self.run.state(int(i)), self.run.contact_forces[i]
            pressed = center_of_pressure(self.run.model, state, forces, self.plan.points)
            x, y, _ = np.linalg.inv(link_pose(self.run.model, state, STANDING_SOLE))[:3] @ np.append(pressed, 1.0)
            rooms.append(min(0.14 - x, x + 0.06, 0.05 - y, y + 0.05))
        return float(min(rooms))

    @property
    def clearance(self) -> float:
        """Smallest height of the lifted foot (m)."""
        late = [s for s, t in zip(self.run.states, self.run.times, strict=True) if t >= FOOT_RAISED]
        return float(min(link_pose(self.run.model, state, LIFTED_SOLE)[2, 3] for state in late))


class Plan(NamedTuple):
    """Paths of hand, center of mass and foot, and the two controllers."""

    points: tuple[str, ...]
    hand: Stops
    center: Stops
    foot: Stops
    tasks: dict[str, Any]
    two: WholeBodyLoop
    one: WholeBodyLoop

    def tick(self, t: float, state: State) -> tuple[np.ndarray, WholeBodyLoop]:
        """Joint torques at one tick, and the controller that computed them."""
        loop = self.two if t < FOOT_LIFT else self.one
        for task, stops in (("center", self.center), ("hand", self.hand)):
            goal, v, a = path(t, stops)
            loop.change(self.tasks[task], goal=goal, velocity=v, acceleration=a)
        if loop is self.one:
            H, (p, v, a) = np.eye(4), path(t, self.foot)
            H[:3, 3] = p
            still = np.zeros(3)
            loop.change(self.tasks["foot"], goal=H, velocity=np.append(v, still), acceleration=np.append(a, still))
        return loop(t, state), loop


@study_kind
class ReachingLow(SimulatedKind[ReachingParameters, InverseKinematicsResult]):
    """Balance first, then the foot in the air, then the hand, then a posture."""

    name, parameters = "reaching-low", ReachingParameters
    measures: Mapping[str, Callable[[InverseKinematicsResult], SupportsFloat]] = {
        "hand_on_two": lambda seen: seen.hand_error(HAND_DOWN + 0.4),
        "hand_on_one": lambda seen: seen.hand_error(END),
        "height_on_two": lambda seen: link_pose(seen.run.model, seen.state_at(HAND_DOWN + 0.4), HAND)[2, 3],
        "height_on_one": lambda seen: link_pose(seen.run.model, seen.state_at(END), HAND)[2, 3],
        "balance_on_two": lambda seen: seen.balance_error(0.5, WEIGHT_SHIFTED),
        "balance_on_one": lambda seen: seen.balance_error(FOOT_RAISED, END),
        "room": lambda seen: seen.pressure_margin,
        "clearance": lambda seen: seen.clearance,
        "torque_share": lambda seen: np.max(np.abs(seen.torques) / [x.effort for x in seen.run.model.limits]),
        "optimality": lambda seen: seen.optimality.max(),
        "first_guess": lambda seen: (seen.rounds == 1).mean(),
    }

    def run(self, parameters: ReachingParameters, progress: Progress) -> InverseKinematicsResult:
        """Simulate the reach on two feet, then on one."""
        progress("compiling", 0.0)
        walker, start, plan = plan_reach(parameters)
        ticks: list[tuple[Any, ...]] = []

        def controller(t: float, state: State) -> np.ndarray:
            tau, loop = plan.tick(t, state)
            ticks.append((t, tau, loop.found.optimality, loop.found.rounds))
            return tau

        floor = CompliantFloor(plan.points, (1e5, 1e5), (1e3, 1e3), friction=0.8)
        progress("reaching", 0.3)
        run = simulate(
            walker, start, END, SampledController(controller, rate=parameters.rate), floor, dt=1e-3, every=10
        )
        return InverseKinematicsResult(run, plan, *(np.array(column) for column in zip(*ticks, strict=True)))

    def motion(self, seen: InverseKinematicsResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: InverseKinematicsResult) -> Figures:
        """The robot in motion; hand, center of mass and torques over time."""
        run, states = seen.run, list(seen.run.states)
        palm = np.array([link_pose(run.model, state, HAND)[:3, 3] for state in states])
        center = np.array([center_of_mass(run.model, state) for state in states])
        lines = {"hand": palm[:, 2], "center of mass": center[:, 2], "pelvis": run.poses[:, 2, 3]}
        wanted = np.array([path(t, seen.plan.center)[0] for t in run.times])
        legs = [i for i, name in enumerate(run.model.joint_names) if name.startswith("left") and "arm" not in name][:6]
        charts = (
            Chart("Heights", run.times, [Line(name, z) for name, z in lines.items()], "m"),
            Chart(
                "Center of mass, sideways", run.times, [Line("is", center[:, 1]), Line("should be", wanted[:, 1])], "m"
            ),
            Chart(
                "Torques of the left leg",
                seen.ticks,
                [Line(run.model.joint_names[i], seen.torques[:, i]) for i in legs],
                "N m",
            ),
        )
        return Figures((*run.animate().blocks[:1], charts[0]), charts[1:])


def plan_reach(parameters: ReachingParameters) -> tuple[Model, State, Plan]:
    """The robot with corners on its feet, how it stands, and what it is to do."""
    walker, soles = robots.humanoid(), list[tuple[str, ...]]()
    for side in ("left", "right"):
        walker, sole = corners(walker, f"{side}_sole", SOLE)
        soles.append(sole)
    bent = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in BENT_POSTURE.items()}
    pose = np.eye(4)
    pose[2, 3] = -link_pose(walker, walker.state(joints=bent), STANDING_SOLE)[2, 3]
    start = walker.state(pose=pose, joints=bent)
    c, palm = center_of_mass(walker, start), link_pose(walker, start, HAND)[:3, 3]
    left, right = (link_pose(walker, start, sole)[:3, 3] for sole in (STANDING_SOLE, LIFTED_SOLE))
    middle, over = np.array([left[0] + 0.04, 0.5 * (left + right)[1], c[2]]), np.array([left[0] + 0.03, left[1], c[2]])
    aside = palm + np.array([0.0, left[1], 0.0])
    low, lower = np.array([0.42, -0.22, parameters.low]), np.array([0.45, -0.15, parameters.low_on_one])
    hand = [
        (0.5, palm),
        (HAND_DOWN, low),
        (HAND_DOWN + 0.5, low),
        (HAND_UP, palm),
        (WEIGHT_SHIFTED, aside),
        (FOOT_RAISED, aside),
        (HAND_DOWN_AGAIN, lower),
    ]
    center = [(0.0, c), (0.5, middle), (HAND_UP, middle), (WEIGHT_SHIFTED, over)]
    foot = [(FOOT_LIFT, right), (FOOT_RAISED, right + np.array([-0.1, 0.0, 0.1]))]
    tasks = _tasks(start, palm, parameters.gain)
    rest = [tasks["pelvis"], tasks["posture"]]
    limits: list[Limit | TorqueLimits] = [TorqueLimits(), JointLimits(), RateLimits()]
    two = WholeBody(walker, [[tasks["center"]], [tasks["hand"]], rest], (*soles[0], *soles[1]), 0.5, limits)
    one = WholeBody(walker, [[tasks["center"]], [tasks["foot"]], [tasks["hand"]], rest], soles[0], 0.5, limits)
    plan = Plan((*soles[0], *soles[1]), hand, center, foot, tasks, two.compile(), one.compile())
    return walker, start, plan


def _tasks(start: State, palm: np.ndarray, gain: float) -> dict[str, Any]:
    still: dict[str, Any] = {"velocity": np.zeros(3), "acceleration": np.zeros(3), "gain": gain}
    return {
        "center": CenterOfMassTask(np.zeros(3), mask=(True, True, False), **still),
        "hand": PositionTask(HAND, palm, **still),
        "foot": PoseTask(LIFTED_SOLE, np.eye(4), velocity=np.zeros(6), acceleration=np.zeros(6), gain=10.0),
        "pelvis": RotationTask("pelvis", np.eye(3), gain=4.0),
        "posture": JointsTask(start.joints, gain=4.0),
    }
