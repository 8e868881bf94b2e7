"""Stepping in place: when which foot stands, where everything should be, and the controllers that see to it."""

from __future__ import annotations

from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import Field

from ...contact import WrenchCone, corners
from ...control import (
    CenterOfMassTask,
    JointLimits,
    JointsTask,
    Limit,
    PoseTask,
    RotationTask,
    Stance,
    Task,
    TorqueLimits,
    WholeBodyLoop,
    WholeBodyResult,
)
from ...dynamics import center_of_mass, jacobian, link_pose
from ...formulations import base_at, equations
from ...model import Model, State, robots
from ..kind import Parameters
from .reaching_low import BENT_POSTURE, Stops, path

SIDES: Final = ("left", "right")
SOLE_LENGTH, SOLE_WIDTH = (-0.06, 0.14), (-0.05, 0.05)
"""m: of a foot, around its sole frame"""
BEGIN: Final = 1.0
"""s: it stands before its first step, and after its last"""
GRID: Final = 1e-3
"""s: of the path of the center of mass"""


class SteppingParameters(Parameters):
    """Number, height and timing of the steps."""

    steps: Annotated[int, Field(ge=2, le=40)] = 8
    height: Annotated[float, Field(ge=0.01, le=0.15)] = 0.06
    """m: of a lifted foot"""
    shift: Annotated[float, Field(ge=0.1, le=5.0)] = 0.4
    """s: both feet are on the ground, from one to the other"""
    swing: Annotated[float, Field(ge=0.3, le=5.0)] = 0.6
    """s: a foot is off the ground"""
    trusted: Annotated[float, Field(gt=0.0, le=2.0)] = 0.5
    """friction that the controller counts on; the ground has 0.8"""
    gain: Annotated[float, Field(gt=0.0, le=30.0)] = 8.0
    """1/s, of the center of mass"""
    rate: Annotated[float, Field(ge=100.0, le=2000.0)] = 250.0
    """ticks a second"""


def opposite_side(side: str) -> str:
    """Opposite side."""
    return SIDES[1 - SIDES.index(side)]


class Phase(NamedTuple):
    """Phase of a step from ``begin`` (s) on: the base foot, and if the other one is in the air."""

    begin: float
    base: str
    is_lifted: bool

    @property
    def feet(self) -> tuple[str, ...]:
        """Sides on the ground, the base first."""
        return (self.base,) if self.is_lifted else (self.base, opposite_side(self.base))


def phases(p: SteppingParameters) -> tuple[Phase, ...]:
    """The left foot stands first, then in turn; in the middle of each shift of weight the base changes."""
    found, t = [Phase(0.0, SIDES[0], False)], BEGIN
    for step in range(p.steps):
        side = SIDES[step % 2]
        found += [Phase(t + 0.5 * p.shift, side, False)] if step else []
        found += [Phase(t + p.shift, side, True), Phase(t + p.shift + p.swing, side, False)]
        t += p.shift + p.swing
    return tuple(found)


class Path(NamedTuple):
    """Paths of the center of mass and of the center of pressure, ``N`` times (m, s)."""

    times: np.ndarray
    place: np.ndarray
    """``N x 3``"""
    velocity: np.ndarray
    acceleration: np.ndarray
    pressure: np.ndarray

    def evaluate(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place, velocity and acceleration at one or many times."""
        parts = (self.place, self.velocity, self.acceleration)
        place, velocity, acceleration = (
            np.stack([np.interp(t, self.times, x[:, i]) for i in range(3)], axis=-1) for x in parts
        )
        return place, velocity, acceleration


def center_path(times: np.ndarray, pressure: np.ndarray, height: float, gravity: float) -> Path:
    """Bounded motion of a center of mass at constant height above a given center of pressure.

    The ground pushes at ``pressure`` (N x 3), and the motion runs away neither before nor after: ``c'' = w^2 (c - p)``
    with ``w^2 = g / h`` has one bounded solution, the mean of the past and of the future of ``p``, forgotten as
    ``exp(-w t)``: ``c = (f + b) / 2``, ``f' = w (p - f)``, ``b' = w (b - p)``.
    """
    w, dt = np.sqrt(gravity / height), times[1] - times[0]
    keep, between = np.exp(-w * dt), 0.5 * (pressure[1:] + pressure[:-1])
    past, future = pressure.copy(), pressure.copy()
    for k in range(len(between)):
        past[k + 1] = keep * past[k] + (1.0 - keep) * between[k]
        future[-2 - k] = keep * future[-1 - k] + (1.0 - keep) * between[-1 - k]
    c = 0.5 * (past + future)
    return Path(times, c, 0.5 * w * (future - past), w * w * (c - pressure), pressure)


class Plan(NamedTuple):
    """Reference motion; the feet, and the controller for each set of them."""

    parameters: SteppingParameters
    phases: tuple[Phase, ...]
    center: Path
    places: dict[str, np.ndarray]
    """m: of the feet on the ground"""
    soles: dict[str, WrenchCone]
    points: tuple[str, ...]
    """corners of the left foot, then of the right one"""
    tasks: dict[str, Task]
    loops: dict[tuple[str, ...], WholeBodyLoop]

    @property
    def end(self) -> float:
        """End of the motion (s)."""
        return float(self.center.times[-1])

    def phase(self, t: float) -> Phase:
        """Phase at a time (s)."""
        return [phase for phase in self.phases if phase.begin <= t + 1e-9][-1]

    def foot(self, t: float, phase: Phase) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pose, velocity and acceleration (6) of the foot in the air."""
        start, T, ground = (phase.begin, self.parameters.swing, self.places[opposite_side(phase.base)])
        top = ground + np.array([0.0, 0.0, self.parameters.height])
        p, v, a = path(t, [(start, ground), (start + 0.5 * T, top), (start + T, ground)])
        H, still = np.eye(4), np.zeros(3)
        H[:3, 3] = p
        return H, np.append(v, still), np.append(a, still)

    def steer(self, t: float, phase: Phase) -> WholeBodyLoop:
        """The law of a phase, with its goals."""
        loop = self.loops[phase.feet]
        goal, v, a = self.center.evaluate(t)
        loop.change(self.tasks["center"], goal=goal, velocity=v, acceleration=a)
        if phase.is_lifted:
            H, twist, rate = self.foot(t, phase)
            loop.change(self.tasks[opposite_side(phase.base)], goal=H, velocity=twist, acceleration=rate)
        return loop


class Switch(NamedTuple):
    """Relative changes as the other foot becomes the base: nothing but rounding."""

    torques: float
    accelerations: float
    wrenches: float
    equations: float
    """joint accelerations by (23) with either foot as base, under the same torques and wrenches"""


def base_switch(
    model: Model, state: State, soles: tuple[WrenchCone, WrenchCone], before: WholeBodyResult, after: WholeBodyResult
) -> Switch:
    """The law and the equations before and after; ``soles``: the base before, then the base after."""
    pushes = [jacobian(model, state, sole.link).T @ w for sole, w in zip(soles, before.forces, strict=True)]
    forces, eom = np.append(np.zeros(6), before.torques), equations(model, state)
    size, found = 0.0, []
    for sole in soles:
        change = base_at(model, state, sole.link)
        there = eom.change(change)
        pulls = (change.forces(forces), change.forces(np.sum(pushes, axis=0)) - there.C @ there.v - there.g)
        own, rest = (np.linalg.solve(there.M, pull)[6:] for pull in pulls)
        size = max(size, float(np.abs(own).max()))  # what torques alone would do: the rest takes most of it away
        found.append(own + rest)
    return Switch(
        torques=_distance(before.torques, after.torques),
        accelerations=_distance(before.acceleration, after.acceleration),
        wrenches=_distance(before.forces, after.forces[::-1]),
        equations=float(np.abs(found[0] - found[1]).max() / size),
    )


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / np.abs(a).max())


