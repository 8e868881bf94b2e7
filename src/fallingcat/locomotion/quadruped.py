"""Walking controller of robots on point feet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, clip, concatenate, cos, less, scale, sin, stack, where
from ..arrays.types import FloatArray, Matrix, Scalar, Vector
from ..compiler import compile
from ..control import BaseTask, JointsTask, PositionTask, TorqueLimits, WholeBody
from ..control.tasks.task import Task
from ..dynamics import center_of_mass, link_pose
from ..dynamics.checks import check_model, positive
from ..errors import ModelError, describe
from ..geometry.contact_points import checked_points
from ..geometry.terrain import Terrain, check_terrain
from ..lie import SE3
from ..model import Model, State
from ..records import concise
from .commands import VelocityCommand, approach
from .footsteps import aligned_with, ground_plane, on_plane, raibert
from .loop import Command, WalkingLoop, task_numbers
from .schedule import MIN_STANCE, Schedule, trot
from .sway import Sway, reachable_supports, support_sway
from .swing import swing_foot

COMMAND_RATES = np.array([2.0, 2.0, 4.0])
"""Largest rates of commands (m/s^2, m/s^2, rad/s^2)."""
SWAYING_RATES = 0.5 * COMMAND_RATES
"""Largest rates of commands where the trunk sways."""
MAX_LAG = 0.1
"""Largest distance (m) of the trunk along x and y from its wanted place: after a push it does not hurry back."""
CAPTURE_SHARE = 0.6
"""Share of the capture point's step per error of velocity; with all of it trots above 1 m/s overstep."""
TOUCHDOWN_DEPTH = 0.01
"""Depth (m) below the expected ground at which a swing ends, so that contact is made where the ground is lower."""
ANGLE_ROUNDING = 1e-6
"""rad or m: a posture at a limit is within it"""
TRUNK_GAIN, SWING_GAIN, POSTURE_GAIN = 12.0, 40.0, 5.0
"""1/s"""
CONE_SHARE = np.array([0.9, 0.6])
"""Share of the friction cones that the sway of a trunk along x and y may use: feet one behind the other need room."""
HEIGHT_WEIGHT = 100.0
"""Weight of the height of a trunk that sways: the moment that its feet cannot exert shall not be made by sinking."""
SWING_WEIGHT = 10.0
"""Weight of a swinging foot beside 1 of the trunk: a foot in the wrong place is worse than a trunk that tilts."""


