"""Walking controller of robots on two flat feet, by the divergent component of motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, arctan2, array, clip, concatenate, cos, exp, less, maximum, scale, sin, stack, where
from ..arrays.types import FloatArray, Matrix, Scalar, Vector
from ..compiler import compile
from ..control import CenterOfMassTask, JointsTask, PositionTask, RotationTask, TorqueLimits, WholeBody
from ..control.tasks.task import Task
from ..dynamics import center_of_mass, center_of_mass_jacobian, link_pose
from ..dynamics.checks import check_model
from ..errors import ModelError, describe
from ..geometry.contact_points import checked_points
from ..geometry.terrain import Terrain
from ..model import Frame, Model, State
from ..records import concise
from .commands import VelocityCommand, approach
from .footsteps import dcm_step
from .loop import Command, WalkingLoop, task_numbers
from .pendulum import LinearPendulum
from .quadruped import check_feet, check_solver, check_walk, planar_rotation
from .schedule import Schedule, biped_walk
from .swing import swing_foot

COMMAND_RATES = np.array([0.2, 0.2, 0.4])
"""Largest rates of commands (m/s^2, m/s^2, rad/s^2)."""
HEIGHT_GAIN, TRUNK_GAIN, SWING_GAIN, POSTURE_GAIN = 10.0, 12.0, 30.0, 6.0
"""1/s"""
DCM_GAIN = 3.0
"""1/s: decay of the error of the divergent component of motion, as far as soles can"""
SWING_WEIGHT = 10.0
"""Weight of a swinging foot beside 1 of center of mass and trunk."""
SOLE_SHARE = 0.7
"""Share of length and width of a sole that the point of zero moment may use."""
REACH_SHARES = (0.35, 0.6, 2.4)
"""Largest step forward (m), least and largest lateral distance of feet, as shares of that of the posture."""
CONTACT_DAMPING = 20.0
"""1/s: decay of velocities of soles that stand"""
PREPARATION = 1.0
"""Time (s) in which the weight is shifted before the first step."""


@concise
@dataclass(frozen=True)
class HumanoidWalk:
    """Walking controller of a robot on two flat feet: velocity command in, joint torques out.

    The center of mass follows a linear inverted pendulum whose point of zero moment moves from foot to foot; feedback
    of its divergent component of motion moves that point within the sole, and the place of the next step makes up for
    the rest.  One whole-body problem with switched contacts finds the torques.  In the first second both feet stand
    and the weight is shifted.

    Args:
        model: Robot with a free base.
        soles: Frames of the left and right sole, x forward, z up.
        contacts: Contact points of each sole, see :func:`fallingcat.contact.corners`.
        posture: Joint coordinates (n) of the standing robot.
        schedule: Contact schedule of two feet with double support.
        clearance: Height of the swing (m).
        friction: Friction coefficient assumed.
        terrain: Ground whose heights below places of touchdown are known; None: as high as the foot that stands.
        rounds: Solver rounds of a tick at most.

    Example:
        >>> import fallingcat as fc
        >>> robot = fc.robots.humanoid()
        >>> robot, left = fc.contact.corners(robot, "left_sole", (0.2, 0.1))
        >>> robot, right = fc.contact.corners(robot, "right_sole", (0.2, 0.1))
        >>> bent = {"hip_pitch": -0.3, "knee_pitch": 0.6, "ankle_pitch": -0.3}
        >>> angles = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in bent.items()}
        >>> walk = HumanoidWalk(robot, ("left_sole", "right_sole"), (left, right), robot.state(joints=angles).joints)
        >>> round(walk.pendulum.height, 2)  # m
        0.91
    """

    model: Model
    soles: Sequence[str]
    contacts: Sequence[Sequence[str]]
    posture: Sequence[float]
    schedule: Schedule = field(default_factory=biped_walk)
    clearance: float = 0.06
    friction: float = 0.6
    terrain: Terrain | None = None
    rounds: int = 12

    def __post_init__(self) -> None:
        """Check the fields."""
        check_model(self.model)
        check_feet(self.model, self.soles, self.schedule)
        if len(self.soles) != 2 or self.schedule.offsets != (0.0, 0.5) or not 0.5 < self.schedule.duty < 1.0:
            raise ModelError("a humanoid walks on two soles with double support: schedule=biped_walk(...)")
        if not isinstance(self.contacts, (list, tuple)) or len(self.contacts) != 2 or not all(map(len, self.contacts)):
            raise ModelError(f"contacts must be the points of both soles, got {describe(self.contacts)}")
        checked_points(self.model, tuple(place for sole in self.contacts for place in sole))
        check_walk(self)
        check_solver(self)
        stand = self.model.state(joints=self.posture)
        left, right = (link_pose(self.model, stand, sole)[1, 3] for sole in self.soles)
        if not left > right:
            raise ModelError(f"the first sole must be left of the second, got {', '.join(self.soles)}")

    @property
    def pendulum(self) -> LinearPendulum:
        """Pendulum of the standing robot."""
        stand = self.model.state(joints=self.posture)
        ground = np.mean([link_pose(self.model, stand, sole)[2, 3] for sole in self.soles])
        height = float(center_of_mass(self.model, stand)[2] - ground)
        return LinearPendulum(height, float(np.linalg.norm(self.model.gravity)))

    def compile(self, command: Command | None = None) -> WalkingLoop:
        """Compile the controller.

        Args:
            command: Velocity command, or a function of time that returns one; None: it steps in place.

        Returns:
            Loop ``tau = loop(q, v, t)`` with machine code and a memory of its own.
        """
        stand, zero = self.model.state(joints=self.posture), np.zeros(3)
        com = CenterOfMassTask(zero, velocity=zero, acceleration=zero, gain=np.array([0.0, 0.0, HEIGHT_GAIN]))
        trunk = RotationTask(self.model.link_names[0], np.eye(3), velocity=zero, gain=TRUNK_GAIN)
        place = [
            PositionTask(sole, zero, velocity=zero, acceleration=zero, gain=SWING_GAIN, weight=0.0)
            for sole in self.soles
        ]
        turn = [RotationTask(sole, np.eye(3), velocity=zero, gain=SWING_GAIN, weight=0.0) for sole in self.soles]
        tasks: list[list[Task]] = [[com, trunk, *place, *turn], [JointsTask(stand.joints, gain=POSTURE_GAIN)]]
        walker, points = _inner_points(self.model, self.contacts)
        limits = [TorqueLimits()]
        loop = WholeBody(
            walker, tasks, points, self.friction, limits, switched=True, rounds=self.rounds, damping=CONTACT_DAMPING
        ).compile()
        plan = self._plan(stand, tuple(task for level in tasks for task in level))
        inputs = {"given": 4 + 6 + 8}
        references = compile(self.model, walking_references, inputs=inputs, plan=plan)
        begin = partial(_initial_memory, soles=tuple(self.soles))
        return WalkingLoop(self.model, references, loop, begin, VelocityCommand() if command is None else command)

    def _plan(self, stand: State, tasks: tuple[Task, ...]) -> _Plan:
        places = [link_pose(self.model, stand, sole) for sole in self.soles]
        corners = np.array([link_pose(self.model, stand, place)[:3, 3] for place in self.contacts[0]])
        corners = (corners - places[0][:3, 3]) @ places[0][:3, :3]
        width = float(places[0][1, 3] - places[1][1, 3])
        sole = SOLE_SHARE * np.array([corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)])
        return _Plan(
            tuple(self.soles), tuple(map(len, self.contacts)), width, sole, self.pendulum, self.schedule,
            self.clearance, self.terrain, tasks,
        )  # fmt: skip


def _inner_points(model: Model, contacts: Sequence[Sequence[str]]) -> tuple[Model, list[str]]:
    """Robot with contact points moved towards the middle of their soles, so that soles do not tip over their edges."""
    frames = []
    for sole in contacts:
        places = [model.frame(place) for place in sole]
        middle = np.mean([frame.placement[:3, 3] for frame in places], axis=0)
        for frame in places:
            H = frame.placement.copy()
            H[:3, 3] = middle + SOLE_SHARE * (H[:3, 3] - middle)
            frames.append(Frame(f"{frame.name}_inner", frame.link, H))
    return replace(model, frames=(*model.frames, *frames)), [frame.name for frame in frames]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Constants of the references of one robot."""

    soles: tuple[str, ...]
    points: tuple[int, ...]
    """number of contact points of each sole"""
    width: float
    """lateral distance of the feet (m)"""
    sole_bounds: FloatArray
    """2 x 2: least and largest coordinates of the point of zero moment in a sole (m)"""
    pendulum: LinearPendulum
    schedule: Schedule
    clearance: float
    terrain: Terrain | None
    tasks: tuple[Task, ...]
    """center of mass, trunk, positions of both soles, rotations of both soles, posture"""

    @property
    def double_support(self) -> float:
        """Time of double support (s)."""
        return (self.schedule.duty - 0.5) * self.schedule.period

    @property
    def single_support(self) -> float:
        """Time of single support (s)."""
        return self.schedule.flight


