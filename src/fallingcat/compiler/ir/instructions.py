"""The records that a program is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Instruction(NamedTuple):
    """``value = op(operands)``; an operand is the number of a value, or a float constant."""

    value: int
    op: str
    operands: tuple[Any, ...]


WORK, OUT, TABLE = -1, -2, -3
"""In the place of an argument: the workspace, the outputs, the program's constants."""


class Input(NamedTuple):
    """Place of a value in memory: number ``offset`` of the argument ``argument`` (or of WORK, OUT, TABLE)."""

    argument: int
    offset: int


@dataclass
class Chunk:
    """A stretch of the program, with what it takes from and leaves in the workspace (value -> slot)."""

    instructions: list[Instruction]
    loads: dict[int, int] = field(default_factory=dict)
    stores: dict[int, int] = field(default_factory=dict)
    outputs: list[tuple[int, Any]] = field(default_factory=list)
    """(place in the flat output, value or float)"""
    kept: list[tuple[int, Any]] = field(default_factory=list)
    """(place in the workspace, value or float): what loops read"""
    guard: int | None = None
    """condition without which it is skipped, but for its choices by that: see :mod:`.branches`"""
    within: int | None = None
    """condition without which it is skipped with its choices"""

    def move(self, to: Callable[[int], int]) -> None:
        """Other places in the workspace."""
        self.kept = [(to(place), x) for place, x in self.kept]

    @property
    def choices(self) -> list[int]:
        """Values that it leaves where it is skipped."""
        left = [*self.stores, *(x for _, x in (*self.kept, *self.outputs))]
        known = self.otherwise
        return [x for x in left if x in known]

    @property
    def otherwise(self) -> dict[int, Any]:
        """Values of its choices (values or floats) where it is skipped."""
        found: dict[int, Any] = {}
        for line in self.instructions:
            if line.op == "select" and line.operands[0] == self.guard:
                found[line.value] = found.get(line.operands[2], line.operands[2])
        return found


@dataclass
class Loop:
    """The same instructions for each of ``count`` things, whose numbers lie side by side in memory."""

    count: int
    instructions: list[Instruction]
    rows: dict[int, Input]
    """value -> where the numbers start that it takes from thing to thing"""
    shared: dict[int, Input]
    """value -> where the number is that all use"""
    results: list[tuple[Input, int]]
    """start of the numbers that a value takes, and the value"""
    segments: list[tuple[int, int]]
    """(first thing, shift): from this one on, results in OUT lie so much further on"""

    def move(self, to: Callable[[int], int]) -> None:
        """Other places in the workspace."""

        def moved(place: Input) -> Input:
            return Input(WORK, to(place.offset)) if place.argument == WORK else place

        self.rows = {x: moved(place) for x, place in self.rows.items()}
        self.shared = {x: moved(place) for x, place in self.shared.items()}
        self.results = [(moved(place), x) for place, x in self.results]


@dataclass
class Repeat:
    """Chunks again and again: each round makes new numbers out of those that the last one left.

    And a number that is positive when they have arrived.
    """

    most: int
    """rounds"""
    instructions: list[Instruction]
    outputs: list[Any]
    """the new numbers (values or floats), and whether they have arrived"""
    sooner: list[list[Any]]
    """outputs after each part of the round at which it may end, if they have arrived there"""
    symbols: list[int]
    """values: the numbers of the last round"""
    starts: list[Any]
    """first values of these numbers: inputs or floats"""
    shared: dict[int, Input]
    """value -> where the number is that all rounds use"""
    old: int
    """place of the numbers of the last round in the workspace"""
    new: int
    """place of the numbers of this round, followed by the flag that they have arrived"""
    parts: list[list[Chunk]] = field(default_factory=list)
    """chunks up to each place at which a round may end"""

    def move(self, to: Callable[[int], int]) -> None:
        """Other places in the workspace."""

        def moved(place: Any) -> Any:
            return Input(WORK, to(place.offset)) if isinstance(place, Input) and place.argument == WORK else place

        self.starts = [moved(place) for place in self.starts]
        self.shared = {x: moved(place) for x, place in self.shared.items()}
        self.old, self.new = to(self.old), to(self.new)

    @property
    def exits(self) -> list[tuple[int, list[Any]]]:
        """Points where a round may end: where in the workspace numbers lie by then, and which they are."""
        every = [self.outputs, *self.sooner]
        placed = [(self.new + k * len(self.outputs), exit_) for k, exit_ in enumerate(every)]
        return [*placed[1:], placed[0]]

    @property
    def chunks(self) -> list[Chunk]:
        """Chunks of the whole round."""
        return [chunk for part in self.parts for chunk in part]

    def stays(self, i: int, x: Any) -> bool:
        """True if ``x``, the new number ``i``, is the old one."""
        return i < len(self.symbols) and type(x) is int and x == self.symbols[i]

    @property
    def places(self) -> dict[int, Input]:
        """Places of the numbers of the last round, by value."""
        return {x: Input(WORK, self.old + i) for i, x in enumerate(self.symbols)}
