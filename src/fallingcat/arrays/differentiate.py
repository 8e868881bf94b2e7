"""Derivatives of traced expressions: forward, entry by entry, so that what does not depend on an input costs nothing.

Meant for small expressions of few inputs, such as one force law; the dynamics of large robots have derivatives of their
own, written by hand.

>>> from fallingcat.arrays import Graph
>>> graph = Graph()
>>> x = graph.inputs("x", 2)
>>> y = np.array([x[0] * x[1], x[1] * x[1]])
>>> jacobian(y, x)
array([[x1, x0],
       [0.0, x1 + x1]], dtype=object)
>>> substitute(y, {x[0]: 3.0})
array([3.0 * x1, x1 * x1], dtype=object)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from . import traced
from .traced import Traced

Slopes = dict[int, Any]
"""The derivative along each input that matters."""


def jacobian(outputs: Any, inputs: Any) -> np.ndarray:
    """``d outputs / d inputs`` (k x n) of a vector of traced numbers or floats."""
    out = np.full((len(outputs), len(inputs)), 0.0, dtype=object)
    graph = next((x.graph for x in inputs if isinstance(x, Traced)), None)
    if graph is None:
        return out
    known: dict[Traced, Slopes] = {x: {i: 1.0} for i, x in enumerate(inputs)}
    for node in graph.needed(outputs):
        if node not in known:
            known[node] = _chain(node, [known.get(a, {}) if isinstance(a, Traced) else {} for a in node.args])
    for i, y in enumerate(outputs):
        for j, slope in known.get(y, {}).items() if isinstance(y, Traced) else ():
            out[i, j] = slope
    return out


def substitute(outputs: Any, values: Mapping[Traced, Any]) -> np.ndarray:
    """``outputs`` (an array) with other numbers in the place of some of their inputs, folded anew."""
    outputs = np.asarray(outputs, dtype=object)
    graph = next((x.graph for x in values), None)
    new: dict[Any, Any] = dict(values)
    for node in [] if graph is None else graph.needed(outputs):
        if node not in new:
            arguments = [new.get(a, a) for a in node.args]
            new[node] = (
                node if all(a is b for a, b in zip(arguments, node.args, strict=True)) else _make(node, arguments)
            )
    flat = np.empty(outputs.size, dtype=object)
    flat[:] = [new.get(x, x) if isinstance(x, Traced) else x for x in outputs.flat]
    return flat.reshape(outputs.shape)


def _make(node: Traced, arguments: list[Any]) -> Any:
    return node if node.op == "input" else MAKE[node.op](*arguments)


def _chain(node: Traced, slopes: list[Slopes]) -> Slopes:
    """The derivative of ``node`` from those of its operands."""
    if node.op == "select":
        condition = node.args[0]
        return {
            i: traced.select(condition, slopes[1].get(i, 0.0), slopes[2].get(i, 0.0)) for i in slopes[1] | slopes[2]
        }
    weights = PARTIAL[node.op](node, *node.args) if any(slopes) else ()
    out: Slopes = {}
    for weight, slope in zip(weights, slopes, strict=False):
        for i, s in slope.items():
            out[i] = out.get(i, 0.0) + weight * s
    return out


def _arctan2(_: Traced, y: Any, x: Any) -> tuple[Any, Any]:
    square = x * x + y * y
    return x / square, -y / square


def _div(node: Traced, a: Any, b: Any) -> tuple[Any, Any]:
    inverse = 1.0 / b
    return inverse, -(node * inverse)


PARTIAL: Final[dict[str, Callable[..., tuple[Any, ...]]]] = {
    "add": lambda node, a, b: (1.0, 1.0),
    "sub": lambda node, a, b: (1.0, -1.0),
    "mul": lambda node, a, b: (b, a),
    "div": _div,
    "neg": lambda node, a: (-1.0,),
    "sin": lambda node, x: (traced.cos(x),),
    "cos": lambda node, x: (-traced.sin(x),),
    "sqrt": lambda node, x: (0.5 / node,),
    "exp": lambda node, x: (node,),
    "log": lambda node, x: (1.0 / x,),
    "arctan2": _arctan2,
    "less": lambda node, a, b: (),
    "input": lambda node, name: (),
}
"""The partial derivatives of each operation along its operands."""


def _unary(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(traced, name)(x) if isinstance(x, Traced) else traced.EVALUATE[name](x)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def function(a: Any, b: Any) -> Any:
        known = not isinstance(a, Traced) and not isinstance(b, Traced)
        return traced.EVALUATE[name](a, b) if known else getattr(traced, name)(a, b)

    return function


MAKE: Final[dict[str, Callable[..., Any]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    **{name: _unary(name) for name in ("sin", "cos", "sqrt", "exp", "log")},
    **{name: _binary(name) for name in ("arctan2", "less")},
    "select": traced.select,
}
