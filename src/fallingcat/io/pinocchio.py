"""A ``pinocchio.Model`` in memory to a model; Pinocchio itself is not imported."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..errors import ModelError, describe
from ..lie import R3, SE2, SE3, SO3, Group, Trivial
from ..model import (
    Body,
    Continuous,
    Frame,
    Free,
    Helical,
    Joint,
    JointKind,
    Limits,
    Link,
    Mimic,
    Model,
    Passive,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from ..model.exchange.pinocchio import WRITINGS, JointPart, joint_parts
from .diagnostics import FileWarning, Place, Reader

_Axis = tuple[float, float, float]
_AXES: Final[dict[str, _Axis]] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_AXIS_JOINTS: Final[dict[str, Callable[[_Axis, Any], JointKind]]] = {
    "R": lambda axis, _: Revolute(axis),
    "RUB": lambda axis, _: Continuous(axis),
    "P": lambda axis, _: Prismatic(axis),
    "H": lambda axis, joint: Helical(axis, joint.pitch),
}
_KINDS: Final[dict[str, Callable[[Any], JointKind]]] = {
    "FreeFlyer": lambda _: Free(),
    "Spherical": lambda _: Spherical(),
    "Planar": lambda _: Planar(),
    "Translation": lambda _: Translational(),
    "Universal": lambda joint: Universal(_axis(joint.axis1), _axis(joint.axis2)),
    "RevoluteUnaligned": lambda joint: Revolute(_axis(joint.axis)),
    "RevoluteUnboundedUnaligned": lambda joint: Continuous(_wheel_axis(joint)),
    "PrismaticUnaligned": lambda joint: Prismatic(_axis(joint.axis)),
    "HelicalUnaligned": lambda joint: Helical(_axis(joint.axis), joint.pitch),
}
_BASES: Final[dict[str, Group]] = {"free": SE3(), "spherical": SO3(), "planar": SE2(), "translational": R3()}


def from_pinocchio_model(peer: Any) -> Model:
    """See :func:`fallingcat.from_pinocchio_model`."""
    if not all(hasattr(peer, name) for name in ("names", "joints", "jointPlacements", "inertias", "frames")):
        raise ModelError(f"peer is a pinocchio.Model, not {describe(peer)}")
    chains = [joint_parts(joint) for joint in peer.joints]
    kinds = [[_kind(name, part) for part in chain] for name, chain in zip(peer.names, chains, strict=True)][1:]
    placements = [np.array(H.homogeneous) for H in peer.jointPlacements][1:]
    roots = [i for i in range(1, peer.njoints) if peer.parents[i] == 0]
    first = kinds[roots[0] - 1] if len(roots) == 1 else []
    floats = len(first) == 1 and first[0].name in _BASES and _identity(placements[roots[0] - 1])
    names = _link_names(peer)
    links = [Link(names[i], _body(peer.inertias[i])) for i in range(floats, peer.njoints)]
    joints: list[Joint] = []
    reader = Reader("pinocchio.Model")
    for i in range(1 + floats, peer.njoints):
        chain = _chain(peer, i, chains[i], kinds[i - 1], names, reader)
        joints += chain
        links += [Link(joint.child) for joint in chain[:-1]]
    base = _BASES[first[0].name] if floats else Trivial()
    if floats and _armature(peer, chains[roots[0]][0], first[0]).any():
        place = Place(label=f"joint {peer.names[roots[0]]!r}")
        reader.warn(place, "the armature of the base is not read: no rotor drives it, though Pinocchio adds one")
    gravity, frames = np.array(peer.gravity.linear), tuple(_frames(peer, names, floats))
    for message in reader.warnings:
        warnings.warn(FileWarning(message), stacklevel=3)
    return Model(peer.name or "robot", base, tuple(links), tuple(joints), gravity, frames)


def _chain(
    peer: Any, i: int, parts: list[JointPart], kinds: list[JointKind], names: list[str], reader: Reader
) -> list[Joint]:
    """Joints that Pinocchio's joint ``i`` stands for, with massless links ``LINK/PART`` between them."""
    chain, parent, H = [], names[peer.parents[i]], np.array(peer.jointPlacements[i].homogeneous)
    for part, kind in zip(parts, kinds, strict=True):
        child = names[i] if part is parts[-1] else f"{names[i]}{part.suffix}"
        name = f"{peer.names[i]}{part.suffix}"
        limits, passive = _limits(peer, part, kind, name, reader), _passive(peer, part, kind)
        rest = limits, _armature(peer, part, kind), passive, _mimic(peer, i)
        chain.append(Joint(name, kind, parent, child, H @ part.placement, np.eye(4), *rest))
        parent, H = child, np.eye(4)
    return chain


