"""Register allocation of straight-line code: values that a thread keeps in registers, and values that it spills.

A GPU thread has 255 registers.  What does not fit the compiler would spill to memory far away; here the value whose
next use is farthest goes to the thread's places in shared memory instead, and comes back before that use.  Inputs are
never laid aside: they are read again.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

from ..ir.instructions import Input, Instruction

LOAD_LOOKAHEAD = 24
"""Instructions between the load of a value and its use: they hide the latency of memory."""


class Step(NamedTuple):
    """One move: ``read`` an input, ``compute`` an instruction, ``spilled`` to or ``back`` from a place."""

    kind: str
    value: int
    place: int = -1
    line: Instruction | None = None


class Plan(NamedTuple):
    """The moves, and how many places in shared memory they need."""

    steps: list[Step]
    places: int


class Planner:
    """Finds moves that compute ``lines``."""

    def __init__(self, lines: Sequence[Instruction], inputs: dict[int, Input]) -> None:
        self._lines, self._inputs, self._next_uses = lines, inputs, _next_uses(lines)

    def plan(self, keep: int) -> Plan:
        """Steps with at most ``keep`` values in registers (a few more where one line needs them)."""
        found = self.plan_within(keep, inf)
        assert found is not None
        return found

    def plan_within(self, keep: int, most: float) -> Plan | None:
        """The same, unless it takes more than ``most`` places."""
        registers = _Registers(self._inputs, keep)
        for line, (operands, first) in zip(self._lines, self._next_uses, strict=True):
            for x in operands:
                if x not in registers.next_use:
                    registers.load(x, operands)
            for x, following in operands.items():
                registers.hold(x, following)
            registers.evict(operands)
            if registers.places > most:
                return None
            registers.steps.append(Step("compute", line.value, -1, line))
            registers.hold(line.value, first)
        return Plan(_reload_early(registers.steps), registers.places)


class _Registers:
    """Values in the registers of a thread, and the moves so far."""

    def __init__(self, inputs: dict[int, Input], keep: int) -> None:
        self.steps: list[Step] = []
        self.next_use: dict[int, int] = {}
        """line of the next use of each value in registers"""
        self.places = 0
        self._inputs, self._keep = inputs, keep
        self._farthest: list[tuple[int, int]] = []  # (-next use, value), some out of date
        self._spilled: dict[int, int] = {}  # value -> its place
        self._free: list[int] = []

    def hold(self, value: int, following: int | None) -> None:
        """Keep the value in a register until its ``following`` use; drop it if there is none."""
        if following is None:
            self.next_use.pop(value, None)
        else:
            self.next_use[value] = following
            heappush(self._farthest, (-following, value))

    def load(self, value: int, needed: Container[int]) -> None:
        """From its place, or from memory."""
        self.evict(needed)
        if value in self._spilled:
            place = self._spilled.pop(value)
            self.steps.append(Step("reload", value, place))
            self._free.append(place)  # a place is dear: whoever goes aside again gets a new one
        else:
            self.steps.append(Step("read", value))
        self.next_use[value] = -1

    def evict(self, needed: Container[int]) -> None:
        """Put aside what is used last, but for what is ``needed`` now."""
        stay = []
        while len(self.next_use) >= self._keep and self._farthest:
            when, value = heappop(self._farthest)
            # out of date: it was used since, and has an entry with its next use
            if self.next_use.get(value) != -when:
                continue
            if value in needed:
                stay.append((when, value))
                continue
            del self.next_use[value]
            if value not in self._inputs:
                self._spill(value)
        for item in stay:
            heappush(self._farthest, item)

    def _spill(self, value: int) -> None:
        if not self._free:
            self._free.append(self.places)
            self.places += 1
        self._spilled[value] = place = self._free.pop()
        self.steps.append(Step("spill", value, place))


def _next_uses(lines: Sequence[Instruction]) -> list[tuple[dict[int, int | None], int | None]]:
    """Operands of each line, with the number of the line that needs them next, and the first that needs its value.

    None: no line does.
    """
    next_use: dict[int, int] = {}
    found = []
    for at in reversed(range(len(lines))):
        value, _, xs = lines[at]
        operands = {x: next_use.get(x) for x in xs if type(x) is int}
        found.append((operands, next_use.get(value)))
        next_use.update(dict.fromkeys(operands, at))
    return found[::-1]


def prefetch_inputs(steps: list[Step], far: int) -> list[Step]:
    """Steps with inputs loaded so many instructions before their use, where the compiler does not move loads itself."""
    out: list[Step] = []
    for step in steps:
        moves = step.kind == "read"
        out.insert(_load_place(out, far, ("read", -1)) if moves else len(out), step)
    return out


def _load_place(steps: list[Step], far: int, stop: tuple[str, int]) -> int:
    """Place so many instructions before the end, or after the last step of this kind and place."""
    at, passed = len(steps), 0
    while at and passed < far and (steps[at - 1].kind, steps[at - 1].place) != stop:
        at -= 1
        passed += steps[at].kind == "compute"
    return at


def _reload_early(steps: list[Step]) -> list[Step]:
    """Steps with reloads some instructions before the use of the value, which hides the latency of memory."""
    out: list[Step] = []
    read: set[int] = set()
    for step in steps:
        # else the compiler moves it itself
        moves = step.kind == "reload" or (step.kind == "read" and step.value in read)
        at = _load_place(out, LOAD_LOOKAHEAD, ("spill", step.place)) if moves else len(out)
        read.add(step.value)
        out.insert(at, step)
    return out
