"""Feet, moving joints and servos of a robot, which walking tasks take from its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..contact import corners
from ..contact import feet as lowest_points
from ..errors import ModelError
from ..model import Actuator, Model
from .postures import driven_joints

SOLE = (0.2, 0.1)
"""m: length and width of the soles of the sample humanoid"""
WALKING_JOINTS: dict[str, tuple[str, ...]] = {"humanoid": ("hip", "knee", "ankle", "waist")}
"""Parts of the names of the joints that walk, where not all do."""
FOOT_NAMES = ("foot", "sole", "toe")
"""Ends of the names of frames that touch the ground."""
SERVO_FREQUENCY, SERVO_DAMPING = 20.0, 0.7
"""rad/s: least natural frequency of a servo that moves its rotor alone; and the damping ratio of that motion"""


class Servos(NamedTuple):
    """Servos of joints that a file describes by its actuators."""

    kp: np.ndarray | None
    """stiffness of each joint (N m/rad); None: not all have position actuators"""
    kd: np.ndarray | None
    """damping of each joint (N m s/rad)"""
    lowest: np.ndarray
    """lowest target of each joint (rad)"""
    highest: np.ndarray
    """highest target of each joint (rad)"""

    @property
    def has_ranges(self) -> bool:
        """True where a target has a range."""
        return bool(np.isfinite([self.lowest, self.highest]).any())


def walking_joints(model: Model) -> tuple[str, ...]:
    """Joints that actions move, unless they are named."""
    names, parts = driven_joints(model), WALKING_JOINTS.get(model.name, ())
    known = parts and all(any(part in name for name in names) for part in parts)
    return tuple(name for name in names if not known or any(part in name for part in parts))


def walking_feet(model: Model, names: Sequence[str] | None, posture: np.ndarray) -> tuple[Model, tuple[str, ...], Any]:
    """Model with frames where feet touch, their names and radii."""
    if names is not None:
        return model, tuple(names), 0.0
    found = [frame for frame in model.frames if frame.name.endswith(FOOT_NAMES)]
    lowest = None if found and not any(link.collisions for link in model.links) else _lowest(model, posture)
    if lowest is not None and (not found or _are_balls(lowest, {frame.link for frame in found})):
        return lowest.model, lowest.points, lowest.radii
    points: list[str] = []
    for name in (frame.name for frame in found):
        if name.endswith("sole"):
            model, own = corners(model, name, SOLE)
            points += own
        else:
            points.append(name)
    return model, tuple(points), 0.0


def _lowest(model: Model, posture: np.ndarray) -> Any:
    return lowest_points(model, model.state(joints=posture))


def _are_balls(lowest: Any, links: set[str]) -> bool:
    """True where the links of named feet stand on balls, whose places and radii frames do not say."""
    return all(lowest.radii) and {lowest.model.frame(point).link for point in lowest.points} == links


def servos(model: Model, joints: Sequence[str]) -> Servos:
    """Servos of some joints, from the actuators of the file.

    Args:
        model: Robot.
        joints: Names of joints.

    Returns:
        Gains, and ranges of targets.
    """
    drives = [_drive(model, name) for name in joints]
    low, high = (np.full(len(joints), x) for x in (-np.inf, np.inf))
    positions = [one for one in drives if one is not None and one.kind == "position"]
    if len(positions) < len(drives):
        return Servos(None, None, low, high)
    for k, one in enumerate(positions):
        low[k], high[k] = np.sort(np.divide(one.control_range, one.gear))
    kp = np.array([one.gear**2 * one.kp for one in positions])
    kd = np.array([one.gear**2 * one.kv for one in positions])
    damped = kd + [model.joints[model.leading_index(name)].passive.damping for name in joints] > 0.0
    return Servos(kp, np.where(damped, kd, kp / 40.0), low, high)


def usual_servos(model: Model, joints: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness (N m/rad) and damping (N m s/rad) of servos of which a file says nothing: for its mass and rotors."""
    rotors = np.array([np.max(model.joints[model.leading_index(name)].armature) for name in joints])
    kp = np.maximum(10.0 * model.mass / 3.0, SERVO_FREQUENCY**2 * rotors)
    return kp, np.maximum(kp / 40.0, 2.0 * SERVO_DAMPING * np.sqrt(kp * rotors))


def with_drive_limits(model: Model) -> Model:
    """Model whose joints have efforts within the ranges of their actuators."""
    joints = []
    for joint in model.joints:
        one = _drive(model, joint.name)
        if one is not None:
            range_ = one.force_range if one.kind != "motor" else np.clip(one.control_range, *one.force_range)
            most = abs(one.gear) * float(np.abs(range_).max())
            joint = replace(joint, limits=replace(joint.limits, effort=min(joint.limits.effort, most)))
        joints.append(joint)
    return replace(model, joints=tuple(joints)) if model.actuators else model


def _drive(model: Model, joint: str) -> Actuator | None:
    """Motor or servo of a joint, if it has one alone."""
    found = [one for one in model.actuators if one.joint == joint]
    usual = len(found) == 1 and found[0].kind in ("motor", "position") and found[0].activation is None
    if usual and not found[0].gear:
        raise ModelError(f"actuator {found[0].name!r} has gear 0, and moves nothing")
    return found[0] if usual else None
