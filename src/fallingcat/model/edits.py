"""Model to model: the same robot rooted elsewhere, with joints welded, with welds merged, with another body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.types import Vector
from ..errors import ModelError, describe
from ..lie import SE3
from .actuation import without
from .body import Body, sum_bodies
from .joint import Joint
from .joints import Fixed
from .link import Frame, Link

if TYPE_CHECKING:
    from .model import Model


def reroot(model: Model, link: str) -> Model:
    """Robot with base link ``link``: the joints on the way to the old base are turned around."""
    target = model.link_index(link)
    path: set[int] = set()
    while target > 0:
        path.add(target - 1)
        target = model.parents[target - 1]
    joints = [j.reversed() if i in path else j for i, j in enumerate(model.joints)]
    _check_base(model, sorted(path), link)
    return replace(model, joints=tuple(joints))


def _check_base(model: Model, path: list[int], link: str) -> None:
    """Raise an error unless the new base link moves in the old base's group, whatever the joints on the way do."""
    if isinstance(model.base, SE3):
        return
    shape, H = model.configuration.random(np.random.default_rng(0)).joints, np.eye(4)
    for i in path:
        H = H @ model.joints[i].transform(shape[model.q_slices[i]])
    if not model.base.contains(H):  # one random shape tells: a motion that leaves the group leaves it almost everywhere
        raise ModelError(f"link {link!r} does not move in the base group {model.base}: it cannot be the base")


def lock(model: Model, joints: Mapping[str, Vector] | Sequence[str]) -> Model:
    """Robot with the named joints, and all that follow them, replaced by welds at the given coordinates."""
    joints = [joints] if isinstance(joints, str) else joints
    if not isinstance(joints, (Mapping, Sequence)):
        raise ModelError(f"joints are names of joints, not {describe(joints)}")
    for name in joints:
        model.leading_index(name)
    wanted: dict[str, Any] = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(joints)
    state = model.state(joints={name: q for name, q in wanted.items() if q is not None})
    edited = list(model.joints)
    for i, joint in enumerate(model.joints):
        if model.joints[model.leaders[i]].name in wanted:
            H = joint.transform(state.joints[model.q_slices[i]])
            edited[i] = Joint(joint.name, Fixed(), joint.parent, joint.child, H)
    still = {joint.name for joint in edited if isinstance(joint.kind, Fixed)}
    actuators = tuple(actuator for actuator in model.actuators if actuator.joint not in still)
    return replace(model, joints=tuple(edited), actuators=actuators, driven=without(model.driven, still))


def merge_fixed(model: Model) -> Model:
    """Robot without fixed joints: bodies join their parents', links become frames."""
    home: dict[str, tuple[str, np.ndarray]] = {model.links[0].name: (model.links[0].name, np.eye(4))}
    parts: dict[str, list[Link]] = {}
    joints: list[Joint] = []
    frames: list[Frame] = []
    for joint in model.joints:  # parents first
        link, H = home[joint.parent]
        if isinstance(joint.kind, Fixed):
            home[joint.child] = (link, H @ joint.transform(np.zeros(0)))
            frames.append(Frame(joint.child, *home[joint.child]))
        else:
            home[joint.child] = (joint.child, np.eye(4))
            joints.append(replace(joint, parent=link, placement=H @ joint.placement))
    for part in model.links:
        link, H = home[part.name]
        parts.setdefault(link, []).append(part if link == part.name else part.moved(H))
    for frame in model.frames:
        link, H = home[frame.link]
        frames.append(Frame(frame.name, link, H @ frame.placement))
    links = tuple(_welded(parts[part.name]) for part in model.links if part.name in parts)
    return replace(model, links=links, joints=tuple(joints), frames=tuple(frames), apart=_all_apart(model, parts))


def _all_apart(model: Model, parts: Mapping[str, Sequence[Link]]) -> tuple[tuple[str, str], ...]:
    """Pairs of welded links that do not push each other: none of their parts with shapes does."""
    apart = {frozenset(pair) for pair in model.apart}
    shaped = {name: [part.name for part in own if part.collisions] for name, own in parts.items()}
    candidates = combinations([name for name, own in shaped.items() if own], 2) if apart else ()
    return tuple(
        (i, j) for i, j in candidates if all(frozenset(pair) in apart for pair in product(shaped[i], shaped[j]))
    )


def _welded(parts: Sequence[Link]) -> Link:
    """Links of one frame as one: the first, with the bodies and shapes of all."""
    first, *others = parts
    if not others:
        return first
    visuals, collisions = (tuple(s for part in parts for s in getattr(part, w)) for w in ("visuals", "collisions"))
    return replace(first, body=sum_bodies(part.body for part in parts), visuals=visuals, collisions=collisions)


def replace_body(model: Model, link: str, body: Body) -> Model:
    """Robot with ``body`` on ``link``."""
    i = model.link_index(link)
    return replace(model, links=(*model.links[:i], replace(model.links[i], body=body), *model.links[i + 1 :]))
