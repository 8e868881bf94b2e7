"""Branches: instructions that only a condition asks for, which are skipped where it does not hold.

:func:`.branch` marks a condition as a guard.  Its choices ``select(guard, a, b)`` and all that nothing but their ``a``
needs form stretches of their own; a processor that finds the guard false goes on with ``b``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .instructions import Instruction, Repeat

MIN_BRANCH = 24
"""Instructions; to skip fewer takes longer than to do them."""


class Stretch(NamedTuple):
    """Instructions that are done one after the other, or skipped together."""

    guard: int | None
    """condition without which they are skipped"""
    lines: list[Instruction]
    roots: list[int]
    """values that others need"""


def guarded(
    lines: Sequence[Instruction],
    guards: Collection[int],
    results: Iterable[Any],
    elsewhere: Mapping[int, set[int | None]] | None = None,
) -> dict[int, int]:
    """Guard of each value that nothing else asks for.

    ``results`` are needed in any case; ``elsewhere`` are guards of the uses of values by other instructions.
    """
    if not guards:
        return {}
    asked: dict[int, set[int | None]] = {x: set(by) for x, by in (elsewhere or {}).items()}
    for x in results:
        if type(x) is int:
            asked.setdefault(x, set()).add(None)
    owner: dict[int, int] = {}
    for line in reversed(lines):
        by, chosen = asked.get(line.value, {None}), line.op == "select" and line.operands[0] in guards
        own: int | None = line.operands[0] if chosen else None
        if not chosen and len(by) == 1 and line.value not in guards:
            own = next(iter(by))
        if own is not None:
            owner[line.value] = own
        for k, x in enumerate(line.operands):
            if type(x) is int:
                asked.setdefault(x, set()).add(own if not chosen or k == 1 else None)
    count: dict[int, int] = {}
    for guard in owner.values():
        count[guard] = count.get(guard, 0) + 1
    return {x: guard for x, guard in owner.items() if count[guard] >= MIN_BRANCH}


def guarded_rounds(repeat: Repeat, guards: Collection[int]) -> dict[int, int]:
    """The same of the values of a round, at any of whose ends all outputs are needed."""
    return guarded(repeat.instructions, guards, [x for _, outputs in repeat.exits for x in outputs])


def uses(lines: Sequence[Instruction], owner: Mapping[int, int]) -> dict[int, set[int | None]]:
    """Guards under which instructions read each value; None: in any case."""
    found: dict[int, set[int | None]] = {}
    for line in lines:
        own = owner.get(line.value)
        for k, x in enumerate(line.operands):
            if type(x) is int:
                chosen = line.op == "select" and line.operands[0] == own and k != 1
                found.setdefault(x, set()).add(None if chosen else own)
    return found


def stretches(lines: list[Instruction], owner: Mapping[int, int], results: Collection[Any]) -> list[Stretch]:
    """Instructions in an order in which those of a guard are together wherever they can be.

    A value has the level of its operands, and one more when it leaves the branch of one of them: branches of one level
    do not depend on each other.
    """
    if not any(line.value in owner for line in lines):
        return [Stretch(None, lines, [x for x in results if type(x) is int])] if lines else []
    level: dict[int, int] = {}
    groups: dict[tuple[int, bool, int | None], list[Instruction]] = {}
    for line in lines:
        own = owner.get(line.value)
        before = [x for x in line.operands if type(x) is int and x in level]
        level[line.value] = max((level[x] + (owner.get(x) not in (None, own)) for x in before), default=0)
        groups.setdefault((level[line.value], own is not None, own), []).append(line)
    place = {line.value: key for key, group in groups.items() for line in group}
    needed = {x for x in results if type(x) is int}
    needed |= {x for line in lines for x in line.operands if type(x) is int and place.get(x) != place[line.value]}
    order = sorted(groups, key=lambda key: key[:2])
    return [Stretch(key[2], groups[key], [x.value for x in groups[key] if x.value in needed]) for key in order]