@concise
@dataclass(frozen=True)
class QuadrupedWalk:
    """Walking controller of a robot on point feet: velocity command in, joint torques out.

    A schedule says which feet stand; swinging feet go to Raibert's places of touchdown; the trunk keeps its height
    above the plane through the last footholds, parallel to it, with the commanded velocity.  One whole-body problem
    with switched contacts finds the torques.

    Where the feet that stand are beside the trunk (pace, bound, gallop), it sways above them as a linear pendulum, and
    the feet go nearer to its middle, so that forces stay within the friction cones.  Such a walk takes two periods to
    begin: feet step to their places, then all stand while the sway grows.  Under ``stand()`` commands of velocity have
    no effect.

    Args:
        model: Robot with a free base.
        feet: Links or frames of the feet, in the order of the schedule.
        posture: Joint coordinates (n) of the standing robot; they say where feet and trunk are in the middle.
        schedule: Contact schedule.
        clearance: Height of the swing (m).
        friction: Friction coefficient assumed.
        gain: Step per error of velocity (s); None: 0.6 of that of the capture point,
            ``sqrt(height / gravity)``.
        terrain: Ground whose heights below places of touchdown are known; None: the plane through the last footholds.
        rounds: Solver rounds of a tick at most.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [frame.name for frame in dog.frames]
        >>> ground = fc.contact.CompliantFloor(feet, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)
        >>> walk = QuadrupedWalk(dog, feet, (0.0, 0.7, -1.4) * 4)
        >>> controller = walk.compile(fc.locomotion.VelocityCommand(forward=0.5))
        >>> start = dog.standing(ground, walk.posture)
        >>> run = fc.simulate(dog, start, 0.1, fc.control.SampledController(controller, rate=500.0), ground, dt=1e-3)
        >>> run.status
        'finished'
    """

    model: Model
    feet: Sequence[str]
    posture: Sequence[float]
    schedule: Schedule = field(default_factory=trot)
    clearance: float = 0.06
    friction: float = 0.6
    gain: float | None = None
    terrain: Terrain | None = None
    rounds: int = 12

    def __post_init__(self) -> None:
        """Check the fields."""
        check_model(self.model)
        check_feet(self.model, self.feet, self.schedule)
        check_walk(self)
        check_solver(self)
        if self.gain is not None:
            positive(self.gain, "gain")

    def compile(self, command: Command | None = None) -> WalkingLoop:
        """Compile the controller.

        Args:
            command: Velocity command, or a function of time that returns one; None: it walks in place.

        Returns:
            Loop ``tau = loop(q, v, t)`` with machine code and a memory of its own.
        """
        stand, feet = self.model.state(joints=self.posture), tuple(self.feet)
        if self.schedule.duty == 1.0 and isinstance(command, VelocityCommand) and command.array.any():
            raise ModelError(f"under stand() no foot moves: the command must be zero, got {command}")
        home = np.array([link_pose(self.model, stand, foot)[:3, 3] for foot in feet])
        height = -float(home[:, 2].mean())
        if not height > 0.0:
            raise ModelError(f"feet of {self.model.name!r} must be below its base in the posture, got {-height:.3g} m")
        gravity = float(np.linalg.norm(self.model.gravity))
        reach, center = CONE_SHARE * self.friction / np.sqrt(2.0) * height, center_of_mass(self.model, stand)[:2]
        home[:, :2] = reachable_supports(self.schedule, home[:, :2], reach, center)
        sway = support_sway(self.schedule, home[:, :2], float(np.sqrt(gravity / height)))
        bend, weight = (
            (None, 1.0) if sway.is_zero else (np.zeros(6), np.array([1.0, 1.0, HEIGHT_WEIGHT, 1.0, 1.0, 1.0]))
        )
        trunk = BaseTask(np.eye(4), velocity=np.zeros(6), acceleration=bend, gain=TRUNK_GAIN, weight=weight)
        swing = [
            PositionTask(foot, np.zeros(3), velocity=np.zeros(3), acceleration=np.zeros(3), gain=SWING_GAIN, weight=0.0)
            for foot in feet
        ]
        tasks: list[list[Task]] = [[trunk, *swing], [JointsTask(stand.joints, gain=POSTURE_GAIN)]]
        loop = WholeBody(
            self.model, tasks, feet, self.friction, [TorqueLimits()], switched=True, rounds=self.rounds
        ).compile()
        gain = self.gain if self.gain is not None else CAPTURE_SHARE * float(np.sqrt(height / gravity))
        flat = tuple(task for level in tasks for task in level)
        plan = _Plan(feet, home, height, self.schedule, self.clearance, gain, self.terrain, flat, sway)
        inputs = {"given": 4 + 8 + 3 * len(feet)}
        references = compile(self.model, walking_references, inputs=inputs, plan=plan)
        begin = partial(_initial_memory, feet=feet)
        return WalkingLoop(self.model, references, loop, begin, VelocityCommand() if command is None else command)


def check_feet(model: Model, feet: Any, schedule: Any) -> None:
    """Check that feet are links or frames of a floating robot, as many as those of the schedule."""
    if not isinstance(model.base, SE3):
        raise ModelError(f"a walking robot needs a free base (SE(3)), got {model.base}")
    if not isinstance(feet, (list, tuple)) or not all(isinstance(foot, str) for foot in feet):
        raise ModelError(f"feet must be a list of names of links and frames, got {describe(feet)}")
    checked_points(model, tuple(feet))
    if not isinstance(schedule, Schedule):
        raise ModelError(f"schedule must be a Schedule, such as trot(), got {describe(schedule)}")
    if len(schedule.offsets) != len(feet):
        raise ModelError(f"a schedule of {len(schedule.offsets)} feet does not fit {len(feet)} feet: {', '.join(feet)}")


