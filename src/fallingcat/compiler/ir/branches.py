"""Branches: instructions that only a condition asks for, which are skipped where it does not hold.

:func:`.branch` marks a condition as a guard.  Its choices ``select(guard, a, b)`` and all that nothing but their ``a``
needs form stretches of their own; a processor that finds the guard false goes on with ``b``.  Where nothing but the
``a`` of another guard needs all these choices, the one is within the other, without which not even they are made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .instructions import Instruction, Repeat

MIN_BRANCH = 24
"""Instructions; to skip fewer takes longer than to do them."""


class Segment(NamedTuple):
    """Instructions that are done one after the other, or skipped together."""

    guard: int | None
    """condition without which they are skipped"""
    lines: list[Instruction]
    roots: list[int]
    """values that others need"""
    within: int | None = None
    """guard without which not even its choices are needed"""


def guards_of_values(
    lines: Sequence[Instruction],
    guards: Collection[int],
    results: Iterable[Any],
    elsewhere: Mapping[int, set[int | None]] | None = None,
    outer: Mapping[int | None, int] | None = None,
) -> dict[int, int]:
    """Guard of each value that nothing else asks for; of what several ask for, the one that these are within.

    ``results`` are needed in any case; ``elsewhere`` are guards of the uses of values by other instructions, ``outer``
    those that guards are within.
    """
    if not guards:
        return {}
    outer, alone = outer or {}, {guard: frozenset([guard]) for guard in (None, *guards)}
    asked = {x: frozenset(by) for x, by in (elsewhere or {}).items()}
    for x in results:
        if type(x) is int:
            asked[x] = asked.get(x, alone[None]) | alone[None]
    owner: dict[int, int] = {}
    for value, op, operands in reversed(lines):
        chosen = op == "select" and operands[0] in guards
        own: int | None = operands[0] if chosen else None
        if not chosen and value not in guards:
            by = asked.get(value, alone[None])
            by = by if len(by) == 1 else frozenset(outer.get(guard, guard) for guard in by)
            own = next(iter(by)) if len(by) == 1 else None
        if own is not None:
            owner[value] = own
        for k, x in enumerate(operands):
            if type(x) is int:
                known, mine = asked.get(x), alone[own if not chosen or k == 1 else None]
                if known is not mine:
                    asked[x] = mine if known is None else known | mine
    count = Counter(owner.values())
    # counted at the end: a guard with few values of its own is no branch, and those stay with what is always done
    return {x: guard for x, guard in owner.items() if count[guard] >= MIN_BRANCH}


def nested_guards(
    lines: Sequence[Instruction],
    guards: Collection[int],
    results: Sequence[Any],
    elsewhere: Mapping[int, set[int | None]] | None = None,
) -> tuple[dict[int, int], dict[int, int]]:
    """Guard of each value, see :func:`guards_of_values`, and the guard that each guard is within."""
    if not guards:
        return {}, {}
    owner = guards_of_values(lines, guards, results, elsewhere)
    outer = outer_guards(lines, owner, results, elsewhere)
    return guards_of_values(lines, guards, results, elsewhere, outer) if outer else owner, outer  # type: ignore[arg-type]


def nested_rounds(repeat: Repeat, guards: Collection[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The same of the values of a round, at any of whose ends all outputs are needed."""
    return nested_guards(repeat.instructions, guards, [x for _, outputs in repeat.exits for x in outputs])


def uses(lines: Iterable[Instruction], owner: Mapping[int, int], values: Collection[int]) -> dict[int, set[int | None]]:
    """Guards under which instructions read each of some values; None: in any case."""
    found = defaultdict[int, set[int | None]](set)
    for value, op, operands in lines:
        own = owner.get(value)
        chosen = op == "select" and operands[0] == own
        for k, x in enumerate(operands):
            if type(x) is int and x in values:
                found[x].add(None if chosen and k != 1 else own)
    return found


