"""A model as MJCF, the format of MuJoCo: everything that the reader reads.

Bodies stand where their links stand with all coordinates at zero; axes and anchors of joints are seen from there.  A
chain of joints with massless links between is one body with several joints, as it was read.  Masses are those of the
links alone (geoms weigh nothing).  Joints that mimic others are coupled to them by an ``<equality>``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.etree import ElementTree as ET

import numpy as np

from ...errors import ModelError
from ...lie import SE3, SO3, Trivial
from ...lie.rotations import homogeneous
from ...model import Body, Frame, Free, Joint, Link, Model, Prismatic, Revolute, Surface
from ...model.joints.axial import Axial
from ..diagnostics import FileWarning
from ..files import write_text
from ..numbers import shortest_text
from .parts import WORLD
from .written_forces import Forces, pose_attributes
from .written_geoms import Geoms
from .written_sections import contacts, drawn_poses, equalities, keyframes, start_pose

_KINDS: Final = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball", "free": "free"}
_SE3, _SO3 = SE3(), SO3()
OPEN_END: Final = 1e9
"""End of a range that is open on one side (rad, m, N m): MJCF has two ends or none."""


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to an MJCF file."""
    text, notes = document(model, path)
    write_text(path, text)
    if notes:
        warnings.warn(FileWarning("\n".join(f"{os.fspath(path)}: {note}" for note in notes)), stacklevel=3)


def document(model: Model, path: str | os.PathLike[str] = "robot.xml") -> tuple[str, list[str]]:
    """The text of the file, and what it does not hold; ``path`` is where addresses of meshes begin.

    Example:
        >>> from fallingcat.model import robots
        >>> print(document(robots.free_body())[0])  # doctest: +ELLIPSIS
        <mujoco model="free_body">
          <compiler angle="radian" />
          <option gravity="0.0 0.0 -9.81" />
          <default>
            <geom mass="0" />
          </default>
          <worldbody>
            <body name="...">
              <freejoint />
        ...
    """
    root = ET.Element("mujoco", model=model.name)
    ET.SubElement(root, "compiler", angle="radian")
    ET.SubElement(root, "option", gravity=shortest_text(model.gravity))
    ET.SubElement(ET.SubElement(root, "default"), "geom", mass="0")
    writer = _Writer(model, Geoms(path))
    world = ET.Element("worldbody")
    writer.base(world)
    writer.geoms.assets(root)
    root.append(world)
    equalities(root, model)
    contacts(root, model, writer.folded)
    forces = Forces(root, model)
    forces.write()
    notes = [*writer.notes, *writer.geoms.notes, *forces.notes, *keyframes(root, model)]
    if model.ground is not None and model.ground != Surface():
        notes.append("the surface of the ground is not written to MJCF: give a plane its friction and margin")
    if model.driven is not None:
        notes.append("MJCF does not say what is driven beside actuators: left out")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n", list(dict.fromkeys(notes))


def _not_writable(reason: str) -> ModelError:
    return ModelError(f"{reason}: save the model as .toml, which can say everything")


