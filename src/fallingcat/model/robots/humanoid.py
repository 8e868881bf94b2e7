"""A person-sized walking robot with thirty joints."""

from __future__ import annotations

from collections.abc import Callable

from ...lie import SE3
from ..joint import Joint, Limits
from ..joints import Revolute
from ..link import Frame, Link
from ..model import Model
from .shapes import Vector, at, box_link, cylinder_link, sphere_link

_AXES = {"roll": (1.0, 0.0, 0.0), "pitch": (0.0, 1.0, 0.0), "yaw": (0.0, 0.0, 1.0)}
Solid = Callable[[str], Link]
"""A link, but for its name."""
_Row = tuple[str, tuple[float, float, float], tuple[float, float], float, Solid]
THIGH, SHANK, UPPER_ARM, FOREARM = 0.40, 0.40, 0.28, 0.25  # lengths (m)


def humanoid() -> Model:
    """A humanoid of 64 kg and 1.66 m: 6 joints in each leg, 7 in each arm, 2 in the waist and 2 in the neck.

    x forward, y to the left, z up; the base is the pelvis.  At the neutral state it stands straight with its arms
    hanging, the soles 0.9 m below the pelvis frame.  Joints are named after limb and motion, ``left_hip_yaw`` to
    ``left_ankle_roll``, ``left_shoulder_pitch`` to ``left_wrist_pitch``, ``waist_yaw``, ``neck_pitch``, ...: roll turns
    about x, pitch about y, yaw about z, so knees bend by positive angles and elbows by negative ones.  The two frames
    ``left_sole`` and ``right_sole`` lie on the ground, ``left_palm`` and ``right_palm`` in the hands.

    Proportions are those of a person, all numbers are round and ours: pelvis 8 kg, torso 17 kg, head 4 kg, thigh 5 kg
    and 0.4 m, shank 3 kg and 0.4 m, foot 1 kg and 0.08 m, upper arm 2 kg and 0.28 m, forearm 1.2 kg and 0.25 m, hand
    0.5 kg; the links between crossing axes are motors of 0.2 to 1 kg.

    Returns:
        Robot.

    Example:
        >>> humanoid()
        <Model 'humanoid': base SE(3), 31 links, 30 joint dof, 64 kg>
    """
    links = [box_link("pelvis", 8.0, (0.18, 0.28, 0.16))]
    joints: list[Joint] = []
    frames: list[Frame] = []
    for side, s in (("left", 1.0), ("right", -1.0)):
        last = _grow(links, joints, "pelvis", f"{side}_", _leg(s), effort=150.0)
        frames.append(Frame(f"{side}_sole", last, at(z=-0.08)))
    torso = _grow(links, joints, "pelvis", "", _waist(), effort=150.0)
    _grow(links, joints, torso, "", _neck(), effort=20.0)
    for side, s in (("left", 1.0), ("right", -1.0)):
        last = _grow(links, joints, torso, f"{side}_", _arm(s), effort=50.0)
        frames.append(Frame(f"{side}_palm", last, at(z=-0.08)))
    return Model("humanoid", SE3(), tuple(links), tuple(joints), frames=tuple(frames))


def _grow(links: list[Link], joints: list[Joint], parent: str, side: str, rows: list[_Row], effort: float) -> str:
    """Adds a chain: for each row the joint, where it sits on its parent, its range (rad), and the link it carries."""
    for joint, position, (lower, upper), velocity, solid in rows:
        name = f"{side}{joint}"
        child = f"{name}_link"
        links.append(solid(child))
        kind = Revolute(_AXES[joint.rpartition("_")[2]])
        joints.append(Joint(name, kind, parent, child, at(*position), limits=Limits(lower, upper, velocity, effort)))
        parent = child
    return parent


def _leg(s: float) -> list[_Row]:
    """``s`` is 1 on the left and -1 on the right; roll and yaw ranges are mirrored."""
    return [
        ("hip_yaw", (0.0, 0.1 * s, -0.02), _mirror_limits(s, -0.6, 1.0), 10.0, _motor(1.0)),
        ("hip_roll", (0.0, 0.0, 0.0), _mirror_limits(s, -0.5, 1.0), 10.0, _motor(1.0)),
        ("hip_pitch", (0.0, 0.0, 0.0), (-2.2, 0.8), 12.0, _rod(5.0, 0.07, THIGH)),
        ("knee_pitch", (0.0, 0.0, -THIGH), (0.0, 2.4), 12.0, _rod(3.0, 0.05, SHANK)),
        ("ankle_pitch", (0.0, 0.0, -SHANK), (-1.0, 0.8), 12.0, _motor(0.4)),
        ("ankle_roll", (0.0, 0.0, 0.0), (-0.5, 0.5), 12.0, _box(1.0, (0.24, 0.1, 0.05), (0.04, 0.0, -0.055))),
    ]


def _waist() -> list[_Row]:
    return [
        ("waist_yaw", (0.0, 0.0, 0.1), (-1.2, 1.2), 8.0, _motor(1.0)),
        ("waist_pitch", (0.0, 0.0, 0.0), (-0.3, 1.0), 8.0, _box(17.0, (0.2, 0.32, 0.42), (0.0, 0.0, 0.23))),
    ]


def _neck() -> list[_Row]:
    return [
        ("neck_yaw", (0.0, 0.0, 0.46), (-1.4, 1.4), 8.0, _motor(0.4)),
        ("neck_pitch", (0.0, 0.0, 0.0), (-0.5, 0.8), 8.0, _ball(4.0, 0.1, (0.02, 0.0, 0.1))),
    ]


def _arm(s: float) -> list[_Row]:
    return [
        ("shoulder_pitch", (0.0, 0.2 * s, 0.4), (-3.0, 1.2), 10.0, _motor(0.6)),
        ("shoulder_roll", (0.0, 0.0, 0.0), _mirror_limits(s, -0.2, 2.5), 10.0, _motor(0.6)),
        ("shoulder_yaw", (0.0, 0.0, 0.0), (-1.5, 1.5), 10.0, _rod(2.0, 0.045, UPPER_ARM)),
        ("elbow_pitch", (0.0, 0.0, -UPPER_ARM), (-2.4, 0.0), 10.0, _rod(1.2, 0.035, FOREARM)),
        ("wrist_yaw", (0.0, 0.0, -FOREARM), (-1.5, 1.5), 10.0, _motor(0.3)),
        ("wrist_roll", (0.0, 0.0, 0.0), (-0.6, 0.6), 10.0, _motor(0.2)),
        ("wrist_pitch", (0.0, 0.0, 0.0), (-1.2, 1.2), 10.0, _box(0.5, (0.08, 0.03, 0.16), (0.0, 0.0, -0.08))),
    ]


def _mirror_limits(s: float, lower: float, upper: float) -> tuple[float, float]:
    return (lower, upper) if s > 0.0 else (-upper, -lower)


def _rod(mass: float, radius: float, length: float) -> Solid:
    return lambda name: cylinder_link(name, mass, radius, length, center=(0.0, 0.0, -0.5 * length))


def _motor(mass: float) -> Solid:
    return lambda name: cylinder_link(name, mass, 0.04, 0.06)


def _box(mass: float, size: Vector, center: Vector) -> Solid:
    return lambda name: box_link(name, mass, size, center)


def _ball(mass: float, radius: float, center: Vector) -> Solid:
    return lambda name: sphere_link(name, mass, radius, center)
