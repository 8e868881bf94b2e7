"""Methods of :class:`Model` that make other models: rooted elsewhere, with joints welded, with another body, ..."""

# ruff: noqa: D417 (methods of a class in another file: nobody passes `self`)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.types import Vector
from ..errors import ModelError, describe
from ..lie import SE3
from .actuation import drives_without
from .body import Body, sum_bodies
from .joint import Joint
from .joints import Fixed
from .keyframes import reroot_keyframes
from .link import Frame, Link
from .loops import Loop
from .tendons import Tendon

if TYPE_CHECKING:
    from .model import Model


def reroot(self: Model, link: str) -> Model:
    """Same robot with another base link; joints are numbered anew, their coordinates keep their meaning.

    Args:
        link: Name of the new base link.

    Returns:
        Robot.
    """
    target = self.link_index(link)
    path: set[int] = set()
    while target > 0:
        path.add(target - 1)
        target = self.parents[target - 1]
    joints = [j.reversed() if i in path else j for i, j in enumerate(self.joints)]
    _check_base(self, sorted(path), link)
    return replace(self, joints=tuple(joints), **reroot_keyframes(self, sorted(path)))


def _check_base(model: Model, path: list[int], link: str) -> None:
    """Raise an error unless the new base link moves in the old base's group, whatever the joints on the way do."""
    if isinstance(model.base, SE3):
        return
    shape, H = model.configuration.random(np.random.default_rng(0)).joints, np.eye(4)
    for i in path:
        H = H @ model.joints[i].transform(shape[model.q_slices[i]])
    if not model.base.contains(H):  # one random shape tells: a motion that leaves the group leaves it almost everywhere
        rule = f"does not move in the base group {model.base}" if model.m else "moves, and the base is fixed"
        raise ModelError(f"link {link!r} {rule}: it cannot be the base")


def lock(self: Model, joints: Mapping[str, Vector] | Sequence[str]) -> Model:
    """Robot with some joints welded.

    Args:
        joints: Coordinates (nq of the joint) by name, or plain names (or one name) for neutral coordinates.

    Returns:
        Robot.
    """
    joints = [joints] if isinstance(joints, str) else joints
    if not isinstance(joints, (Mapping, Sequence)):
        raise ModelError(f"joints are names of joints, not {describe(joints)}")
    for name in joints:
        self.leading_index(name)
    wanted: dict[str, Any] = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(joints)
    state = self.state(joints={name: q for name, q in wanted.items() if q is not None})
    edited = list(self.joints)
    for i, joint in enumerate(self.joints):
        if self.joints[self.leaders[i]].name in wanted:
            H = joint.transform(state.joints[self.q_slices[i]])
            edited[i] = Joint(joint.name, Fixed(), joint.parent, joint.child, H)
    still = {joint.name for joint in edited if isinstance(joint.kind, Fixed)}
    tendons = _locked_tendons(self, state.joints, {j.name for j in edited if j.kind.nv == 0})
    kept = {tendon.name for tendon in tendons}
    actuators = tuple(a for a in self.actuators if a.joint not in still and a.tendon in (None, *kept))
    edits: dict[str, Any] = {"actuators": actuators, "tendons": tendons, "driven": drives_without(self.driven, still)}
    return replace(self, joints=tuple(edited), **edits)


def _locked_tendons(model: Model, joints: np.ndarray, still: set[str]) -> tuple[Tendon, ...]:
    """Tendons of a robot whose joints ``still`` are welded at their coordinates in ``joints``."""
    places = zip(model.joints, model.q_slices, strict=True)
    at = {j.name: j.coordinates(joints[q])[0] for j, q in places if j.name in still and j.kind.nq == 1}
    return tuple(left for tendon in model.tendons if (left := tendon.locked(at)) is not None)


def merge_fixed(self: Model) -> Model:
    """Robot without fixed joints: what they carry joins the parent's body, their links become frames.

    Returns:
        Robot.
    """
    home: dict[str, tuple[str, np.ndarray]] = {self.links[0].name: (self.links[0].name, np.eye(4))}
    parts: dict[str, list[Link]] = {}
    joints: list[Joint] = []
    frames: list[Frame] = []
    for joint in self.joints:  # parents first
        link, H = home[joint.parent]
        if isinstance(joint.kind, Fixed):
            home[joint.child] = (link, H @ joint.transform(np.zeros(0)))
            frames.append(Frame(joint.child, *home[joint.child]))
        else:
            home[joint.child] = (joint.child, np.eye(4))
            joints.append(replace(joint, parent=link, placement=H @ joint.placement))
    for part in self.links:
        link, H = home[part.name]
        parts.setdefault(link, []).append(part if link == part.name else part.moved(H))
    for frame in self.frames:
        link, H = home[frame.link]
        frames.append(Frame(frame.name, link, H @ frame.placement))
    links = tuple(_merged_links(parts[part.name]) for part in self.links if part.name in parts)
    return replace(
        self,
        links=links,
        joints=tuple(joints),
        frames=tuple(frames),
        contact_exclusions=_remaining_exclusions(self, parts),
    )


def _remaining_exclusions(model: Model, parts: Mapping[str, Sequence[Link]]) -> tuple[tuple[str, str], ...]:
    """Pairs of welded links that do not push each other: none of their parts with shapes does."""
    excluded = {frozenset(pair) for pair in model.contact_exclusions}
    shaped = {name: [part.name for part in own if part.collisions] for name, own in parts.items()}
    candidates = combinations([name for name, own in shaped.items() if own], 2) if excluded else ()
    return tuple(
        (i, j) for i, j in candidates if all(frozenset(pair) in excluded for pair in product(shaped[i], shaped[j]))
    )


def _merged_links(parts: Sequence[Link]) -> Link:
    """Links of one frame as one: the first, with the bodies and shapes of all."""
    first, *others = parts
    if not others:
        return first
    visuals, collisions = (tuple(s for part in parts for s in getattr(part, w)) for w in ("visuals", "collisions"))
    return replace(first, body=sum_bodies(part.body for part in parts), visuals=visuals, collisions=collisions)


def replace_body(self: Model, link: str, body: Body) -> Model:
    """Robot with another body on a link.

    Args:
        link: Name of the link.
        body: New body.

    Returns:
        Robot.
    """
    i = self.link_index(link)
    return replace(self, links=(*self.links[:i], replace(self.links[i], body=body), *self.links[i + 1 :]))


def drive(self: Model, driven: Sequence[str | Mapping[str, float]] | np.ndarray | None) -> Model:
    """Robot with other drives, see :attr:`actuation`.

    Args:
        driven: Names of joints, ``{joint: factor}`` for one drive that moves several, or a matrix (k x n) of such
            factors; None: as its actuators say.

    Returns:
        Robot.

    Example:
        >>> from fallingcat.model import robots
        >>> robots.planar_arm().drive(["joint1", {"joint2": 1.0, "joint3": -1.0}]).actuation
        array([[ 1.,  0.,  0.],
               [ 0.,  1., -1.]])
    """
    return replace(self, driven=driven)  # type: ignore[arg-type]  # it is brought to one form


def close_loops(self: Model, *loops: Loop) -> Model:
    """Robot with more loops; :mod:`fallingcat.constraints` moves it.  All else sees the open tree.

    Args:
        *loops: Loops to add.

    Returns:
        Robot.
    """
    return replace(self, loops=(*self.loops, *loops))


def open_loops(self: Model) -> Model:
    """Robot without its loops: the tree alone.

    Returns:
        Robot.
    """
    return replace(self, loops=())
