"""Links and joints in any order, put into the order of the tree: depth first, children as given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..errors import ModelError
from .joint import Joint


def ordered(links: Sequence[str], joints: Sequence[Joint]) -> list[Joint]:
    """The joints depth first; the root is the one link that no joint carries."""
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
        raise ModelError(f"the joints form a cycle: {_listed(lost)} cannot be reached from the root {top!r}")
    return found


def root(links: Sequence[str], joints: Sequence[Joint]) -> str:
    """The one link that is no joint's child."""
    carried = {j.child for j in joints}
    roots = [name for name in links if name not in carried]
    if not links:
        raise ModelError("a robot has at least one link")
    if not roots:
        raise ModelError("the joints form a cycle: every link is the child of a joint, there is no root")
    if len(roots) > 1:
        raise ModelError(f"the robot is in {len(roots)} pieces, with the roots {_listed(roots)}")
    return roots[0]


def no_twins(what: str, names: Iterable[str]) -> None:
    """Every name is there once, and not empty."""
    for name, count in Counter(names).items():
        if count > 1:
            raise ModelError(f"{count} {what}s are called {name!r}")
        if not name:
            raise ModelError(f"a {what} has an empty name")


def _listed(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
