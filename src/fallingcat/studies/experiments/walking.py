"""A quadruped trots or a humanoid walks: speed, energy and cost of transport of a walking controller, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...contact import CompliantFloor, Contact, HardContacts, corners
from ...control import SampledController
from ...errors import ModelError
from ...locomotion import HumanoidWalk, PredictiveWalk, QuadrupedWalk, VelocityCommand
from ...model import Model, State, robots
from ...simulation import Trajectory, simulate
from ...visualization import Chart, Line
from ..kind import Figures, Parameters, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study

DOG_POSTURE: Final = (0.0, 0.7, -1.4) * 4
BENT_POSTURE: Final = {"hip_pitch": -0.3, "knee_pitch": 0.6, "ankle_pitch": -0.3}
"""rad: legs of the humanoid"""
SOLE: Final = (0.2, 0.1)
"""m"""
FRICTION: Final = 0.8
"""Coefficient of the ground; controllers assume 0.6"""
GROUND: Final = {"quadruped": (2e4, 300.0), "humanoid": (3e4, 500.0)}
"""Stiffness (N/m) and damping (N s/m) of compliant ground at each point"""
RATES: Final = {"predictive": 250.0, "whole-body": 500.0}
"""ticks a second"""
STEP, SAMPLE_STRIDE = 1e-3, 2
"""s, and steps from sample to sample: each tick of whole-body control is one"""


class WalkingParameters(Parameters):
    """Parameters of the walk."""

    robot: Literal["quadruped", "humanoid"] = "quadruped"
    controller: Literal["whole-body", "predictive"] = "whole-body"
    """a predictive controller is for the quadruped alone"""
    forward: Annotated[float, Field(ge=-1.5, le=1.5)] = 0.5
    """m/s"""
    sideways: Annotated[float, Field(ge=-0.5, le=0.5)] = 0.0
    """m/s"""
    turning: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    """rad/s"""
    ground: Literal["compliant", "hard"] = "compliant"
    duration: Annotated[float, Field(gt=0.5, le=60.0)] = 4.0
    """s"""
    begin: Annotated[float, Field(ge=0.0, le=60.0)] = 2.0
    """s: from when on the walk is measured"""


class WalkingResult(NamedTuple):
    """The run, and from when on it is measured."""

    run: Trajectory
    begin: float
    """s"""

    @property
    def since(self) -> np.ndarray:
        """Samples from the beginning of the measurement on."""
        return np.flatnonzero(self.run.times >= self.begin - 1e-9)

    @property
    def duration(self) -> float:
        """Time (s) of the measurement."""
        return float(self.run.times[-1] - self.run.times[self.since[0]])

    @property
    def heading(self) -> np.ndarray:
        """Heading (rad) of the base."""
        return np.unwrap(np.arctan2(self.run.poses[:, 1, 0], self.run.poses[:, 0, 0]))

    @property
    def velocity(self) -> np.ndarray:
        """Mean velocity (m/s), forward and to the left of the heading."""
        since, c, s = self.since[1:], np.cos(self.heading), np.sin(self.heading)
        way = np.diff(self.run.poses[self.since, :2, 3], axis=0)
        along = c[since] * way[:, 0] + s[since] * way[:, 1]
        across = c[since] * way[:, 1] - s[since] * way[:, 0]
        return np.array([along.sum(), across.sum()]) / self.duration

    @property
    def powers(self) -> np.ndarray:
        """Powers (W) of the joint drives."""
        m = self.run.model.m
        driven = self.run._known_problem().driven_ports
        torques = sum(self.run.port_forces[port][:, m:] for port in driven)
        return np.asarray(torques * self.run.rates)

    @property
    def transport(self) -> float:
        """Cost of transport: absolute powers of all joints over weight and speed."""
        model, since = self.run.model, self.since
        work = np.trapezoid(np.abs(self.powers[since]).sum(axis=1), self.run.times[since])
        way = np.linalg.norm(self.velocity) * self.duration
        return float(work / (model.mass * np.linalg.norm(model.gravity) * way))

    @property
    def net_power(self) -> float:
        """Mean power (W) of the drives, positive and negative work together, by the energy ledger."""
        work = self.run.joint_work()
        return float((work[-1] - work[self.since[0]]) / self.duration)

    @property
    def tilt(self) -> float:
        """Largest tilt (rad) of the base."""
        return float(np.arccos(np.clip(self.run.poses[:, 2, 2], -1.0, 1.0)).max())


def scene(parameters: WalkingParameters) -> tuple[Any, Contact, State]:
    """Walking controller, ground and start."""
    robot: Model
    if parameters.robot == "quadruped":
        robot = robots.quadruped()
        points = tuple(frame.name for frame in robot.frames)
        kind = PredictiveWalk if parameters.controller == "predictive" else QuadrupedWalk
        walk: Any = kind(robot, points, DOG_POSTURE)
    else:
        robot, left = corners(robots.humanoid(), "left_sole", SOLE)
        robot, right = corners(robot, "right_sole", SOLE)
        points = (*left, *right)
        angles = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in BENT_POSTURE.items()}
        posture: Any = robot.state(joints=angles).joints
        walk = HumanoidWalk(robot, ("left_sole", "right_sole"), (left, right), posture)
    ground: Contact = HardContacts(points, friction=FRICTION)
    if parameters.ground == "compliant":
        stiffness, damping = GROUND[parameters.robot]
        ground = CompliantFloor(points, (stiffness, stiffness), (damping, damping), friction=FRICTION)
    return walk, ground, robot.standing(ground, walk.posture)


@study_kind
class Walking(SimulatedKind[WalkingParameters, WalkingResult]):
    """A walking controller follows a velocity command."""

    name, parameters = "walking", WalkingParameters
    measures: Mapping[str, Callable[[WalkingResult], SupportsFloat]] = {
        "forward": lambda seen: seen.velocity[0],
        "sideways": lambda seen: seen.velocity[1],
        "turning": lambda seen: (seen.heading[-1] - seen.heading[seen.since[0]]) / seen.duration,
        "transport": lambda seen: seen.transport,
        "power": lambda seen: np.abs(seen.powers[seen.since]).sum(axis=1).mean(),
        "net_power": lambda seen: seen.net_power,
        "tilt": lambda seen: np.degrees(seen.tilt),
        "lowest": lambda seen: seen.run.poses[:, 2, 3].min(),
    }

    def run(self, parameters: WalkingParameters, progress: Progress) -> WalkingResult:
        """Simulate the walk."""
        if parameters.robot == "humanoid" and parameters.controller == "predictive":
            raise ModelError("the predictive controller walks on point feet: robot = 'quadruped'")
        if parameters.begin >= parameters.duration:
            raise ModelError(f"begin must be below duration, {parameters.duration:g} s, got {parameters.begin:g} s")
        progress("compiling", 0.0)
        walk, ground, start = scene(parameters)
        command = VelocityCommand(parameters.forward, parameters.sideways, parameters.turning)
        law = SampledController(walk.compile(command), rate=RATES[parameters.controller])
        progress("walking", 0.2)
        run = simulate(walk.model, start, parameters.duration, law, ground, dt=STEP, every=SAMPLE_STRIDE)
        return WalkingResult(run, parameters.begin)

    def motion(self, seen: WalkingResult) -> Trajectory:
        """Trajectory of the run."""
        return seen.run

    def figures(self, study: Study, seen: WalkingResult) -> Figures:
        """The robot in motion, its base, power of its joints, forces of the ground."""
        run, points = seen.run, seen.run.contact_points
        charts = (
            Chart("Base", run.times, [Line(x, run.poses[:, i, 3]) for i, x in enumerate("xyz")], "m"),
            Chart(
                "Power of the drives",
                run.times,
                [
                    Line("positive and negative", seen.powers.sum(axis=1)),
                    Line("absolute", np.abs(seen.powers).sum(axis=1)),
                ],
                "W",
            ),
            Chart(
                "Upward forces", run.times, [Line(x, run.contact_forces[:, i, 2]) for i, x in enumerate(points)], "N"
            ),
        )
        return Figures((*run.animate().blocks[:1], charts[0]), charts[1:])
