"""Joints of a body: how the body moves in its parent, one joint after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...lie.rotations import about, homogeneous
from ...model import Continuous, JointKind, Limits, Passive, Prismatic, Revolute, Spherical
from ..limits import MAX_INERTIA, MAX_LENGTH
from ..numbers import number, vector
from ..safe_xml import Element
from .files import FilesReader
from .ignored import Tally
from .poses import clean, position, unit
from .settings import Settings, choice

_TYPES: Final = ("free", "ball", "slide", "hinge")
_UNIT_TOLERANCE: Final = 1e-6  # what six printed digits of a unit vector can miss
FREE_ROTOR: Final = "the 'armature' of a free joint is not read: no rotor drives it, though MuJoCo adds one"
_SOFT: Final = ("solreflimit", "solimplimit", "solreffriction", "solimpfriction")
_SOFTNESS: Final = (
    "'solreflimit', 'solimplimit', 'solreffriction', 'solimpfriction' and 'margin' of joints and tendons are not read: "
    "limits and dry friction are those that are simulated, at the ends of the range"
)
_NONLINEAR_MESSAGE: Final = "only the linear part of {!r} is read"


@dataclass(frozen=True)
class JointPart:
    """A joint of a body: ``H = before @ kind.transform(q) @ after`` moves the body in its own frame."""

    element: Element
    kind: JointKind
    before: np.ndarray
    after: np.ndarray
    limits: Limits
    armature: float
    passive: Passive
    ref: float = 0.0
    """Coordinate at which the body stands as drawn."""
    springref: float = 0.0
    """Coordinate at which springs of the joint and of tendons are at rest."""
    time_constant: float = 0.0
    """Time constant of a ``springdamper`` (s); 0: there is none."""
    damping_ratio: float = 0.0


def note_softness(element: Element, reader: FilesReader, tally: Tally) -> None:
    """A remark where limits or dry friction of a joint or tendon have numbers of MuJoCo's solver."""
    if number(reader, element, "margin", default=0.0) or any(name in element.attributes for name in _SOFT):
        tally.note(_SOFTNESS, element)


def is_free(element: Element) -> bool:
    """True if a joint, with its defaults applied, is free."""
    return element.tag == "freejoint" or element.get("type") == "free"


def free_damping(element: Element, reader: FilesReader, tally: Tally) -> float:
    """Damping of a free joint (N s/m and N m s/rad); of the rest one thing is refused, others have no effect here."""
    if _armature(element, reader):
        tally.note(FREE_ROTOR, element)
    for name in ("stiffness", "frictionloss"):
        if any(vector(reader, element, name, (1, 9), default=(0.0,))):
            tally.note(f"{name!r} of a free joint is not read", element)
    if choice(reader, element, "align", ("true", "false", "auto"), "auto") == "true":
        rule = "'align' moves the frame of a free body to its inertia, and is not read"
        reader.fault(element, rule, "its frame stays where it is")
    damping, *more = vector(reader, element, "damping", (1, 9), default=(0.0,)).tolist()
    if damping < 0.0:
        reader.fail(element, "'damping' is not negative", f"is {damping:g}")
    if any(more):
        tally.note(_NONLINEAR_MESSAGE.format("damping"), element)
    return float(damping)


def read_joint(element: Element, H: np.ndarray, settings: Settings, reader: FilesReader, tally: Tally) -> JointPart:
    """The joint of an element with its defaults applied; ``H`` is the pose of the ``<frame>`` that it stands in.

    A joint turns about its anchor ``pos``: ``before`` goes there, ``after`` comes back.  ``ref`` is the coordinate at
    which the body stands as drawn; as ``exp(a (q - ref)) = exp(-a ref) exp(a q)``, it goes into ``before``, exactly.
    """
    kind = choice(reader, element, "type", _TYPES, "hinge")
    note_softness(element, reader, tally)
    armature, passive = _armature(element, reader), _passive(element, kind, settings, reader, tally)
    if kind == "ball":
        ends = _range(element, kind, settings, reader)
        if ends is not None:
            if ends[0] != 0.0:
                reader.fail(element, "the 'range' of a ball joint begins at 0", f"is {element.get('range')[:40]!r}")
            tally.note("the 'range' of a ball joint is not read", element)
        before, after = _anchor(element, H, reader)
        return JointPart(element, Spherical(), before, after, Limits(), armature, passive)
    axis = _axis(element, H, reader, tally)
    ref = number(reader, element, "ref", default=0.0) * (settings.angle if kind == "hinge" else 1.0)
    if abs(ref) > MAX_LENGTH:
        reader.fail(element, f"'ref' is within {MAX_LENGTH:g}")
    ends = _range(element, kind, settings, reader)
    limits = Limits(*(ends or (-np.inf, np.inf)), effort=_effort(element, reader, tally))
    x, y, z = axis.tolist()
    more = (ref, _springref(element, kind, settings, reader), *_springdamper(element, reader))
    if kind == "slide":  # where a slider sits makes no difference
        position(element, "pos", reader)
        before = homogeneous(np.eye(3), -ref * axis)
        return JointPart(element, Prismatic((x, y, z)), before, np.eye(4), limits, armature, passive, *more)
    before, after = _anchor(element, H, reader)
    if ref:
        before = before @ homogeneous(clean(about(axis, -ref)), np.zeros(3))
    hinge = (Continuous if ends is None else Revolute)((x, y, z))
    return JointPart(element, hinge, before, after, limits, armature, passive, *more)


