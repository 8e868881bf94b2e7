"""A step taken again and again until it has arrived, written down once: what converges in a few rounds or in many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ModelError
from .building import array, is_numeric
from .loops import RepeatBody
from .traced import Traced


def repeat(step: Callable[[Any], tuple[Any, Any]], start: Any, most: int) -> Any:
    """``x`` (k) after ``x, arrived = step(x)`` again and again from ``start``, until ``arrived > 0``, ``most`` times at
    most.

    Traced numbers become one loop of machine code, which holds the step once; what the step does not change is worked
    out before.  Each state of a block of SIMD lanes stays as it is once it has arrived.  Other targets have no such
    loops, and say so.

    >>> repeat(lambda x: (0.5 * (x + 2.0 / x), 1e-9 - abs(x * x - 2.0)[0]), np.ones(1), 20).round(12)
    array([1.41421356])
    """
    graph = next((x.graph for x in np.asarray(start).flat if type(x) is Traced), None)
    if graph is None:
        return _repeated(step, start, most)
    symbols = [graph.symbol() for _ in start]
    graph.recording = True
    try:
        new, arrived = step(array(symbols))
    finally:
        graph.recording = False
    body = RepeatBody(symbols, [*new, arrived], most)
    if not graph.keeps(body):
        raise ModelError("what is repeated until it has arrived runs on this processor alone")
    loop = graph.node("loop", body, *body.shared, *start)
    return array([graph.node("part", loop, i, 0) for i in range(len(start))])


def _repeated(step: Callable[[Any], tuple[Any, Any]], x: Any, most: int) -> Any:
    if not is_numeric(x):
        raise ModelError("what is repeated until it has arrived takes numbers, or is compiled")
    for _ in range(most):
        x, arrived = step(x)
        if arrived > 0.0:
            break
    return x
