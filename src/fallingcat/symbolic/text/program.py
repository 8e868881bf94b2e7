"""What a function in any language computes, one step after the other."""

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
    parameters = sorted(_parameters(d, named), key=str)
    renamed = identifiers([*d.q, *d.v, *d.a, *parameters])
    given = {x: sympy.Symbol(name) for x, name in renamed.items()}
    given |= {x: sympy.Symbol(str(x)) for x in named.definitions}
    bodies = [x.xreplace(given) for x in (*named.definitions.values(), *(e for m in matrices.values() for e in m))]
    taken = sympy.numbered_symbols("t_", start=1)
    shared, bodies = sympy.cse(bodies, symbols=taken, order="none", list=True)
    known = dict(zip((given[x] for x in named.definitions), bodies, strict=False))
    steps = _ordered({**dict(shared), **known})
    rest = iter(bodies[len(known) :])
    outputs = {name: sympy.Matrix(*m.shape, [next(rest) for _ in m]) for name, m in matrices.items()}
    inputs = {"q": d.q, "v": d.v, "a": d.a, "p": parameters}
    operations = int(sympy.count_ops([*(x for _, x in steps), *(e for m in outputs.values() for e in m)]))
    used = {
        str(x)
        for body in (*(x for _, x in steps), *(e for m in outputs.values() for e in m))
        for x in body.free_symbols
    }
    return Program(
        {name: [renamed[x] if renamed[x] in used else "" for x in xs] for name, xs in inputs.items()},
        [d.values.get(x) for x in parameters],
        [(str(x), body) for x, body in steps],
        outputs,
        operations,
    )


def _parameters(d: Derivation, named: Any) -> set[Any]:
    states = {*d.q, *d.v, *d.a, *named.definitions}
    bodies = [*named.definitions.values(), *(e for x in named.expressions.values() for e in _matrix(x, ""))]
    return {x for body in bodies for x in body.free_symbols} - states


def _ordered(steps: dict[Any, Any]) -> list[tuple[Any, Any]]:
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
        return (
            sympy.ImmutableMatrix(x.shape[0], len(x) // max(1, x.shape[0]), list(x.reshape(len(x))))
            if len(x)
            else sympy.zeros(0, 0)
        )
    if isinstance(x, sympy.Expr):
        return sympy.ImmutableMatrix(1, 1, [x])
    raise ModelError(f"{name!r} is no expression: it cannot be written as a function")
