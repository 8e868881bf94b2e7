"""Straight-line program of a function, the same for every language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import sympy

from ...errors import ModelError
from .names import identifiers

if TYPE_CHECKING:
    from ..derivation import Derivation


class Program(NamedTuple):
    """Symbols in, steps, matrices out."""

    inputs: dict[str, list[str]]
    """``q``, ``v``, ``a``, ``p``: the names of their entries; those that are not needed are empty"""
    parameters: list[float | None]
    """the numbers of ``p``; None where a symbol has none"""
    steps: list[tuple[str, Any]]
    outputs: dict[str, Any]
    """name -> matrix (columns for vectors, 1 x 1 for numbers)"""
    operations: int


def program(d: Derivation, names: tuple[str, ...]) -> Program:
    """Named factors and common subexpressions as steps, each before it is used."""
    named = d.named(*names)
    matrices = {name: _matrix(x, name) for name, x in named.expressions.items()}
    free = set().union(*(x.free_symbols for x in (*named.definitions.values(), *matrices.values())))
    parameters = sorted(free - {*d.q, *d.v, *d.a, *named.definitions}, key=str)
    renamed = identifiers([*d.q, *d.v, *d.a, *parameters])
    steps, outputs = _shared_steps(named.definitions, matrices, renamed)
    bodies = [*(body for _, body in steps), *(entry for m in outputs.values() for entry in m)]
    used = {str(x) for body in bodies for x in body.free_symbols}
    inputs = {"q": d.q, "v": d.v, "a": d.a, "p": parameters}
    return Program(
        {name: [renamed[x] if renamed[x] in used else "" for x in xs] for name, xs in inputs.items()},
        [d.values.get(x) for x in parameters],
        steps,
        outputs,
        int(sympy.count_ops(bodies)),
    )


def _shared_steps(
    definitions: dict[Any, Any], matrices: dict[str, Any], renamed: dict[Any, str]
) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    """Steps and outputs in the names of the text; what occurs twice is a step ``t_i``."""
    given = {x: sympy.Symbol(name) for x, name in renamed.items()}
    given |= {x: sympy.Symbol(str(x)) for x in definitions}
    bodies = [x.xreplace(given) for x in (*definitions.values(), *(e for m in matrices.values() for e in m))]
    twice, bodies = sympy.cse(bodies, symbols=sympy.numbered_symbols("t_", start=1), order="none", list=True)
    defined = dict(zip((given[x] for x in definitions), bodies, strict=False))
    rest = iter(bodies[len(defined) :])
    outputs = {name: sympy.Matrix(*m.shape, [next(rest) for _ in m]) for name, m in matrices.items()}
    return [(str(x), body) for x, body in _order_steps({**dict(twice), **defined})], outputs


def _order_steps(steps: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Each step after those that it needs."""
    done: dict[Any, Any] = {}

    def add(x: Any) -> None:
        if x in done or x not in steps:
            return
        for each in sorted(steps[x].free_symbols, key=str):
            add(each)
        done[x] = steps[x]

    for x in steps:
        add(x)
    return list(done.items())


def _matrix(x: Any, name: str) -> Any:
    """Any quantity as a matrix."""
    if isinstance(x, sympy.MatrixBase):
        return x
    if isinstance(x, sympy.NDimArray):  # m x n x n: rows are those of all slices
        columns = len(x) // max(1, x.shape[0])
        return sympy.ImmutableMatrix(x.shape[0], columns, list(x.reshape(len(x))) if len(x) else [])
    if isinstance(x, sympy.Expr):
        return sympy.ImmutableMatrix(1, 1, [x])
    raise ModelError(f"{name!r} is no expression: it cannot be written as a function")
