"""Which body is the base link: the free one, the world, or the one that the caller sets free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...lie import SE3, Trivial
from ..diagnostics import Reader
from .bodies import BodyPart
from .tally import Tally


def find_base(bodies: Sequence[BodyPart], reader: Reader, tally: Tally) -> int:
    """The index of the base link's body; 0 is the world, and the base is then fixed."""
    tops = top_bodies(bodies)
    movers = sorted({tops[i] for i, body in enumerate(bodies) if body.joints or body.free is not None})
    free = [i for i in movers if bodies[i].free is not None]
    if len(free) > 1:
        rule = f"a robot has one root, and {len(free)} bodies are free"
        reader.fail(bodies[free[1]].element, rule, "keep the free joint of one of them")
    if free:
        others = [i for i in movers if i not in free]
        if others:
            rule = "a robot has one root, and beside the free body this one moves in the world"
            reader.fail(bodies[others[0]].element, rule, "remove one of them")
        base = free[0]
    elif reader.options.base is None or isinstance(reader.options.base, Trivial):
        return 0
    else:
        base = _set_free(bodies, movers or sorted(set(tops[1:])), reader)
    for i, body in enumerate(bodies):
        if body.parent == 0 and i != base:
            tally.note("a body fixed to the world is no part of the robot, which is free", body.element)
    _remark(bodies, base, reader)
    return base


def top_bodies(bodies: Sequence[BodyPart]) -> list[int]:
    """For each body the one above it that stands directly in the world (0 for the world itself)."""
    tops = [0]
    for i, body in enumerate(bodies[1:], start=1):
        tops.append(i if body.parent == 0 else tops[body.parent])
    return tops


def _set_free(bodies: Sequence[BodyPart], candidates: Sequence[int], reader: Reader) -> int:
    """The one body that ``base=...`` lifts off the world."""
    base, *others = candidates
    if others:
        rule = f"base={str(reader.options.base)!r} needs one root, and {len(candidates)} bodies stand in the world"
        reader.fail(bodies[others[0]].element, rule, 'keep one of them, or load with base="fixed"')
    if bodies[base].joints:
        rule = f"base={str(reader.options.base)!r} needs a root without joints, and this body is joined to the world"
        reader.fail(bodies[base].element, rule, 'remove its joints, or load with base="fixed"')
    return base


def _remark(bodies: Sequence[BodyPart], base: int, reader: Reader) -> None:
    group = reader.options.base
    if group is not None and not isinstance(group, SE3) and not np.array_equal(bodies[base].H, np.eye(4)):
        text = f"with base {group} the base link begins at the world's origin, not at the file's 'pos' and 'quat'"
        reader.warn(bodies[base].element, text)
