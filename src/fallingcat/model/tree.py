"""Links and joints in any order, put into the order of the tree: depth first, children as given.

And joints that follow others, each as a follower of the one that leads them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import ModelError
from .joint import Joint, Mimic
from .names import no_twins


def depth_first(links: Sequence[str], joints: Sequence[Joint]) -> list[Joint]:
    """Joints depth first; the root is the one link that no joint carries."""
    no_twins("link", links)
    no_twins("joint", [j.name for j in joints])
    children: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in children:
                raise ModelError(f"joint {joint.name!r} joins the link {link!r}, which does not exist")
        children[joint.parent].append(joint)
    for link, count in Counter(j.child for j in joints).items():
        if count > 1:
            names = ", ".join(repr(j.name) for j in joints if j.child == link)
            raise ModelError(f"link {link!r} is the child of {count} joints: {names}")
    top = root(links, joints)
    found: list[Joint] = []
    stack = children[top][::-1]
    while stack:
        joint = stack.pop()
        found.append(joint)
        stack.extend(children[joint.child][::-1])
    if len(found) < len(joints):
        lost = sorted({j.child for j in joints} - {j.child for j in found})
        raise ModelError(f"the joints form a cycle: {_name_list(lost)} cannot be reached from the root {top!r}")
    return found


def root(links: Sequence[str], joints: Sequence[Joint]) -> str:
    """Link that is no joint's child: there is one."""
    carried = {j.child for j in joints}
    roots = [name for name in links if name not in carried]
    if not links:
        raise ModelError("a robot has at least one link")
    if not roots:
        raise ModelError("the joints form a cycle: every link is the child of a joint, there is no root")
    if len(roots) > 1:
        raise ModelError(f"the robot is in {len(roots)} pieces, with the roots {_name_list(roots)}")
    return roots[0]


def resolve_leaders(joints: Sequence[Joint]) -> list[Joint]:
    """Joints, where what follows a follower follows the leader of both: a joint with one coordinate of its own."""
    by_name = {joint.name: joint for joint in joints}
    found: dict[str, Mimic] = {}
    for joint in joints:
        way: dict[str, Mimic] = {}
        while joint.mimic is not None and joint.name not in found:
            way[joint.name] = joint.mimic
            joint = _leader(joint.name, joint.mimic, by_name)
            if joint.name in way:
                raise ModelError(f"joints follow each other in a circle: {_name_list([*way, joint.name])}")
        for name, mimic in reversed(way.items()):
            first = found.get(mimic.leader)
            found[name] = mimic if first is None else mimic.behind(first)
    direct = [found.get(joint.name) for joint in joints]
    return [j if j.mimic is mimic else replace(j, mimic=mimic) for j, mimic in zip(joints, direct, strict=True)]


def _leader(name: str, mimic: Mimic, joints: Mapping[str, Joint]) -> Joint:
    if mimic.leader not in joints:
        raise ModelError(f"joint {name!r} follows the joint {mimic.leader!r}, which does not exist")
    leader = joints[mimic.leader]
    if (leader.kind.nq, leader.kind.nv) != (1, 1):
        raise ModelError(f"joint {name!r} follows {mimic.leader!r}, which has not one coordinate but {leader.kind.nq}")
    return leader


def _name_list(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
