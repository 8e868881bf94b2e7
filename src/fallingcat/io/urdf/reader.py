"""URDF, the robot format of ROS: ``<robot>`` with links and joints side by side.

Read: links with their inertia; joints revolute, continuous, prismatic, fixed, floating and planar with origin, axis and
limits, damping, mimic; shapes with their colors.  Passed over: textures, transmission, gazebo, sensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from ...lie import SE3, Trivial
from ...lie.rotations import homogeneous
from ...model import (
    Body,
    Continuous,
    Fixed,
    Free,
    Joint,
    JointKind,
    Limits,
    Link,
    Model,
    Passive,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)
from ..assembly import Parts, assemble
from ..diagnostics import Reader
from ..limits import MAX_INERTIA, MAX_LENGTH, MAX_LINKS, MIN_MASS, UNLIMITED
from ..mimics import MimicRequest, mimicking
from ..names import Names, check_name
from ..numbers import number, vector
from ..safe_xml import Element, only
from .shapes import Colors, read_materials, read_shape
from .unknown_elements import Strays

_AXIAL: Final[dict[str, Callable[[tuple[float, float, float]], JointKind]]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
}
_FURTHER_KINDS: Final[dict[str, Callable[[], JointKind]]] = {"fixed": Fixed, "floating": Free, "spherical": Spherical}
_TYPES: Final = (*_AXIAL, "fixed", "floating", "planar")
_MOMENTS: Final = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_UNIT_TOLERANCE: Final = 1e-6  # what six printed digits of a unit vector can miss
_ROUNDING: Final = 4e-16  # of sin and cos at multiples of pi/2


def read_urdf(root: Element, reader: Reader) -> Model:
    """The model in a ``<robot>`` element."""
    strays = Strays(reader)
    strays.look_at(root)
    links, joints = root.all("link"), root.all("joint")
    if not links:
        reader.fail(root, "a robot has at least one link")
    if len(links) > MAX_LINKS:
        reader.fail(root, f"a robot has at most {MAX_LINKS:,} links, not {len(links):,}")
    if len(joints) > MAX_LINKS:
        reader.fail(root, f"a robot has at most {MAX_LINKS:,} joints, not {len(joints):,}")
    link_names, joint_names = Names("link", reader), Names("joint", reader)
    for names, elements in ((link_names, links), (joint_names, joints)):
        for element in elements:
            names.add(element.get("name"), element)
    colors: Colors = {}
    for material in root.all("material"):
        read_materials(reader, [material], colors)
    bodies = [_link(link, colors, reader) for link in links]
    moving, couples = mimicking([_joint(joint, reader) for joint in joints], _mimics(joints, reader), reader)
    parts = Parts(
        name=_robot_name(root, reader),
        base=SE3(),
        links=bodies,
        joints=moving,
        link_places=link_names.places,
        joint_places=joint_names.places,
    )
    strays.report()
    parts = _without_free_root(_with_missing_parents(parts, reader), reader)
    return assemble(parts, reader).close_loops(*couples)


def _with_missing_parents(parts: Parts, reader: Reader) -> Parts:
    """A parent called world that is not there is the world, as in Drake; another one is a fault, and massless."""
    missing = {joint.parent: joint for joint in parts.joints if joint.parent not in parts.link_places}
    for name, joint in missing.items():
        place = parts.joint_places[joint.name]
        rule = f"the parent link {name!r} does not exist"
        if name == "world" and reader.options.base is None:
            reader.warn(place, f"{rule}: the base is fixed, as in Drake, where it is the world")
            parts = replace(parts, base=Trivial())
        elif name != "world" and (piece := _fixed_subtree(parts, name)):
            reader.fault(place, rule, f"what hangs on it, {', '.join(map(repr, piece))}, is left out")
            parts = _remove_parts(parts, piece)
            continue
        elif name != "world":
            reader.fault(place, rule, "a massless link")
        places = {**parts.link_places, name: place}
        parts = replace(parts, links=[Link(name), *parts.links], link_places=places)
    return parts


def _fixed_subtree(parts: Parts, name: str) -> list[str]:
    """Links that hang on the missing link ``name`` by fixed joints alone, where the robot has a root of its own."""
    carried = {joint.child for joint in parts.joints}
    below = [name]
    for link in below:
        joints = [joint for joint in parts.joints if joint.parent == link and joint.child not in below]
        if any(joint.kind.nv for joint in joints):
            return []
        below += [joint.child for joint in joints]
    return below[1:] if any(link.name not in carried for link in parts.links) else []


def _remove_parts(parts: Parts, names: list[str]) -> Parts:
    links = [link for link in parts.links if link.name not in names]
    return replace(parts, links=links, joints=[joint for joint in parts.joints if joint.child not in names])


def _without_free_root(parts: Parts, reader: Reader) -> Parts:
    """A massless root that carries nothing but one floating joint is the world: the file says that the base is free."""
    carried = {joint.child for joint in parts.joints}
    tops = [link for link in parts.links if link.name not in carried]
    below = [joint for joint in parts.joints if [joint.parent] == [top.name for top in tops]]
    if reader.options.base not in (None, SE3()) or len(below) != 1 or not isinstance(below[0].kind, Free):
        return parts
    (world,), (joint,) = tops, below
    if world.body.mass:
        return parts
    links = [link for link in parts.links if link is not world]
    return replace(parts, links=links, joints=[other for other in parts.joints if other is not joint])


def _robot_name(root: Element, reader: Reader) -> str:
    name = root.get("name")
    if not name.strip():
        reader.warn(root, "the robot has no name and is called 'robot'")
        return "robot"
    check_name(reader, root, "robot", name)
    return name


# links --------------------------------------------------------------------------------------------------------------


def _link(link: Element, colors: Colors, reader: Reader) -> Link:
    visuals, collisions = (
        tuple(s for each in link.all(tag) for s in read_shape(reader, each, _origin(each, reader), colors))
        for tag in ("visual", "collision")
    )
    return Link(link.get("name"), _body(link, reader), visuals, collisions)


def _body(link: Element, reader: Reader) -> Body:
    """The inertia of a link, brought into the axes of its frame; massless without an ``<inertial>``."""
    inertial = only(reader, link, "inertial")
    if inertial is None:
        return Body()
    value, about_center = _mass(inertial, reader), _moments(inertial, reader)
    H = _origin(inertial, reader)
    if np.array_equal(H[:3, :3], np.eye(3)):
        return Body(value, H[:3, 3], about_center)
    return Body(value, np.zeros(3), about_center).moved(H)


def _mass(inertial: Element, reader: Reader) -> float:
    mass = only(reader, inertial, "mass")
    if mass is None or "value" not in mass.attributes:
        reader.fault(mass or inertial, "the mass is missing", "zero")
        return 0.0
    value = number(reader, mass, "value")
    if value < 0.0:
        reader.fail(mass, "the mass is not negative", f"is {value:g}")
    if 0.0 < value < MIN_MASS:
        reader.fail(mass, f"a mass is zero or at least {MIN_MASS:g} kg, not {value:g}")
    return value


def _moments(inertial: Element, reader: Reader) -> np.ndarray:
    """Inertia about the center of mass, in the axes of the ``<inertial>``."""
    inertia = only(reader, inertial, "inertia")
    if inertia is None:
        reader.fault(inertial, "the <inertia> is missing", "zero, a point mass")
        return np.zeros((3, 3))
    for name in [name for name in _MOMENTS if name not in inertia.attributes]:
        reader.fault(inertia, f"the attribute {name!r} is missing", "zero")
    xx, yy, zz, xy, xz, yz = (number(reader, inertia, name, default=0.0) for name in _MOMENTS)
    about_center = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.abs(about_center).max() > MAX_INERTIA:
        reader.fail(inertia, f"the inertia is at most {MAX_INERTIA:g} kg m^2")
    return about_center


def _origin(element: Element, reader: Reader) -> np.ndarray:
    """The ``<origin>`` of an element as ``4 x 4``: ``R = Rz(yaw) Ry(pitch) Rx(roll)``, the identity if left out."""
    origin = only(reader, element, "origin")
    if origin is None:
        return np.eye(4)
    for attribute in origin.attributes:
        if attribute.startswith("quat"):
            reader.fail(origin, f"the attribute {attribute!r} is not read", "write roll, pitch, yaw as rpy")
    xyz = vector(reader, origin, "xyz", 3, default=(0.0, 0.0, 0.0))
    rpy = vector(reader, origin, "rpy", 3, default=(0.0, 0.0, 0.0))
    if np.abs(xyz).max() > MAX_LENGTH:
        reader.fail(origin, f"an origin is within {MAX_LENGTH:g} m", f"is {origin.get('xyz')[:80]!r}")
    if np.abs(rpy).max() > 2.0 * math.pi + 1e-3:
        reader.warn(origin, f"rpy is in radians; is {origin.get('rpy')[:80]!r} in degrees?", kind="degrees")
    return homogeneous(_rotation(*rpy.tolist()), xyz)


def _rotation(roll: float, pitch: float, yaw: float) -> np.ndarray:
    if roll == pitch == yaw == 0.0:
        return np.eye(3)
    (sr, sp, sy), (cr, cp, cy) = map(_sin, (roll, pitch, yaw)), map(_cos, (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def _sin(angle: float) -> float:
    """A quarter turn gives exact zeros, not 6e-17: they keep generated code sparse."""
    value = math.sin(angle)
    return 0.0 if abs(value) < _ROUNDING else value


def _cos(angle: float) -> float:
    value = math.cos(angle)
    return 0.0 if abs(value) < _ROUNDING else value


# joints -------------------------------------------------------------------------------------------------------------


def _joint(joint: Element, reader: Reader) -> Joint:
    kind_name = joint.get("type")
    if kind_name not in (*_TYPES, "spherical"):
        reader.fail(joint, f"the type of a joint is one of {', '.join(_TYPES)}, not {kind_name[:80]!r}")
    if kind_name == "spherical":
        reader.warn(joint, "a spherical joint: an extension of Bullet and MuJoCo, which other readers refuse")
    parent, child = (_link_of_end(joint, side, reader) for side in ("parent", "child"))
    if parent == child:
        reader.fail(joint, f"parent and child are the same link, {parent!r}")
    placement, offset = _origin(joint, reader), np.eye(4)
    axis, limits = _axis(joint, kind_name, reader), _limits(joint, kind_name, reader)
    passive = _passive(joint, reader)
    kind: JointKind
    if kind_name == "planar":
        kind = Planar()
        turn = homogeneous(_z_to(axis), np.zeros(3))
        placement, offset = placement @ turn, turn.T
    elif kind_name in _AXIAL:
        kind = _AXIAL[kind_name](axis)
    else:
        kind = _FURTHER_KINDS[kind_name]()
    if kind.nv == 0:
        passive = Passive()
    return Joint(joint.get("name"), kind, parent, child, placement, offset, limits, passive=passive)


def _link_of_end(joint: Element, side: str, reader: Reader) -> str:
    end = only(reader, joint, side)
    if end is None or "link" not in end.attributes:
        reader.fail(end or joint, f"a joint needs <{side} link=.../>")
    return end.get("link")


def _axis(joint: Element, kind: str, reader: Reader) -> tuple[float, float, float]:
    """A unit vector; ``(1, 0, 0)`` by default, as URDF defines.  Only read where the joint has one."""
    element = only(reader, joint, "axis")
    if element is None:
        if kind == "planar":
            reader.warn(joint, "a planar joint without <axis> moves in the y-z plane: URDF's normal is then x")
        return 1.0, 0.0, 0.0
    no_axis = kind in _FURTHER_KINDS
    x, y, z = vector(reader, element, "xyz", 3, default=(1.0, 0.0, 0.0) if no_axis else None).tolist()
    if no_axis:
        return 1.0, 0.0, 0.0
    length = math.hypot(x, y, z)
    if not 1e-9 < length < 1e9:
        reader.fail(element, "the axis of a joint is a vector of length 1", f"its length is {length:g}")
    if abs(length - 1.0) > _UNIT_TOLERANCE:
        reader.warn(element, f"the axis has length {length:.6g} and was brought to 1", kind="length of axes")
    return x / length, y / length, z / length


def _z_to(axis: tuple[float, float, float]) -> np.ndarray:
    """The shortest rotation that turns z to a unit vector (about x where it is -z)."""
    x, y, z = axis
    s = x * x + y * y
    if z > 0.0:
        k = 1.0 / (1.0 + z)
    elif s > 1e-290:  # above where x * x loses digits to underflow
        k = (1.0 - z) / s  # the same number where the axis is of length 1, without the cancellation of 1 + z
    else:
        return np.diag([1.0, -1.0, -1.0])
    return np.array([[1.0 - x * x * k, -x * y * k, x], [-x * y * k, 1.0 - y * y * k, y], [-x, -y, z]])


def _limits(joint: Element, kind: str, reader: Reader) -> Limits:
    """Range, speed and force of a joint of one degree of freedom; infinite by default, with a warning."""
    limit = only(reader, joint, "limit")
    if limit is None:
        if kind in ("revolute", "prismatic"):
            reader.warn(joint, f"a {kind} joint without <limit> has no limits here")
        return Limits()
    given = {name: number(reader, limit, name) for name in ("lower", "upper", "effort", "velocity") if limit.get(name)}
    for name in ("effort", "velocity"):
        if given.get(name, 0.0) < 0.0:
            reader.warn(limit, f"the limit {name!r} is negative, {given.pop(name):g}: there is none here", kind=name)
    if kind not in _AXIAL:
        return Limits()
    effort, velocity = (
        x if (x := given.get(name, math.inf)) < UNLIMITED else math.inf for name in ("effort", "velocity")
    )
    if kind == "continuous":
        return Limits(velocity=velocity, effort=effort)
    missing = [name for name in ("lower", "upper") if name not in given]
    if len(missing) == 2:
        reader.warn(limit, "without 'lower' and 'upper' the joint has no end stops here")
        return Limits(velocity=velocity, effort=effort)
    if missing:
        reader.warn(limit, f"{missing[0]!r} is missing and taken as 0, as URDF defines")
    lower, upper = given.get("lower", 0.0), given.get("upper", 0.0)
    if lower > upper:
        text = f"the lower limit lies above the upper one ({lower:g} > {upper:g}): the joint has no end stops here"
        reader.warn(limit, text, kind="crossed limits")
        return Limits(velocity=velocity, effort=effort)
    return Limits(lower, upper, velocity, effort)


def _passive(joint: Element, reader: Reader) -> Passive:
    """Damping and dry friction; those that would feed energy into the robot are none."""
    soft = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
    _numbers_of(joint, "safety_controller", soft, reader)
    given = _numbers_of(joint, "dynamics", ("damping", "friction"), reader)
    for name in [name for name, value in given.items() if value < 0.0]:
        reader.warn(only(reader, joint, "dynamics"), f"{name!r} is negative: it would feed energy into the robot")
        given[name] = 0.0
    return Passive(**given)


def _numbers_of(joint: Element, tag: str, names: tuple[str, ...], reader: Reader) -> dict[str, float]:
    """The numbers of an element of a joint, 0 where it says nothing."""
    element = only(reader, joint, tag)
    return {} if element is None else {name: number(reader, element, name, default=0.0) for name in names}


def _mimics(joints: list[Element], reader: Reader) -> dict[str, MimicRequest]:
    """Followed joint of each joint that follows one."""
    found = {}
    for joint in joints:
        mimic = only(reader, joint, "mimic")
        if mimic is not None:
            ratio = number(reader, mimic, "multiplier", default=1.0)
            offset = number(reader, mimic, "offset", default=0.0)
            found[joint.get("name")] = MimicRequest(mimic.get("joint"), ratio, offset, mimic)
    return found
