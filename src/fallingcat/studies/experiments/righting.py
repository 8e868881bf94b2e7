"""A quadruped falls rolled over, turns itself upright with its legs, and lands on them, as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, SupportsFloat

import numpy as np
from pydantic import Field

from ...contact import CompliantFloor, feet
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
from ...dynamics import center_of_mass
from ...errors import ModelError, NumericsError
from ...geometry.contact_points import plane, touches
from ...geometry.ellipsoids import Around
from ...io import load
from ...lie.rotations import log
from ...model import Model, State, robots
from ...planning import QuickRighting, displacement, estimate, quickest
from ...planning.righting.drop import momentum_scale
from ...planning.righting.limb_clearance import Limbs
from ...planning.righting.plan import tilt_angle
from ...simulation import Trajectory, simulate
from ..kind import Figures, Parameters, Progress, StudyKind, study_kind
from ..tables import Study
from .pushed import FEET

FORWARD, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
"""forward axis of the base, and vertical of the world"""
REMAINING_FALL = 0.01
"""s: of the fall after the manoeuvre"""
LANDING_DURATION = 2.0
"""s: from touchdown on"""
STEP = 5e-4
"""s"""


class RightingParameters(Parameters):
    """Parameters of the robot, its fall, the ground and the controller."""

    posture: Annotated[list[float], Field(min_length=1)]
    """deg: in which it starts and lands; of one leg, the same for all, or of all joints"""
    file: str = ""
    """file of a robot; the sample quadruped if empty"""
    feet: list[str] = Field(default_factory=list)
    """links or frames that stand on the ground; of a file, what is lowest of its collision shapes, if empty"""
    roll: Annotated[float, Field(gt=0.0, le=180.0)] = 60.0
    """deg: how far it is rolled over at the start"""
    gravity: Annotated[float, Field(gt=0.0, le=30.0)] = 9.81
    """m/s^2"""
    period: Annotated[float, Field(gt=0.01, le=10.0)] = 0.28
    """s: of a circle of the legs, from which the plan begins"""
    stiffness: Annotated[float, Field(gt=0.0, le=1e7)] = 5e3
    """N/m: of the ground below a foot"""
    damping: Annotated[float, Field(gt=0.0, le=1e5)] = 150.0
    """N s/m"""
    friction: Annotated[float, Field(gt=0.0, le=2.0)] = 0.8
    """friction coefficient of the ground"""
    stroke: Annotated[float, Field(gt=0.0, le=10.0)] = 0.2
    """m: in which the landing shall brake its center of mass"""
    rate: Annotated[float, Field(ge=100.0, le=5000.0)] = 1000.0
    """ticks a second"""


class Robot(NamedTuple):
    """Falling robot with its standing posture and its feet."""

    model: Model
    standing_state: State
    feet: tuple[str, ...]
    radii: tuple[Around, ...]

    @classmethod
    def from_parameters(cls, p: RightingParameters) -> Robot:
        """Robot of the parameters: the sample quadruped, or that of a file."""
        model = load(p.file) if p.file else robots.quadruped()
        model = replace(model, gravity=-p.gravity * UP)
        if model.n % len(p.posture):
            raise ModelError(f"posture has {len(p.posture)} angles: {model.name!r} has {model.n} joints")
        bent = model.state(joints=np.tile(np.radians(p.posture), model.n // len(p.posture)))
        if p.feet or not p.file:
            points = tuple(p.feet) or FEET
            radii: tuple[Around, ...] = (0.0,) * len(points)
        else:
            model, points, radii = feet(model, bent)
            legs = dict.fromkeys(model.frame(point).link for point in points)  # one point for each
            which = [next(i for i, point in enumerate(points) if model.frame(point).link == leg) for leg in legs]
            points, radii = tuple(points[i] for i in which), tuple(radii[i] for i in which)
        pose = np.eye(4)
        pose[2, 3] = -min(_heights(model, bent, points, radii))
        return cls(model, bent._replace(pose=pose), points, radii)

    def heights(self, state: State) -> np.ndarray:
        """m: of the lowest place of each foot."""
        return np.array(_heights(self.model, state, self.feet, self.radii))


def _heights(model: Model, state: State, points: tuple[str, ...], radii: tuple[Around, ...]) -> list[float]:
    """m: of the lowest places around points."""
    return [float(touch.site.height) for touch in touches(model, state, points, plane(model), radii)]


class RightingResult(NamedTuple):
    """The plan, the flight and the landing."""

    robot: Robot
    parameters: RightingParameters
    plan: QuickRighting
    flight: Trajectory
    landing_run: Trajectory
    """from touchdown on"""
    ticks: np.ndarray
    """``N`` (s): of the whole"""
    torques: np.ndarray
    """``N x n`` (N m): what the two laws asked for"""

    @property
    def touchdown(self) -> float:
        """s: of the fall."""
        return float(self.flight.times[-1])

    @property
    def base_rotation(self) -> np.ndarray:
        """``3`` (rad): by which the base turned in flight, in its own frame at the start."""
        return np.asarray(log(self.flight.poses[0, :3, :3].T @ self.flight.poses[-1, :3, :3]), dtype=float)

    @property
    def spin(self) -> float:
        """The largest angular momentum in flight, relative to what the joint rates alone carry."""
        return float(np.abs(self.flight.momenta("centroidal")[:, 3:]).max() / momentum_scale(self.flight))

    @property
    def weight(self) -> float:
        """N."""
        return self.robot.model.mass * self.parameters.gravity

    def torque_share(self, landed: bool) -> float:
        """The largest share of a drive's torque, in flight or from touchdown on."""
        effort = np.array([x.effort for x in self.robot.model.limits])
        return float(np.max(np.abs(self.torques[(self.ticks >= self.touchdown) == landed] / effort)))

    @property
    def joint_error(self) -> float:
        """rad: that a joint is away from the planned motion, at most."""
        return float(np.abs(self.flight.joints - self.plan.motion(self.flight.times).q).max())

    @property
    def clearance(self) -> float:
        """m: of the lowest foot until it has a hundredth of the fall left, at least."""
        early = [s for s, t in zip(self.flight.states, self.flight.times, strict=True) if t < 0.99 * self.touchdown]
        return float(min(self.robot.heights(state).min() for state in early[::5]))


