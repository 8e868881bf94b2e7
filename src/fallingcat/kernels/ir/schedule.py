"""An order of a program's instructions that keeps few values waiting: what a GPU thread has in registers.

Depth first from the result that needs most, the larger operand first (it follows the robot branch by branch); and
whatever is ready and frees as many values as it makes is done at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from math import inf
from typing import Any, TypeVar

from .instructions import Input, Instruction

T = TypeVar("T")

SMALL = 15_000
"""Up to so many instructions the size of each expression is counted exactly; beyond, its depth stands in."""


def schedule(
    lines: Sequence[Instruction], inputs: dict[int, Input], results: Iterable[Any], longest: float = inf
) -> list[Instruction]:
    """The same instructions, operands first, in the best of a few such orders; more than ``longest`` instructions in
    the one that is nearly always the best.
    """
    by = {line.value: line for line in lines}
    operands = operands_of(lines)
    weight = _sizes(lines, operands) if len(lines) <= SMALL else _depths(lines, operands)
    roots = list(dict.fromkeys(x for x in results if isinstance(x, int) and x in by))
    starts: list[Callable[[int], int]] = [lambda v: -weight[v], lambda v: v]
    sequences = [sorted(roots, key=start) for start in starts]
    if len(lines) > longest or sequences[0] == sequences[1]:
        del sequences[1:]
    orders = [_eager(sequence, operands, weight) for sequence in sequences]
    best = orders[0] if len(orders) == 1 else min(orders, key=lambda order: waiting(order, operands))
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


def operands_of(lines: Sequence[Instruction]) -> dict[int, list[int]]:
    """value -> those of its operands that these instructions make, each once."""
    made = {line.value for line in lines}
    known = {line.value: [x for x in line.operands if type(x) is int and x in made] for line in lines}
    return {value: xs if len(xs) < 2 else list(dict.fromkeys(xs)) for value, xs in known.items()}


def users_of(operands: dict[int, list[int]]) -> dict[int, list[int]]:
    """value -> the values that it is an operand of."""
    users: dict[int, list[int]] = {v: [] for v in operands}
    for v, xs in operands.items():
        for x in xs:
            users[x].append(v)
    return users


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
    """Depth first from the roots, the heavier operand first; at once whatever frees as many values as it makes."""
    growing = _Growing(operands)
    ordered = {v: xs if len(xs) < 2 else sorted(xs, key=weight.__getitem__) for v, xs in operands.items()}
    depth_first(roots, ordered.__getitem__, growing.emit, growing.done)
    return growing.order


class _Growing:
    """An order of values that grows."""

    def __init__(self, operands: dict[int, list[int]]) -> None:
        self.order: list[int] = []
        self.done: set[int] = set()
        self._operands, self._users = operands, users_of(operands)
        self._uses = {v: len(users) for v, users in self._users.items()}
        """how often a value will still be used"""
        self._missing = {v: len(xs) for v, xs in operands.items()}
        """how many operands of a value are not there yet"""

    def emit(self, value: int) -> None:
        """This value, and whatever frees as many values as it makes once it is there."""
        todo = [value]
        while todo:
            v = todo.pop()
            if v not in self.done:
                self.done.add(v)
                self.order.append(v)
                todo += [u for u in self._near(v) if self._frees(u)]

    def _near(self, v: int) -> list[int]:
        """What ``v`` has made ready, and what is ready and has come to be the last use of an operand of ``v``."""
        near = []
        for u in self._users[v]:
            self._missing[u] -= 1
            if not self._missing[u]:
                near.append(u)
        for x in self._operands[v]:
            self._uses[x] -= 1
            if self._uses[x] == 1:
                near += [u for u in self._users[x] if u not in self.done and not self._missing[u]]
        return near

    def _frees(self, v: int) -> bool:
        return not self._users[v] or any(self._uses[x] == 1 for x in self._operands[v])


def depth_first(
    roots: Iterable[T], before: Callable[[T], Iterable[T]], visit: Callable[[T], None], done: Container[T]
) -> None:
    """Visits the roots, each after what it needs: ``before(x)``, the last of them first.  Visits add to ``done``."""
    for root in roots:
        stack = [(root, False)]
        while stack:
            x, ready = stack.pop()
            if x in done:
                continue
            todo = [] if ready else [(y, False) for y in before(x) if y not in done]
            if not todo:
                visit(x)
            else:
                stack.append((x, True))
                stack += todo
