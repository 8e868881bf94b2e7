"""An order of a program's instructions that keeps few values waiting: what a GPU thread has in registers.

Depth first from the result that needs most, the larger operand first (it follows the robot branch by branch); and
whatever is ready and frees as many values as it makes is done at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .instructions import Input, Instruction

SMALL = 15_000
"""Up to so many instructions the size of each expression is counted exactly; beyond, its depth stands in."""


def schedule(lines: Sequence[Instruction], inputs: dict[int, Input], results: Iterable[Any]) -> list[Instruction]:
    """The same instructions, operands first, in the best of a few such orders."""
    by = {line.value: line for line in lines}
    operands = {line.value: _operands(line, by) for line in lines}
    weight = _sizes(lines, operands) if len(lines) <= SMALL else _depths(lines, operands)
    roots = list(dict.fromkeys(x for x in results if isinstance(x, int) and x in by))
    starts: list[Callable[[int], int]] = [lambda v: -weight[v], lambda v: v]
    orders = [_eager(sorted(roots, key=start), operands, weight) for start in starts]
    best = min(orders, key=lambda order: waiting(order, operands))
    return _paired([by[v] for v in best])


def _paired(lines: list[Instruction]) -> list[Instruction]:
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


def waiting(order: Sequence[int], operands: dict[int, list[int]]) -> int:
    """The largest number of values that wait for a later use at one time; inputs can be read again and do not count."""
    last = {x: at for at, v in enumerate(order) for x in operands[v]}
    ends: dict[int, int] = {}
    alive = most = 0
    for at, v in enumerate(order):
        if v in last:
            alive += 1
            ends[last[v]] = ends.get(last[v], 0) + 1
        most = max(most, alive)
        alive -= ends.pop(at, 0)
    return most


def _operands(line: Instruction, by: dict[int, Instruction]) -> list[int]:
    return list(dict.fromkeys(x for x in line.operands if isinstance(x, int) and x in by))


def _sizes(lines: Sequence[Instruction], operands: dict[int, list[int]]) -> dict[int, int]:
    """How many instructions each value needs, itself included (sets as the bits of whole numbers)."""
    sets: dict[int, int] = {}
    for at, line in enumerate(lines):
        mine = 1 << at
        for x in operands[line.value]:
            mine |= sets[x]
        sets[line.value] = mine
    return {value: mine.bit_count() for value, mine in sets.items()}


def _depths(lines: Sequence[Instruction], operands: dict[int, list[int]]) -> dict[int, int]:
    depth: dict[int, int] = {}
    for line in lines:
        depth[line.value] = 1 + max((depth[x] for x in operands[line.value]), default=0)
    return depth


def _eager(roots: list[int], operands: dict[int, list[int]], weight: dict[int, int]) -> list[int]:
    users: dict[int, list[int]] = {v: [] for v in operands}
    for v, xs in operands.items():
        for x in xs:
            users[x].append(v)
    uses = {v: len(us) for v, us in users.items()}
    missing = {v: len(xs) for v, xs in operands.items()}
    order: list[int] = []
    done: set[int] = set()

    def emit(first: int) -> None:
        todo = [first]
        while todo:
            v = todo.pop()
            if v in done:
                continue
            done.add(v)
            order.append(v)
            near = []  # what this may have made ready, or worth doing at once
            for u in users[v]:
                missing[u] -= 1
                if not missing[u]:
                    near.append(u)
            for x in operands[v]:
                uses[x] -= 1
                if uses[x] == 1:
                    near += [u for u in users[x] if u not in done and not missing[u]]
            # at once what frees as many values as it makes
            todo += [u for u in near if not users[u] or any(uses[x] == 1 for x in operands[u])]

    for root in roots:
        stack = [(root, False)]
        while stack:
            v, ready = stack.pop()
            if v in done:
                continue
            if ready:
                emit(v)
                continue
            stack.append((v, True))
            waiting = [x for x in operands[v] if x not in done]
            if len(waiting) > 1:
                waiting.sort(key=weight.__getitem__)
            stack.extend([(x, False) for x in waiting])
    return order
