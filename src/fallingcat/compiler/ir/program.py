"""A trace as a straight-line program: scheduled, fused, cut into chunks.

A program is a list of instructions, operands first, in an order that keeps few values waiting
(:mod:`fallingcat.compiler.ir.schedule`: mostly
depth first, which follows the robot branch by branch); products that are added at once become fused multiply-adds; and
the line is cut into chunks of some hundred instructions, so that compilers stay linear.  Values that live across a cut
go through a small workspace whose slots are reused.  Loops of the trace stay loops
(:mod:`fallingcat.compiler.ir.loops`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile
from typing import Any

import numpy as np

from ...arrays import Traced
from ...arrays.operations import CONDITIONS
from ...caching import cached_property
from .branches import nested_guards, nested_rounds, segments, uses, without_unused
from .fuse import fuse_multiply_add, lines_of
from .instructions import WORK, Chunk, Input, Instruction, Loop, Repeat
from .loops import Layout, levels, phases
from .schedule import schedule

CHUNK_WEIGHT = 150
"""Operations of a chunk."""
MAX_WHOLE_LENGTH = 10_000
"""Instructions of a program without loops up to which it stays whole in batches: values stay in registers."""
STORE_WEIGHT = 4
"""Weight of an output, in operations."""
MAX_REORDERED_LENGTH = 2_000
"""Instructions between loops that no guard skips, up to which several orders are tried."""
Owners = tuple[dict[int, int], dict[int, int]]
"""Guard of each value, and of each guard that it is within."""


@dataclass(frozen=True)
class Program:
    """Program that every emitter reads."""

    argument_sizes: tuple[int, ...]
    inputs: dict[int, Input]
    """input value -> where it comes from"""
    instructions: list[Instruction]
    outputs: list[Any]
    """for each place of the flat output a value or a float"""
    chunks: list[Chunk | Loop | Repeat]
    slots: int
    """size of the workspace, in values"""
    table: list[float] = field(default_factory=list)
    """constants that loops read"""
    clear: list[tuple[int, int]] = field(default_factory=list)
    """(first place, number) in the workspace: zero before anything else"""
    first_slot: int = 0
    """first free slot of the workspace; those before it are read and written by loops"""

    @cached_property
    def conditions(self) -> frozenset[int]:
        """Values that hold or do not; in the workspace they are 1 or 0."""
        lines = [*self.instructions, *(line for c in self.chunks if isinstance(c, Repeat) for line in c.instructions)]
        return frozenset(line.value for line in lines if line.op in CONDITIONS)

    @property
    def operations(self) -> dict[str, int]:
        """Number of operations of each kind; a fused multiply-add counts as ``fma``, what is repeated counts once."""
        counts = Counter(i.op for i in self.instructions)
        for loop in self.chunks:
            if isinstance(loop, (Loop, Repeat)):
                for line in loop.instructions:
                    counts[line.op] += loop.count if isinstance(loop, Loop) else 1
        return dict(counts)


def program(
    arguments: Sequence[np.ndarray], outputs: Iterable[Any], fuse: bool = True, chunk: int = CHUNK_WEIGHT
) -> Program:
    """The program that computes ``outputs`` (traced numbers and floats) from the traced inputs in ``arguments``."""
    flat = list(outputs)
    where = {x: Input(a, i) for a, argument in enumerate(arguments) for i, x in enumerate(argument.flat)}
    order = nodes_of(flat)
    number = {node: i for i, node in enumerate(order)}
    sizes = tuple(int(np.size(a)) for a in arguments)
    inputs = {number[x]: place for x, place in where.items() if x in number}
    results = [number[x] if isinstance(x, Traced) else float(x) for x in flat]
    if order and order[0].graph.loops:
        return _with_loops(order, number, inputs, results, sizes, fuse, chunk)
    lines = lines_of(order, number)
    lines = schedule(fuse_multiply_add(lines, results) if fuse else lines, inputs, results)
    chunks = [*_chunks(lines, _places(results), chunk), *_passed_through(results, lines, chunk)]
    return Program(sizes, inputs, lines, results, [*chunks], _connect(chunks))


def _with_loops(
    nodes: list[Traced],
    number: dict[Traced, int],
    inputs: dict[int, Input],
    results: list[Any],
    sizes: tuple[int, ...],
    fuse: bool,
    chunk: int,
) -> Program:
    """The same for a trace that keeps loops: stretches of straight line, and loops between them."""
    level = levels(nodes)
    phase = phases(nodes, number, level)
    layout = Layout(nodes, number, inputs, results, fuse, phase, level)
    lines = lines_of([n for n in nodes if n.op != "loop" and number[n] not in layout.places], number)
    lines = fuse_multiply_add(lines, [*results, *layout.kept]) if fuse else lines
    layout.settle(lines, results)
    by_phase: dict[int, list[Instruction]] = {}
    for line in lines:
        by_phase.setdefault(phase[line.value], []).append(line)
    roots = [*results, *layout.kept]
    guards = {number[x] for x in nodes[0].graph.guards if x in number}
    rounds = [step for p in range(-1, layout.last + 1) for step in layout.step(p) if isinstance(step, Repeat)]
    owners = [nested_rounds(repeat, guards) for repeat in rounds]
    always, by_rounds = [*results, *layout.always], _read_by_rounds(rounds, owners) if guards else {}
    owner, outer = nested_guards(lines, guards, always, by_rounds)
    if len(by_phase) > 1:
        known = {line.value: phase[line.value] for line in lines}
        roots += [
            x
            for value, _, operands in lines
            for own in (known[value],)
            for x in operands
            if type(x) is int and known.get(x, own) < own
        ]
    everywhere: list[Instruction] = []
    chunks: list[Chunk | Loop | Repeat] = []
    written = _places(results, layout.direct)
    for p in range(-1, 1 + max([layout.last, *by_phase])):
        for guard, part, needs, within in segments(by_phase.get(p, []), owner, roots, outer):
            mine = schedule(part, inputs, needs, MAX_REORDERED_LENGTH if guard is None else 0)
            everywhere += mine
            chunks += _chunks(mine, written, chunk, layout.kept, guard, within)
        chunks += layout.step(p)
    chunks += _passed_through(results, everywhere, chunk, layout.direct)
    slots = _connect([c for c in chunks if isinstance(c, Chunk)], layout.kept, layout.size)
    everything = {**inputs, **layout.places}
    for each, own in zip(rounds, owners, strict=True):
        slots = _round_chunks(each, inputs, chunk, slots, own)
        everything |= each.places
    return Program(sizes, everything, everywhere, results, chunks, slots, layout.table, layout.clear, layout.size)


def _read_by_rounds(rounds: list[Repeat], owners: list[Owners]) -> dict[int, set[int | None]]:
    """Guards under which loops that repeat read each value."""
    read: dict[int, set[int | None]] = {}
    for repeat, (owner, _) in zip(rounds, owners, strict=True):
        by = uses(repeat.instructions, owner, repeat.shared)
        for x in repeat.shared:
            read.setdefault(x, set()).update(by.get(x, {None}))
    return read


def _round_chunks(repeat: Repeat, inputs: dict[int, Input], chunk: int, first: int, owners: Owners) -> int:
    """The instructions of a round in chunks, whose own slots of the workspace begin at ``first``; where they end."""
    made = {line.value for line in repeat.instructions}
    kept: dict[int, list[int]] = {}
    repeat.parts = []
    passed_on = [Chunk([]) for _ in repeat.exits]
    for copies, (place, outputs) in zip(passed_on, repeat.exits, strict=True):
        for i, x in enumerate(outputs):
            if type(x) is int and x in made:
                kept.setdefault(x, []).append(place + i)
            elif not repeat.stays(i, x):
                copies.kept.append((place + i, x))
    rest, (owner, outer) = repeat.instructions, owners
    for copies, (_, outputs) in zip(passed_on, repeat.exits, strict=True):
        lines = without_unused(rest, outputs)
        known = {line.value for line in lines}
        rest = [line for line in rest if line.value not in known]
        repeat.parts.append([])
        for guard, part, needs, within in segments(lines, owner, outputs, outer):
            mine = schedule(part, inputs, needs, MAX_REORDERED_LENGTH if guard is None else 0)
            repeat.parts[-1] += _chunks(mine, {}, chunk, kept, guard, within)
        repeat.parts[-1].append(copies)
    slots = _connect(repeat.chunks, kept, first)
    outside = {x: place.offset for x, place in repeat.shared.items() if place.argument == WORK}
    for piece in repeat.chunks:
        read = [*_read(piece), *(x for _, x in piece.kept if type(x) is int)]
        piece.loads |= {x: outside[x] for x in read if x in outside}
    return slots


def recut(program: Program, chunk: int) -> Program:
    """The same program in one piece if it is no longer than ``chunk``; one with loops in its midst stays as it is.

    Compilers take more than linear time for long functions, and several of them are no faster than many short ones.
    """
    if len(program.instructions) > chunk:
        return program
    head = list(takewhile(lambda c: isinstance(c, Loop) or not c.instructions, program.chunks))
    tail = [c for c in program.chunks[len(head) :] if isinstance(c, Chunk)]
    if len(head) + len(tail) < len(program.chunks) or not tail or any(c.kept for c in tail):
        return program
    places: dict[int, list[int]] = {}
    for place, x in (item for c in tail if c.instructions for item in c.outputs):
        places.setdefault(x, []).append(place)
    rest = [c for c in tail if not c.instructions]
    pieces = [*_chunks(program.instructions, places, chunk), *rest]
    return replace(program, chunks=[*head, *pieces], slots=_connect(pieces, first=program.first_slot))


def nodes_of(outputs: Iterable[Any]) -> list[Traced]:
    """Nodes that the outputs need, each after its operands and as late as possible before its first use.

    From the last results on (which need the most).
    """
    order: list[Traced] = []
    todo = sorted({x for x in outputs if isinstance(x, Traced)}, key=lambda node: node.index)
    done = bytearray(1 + todo[-1].index if todo else 0)  # operands come before results
    while todo:
        node = todo[-1]
        if not done[node.index]:
            before = [a for a in reversed(node.args) if type(a) is Traced and not done[a.index]]
            if before:
                todo += before
                continue
            done[node.index] = True
            order.append(node)
        todo.pop()
    return order


def _places(results: list[Any], direct: Iterable[int] = ()) -> dict[int, list[int]]:
    """Places of each value in the output, but for those that a loop writes itself."""
    written = set(direct)
    places: dict[int, list[int]] = {}
    for place, x in enumerate(results):
        if isinstance(x, int) and place not in written:
            places.setdefault(x, []).append(place)
    return places


def _chunks(
    lines: list[Instruction],
    places: dict[int, list[int]],
    size: int,
    kept: dict[int, list[int]] | None = None,
    guard: int | None = None,
    within: int | None = None,
) -> list[Chunk]:
    """The program in pieces of similar weight, cut where few values wait; stores weigh more, for compilers."""
    kept = kept or {}
    stores = [len(places.get(line.value, ())) + len(kept.get(line.value, ())) for line in lines]
    weights = [1 + STORE_WEIGHT * count for count in stores]
    waiting = _live_counts(lines, kept)
    chunks: list[Chunk] = []
    start = 0
    while start < len(lines):
        end = _end(weights, waiting, start, size)
        chunk = Chunk(lines[start:end], guard=guard, within=within)
        for x in (line.value for line, count in zip(chunk.instructions, stores[start:end], strict=True) if count):
            chunk.outputs += [(place, x) for place in places.get(x, ())]
            chunk.kept += [(place, x) for place in kept.get(x, ())]
        chunks.append(chunk)
        start = end
    return chunks


def _live_counts(lines: list[Instruction], kept: dict[int, list[int]]) -> list[int]:
    """Number of values that would go through the workspace if the line were cut after each instruction."""
    last = {x: at for at, line in enumerate(lines) for x in line.operands if type(x) is int}
    change = [0] * (len(lines) + 1)
    for at, line in enumerate(lines):
        if line.value in last and line.value not in kept:
            change[at] += 1
            change[last[line.value]] -= 1
    return list(accumulate(change))


def _end(weights: list[int], waiting: list[int], start: int, size: int) -> int:
    """End of the chunk that begins at ``start``: the best place between two and four thirds of its weight."""
    weight, best = 0, start
    for at in range(start, len(weights)):
        weight += weights[at]
        if weight >= size * 2 // 3 and (best == start or waiting[at] <= waiting[best - 1]):
            best = at + 1
        if weight >= size * 4 // 3:
            return best
    return len(weights)


def _passed_through(results: list[Any], lines: list[Instruction], size: int, direct: Iterable[int] = ()) -> list[Chunk]:
    """The outputs that no instruction makes: constants, and inputs passed through."""
    made, written = {line.value for line in lines}, set(direct)
    rest = [(place, x) for place, x in enumerate(results) if x not in made or not isinstance(x, int)]
    rest = [item for item in rest if item[0] not in written]
    step = max(1, 2 * size)
    return [Chunk([], outputs=rest[i : i + step]) for i in range(0, len(rest), step)]


def _connect(chunks: list[Chunk], kept: dict[int, list[int]] | None = None, first: int = 0) -> int:
    """Gives slots of the workspace to values that live across chunks; how large it becomes."""
    made = {line.value: c for c, chunk in enumerate(chunks) for line in chunk.instructions}
    reads = [{*_read(chunk)} for chunk in chunks]
    last_use = {x: c for c, read in enumerate(reads) for x in read if x in made}
    free: list[int] = []
    slots = first
    slot_of = {x: places[0] for x, places in (kept or {}).items() if x in made}
    expiring: dict[int, list[int]] = {}
    for c, chunk in enumerate(chunks):
        chunk.loads.update({x: slot_of[x] for x in reads[c] if x in slot_of and made[x] != c})
        free.extend(expiring.pop(c, []))  # read here for the last time, so free for what is written here
        for line in chunk.instructions:
            if last_use.get(line.value, c) > c and line.value not in slot_of:
                if not free:
                    free.append(slots)
                    slots += 1
                slot = slot_of[line.value] = chunk.stores[line.value] = free.pop()
                expiring.setdefault(last_use[line.value], []).append(slot)
    return slots


def _read(chunk: Chunk) -> list[int]:
    """The values that a chunk's guards and instructions read, its own among them."""
    read = [x for line in chunk.instructions for x in line.operands if type(x) is int]
    return [*(guard for guard in (chunk.guard, chunk.within) if guard is not None), *read]
