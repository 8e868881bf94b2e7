"""Loops over many things of a state, as a stage of its own: columns of products and of linear equations.

Written out, a product of dense matrices is ten thousands of instructions that are used once; as a loop over its columns
it is some hundred.  So loops of the trace (:func:`fallingcat.arrays.map`) stay loops where all things share more than
each has of its own, as columns share the matrix before them, and the straight line between them is cut into stages.
So do rounds that are taken until a state has arrived (:func:`fallingcat.arrays.while_loop`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Traced
from ...arrays.loops import LoopBody, RepeatBody, repeats, rows_of
from ..ir.branches import without_unused
from ..ir.fuse import fuse_multiply_add, lines_of
from ..ir.instructions import Input, Instruction
from ..ir.loops import levels, phases
from ..ir.program import Program, nodes_of
from ..ir.schedule import schedule, waiting
from .plan_search import fastest
from .stages import MAX_STAGE_INSTRUCTIONS, Stage, Stages


class Target(NamedTuple):
    """Place of a result: of the flat output or, ``spilled``, of the workspace; maybe its negative."""

    place: int
    negative: bool = False
    spilled: bool = False


class RepeatedInstructions(NamedTuple):
    """The same instructions for each of many ``things`` of a state."""

    lines: list[Instruction]
    things: int
    rows: dict[int, tuple[int | float, ...]]
    """value -> for each thing its place in the workspace (``~place``: in the results), or a number"""
    shared: dict[int, int]
    """value -> its place, likewise"""
    results: dict[int, list[list[Target]]]
    """value -> for each thing where it goes"""

    @property
    def alive(self) -> int:
        """The most values of one thing that wait at a time, what was read of it among them."""
        reading = {x: Instruction(x, "row", ()) for x in self.rows}
        order: dict[int, Instruction] = {}
        for line in self.lines:
            order.update((x, reading[x]) for x in line.operands if type(x) is int and x in reading)
            order[line.value] = line
        return waiting([*order.values()])

    @property
    def reads(self) -> int:
        """Values of the workspace that it reads for one state."""
        return len({x for row in self.rows.values() for x in row if isinstance(x, int)} | set(self.shared.values()))

    @property
    def writes(self) -> int:
        """Values that it writes for one state."""
        return sum(len(targets) for result in self.results.values() for targets in result)


LAST_ROUND = -1
"""In the place of an argument: what the last round left."""
MAX_COMMON_ROUNDS = 2
"""Rounds after which most states have arrived, so that most threads of a warp would wait for others."""
KEEP, EXIT = "keep", "exit"
"""Instructions of rounds: keep a number, and end the rounds where it is positive."""


class ListedStates(NamedTuple):
    """States of which a list says the numbers, in the workspace: those that rounds have left over."""

    many: int
    """place in whose first number it is how many there are; it must be 0 before"""
    who: int
    """place of the list itself"""
    kept: dict[int, int]
    """result that rounds read -> its place"""


class Rounds(NamedTuple):
    """The same instructions again and again, ``most`` times at most, until an EXIT among them is taken."""

    lines: list[Instruction]
    inputs: dict[int, Input]
    """value -> where it comes from: the workspace or, CARRIED, a result of the last round"""
    keeps: dict[int, int]
    """instruction that is a KEEP -> which result"""
    starts: Mapping[int, int | float]
    """result that rounds read -> its place in the workspace at first, or its number"""
    targets: dict[int, list[Target]]
    """result -> where it goes in the end"""
    most: int
    taken: ListedStates | None = None
    """states that take part; None: all"""
    left: ListedStates | None = None
    """states that have not arrived, on which another kernel goes on"""


def stays(body: LoopBody) -> bool:
    """True if a loop stays one on the GPU."""
    return repeats(body) or dense(body)


def dense(body: LoopBody) -> bool:
    """True if all things of a loop share more than each has, and they come to a stage or more."""
    return len(body.shared_nodes) >= len(body.symbols) and body.count * len(body.nodes) >= MAX_STAGE_INSTRUCTIONS


def split_into_stages(arguments: Sequence[np.ndarray], outputs: Sequence[Any], dtype: str) -> Stages:
    """The stages that compute ``outputs`` (traced numbers and floats) from the traced inputs in ``arguments``."""
    return _TraceSplit(arguments, outputs).stages(dtype)


class _TraceSplit:
    """Trace as stretches of straight line, and loops between them.

    What one hands to another has a place in the workspace.
    """

    def __init__(self, arguments: Sequence[np.ndarray], outputs: Sequence[Any]) -> None:
        self._sizes = tuple(int(np.size(a)) for a in arguments)
        nodes = nodes_of(outputs)
        self._number = {node: k for k, node in enumerate(nodes)}
        where = {x: Input(a, i) for a, argument in enumerate(arguments) for i, x in enumerate(argument.flat)}
        self._inputs = {self._number[x]: place for x, place in where.items() if x in self._number}
        self._level = levels(nodes)
        self._loops = [node for node in nodes if node.op == "loop"]
        self._parts = {self._number[node]: node.args for node in nodes if node.op == "part"}
        self._constants = [(place, float(x)) for place, x in enumerate(outputs) if not isinstance(x, Traced)]
        self._targets: dict[int, list[Target]] = defaultdict(list)
        """value -> where it goes"""
        for place, x in enumerate(outputs):
            if isinstance(x, Traced):
                node, negative = _without_sign(x)
                self._targets[self._number[node]].append(Target(place, negative))
        self._stretches = self._cut_at_loops(_dependencies([nodes[k] for k in self._targets], nodes))
        results = {x: ~goals[0].place for x, goals in self._targets.items() if goals and not goals[0].negative}
        looped, others = self._read_by_loops(), self._read_by_others()
        self._places = {x: results[x] for x in looped if x in results and x not in others}
        """value -> its place in the workspace; ``~place``: a result, which loops read where it was written"""
        spilled = [x for x in looped | others if x not in self._places]
        self._places |= {x: k for k, x in enumerate(spilled)}
        for k, x in enumerate(spilled):
            self._targets[x].append(Target(k, spilled=True))
        self._size = len(spilled)
        self._zeros: list[int] = []
        self._looped = [(self._level[loops[0]], self._in_stages(loops)) for loops in self._merged_loops()]

    def _cut_at_loops(self, nodes: list[Traced]) -> dict[int, list[Traced]]:
        """The stretches of straight line by number, each before the loops of the next level."""
        phase = phases(nodes, self._number, self._level)
        segments: dict[int, list[Traced]] = {0: []}
        for node in nodes:
            if node.op not in ("input", "loop", "part"):
                segments.setdefault(phase[self._number[node]], []).append(node)
        return segments

    def _read_by_loops(self) -> dict[int, None]:
        """Values that loops over things read."""
        loops = [loop for loop in self._loops if not repeats(loop.args[0])]
        return {self._number[x]: None for loop in loops for x in loop.args if isinstance(x, Traced)}

    def _read_by_others(self) -> dict[int, None]:
        """Values that rounds read, and those that a stretch reads and does not make."""
        number, rounds = self._number, [loop for loop in self._loops if repeats(loop.args[0])]
        found = {number[x]: None for loop in rounds for x in loop.args if isinstance(x, Traced)}
        for stretch in self._stretches.values():
            made = {number[node] for node in stretch}
            read = {number[x]: None for node in stretch for x in node.args if isinstance(x, Traced)}
            found.update((x, None) for x in read if x not in made and x not in self._inputs)
        return found

    def stages(self, dtype: str) -> Stages:
        made: list[Stage | RepeatedInstructions | Rounds] = []
        places = self._size
        last = max([*self._stretches, *(self._level[loop] for loop in self._loops)])
        for p in range(last + 1):
            made += [stage for level, stages in self._looped if level == p for stage in stages]
            if p in self._stretches:
                some = self._straight(self._stretches[p], p == 0, dtype)
                made += some.stages
                places = max(places, some.places)
        return Stages(made, places)

    def _straight(self, nodes: list[Traced], first: bool, dtype: str) -> Stages:
        """One stretch; the ``first`` also writes what is no expression, and hands inputs over."""
        values = {self._number[node]: None for node in nodes}
        handed = {x: Input(len(self._sizes), k) for x, k in self._places.items() if k >= 0 and x not in values}
        sources = [*(self._inputs if first else ()), *values]
        goals: list[tuple[Target, Any]] = [(target, x) for x in sources for target in self._targets.get(x, ())]
        if first:
            goals += [(Target(place), x) for place, x in self._constants]
            goals += [(Target(place, spilled=True), 0.0) for place in self._zeros]
        goals.sort(key=lambda goal: (goal[0].spilled, goal[0].place))
        targets, results = [target for target, _ in goals], [x for _, x in goals]
        lines = fuse_multiply_add(lines_of(nodes, self._number), results)
        used = {x for line in lines for x in line.operands if isinstance(x, int)} | {*results}
        inputs = {x: place for x, place in (handed | self._inputs).items() if x in used}
        lines = schedule(lines, inputs, results)
        found = fastest(Program((*self._sizes, len(handed)), inputs, lines, results, [], 0), dtype)
        return Stages([self._with_targets(stage, targets) for stage in found.stages], found.places + self._size)

    def _with_targets(self, stage: Stage, targets: Sequence[Target]) -> Stage:
        """A stage of a stretch whose result ``k`` goes to ``targets[k]``; its own places follow those handed over."""
        workspace, above = len(self._sizes), self._size
        own = {x: Input(workspace, above + k) for x, (a, k) in stage.inputs.items() if a > workspace}
        outputs = [(targets[k].place, x) for k, x in stage.outputs if not targets[k].spilled]
        spilled = [(targets[k].place, x) for k, x in stage.outputs if targets[k].spilled]
        stores = [*((above + k, x) for k, x in stage.stores), *spilled]
        return stage._replace(inputs=stage.inputs | own, outputs=outputs, stores=stores)

    def _merged_loops(self) -> list[list[Traced]]:
        """A loop goes with one over as many things that shares all that it shares: that is read once."""
        groups: list[list[Traced]] = []
        for loop in sorted(self._loops, key=lambda loop: -len(loop.args[0].shared_nodes)):
            group = next((group for group in groups if self._can_merge(loop, group[0])), None)
            if group:
                group.append(loop)
            else:
                groups.append([loop])
        return groups

    def _can_merge(self, loop: Traced, larger: Traced) -> bool:
        one, other = loop.args[0], larger.args[0]
        alike = self._level[loop] == self._level[larger] and one.count == other.count
        return alike and not repeats(one) and not repeats(other) and {*one.shared_nodes} <= {*other.shared_nodes}

    def _local(self, *bodies: LoopBody) -> dict[Traced, int]:
        """Numbers of all values, with those inside loops."""
        inner = (x for body in bodies for x in (*body.symbols, *body.nodes))
        return self._number | {x: len(self._number) + k for k, x in enumerate(inner)}

    def _in_stages(self, loops: list[Traced]) -> list[RepeatedInstructions | Rounds]:
        """Rounds in two: what a few of them have left over goes on in warps of its own."""
        if not repeats(loops[0].args[0]):
            return [self._repeated(loops)]
        whole = self._rounds(loops[0])
        if whole.most <= MAX_COMMON_ROUNDS:
            return [whole]
        own = range(self._size, self._size + 2 + len(whole.starts))
        some = ListedStates(own[0], own[1], dict(zip(whole.starts, own[2:], strict=True)))
        self._size = own.stop
        self._zeros.append(some.many)
        return [
            whole._replace(most=MAX_COMMON_ROUNDS, left=some),
            whole._replace(most=whole.most - MAX_COMMON_ROUNDS, starts=some.kept, taken=some),
        ]

    def _rounds(self, loop: Traced) -> Rounds:
        body: RepeatBody = loop.args[0]
        local = self._local(body)
        exits = [[local[x] if isinstance(x, Traced) else float(x) for x in way] for way in (*body.sooner, body.outputs)]
        results = [x for way in exits for x in way]
        lines = fuse_multiply_add(without_unused(lines_of(body.nodes, local), results), results)
        targets = {k: self._targets[x] for x, (own, k, _) in self._parts.items() if own is loop}
        used = {x for line in lines for x in line.operands if isinstance(x, int)} | {*results}
        starts = {
            k: self._places[self._number[x]] if isinstance(x, Traced) else float(x)
            for k, (x,) in enumerate(rows_of(loop))
            if local[body.symbols[k]] in used
        }
        lines, keeps = _with_exits(lines, exits, [*targets], [*dict.fromkeys([*starts, *targets])], len(local))
        inputs = {local[x]: Input(LAST_ROUND, k) for k, x in enumerate(body.symbols)}
        inputs |= {local[x]: Input(len(self._sizes), self._places[self._number[x]]) for x in body.shared_nodes}
        used = {x for line in lines for x in line.operands if isinstance(x, int)}
        inputs = {x: at for x, at in inputs.items() if x in used}
        return Rounds(lines, inputs, keeps, starts, targets, body.max_steps)

    def _repeated(self, loops: list[Traced]) -> RepeatedInstructions:
        """Loops over the same things, as one."""
        bodies: list[LoopBody] = [loop.args[0] for loop in loops]
        local = self._local(*bodies)
        known: dict[tuple[int | float, ...], int] = {}
        for loop, body in zip(loops, bodies, strict=True):
            for symbol, row in zip(body.symbols, rows_of(loop), strict=True):
                places = tuple(self._places[self._number[x]] if isinstance(x, Traced) else float(x) for x in row)
                local[symbol] = known.setdefault(places, local[symbol])
        rows = {x: places for places, x in known.items()}
        results: dict[int, list[list[Target]]] = {}
        for x, (own, output, thing) in self._parts.items():
            if own in loops:
                value = local[own.args[0].outputs[output]]
                results.setdefault(value, [[] for _ in rows_of(own)[0]])[thing] += self._targets[x]
        lines = fuse_multiply_add(
            without_unused(lines_of([x for body in bodies for x in body.nodes], local), results), [*results]
        )
        used = {x for line in lines for x in line.operands if isinstance(x, int)}
        rows = {x: row for x, row in rows.items() if x in used}
        shared = {
            local[x]: self._places[self._number[x]] for body in bodies for x in body.shared_nodes if local[x] in used
        }
        orders = (lines, schedule(lines, {}, [*results]))
        return min(
            (RepeatedInstructions(x, bodies[0].count, rows, shared, results) for x in orders), key=lambda way: way.alive
        )


def _with_exits(
    lines: list[Instruction], exits: list[list[Any]], asked: list[int], carried: list[int], following: int
) -> tuple[list[Instruction], dict[int, int]]:
    """Round in the order of its exits.

    What is ``asked`` for is kept before each of them, after the last one what is ``carried`` on too.
    """
    numbers, keeps, ordered, done = count(following), dict[int, int](), list[Instruction](), set[int]()
    for way in exits:
        kept = {next(numbers): k for k in (carried if way is exits[-1] else asked)}
        keeping = [Instruction(value, KEEP, (way[k],)) for value, k in kept.items()]
        mine = [line for line in without_unused([*lines, *keeping], [*kept, way[-1]]) if line.value not in done]
        ordered += [*schedule(mine, {}, [*kept, way[-1]]), Instruction(next(numbers), EXIT, (way[-1],))]
        done |= {line.value for line in mine}
        keeps |= kept
    return ordered, keeps


def _without_sign(x: Traced) -> tuple[Traced, bool]:
    """Value to be written, and if negative: that of what a loop makes needs no instruction of its own."""
    negative = x.op == "neg" and x.args[0].op == "part"
    return (x.args[0], True) if negative else (x, False)


def _dependencies(goals: Iterable[Traced], nodes: Sequence[Traced]) -> list[Traced]:
    """Those of ``nodes`` (operands first) that it takes to compute the goals, which are among them."""
    wanted = set(goals)
    for node in reversed(nodes):
        if node in wanted:
            wanted.update(a for a in node.args if type(a) is Traced)
    return [node for node in nodes if node in wanted]
