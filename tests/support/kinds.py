"""One test body, five kinds of number: run a function on inputs of a kind and get plain numbers back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import sympy

from fallingcat.arrays import Graph, array, from_casadi, to_casadi

Function = Callable[..., Any]


def as_float(f: Function, *xs: np.ndarray) -> np.ndarray:
    return np.asarray(f(*xs))


def as_traced(f: Function, *xs: np.ndarray) -> np.ndarray:
    graph = Graph()
    inputs = [graph.inputs(f"x{i}_", x.size).reshape(x.shape) for i, x in enumerate(xs)]
    values = {f"x{i}_{j}": float(v) for i, x in enumerate(xs) for j, v in enumerate(x.flat)}
    out = array(np.asarray(f(*inputs), dtype=object).tolist())
    return np.array(graph.evaluate([out], values), dtype=float).reshape(np.shape(out))


def as_casadi(f: Function, *xs: np.ndarray) -> np.ndarray:
    symbols = [casadi.SX.sym(f"x{i}", x.size) for i, x in enumerate(xs)]
    out = f(*(from_casadi(s).reshape(x.shape) for s, x in zip(symbols, xs, strict=True)))
    flat = np.empty(np.size(out), dtype=object)
    for i, entry in enumerate(np.ravel(out) if isinstance(out, np.ndarray) else [out]):
        flat[i] = entry
    function = casadi.Function("f", symbols, [to_casadi(flat)])
    return np.array(function(*(x.ravel() for x in xs))).reshape(np.shape(out) if isinstance(out, np.ndarray) else ())


def as_sympy(f: Function, *xs: np.ndarray) -> np.ndarray:
    values: dict[sympy.Basic, sympy.Basic] = {}
    inputs = []
    for i, x in enumerate(xs):
        symbols = np.empty(x.shape, dtype=object)
        for j in np.ndindex(*x.shape):
            symbols[j] = sympy.Symbol(f"x{i}_{'_'.join(map(str, j))}", real=True)
            values[symbols[j]] = sympy.Float(float(x[j]), 30)
        inputs.append(symbols)

    def value(e: sympy.Basic) -> sympy.Basic:
        # `subs` walks the graph of an expression as a tree, which takes for ever: each part once only
        if e not in values:
            values[e] = e.func(*map(value, e.args)) if e.args else e
        return values[e]

    out = np.asarray(f(*inputs), dtype=object)
    return np.array([float(value(sympy.sympify(e))) for e in out.flat]).reshape(out.shape)


def as_jax(f: Function, *xs: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(f)(*(jnp.asarray(x) for x in xs)))


KINDS: dict[str, Callable[..., np.ndarray]] = {
    "float": as_float,
    "traced": as_traced,
    "casadi": as_casadi,
    "sympy": as_sympy,
    "jax": as_jax,
}
