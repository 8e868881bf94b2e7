"""Links and joints of a model out of the bodies of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...lie import SE3
from ...model import Body, Fixed, Free, Joint, Link, Passive
from ...model.surface import Surface
from ..diagnostics import Located, Reader
from ..safe_xml import Element
from .bodies import BodyPart
from .geometry import Geom
from .shapes import link_of

WORLD = "world"
_SE3 = SE3()
_RANK_TOLERANCE = 1e-9  # relative; two axes closer than this are one


class Naming:
    """Names for what has none: ``body3`` and ``joint2`` by MuJoCo's own numbers, and no name twice."""

    def __init__(self, bodies: Sequence[BodyPart]) -> None:
        joints = [e for b in bodies[1:] for e in ([b.free] if b.free is not None else [j.element for j in b.joints])]
        self.links = {WORLD, *(b.element.get("name") for b in bodies[1:])}
        self._joints = {e.get("name") for e in joints}
        self.bodies = [WORLD]
        for i, body in enumerate(bodies[1:], start=1):
            self.bodies.append(body.element.get("name") or fresh(f"body{i}", self.links))
        self._of = {id(e): e.get("name") or fresh(f"joint{i}", self._joints) for i, e in enumerate(joints)}

    def joint(self, element: Element) -> str:
        """The name of a joint."""
        return self._of[id(element)]

    def weld(self, body: int) -> str:
        """A name for the joint of a body without joints."""
        return fresh(f"{self.bodies[body]}/fixed", self._joints)

    def between(self, body: int, joint: str) -> str:
        """A name for the massless link that the next joint of the same body hangs on."""
        return fresh(f"{self.bodies[body]}/{joint}", self.links)


def fresh(name: str, taken: set[str]) -> str:
    """``name``, or with underscores until nothing else has it; from then on taken.

    Example:
        >>> fresh("body1", {"body1"})
        'body1_'
    """
    while name in taken:
        name += "_"
    taken.add(name)
    return name


@dataclass
class Pieces:
    """Parts that were made so far, with the place of each in the file."""

    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    link_places: dict[str, Located | None] = field(default_factory=dict)
    joint_places: dict[str, Located | None] = field(default_factory=dict)
    virtual: set[str] = field(default_factory=set)
    geoms: dict[str, Sequence[Geom]] = field(default_factory=dict)
    """geoms by link"""

    def link(self, link: Link, place: Located | None) -> None:
        """Add a link."""
        self.links.append(link)
        self.link_places[link.name] = place

    def joint(self, joint: Joint, place: Located | None) -> None:
        """Add a joint."""
        self.joints.append(joint)
        self.joint_places[joint.name] = place


def make_pieces(
    bodies: Sequence[BodyPart],
    masses: Sequence[Body],
    base: int,
    kept: Sequence[bool],
    surface: Callable[[Geom], Surface | None],
    reader: Reader,
) -> Pieces:
    """Links and joints in MuJoCo's order, from the base on, with the surface of each geom."""
    naming, pieces = Naming(bodies), Pieces()
    for i, body in enumerate(bodies):
        if not kept[i]:
            continue
        surfaces = [surface(geom) for geom in body.geoms]
        pieces.link(link_of(naming.bodies[i], masses[i], body.geoms, surfaces), body.element)
        pieces.geoms[naming.bodies[i]] = body.geoms
        if i == base:
            if body.free_damping:
                reader.warn(body.free, 'the damping of a free base is not read; with root="world" it is')
            continue
        if body.free is not None:  # beside others: its coordinates are its pose in the world
            passive = Passive(damping=body.free_damping)
            pieces.joint(Joint(naming.joint(body.free), Free(), WORLD, naming.bodies[i], passive=passive), body.free)
        elif body.joints:
            _chain(i, body, naming, pieces, reader)
        else:
            joint = Joint(naming.weld(i), Fixed(), naming.bodies[body.parent], naming.bodies[i], body.H)
            pieces.joint(joint, body.element)
    return pieces


def _chain(i: int, body: BodyPart, naming: Naming, pieces: Pieces, reader: Reader) -> None:
    """The joints of one body, one after the other, with massless links between them.

    MuJoCo moves a body by ``H B1 T1(q1) A1 B2 T2(q2) A2 ...``; a link between two joints stands where ``T`` ends, so
    only the last joint needs an offset ``A``.
    """
    parent, placement = naming.bodies[body.parent], body.H
    made: list[Joint] = []
    for part in body.joints:
        name, last = naming.joint(part.element), part is body.joints[-1]
        child = naming.bodies[i] if last else naming.between(i, name)
        offset = part.after if last else np.eye(4)
        place = placement @ part.before
        drive = (part.limits, part.armature, part.passive)
        made.append(Joint(name, part.kind, parent, child, place, offset, *drive))
        pieces.joint(made[-1], part.element)
        if not last:
            pieces.link(Link(child), part.element)
            pieces.virtual.add(child)
        parent, placement = child, part.after
    if len(made) > 1 and _redundant(made):
        rule = "the joints of the body move it the same way twice: its mass matrix would be singular"
        reader.fail(body.element, rule, "remove a joint, or give it an armature")


def _redundant(joints: Sequence[Joint]) -> bool:
    """True if the twists of the joints of one body depend on each other, wherever the body is.

    ``M = S' I S + A`` is singular where ``S x = 0`` and ``A x = 0``: joints with an armature may repeat others.
    """
    rng, H = np.random.default_rng(0), np.eye(4)
    columns = []
    for joint in reversed(joints):
        q = joint.kind.group.random_coordinates(rng)
        columns.append(_SE3.Ad(_SE3.inverse(H)) @ joint.motion_subspace(q))
        H = joint.transform(q) @ H if joint is not joints[0] else H
    S = np.concatenate(columns, axis=1)[:, np.concatenate([joint.armature for joint in reversed(joints)]) == 0.0]
    if not S.size:
        return False
    reach = max(float(np.abs(S[:3]).max()), 1e-300)
    S = np.concatenate([S[:3] / reach, S[3:]])  # one length for metres and radians
    return bool(np.linalg.matrix_rank(S, tol=_RANK_TOLERANCE * np.linalg.norm(S)) < S.shape[1])
