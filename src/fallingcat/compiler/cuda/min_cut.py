"""Narrow places of a program, with few values: what comes after is computed from those and from the inputs, again.

Forward dynamics goes through the robot inwards, solves for the motion of its base, and goes outwards again.  A thread
that kept what it found on the way in would hold hundreds of values.  But all that the branches learn from each other is
how the base moves: with these few numbers each branch can be walked in and out by itself, while little has to wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ..ir.instructions import Input, Instruction
from ..ir.program import Program
from ..ir.schedule import schedule
from .rematerialization import LATE_VALUE_SHARE, late_values

MAX_CUT_VALUES = 64
"""Largest number of values in a cut that is worth two kernels."""
START, END = -1, -3
"""Source and sink of the flow network; values of a program are numbered from 0."""


class Parts(NamedTuple):
    """The same function, with the instructions that several parts need in each of them."""

    program: Program
    cuts: tuple[int, ...]
    """number of instructions before each part but the first"""


def split(program: Program, share: float = LATE_VALUE_SHARE) -> Parts | None:
    """The program in two parts, if it has a waist after :func:`.late_values`; each in an order for few registers."""
    waist = _min_cut(program, share)
    if not waist:
        return None
    lines, inputs, outputs = program.instructions, program.inputs, program.outputs
    before = _required_values(lines, waist, ())
    after = _required_values(lines, (x for x in outputs if isinstance(x, int)), waist)
    following = max([*inputs, *(line.value for line in lines)]) + 1
    copy: dict[int, int] = {}
    for x in [*inputs, *(line.value for line in lines)]:
        if x in after and (x in before or x in inputs):
            copy[x] = following
            following += 1
    first = [line for line in lines if line.value in before]
    second = [
        Instruction(copy.get(line.value, line.value), line.op, tuple(_renamed(copy, x) for x in line.operands))
        for line in lines
        if line.value in after
    ]
    inputs = inputs | {copy[x]: place for x, place in inputs.items() if x in copy}
    outputs = [x if x in waist else _renamed(copy, x) for x in outputs]
    first = schedule(first, inputs, sorted(waist))
    second = schedule(second, inputs, outputs)
    return Parts(replace(program, inputs=inputs, instructions=[*first, *second], outputs=outputs), (len(first),))


def split_last(parts: Parts, share: float = LATE_VALUE_SHARE) -> Parts | None:
    """With the last part in two, if that has a waist of its own."""
    program, (*_, start) = parts
    before, last = program.instructions[:start], program.instructions[start:]
    made = {line.value for line in before}
    used = {x for line in last for x in line.operands if isinstance(x, int)} | {*program.outputs}
    spilled = len(program.argument_sizes)
    handed = {x: Input(spilled, k) for k, x in enumerate(made & used)}
    inputs = {x: place for x, place in program.inputs.items() if x in used}
    more = split(replace(program, inputs=inputs | handed, instructions=last), share)
    if more is None:
        return None
    whence = {place: x for x, place in handed.items()}
    own = {x: whence[place] for x, place in more.program.inputs.items() if place in whence}  # no inputs of the whole
    lines = more.program.instructions
    lines = [line._replace(operands=tuple(_renamed(own, x) for x in line.operands)) for line in lines]
    outputs = [_renamed(own, x) for x in more.program.outputs]
    inputs = program.inputs | {x: place for x, place in more.program.inputs.items() if place not in whence}
    whole = replace(program, inputs=inputs, instructions=[*before, *lines], outputs=outputs)
    return Parts(whole, (*parts.cuts, start + more.cuts[0]))


def _renamed(copy: dict[int, int], x: object) -> object:
    return copy.get(x, x) if isinstance(x, int) else x


def _required_values(lines: list[Instruction], wanted: Iterable[int], given: Iterable[int]) -> set[int]:
    """Values, inputs among them, that it takes to compute ``wanted`` from the ``given`` ones and the inputs."""
    known, needed = set(given), set(wanted)
    needed -= known
    for line in reversed(lines):
        if line.value in needed:
            needed.update(x for x in line.operands if isinstance(x, int) and x not in known)
    return needed


def _min_cut(program: Program, share: float) -> set[int]:
    """The fewest values through which all that is late passes, nearest to the results; none if they are too many.

    A smallest set of vertices that separates what is late first from the results: as many as there are paths that have
    no vertex in common (Menger), each found in what the others leave (Ford and Fulkerson).
    """
    late = late_values(program, share)
    users = _users([line for line in program.instructions if line.value in late])
    used = {u for us in users.values() for u in us}
    arcs: dict[int, set[int]] = {START: {2 * v for v in users if v not in used}, END: set()}
    for v, us in users.items():  # 2 v: the way into a value, which one path can take; 2 v + 1: out of it
        # an arc of capacity 1 within each value: a minimum cut of arcs is then one of values
        arcs[2 * v], arcs[2 * v + 1] = {2 * v + 1}, {2 * u for u in us}
    for x in program.outputs:
        if isinstance(x, int) and x in late:
            arcs[2 * x + 1].add(END)
    for _ in range(MAX_CUT_VALUES + 1):
        path = _path(arcs)
        if not path:
            # values whose arc leads to the near side: of all minimum cuts the one nearest to the results
            near = _leading(arcs)
            return {v for v in users if 2 * v + 1 in near and 2 * v not in near}
        for a, b in pairwise(path):
            if a // 2 == b // 2 or a % 2 == 0 or b == END:  # else an arc from value to value, which has no limit
                arcs[a].remove(b)
            arcs[b].add(a)
    return set()


def _users(lines: list[Instruction]) -> dict[int, list[int]]:
    """Values of which each value is an operand."""
    users: dict[int, list[int]] = {line.value: [] for line in lines}
    for line in lines:
        for x in line.operands:
            if type(x) is int and x in users:
                users[x].append(line.value)
    return users


def _path(arcs: dict[int, set[int]]) -> list[int]:
    """A shortest way from START to END; none: no way."""
    came = {START: START}
    todo = [START]
    for a in todo:  # grows on the way
        for b in arcs[a]:
            if b not in came:
                came[b] = a
                todo.append(b)
        if END in came:
            path = [END]
            while path[-1] != START:
                path.append(came[path[-1]])
            return path[::-1]
    return []


def _leading(arcs: dict[int, set[int]]) -> set[int]:
    """From where there is a way to END."""
    into: dict[int, list[int]] = {}
    for a, bs in arcs.items():
        for b in bs:
            into.setdefault(b, []).append(a)
    near, todo = {END}, [END]
    for b in todo:
        fresh = [a for a in into.get(b, ()) if a not in near]
        near.update(fresh)
        todo += fresh
    return near
