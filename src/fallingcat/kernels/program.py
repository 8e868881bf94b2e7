"""A trace as a straight-line program: scheduled, fused, cut into chunks.

A program is a list of instructions, operands first.  Of a few orders the one that keeps the fewest values waiting is
taken (mostly depth first, which follows the robot branch by branch) and improved by :mod:`.schedule`; products that are
added at once become fused multiply-adds; and the line is cut into chunks of some hundred instructions, so that
compilers stay linear.  Values that live across a cut go through a small workspace whose slots are reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Traced
from .instructions import Input, Instruction
from .schedule import schedule

CHUNK = 800  # weight of a chunk, in operations
STORE = 4  # weight of an output


@dataclass
class Chunk:
    """A stretch of the program, with what it takes from and leaves in the workspace (value -> slot)."""

    instructions: list[Instruction]
    loads: dict[int, int] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    outputs: list[tuple[int, Any]] = field(default_factory=list)
    """(place in the flat output, value or float)"""


@dataclass(frozen=True)
class Program:
    """What every emitter reads."""

    argument_sizes: tuple[int, ...]
    inputs: dict[int, Input]
    """input value -> where it comes from"""
    instructions: list[Instruction]
    outputs: list[Any]
    """for each place of the flat output a value or a float"""
    chunks: list[Chunk]
    slots: int
    """size of the workspace, in values"""

    @property
    def operations(self) -> dict[str, int]:
        """How many operations of each kind; a fused multiply-add counts as ``fma``."""
        return dict(Counter(i.op for i in self.instructions))


def program(arguments: Sequence[np.ndarray], outputs: Iterable[Any], fuse: bool = True, chunk: int = CHUNK) -> Program:
    """The program that computes ``outputs`` (traced numbers and floats) from the traced inputs in ``arguments``."""
    flat = list(outputs)
    where = {x: Input(a, i) for a, argument in enumerate(arguments) for i, x in enumerate(argument.flat)}
    order = min(_orders(flat), key=_alive)
    number = {node: i for i, node in enumerate(order)}
    inputs = {number[x]: place for x, place in where.items() if x in number}
    lines = [
        Instruction(number[node], node.op, tuple(number[a] if isinstance(a, Traced) else a for a in node.args))
        for node in order
        if node.op != "input"
    ]
    results = [number[x] if isinstance(x, Traced) else float(x) for x in flat]
    lines = schedule(_fuse(lines, results) if fuse else lines, inputs, results)
    chunks, slots = _cut(lines, inputs, results, chunk)
    sizes = tuple(int(np.size(a)) for a in arguments)
    return Program(sizes, inputs, lines, results, chunks, slots)


def _orders(outputs: list[Any]) -> Iterator[list[Traced]]:
    """Candidates: as written, and depth first from the last results (which need the most) with either operand first."""
    roots = sorted({x for x in outputs if isinstance(x, Traced)}, key=lambda node: -node.index)
    first = _depth_first(roots, late_first=False)
    yield first
    yield _depth_first(roots, late_first=True)
    yield sorted(first, key=lambda node: node.index)


def _depth_first(roots: list[Traced], late_first: bool) -> list[Traced]:
    """All nodes that the roots need, each after its operands and as late as possible before its first use."""
    order: list[Traced] = []
    done: set[Traced] = set()
    for root in roots:
        stack = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done.add(node)
                order.append(node)
                continue
            stack.append((node, True))
            operands = [a for a in node.args if isinstance(a, Traced) and a not in done]
            if late_first:
                operands.sort(key=lambda a: -a.index)
            stack.extend((a, False) for a in reversed(operands))
    return order


def _alive(order: list[Traced]) -> int:
    """How many values wait for a later use, summed over the program: what registers and caches must hold."""
    last: dict[Traced, int] = {}
    for at, node in enumerate(order):
        for a in node.args:
            if isinstance(a, Traced) and a.op != "input":
                last[a] = at
    return sum(last[node] - at for at, node in enumerate(order) if node in last)


def _fuse(lines: list[Instruction], results: list[Any]) -> list[Instruction]:
    """``a * b + c`` in one operation where the product has no other use: ``fma(a, b, c)``, ``fnma``: ``c - a *
    b``, ``fms``.
    """
    uses = Counter(x for line in lines for x in line.operands if isinstance(x, int))
    uses.update(x for x in results if isinstance(x, int))
    products = {line.value: line for line in lines if line.op == "mul" and uses[line.value] == 1}
    taken: set[int] = set()
    out: list[Instruction] = []
    for line in lines:
        fused = _fused(line, products, taken) if line.op in ("add", "sub") else None
        out.append(line if fused is None else fused)
    return [line for line in out if line.value not in taken]


def _fused(line: Instruction, products: dict[int, Instruction], taken: set[int]) -> Instruction | None:
    a, b = line.operands
    for product, other, op in (
        (b, a, "fma" if line.op == "add" else "fnma"),
        (a, b, "fma" if line.op == "add" else "fms"),
    ):
        if isinstance(product, int) and product in products and product not in taken and product != other:
            taken.add(product)
            return Instruction(line.value, op, (*products[product].operands, other))
    return None


def _chunks(lines: list[Instruction], results: list[Any], size: int) -> list[Chunk]:
    """The program in pieces of similar weight; a store weighs more than an operation, for compilers."""
    places: dict[int, list[int]] = {}
    for place, x in enumerate(results):
        if isinstance(x, int):
            places.setdefault(x, []).append(place)
    chunks, weight = [Chunk([])], 0
    for line in lines:
        if weight >= size:
            chunks.append(Chunk([]))
            weight = 0
        chunks[-1].instructions.append(line)
        outputs = places.pop(line.value, [])
        chunks[-1].outputs += [(place, line.value) for place in outputs]
        weight += 1 + STORE * len(outputs)
    # constants, and inputs passed through
    rest = [(place, x) for place, x in enumerate(results) if not isinstance(x, int) or x in places]
    step = max(1, size // STORE)
    chunks += [Chunk([], outputs=rest[i : i + step]) for i in range(0, len(rest), step)]
    return chunks


def _cut(lines: list[Instruction], inputs: dict[int, Input], results: list[Any], size: int) -> tuple[list[Chunk], int]:
    """Chunks of about ``size`` instructions, and the number of workspace slots between them."""
    chunks = _chunks(lines, results, size)
    last_use: dict[int, int] = {}
    for c, chunk in enumerate(chunks):
        for line in chunk.instructions:
            for x in line.operands:
                if isinstance(x, int) and x not in inputs:
                    last_use[x] = c
    free: list[int] = []
    slots = 0
    slot_of: dict[int, int] = {}
    expiring: dict[int, list[int]] = {}
    for c, chunk in enumerate(chunks):
        for line in chunk.instructions:
            for x in line.operands:
                if isinstance(x, int) and x in slot_of:
                    chunk.loads[x] = slot_of[x]
        free.extend(expiring.pop(c, []))  # read here for the last time, so free for what is written here
        for line in chunk.instructions:
            if last_use.get(line.value, c) > c:
                if not free:
                    free.append(slots)
                    slots += 1
                slot = slot_of[line.value] = chunk.stores[line.value] = free.pop()
                expiring.setdefault(last_use[line.value], []).append(slot)
    return chunks, slots
