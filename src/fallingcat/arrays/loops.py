"""The nodes of a loop: ``loop(body, shared..., row by row what differs)``, and ``part(loop, output, thing)``."""

from __future__ import annotations

from typing import Any

from .operations import OPERATIONS
from .traced import Traced


class LoopBody:
    """Body of a loop over ``count`` things: ``outputs`` of ``symbols`` and of ``shared_nodes``."""

    __slots__ = ("count", "nodes", "outputs", "shared_nodes", "symbols")

    def __init__(self, symbols: list[Traced], outputs: list[Any], count: int) -> None:
        self.symbols, self.outputs, self.count = symbols, outputs, count
        self.nodes: list[Traced] = []
        """nodes that depend on the symbols, operands first"""
        inside = set(symbols)
        for node in _since(symbols, outputs):
            if any(a in inside for a in node.args if isinstance(a, Traced)):
                inside.add(node)
                self.nodes.append(node)
        used = {a for node in self.nodes for a in node.args if isinstance(a, Traced)}
        self.shared_nodes = sorted(used - inside, key=lambda node: node.index)

    def iterations(self, loop: Traced, known: dict[Any, Any]) -> list[list[Any]]:
        """Numbers that the outputs take for each thing, from those of the other nodes."""
        out = []
        for column in zip(*rows_of(loop), strict=True):
            local = {symbol: known.get(x, x) for symbol, x in zip(self.symbols, column, strict=True)}
            for node in self.nodes:
                local[node] = OPERATIONS[node.op].evaluate(*(local.get(a, known.get(a, a)) for a in node.args))
            out.append([local.get(x, known.get(x, x)) for x in self.outputs])
        return out


class RepeatBody(LoopBody):
    """Body of a loop that changes ``symbols`` again and again, ``max_steps`` times at most.

    ``outputs`` are what they become, and a last number that is positive when they have arrived.
    """

    __slots__ = ("max_steps", "sooner")

    def __init__(self, symbols: list[Traced], exits: list[list[Any]], most: int) -> None:
        *self.sooner, outputs = exits
        """outputs of earlier exits, valid if all states have arrived there: the rest is then skipped"""
        super().__init__(symbols, outputs, 1)
        self.max_steps = most
        inside = {*symbols, *self.nodes}
        passed_on = {x for x in outputs if isinstance(x, Traced) and x not in inside}
        self.shared_nodes = sorted({*self.shared_nodes, *passed_on}, key=lambda node: node.index)

    def iterations(self, loop: Traced, known: dict[Any, Any]) -> list[list[Any]]:
        """Numbers at the end, in the only pass."""
        x = [known.get(row[0], row[0]) for row in rows_of(loop)]
        for _ in range(self.max_steps):
            local = dict(zip(self.symbols, x, strict=True))
            for node in self.nodes:
                local[node] = OPERATIONS[node.op].evaluate(*(local.get(a, known.get(a, a)) for a in node.args))
            *x, arrived = [local.get(y, known.get(y, y)) for y in self.outputs]
            if arrived.real > 0.0:  # of complex numbers in complex-step derivatives
                break
        return [x]


def _since(symbols: list[Traced], outputs: list[Any]) -> list[Traced]:
    """Nodes that ``outputs`` need of all that was made since the symbols, operands first."""
    first = min((symbol.index for symbol in symbols), default=0)
    seen: set[Traced] = set()
    todo = [x for x in outputs if isinstance(x, Traced) and x.index >= first] if symbols else []
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += [a for a in node.args if isinstance(a, Traced) and a.index >= first]
    return sorted(seen, key=lambda node: node.index)


def repeats(body: LoopBody) -> bool:
    """True for the body of :func:`.repeat`, which cannot be written out."""
    return isinstance(body, RepeatBody)


def rows_of(loop: Traced) -> list[tuple[Any, ...]]:
    """Operands that differ between the things of a loop: for each symbol a number for each of them."""
    body: LoopBody = loop.args[0]
    flat, n = loop.args[1 + len(body.shared_nodes) :], body.count
    return [flat[r * n : (r + 1) * n] for r in range(len(body.symbols))]
