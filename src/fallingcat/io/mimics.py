"""Joints that a file lets mimic others: as followers, as loops, or with coordinates of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..model import Couple, Fixed, Joint, Limits, Mimic
from ..model.mimics import room
from ..model.tree import resolve_leaders
from .diagnostics import Located, Reader


class MimicRequest(NamedTuple):
    """Mimic of a joint in a file: ``q = ratio q_leader + offset``."""

    leader: str
    ratio: float
    offset: float
    place: Located


def mimicking(
    joints: Sequence[Joint], asked: Mapping[str, MimicRequest], reader: Reader
) -> tuple[list[Joint], list[Couple]]:
    """The joints as followers; with ``loops="open"`` or ``"close"`` as they are, and what couples them if closed."""
    asked = _valid_followers(joints, asked, reader)
    if reader.options.loops is None:
        return _with_compatible_limits(resolve_leaders(_followers(joints, asked, reader)), asked, reader), []
    if reader.options.loops == "close":
        couples = [
            Couple(f"{name} mimics {one.leader}", name, one.leader, (one.offset, one.ratio))
            for name, one in asked.items()
        ]
        return [*joints], couples
    for name, one in asked.items():
        text = f'joint {name!r} does not follow {one.leader!r}, as loops="open" asks: both are independent'
        reader.warn(one.place, text, kind="mimic")
    return [*joints], []


def _valid_followers(
    joints: Sequence[Joint], asked: Mapping[str, MimicRequest], reader: Reader
) -> dict[str, MimicRequest]:
    """Followers with one coordinate; leaders must exist, and must not follow themselves in the end."""
    by_name, found = {joint.name: joint for joint in joints}, {}
    for name, one in asked.items():
        if one.leader not in by_name:
            rule = f"the joint {one.leader!r}, which is to be mimicked, does not exist"
            reader.fault(one.place, rule, "the joint is independent")
            continue
        for joint in (by_name[name], by_name[one.leader]):
            if joint.kind.nq > 1 or (joint.name == name and not joint.kind.nq):
                reader.warn(one.place, f"a {joint.kind.name} joint cannot {_role(joint, name)}: the tag is ignored")
                break
        else:
            found[name] = one
    _no_circle(found, reader)
    return found


def _role(joint: Joint, follower: str) -> str:
    return "mimic" if joint.name == follower else "be mimicked"


def _no_circle(asked: Mapping[str, MimicRequest], reader: Reader) -> None:
    done: set[str] = set()
    for start in asked:
        way: set[str] = set()
        name = start
        while name in asked and name not in done:
            if name in way:
                reader.fail(asked[name].place, "joints mimic each other in a circle")
            way.add(name)
            name = asked[name].leader
        done |= way


def _followers(joints: Sequence[Joint], asked: Mapping[str, MimicRequest], reader: Reader) -> list[Joint]:
    """Joints that follow moving ones; what follows a fixed joint, or at the ratio 0, is welded where it then stands."""
    still, found = _standing(joints, asked), []
    for joint in joints:
        one = asked.get(joint.name)
        if one is not None and joint.name in still:
            text = f"joint {joint.name!r} mimics what does not move, and is fixed"
            reader.warn(one.place, text, kind="mimics nothing")
            H = joint.transform(np.array([still[joint.name]]))
            joint = Joint(joint.name, Fixed(), joint.parent, joint.child, H)
        elif one is not None:
            joint = replace(joint, mimic=Mimic(one.leader, one.ratio, one.offset))
        found.append(joint)
    return found


def _standing(joints: Sequence[Joint], asked: Mapping[str, MimicRequest]) -> dict[str, float]:
    """The coordinates of joints that do not move: of fixed ones, and of what follows them, or at the ratio 0."""
    still, seen = {joint.name: 0.0 for joint in joints if not joint.kind.nv}, set()
    for start in asked:
        way, name = [], start
        while name in asked and name not in seen:
            way.append(name)
            seen.add(name)
            name = asked[name].leader
        for name in reversed(way):
            leader, ratio, offset, _ = asked[name]
            if leader in still or not ratio:
                still[name] = ratio * still.get(leader, 0.0) + offset
    return still


def _with_compatible_limits(joints: Sequence[Joint], asked: Mapping[str, MimicRequest], reader: Reader) -> list[Joint]:
    """The joints without those limits of followers that would leave their leaders no room at all."""
    limits, found = {joint.name: joint.limits for joint in joints}, []
    for joint in joints:
        if joint.mimic is not None:
            mine = limits[joint.mimic.leader]
            lower, upper = room(mine, joint)
            if lower < upper or mine.lower == mine.upper == lower == upper:
                limits[joint.mimic.leader] = replace(mine, lower=lower, upper=upper)
            else:
                text = f"its limits leave {joint.mimic.leader!r}, which it mimics, no room, and are ignored"
                reader.warn(asked[joint.name].place, text, kind="limits of followers")
                rest = Limits(velocity=joint.limits.velocity, effort=joint.limits.effort)
                joint = replace(joint, limits=rest)
        found.append(joint)
    return found
