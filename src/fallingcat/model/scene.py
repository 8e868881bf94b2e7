"""Scenes: several robots and objects as one model, and objects of a simple shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, describe, nearest_name_hint
from ..lie import SE3, Trivial
from ..lie.rotations import homogeneous
from .body import Body, frozen_array, frozen_pose
from .joint import Joint
from .joints import Fixed, Free
from .keyframes import START, Keyframe
from .link import Frame, Link
from .model import Model
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere

WORLD = "world"
"""Name of the base link of a scene."""


def rigid_object(shape: Shape, mass: float | None = None, name: str = "object") -> Model:
    """An object of one shape and uniform density.

    Args:
        shape: Box, sphere, capsule, cylinder or ellipsoid; drawn, and touched by others.
        mass: kg; None: it does not move, as a table or a wall.
        name: Of the model.

    Returns:
        Model with one link ``body``, on a free or a fixed base.

    Example:
        >>> rigid_object(Box((1.0, 2.0, 3.0)), mass=12.0).links[0].body.inertia.diagonal()
        array([13., 10.,  5.])
    """
    if not isinstance(shape, Shape):
        raise ModelError(f"an object has a shape of fallingcat.model.shapes, not {describe(shape)}")
    body = Body() if mass is None else Body(mass, np.zeros(3), mass * np.diag(gyration(shape))).moved(shape.placement)
    link = Link("body", body, (shape,), (shape,))
    return Model(name, Trivial() if mass is None else SE3(), (link,))


@singledispatch
def gyration(shape: Shape) -> np.ndarray:
    """``3`` (m^2): moments of inertia about the axes of a solid shape, for a mass of 1 kg."""
    raise ModelError(f"the inertia of a {shape.kind} is not known: make a Link with a Body")


@gyration.register
def _(shape: Box) -> np.ndarray:
    squares = np.square(shape.size)
    return (squares.sum() - squares) / 12.0


@gyration.register
def _(shape: Sphere) -> np.ndarray:
    return np.full(3, 0.4 * shape.radius**2)


@gyration.register
def _(shape: Ellipsoid) -> np.ndarray:
    squares = np.square(shape.radii)
    return (squares.sum() - squares) / 5.0


@gyration.register
def _(shape: Cylinder) -> np.ndarray:
    across = (3.0 * shape.radius**2 + shape.length**2) / 12.0
    return np.array([across, across, 0.5 * shape.radius**2])


@gyration.register
def _(shape: Capsule) -> np.ndarray:
    r, h = shape.radius, shape.length
    rod, ends = h, 4.0 / 3.0 * r  # volumes, over pi r^2
    across = rod * (3.0 * r**2 + h**2) / 12.0 + ends * (0.4 * r**2 + 0.25 * h**2 + 0.375 * h * r)
    return np.array([across, across, 0.5 * rod * r**2 + 0.4 * ends * r**2]) / (rod + ends)


def combine(
    parts: Mapping[str, Model], placements: Mapping[str, Any] | None = None, name: str = "scene", gravity: Any = None
) -> Model:
    """Several robots and objects in one world, as one model on a fixed base.

    The base link of each part takes the name of the part; all its other links, joints, frames, actuators and keyframes
    are called ``PART/NAME``.  What floats hangs on a free joint with the name of the part, whose coordinates are its
    pose in the world, ``[x, y, z, quaternion xyzw]``; ``placements`` says where it starts, and where fixed parts stand.

    Args:
        parts: Robots and objects by name.
        placements: Poses (4 x 4) in the world, or positions (3); left out, where parts start themselves.
        name: Of the scene.
        gravity: ``3`` (m/s^2); None: that of the first part.

    Returns:
        Model whose base link is ``world``.

    Example:
        >>> from fallingcat.model import robots
        >>> cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=0.5)
        >>> scene = combine({"arm": robots.planar_arm(), "cube": cube})
        >>> scene.joint_names
        ('arm/joint1', 'arm/joint2', 'arm/joint3', 'cube')
        >>> scene.state(joints={"cube": [0.3, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]}).joints[3:6]
        array([0.3 , 0.  , 0.05])
        >>> combine({"left": cube, "right": cube}, {"right": [0.3, 0.0, 0.0]}).neutral().joints[7:10]
        array([0.3, 0. , 0. ])
    """
    _check(parts, placements)
    pieces = [_Names(key, part).piece(placements or {}) for key, part in parts.items()]

    def joined(field: str) -> tuple[Any, ...]:
        return tuple(each for piece in pieces for each in getattr(piece, field))

    starts = {joint: value for piece in pieces for joint, value in piece.start.items()}
    all_driven = all(part.driven is None for part in parts.values())
    return Model(
        name,
        Trivial(),
        (Link(WORLD), *joined("links")),
        joined("joints"),
        next(iter(parts.values())).gravity if gravity is None else gravity,
        joined("frames"),
        actuators=joined("actuators"),
        driven=None if all_driven else joined("driven"),
        contact_exclusions=joined("contact_exclusions"),
        start=Keyframe(START, None, starts) if starts else None,
        named_states=joined("named_states"),
        force_elements=joined("force_elements"),
        tendons=joined("tendons"),
        ground=next((part.ground for part in parts.values() if part.ground is not None), None),
    )


def _placement(given: Any, key: str) -> np.ndarray:
    """Pose of a part; a position alone turns nothing."""
    if np.shape(given) != (3,):
        return frozen_pose(given, f"placement of {key!r}")
    return homogeneous(np.eye(3), frozen_array(given, (3,), f"placement of {key!r}"))


class _Piece(NamedTuple):
    """A part with its names in the scene: fields of :class:`Model`, and the coordinates at which its joints start."""

    links: list[Link]
    joints: list[Joint]
    frames: list[Frame]
    actuators: list[Any]
    driven: list[Any]
    contact_exclusions: list[tuple[str, str]]
    start: Mapping[str, Any]
    named_states: list[Keyframe]
    force_elements: list[Any]
    tendons: list[Any]


class _Names:
    """Names of a part within a scene."""

    def __init__(self, key: str, part: Model) -> None:
        self._key, self._part = key, part
        self.joints = {joint.name: self.other(joint.name) for joint in part.joints}
        self.places = {name: self.link(name) for name in part.link_names} | {
            frame.name: self.other(frame.name) for frame in part.frames
        }
        self.tendons = {tendon.name: self.other(tendon.name) for tendon in part.tendons}

    def piece(self, placements: Mapping[str, Any]) -> _Piece:
        """The part on a joint that carries it: a free one where it floats."""
        part, key = self._part, self._key
        free = isinstance(part.base, SE3)
        start, carrier = part.start or Keyframe(START), key if free else None
        if key in placements:
            start = replace(start, pose=_placement(placements[key], key))
        H = np.eye(4) if free or start.pose is None else start.pose
        return _Piece(
            [replace(link, name=self.link(link.name)) for link in part.links],
            [Joint(key, Free() if free else Fixed(), WORLD, key, H), *map(self.joint, part.joints)],
            [replace(frame, name=self.other(frame.name), link=self.link(frame.link)) for frame in part.frames],
            [each.renamed(self.other(each.name), self.joints, self.places, self.tendons) for each in part.actuators],
            self.drives(),
            [(self.link(a), self.link(b)) for a, b in part.contact_exclusions],
            start.with_prefix(key, carrier).joints,
            [each.with_prefix(key, carrier) for each in part.named_states],
            [each.renamed(self.other(each.name), self.places) for each in part.force_elements],
            [each.renamed(self.tendons[each.name], self.joints, self.places) for each in part.tendons],
        )

    def link(self, name: str) -> str:
        return self._key if name == self._part.link_names[0] else self.other(name)

    def other(self, name: str) -> str:
        return f"{self._key}/{name}"

    def joint(self, joint: Joint) -> Joint:
        mimic = joint.mimic and replace(joint.mimic, leader=self.other(joint.mimic.leader))
        parent, child = self.link(joint.parent), self.link(joint.child)
        return replace(joint, name=self.other(joint.name), parent=parent, child=child, mimic=mimic)

    def drives(self) -> list[Any]:
        """Drives of the part, or all its joints."""
        given = self._part.joint_names if self._part.driven is None else self._part.driven
        return [self.other(x) if isinstance(x, str) else tuple((self.other(j), f) for j, f in x) for x in given]


def _check(parts: Any, placements: Any) -> None:
    if not isinstance(parts, Mapping) or not parts or not all(isinstance(part, Model) for part in parts.values()):
        raise ModelError(f"parts of a scene are models by name, {{'arm': arm, 'cube': cube}}, not {describe(parts)}")
    for key, part in parts.items():
        if not isinstance(key, str) or not key or key == WORLD:
            raise ModelError(f"the name of a part of a scene is a text other than {WORLD!r}, not {describe(key)}")
        if not isinstance(part.base, SE3 | Trivial):
            raise ModelError(f"a part of a scene is free or fixed; the base of {key!r} is {part.base}")
        if part.loops:
            raise ModelError(
                f"{key!r} has loops: combine its open tree, part.open_loops(), and close them in the scene"
            )
    for key in placements or {}:
        if key not in parts:
            raise ModelError(
                f"placements are of parts of the scene, and {key!r} is none{nearest_name_hint(key, parts)}"
            )
