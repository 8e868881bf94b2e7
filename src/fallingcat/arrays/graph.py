"""Expressions of traced scalars, each stored once (hash-consing): what is common is shared by construction.

>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> x * y is y * x
True
>>> graph.count([x * y, x * y + 1.0])
{'mul': 1, 'add': 1}
>>> graph.evaluate([x * y + 1.0], {"x": 2.0, "y": 3.0})
[7.0]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import compress
from math import inf
from typing import Any

import numpy as np

from .operations import OPERATIONS
from .traced import Traced


class TooLong(Exception):
    """Error of a trace that has more nodes than its graph may have."""


class Graph:
    """Expressions of one trace, each stored once.

    ``nodes`` lists them in the order of their making, operands first: a straight-line program.  With ``loops``, all
    passes of :func:`.map_each` are one node ``loop(body, shared..., row by row the numbers that differ)``, and its
    results are ``part(loop, output, pass)``; else everything is unrolled.

    Args:
        loops: True keeps loops as nodes; a function decides it for each :class:`.LoopBody`.
        most: Largest number of nodes; a longer trace ends with :class:`TooLong`.

    Example:
        >>> graph = Graph()
        >>> x, y = graph.input("x"), graph.input("y")
        >>> graph.count([x * y, x * y + 1.0])
        {'mul': 1, 'add': 1}
        >>> graph.evaluate([x * y + 1.0], {"x": 2.0, "y": 3.0})
        [7.0]
    """

    def __init__(self, loops: bool | Callable[[Any], bool] = False, most: float = inf) -> None:
        self.nodes: list[Traced] = []
        self._max_loop_steps = most
        self._nodes_by_key: dict[tuple[Any, ...], Traced] = {}
        self.guards: set[Traced] = set()
        """conditions of :func:`.branch`"""
        self.loops, self.recording = loops, False
        """loops that are kept, and the flag that the body of one is being traced"""

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"

    def keeps(self, body: Any) -> bool:
        """True if this loop stays a loop.

        Args:
            body: Body of the loop, a :class:`.LoopBody`.

        Returns:
            False where it is to be unrolled.
        """
        return self.loops(body) if callable(self.loops) else self.loops

    def symbol(self) -> Traced:
        """New number that stands for a different one in each pass of a loop.

        Returns:
            New node.
        """
        return self.node("symbol", len(self.nodes))

    def input(self, name: str) -> Traced:
        """Input called ``name``; the same name gives the same node.

        Args:
            name: Name of the input.

        Returns:
            Node of the input.
        """
        return self.node("input", name)

    def inputs(self, prefix: str, count: int) -> np.ndarray:
        """Array of ``count`` inputs ``prefix0``, ``prefix1``, ...

        Args:
            prefix: Beginning of the names.
            count: Number of inputs.

        Returns:
            Object array of nodes.

        Example:
            >>> Graph().inputs("q", 2)
            array([q0, q1], dtype=object)
        """
        out = np.empty(count, dtype=object)
        out[:] = [self.input(f"{prefix}{i}") for i in range(count)]
        return out

    def node(self, op: str, *args: Any) -> Traced:
        """Node of ``op(*args)``, made when it is not there yet; no folding.

        Args:
            op: Name of the operation.
            *args: Operands.

        Returns:
            The only node of this expression.
        """
        key = (op, *args)
        known = self._nodes_by_key.get(key)
        if known is None:
            index = len(self.nodes)
            if index >= self._max_loop_steps:
                raise TooLong(f"{index:,}")
            known = self._nodes_by_key[key] = Traced(self, op, args, index)
            self.nodes.append(known)
        return known

    def find(self, op: str, *args: Any) -> Traced | None:
        """Node of ``op(*args)`` if it exists.

        Args:
            op: Name of the operation.
            *args: Operands.

        Returns:
            Node, or None.
        """
        return self._nodes_by_key.get((op, *args))

    def needed(self, outputs: Iterable[Any]) -> list[Traced]:
        """Nodes that ``outputs`` depend on, operands first.

        Args:
            outputs: Numbers, traced or not, or arrays of them.

        Returns:
            Nodes, operands first.
        """
        wanted = bytearray(len(self.nodes))
        for x in _flatten_scalars(outputs):
            if isinstance(x, Traced):
                wanted[x.index] = True
        for node in reversed(self.nodes):  # every user of a node comes after it
            if wanted[node.index]:
                for a in node.args:
                    if type(a) is Traced:
                        wanted[a.index] = True
        return list(compress(self.nodes, wanted))

    def count(self, outputs: Iterable[Any]) -> dict[str, int]:
        """Number of operations of each kind that ``outputs`` need; inputs are free.

        Args:
            outputs: Numbers, traced or not, or arrays of them.

        Returns:
            Number of operations by name.
        """
        counts: Counter[str] = Counter()
        for node in self.needed(outputs):
            if node.op == "loop":
                for inner in node.args[0].nodes:
                    counts[inner.op] += node.args[0].count
            elif node.op not in ("input", "part"):
                counts[node.op] += 1
        return dict(counts)

    def evaluate(self, outputs: Iterable[Any], values: Mapping[str, complex]) -> list[Any]:
        """Values of ``outputs`` for given values of the inputs.

        Args:
            outputs: Numbers, traced or not, or arrays of them.
            values: Value of each input by name: floats, or complex numbers for complex-step derivatives.

        Returns:
            Numbers in the order of the flattened outputs.
        """
        known: dict[Any, Any] = {}
        for node in self.needed(outputs):
            if node.op == "input":
                known[node] = values[node.args[0]]
            elif node.op == "loop":
                known[node] = node.args[0].iterations(node, known)  # a `loops.LoopBody`
            elif node.op == "part":
                known[node] = known[node.args[0]][node.args[2]][node.args[1]]
            else:
                operands = (known[a] if isinstance(a, Traced) else a for a in node.args)
                known[node] = OPERATIONS[node.op].evaluate(*operands)
        return [known[x] if isinstance(x, Traced) else x for x in _flatten_scalars(outputs)]


def _flatten_scalars(outputs: Iterable[Any]) -> list[Any]:
    """The scalars in a nest of lists and arrays, in order."""
    if isinstance(outputs, np.ndarray):
        return list(outputs.flat)
    if isinstance(outputs, (list, tuple)):
        return [x for item in outputs for x in _flatten_scalars(item)]
    return [outputs]