def _tilt(pose: np.ndarray) -> float:
    """deg: of the base's up from the world's."""
    return float(np.degrees(tilt_angle(pose, UP)))


def _turn(pose: np.ndarray) -> float:
    """deg: about the forward axis."""
    return float(np.degrees(np.asarray(log(pose[:3, :3])) @ FORWARD))


@study_kind
class RightingDog(StudyKind[RightingParameters, RightingResult]):
    """Plan by curvature, follow and land by whole-body control."""

    name, parameters = "righting-dog", RightingParameters
    measures: Mapping[str, Callable[[RightingResult], SupportsFloat]] = {
        "start_tilt": lambda seen: _tilt(seen.flight.poses[0]),
        "landing_tilt": lambda seen: _tilt(seen.flight.poses[-1]),
        "planned": lambda seen: np.degrees(np.linalg.norm(seen.plan.turn)),
        "turned": lambda seen: np.degrees(np.linalg.norm(seen.base_rotation)),
        "missed": lambda seen: np.degrees(np.linalg.norm(log(seen.flight.poses[-1, :3, :3]))),
        "per_circle": lambda seen: _turn(displacement(seen.robot.model, seen.plan.curve.circle).pose),
        "by_curvature": lambda seen: _turn(estimate(seen.robot.model, seen.plan.curve.circle, tolerance=1e-6).pose),
        "circles": lambda seen: seen.plan.curve.turns,
        "time": lambda seen: seen.plan.motion.duration,
        "air": lambda seen: seen.touchdown,
        "drop": lambda seen: 0.5 * seen.parameters.gravity * seen.touchdown**2,
        "speed": lambda seen: seen.parameters.gravity * seen.touchdown,
        "clearance": lambda seen: seen.clearance,
        "spin": lambda seen: seen.spin,
        "limb_clearance": lambda seen: (
            Limbs(seen.robot.model, seen.robot.feet).clearance(seen.flight.joints, 1.0).distance.min()
        ),
        "strayed": lambda seen: np.degrees(seen.joint_error),
        "flight_torque": lambda seen: seen.torque_share(landed=False),
        "landing_torque": lambda seen: seen.torque_share(landed=True),
        "peak_force": lambda seen: seen.landing_run.contact_forces[:, :, 2].sum(axis=1).max() / seen.weight,
        "sunk": lambda seen: seen.landing_run.penetration.max(),
        "lowest": lambda seen: seen.landing_run.poses[:, 2, 3].min(),
        "swayed": lambda seen: max(_tilt(pose) for pose in seen.landing_run.poses),
        "end_tilt": lambda seen: _tilt(seen.landing_run.poses[-1]),
        "end_posture": lambda seen: np.degrees(
            np.abs(seen.landing_run.joints[-1] - seen.robot.standing_state.joints).max()
        ),
        "end_rate": lambda seen: np.abs(seen.landing_run.rates[-1]).max(),
        "standing": lambda seen: seen.landing_run.contact_forces[-1, :, 2].sum() / seen.weight,
        "flight_balance": lambda seen: seen.flight.energy_residual,
        "landing_balance": lambda seen: seen.landing_run.energy_residual,
    }

    def run(self, parameters: RightingParameters, progress: Progress) -> RightingResult:
        """Plan the righting, and simulate flight and landing."""
        p, robot = parameters, Robot.from_parameters(parameters)
        progress("planning", 0.0)
        posture = robot.standing_state.joints
        plan = quickest(robot.model, np.radians(p.roll), posture, period=p.period, tips=robot.feet)
        ticks: list[tuple[float, np.ndarray]] = []
        progress("falling", 0.4)
        flight = _require_finished(_flight(robot, plan, p, ticks), "flight")
        progress("landing", 0.7)
        landing = _require_finished(_simulate_landing(robot, flight, p, ticks), "landing")
        return RightingResult(robot, p, plan, flight, landing, *(np.array(x) for x in zip(*ticks, strict=True)))

    def figures(self, study: Study, seen: RightingResult) -> Figures:
        """The robot in motion, the curvature inside its circles, and what it did."""
        from .righting_figures import figures

        return figures(seen)


