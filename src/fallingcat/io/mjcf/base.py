"""Choice of the base link - the free body, the world, or the one of the caller - and of all that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...lie import SE3, Trivial
from ..diagnostics import Reader
from .bodies import BodyPart
from .ignored import Tally
from .parts import WORLD, Naming

_SHOWN: Final = 8  # candidates in a message


@dataclass(frozen=True)
class BaseChoice:
    """The base link's body (0 is the world: the base is fixed), and for every body whether it is part of the robot."""

    base: int
    kept: list[bool]


def find_robot(bodies: Sequence[BodyPart], reader: Reader, tally: Tally) -> BaseChoice:
    """The robot among the bodies of the world; where several move on their own, ``root`` says which."""
    tops, names = top_bodies(bodies), Naming(bodies).bodies
    freedom = Counter(dict.fromkeys(tops[1:], 0))  # of each body in the world, with all that it carries
    for top, body in zip(tops, bodies, strict=True):
        freedom[top] += 6 if body.free is not None else len(body.joints)
    candidates = {names[i]: i for i, _ in freedom.most_common() if i}
    chosen = _base_body(bodies, candidates, freedom, reader)
    tried = [i for i in candidates.values() if chosen in (None, i)]
    base = _base(bodies, tried, freedom, reader) if chosen != 0 else 0
    top = base if chosen is None else chosen
    if top == 0:
        return BaseChoice(0, [True] * len(bodies))
    for i in sorted(candidates.values()):
        if i != top:
            moves = "a body that moves on its own" if freedom[i] else "a body fixed to the world"
            tally.note(f"{moves} is no part of the robot, {names[top]!r}", bodies[i].element)
    if base:
        _warn_of_base(bodies, base, reader)
    return BaseChoice(base, [i == base or tops[i] == top for i in range(len(bodies))])


def top_bodies(bodies: Sequence[BodyPart]) -> list[int]:
    """For each body the one above it that stands directly in the world (0 for the world itself)."""
    tops = [0]
    for i, body in enumerate(bodies[1:], start=1):
        tops.append(i if body.parent == 0 else tops[body.parent])
    return tops


def _base_body(
    bodies: Sequence[BodyPart], candidates: Mapping[str, int], freedom: Mapping[int, int], reader: Reader
) -> int | None:
    """The body of the world that ``root`` names (0 for the world, with all there is); None: nobody needs to choose.

    Where several bodies move on their own and no one chooses, all are read.
    """
    root = reader.options.root
    if root is None:
        movers = [i for i in candidates.values() if freedom[i]]
        if len(movers) > 1 and any(bodies[i].free is not None for i in movers):
            names = [name for name, i in candidates.items() if freedom[i]]
            rule = f"{len(movers)} bodies move on their own: {_listed(names)}"
            if not isinstance(reader.options.base, Trivial | None):
                hint = f'choose with root="{names[0]}", or leave base out'
                reader.fail(bodies[movers[0]].element, f"a robot has one root, and {rule}", hint)
            choice = f'root="{names[0]}" reads one of them, root="{WORLD}" all without this warning'
            reader.warn(bodies[movers[0]].element, f"{rule}; all are read, as one scene on a fixed base: {choice}")
            return 0
        return None
    if root == WORLD:
        if not isinstance(reader.options.base, Trivial | None):
            reader.fail(bodies[0].element, f"with root={WORLD!r} the base is fixed", "choose a body, or leave base out")
        return 0
    if root not in candidates:
        rule = f"no body {root[:80]!r} stands directly in the world"
        reader.fail(bodies[0].element, rule, f"these do: {_listed(list(candidates))}")
    return candidates[root]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _base(bodies: Sequence[BodyPart], tops: Sequence[int], freedom: Mapping[int, int], reader: Reader) -> int:
    """The free one of ``tops``, or the one that ``base=...`` lifts off the world, or the world."""
    free = [i for i in tops if bodies[i].free is not None]
    if free:
        return free[0]
    group = reader.options.base
    if isinstance(group, Trivial | None):
        return 0
    base, *others = [i for i in tops if freedom[i]] or tops
    if others:
        rule = f"base={str(group)!r} needs one root, and {len(others) + 1} bodies stand in the world"
        name = Naming(bodies).bodies[base]
        reader.fail(bodies[others[0]].element, rule, f'choose with root="{name}", or load with base="fixed"')
    if bodies[base].joints:
        rule = f"base={str(group)!r} needs a root without joints, and this body is joined to the world"
        reader.fail(bodies[base].element, rule, 'remove its joints, or load with base="fixed"')
    return base


def _warn_of_base(bodies: Sequence[BodyPart], base: int, reader: Reader) -> None:
    group = reader.options.base
    if group is not None and not isinstance(group, SE3) and not np.array_equal(bodies[base].H, np.eye(4)):
        text = f"with base {group} the base link begins at the world's origin, not at the file's 'pos' and 'quat'"
        reader.warn(bodies[base].element, text)
