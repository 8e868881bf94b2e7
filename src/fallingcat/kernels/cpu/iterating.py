"""Blocks of states in memory, and steps that are taken again and again in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError, told
from .threads import shares, together


def aligned(shape: tuple[int, ...], dtype: Any = np.float64, alignment: int = 64) -> np.ndarray:
    """An empty array whose memory starts at a multiple of ``alignment`` bytes, as :meth:`Kernel.blocks` wants it."""
    try:
        size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        memory = np.empty(size + alignment, dtype=np.uint8)
    except (TypeError, ValueError):
        raise ModelError(
            f"an array has a shape, a dtype and an alignment, not {told(shape)}, {told(dtype)}, {told(alignment)}"
        ) from None
    start = -memory.ctypes.data % alignment
    return memory[start : start + size].view(dtype).reshape(shape)


def iterated(
    function: Callable[..., int],
    arrays: Sequence[np.ndarray],
    out: np.ndarray,
    lanes: int,
    every: int,
    threads: int,
    operations: int,
) -> None:
    """``out`` (rows x count x outputs) of the native ``iterate``, block after block: each stays in the processor's
    cache.
    """
    rows, count, outputs = out.shape

    def part(bounds: tuple[int, int]) -> None:
        kept = aligned((rows, outputs, lanes), out.dtype)
        for first in range(*bounds, lanes):
            block = [_in_lanes(x[first : first + lanes], lanes) for x in arrays]
            if function(*(x.ctypes.data for x in (*block, kept)), rows, every):
                raise MemoryError("there is no memory to iterate")
            out[:, first : first + lanes] = kept.transpose(0, 2, 1)[:, : count - first]

    together(part, shares(count, threads, lanes, operations * rows * every))


def _in_lanes(x: np.ndarray, lanes: int) -> np.ndarray:
    """``size x lanes``: the last state once more in lanes that are left over."""
    block = aligned((x.shape[1], lanes), x.dtype)
    block[:, : len(x)] = x.T
    block[:, len(x) :] = x[-1][:, None]
    return block
