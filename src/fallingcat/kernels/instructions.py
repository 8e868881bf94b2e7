"""The records that a program is made of."""

from __future__ import annotations

from typing import Any, NamedTuple


class Instruction(NamedTuple):
    """``value = op(operands)``; an operand is the number of a value, or a float constant."""

    value: int
    op: str
    operands: tuple[Any, ...]


class Input(NamedTuple):
    """Where an input value comes from: number ``offset`` of the argument ``argument``."""

    argument: int
    offset: int
