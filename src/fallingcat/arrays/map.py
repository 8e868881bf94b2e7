"""Map of a function over several things, traced as one loop.

``map_each(f, xs, ys)`` is ``[f(x, y) for x, y in zip(xs, ys)]`` for every kind of number.  On traced numbers of a graph
that keeps loops, things of one form are traced together: ``f`` runs once on symbols, and the graph holds one node for
all of them.  Machine code then works on several at a time, and there is less of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .building import stack
from .graph import Graph
from .loops import LoopBody
from .operations import CONDITIONS
from .traced import Traced
from .types import Matrix

MIN_LOOP_SIZE = 4
"""Things; fewer are not worth a loop."""


class Leaf(NamedTuple):
    """Placeholder of numbers: an array's shape, None for a single number."""

    shape: tuple[int, ...] | None


def map_each(function: Callable[..., Any], *things: Iterable[Any]) -> list[Any]:
    """List ``[function(*xs) for xs in zip(*things)]``; arguments and results are numbers, arrays, or tuples of them.

    ``function`` must do the same to all of them: no branches on what it is given.

    Args:
        function: Function of one entry of each of ``things``.
        *things: Sequences of equal length.

    Returns:
        Results in the order of the entries.

    Example:
        >>> map_each(lambda a, b: a @ b, [np.ones(2), np.zeros(2)], [np.ones(2), np.ones(2)])
        [np.float64(2.0), np.float64(0.0)]
    """
    columns = list(zip(*things, strict=True))
    graph = _graph(columns)
    if graph is None or not graph.loops or graph.recording or len(columns) < MIN_LOOP_SIZE:
        return [function(*xs) for xs in columns]
    forms: dict[Any, list[int]] = {}
    numbers: list[list[Any]] = []
    for k, xs in enumerate(columns):
        numbers.append([])
        forms.setdefault(_append_numbers(xs, numbers[-1]), []).append(k)
    results: list[Any] = [None] * len(columns)
    for form, members in forms.items():
        if len(members) < MIN_LOOP_SIZE:
            done = [function(*columns[k]) for k in members]
        else:
            done = _column_loop(graph, function, form, [numbers[k] for k in members])
        for k, result in zip(members, done, strict=True):
            results[k] = result
    return results


def columns(function: Callable[..., Any], *matrices: Matrix) -> Matrix:
    """Matrix whose columns are ``function`` of those of ``matrices``.

    The function must treat each alike: sums, products with other matrices from the left.

    Numbers are done all at once, ``function(*matrices)``; traced numbers in a loop.

    Args:
        function: Function of matrices with equal numbers of columns, or of one column of each.
        *matrices: Matrices (rows x k), all with k columns.

    Returns:
        Matrix (rows x k) of the resulting columns.

    Example:
        >>> columns(lambda x, y: np.eye(2) @ x + 2.0 * y, np.ones((2, 3)), np.eye(2, 3))
        array([[3., 1., 1.],
               [1., 3., 1.]])
    """
    graph = _graph(matrices)
    if graph is None or not graph.loops or graph.recording or not all(np.size(x) for x in matrices):
        return function(*matrices)
    return stack(map_each(function, *(list(x.T) for x in matrices)), axis=1)


def _column_loop(graph: Graph, function: Callable[..., Any], form: Any, columns: list[list[Any]]) -> list[Any]:
    """The results of one loop over ``columns`` of numbers, each to be put together by ``form``."""
    given, rows = _symbols(graph, columns)
    graph.recording = True
    try:
        result = function(*_rebuild(form, iter(given)))
    finally:
        graph.recording = False
    made: list[Any] = []
    shape = _append_numbers(result, made)
    body = LoopBody([*rows], made, len(columns))
    conditions = any(isinstance(x, Traced) and x.op in CONDITIONS for row in (made, *rows.values()) for x in row)
    if conditions or not graph.keeps(body):  # conditions are no numbers
        return [function(*_rebuild(form, iter(column))) for column in columns]
    return [_rebuild(shape, iter(numbers)) for numbers in _pass_results(graph, body, made, [*rows.values()])]


def _symbols(graph: Graph, columns: list[list[Any]]) -> tuple[list[Any], dict[Traced, tuple[Any, ...]]]:
    """Symbols for the numbers of all columns, and the numbers that each symbol stands for.

    What all columns have in common stands for itself: it is no part of the loop.
    """
    seen: dict[tuple[Any, ...], Any] = {}
    rows: dict[Traced, tuple[Any, ...]] = {}
    given = [*zip(*columns, strict=True)]
    for row in given:
        if row not in seen:
            same = all(x is row[0] or (type(x) is type(row[0]) is float and x == row[0]) for x in row)
            seen[row] = row[0] if same else graph.symbol()
            if not same:
                rows[seen[row]] = row
    return [seen[row] for row in given], rows


def _pass_results(graph: Graph, body: LoopBody, made: list[Any], rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    """The results of each pass: numbers that are passed on, and parts of one loop where there is something to do."""
    loop = graph.node("loop", body, *body.shared_nodes, *(x for row in rows for x in row)) if body.nodes else None
    inner, place = set(body.nodes), {symbol: r for r, symbol in enumerate(body.symbols)}
    output = {x: r for r, x in reversed([*enumerate(made)]) if x in inner}  # equal ones are one

    def number(x: Any, k: int) -> Any:
        if x in place:
            return rows[place[x]][k]
        return graph.node("part", loop, output[x], k) if x in inner else x

    return [[number(x, k) for x in made] for k in range(body.count)]


def _graph(x: Any) -> Graph | None:
    """The graph of the first traced number in a nest of tuples, lists and arrays."""
    if isinstance(x, np.ndarray):
        return next((e.graph for e in x.flat if type(e) is Traced), None) if x.dtype.hasobject else None
    if type(x) is Traced:
        return x.graph
    if isinstance(x, (tuple, list)):
        for part in x:
            graph = _graph(part)
            if graph is not None:
                return graph
    return None


def _append_numbers(x: Any, numbers: list[Any]) -> Any:
    """Appends the numbers in ``x``; returns how to build it again, the same for things of one form."""
    if isinstance(x, np.ndarray):
        numbers.extend(e if isinstance(e, Traced) else float(e) for e in x.flat)
        return Leaf(x.shape)
    if isinstance(x, (tuple, list)):
        return (type(x), tuple(_append_numbers(part, numbers) for part in x))
    numbers.append(x if isinstance(x, Traced) else float(x))
    return Leaf(None)


def _rebuild(form: Any, numbers: Any) -> Any:
    if isinstance(form, Leaf):
        if form.shape is None:
            return next(numbers)
        flat: Sequence[Any] = [next(numbers) for _ in range(int(np.prod(form.shape, dtype=int)))]
        if all(type(x) is float for x in flat):
            return np.array(flat, dtype=float).reshape(form.shape)
        out = np.empty(len(flat), dtype=object)
        out[:] = flat
        return out.reshape(form.shape)
    kind, parts = form
    items = [_rebuild(part, numbers) for part in parts]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)