def plan_steps(p: SteppingParameters) -> tuple[Model, State, Plan]:
    """The robot, how it begins, and what it should do."""
    walker, points = robots.humanoid(), list[str]()
    for side in SIDES:
        walker, sole = corners(walker, f"{side}_sole", WrenchCone("", SOLE_LENGTH, SOLE_WIDTH).outline)
        points += sole
    bent = {f"{side}_{joint}": angle for side in SIDES for joint, angle in BENT_POSTURE.items()}
    pose = np.eye(4)
    pose[2, 3] = -link_pose(walker, walker.state(joints=bent), "left_sole")[2, 3]
    start = walker.state(pose=pose, joints=bent)
    places = {side: link_pose(walker, start, f"{side}_sole")[:3, 3] for side in SIDES}
    soles = {side: WrenchCone(f"{side}_sole", SOLE_LENGTH, SOLE_WIDTH, p.trusted) for side in SIDES}
    tasks, loops = _tasks(start, p.gain), dict[tuple[str, ...], WholeBodyLoop]()
    limits: list[Limit | TorqueLimits] = [TorqueLimits(), JointLimits()]
    rest = [tasks["pelvis"], tasks["posture"]]
    for side in SIDES:
        both = Stance(walker, [[tasks["center"]], rest], (soles[side], soles[opposite_side(side)]), limits)
        one = Stance(walker, [[tasks["center"]], [tasks[opposite_side(side)]], rest], (soles[side],), limits)
        loops |= {(side, opposite_side(side)): both.compile(), (side,): one.compile()}
    when = phases(p)
    c, ends = center_of_mass(walker, start), when[-1].begin + p.shift + BEGIN
    stops = _pressures(p, when, c, places)
    times = np.linspace(0.0, ends, round(ends / GRID) + 1)
    pressure = np.array([path(t, stops)[0] for t in times])
    center = center_path(times, pressure, float(c[2]), float(np.linalg.norm(walker.gravity)))
    return walker, start, Plan(p, when, center, places, soles, tuple(points), tasks, loops)


def _pressures(p: SteppingParameters, when: tuple[Phase, ...], c: np.ndarray, places: dict[str, np.ndarray]) -> Stops:
    """Desired centers of pressure, at the height of the center of mass.

    Between the feet, in the middle of each foot in turn while it stands alone, and between them again.
    """
    x, y = 0.5 * sum(SOLE_LENGTH), 0.5 * sum(SOLE_WIDTH)
    under = {side: np.array([place[0] + x, place[1] + y, c[2]]) for side, place in places.items()}
    middle = 0.5 * (under["left"] + under["right"])
    stops = [(0.0, c), (0.5 * BEGIN, middle), (BEGIN, middle)]
    for phase in when:
        if phase.is_lifted:
            stops += [(phase.begin, under[phase.base]), (phase.begin + p.swing, under[phase.base])]
    return [*stops, (stops[-1][0] + p.shift, middle)]


def _tasks(start: State, gain: float) -> dict[str, Task]:
    still: dict[str, Any] = {"velocity": np.zeros(3), "acceleration": np.zeros(3)}
    turning: dict[str, Any] = {"velocity": np.zeros(6), "acceleration": np.zeros(6)}
    return {
        "center": CenterOfMassTask(np.zeros(3), gain=gain, **still),
        **{side: PoseTask(f"{side}_sole", np.eye(4), gain=12.0, **turning) for side in SIDES},
        "pelvis": RotationTask("pelvis", np.eye(3), gain=5.0),
        "posture": JointsTask(start.joints, gain=4.0),
    }
