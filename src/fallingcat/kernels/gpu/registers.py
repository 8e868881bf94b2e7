"""Which values of a straight line a thread keeps at hand, and which it lays aside for a while.

A GPU thread has 255 registers.  What does not fit the compiler would spill to memory far away; here the value whose
next use is farthest goes to the thread's places in shared memory instead, and comes back before that use.  Inputs are
never laid aside: they are read again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from ..ir.instructions import Input, Instruction

AHEAD = 24
"""So many instructions before its use a value is asked for."""


class Step(NamedTuple):
    """One move: ``read`` an input, ``compute`` an instruction, ``aside`` to or ``back`` from a place."""

    kind: str
    value: int
    place: int = -1
    line: Instruction | None = None


class Plan(NamedTuple):
    """The moves, and how many places in shared memory they need."""

    steps: list[Step]
    places: int


def plan(lines: Sequence[Instruction], inputs: dict[int, Input], keep: int) -> Plan:
    """The moves that compute ``lines`` with at most ``keep`` values at hand (a few more where one line needs them)."""
    needs = [list(dict.fromkeys(x for x in line.operands if isinstance(x, int))) for line in lines]
    uses = _uses(needs)
    at_hand: dict[int, int] = {}  # value -> its next use
    farthest: list[tuple[int, int]] = []  # (-next use, value), some out of date
    places: dict[int, int] = {}
    free: list[int] = []
    size = 0
    seen: set[int] = set()
    steps: list[Step] = []
    later = {value: iter(ats) for value, ats in uses.items()}

    def take(value: int) -> None:
        """The value is at hand until its next use; without one it is gone."""
        following = next(later[value], None) if value in later else None
        if following is None:
            at_hand.pop(value, None)
        else:
            at_hand[value] = following
            heapq.heappush(farthest, (-following, value))

    def make_room(needed: set[int]) -> int:
        more = 0
        back = []
        while len(at_hand) >= keep and farthest:
            when, value = heapq.heappop(farthest)
            if at_hand.get(value) != -when:
                continue
            if value in needed:
                back.append((when, value))
                continue
            del at_hand[value]
            if value not in inputs:
                if not free:
                    free.append(size + more)
                    more += 1
                places[value] = free.pop()
                steps.append(Step("aside", value, places[value]))
        for item in back:
            heapq.heappush(farthest, item)
        return more

    for line, operands in zip(lines, needs, strict=True):
        needed = set(operands)
        for x in operands:
            if x not in at_hand:
                size += make_room(needed)
                if x in places:
                    steps.append(Step("back", x, places[x]))
                    free.append(places.pop(x))  # a place is dear: whoever goes aside again gets a new one
                else:
                    steps.append(Step("read", x))
                    if x not in seen:
                        seen.add(x)
                        next(later[x])  # this use
                at_hand[x] = -1
        for x in operands:
            take(x)
        size += make_room(needed)
        steps.append(Step("compute", line.value, line=line))
        take(line.value)
    return Plan(_ahead(steps), size)


def _ahead(steps: list[Step]) -> list[Step]:
    """What comes back is asked for some instructions before it is used: memory takes its time."""
    out: list[Step] = []
    read: set[int] = set()
    for step in steps:
        at, passed = len(out), 0
        if step.kind == "back" or (step.kind == "read" and step.value in read):  # first reads the compiler moves itself
            while at and passed < AHEAD and not (out[at - 1].kind == "aside" and out[at - 1].place == step.place):
                at -= 1
                passed += out[at].kind == "compute"
        read.add(step.value)
        out.insert(at, step)
    return out


def _uses(needs: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """value -> the numbers of the lines that need it."""
    uses: dict[int, list[int]] = {}
    for at, values in enumerate(needs):
        for x in values:
            uses.setdefault(x, []).append(at)
    return uses
