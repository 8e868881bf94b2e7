"""The bodies of a file, one after the other, with what belongs to each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ...lie.rotations import homogeneous
from ...model import Body
from ..limits import MAX_INERTIA, MAX_LINKS, MAX_MASS, MAX_SHAPES
from ..numbers import number, vector
from ..safe_xml import Element
from .files import FilesReader
from .geometry import Geom, read_geom, read_pose
from .ignored import Tally
from .joints import JointPart, free_damping, is_free, read_joint
from .poses import orientation, pose
from .settings import Settings, boolean
from .source import Source

MAX_JOINTS: Final = 6
"""Joints of one body: so many ways it can move."""


@dataclass
class BodyPart:
    """A body as the file has it: where it is in its parent body, its joints, and what it weighs."""

    element: Element
    parent: int
    """Index of the parent body; 0 is the world."""
    H: np.ndarray
    """``4 x 4``: coordinates of the body to coordinates of the parent body, with every joint at its ``ref``."""
    free: Element | None = None
    free_damping: float = 0.0
    joints: list[JointPart] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[tuple[Element, np.ndarray]] = field(default_factory=list)
    """with their poses in the body"""
    gravcomp: float = 0.0
    """part of the weight that is carried"""
    inertial_axes: np.ndarray | None = None
    """``3 x 3``: axes of its ``<inertial>``, in the body"""
    inertial: Body | None = None
    settings: Settings = field(default_factory=Settings)
    moves: bool = False
    """True if a joint lies between the body and the world."""


@dataclass(frozen=True)
class _Scope:
    """Context at a place in the file: the body, the pose of the frame in it, the default class."""

    body: int
    H: np.ndarray
    childclass: str
    source: Source


class Walk:
    """Depth first through all ``<worldbody>``; the first body is the world."""

    def __init__(self, source: Source, attached: Mapping[int, Source], reader: FilesReader, tally: Tally) -> None:
        self.source, self.attached, self.reader, self.tally = source, attached, reader, tally
        self.bodies: list[BodyPart] = []
        self.links, self.shapes = 1, 0

    def through(self, root: Element) -> list[BodyPart]:
        """The bodies in MuJoCo's order: parents first, children as they stand in the file."""
        worlds = root.all("worldbody")
        self.bodies = [BodyPart(worlds[0] if worlds else root, -1, np.eye(4), settings=self.source.settings)]
        top = _Scope(0, np.eye(4), "main", self.source)
        stack = [(child, top) for world in reversed(worlds) for child in reversed(world.children)]
        while stack:
            element, scope = stack.pop()
            inside = self._add_element(element, scope)
            if inside is not None:
                stack.extend((child, inside) for child in reversed(element.children))
        for body in self.bodies[1:]:
            body.moves = body.free is not None or bool(body.joints) or self.bodies[body.parent].moves
        return self.bodies

    def _add_element(self, element: Element, scope: _Scope) -> _Scope | None:
        """Put an element where it belongs; the scope of its children, if they are to be read."""
        body, settings, defaults = self.bodies[scope.body], scope.source.settings, scope.source.defaults
        if element.tag == "body":
            return self._body(element, scope)
        if id(element) in self.attached:
            return _Scope(scope.body, scope.H, "main", self.attached[id(element)])
        if element.tag in ("frame", "geom", "site"):
            self._count_shape(element)
        if element.tag == "frame":
            H = scope.H @ pose(element, settings, self.reader)
            return _Scope(scope.body, H, defaults.named(element, "childclass", scope.childclass), scope.source)
        if element.tag == "geom":
            full = defaults.applied(element, scope.childclass)
            body.geoms.append(read_geom(full, scope.H, scope.source, self.reader))
        elif element.tag == "site":
            full = defaults.applied(element, scope.childclass)
            body.sites.append((element, scope.H @ read_pose(full, settings, self.reader)))
        elif scope.body == 0 and element.tag in ("joint", "freejoint", "inertial"):
            self.reader.fail(element, f"the world has no <{element.tag}>", "put it into a <body>")
        elif element.tag in ("joint", "freejoint"):
            self._joint(element, scope)
        elif element.tag == "inertial":
            if body.inertial is not None:
                self.reader.fail(element, "a body has one <inertial> at most")
            body.inertial = _inertial(element, scope.H, settings, self.reader)
            body.inertial_axes = scope.H[:3, :3] @ orientation(element, settings, self.reader)
        return None

    def _body(self, element: Element, scope: _Scope) -> _Scope:
        H = scope.H @ pose(element, scope.source.settings, self.reader)
        self.bodies.append(BodyPart(element, scope.body, H, settings=scope.source.settings))
        self._count_link(element)
        self.bodies[-1].gravcomp = number(self.reader, element, "gravcomp", default=0.0)
        if boolean(self.reader, element, "mocap", False):
            self.tally.note("a 'mocap' body is read as fixed to the world", element)
        childclass = scope.source.defaults.named(element, "childclass", scope.childclass)
        return _Scope(len(self.bodies) - 1, np.eye(4), childclass, scope.source)

    def _joint(self, element: Element, scope: _Scope) -> None:
        body, source = self.bodies[scope.body], scope.source
        full = source.defaults.applied(element, scope.childclass) if element.tag == "joint" else element
        if body.free is not None or (is_free(full) and body.joints):
            self.reader.fail(element, "a body with a free joint has no other joint")
        if not is_free(full):
            if len(body.joints) == MAX_JOINTS:
                rule = f"a body has {MAX_JOINTS} joints at most: one more moves it the same way twice"
                self.reader.fail(element, rule, "remove a joint")
            if body.joints:
                self._count_link(element)
            body.joints.append(read_joint(full, scope.H, source.settings, self.reader, self.tally))
            return
        if body.parent != 0:
            self.reader.fail(element, "a free joint belongs to a body that stands directly in the world")
        body.free, body.free_damping = element, free_damping(full, self.reader, self.tally)

    def _count_link(self, element: Element) -> None:
        """One for every body, and one between every two joints of it."""
        self.links += 1
        if self.links > MAX_LINKS:
            self.reader.fail(element, f"a robot has at most {MAX_LINKS:,} links")

    def _count_shape(self, element: Element) -> None:
        self.shapes += 1
        if self.shapes > MAX_SHAPES:
            self.reader.fail(element, f"a robot has at most {MAX_SHAPES:,} geoms, sites and frames")


