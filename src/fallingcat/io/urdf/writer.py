"""A model as URDF, for those who read nothing else.

URDF has hinges, sliders, floating and planar joints, and a base that is free or fixed as its reader likes.  What a
model says beyond that and the tree does not need (gravity, gains of actuators, armature, springs, ellipsoids) is left
out, with a warning; a joint or a base that URDF cannot express is refused by name: TOML says everything.  Frames become
massless links on fixed joints, as which they come back.  A hinge without end stops is a ``revolute`` joint whose
``<limit>`` has no ``lower``, ``upper``; an effort or a velocity without limit is 1e308, because other readers want a
number.

Numbers survive to the last digit, except rotations: URDF knows only roll, pitch and yaw, which give the matrix back to
1e-15 (also at a pitch of 90 degrees, where they are not unique).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import quoteattr

import numpy as np

from ...errors import ModelError
from ...lie import SE3, Trivial
from ...lie.charts import EulerZYX
from ...model import (
    Body,
    Continuous,
    Fixed,
    Frame,
    Free,
    Joint,
    Limits,
    Link,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Shape,
    Spherical,
)
from ...model.actuator import Actuator
from ...model.joints.axial import Axial
from ...model.shapes import Capsule, Mesh
from ..diagnostics import FileWarning, Reader
from ..files import write_text
from ..limits import UNLIMITED
from ..names import Names, check_name
from ..numbers import shortest_text
from ..uris import seen_from
from .expressible import expressible
from .reader import _z_to

TYPES: Final = {
    Revolute: "revolute",
    Continuous: "continuous",
    Prismatic: "prismatic",
    Fixed: "fixed",
    Free: "floating",
    Planar: "planar",
    Spherical: "spherical",
}
_ROUNDING: Final = 1e-15


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model to a URDF file."""
    notes: list[str] = []
    write_text(path, document(model, path, notes))
    if notes:
        lines = (f"{os.fspath(path)}: {note}" for note in dict.fromkeys(notes))
        warnings.warn(FileWarning("\n".join(lines)), stacklevel=3)


def document(model: Model, path: str | os.PathLike[str] = "robot.urdf", notes: list[str] | None = None) -> str:
    """The text of the file; ``path`` is only for messages, ``notes`` get what it leaves out.

    Example:
        >>> from fallingcat.model import Link
        >>> arm = Joint("elbow", Revolute((0.0, 1.0, 0.0)), "upper", "lower")
        >>> print(document(Model("arm", SE3(), (Link("upper"), Link("lower")), (arm,))))
        <?xml version="1.0" encoding="utf-8"?>
        <robot name="arm">
          <link name="upper"/>
          <link name="lower"/>
          <joint name="elbow" type="revolute">
            <parent link="upper"/>
            <child link="lower"/>
            <axis xyz="0.0 1.0 0.0"/>
            <limit effort="1e+308" velocity="1e+308"/>
          </joint>
        </robot>
        <BLANKLINE>
    """
    actuators = model.actuators
    model = expressible(model, [] if notes is None else notes)
    _check(model, path)
    shapes = [shape for link in model.links for shape in (*link.visuals, *link.collisions)]
    version = ' version="1.1"' if any(isinstance(shape, Capsule) for shape in shapes) else ""  # the first with capsules
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot name={quoteattr(model.name)}{version}>"]
    for link in model.links:
        lines += _link(link, path)
    for frame in model.frames:
        lines += _link(Link(frame.name), path)
    taken = {joint.name for joint in model.joints}
    for part in _depth_first(model):
        lines += _joint(part) if isinstance(part, Joint) else _weld(part, taken)
    lines += [line for actuator in actuators if actuator.joint for line in _transmission(actuator)]
    return "\n".join([*lines, "</robot>"]) + "\n"


# what URDF cannot say -----------------------------------------------------------------------------------------------


def _check(model: Model, path: str | os.PathLike[str]) -> None:
    if type(model.base) not in (SE3, Trivial):
        raise _not_writable(f"the base of {model.name!r} moves in {model.base}, and a URDF's base is free or fixed")
    reader = Reader(path)
    check_name(reader, None, "robot", model.name)
    links, joints = Names("link", reader), Names("joint", reader)
    for name in (*model.link_names, *(frame.name for frame in model.frames)):  # frames are links there
        links.add(name, None)
    for joint in model.joints:
        joints.add(joint.name, None)