class _Memory(NamedTuple):
    """Memory of a walk from tick to tick."""

    time: Scalar
    begin: Scalar
    """time of the first tick (s)"""
    heading: Scalar
    """rad"""
    command: Vector
    """command with bounded rates (3)"""
    footholds: Matrix
    """2 x 4: where each sole stood last (m), and its heading (rad)"""

    @classmethod
    def unflatten(cls, x: Vector) -> _Memory:
        return cls(x[0], x[1], x[2], x[3:6], x[6:].reshape(2, 4))

    @property
    def flatten(self) -> Vector:
        times = array([self.time, self.begin, self.heading])
        return concatenate([times, self.command, self.footholds.reshape(-1)])


def _foothold(model: Model, state: State, sole: str, heading: Scalar) -> Vector:
    """Place of a sole and its heading, which is that nearest to a given one: it may turn more than once."""
    H = link_pose(model, state, sole)
    ahead = planar_rotation(heading).T @ H[:2, 0]
    return concatenate([H[:3, 3], array([heading + arctan2(ahead[1], ahead[0])])])


def _initial_memory(state: State, t: float, model: Model, soles: tuple[str, ...]) -> FloatArray:
    """Memory at the first tick."""
    R = state.pose[:3, :3]
    heading = np.arctan2(R[1, 0], R[0, 0])
    footholds = np.array([_foothold(model, state, sole, heading) for sole in soles])
    return np.asarray(_Memory(t, t, footholds[:, 3].mean(), np.zeros(3), footholds).flatten)


