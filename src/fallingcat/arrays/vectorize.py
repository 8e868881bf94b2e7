"""A function of one sample, of many at once: algorithms know no batch axes, so NumPy runs a trace of them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .graph import Graph
from .kinds import floats
from .operations import OPERATIONS
from .traced import Traced

SAMPLES_PER_RUN = 4096
"""Samples in one run, which bounds the memory of what comes in between."""


def vectorize(function: Callable[..., Any], *xs: np.ndarray, rank: int = 1) -> np.ndarray:
    """``function`` of each sample of ``xs``, whose last ``rank`` axes are its own, one operation for all at a time.

    Axes before these fit together as NumPy's do.  ``function`` must not branch on a value.

    Example:
        >>> vectorize(lambda x, y: x @ y, np.arange(6.0).reshape(3, 2), np.ones(2))
        array([1., 5., 9.])
    """
    owns = [x.shape[x.ndim - rank :] for x in xs]
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x in xs))
    graph = Graph()
    inputs = [graph.inputs(f"x{k}_", prod(own)) for k, own in enumerate(owns)]
    result = np.asarray(function(*(x.reshape(own) for x, own in zip(inputs, owns, strict=True))))
    whole = [np.broadcast_to(x, (*lead, *own)) for x, own in zip(xs, owns, strict=True)]
    rows = [x.reshape(prod(lead), prod(own)) for x, own in zip(whole, owns, strict=True)]
    out = np.empty((prod(lead), result.size), dtype=np.result_type(float, *xs))
    steps = [node for node in graph.needed(result) if node.op != "input"]
    for start in range(0, len(out), SAMPLES_PER_RUN):
        part = slice(start, start + SAMPLES_PER_RUN)
        known = {node: x[part, i] for x, nodes in zip(rows, inputs, strict=True) for i, node in enumerate(nodes)}
        for node in steps:
            operands = (known[a] if isinstance(a, Traced) else a for a in node.args)
            known[node] = (getattr(floats, node.op, None) or OPERATIONS[node.op].evaluate)(*operands)
        for place, number in enumerate(result.flat):
            out[part, place] = known.get(number, number)
    return out.reshape(*lead, *result.shape)