def _not_writable(reason: str) -> ModelError:
    return ModelError(f"{reason}: save the model as .toml, which can say everything")


# links --------------------------------------------------------------------------------------------------------------


def _link(link: Link, path: str | os.PathLike[str]) -> list[str]:
    inside = [*_inertial(link.body)]
    for tag, shapes in {"visual": link.visuals, "collision": link.collisions}.items():
        for shape in shapes:
            inside += _shape(tag, shape, path)
    name = quoteattr(link.name)
    return [f"  <link name={name}>", *inside, "  </link>"] if inside else [f"  <link name={name}/>"]


def _inertial(body: Body) -> list[str]:
    if not (body.mass or body.inertia.any()):
        return []
    inertia = 0.5 * (body.inertia + body.inertia.T)
    moments = {f"i{'xyz'[i]}{'xyz'[j]}": inertia[i, j] for i in range(3) for j in range(i, 3)}
    return [
        "    <inertial>",
        *([f'      <origin xyz="{shortest_text(body.center)}"/>'] if body.center.any() else []),
        f'      <mass value="{shortest_text([body.mass])}"/>',
        f"      <inertia {_attributes(moments)}/>",
        "    </inertial>",
    ]


def _shape(tag: str, shape: Shape, path: str | os.PathLike[str]) -> list[str]:
    sizes = " ".join(f'{key}="{shortest_text(np.atleast_1d(getattr(shape, key)))}"' for key in shape.sizes)
    if isinstance(shape, Mesh):
        sizes = f'filename={quoteattr(seen_from(path, shape))} scale="{shortest_text(shape.scale)}"'
    rgba = None if shape.color is None else f'<color rgba="{shortest_text(shape.color)}"/>'
    return [
        f"    <{tag}>",
        *(f"  {line}" for line in _origin(shape.placement)),
        f"      <geometry><{shape.kind} {sizes}/></geometry>",
        *([f'      <material name="">{rgba}</material>'] if rgba else []),
        f"    </{tag}>",
    ]


# joints -------------------------------------------------------------------------------------------------------------


def _joint(joint: Joint) -> list[str]:
    kind = TYPES.get(type(joint.kind))
    if kind is None:
        raise _not_writable(f"joint {joint.name!r} is of the kind {joint.kind.name!r}, which URDF does not have")
    origin, axis = joint.placement, None
    if isinstance(joint.kind, Planar):
        origin, axis = _plane(joint)
    elif isinstance(joint.kind, Axial):
        axis = joint.kind.axis
    return [
        f'  <joint name={quoteattr(joint.name)} type="{kind}">',
        *_origin(origin),
        f"    <parent link={quoteattr(joint.parent)}/>",
        f"    <child link={quoteattr(joint.child)}/>",
        *([f'    <axis xyz="{shortest_text(axis)}"/>'] if axis is not None else []),
        *_limit(joint),
        *_dynamics(joint),
        *_mimic(joint),
        "  </joint>",
    ]


def _mimic(joint: Joint) -> list[str]:
    if joint.mimic is None:
        return []
    numbers = {"multiplier": joint.mimic.ratio, "offset": joint.mimic.offset}
    return [f"    <mimic joint={quoteattr(joint.mimic.leader)} {_attributes(numbers)}/>"]


def _plane(joint: Joint) -> tuple[np.ndarray, tuple[float, float, float]]:
    """Origin and normal of a planar joint, ``H = origin T planar(q) T'`` with the T that turns z to the normal.

    URDF does not say where x and y lie in the plane; the reader chooses T, and any other one cannot be written.
    """
    T = joint.offset[:3, :3].T
    x, y, z = (float(a) + 0.0 for a in T[:, 2])
    if joint.offset[:3, 3].any() or np.abs(_z_to((x, y, z)) - T).max() > _ROUNDING:
        raise _not_writable(f"joint {joint.name!r} has an offset on the side of its child, which URDF does not have")
    return joint.placement @ joint.offset, (x, y, z)


