"""Results shared out among stages that need nothing of each other.

What a robot's limb adds to the equations depends on little else than its own joints, once it is known how the whole
robot moves (:mod:`fallingcat.compiler.cuda.min_cut`).  So each stage computes all that some of the results need, from
that and from the inputs; what two stages need is computed in both, and nothing passes between them through memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import NamedTuple

from ..ir.instructions import Instruction
from ..ir.program import Program
from ..ir.schedule import schedule
from .min_cut import Parts
from .stages import costs


class Shares(NamedTuple):
    """A program whose last parts are in no order yet."""

    program: Program
    cuts: tuple[int, ...]
    """number of instructions before each part but the first"""
    results: list[list[int]]
    """results of each of the last parts"""

    @property
    def ordered(self) -> Parts:
        """With each of them in an order for few registers."""
        lines, inputs, first = self.program.instructions, self.program.inputs, len(self.cuts) - len(self.results)
        ordered = lines[: self.cuts[first]]
        for (a, b), results in zip(pairwise([*self.cuts[first:], len(lines)]), self.results, strict=True):
            ordered += schedule(lines[a:b], inputs, results)
        return Parts(replace(self.program, instructions=ordered), self.cuts)


def split_outputs(parts: Parts, dtype: str, largest: float) -> Shares:
    """With the last part in several, each of about ``largest`` machine instructions for some of the results."""
    program, (*cuts, start) = parts
    last = program.instructions[start:]
    fresh = count(max([*program.inputs, *(line.value for line in program.instructions)]) + 1)
    lines = program.instructions[:start]
    names: dict[int, int] = {}  # result -> its value in the part that makes it
    made: set[int] = set()
    clusters = _clusters(program, last, dtype, largest)
    for cone, results in clusters:
        mine = [line for line, bit in zip(last, reversed(f"{cone:0{len(last)}b}"), strict=True) if bit == "1"]
        copy = dict(zip((line.value for line in mine if line.value in made), fresh, strict=False))
        made.update(line.value for line in mine)
        names.update((x, copy.get(x, x)) for x in results)
        cuts.append(len(lines))
        lines += _renamed(mine, copy)
    outputs = [names.get(x, x) if isinstance(x, int) else x for x in program.outputs]
    shared = replace(program, instructions=lines, outputs=outputs)
    return Shares(shared, tuple(cuts), [[names[x] for x in results] for _, results in clusters])


def _clusters(
    program: Program, lines: Sequence[Instruction], dtype: str, largest: float
) -> list[tuple[int, list[int]]]:
    """Groups of results, with the instructions that they need as the bits of a whole number.

    Each group of results goes where most of its instructions are already, if there is room.
    """
    needs = _needs(lines)
    most = largest * len(lines) / sum(costs(lines, dtype))
    found: list[tuple[int, list[int]]] = []
    for results in _alike(program, lines, needs):
        cone = 0
        for x in results:
            cone |= needs[x]
        fits = [k for k, (other, _) in enumerate(found) if (cone | other).bit_count() <= most]
        best = max(fits, key=lambda k: (cone & found[k][0]).bit_count(), default=len(found))
        if best == len(found):
            found.append((0, []))
        found[best] = (found[best][0] | cone, [*found[best][1], *results])
    return found


def _needs(lines: Sequence[Instruction]) -> dict[int, int]:
    """For each value the instructions that it needs."""
    needs: dict[int, int] = {}
    for at, line in enumerate(lines):
        mine = 1 << at
        for x in line.operands:
            if isinstance(x, int):
                mine |= needs.get(x, 0)
        needs[line.value] = mine
    return needs


def _alike(program: Program, lines: Sequence[Instruction], needs: dict[int, int]) -> list[list[int]]:
    """The results that these instructions make, those of the same inputs together; the longest first."""
    bit = {place: 1 << k for k, place in enumerate(dict.fromkeys(program.inputs.values()))}
    depends = {x: bit[place] for x, place in program.inputs.items()}
    for line in lines:
        depends[line.value] = 0
        for x in line.operands:
            if isinstance(x, int):
                depends[line.value] |= depends.get(x, 0)
    alike: dict[int, list[int]] = defaultdict(list)
    for x in dict.fromkeys(x for x in program.outputs if isinstance(x, int) and x in needs):
        alike[depends[x]].append(x)
    return sorted(alike.values(), key=lambda results: -max(needs[x].bit_count() for x in results))


def _renamed(lines: list[Instruction], copy: dict[int, int]) -> list[Instruction]:
    return [
        Instruction(copy.get(value, value), op, tuple(copy.get(x, x) if isinstance(x, int) else x for x in operands))
        for value, op, operands in lines
    ]