@dataclass
class _Writer:
    """Elements of the bodies of a model."""

    model: Model
    geoms: Geoms
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.below: dict[str, list[Joint]] = {name: [] for name in self.model.link_names}
        for joint in self.model.joints:
            self.below[joint.parent].append(joint)
        self.frames: dict[str, list[Frame]] = {name: [] for name in self.model.link_names}
        for frame in self.model.frames:
            self.frames[frame.link].append(frame)
        self.links = {link.name: link for link in self.model.links}
        self.drawn = drawn_poses(self.model)
        used = {place for loop in self.model.loops for place in loop.places}
        self.folded = {
            name for name in self.model.link_names[1:] if name not in used and self._is_intermediate_link(name)
        }

    def _is_intermediate_link(self, name: str) -> bool:
        """True for a massless link between two joints that carries nothing else: both joints are of one body."""
        link, below = self.links[name], self.below[name]
        bare = not (link.body.mass or link.body.inertia.any() or link.visuals or link.collisions or self.frames[name])
        return bare and len(below) == 1 and below[0].kind.nv > 0

    def base(self, world: ET.Element) -> None:
        """The base link, free in the world or fixed to it, with everything that it carries."""
        model, link = self.model, self.model.links[0]
        if type(model.base) is SE3:
            body = _body(world, link.name, start_pose(model))
            ET.SubElement(body, "freejoint")
            self._check_mass([link.name])
            self._fill(body, link)
        elif not isinstance(model.base, Trivial):
            raise _not_writable(f"the base of {model.name!r} moves in {model.base}, and MJCF has free and fixed bases")
        elif link.name == WORLD:
            self._world(world, link)
        else:
            self._fill(_body(world, link.name, np.eye(4)), link)

    def _world(self, world: ET.Element, link: Link) -> None:
        """The world as the base link; its mass, which MuJoCo's has not, is that of a body at its first frame."""
        sites = self.frames[WORLD]
        if link.body.mass:
            frame = sites[0] if sites else Frame("world/static", WORLD)
            body = _body(world, frame.name, frame.placement)
            _inertial(body, link.body.moved(_SE3.inverse(frame.placement)))
            self.frames[WORLD] = sites[1:]
        self._fill(world, Link(WORLD, Body(), link.visuals, link.collisions))

    def _fill(self, body: ET.Element, link: Link) -> None:
        """Mass, shapes and frames of a link, and what hangs on it (not recursive: chains may be long)."""
        stack = [(body, link)]
        while stack:
            element, link = stack.pop()
            _inertial(element, link.body)
            self.geoms.write(element, link)
            for frame in self.frames[link.name]:
                ET.SubElement(element, "site", {"name": frame.name} | pose_attributes(frame.placement))
            made = [self._child_body(element, joint) for joint in self.below[link.name]]
            stack.extend(reversed(made))

    def _child_body(self, parent: ET.Element, joint: Joint) -> tuple[ET.Element, Link]:
        """The body that hangs on a joint, or on the chain of joints that begins there."""
        chain = [joint]
        while chain[-1].child in self.folded:
            chain += self.below[chain[-1].child]
        last = chain[-1].child
        H = np.eye(4)
        seen = []  # from the body at zero back to where each joint moves
        for one in reversed(chain):
            seen.append(one.offset @ H)
            H = one.placement @ seen[-1]
        body = _body(parent, last, self.drawn.get(joint.name, H))
        for one, D in zip(chain, reversed(seen), strict=True):
            if one.kind.nv:
                self._joint(body, one, D)
        if any(one.kind.nv for one in chain):
            self._check_mass([last])
        return body, self.links[last]

    def _joint(self, body: ET.Element, joint: Joint, D: np.ndarray) -> None:
        """A joint in the axes of its body: ``H(q) = H(0) D^-1 exp(q) D``."""
        kind = _KINDS.get(joint.kind.name)
        if kind is None:
            raise _not_writable(f"joint {joint.name!r} is of the kind {joint.kind.name!r}, which MJCF does not have")
        inverse = _SE3.inverse(D)
        given = {"name": joint.name, "type": kind}
        if isinstance(joint.kind, Axial):
            given["axis"] = shortest_text(inverse[:3, :3] @ np.array(joint.kind.axis))
        elif not np.array_equal(D[:3, :3], np.eye(3)) or (isinstance(joint.kind, Free) and _needs_own_frame(joint, D)):
            raise _not_writable(
                f"joint {joint.name!r} has an offset on the side of its child, which MJCF does not have"
            )
        if not isinstance(joint.kind, (Prismatic, Free)) and inverse[:3, 3].any():
            given["pos"] = shortest_text(inverse[:3, 3])
        ET.SubElement(body, "joint", given | self._limits(joint) | _passive(joint))

    def _limits(self, joint: Joint) -> dict[str, str]:
        limits, given = joint.limits, {}
        if np.isfinite(limits.velocity):
            self.notes.append("MJCF has no limits of speed: those of joints are left out")
        ends = np.clip([limits.lower, limits.upper], -OPEN_END, OPEN_END)
        if np.isfinite([limits.lower, limits.upper]).any():
            given["range"] = shortest_text(ends)
        elif isinstance(joint.kind, Revolute) and joint.kind.name == "revolute":
            self.notes.append("a hinge without end stops has no type of its own in MJCF: it is read as continuous")
        if np.isfinite(limits.effort):
            given["actuatorfrcrange"] = shortest_text([-limits.effort, limits.effort])
        return given

    def _check_mass(self, names: Sequence[str]) -> None:
        """An error where MuJoCo would refuse a body that moves, with what is fixed to it."""
        whole = list(names)
        for name in whole:
            whole += [joint.child for joint in self.below[name] if not joint.kind.nv]
        if not any(self.links[name].body.mass and self.links[name].body.inertia.any() for name in whole):
            raise _not_writable(f"link {names[0]!r} moves and has no mass or inertia, which MuJoCo refuses")


def _needs_own_frame(joint: Joint, D: np.ndarray) -> bool:
    return joint.parent != WORLD or not (np.array_equal(D, np.eye(4)) and np.array_equal(joint.placement, np.eye(4)))


def _passive(joint: Joint) -> dict[str, str]:
    """Armature, springs, dampers, dry friction; what is zero is left out."""
    rotor = set(joint.armature.tolist())
    if len(rotor) > 1:
        raise _not_writable(
            f"joint {joint.name!r} has an armature that differs between its axes, which MJCF does not have"
        )
    passive = joint.passive
    numbers = {
        "armature": rotor.pop() if rotor else 0.0,
        "damping": passive.damping,
        "frictionloss": passive.friction,
        "stiffness": passive.stiffness,
        "springref": passive.rest,
    }
    return {name: shortest_text([x]) for name, x in numbers.items() if x}


def _body(parent: ET.Element, name: str, H: np.ndarray) -> ET.Element:
    return ET.SubElement(parent, "body", {"name": name} | pose_attributes(H))


def _inertial(element: ET.Element, body: Body) -> None:
    """Mass, center, principal moments and axes: MuJoCo would find those of a full matrix to eight digits only."""
    if not body.mass:
        return
    inertia = 0.5 * (body.inertia + body.inertia.T)
    moments, axes = np.diag(inertia), np.eye(3)
    if (inertia - np.diag(moments)).any():
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 0] *= np.sign(np.linalg.det(axes))
    pose = {"pos": shortest_text(body.center), **pose_attributes(homogeneous(axes, body.center))}
    ET.SubElement(
        element, "inertial", pose | {"mass": shortest_text([body.mass]), "diaginertia": shortest_text(moments)}
    )
