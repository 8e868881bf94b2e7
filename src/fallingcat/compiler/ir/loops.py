"""Loops in a program: when they run, and where in memory the numbers lie that they read and write.

A loop does the same to several things, whose numbers lie side by side, so that SIMD lanes take several at a time.  What
scalar code makes for a loop it stores where the loop reads it; what a loop makes, later code (and later loops) read
where it lies, and rows of results that are rows of the output are written there at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...arrays import Traced
from ...arrays.loops import LoopBody, RepeatBody, rows_of
from .branches import without_unused
from .buffer_allocation import Areas
from .fuse import fuse_multiply_add, lines_of
from .instructions import OUT, TABLE, WORK, Chunk, Input, Instruction, Loop, Repeat

MIN_LOOP_SIZE = 4
"""Angles; fewer are not worth a loop."""

MIN_SEGMENT_SIZE = 8
"""Things in a segment of the output that a loop writes itself."""


def phases(nodes: Sequence[Traced], number: dict[Traced, int], level: dict[Traced, int]) -> dict[int, int]:
    """Stretch of straight line that computes each value: as late as its first use allows."""
    if not level:
        return dict.fromkeys(number.values(), 0)
    phase: dict[Traced, int] = {}
    for node in reversed(nodes):
        if node.op == "part":
            continue
        own = level[node] - 1 if node.op == "loop" else phase.setdefault(node, level[node])
        for a in node.args:
            if type(a) is Traced and phase.get(a, own) >= own:
                phase[a] = own
    return {number[node]: p for node, p in phase.items() if node.op not in ("loop", "part", "input")}


def levels(nodes: Sequence[Traced]) -> dict[Traced, int]:
    """First stretch in which each node can be computed; a loop comes before the stretch of its level.

    Nothing, where there are no loops.
    """
    level: dict[Traced, int] = {}
    if any(node.op == "loop" for node in nodes):
        for node in nodes:
            highest = 0
            for a in node.args:
                if type(a) is Traced and level[a] > highest:
                    highest = level[a]
            level[node] = highest + (node.op == "loop")
    return level


class Layout:
    """Places of everything that loops read and write."""

    def __init__(
        self,
        nodes: Sequence[Traced],
        number: dict[Traced, int],
        inputs: dict[int, Input],
        results: list[Any],
        fuse: bool,
        phase: dict[int, int],
        level: dict[Traced, int],
    ) -> None:
        self.table: list[float] = []
        self.kept: dict[int, list[int]] = {}
        """scalar value -> its places in the workspace"""
        self.always: set[int] = set()
        """scalar values that loops read in any case"""
        self.places: dict[int, Input] = {}
        """result of a loop -> where it lies"""
        self.direct: set[int] = set()
        """places of the output that loops write"""
        self._areas = Areas()
        self._number, self._inputs, self._fuse, self._phase = number, inputs, fuse, phase
        self._rows: dict[tuple[Any, ...], Input] = {}
        self._steps: dict[int, list[Chunk | Loop | Repeat]] = {}
        self._next = len(number)
        self._wanted: dict[int, list[int]] = {}
        for place, x in enumerate(results):
            if isinstance(x, int):
                self._wanted.setdefault(x, []).append(place)
        self._turn([node for node in nodes if node.op in ("sin", "cos") and node.args[0].op == "input"])
        parts: dict[Traced, dict[int, dict[int, int]]] = {}
        for node in nodes:
            if node.op == "part":
                loop, output, thing = node.args
                parts.setdefault(loop, {}).setdefault(output, {})[thing] = number[node]
        for node in sorted((node for node in level if node.op == "loop"), key=level.__getitem__):
            add = self._add_repeat if isinstance(node.args[0], RepeatBody) else self._add
            add(node, parts[node], level[node] - 1)

    @property
    def last(self) -> int:
        """The stretch after which the last loop comes."""
        return max(self._steps, default=0)

    @property
    def size(self) -> int:
        """Numbers in the workspace."""
        return self._areas.size

    @property
    def clear(self) -> list[tuple[int, int]]:
        """(first place, number): what must be zero from the start."""
        return self._areas.clear

    def step(self, phase: int) -> list[Chunk | Loop | Repeat]:
        """Instructions after a stretch of straight line: copies for loops, and loops."""
        return self._steps.get(phase, [])

    def settle(self, lines: Sequence[Instruction], results: Sequence[Any]) -> None:
        """Shares the workspace out, now that all is known that reads it."""
        known = {*self.places, *self.kept}
        for line in lines:
            for x in line.operands:
                if type(x) is int and x in known:
                    self._used(x, _time(self._phase[line.value]))
        for x in results:
            if type(x) is int:
                self._used(x, AFTER_ALL_STEPS)
        self._areas.settle()
        at = self._areas.place
        self.places = {x: Input(w.argument, at(w.offset)) if w.argument == WORK else w for x, w in self.places.items()}
        self.kept = {x: [at(k) for k in places] for x, places in self.kept.items()}
        for step in (step for steps in self._steps.values() for step in steps):
            step.move(at)

    def _used(self, x: int, time: int) -> None:
        place = self.places.get(x)
        if place and place.argument == WORK:
            self._areas.touch(place.offset, time)
        elif x in self.kept:
            self._areas.touch(self.kept[x][0], time)

    def _local(self, body: LoopBody) -> dict[Traced, int]:
        """Numbers of all values, with those inside a loop."""
        local = dict(self._number)
        for inner in (*body.symbols, *body.nodes):
            local[inner] = self._next
            self._next += 1
        return local

    def _add_repeat(self, node: Traced, parts: dict[int, dict[int, int]], phase: int) -> None:
        body: RepeatBody = node.args[0]
        local, steps = self._local(body), self._steps.setdefault(phase, [])
        now = _time(phase, len(steps))
        *sooner, outputs = [
            [local[x] if isinstance(x, Traced) else float(x) for x in exit_] for exit_ in (*body.sooner, body.outputs)
        ]
        kept = [x for exit_ in (*sooner, outputs) for x in exit_]
        lines = without_unused(lines_of(body.nodes, local), kept)
        lines = fuse_multiply_add(lines, kept) if self._fuse else lines
        first = [self._value(row[0]) for row in rows_of(node)]
        starts = [self._shared(x, now) if isinstance(x, int) else float(x) for x in first]
        self.always.update(x for x in first if isinstance(x, int))
        shared = {local[x]: self._shared(local[x], now) for x in body.shared_nodes}
        old, new = self._areas.room(len(first), now), self._areas.room(len(outputs) * (1 + len(sooner)), now)
        self.places.update({x: Input(WORK, old + i) for i, part in parts.items() for x in part.values()})
        symbols = [local[x] for x in body.symbols]
        steps.append(Repeat(body.max_steps, lines, outputs, sooner, symbols, starts, shared, old, new))

    def _add(self, node: Traced, parts: dict[int, dict[int, int]], phase: int) -> None:
        body: LoopBody = node.args[0]
        local = self._local(body)
        outputs = {r: local[body.outputs[r]] for r in parts}
        lines = without_unused(lines_of(body.nodes, local), outputs.values())
        lines = fuse_multiply_add(lines, list(outputs.values())) if self._fuse else lines
        used = {x for line in lines for x in line.operands if isinstance(x, int)}
        steps = self._steps.setdefault(phase, [])
        now = _time(phase, len(steps))
        copies: list[tuple[int, Any]] = []
        rows = {}
        for symbol, row in zip(body.symbols, rows_of(node), strict=True):
            if local[symbol] in used:
                rows[local[symbol]] = self._row(tuple(self._value(x) for x in row), copies, now)
        shared = {local[x]: self._shared(local[x], now) for x in body.shared_nodes if local[x] in used}
        self.always.update(shared)
        segments = [(0, 0)]
        results: list[tuple[Input, int]] = []
        for r, value in outputs.items():
            starts, segments = self._result(parts[r], body.count, segments, any(p.argument == OUT for p, _ in results))
            if not starts:
                starts = [Input(WORK, self._areas.room(body.count, now))]
                self.places.update({x: Input(WORK, starts[0].offset + k) for k, x in parts[r].items()})
            results += [(start, value) for start in starts]
        if copies:
            steps.append(Chunk([], kept=copies))
        steps.append(Loop(body.count, lines, rows, shared, results, segments))

    def _turn(self, nodes: list[Traced]) -> None:
        """Sines and cosines of inputs, all in one loop before everything else."""
        number, place = self._number, self._inputs
        angles = sorted({number[node.args[0]] for node in nodes}, key=place.__getitem__)
        if len(angles) < MIN_LOOP_SIZE:
            return
        copies: list[tuple[int, Any]] = []
        angle, lines, results = self._next, [], []
        self._next += 1
        for op in ("sin", "cos"):
            start = Input(WORK, self._areas.room(len(angles), BEFORE_ALL_STEPS))
            lines.append(Instruction(self._next, op, (angle,)))
            results.append((start, self._next))
            self._next += 1
            for node in nodes:
                if node.op == op:
                    at = start.offset + angles.index(number[node.args[0]])
                    self.places[number[node]] = Input(WORK, at)
        loop = Loop(
            len(angles), lines, {angle: self._row(tuple(angles), copies, BEFORE_ALL_STEPS)}, {}, results, [(0, 0)]
        )
        self._steps[-1] = [*([Chunk([], kept=copies)] if copies else []), loop]

    def _value(self, x: Any) -> Any:
        return self._number[x] if isinstance(x, Traced) else x

    def _place(self, x: Any) -> Input | None:
        return self._inputs.get(x) or self.places.get(x) if isinstance(x, int) else None

    def _row(self, row: tuple[Any, ...], copies: list[tuple[int, Any]], now: int) -> Input:
        """Place where the numbers of a row lie side by side; they are brought together if they do not."""
        key = tuple(map(repr, row))  # 1 is a value, 1.0 a constant
        if key not in self._rows:
            first = self._place(row[0])
            if all(type(x) is float for x in row):
                self._rows[key] = Input(TABLE, len(self.table))
                self.table += row
            elif first and all(self._place(x) == (first.argument, first.offset + k) for k, x in enumerate(row)):
                self._rows[key] = first
            else:
                self._rows[key] = Input(WORK, self._gather_row(row, copies, now))
        place = self._rows[key]
        if place.argument == WORK:
            self._areas.touch(place.offset, now)
        return place

    def _gather_row(self, row: tuple[Any, ...], copies: list[tuple[int, Any]], now: int) -> int:
        zeros = 4 * sum(type(x) is float and x == 0.0 for x in row) >= len(row)  # few are written like other numbers
        start = self._areas.room(len(row), now, zeros)
        for k, x in enumerate(row):
            if type(x) is float or self._place(x):
                if type(x) is int or x != 0.0 or not zeros:
                    copies.append((start + k, x))
                    if type(x) is int:
                        self._used(x, now)
            else:
                self.kept.setdefault(x, []).append(start + k)
                self.always.add(x)
                self._areas.touch(start, _time(self._phase[x]))
        return start

    def _shared(self, x: int, now: int) -> Input:
        place = self._place(x)
        if place is None:
            if x not in self.kept:
                self.kept[x] = [self._areas.room(1, _time(self._phase[x]))]
            place = Input(WORK, self.kept[x][0])
        if place.argument == WORK:
            self._areas.touch(place.offset, now)
        return place

    def _result(
        self, parts: dict[int, int], count: int, segments: list[tuple[int, int]], fixed: bool
    ) -> tuple[list[Input], list[tuple[int, int]]]:
        """First place in the output of a row of results, if it has its place (or several) there; segments of it."""
        wanted = [self._wanted.get(parts.get(k, -1), []) for k in range(count)]
        starts = []
        for copy in range(min(map(len, wanted))):
            places = [w[copy] for w in wanted]
            found = _segments(places)
            if found is not None and (found == segments or not fixed):
                segments, fixed = found, True
                self.direct.update(places)
                starts.append(Input(OUT, places[0]))
                if len(starts) == 1:
                    self.places.update({x: Input(OUT, places[k]) for k, x in parts.items()})
        return starts, segments


def _time(phase: int, step: int = -1) -> int:
    """Time of a stretch of straight line, or of a step after it."""
    return 1000 * phase + min(step, 900) + 1


BEFORE_ALL_STEPS, AFTER_ALL_STEPS = _time(-1, 0), _time(10**6)


def _segments(places: list[int]) -> list[tuple[int, int]] | None:
    """Positions where consecutive places jump; None where a stretch is short."""
    starts = [k for k in range(len(places)) if not k or places[k] != places[k - 1] + 1]
    ends = [*starts[1:], len(places)]
    if len(starts) > 1 and min(e - s for s, e in zip(starts, ends, strict=True)) < MIN_SEGMENT_SIZE:
        return None
    return [(k, places[k] - k - places[0]) for k in starts]