def _kind(name: str, part: JointPart) -> JointKind:
    """Our kind of a joint; Pinocchio's ``RX`` is a hinge about x, ``RUBX`` a wheel, ``PX`` a slider, ``HX`` a screw."""
    short = part.kind
    if short == "Mimic":
        return _follower_kind(part.joint)
    if short in _KINDS:
        return _KINDS[short](part.joint)
    if short[:-1] in _AXIS_JOINTS and short[-1] in _AXES:
        return _AXIS_JOINTS[short[:-1]](_AXES[short[-1]], part.joint)
    raise ModelError(f"Pinocchio's joint {name!r} is of the kind {short}, which has no counterpart here")


def _wheel_axis(joint: Any) -> _Axis:
    """Axis of an unbounded hinge, by a quarter turn: Pinocchio does not tell it."""
    data, q = joint.createData(), np.zeros(joint.idx_q + 2)
    q[joint.idx_q + 1] = 1.0
    joint.calc(data, q)
    w = SE3().log(np.array(data.M.homogeneous))[3:]
    return _axis(w / np.linalg.norm(w))


def _follower_kind(joint: Any) -> JointKind:
    """Hinge, slider or screw: the motion from coordinate 0 to 1 tells it, for a follower does not."""
    data, q = joint.createData(), np.zeros(joint.idx_q + 1)
    q[joint.idx_q] = (1.0 - joint.offset) / joint.scaling
    joint.calc(data, q)
    v, w = np.split(SE3().log(np.array(data.M.homogeneous)), 2)
    if not np.any(w):
        return Prismatic(_axis(v))
    return Helical(_axis(w), float(v @ w)) if np.any(v) else Revolute(_axis(w))


def _mimic(peer: Any, i: int) -> Mimic | None:
    """Joint that it follows, with ratio and offset."""
    followers = list(getattr(peer, "mimicking_joints", ()))
    if i not in followers:
        return None
    joint, leader = peer.joints[i].extract(), peer.mimicked_joints[followers.index(i)]
    if peer.nqs[leader] != 1:
        raise ModelError(f"Pinocchio's joint {peer.names[i]!r} follows {peer.names[leader]!r}, which has no one angle")
    return Mimic(peer.names[leader], joint.scaling, joint.offset)


def _axis(x: Any) -> _Axis:
    a, b, c = np.asarray(x, dtype=float).tolist()
    return (a, b, c)


def _identity(H: np.ndarray) -> bool:
    return bool((np.eye(4) == H).all())


def _body(inertia: Any) -> Body:
    about_center = np.array(inertia.inertia)
    return Body(inertia.mass, np.array(inertia.lever), 0.5 * (about_center + about_center.T))


def _link_names(peer: Any) -> list[str]:
    """For each joint the body frame that sits at it, else the joint's own name."""
    names = list(peer.names)
    for frame in reversed(list(peer.frames)):
        if frame.type.name == "BODY" and _identity(np.array(frame.placement.homogeneous)):
            names[frame.parentJoint] = frame.name
    return names


def _frames(peer: Any, names: list[str], floats: bool) -> list[Frame]:
    """Everything else that Pinocchio has named, once."""
    taken = set(names[floats:])
    frames = []
    for frame in peer.frames:
        if frame.name not in taken and frame.type.name != "JOINT" and frame.parentJoint >= floats:
            taken.add(frame.name)
            frames.append(Frame(frame.name, names[frame.parentJoint], np.array(frame.placement.homogeneous)))
    return frames


def _armature(peer: Any, part: JointPart, kind: JointKind) -> np.ndarray:
    return np.array(peer.armature[part.v : part.v + kind.nv]) if part.kind != "Mimic" else np.zeros(kind.nv)


def _passive(peer: Any, part: JointPart, kind: JointKind) -> Passive:
    """Damping and dry friction of a joint with one degree of freedom."""
    if kind.nv != 1 or part.kind == "Mimic":
        return Passive()
    return Passive(float(peer.damping[part.v]), float(peer.upperDryFrictionLimit[part.v]))


def _limits(peer: Any, part: JointPart, kind: JointKind, name: str, reader: Reader) -> Limits:
    """End stops and bounds of a joint with one coordinate; Pinocchio writes the largest float where there is none."""
    q, v = part.q, part.v
    if kind.nq != 1 or part.kind == "Mimic" or len(WRITINGS[part.kind].q) != 1:  # a wheel is written as cos, sin
        return Limits()
    found = (peer.lowerPositionLimit[q], peer.upperPositionLimit[q], peer.velocityLimit[v], peer.effortLimit[v])
    lower, upper, velocity, effort = (
        float(x) if abs(x) < np.finfo(float).max else float(np.sign(x) * np.inf) for x in found
    )
    if lower > upper:
        text = f"the lower limit lies above the upper one ({lower:g} > {upper:g}): the joint has no end stops here"
        reader.warn(Place(label=f"joint {name!r}"), text)
        lower, upper = -np.inf, np.inf
    return Limits(lower, upper, velocity, effort)
