"""Computing a value twice where that is cheaper than keeping it.

An algorithm that sweeps the robot inwards and then outwards again keeps what it found on the way in; what was cheap to
find (sines, velocities) is found again from the inputs on the way out, and a thread keeps half as many values.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.instructions import Input, Instruction
from ..ir.program import Program

COMMON_INPUT_SHARE = 0.5
"""An input that reaches this share of the results matters to all of the robot."""
LATE_VALUE_SHARE = 0.85
"""A value belongs to the way out if it depends on this share of such inputs."""
MAX_REPEATED_INSTRUCTIONS = 8
"""Instructions that may be repeated for each value that need not stay in registers."""


def recompute(program: Program, price: float = MAX_REPEATED_INSTRUCTIONS) -> Program:
    """The same function, with cheap values of the way in computed anew on the way out."""
    late = late_values(program)
    by = {line.value: line for line in program.instructions}
    wanted: dict[int, None] = {}
    for line in program.instructions:
        if line.value in late:
            wanted.update((x, None) for x in line.operands if isinstance(x, int) and x in by and x not in late)
    again = _worth_repeating(by, list(wanted), price)
    if not again:
        return program
    return _with_copies(program, late, again)


def late_values(program: Program, share: float = LATE_VALUE_SHARE) -> set[int]:
    """Values that depend on this ``share`` of the inputs that matter to all of the robot: those of the way out."""
    reaches: dict[int, int] = {}  # results, as the bits of a whole number
    for place, x in enumerate(program.outputs):
        if isinstance(x, int):
            reaches[x] = reaches.get(x, 0) | 1 << place
    for line in reversed(program.instructions):
        mine = reaches.get(line.value, 0)
        for x in line.operands:
            if isinstance(x, int):
                reaches[x] = reaches.get(x, 0) | mine
    many = COMMON_INPUT_SHARE * sum(isinstance(x, int) for x in program.outputs)
    shared = [x for x in program.inputs if reaches.get(x, 0).bit_count() >= many]
    depends = {x: 1 << k for k, x in enumerate(shared)}
    late = set()
    for line in program.instructions:
        mine = 0
        for x in line.operands:
            if isinstance(x, int):
                mine |= depends.get(x, 0)
        depends[line.value] = mine
        if shared and mine.bit_count() >= share * len(shared):
            late.add(line.value)
    return late


def _worth_repeating(by: dict[int, Instruction], wanted: list[int], price: float) -> set[int]:
    """The instructions to repeat: from the cheapest wanted value on, as long as each new one is worth its price."""
    needs: dict[int, int] = {}
    for at, line in enumerate(by.values()):
        needs[line.value] = 1 << at
        for x in line.operands:
            if isinstance(x, int) and x in needs:
                needs[line.value] |= needs[x]
    chosen = 0
    credit = 0.0
    waiting = sorted(wanted, key=lambda x: needs[x].bit_count())
    for x in waiting:
        new = (needs[x] & ~chosen).bit_count()
        # a group of values shares one preparation: three of them may pay for it
        if new <= 3 * price + min(credit, 3 * price):
            chosen |= needs[x]
            # what cheap values leave over pays for dearer ones later
            credit += price - new
    return {line.value for at, line in enumerate(by.values()) if chosen >> at & 1}


def _with_copies(program: Program, late: set[int], again: set[int]) -> Program:
    """``late`` instructions use copies of ``again``, which start from the inputs read anew."""
    following = max([*program.inputs, *(line.value for line in program.instructions)]) + 1
    inputs: dict[int, Input] = dict(program.inputs)
    copy: dict[int, int] = {}
    lines: list[Instruction] = []

    def copied(x: int) -> int:
        nonlocal following
        if x not in copy:
            copy[x] = following
            following += 1
            if x in program.inputs:
                inputs[copy[x]] = program.inputs[x]
        return copy[x]

    for line in program.instructions:
        if line.value in late:
            operands = tuple(copied(x) if isinstance(x, int) and x in again else x for x in line.operands)
            lines.append(line._replace(operands=operands))
            continue
        lines.append(line)
        if line.value in again:
            operands = tuple(copied(x) if isinstance(x, int) else x for x in line.operands)
            lines.append(Instruction(copied(line.value), line.op, operands))
    kept = _required_values(lines, program.outputs)
    return replace(program, inputs=inputs, instructions=[line for line in lines if line.value in kept])


def _required_values(lines: list[Instruction], outputs: list[object]) -> set[int]:
    needed = {x for x in outputs if isinstance(x, int)}
    for line in reversed(lines):
        if line.value in needed:
            needed.update(x for x in line.operands if isinstance(x, int))
    return needed