class _Step(NamedTuple):
    """One step: the foot that touched down last, the other one, and the time since then."""

    leading_foot: Vector
    """place of the foot that touched down last (2)"""
    trailing_foot: Vector
    """place of the other foot (2)"""
    side: Scalar
    """1 where the new foot is the left one, else -1"""
    time: Scalar
    """time since its touchdown (s)"""
    offset: Vector
    """offset of the divergent component from the next foot at its touchdown, in the wanted walk (2)"""
    end: Vector
    """divergent component at the next touchdown in the wanted walk (2)"""


def walking_references(model: Model, state: State, given: Vector, *, plan: _Plan) -> Vector:
    """Numbers of the whole-body tasks, mask of the contacts and the next memory, from time, command and memory."""
    t, command, memory = given[0], given[1:4], given[4:]
    last = _Memory.unflatten(memory)
    clock = t - last.begin - PREPARATION
    walks = less(0.0, clock)
    moving = approach(last.command, where(walks, command, 0.0 * command), COMMAND_RATES, t - last.time)
    heading = last.heading + (t - last.time) * moving[2]
    closed = where(walks, plan.schedule.contacts(clock), np.ones(2))
    stands = [less(0.5, on) for on in closed]
    here = [_foothold(model, state, sole, heading) for sole in plan.soles]
    footholds = [where(on, new, old) for on, new, old in zip(stands, here, last.footholds, strict=True)]
    step = _step(plan, clock, walks, heading, moving, footholds)
    com, landing = _center_of_mass(model, state, plan, step, walks, heading, footholds)
    feet = _swings(plan, clock, step, heading, moving[2], landing, footholds)
    weights = [where(on, 0.0, SWING_WEIGHT) * np.ones(3) for on in stands]
    trunk = {"goal": _upright(heading), "velocity": array([0.0, 0.0, moving[2]])}
    places = [{**foot[0], "weight": weight} for foot, weight in zip(feet, weights, strict=True)]
    turns = [{**foot[1], "weight": weight} for foot, weight in zip(feet, weights, strict=True)]
    numbers = task_numbers(model, plan.tasks, [com, trunk, *places, *turns, {}])
    mask = concatenate([scale(on, np.ones(k)) for on, k in zip(closed, plan.points, strict=True)])
    return concatenate([numbers, mask, _Memory(t, last.begin, heading, moving, stack(footholds)).flatten])


def _step(
    plan: _Plan, clock: Scalar, walks: Any, heading: Scalar, moving: Vector, footholds: Sequence[Vector]
) -> _Step:
    """Step at a time; before the walk begins it is the first, at its touchdown."""
    phase = where(walks, plan.schedule.phases(clock)[0], 0.0)
    left, period, R = less(phase, 0.5), plan.schedule.period, planar_rotation(heading)
    side = where(left, 1.0, -1.0)
    stride = R @ (moving[:2] * (0.5 * period))
    lateral = absolute(moving[1]) * (0.5 * period) - (1.0 - REACH_SHARES[1]) * plan.width  # feet must not meet
    sway = R @ array([0.0, side * (plan.width + maximum(lateral, 0.0))])
    offset = plan.pendulum.walking_offset(stride, -1.0 * sway, plan.single_support, plan.double_support)
    new, old = where(left, footholds[0], footholds[1])[:2], where(left, footholds[1], footholds[0])[:2]
    return _Step(new, old, side, where(left, phase, phase - 0.5) * period, offset, new + stride - sway + offset)