def check_solver(walk: Any) -> None:
    """Check terrain and rounds of a walk by whole-body control."""
    check_terrain(walk.terrain)
    if isinstance(walk.rounds, bool) or not isinstance(walk.rounds, (int, np.integer)) or walk.rounds < 1:
        raise ModelError(f"rounds must be a positive integer, got {describe(walk.rounds)}")


def check_walk(walk: Any) -> None:
    """Check what all walks have in common: posture, clearance, friction."""
    model = walk.model
    positive(walk.clearance, "clearance")
    positive(walk.friction, "friction")
    joints = model.state(joints=walk.posture).joints
    for name, limit, place in zip(model.joint_names, model.limits, model.q_slices, strict=True):
        angle = joints[place]
        if len(angle) == 1 and not limit.lower - ANGLE_ROUNDING <= angle[0] <= limit.upper + ANGLE_ROUNDING:
            bounds = f"[{limit.lower:.4g}, {limit.upper:.4g}]"
            raise ModelError(f"posture of joint {name!r} must be within its limits {bounds}, got {angle[0]:.4g}")


@dataclass(frozen=True, eq=False)
class _Plan:
    """Constants of the references of one robot."""

    feet: tuple[str, ...]
    home: FloatArray
    """feet x 3: from the base, in its axes (m)"""
    height: float
    schedule: Schedule
    clearance: float
    gain: float
    terrain: Terrain | None
    tasks: tuple[Task, ...]
    """trunk, one of each foot, posture"""
    sway: Sway


class _Memory(NamedTuple):
    """Memory of a walk from tick to tick."""

    time: Scalar
    begin: Scalar
    """time of the first tick (s)"""
    heading: Scalar
    """rad"""
    command: Vector
    """command with bounded rates (3)"""
    place: Vector
    """wanted position of the trunk (2, m)"""
    footholds: Matrix
    """feet x 3: where each foot stood last (m)"""

    @classmethod
    def unflatten(cls, x: Vector) -> _Memory:
        return cls(x[0], x[1], x[2], x[3:6], x[6:8], x[8:].reshape(-1, 3))

    @property
    def flatten(self) -> Vector:
        return concatenate(
            [array([self.time, self.begin, self.heading]), self.command, self.place, self.footholds.reshape(-1)]
        )


def _initial_memory(state: State, t: float, model: Model, feet: tuple[str, ...]) -> FloatArray:
    """Memory at the first tick."""
    R, places = state.pose[:3, :3], [link_pose(model, state, foot)[:3, 3] for foot in feet]
    heading = np.arctan2(R[1, 0], R[0, 0])
    return np.asarray(_Memory(t, t, heading, np.zeros(3), state.pose[:2, 3], np.array(places)).flatten)


def walking_references(model: Model, state: State, given: Vector, *, plan: _Plan) -> Vector:
    """Numbers of the whole-body tasks, mask of the contacts and the next memory, from time, command and memory."""
    t, command, memory = given[0], given[1:4], given[4:]
    last, closed, swing = _Memory.unflatten(memory), plan.schedule.contacts(t), plan.schedule.swing(t)
    begun = (t - last.begin) * (1.0 / plan.schedule.period)
    if plan.schedule.duty == 1.0:
        command = 0.0 * command  # no foot moves, so the trunk stays
    if not plan.sway.is_zero:
        closed, swing = _sway_contacts(plan, t, begun, closed, swing)
        command = where(less(1.0 - MIN_STANCE, begun), command, 0.0 * command)
    rates = COMMAND_RATES if plan.sway.is_zero else SWAYING_RATES
    moving = approach(last.command, command, rates, t - last.time)
    heading = last.heading + (t - last.time) * moving[2]
    places = [link_pose(model, state, foot)[:3, 3] for foot in plan.feet]
    stands = [less(0.5, on) for on in closed]
    footholds = [where(on, place, old) for on, place, old in zip(stands, places, last.footholds, strict=True)]
    ground = ground_plane(stack(footholds), state.pose[:2, 3])
    wanted = planar_rotation(heading) @ moving[:2]
    R = planar_rotation(heading)
    sway = [R @ part for part in plan.sway.motion(t, begun - 1.0)]
    middle = state.pose[:2, 3] - sway[0]
    place = middle + clip(last.place + scale(t - last.time, wanted) - middle, -MAX_LAG, MAX_LAG)
    trunk = _trunk(place, state, plan, ground, heading, wanted, moving[2], sway)
    feet = _swings(state, t, plan, ground, heading, wanted, moving[2], footholds, sway, swing)
    weights = [where(on, 0.0, SWING_WEIGHT) * np.ones(3) for on in stands]
    given = [trunk, *({**foot, "weight": weight} for foot, weight in zip(feet, weights, strict=True)), {}]
    numbers = task_numbers(model, plan.tasks, given)
    return concatenate([numbers, closed, _Memory(t, last.begin, heading, moving, place, stack(footholds)).flatten])