def _require_finished(run: Trajectory, what: str) -> Trajectory:
    if run.status != "finished":
        raise NumericsError(f"the {what} was not simulated to its end: {run.status}")
    return run


def _flight(robot: Robot, plan: QuickRighting, p: RightingParameters, ticks: list[Any]) -> Trajectory:
    """Simulate the flight from rest, rolled over by the planned turn, until the feet touch the ground."""
    model, motion = robot.model, plan.motion
    time = motion.duration + REMAINING_FALL
    pose = np.eye(4)
    pose[:3, :3] = plan.moved.pose[:3, :3].T
    start = robot.standing_state._replace(pose=pose)
    above = center_of_mass(model, robot.standing_state) + 0.5 * p.gravity * time**2 * UP
    pose[:3, 3] = above - center_of_mass(model, start)
    still = np.zeros(model.n)
    follow = JointsTask(start.joints, velocity=still, acceleration=still, gain=60.0)
    loop = WholeBody(model, [[follow]], limits=[TorqueLimits()]).compile()

    def controller(t: float, state: State) -> np.ndarray:
        now, then = motion(t), motion(t + 1.0 / p.rate)
        loop.change(follow, goal=now.q[0], velocity=now.dq[0], acceleration=p.rate * (then.dq[0] - now.dq[0]))
        tau = loop(t, state)
        ticks.append((t, tau))
        return tau

    return simulate(model, start, time, SampledController(controller, p.rate), dt=STEP, progress=False)


def _simulate_landing(robot: Robot, flight: Trajectory, p: RightingParameters, ticks: list[Any]) -> Trajectory:
    """On its feet: center of mass and trunk first, then the posture."""
    model, start = robot.model, flight.state(-1)
    fast = p.gravity * float(flight.times[-1])
    gain = max(fast / (np.exp(1.0) * p.stroke), 6.0)  # critically damped, a fall at this speed ends so deep
    began = float(flight.times[-1])
    goal = np.append(center_of_mass(model, start)[:2], center_of_mass(model, robot.standing_state)[2])
    center = CenterOfMassTask(goal, gain=gain)
    trunk = RotationTask(model.link_names[0], np.eye(3), gain=12.0, weight=0.1)
    posture = JointsTask(robot.standing_state.joints, gain=8.0)
    limits: list[Limit | TorqueLimits] = [TorqueLimits(), JointLimits()]
    loop = WholeBody(model, [[center, trunk], [posture]], robot.feet, 0.9 * p.friction, limits).compile()

    def controller(t: float, state: State) -> np.ndarray:
        tau = loop(t, state)
        ticks.append((began + t, tau))
        return tau

    floor = CompliantFloor(robot.feet, (p.stiffness,) * 2, (p.damping,) * 2, friction=p.friction, radius=robot.radii)
    return simulate(
        model, start, LANDING_DURATION, SampledController(controller, p.rate), floor, dt=STEP, every=2, progress=False
    )
