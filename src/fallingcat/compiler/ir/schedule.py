"""An order of a program's instructions that keeps few values waiting: what a GPU thread has in registers.

Depth first from the result that needs most, the larger operand first (it follows the robot branch by branch); and
whatever is ready and frees as many values as it makes is done at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from .instructions import Input, Instruction

MAX_EXACT_INSTRUCTIONS = 15_000
"""Up to so many instructions the size of each expression is counted exactly; beyond, its depth stands in."""


def schedule(
    lines: Sequence[Instruction], inputs: dict[int, Input], results: Iterable[Any], longest: float = inf
) -> list[Instruction]:
    """Same instructions, operands first, in the best of a few such orders.

    More than ``longest`` instructions in the one that is nearly always the best.
    """
    at = {line.value: k for k, line in enumerate(lines)}  # from here on a value is the number of its instruction
    operands = [_unique([at[x] for x in line.operands if type(x) is int and x in at]) for line in lines]
    weight = _sizes(operands) if len(lines) <= MAX_EXACT_INSTRUCTIONS else _depths(operands)
    roots = list(dict.fromkeys(at[x] for x in results if isinstance(x, int) and x in at))
    starts: list[Callable[[int], int]] = [lambda k: -weight[k], lambda k: lines[k].value]
    sequences = [sorted(roots, key=start) for start in starts]
    if len(lines) > longest or sequences[0] == sequences[1]:
        del sequences[1:]
    users = _users(operands)
    heavier_last = [xs if len(xs) < 2 else sorted(xs, key=weight.__getitem__) for xs in operands]
    orders = [_depth_first_order(roots, operands, users, heavier_last) for roots in sequences]
    best = orders[0] if len(orders) == 1 else min(orders, key=lambda order: _max_live(order, operands))
    return _adjacent_sine_cosine([lines[k] for k in best])


def _adjacent_sine_cosine(lines: list[Instruction]) -> list[Instruction]:
    """Sine and cosine of one angle next to each other: they are computed together."""
    second: dict[Any, Instruction] = {}
    first: dict[Any, Instruction] = {}
    for line in lines:
        if line.op in ("sin", "cos"):
            if line.operands in first:
                second[line.operands] = line
            else:
                first[line.operands] = line
    moved = {line.value for line in second.values()}
    out: list[Instruction] = []
    for line in lines:
        if line.value not in moved:
            out.append(line)
            if line.op in ("sin", "cos") and line.operands in second:
                out.append(second[line.operands])
    return out


def waiting(lines: Sequence[Instruction]) -> int:
    """The largest number of values that wait for a later use at one time; inputs can be read again and do not count."""
    made = {line.value for line in lines}
    operands = {line.value: [x for x in line.operands if type(x) is int and x in made] for line in lines}
    return _max_live([*operands], operands)


def _max_live(order: list[int], operands: dict[int, list[int]] | list[list[int]]) -> int:
    alive: set[int] = set()
    most = 0
    for v in reversed(order):
        alive.update(operands[v])
        if len(alive) > most:
            most = len(alive)
        alive.discard(v)
    return most


def _unique(values: list[int]) -> list[int]:
    return values if len(values) < 2 or len({*values}) == len(values) else list(dict.fromkeys(values))


def _sizes(operands: list[list[int]]) -> list[int]:
    """Number of instructions that each value needs, itself included (sets as the bits of whole numbers)."""
    sets: list[int] = []
    for at, xs in enumerate(operands):
        mine = 1 << at
        for x in xs:
            mine |= sets[x]
        sets.append(mine)
    return [mine.bit_count() for mine in sets]


def _depths(operands: list[list[int]]) -> list[int]:
    depth: list[int] = []
    for xs in operands:
        depth.append(1 + max((depth[x] for x in xs), default=0))
    return depth


def _users(operands: list[list[int]]) -> list[list[int]]:
    """For each value those that it is an operand of."""
    users: list[list[int]] = [[] for _ in operands]
    for v, xs in enumerate(operands):
        for x in xs:
            users[x].append(v)
    return users


def _depth_first_order(
    roots: list[int], operands: list[list[int]], users: list[list[int]], heavier_last: list[list[int]]
) -> list[int]:
    """Depth first from the roots, the heavier operand first; at once whatever frees as many values as it makes."""
    order, done = [], bytearray(len(operands))
    uses = [len(xs) for xs in users]  # how often a value will still be used
    missing = [len(xs) for xs in operands]  # how many operands of a value are not there yet
    todo = roots[::-1]
    while todo:
        v = todo[-1]
        if missing[v]:
            todo += [x for x in heavier_last[v] if not done[x]]
            continue
        todo.pop()
        if done[v]:
            continue
        done[v] = True
        order.append(v)
        near = []  # what has become ready, and what is ready and has come to be the last use of an operand
        for u in users[v]:
            missing[u] -= 1
            if not missing[u]:
                near.append(u)
        for x in operands[v]:
            uses[x] -= 1
            if uses[x] == 1:
                near += [u for u in users[x] if not missing[u] and not done[u]]
        todo += [u for u in near if not users[u] or 1 in [uses[x] for x in operands[u]]]
    return order