def _sway_contacts(plan: _Plan, t: Scalar, begun: Scalar, closed: Vector, swing: Vector) -> tuple[Vector, Vector]:
    """Contacts and swing of a gait under which the trunk sways: feet step to their places, then the sway begins."""
    first = trot(plan.schedule.period) if len(plan.feet) == 4 else Schedule(1.0, 1.0, (0.0,) * len(plan.feet))
    steps, stands = less(begun, 1.0 - MIN_STANCE), less(begun, 2.0 - MIN_STANCE)
    before = where(steps, first.contacts(t), np.ones(len(plan.feet)))
    return where(stands, before, closed), where(stands, where(steps, first.swing(t), np.zeros(len(plan.feet))), swing)


def planar_rotation(angle: Scalar) -> Matrix:
    """Rotation (2 x 2) by an angle."""
    c, s = cos(angle), sin(angle)
    return array([[c, -s], [s, c]])


def _trunk(
    place: Vector,
    state: State,
    plan: _Plan,
    ground: Vector,
    heading: Scalar,
    wanted: Vector,
    turning: Scalar,
    sway: Sequence[Vector],
) -> dict[str, Any]:
    """Numbers of the trunk: at its height above the ground, parallel to it, with the wanted velocity."""
    R, here = aligned_with(ground, cos(heading), sin(heading)), state.pose[:2, 3]
    place, velocity = place + sway[0], wanted + sway[1]
    there = array([place[0], place[1], on_plane(ground, here, place) + plan.height])
    climb = ground[1] * velocity[0] + ground[2] * velocity[1]
    goal = concatenate([concatenate([R, there.reshape(3, 1)], axis=1), np.eye(4)[3:]])
    found = {"goal": goal, "velocity": concatenate([velocity, array([climb, 0.0, 0.0, turning])])}
    return found if plan.sway.is_zero else found | {"acceleration": concatenate([sway[2], np.zeros(4)])}


def _swings(
    state: State,
    t: Scalar,
    plan: _Plan,
    ground: Vector,
    heading: Scalar,
    wanted: Vector,
    turning: Scalar,
    footholds: Sequence[Vector],
    sway: Sequence[Vector],
    swing: Vector,
) -> list[dict[str, Any]]:
    """Numbers of swinging feet: from their footholds to Raibert's places, of the motion without its sway."""
    velocity, schedule = (state.pose[:3, :3] @ state.twist[:3])[:2] - sway[1], plan.schedule
    here = state.pose[:2, 3] - sway[0]
    found = []
    for progress, start, home in zip(swing, footholds, plan.home, strict=True):
        left = (1.0 - progress) * schedule.flight
        ahead = planar_rotation(heading + turning * (left + 0.5 * schedule.stance))
        hip = here + ahead @ home[:2] + scale(left, velocity)
        land = raibert(hip, velocity, wanted, schedule.stance, plan.gain)
        z = on_plane(ground, here, land) if plan.terrain is None else plan.terrain.height(land[0], land[1])
        end = array([land[0], land[1], z - TOUCHDOWN_DEPTH])
        foot = swing_foot(start, end, progress, max(schedule.flight, 1e-3), plan.clearance)
        found.append({"goal": foot.position, "velocity": foot.velocity, "acceleration": foot.acceleration})
    return found