def _center_of_mass(
    model: Model,
    state: State,
    plan: _Plan,
    step: _Step,
    walks: Any,
    heading: Scalar,
    footholds: Sequence[Vector],
) -> tuple[dict[str, Any], Vector]:
    """Numbers of the center of mass, and its divergent component at the next touchdown (2, m).

    The part of the error that soles can remove decays until then, the rest grows.
    """
    p = center_of_mass(model, state)
    dcm = plan.pendulum.dcm(p[:2], (center_of_mass_jacobian(model, state) @ state.velocity)[:2])
    zero_moment, wanted = _reference_dcm(plan, step)
    gain, R = 1.0 + DCM_GAIN / plan.pendulum.rate, planar_rotation(heading)
    error, left = dcm - wanted, 0.5 * plan.schedule.period - step.time
    correction = R @ clip(R.T @ scale(gain, error), plan.sole_bounds[0], plan.sole_bounds[1])
    removed = correction * (1.0 / gain)
    grown = scale(exp(plan.pendulum.rate * left), error - removed)
    landing = step.end + scale(exp(-DCM_GAIN * left), removed) + grown
    before = dcm + scale(DCM_GAIN / plan.pendulum.rate, error)  # it goes there and stays
    zero_moment = where(walks, zero_moment + correction, before)
    w = plan.pendulum.rate
    ground = 0.5 * (footholds[0][2] + footholds[1][2])
    acceleration = scale(w * w, p[:2] - zero_moment)
    goal = array([p[0], p[1], ground + plan.pendulum.height])
    return {"goal": goal, "acceleration": concatenate([acceleration, np.zeros(1)])}, landing


def _reference_dcm(plan: _Plan, step: _Step) -> tuple[Vector, Vector]:
    """Point of zero moment and divergent component in the wanted walk: back in time from the next touchdown."""
    w, double = plan.pendulum.rate, plan.double_support
    shifting, way = less(step.time, double), step.leading_foot - step.trailing_foot
    until = where(shifting, 0.0 * step.time + plan.single_support, 0.5 * plan.schedule.period - step.time)
    # in single support, or where it begins
    dcm = step.leading_foot + scale(exp(-w * until), step.end - step.leading_foot)
    t, lead = where(shifting, step.time, double), way * (1.0 / (w * double))
    zero_moment = step.trailing_foot + scale(t / double, way)
    earlier = zero_moment + lead + scale(exp(w * (t - double)), dcm - step.leading_foot - lead)
    return where(shifting, zero_moment, step.leading_foot), where(shifting, earlier, dcm)


def _swings(
    plan: _Plan,
    clock: Scalar,
    step: _Step,
    heading: Scalar,
    turning: Scalar,
    landing: Vector,
    footholds: Sequence[Vector],
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Numbers of position and rotation of each sole as it swings."""
    left = 0.5 * plan.schedule.period - step.time
    goal, R = heading + scale(left, turning), planar_rotation(heading)
    found = []
    for k, progress in enumerate(plan.schedule.swing(clock)):
        side = 1.0 - 2.0 * k
        lateral = np.sort(side * plan.width * np.array(REACH_SHARES[1:]))
        reach = (np.array([-REACH_SHARES[0], lateral[0]]), np.array([REACH_SHARES[0], lateral[1]]))
        land = dcm_step(landing, step.offset, step.leading_foot, reach, R)
        other = footholds[1 - k]
        z = other[2] if plan.terrain is None else plan.terrain.height(land[0], land[1])
        foot = swing_foot(footholds[k][:3], array([land[0], land[1], z]), progress, plan.single_support, plan.clearance)
        share = progress * progress * (3.0 - 2.0 * progress)
        yaw = footholds[k][3] + share * (goal - footholds[k][3])
        place = {"goal": foot.position, "velocity": foot.velocity, "acceleration": foot.acceleration}
        found.append((place, {"goal": _upright(yaw)}))
    return found


def _upright(heading: Scalar) -> Matrix:
    """Rotation (3 x 3) about the vertical."""
    c, s, zero = cos(heading), sin(heading), 0.0 * heading
    return array([[c, -s, zero], [s, c, zero], [zero, zero, zero + 1.0]])