def _armature(element: Element, reader: FilesReader) -> float:
    """The inertia that MuJoCo adds to the diagonal of its mass matrix, for each rate of the joint."""
    armature = number(reader, element, "armature", default=0.0)
    if not 0.0 <= armature <= MAX_INERTIA:
        reader.fail(element, f"'armature' lies between 0 and {MAX_INERTIA:g} kg m^2", f"is {armature:g}")
    return armature


def _passive(element: Element, kind: str, settings: Settings, reader: FilesReader, tally: Tally) -> Passive:
    """Springs, dampers and friction; of forces that are polynomials the linear part."""
    given = {}
    for name, ours in (("damping", "damping"), ("stiffness", "stiffness"), ("frictionloss", "friction")):
        first, *more = vector(reader, element, name, (1, 9), default=(0.0,)).tolist()
        if first < 0.0:
            reader.fail(element, f"{name!r} is not negative", f"is {first:g}")
        if any(more):
            tally.note(_NONLINEAR_MESSAGE.format(name), element)
        given[ours] = first
    if kind == "ball" and any(_springdamper(element, reader)):
        tally.note("the 'springdamper' of a ball joint is not read", element)
    rest = _springref(element, kind, settings, reader)
    spring = given["stiffness"] or any(_springdamper(element, reader))
    return Passive(**given, rest=rest if spring and kind != "ball" else 0.0)


def _springdamper(element: Element, reader: FilesReader) -> tuple[float, float]:
    """Time constant (s) and damping ratio; they count where both are positive."""
    time, ratio = vector(reader, element, "springdamper", 2, default=(0.0, 0.0)).tolist()
    return (time, ratio) if min(time, ratio) > 0.0 else (0.0, 0.0)


def _springref(element: Element, kind: str, settings: Settings, reader: FilesReader) -> float:
    return number(reader, element, "springref", default=0.0) * (settings.angle if kind == "hinge" else 1.0)


def _effort(element: Element, reader: FilesReader, tally: Tally) -> float:
    """The most that all actuators of a joint do together: ``actuatorfrcrange``, where it is the same both ways."""
    limited = choice(reader, element, "actuatorfrclimited", ("true", "false", "auto"), "auto")
    lower, upper = vector(reader, element, "actuatorfrcrange", 2, default=(0.0, 0.0)).tolist()
    if limited == "false" or (lower, upper) == (0.0, 0.0):
        return math.inf
    if lower != -upper or upper < 0.0:
        tally.note("'actuatorfrcrange' is not read where it differs from one direction to the other", element)
        return math.inf
    if choice(reader, element, "actuatorgravcomp", ("true", "false"), "false") == "true":
        tally.note("'actuatorgravcomp' is not read: 'actuatorfrcrange' does not limit gravity compensation", element)
    return float(upper)


def _anchor(element: Element, H: np.ndarray, reader: FilesReader) -> tuple[np.ndarray, np.ndarray]:
    anchor = H[:3, :3] @ position(element, "pos", reader) + H[:3, 3]
    return homogeneous(np.eye(3), anchor), homogeneous(np.eye(3), -anchor)


def _axis(element: Element, H: np.ndarray, reader: FilesReader, tally: Tally) -> np.ndarray:
    """A unit vector in the frame of the body; ``(0, 0, 1)`` by default."""
    given = vector(reader, element, "axis", 3, default=(0.0, 0.0, 1.0))
    axis = unit(element, "axis", given, reader)
    if abs(np.abs(given @ axis) - 1.0) > _UNIT_TOLERANCE:
        tally.note("the axis of the joint was brought to length 1", element)
    return clean(H[:3, :3] @ axis)


def _range(element: Element, kind: str, settings: Settings, reader: FilesReader) -> tuple[float, float] | None:
    """The end stops (rad or m), or None; a range counts where ``limited`` says so, or says nothing."""
    limited = choice(reader, element, "limited", ("true", "false", "auto"), "auto")
    lower, upper = vector(reader, element, "range", 2, default=(0.0, 0.0)).tolist()
    if limited == "auto":
        if lower > upper:
            rule = f"the lower end of 'range' lies below the upper end: {lower:g} and {upper:g}"
            reader.fault(element, rule, "no limit, as in MuJoCo")
        if lower >= upper:
            return None
        if not settings.autolimits:
            reader.fail(element, "with autolimits='false' a joint with a 'range' says whether it is 'limited'")
    elif limited == "false" or (kind == "ball" and lower == upper):
        return None
    if lower >= upper:
        reader.fail(element, "the lower end of 'range' lies below the upper end", f"{lower:g} and {upper:g}")
    scale = 1.0 if kind == "slide" else settings.angle
    return lower * scale, upper * scale
