"""Third-party robots on compliant floors, described once for fallingcat, MuJoCo and the reference floor."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.arrays import concatenate, scale, sin
from fallingcat.contact import CompliantFloor, corners
from fallingcat.control import JointDamper, JointSpring, Law
from fallingcat.model.edits import lock

from .pinocchio_robot import PinocchioRobot
from .reference_floor import ReferenceFloor, run


@dataclass(frozen=True)
class Drive(Law):
    """Periodic joint torques ``sum of amplitude sin(2 pi frequency t + phase)``."""

    amplitudes: tuple[float, ...]
    """N m, one for each joint"""
    phases: tuple[float, ...]
    """rad, one for each joint"""
    frequency: float
    """Hz"""
    name: str = "drive"

    def forces(self, model: fc.Model, t: Any, state: fc.State, touching: frozenset[str]) -> Any:
        angle = 2.0 * np.pi * self.frequency * t
        parts = [np.zeros(model.m)]
        parts += [scale(a * sin(angle + p), np.ones(1)) for a, p in zip(self.amplitudes, self.phases, strict=True)]
        return concatenate(parts)

    def at(self, t: float) -> np.ndarray:
        return np.array(self.amplitudes) * np.sin(2.0 * np.pi * self.frequency * t + np.array(self.phases))


@dataclass(frozen=True)
class RobotScene:
    """A robot whose joints are held by springs and dampers, on a floor."""

    model: fc.Model
    start: fc.State
    floor: CompliantFloor
    duration: float
    kp: float
    kd: float
    drive: Drive | None = None
    passive: bool = False
    """whether joints have the damping and the dry friction of the file, besides"""

    @property
    def rest(self) -> tuple[float, ...]:
        return tuple(float(x) for x in self.start.joints)

    @property
    def laws(self) -> tuple[Law, ...]:
        held = (JointSpring(self.kp, self.rest), JointDamper(self.kd)) if self.kp or self.kd else ()
        return held if self.drive is None else (*held, self.drive)

    def on(self, stiffness: float, damping: float) -> RobotScene:
        """The same with another tangential spring and damper."""
        (K, _), (D, _) = self.floor.stiffness, self.floor.damping
        return replace(self, floor=replace(self.floor, stiffness=(K, stiffness), damping=(D, damping)))

    def simulate(self, **options: Any) -> fc.Trajectory:
        """The run in fallingcat."""
        options = {"passive": self.passive, "every": 1_000_000} | options
        return fc.simulate(self.model, self.start, self.duration, self.laws, self.floor, **options)

    def reference(self, tolerance: float = 1e-7, **options: Any) -> fc.State:
        """The last state by Pinocchio and the reference floor."""
        drive, own = None if self.drive is None else self.drive.at, [j.passive for j in self.model.joints if j.nv]
        kd, friction = (self.passive * np.array([getattr(p, name) for p in own]) for name in ("damping", "friction"))
        robot = PinocchioRobot(
            self.model, self.floor.points, self.kp, self.kd + kd, friction, np.array(self.rest), drive
        )
        mu = self.floor.friction
        assert mu is not None
        ground = ReferenceFloor(self.floor.stiffness, self.floor.damping, mu)
        motion = run(robot, ground, robot.start(self.start), self.duration, tolerance=tolerance, **options)
        return robot.state(motion.y[-1])


def file_of(name: str, folder: str = "") -> Path:
    """A file of the package example-robot-data."""
    files = importlib.metadata.files("example-robot-data") or []
    return next(Path(str(f.locate())).resolve() for f in files if f.name == name and folder in str(f))


def load(name: str, folder: str = "") -> fc.Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fc.load(file_of(name, folder))


def standing(model: fc.Model, points: tuple[str, ...], joints: Any, height: float, velocity: Any) -> fc.State:
    """The robot with its lowest point at ``height`` (m), moving with ``velocity`` (world)."""
    state = model.state(pose=np.eye(4), joints=joints)
    low = min(fc.link_pose(model, state, point)[2, 3] for point in points)
    pose = np.eye(4)
    pose[2, 3] = height - low
    return model.state(pose=pose, joints=joints, twist=[*velocity, 0.0, 0.0, 0.0])


def quadruped(
    file: str, feet: tuple[str, ...], leg: Any, stiffness: float, damping: float, kp: float, kd: float, **more: Any
) -> RobotScene:
    """A robot on four feet that slides, lands or trots."""
    model = load(file, more.pop("folder", ""))
    sags = -model.mass * 9.81 / (4.0 * stiffness)
    height, velocity = more.pop("height", sags), more.pop("velocity", (1.0, 0.0, 0.0))
    start = standing(model, feet, leg, height, velocity)
    floor = CompliantFloor(feet, (stiffness, stiffness), (damping, damping), friction=more.pop("friction", 0.5))
    return RobotScene(model, start, floor, more.pop("duration", 0.5), kp, kd, **more)


SOLO = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
GO2 = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
ANYMAL = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
SOLO_LEGS = [0.0, 0.8, -1.6, 0.0, 0.8, -1.6, 0.0, -0.8, 1.6, 0.0, -0.8, 1.6]
GO2_LEGS = [0.0, 0.8, -1.5] * 4
ANYMAL_LEGS = [0.0, 0.6, -1.2, 0.0, 0.6, -1.2, 0.0, -0.6, 1.2, 0.0, -0.6, 1.2]


def solo12_sliding() -> RobotScene:
    return quadruped("solo12.urdf", SOLO, SOLO_LEGS, 2e4, 200.0, 30.0, 0.5)


def solo12_landing() -> RobotScene:
    return quadruped("solo12.urdf", SOLO, SOLO_LEGS, 2e4, 200.0, 30.0, 0.5, height=0.02, velocity=(0.5, 0.2, 0.0))


def go2_sliding() -> RobotScene:
    return quadruped("go2.urdf", GO2, GO2_LEGS, 1e5, 1e3, 200.0, 5.0)


def anymal_trotting() -> RobotScene:
    """Knees of opposite legs are driven together."""
    knees = (0.0, 10.0, 60.0) * 4
    phases = tuple(np.repeat([0.0, np.pi, np.pi, 0.0], 3))
    signs = np.repeat([1.0, 1.0, -1.0, -1.0], 3)
    drive = Drive(tuple(float(x) for x in np.array(knees) * signs), tuple(float(x) for x in phases), 2.0)
    return quadruped(
        "anymal.urdf",
        ANYMAL,
        ANYMAL_LEGS,
        5e4,
        500.0,
        400.0,
        10.0,
        velocity=(0.0, 0.0, 0.0),
        friction=0.7,
        duration=1.0,
        drive=drive,
        folder="anymal_b",
    )


def talos(bend: float) -> RobotScene:
    """From 2 cm on the corners of its soles, under the friction and damping of its joints alone."""
    model = load("talos_full_v2.urdf")
    model = lock(model, ["gripper_left_joint", "gripper_right_joint"])
    points: tuple[str, ...] = ()
    for sole in ("left_sole_link", "right_sole_link"):
        model, found = corners(model, sole, (0.2, 0.12))
        points += found
    joints = np.zeros(model.n)
    for side in ("left", "right"):
        for i, angle in ((3, -0.5), (4, 1.0), (5, -0.5)):
            joints[model.joint_names.index(f"leg_{side}_{i}_joint")] = bend * angle
        for i, angle in ((2, 0.3 if side == "left" else -0.3), (4, -0.5)):  # away from stops, which the reference lacks
            joints[model.joint_names.index(f"arm_{side}_{i}_joint")] = angle
    start = standing(model, points, joints, 0.02, (0.0, 0.0, 0.0))
    floor = CompliantFloor(points, (1e5, 1e5), (1e3, 1e3), friction=0.7)
    return RobotScene(model, start, floor, 0.2, 0.0, 0.0, passive=True)


def talos_landing() -> RobotScene:
    return talos(0.8)


def talos_landing_upright() -> RobotScene:
    return talos(0.2)


def ant_landing() -> RobotScene:
    """From 5 cm on its four feet, with the rotors and the damping of its joints."""
    model = ant()
    floor = CompliantFloor(ANT, (2e4, 2e4), (200.0, 200.0), friction=0.8)
    return RobotScene(model, standing(model, ANT, ANT_LEGS, 0.05, (0.5, 0.2, 0.0)), floor, 0.4, 20.0, 1.0)


def ant() -> fc.Model:
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fc.load(Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml")
    toes = ((0.4, 0.4), (-0.4, 0.4), (-0.4, -0.4), (0.4, -0.4))
    frames = [fc.model.Frame(name, link, _at(*toe)) for name, link, toe in zip(ANT, ANT_FEET, toes, strict=True)]
    return replace(model, frames=(*model.frames, *frames), actuators=(), driven=None)


def _at(x: float, y: float) -> np.ndarray:
    H = np.eye(4)
    H[:2, 3] = x, y
    return H


ANT, ANT_FEET = ("toe_1", "toe_2", "toe_3", "toe_4"), ("body4", "body7", "body10", "body13")
ANT_LEGS = [0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]


MAKERS = (
    solo12_sliding,
    solo12_landing,
    go2_sliding,
    anymal_trotting,
    talos_landing,
    talos_landing_upright,
    ant_landing,
)
SCENES: dict[str, Callable[[], RobotScene]] = {make.__name__: cache(make) for make in MAKERS}
