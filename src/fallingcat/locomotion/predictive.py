"""Predictive walking controller of robots on point feet: whole-body motion over a horizon, footsteps included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np

from ..arrays import array, concatenate, cos, less, minimum, scale, sin, where
from ..arrays.types import FloatArray, Matrix, Scalar, Vector
from ..compiler import compile
from ..dynamics import link_pose
from ..dynamics.checks import check_model, positive
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..optimal import MPC, ContactPhases, Horizon, Phase, Problem
from ..records import concise
from .commands import VelocityCommand, approach
from .loop import Command, check_command
from .quadruped import CAPTURE_SHARE, COMMAND_RATES, TOUCHDOWN_DEPTH, check_feet, check_walk, planar_rotation
from .schedule import Schedule, trot

HEIGHT_WEIGHT, TILT_WEIGHT, HEADING_WEIGHT, VELOCITY_WEIGHT, ANGULAR_VELOCITY_WEIGHT = 20.0, 10.0, 5.0, 3.0, 1.0
"""Weights of the trunk: height (1/m), tilt and heading (1/rad), velocity (s/m) and angular velocity (s/rad)."""
LANDING_WEIGHT, LIFT_WEIGHT = 10.0, 30.0
"""Weights of a swinging foot: where it lands and how high it is (1/m)."""
POSTURE, RATES, FORCES = 0.3, 0.05, 0.02
"""Weights of the joints: posture (1/rad), rates (s/rad), torques (1/(N m))."""
LAST_NODE_WEIGHT = 3.0
"""Weight of the last node: of the time behind the horizon"""
TRUNK_NUMBERS, FOOT_NUMBERS = 7, 3
"""Numbers of a node: heading (cosine, sine), wanted velocity (2) and turning, height of the ground, weight of the node;
and of each foot: weights of its landing and of its height, and its height over the ground."""


@concise
@dataclass(frozen=True)
class PredictiveWalk:
    """Walking controller that optimizes the motion of the whole body over a horizon at every tick.

    The schedule says which feet stand when.  Forces of the ground within friction cones, torques within the limits of
    the drives and footsteps are found by :class:`fallingcat.optimal.MPC`.  The trunk shall keep its height over the
    ground, stay upright and have the commanded velocity; a foot shall touch down as :func:`.raibert` says of the trunk
    that the plan has then.  The ground is horizontal, at the height of the lowest foot that stands.

    Args:
        model: Robot with a free base.
        feet: Links or frames of the feet, in the order of the schedule.
        posture: Joint coordinates (n) of the standing robot.
        schedule: Contact schedule.
        clearance: Height of the swing (m).
        friction: Friction coefficient assumed.
        dt: Step of the plan (s).
        steps: Steps of the plan.
        rate: Ticks per second.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> walk = PredictiveWalk(dog, [frame.name for frame in dog.frames], (0.0, 0.7, -1.4) * 4)
        >>> walk.compile(fc.locomotion.VelocityCommand(0.5))
        <MPC of 'quadruped': every 0.004 s>
    """

    model: Model
    feet: Sequence[str]
    posture: Sequence[float]
    schedule: Schedule = field(default_factory=trot)
    clearance: float = 0.06
    friction: float = 0.6
    dt: float = 0.02
    steps: int = 20
    rate: float = 250.0

    def __post_init__(self) -> None:
        """Check the fields."""
        check_model(self.model)
        check_feet(self.model, self.feet, self.schedule)
        check_walk(self)
        positive(self.dt, "dt of a PredictiveWalk (s)")
        positive(self.rate, "rate of a PredictiveWalk (ticks per second)")
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or not 1 <= self.steps <= MAX_STEPS:
            raise ModelError(f"steps of a PredictiveWalk must be 1 to {MAX_STEPS}, got {describe(self.steps)}")

    def compile(self, command: Command | None = None) -> MPC:
        """Compile the controller.

        Args:
            command: Velocity command, or a function of time that returns one; None: it walks in place.

        Returns:
            Controller ``(t, state) -> joint torques``, to be called at least ``rate`` times a second.
        """
        model, feet, command = self.model, tuple(self.feet), VelocityCommand() if command is None else command
        check_command(command)
        stand = model.state(joints=self.posture)
        home = np.array([link_pose(model, stand, foot)[:3, 3] for foot in feet])
        height, gravity = -float(home[:, 2].mean()), float(np.linalg.norm(model.gravity))
        if not height > 0.0:
            raise ModelError(f"feet of {model.name!r} must be below its base in the posture, got {-height:.3g} m")
        plan = _Plan(feet, home, height, CAPTURE_SHARE * float(np.sqrt(height / gravity)), stand.joints, self)
        phases = ContactPhases(model, [Phase(self.steps, feet)], self.dt, friction=self.friction)
        start = model.state(position=[0.0, 0.0, height], joints=stand.joints)
        cost, nodes = partial(_walking_cost, plan=plan), np.zeros((self.steps + 1, plan.width))
        problem = Problem(phases, start, cost=cost, final_cost=cost, data=nodes)
        return MPC(problem, self.rate, horizon=_Preview(plan, command))


SWING_FOOT_HEIGHT = 1e6
"""m: height of a foot that does not stand, above all that do"""
MAX_STEPS = 1000
"""Largest number of steps of a plan"""


@dataclass(frozen=True, eq=False)
class _Plan:
    """Constants of one robot."""

    feet: tuple[str, ...]
    home: FloatArray
    """feet x 3: from the base, in its axes (m)"""
    height: float
    gain: float
    posture: FloatArray
    walk: PredictiveWalk

    @property
    def width(self) -> int:
        """Numbers of a node."""
        return TRUNK_NUMBERS + FOOT_NUMBERS * len(self.feet)


def _walking_cost(model: Model, state: State, forces: Any, data: Any, *, plan: _Plan) -> Any:
    """Residual of a node."""
    heading, wanted, (turning, ground, weight) = data[:2], data[2:4], data[4:TRUNK_NUMBERS]
    R, feet = state.pose[:3, :3], data[TRUNK_NUMBERS:].reshape(-1, FOOT_NUMBERS)
    velocity, omega, here = R @ state.twist[:3], R @ state.twist[3:], state.pose[:3, 3]
    rows = [
        HEIGHT_WEIGHT * array([here[2] - ground - plan.height]),
        TILT_WEIGHT * R[:2, 2],
        HEADING_WEIGHT * array([heading[0] * R[1, 0] - heading[1] * R[0, 0]]),
        VELOCITY_WEIGHT * array([velocity[0] - wanted[0], velocity[1] - wanted[1], velocity[2]]),
        ANGULAR_VELOCITY_WEIGHT * array([omega[0], omega[1], omega[2] - turning]),
        POSTURE * (state.joints - plan.posture),
        RATES * state.rates,
        FORCES * forces,
    ]
    turn = array([[heading[0], -heading[1]], [heading[1], heading[0]]])
    ahead = scale(0.5 * plan.walk.schedule.stance, velocity[:2]) + scale(plan.gain, velocity[:2] - wanted)
    for foot, home, (landing, lift, height) in zip(plan.feet, plan.home, feet, strict=True):
        place = link_pose(model, state, foot)[:3, 3]
        rows.append(scale(LANDING_WEIGHT * landing, place[:2] - (here[:2] + turn @ home[:2] + ahead)))
        rows.append(scale(LIFT_WEIGHT * lift, array([place[2] - ground - height])))
    return scale(weight, concatenate(rows))


class _Preview:
    """Horizon of a tick: contacts and numbers of the nodes ahead; remembers command, heading and ground."""

    def __init__(self, plan: _Plan, command: Command) -> None:
        self.plan, self.command, self._last_time = plan, command, np.inf
        self._numbers = compile(plan.walk.model, preview, inputs={"given": 6}, plan=plan)
        self._heading, self._velocity, self._ground = 0.0, np.zeros(3), 0.0

    def __call__(self, t: float, state: State) -> Horizon:
        """Contacts and numbers of the nodes."""
        model, steps = self.plan.walk.model, self.plan.walk.steps
        if not t >= self._last_time:
            R = np.asarray(state.pose)[:3, :3]
            self._last_time, self._heading, self._velocity = t, float(np.arctan2(R[1, 0], R[0, 0])), np.zeros(3)
            self._ground = float(state.pose[2, 3]) - self.plan.height
        command = self.command(t) if callable(self.command) else self.command
        if not isinstance(command, VelocityCommand):
            raise NumericsError(f"command at t = {t:g} s must be a VelocityCommand, got {describe(command)}")
        dt, self._last_time = t - self._last_time, t
        self._velocity = np.asarray(approach(self._velocity, command.array, COMMAND_RATES, dt))
        self._heading += dt * float(self._velocity[2])
        q, v = model.flatten(state)
        found = self._numbers(q, v, np.array([t, self._heading, *self._velocity, self._ground]))
        self._ground, count = float(found[0]), steps * len(self.plan.feet)
        return Horizon(found[1 : 1 + count].reshape(steps, -1), found[1 + count :].reshape(steps + 1, -1))


def preview(model: Model, state: State, given: Vector, *, plan: _Plan) -> Vector:
    """Height of the ground, contacts of the steps and numbers of the nodes, from time, heading, command and ground."""
    t, heading, moving, ground = given[0], given[1], given[2:5], given[5]
    walk, closed = plan.walk, plan.walk.schedule.contacts(t)
    heights = [link_pose(model, state, foot)[2, 3] for foot in plan.feet]
    lowest = reduce(
        minimum, [where(less(0.5, on), z, SWING_FOOT_HEIGHT) for on, z in zip(closed, heights, strict=True)]
    )
    ground = where(less(lowest, SWING_FOOT_HEIGHT), lowest, ground)
    times = [t + k * walk.dt for k in range(walk.steps + 1)]
    contacts = [walk.schedule.contacts(x) for x in times[:-1]]
    nodes = []
    for k, x in enumerate(times):
        angle = heading + scale(k * walk.dt, moving[2])
        weight = np.sqrt(walk.dt) * (LAST_NODE_WEIGHT if k == walk.steps else 1.0)
        velocity = planar_rotation(angle) @ moving[:2]
        nodes.append(array([cos(angle), sin(angle), *velocity, moving[2], ground, weight]))
        nodes.append(_swings(walk, x).reshape(-1))
    return concatenate([array([ground]), *contacts, *nodes])


def _swings(walk: PredictiveWalk, t: Scalar) -> Matrix:
    """Weights of landing and height, and the height over the ground, of each foot (feet x 3)."""
    flies, s = 1.0 - walk.schedule.contacts(t), walk.schedule.swing(t)
    rise = s * (1.0 - s)
    height = scale(64.0 * walk.clearance, rise * rise * rise) - scale(TOUCHDOWN_DEPTH, s)
    return array([[a, b, c] for a, b, c in zip(flies * s * s, flies, height, strict=True)])
