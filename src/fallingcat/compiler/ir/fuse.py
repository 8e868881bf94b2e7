"""Expressions as instructions, and products that are added at once as one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ...arrays import Traced
from .instructions import Instruction


def lines_of(nodes: Iterable[Traced], number: dict[Traced, int]) -> list[Instruction]:
    """Instructions on numbered values; what has no number yet (an input, a symbol) makes none."""
    make = tuple.__new__  # without the arguments by name of a record: there are a hundred thousand
    return [
        make(Instruction, (number[node], node.op, tuple([number[a] if type(a) is Traced else a for a in node.args])))
        for node in nodes
        if node.op not in ("input", "symbol")
    ]


def fuse_multiply_add(lines: list[Instruction], results: list[Any]) -> list[Instruction]:
    """Instructions with ``a * b + c`` in one operation where the product has no other use.

    ``fma(a, b, c)``, ``fnma``: ``c - a * b``, ``fms``.
    """
    uses = Counter([x for line in lines for x in line.operands if type(x) is int])
    uses.update([x for x in results if type(x) is int])
    # a product with a second use would be computed twice, and rounded differently
    products = {line.value: line for line in lines if line.op == "mul" and uses[line.value] == 1}
    taken: set[int] = set()
    out = [_fused_instruction(line, products, taken) if line.op in ("add", "sub") else line for line in lines]
    return [line for line in out if line.value not in taken]


def _fused_instruction(line: Instruction, products: dict[int, Instruction], taken: set[int]) -> Instruction:
    a, b = line.operands
    if type(b) is int and b in products and b not in taken and b != a:
        taken.add(b)
        return Instruction(line.value, "fma" if line.op == "add" else "fnma", (*products[b].operands, a))
    if type(a) is int and a in products and a not in taken and a != b:
        taken.add(a)
        return Instruction(line.value, "fma" if line.op == "add" else "fms", (*products[a].operands, b))
    return line
