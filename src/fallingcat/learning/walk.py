"""Legged robots that follow commanded velocities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import clip
from ..arrays.arguments import as_array, as_number
from ..caching import cached_property
from ..contact import CompliantFloor, Terrain
from ..control import JointDamper, JointSpring, PositionServo
from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..lie import SE3
from ..model import Model, State
from ..records import concise
from .legged_robot import servos, usual_servos, walking_feet, walking_joints, with_drive_limits
from .postures import check_balance, driven_joints, standing_posture
from .task import Randomization, Snapshot, Task
from .terrain_starts import spread_over_terrain

START_DEVIATION = 0.1
"""rad and rad/s, m/s: joints and velocities of starts differ by up to that"""
MAX_TILT_COSINE = 0.5
"""An episode ends when the base tilts by more than 60 degrees."""
MIN_HEIGHT_SHARE = 0.5
"""Part of the standing height below which an episode ends."""
CLOCK_PERIOD = 0.7
"""s: period of the clock of robots on two feet"""
STEP_HEIGHT = 0.08
"""m: height to which the clock asks feet to be raised"""
WEIGHTS: dict[str, float] = {
    "velocity": 1.0,
    "turning": 0.5,
    "vertical velocity": -2.0,
    "rolling": -0.05,
    "torque": -2e-5,
    "action rate": -0.01,
    "tilt": -0.5,
    "clock": 0.5,
}
"""Weights of the terms of the reward."""
TRACKING_SCALE = 0.25
"""(m/s)^2 and (rad/s)^2: errors of velocities at which their reward has fallen to 37 %"""
SAMPLE_STIFFNESS = 60.0
"""N m/rad: usual servos of the robot for which the weight of torques is meant; it falls with the square of theirs"""


@concise
@dataclass(frozen=True, eq=False)
class Walk(Task):
    """Walking: the base follows a commanded velocity ``(v_x, v_y, w_z)`` in its own axes.

    Actions move the targets of position servos away from the standing posture, ``targets = posture + scale * action``.
    Observed are velocity, angular velocity and gravity in the axes of the base, the command, joints, rates and the last
    action.  An episode ends when the base tilts by more than 60 degrees or sinks below half of its standing height.

    Args:
        model: Robot with a free base.
        feet: Names of links or frames that touch the ground; None: frames whose names end in ``foot`` or ``sole``
            (soles by their corners), else, or where these links stand on balls, the lowest collision shapes.
        posture: Joint angles (rad) at which it stands: an array, or a mapping by names of joints or their ends; None:
            the keyframe ``home`` or ``stand`` of the file, that of the sample robot, of joints that are named
            ``..._thigh_joint`` and ``..._calf_joint``, or the middle of the ranges.
        joints: Names of the joints that actions move; None: all with a motor.
        kp: Stiffness of the servos (N m/rad); None: those of the position actuators of the file, else 3.3 N m/rad for
            each kg of the robot, and more for heavy rotors (20 rad/s of the rotor alone).
        kd: Damping (N m s/rad); None: those of these actuators, else ``kp / 40``, and more for heavy rotors.
        scale: Angle (rad) of an action of 1.
        speeds: Largest commanded velocities (m/s, m/s, rad/s).
        friction: Coulomb's coefficient of the ground.
        terrain: Ground that is not flat, such as a :class:`~fallingcat.contact.HeightField`; robots start all over it.
        weights: Weights of the terms of the reward, by name; those left out are the usual ones.
        gait: Period (s) of a clock that legs follow in turn; None: no clock.  Robots with two feet need one.
        randomization: What differs from robot to robot.
        noise: Noise of observed quantities, by name.
        source: File of the robot, which files of policies name.

    Example:
        >>> import fallingcat as fc
        >>> task = Walk(fc.robots.quadruped())
        >>> task.actions, task.feet, round(task.height, 3)
        (12, ('front_left_foot', 'front_right_foot', 'rear_left_foot', 'rear_right_foot'), 0.328)
    """

    model: Model
    feet: Sequence[str] | None = None
    posture: Any = None
    joints: Sequence[str] | None = None
    kp: Any = None
    kd: Any = None
    scale: float = 0.25
    speeds: tuple[float, float, float] = (1.0, 0.5, 1.0)
    friction: float = 0.8
    terrain: Terrain | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    gait: float | None = None
    period: float = 0.02
    dt: float = 0.002
    horizon: float = 20.0
    command_period: float = 10.0
    randomization: Randomization = field(default_factory=Randomization)
    noise: Mapping[str, float] = field(default_factory=dict)
    limit: float = 100.0
    source: str | None = None
    commands = 3

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.model, Model) or not isinstance(self.model.base, SE3):
            raise ModelError(f"Walk takes a robot with a free base, not {describe(self.model)}")
        self._check()
        put(self, "_given_feet", self.feet)
        put(self, "posture", standing_posture(self.model, self.posture))
        moved = walking_joints(self.model) if self.joints is None else tuple(self.joints)
        put(self, "joints", moved)
        model, points, radii = walking_feet(with_drive_limits(self.model), self.feet, self.posture)
        put(self, "model", model)
        put(self, "feet", points)
        put(self, "_radii", radii)
        drives = servos(model, moved)
        put(self, "_drives", drives)
        usual = usual_servos(model, moved)
        put(self, "_torque_scale", SAMPLE_STIFFNESS / usual[0])
        gains = [_shared_number(x) for x in usual] if drives.kp is None else [drives.kp, drives.kd]
        kp = gains[0] if self.kp is None else self.kp
        PositionServo(kp, 0.0 if self.kd is None else self.kd)  # which looks at them
        damping = gains[1] if self.kp is None else np.asarray(kp) / 40.0
        put(self, "kp", kp)
        put(self, "kd", damping if self.kd is None else self.kd)
        unknown = {*self.weights} - {*WEIGHTS}
        if unknown:
            raise ModelError(f"weights are those of {', '.join(WEIGHTS)}, not of {min(unknown)!r}")
        put(self, "weights", WEIGHTS | dict(self.weights))
        put(self, "gait", CLOCK_PERIOD if self.gait is None and len(self.legs) == 2 else self.gait)

    def _check(self) -> None:
        """Refuse fields that are no names, or no numbers of their kind."""
        for name in ("scale", "period", "dt", "horizon", "command_period", "limit"):
            positive(getattr(self, name), f"{name} of Walk")
        positive(self.friction, "friction of Walk", zero=True)
        if self.gait is not None:
            positive(self.gait, "gait of Walk")
        for name in ("feet", "joints"):
            given: Any = getattr(self, name)
            words = isinstance(given, (tuple, list)) and all(isinstance(x, str) for x in given)
            if given is not None and not (words and 0 < len(given) == len({*given})):
                raise ModelError(f"{name} of Walk must be names, each once, got {describe(given)}")
        for name in ("weights", "noise"):
            given = getattr(self, name)
            if not isinstance(given, Mapping) or not all(isinstance(x, str) for x in given):
                raise ModelError(f"{name} of Walk must be numbers by name, got {describe(given)}")
            for key, x in given.items():
                as_number(x, f"{name} of {key!r}")
        as_array(self.speeds, (3,), "speeds of Walk")
        if not isinstance(self.randomization, Randomization):
            raise ModelError(f"randomization of Walk must be a Randomization, got {describe(self.randomization)}")

    @property
    def actions(self) -> int:  # type: ignore[override]
        """One number for each joint that walks."""
        return len(self.joints)  # type: ignore[arg-type]

    @cached_property
    def legs(self) -> tuple[slice, ...]:
        """Places of the contact points of each foot: those on one link."""
        links = [self.model.frame(point).link for point in self.feet or ()]
        starts = [i for i, link in enumerate(links) if not i or links[i - 1] != link]
        return tuple(slice(a, b) for a, b in zip(starts, [*starts[1:], len(links)], strict=True))

    @cached_property
    def contact(self) -> Any:
        """Compliant ground under the feet."""
        return self._floor(self.terrain)

    def _floor(self, terrain: Terrain | None) -> Any:
        feet, radii = tuple(self.feet or ()), self._radii  # type: ignore[attr-defined]
        return CompliantFloor(feet, friction=self.friction, radius=radii, terrain=terrain).for_robot(
            self.model, self.dt
        )

    @cached_property
    def laws(self) -> Any:
        """Servos of the joints that walk, and springs and dampers that hold the others."""
        held = [name for name in driven_joints(self.model) if name not in (self.joints or ())]
        servo = PositionServo(self.kp, self.kd, self._posture_angles(self.joints or ()), only=tuple(self.joints or ()))
        if not held:
            return (servo,)
        stiffness, damping = float(np.mean(self.kp)), float(np.mean(self.kd))
        spring = JointSpring(stiffness, tuple(float(x) for x in self.posture), only=tuple(held))
        return servo, spring, JointDamper(damping, only=tuple(held))

    @cached_property
    def stance(self) -> State:
        """Standing state, on flat ground."""
        stance = self.model.standing(self._floor(None), self.posture)
        check_balance(self.model, stance, self.feet or ())
        return stance

    @property
    def height(self) -> float:
        """Height of the base (m) where it stands."""
        return float(self.stance.pose[2, 3])

    def _posture_angles(self, names: Sequence[str]) -> tuple[float, ...]:
        """Angles of joints in the posture."""
        return tuple(float(self.posture[self.model.q_slices[self.model.leading_index(name)].start]) for name in names)

    @cached_property
    def _efforts(self) -> np.ndarray:
        """``k`` (N m): limits of the torques, 1e9 where there are none."""
        limits = [self.model.limits[self.model.leading_index(name)].effort for name in self.joints or ()]
        return np.array([x if x is not None and np.isfinite(x) and x > 0.0 else 1e9 for x in limits])

    @cached_property
    def _parts(self) -> tuple[list[slice], list[slice]]:
        """Runs of coordinates and rates of the joints that walk."""
        at = [self.model.leading_index(name) for name in self.joints or ()]
        return _runs([self.model.q_slices[i].start for i in at]), _runs([self.model.v_slices[i].start for i in at])

    # what happens -----------------------------------------------------------------------------------------------

    def start(self, rng: np.random.Generator, count: int) -> State:
        """Standing states that face anywhere, a little above the ground, with joints and velocities a little off."""
        here, n = self.stance, self.model.n
        yaw, up = rng.uniform(-np.pi, np.pi, count), rng.uniform(0.0, 0.03, count)
        pose = np.tile(here.pose, (count, 1, 1))
        turn = np.zeros((count, 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(yaw)
        turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = np.sin(yaw), -np.sin(yaw), 1.0
        pose[:, :3, :3] = turn @ here.pose[:3, :3]
        pose[:, 2, 3] += up + START_DEVIATION * 0.2 * self.height
        if self.terrain is not None:
            spread_over_terrain(pose, self.model, here, self.feet or (), self.terrain, rng)
        joints = here.joints + START_DEVIATION * rng.uniform(-1.0, 1.0, (count, len(here.joints)))
        twist, rates = (START_DEVIATION * rng.uniform(-1.0, 1.0, (count, k)) for k in (6, n))
        return State(pose, joints, twist, rates)

    def command(self, library: Any, count: int) -> Any:
        """Velocities between the largest ones and their opposites."""
        return library.uniform(-1.0, 1.0, count, 3) * library.constant(self.speeds)

    def control(self, actions: Any, now: Snapshot) -> Mapping[str, Any]:
        """Targets of the servos: the posture, moved by the actions, within the ranges of the file's actuators."""
        targets = self.scale * actions + self._constant(now, "posture", self._posture_angles(self.joints or ()))
        if self._drives.has_ranges:  # type: ignore[attr-defined]
            low, high = (self._constant(now, name, getattr(self._drives, name)) for name in ("lowest", "highest"))  # type: ignore[attr-defined]
            targets = (clip if now.xp is np else now.xp.clip)(targets, low, high)
        return {"targets": targets}

    def observe(self, now: Snapshot) -> Mapping[str, Any]:
        """Velocities, gravity, command, joints, rates and last action, scaled to sizes around 1."""
        xp, (q, v) = now.xp, self._parts
        angles = _columns(xp, now.joints, q) - self._constant(now, "posture", self._posture_angles(self.joints or ()))
        seen = {
            "velocity": 2.0 * now.twist[:, :3],
            "angular velocity": 0.25 * now.twist[:, 3:],
            "gravity": now.gravity,
            "command": now.commands * self._constant(now, "command", (2.0, 2.0, 0.25)),
            "joints": angles,
            "rates": 0.05 * _columns(xp, now.rates, v),
            "action": now.actions,
        }
        if self.gait is not None:
            seen["clock"] = self._phase(now)
        return seen

    def reward(self, now: Snapshot) -> Mapping[str, Any]:
        """Terms of the reward, weighted."""
        xp, (q, v) = now.xp, self._parts
        twist, gravity = now.twist, now.gravity
        off, turn = twist[:, :2] - now.commands[:, :2], twist[:, 5] - now.commands[:, 2]
        rates = _columns(xp, now.rates, v)
        kp, kd = (self._constant(now, name, getattr(self, name)) for name in ("kp", "kd"))
        most = self._constant(now, "most", self._efforts)
        torque = kp * (now.inputs["targets"] - _columns(xp, now.joints, q)) - kd * rates
        torque = xp.minimum(xp.maximum(torque, -most), most) * self._constant(now, "scale", self._torque_scale)  # type: ignore[attr-defined]
        change = now.actions - now.last_actions
        terms = {
            "velocity": xp.exp(-(off * off).sum(axis=1) / TRACKING_SCALE),
            "turning": xp.exp(-turn * turn / TRACKING_SCALE),
            "vertical velocity": twist[:, 2] * twist[:, 2],
            "rolling": (twist[:, 3:5] * twist[:, 3:5]).sum(axis=1),
            "torque": (torque * torque).sum(axis=1),
            "action rate": (change * change).sum(axis=1),
            "tilt": (gravity[:, :2] * gravity[:, :2]).sum(axis=1),
        }
        if self.gait is not None:
            terms["clock"] = self._clock(now)
        return {name: self.weights[name] * x for name, x in terms.items()}

    def total(self, terms: Any) -> Any:
        """Sum of all terms, never below zero: falling is never better than living on."""
        sums = terms.sum(axis=0)
        return 0.5 * (sums + abs(sums))

    def done(self, now: Snapshot) -> Any:
        """Bases that tilt by more than 60 degrees, or are too low."""
        return (now.rotation[:, 2, 2] < MAX_TILT_COSINE) | (now.height < MIN_HEIGHT_SHARE * self.height)

    def metrics(self, now: Snapshot) -> Mapping[str, Any]:
        """Errors of velocities."""
        off, turn = now.twist[:, :2] - now.commands[:, :2], now.twist[:, 5] - now.commands[:, 2]
        return {"speed error (m/s)": now.xp.sqrt((off * off).sum(axis=1)), "turning error (rad/s)": abs(turn)}

    def about(self) -> dict[str, Any]:
        """Arguments from which :meth:`of` makes the task again."""
        names = ("joints", "scale", "speeds", "friction", "gait", "period", "dt")
        own = {name: getattr(self, name) for name in names}
        numbers = {name: np.asarray(getattr(self, name)).tolist() for name in ("posture", "kp", "kd")}
        named = None if self._given_feet is None else list(self._given_feet)  # type: ignore[attr-defined]
        return super().about() | {"walk": own | numbers | {"feet": named}}

    @classmethod
    def of(cls, model: Model, about: Mapping[str, Any], **changes: Any) -> Walk:
        """Task of a policy.

        Args:
            model: Robot.
            about: :attr:`.Policy.about`.
            changes: Other arguments.

        Returns:
            Task.
        """
        own = about.get("walk") if isinstance(about, Mapping) else None
        if not isinstance(own, Mapping):
            said = describe(about.get("task") if isinstance(about, Mapping) else about)
            raise ModelError(f"the policy is not one of walking, but of {said}")
        arguments: dict[str, Any] = {str(k): tuple(x) if isinstance(x, list) else x for k, x in own.items()}
        try:
            return cls(model, **arguments | changes)
        except TypeError as error:
            raise ModelError(f"the policy's description of its task cannot be read: {error}") from None

    def _phase(self, now: Snapshot) -> Any:
        """``N x 2``: sine and cosine of the clock."""
        angle = now.time[:, None] * (2.0 * np.pi / float(self.gait or 1.0))
        return now.xp.concatenate([now.xp.sin(angle), now.xp.cos(angle)], axis=1)

    def _clock(self, now: Snapshot) -> Any:
        """``N``: near 1 where feet are as high as the clock asks, one after the other."""
        xp, phase, off = now.xp, self._phase(now)[:, 0], 0.0
        for k, leg in enumerate(self.legs):
            wanted = STEP_HEIGHT * xp.clip(phase if k % 2 == 0 else -phase, 0.0, 1.0)
            high = now.foot_heights[:, leg].sum(axis=1) / (leg.stop - leg.start)
            off = off + (high - wanted) ** 2
        return xp.exp(-off / STEP_HEIGHT**2 * 4.0)

    def _constant(self, now: Snapshot, name: str, x: Any) -> Any:
        """Numbers of the task as an array where the robots are, kept for the next call."""
        kept = self.__dict__.setdefault("_kept", {})
        key = name, now.xp, str(getattr(now.joints, "device", "")), now.joints.dtype
        if key not in kept:
            made = now.xp.asarray(np.asarray(x, dtype=float))
            torch = hasattr(made, "detach")
            kept[key] = made.to(now.joints) if torch else made.astype(now.joints.dtype)
        return kept[key]


def _shared_number(x: np.ndarray) -> Any:
    """One number, where all are the same."""
    return float(x[0]) if len(x) and (x == x[0]).all() else x


def _columns(xp: Any, x: Any, runs: list[slice]) -> Any:
    """Some columns, by runs of them: no indices have to be on the device."""
    return x[:, runs[0]] if len(runs) == 1 else xp.concatenate([x[:, run] for run in runs], axis=1)


def _runs(places: Sequence[int]) -> list[slice]:
    """Runs of consecutive places.

    >>> _runs([0, 1, 2, 5, 6])
    [slice(0, 3, None), slice(5, 7, None)]
    """
    found: list[slice] = []
    for place in places:
        if found and found[-1].stop == place:
            found[-1] = slice(found[-1].start, place + 1)
        else:
            found.append(slice(place, place + 1))
    return found