def _inertial(element: Element, H: np.ndarray, settings: Settings, reader: FilesReader) -> Body:
    """An ``<inertial>``, in the frame of its body."""
    mass = number(reader, element, "mass")
    if not 0.0 <= mass <= MAX_MASS:
        reader.fail(element, f"the mass lies between 0 and {MAX_MASS:g} kg", f"is {mass:g}")
    vector(reader, element, "pos", 3)  # MuJoCo requires it
    about_center = np.diag(vector(reader, element, "diaginertia", 3, default=(0.0, 0.0, 0.0)))
    if "fullinertia" in element.attributes:
        others = [name for name in element.attributes if name not in ("mass", "pos", "fullinertia")]
        if others:
            reader.fail(element, f"beside 'fullinertia' there is no {others[0]!r}", "it lies along the body's own axes")
        xx, yy, zz, xy, xz, yz = vector(reader, element, "fullinertia", 6).tolist()
        about_center = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if np.abs(about_center).max() > MAX_INERTIA:
        reader.fail(element, f"the inertia is at most {MAX_INERTIA:g} kg m^2")
    placement = H @ pose(element, settings, reader)
    if np.array_equal(placement[:3, :3], np.eye(3)):  # the file's own digits, not a product of them
        return Body(mass, placement[:3, 3], about_center)
    return Body(mass, np.zeros(3), about_center).moved(homogeneous(placement[:3, :3], placement[:3, 3]))