def outer_guards(
    lines: Sequence[Instruction],
    owner: Mapping[int, int],
    results: Iterable[Any],
    elsewhere: Mapping[int, set[int | None]] | None = None,
) -> dict[int, int]:
    """Guard that each guard is within, where there is one: all of its choices are needed under that alone."""
    choices = {line.value: line.operands[0] for line in lines if line.op == "select" and line.value in owner}
    choices = {x: guard for x, guard in choices.items() if owner[x] == guard}
    asked, known = uses(lines, owner, choices), {x for x in results if type(x) is int}
    by: dict[int, set[int | None]] = {}
    for x, own in choices.items():
        wanted = asked.get(x, set()) | (elsewhere or {}).get(x, set()) | ({None} if x in known else set())
        by.setdefault(own, set()).update(wanted - {own})
    found = {guard: asks.pop() for guard, asks in by.items() if len(asks) == 1}
    inner = {guard: outer for guard, outer in found.items() if outer is not None}
    return {guard: outer for guard, outer in inner.items() if outer not in inner}  # one in another, no more


def segments(
    lines: list[Instruction], owner: Mapping[int, int], results: Collection[Any], outer: Mapping[int, int] | None = None
) -> list[Segment]:
    """Instructions in an order in which those of a guard, and of what it is within, are together wherever they can be.

    A value has the level of its operands, and one more when it leaves the branch of one of them: branches of one level
    do not depend on each other.  Guards are known before what they guard.
    """
    if not any(line.value in owner for line in lines):
        return [Segment(None, lines, [x for x in results if type(x) is int])] if lines else []
    within, level = outer or {}, _levels(lines, owner, outer or {})
    groups: dict[tuple[int, bool, int | None], list[Instruction]] = {}
    for line in lines:
        own = owner.get(line.value)
        groups.setdefault((level[line.value], own is not None, own), []).append(line)
    place = {line.value: key for key, group in groups.items() for line in group}
    needed = {x for x in results if type(x) is int}
    needed |= {x for line in lines for x in line.operands if type(x) is int and place.get(x) != place[line.value]}
    order = sorted(groups, key=lambda key: (*key[:2], _common_guard(within, key[2]) or -1))
    made = ((key[2], groups[key], [x.value for x in groups[key] if x.value in needed]) for key in order)
    return [Segment(*about, _common_guard(within, about[0])) for about in made]


def _levels(lines: list[Instruction], owner: Mapping[int, int], outer: Mapping[int, int]) -> dict[int, int]:
    """Level of each value.

    Guards may come after what they guard: their levels are found first, from what they are made of.
    """
    guards = {*owner.values(), *outer.values()}
    first, known = without_unused(lines, guards), dict.fromkeys(guards, 0)
    while (found := _levels_after(first, owner, outer, known)) and any(found.get(x, 0) != known[x] for x in guards):
        known = {guard: found.get(guard, 0) for guard in guards}
    return _levels_after(lines, owner, outer, known)


def _levels_after(
    lines: list[Instruction], owner: Mapping[int, int], outer: Mapping[int, int], known: Mapping[int, int]
) -> dict[int, int]:
    """Level of each value, given those of guards."""
    level: dict[int, int] = {}
    for line in lines:
        own = owner.get(line.value)
        most = 0 if own is None else max(known[own], known[outer.get(own, own)])
        for x in line.operands:
            if type(x) is int and x in level:
                most = max(most, level[x] + (owner.get(x, own) != own))
        level[line.value] = most
    return level


def without_unused(lines: list[Instruction], results: Iterable[Any]) -> list[Instruction]:
    """Instructions without those whose results are not used."""
    wanted = set(results)
    for line in reversed(lines):
        if line.value in wanted:
            wanted.update([x for x in line.operands if type(x) is int])
    return [line for line in lines if line.value in wanted]


def _common_guard(outer: Mapping[int, int], guard: int | None) -> int | None:
    return None if guard is None else outer.get(guard)
