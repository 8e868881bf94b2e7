"""What a traced function gives with forty digits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np

from fallingcat.arrays import Traced
from fallingcat.compiler.ir.trace import Trace

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sqrt": mpmath.sqrt,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "arctan2": mpmath.atan2,
    "less": operator.lt,
    "select": lambda condition, a, b: a if condition else b,
}


def evaluate(trace: Trace, arguments: Sequence[np.ndarray], digits: int = 40) -> list[Any]:
    """The flat outputs at float inputs, as numbers of `digits` digits."""
    with mpmath.workdps(digits):
        known: dict[Traced, Any] = {}
        for symbols, numbers in zip(trace.inputs, arguments, strict=True):
            known.update(zip(symbols.flat, map(mpmath.mpf, numbers.tolist()), strict=True))
        for node in trace.graph.needed(trace.outputs):
            if node.op != "input":
                operands = (known[a] if isinstance(a, Traced) else mpmath.mpf(a) for a in node.args)
                known[node] = OPERATIONS[node.op](*operands)
        return [known[x] if isinstance(x, Traced) else mpmath.mpf(x) for x in trace.outputs]


def relative_error(trace: Trace, arguments: Sequence[np.ndarray], result: np.ndarray) -> float:
    """The largest error over the largest entry."""
    exact = evaluate(trace, arguments)
    scale = max(map(abs, exact))
    errors = (abs(mpmath.mpf(float(x)) - y) for x, y in zip(np.ravel(result), exact, strict=True))
    return float(max(errors) / scale)