def _limit(joint: Joint) -> list[str]:
    limits, kind = joint.limits, joint.kind
    if limits == Limits() and not isinstance(kind, (Revolute, Prismatic)):  # other readers want one for these
        return []
    given = {key: x for key, x in vars(limits).items() if math.isfinite(x)}
    for key in ("effort", "velocity"):  # which the format requires
        given.setdefault(key, UNLIMITED)
    return [f"    <limit {_attributes(given)}/>"]


def _dynamics(joint: Joint) -> list[str]:
    given = {"damping": joint.passive.damping, "friction": joint.passive.friction}
    return [f"    <dynamics {_attributes(given)}/>"] if any(given.values()) else []


def _transmission(actuator: Actuator) -> list[str]:
    """A drive as ``ros_control`` has it: its joint, interface and gear."""
    interface = {"position": "Position", "velocity": "Velocity"}.get(actuator.kind, "Effort")
    return [
        f"  <transmission name={quoteattr(actuator.name)}>",
        "    <type>transmission_interface/SimpleTransmission</type>",
        f"    <joint name={quoteattr(actuator.joint)}>",
        f"      <hardwareInterface>hardware_interface/{interface}JointInterface</hardwareInterface>",
        "    </joint>",
        f"    <actuator name={quoteattr(actuator.name)}>",
        f"      <mechanicalReduction>{shortest_text([actuator.gear])}</mechanicalReduction>",
        "    </actuator>",
        "  </transmission>",
    ]


def _weld(frame: Frame, taken: set[str]) -> list[str]:
    """A frame, as the fixed joint that carries its massless link."""
    name = f"{frame.name}_fixed"
    while name in taken:
        name += "_"
    taken.add(name)
    return _joint(Joint(name, Fixed(), frame.link, frame.name, frame.placement))


def _origin(H: np.ndarray) -> list[str]:
    R, p = H[:3, :3], H[:3, 3]
    parts = [f'xyz="{shortest_text(p)}"'] if p.any() else []
    if not np.array_equal(R, np.eye(3)):
        yaw, pitch, roll = EulerZYX().from_matrix(R)
        parts.append(f'rpy="{shortest_text([roll, pitch, yaw])}"')
    return [f"    <origin {' '.join(parts)}/>"] if parts else []


def _attributes(numbers: dict[str, float]) -> str:
    return " ".join(f'{key}="{shortest_text([x])}"' for key, x in numbers.items())


# order --------------------------------------------------------------------------------------------------------------


@dataclass
class _Branch:
    """A joint with what hangs on its child, and the first frame in there."""

    joint: Joint
    first: float = math.inf


Part = Joint | Frame


def _depth_first(model: Model) -> Iterator[Part]:
    """Joints and frames in the order in which a reader, going depth first, finds the frames in the model's order."""
    branches: dict[str, list[_Branch]] = {name: [] for name in model.link_names}
    own: dict[str, list[tuple[int, Frame]]] = {name: [] for name in model.link_names}
    first = dict.fromkeys(model.link_names, math.inf)
    for i, frame in enumerate(model.frames):
        own[frame.link].append((i, frame))
        first[frame.link] = min(first[frame.link], i)
    for joint in reversed(model.joints):  # children first
        branches[joint.parent].append(_Branch(joint, first[joint.child]))
        first[joint.parent] = min(first[joint.parent], first[joint.child])
    stack: list[Part | str] = [model.links[0].name]
    while stack:
        part = stack.pop()
        if not isinstance(part, str):
            yield part
            if isinstance(part, Joint):
                stack.append(part.child)
            continue
        stack += reversed(_merged(branches[part][::-1], own[part]))


def _merged(branches: list[_Branch], frames: list[tuple[int, Frame]]) -> list[Part | str]:
    """Branches in their order, frames in theirs, each frame before the first branch that holds a later one."""
    parts: list[Part | str] = []
    for branch in branches:
        while frames and frames[0][0] < branch.first < math.inf:
            parts.append(frames.pop(0)[1])
        parts.append(branch.joint)
    return [*parts, *(frame for _, frame in frames)]
