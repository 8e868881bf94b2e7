"""A model as a TOML document; the short forms are used wherever they give back the very same numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, Final

import numpy as np

from ...errors import ModelError, NumericsError
from ...lie import Group
from ...lie.charts import EulerZYX
from ...model import Actuator, Body, Frame, Joint, JointKind, Limits, Link, Loop, Model, Reversed, Shape
from ...model.joints import KINDS
from ...model.keyframes import Keyframe
from ...model.loops import KINDS as LOOPS
from ...model.shapes import Mesh
from ...model.surface import Surface
from ..base_names import BASES
from ..diagnostics import Reader
from ..names import Names
from ..uris import seen_from
from .force_tables import actuator_extras, element_table, tendon_table
from .parts import OWN, part_table
from .tables import JointTable
from .values import rotation_from_rpy, turned

_BARE_KEY: Final = re.compile("[A-Za-z0-9_-]+")
RESERVED: Final = set(JointTable.model_fields) - {"axis", "axis2", "pitch", OWN}
"""Keys of the table of every joint."""


def document(model: Model, path: str | os.PathLike[str]) -> str:
    """The text of the file; ``path`` is only for messages.

    Example:
        >>> from fallingcat.lie import SE2
        >>> print(document(Model("disc", SE2(), (Link("disc", Body(1.0)),), gravity=(0.0, -9.81, 0.0)), "disc.toml"))
        name = "disc"
        base = "planar"
        gravity = [0.0, -9.81, 0.0]
        <BLANKLINE>
        [[link]]
        name = "disc"
        mass = 1.0
        <BLANKLINE>
    """
    _check_names(model, path)
    head = {"name": model.name, "base": _base(model.base), "gravity": model.gravity}
    head |= {} if model.driven is None else {"driven": model.driven}
    head |= {"contact_exclusions": model.contact_exclusions} if model.contact_exclusions else {}
    head |= {} if model.ground is None else {"ground": _surface(model.ground)}
    head |= {} if model.start is None else {"start": _keyframe(model.start)}
    tables = ["\n".join(_lines(head))]
    tables += [_table("link", _link(link, path)) for link in model.links]
    tables += [_table("joint", _joint(joint)) for joint in model.joints]
    tables += [_table("frame", _frame(frame)) for frame in model.frames]
    tables += [_table("tendon", tendon_table(tendon, _placement_fields)) for tendon in model.tendons]
    tables += [_table("force_element", element_table(element)) for element in model.force_elements]
    tables += [_table("actuator", _actuator(actuator)) for actuator in model.actuators]
    tables += [_table("loop", _loop(loop)) for loop in model.loops]
    tables += [_table("keyframe", {"name": each.name, **_keyframe(each)}) for each in model.named_states]
    return "\n\n".join(tables) + "\n"


# the parts of a model as nested dictionaries ------------------------------------------------------------------------


def _base(group: Group) -> Any:
    for name, kind in BASES.items():
        if type(group) is kind:
            numbers = {key: getattr(group, key) for key in kind.__dataclass_fields__}  # type: ignore[attr-defined]
            return {"group": name, **numbers} if numbers else name
    raise ModelError(f"the base group {group} cannot be written to a file")


def _link(link: Link, path: str | os.PathLike[str]) -> dict[str, Any]:
    body: Body = link.body
    table: dict[str, Any] = {"name": link.name}
    if body.mass or body.center.any() or body.inertia.any():
        table["mass"] = body.mass
    if body.center.any():
        table["center"] = body.center
    if body.inertia.any():
        diagonal = np.diagonal(body.inertia)
        table["inertia"] = diagonal if np.array_equal(np.diag(diagonal), body.inertia) else body.inertia
    for key, shapes in {"visual": link.visuals, "collision": link.collisions}.items():
        if shapes:
            table[key] = [_shape(shape, path) for shape in shapes]
    return table


def _shape(shape: Shape, path: str | os.PathLike[str]) -> dict[str, Any]:
    table: dict[str, Any] = {"type": shape.kind, **{key: getattr(shape, key) for key in shape.sizes}}
    if isinstance(shape, Mesh):
        table |= {"path": seen_from(path, shape), "scale": shape.scale}
    table |= _placement_fields(shape.placement, f"placement of a {shape.kind}")
    table |= {} if shape.color is None else {"color": shape.color}
    return table if shape.surface is None else table | {"surface": _surface(shape.surface)}


def _surface(surface: Surface) -> dict[str, Any]:
    """Entries that differ from the defaults."""
    table = {
        each.name: getattr(surface, each.name)
        for each in fields(surface)
        if each.name != "pairs" and getattr(surface, each.name) != each.default
    }
    pairs = {name: _surface(other) for name, other in surface.pairs}
    return table | ({"pairs": pairs} if pairs else {})


def _joint(joint: Joint) -> dict[str, Any]:
    kind, turned_around = _without_reversal(joint.kind)
    name = next((name for name, known in KINDS.items() if type(kind) is known), None)
    if name is None:
        known = "make it known with fc.joints.KINDS.add(name, kind)"
        raise ModelError(f"joint {joint.name!r} is of a kind that no file knows, {type(kind).__name__}: {known}")
    table: dict[str, Any] = {"name": joint.name, "type": name, "parent": joint.parent, "child": joint.child}
    table |= part_table(kind, RESERVED)
    if turned_around:
        table["reversed"] = True
    table |= _placement_fields(joint.placement, f"placement of joint {joint.name!r}")
    if offset := _placement_fields(joint.offset, f"offset of joint {joint.name!r}"):
        table["offset"] = offset
    unlimited = Limits()
    limits = {key: x for key, x in vars(joint.limits).items() if x != getattr(unlimited, key)}
    if not np.isfinite(list(limits.values())).all():
        raise ModelError(f"a limit of joint {joint.name!r} is infinite on the wrong side")
    if limits:
        table["limits"] = limits
    if joint.armature.any():
        table["armature"] = joint.armature if len(joint.armature) > 1 else joint.armature[0]
    if joint.mimic is not None:
        table["mimic"] = {"joint": joint.mimic.leader, "ratio": joint.mimic.ratio, "offset": joint.mimic.offset}
    if passive := {key: x for key, x in vars(joint.passive).items() if x}:
        table["passive"] = passive
    return table


def _actuator(actuator: Actuator) -> dict[str, Any]:
    table: dict[str, Any] = {key: x for key in ("name", "joint") if (x := getattr(actuator, key))}
    table |= {"type": actuator.kind, "gear": actuator.gear}
    table |= {key: getattr(actuator, key) for key in ("kp", "kv") if getattr(actuator, key)}
    if actuator.kind == "general":
        table |= {"gain": actuator.gain, "bias": actuator.bias}
    for key in ("control_range", "force_range"):
        ends = getattr(actuator, key)
        if np.isfinite(ends).all():
            table[key] = ends
        elif np.isfinite(ends).any():
            raise ModelError(f"the {key} of actuator {actuator.name!r} is infinite on one side")
    return table | actuator_extras(actuator)


def _loop(loop: Loop) -> dict[str, Any]:
    name = next((name for name, known in LOOPS.items() if type(loop) is known), None)
    if name is None:
        known = "make it known with fallingcat.model.loops.KINDS.add(name, kind)"
        raise ModelError(f"loop {loop.name!r} is of a kind that no file knows, {type(loop).__name__}: {known}")
    table: dict[str, Any] = {"name": loop.name, "type": name}
    for key, value in part_table(loop, {"type"}).items():
        table |= _placement_fields(value, f"placement of loop {loop.name!r}") if key == "placement" else {key: value}
    return table


def _keyframe(given: Keyframe) -> dict[str, Any]:
    table = {} if given.pose is None else {"position": given.pose[:3, 3]}
    table |= {} if given.pose is None else _placement_fields(given.pose, f"pose of keyframe {given.name!r}")
    table |= {} if given.twist is None else {"twist": given.twist}
    return table | {key: x for key in ("joints", "rates") if (x := getattr(given, key))}


def _without_reversal(kind: JointKind) -> tuple[JointKind, bool]:
    """The kind without :class:`Reversed` around it, and whether it was turned around (twice is not at all)."""
    around = False
    while isinstance(kind, Reversed):
        kind, around = kind.kind, not around
    return kind, around


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "name": frame.name,
        "link": frame.link,
        **_placement_fields(frame.placement, f"placement of frame {frame.name!r}"),
    }


def _placement_fields(H: np.ndarray, what: str) -> dict[str, Any]:
    """Position and rotation, each left out where it is none; the rotation as angles if those give the same matrix."""
    if not np.array_equal(H[3], [0.0, 0.0, 0.0, 1.0]):
        raise ModelError(f"the {what} has the last row {H[3].tolist()}, not 0, 0, 0, 1")
    R, table = H[:3, :3], dict[str, Any]()
    if H[:3, 3].any():
        table["position"] = H[:3, 3]
    if np.array_equal(R, np.eye(3)):
        return table
    try:
        yaw, pitch, roll = (float(angle) for angle in EulerZYX().from_matrix(R))
    except NumericsError:  # a matrix of few digits, which the model holds as it is
        return table | {"rotation": R}
    if np.array_equal(turned(yaw), R):
        return table | {"angle": yaw}
    if np.array_equal(rotation_from_rpy((roll, pitch, yaw)), R):
        return table | {"rpy": [roll, pitch, yaw]}
    return table | {"rotation": R}


def _check_names(model: Model, path: str | os.PathLike[str]) -> None:
    """Refuse to write what cannot be read back."""
    reader = Reader(path)
    for each in model.named_states:
        each.state(model)  # an error where it is none of this robot
    for kind in ("link", "joint", "frame", "actuator", "loop", "tendon", "force_element"):
        names = Names(kind, reader)
        for thing in getattr(model, f"{kind}s"):
            names.add(thing.name, None)


# dictionaries to text -----------------------------------------------------------------------------------------------


def _table(header: str, table: dict[str, Any]) -> str:
    return "\n".join([f"[[{header}]]", *_lines(table)])


def _lines(table: dict[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield f"{key if _BARE_KEY.fullmatch(key) else _string(key)} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(_lines(value)) + " }"
    if isinstance(value, Iterable):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(float(value))  # the shortest text that gives the same float back


def _string(text: str) -> str:
    """A basic string: quotes, backslashes and whatever does not print are escaped."""
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else _escape(c) for c in text) + '"'


def _escape(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
