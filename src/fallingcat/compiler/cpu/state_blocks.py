"""Blocks of states in memory."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ...errors import ModelError, describe


def aligned(shape: tuple[int, ...], dtype: Any = np.float64, alignment: int = 64) -> np.ndarray:
    """Empty array whose memory starts at a multiple of ``alignment`` bytes, as :meth:`Kernel.blocks` wants it.

    Args:
        shape: Shape of the array.
        dtype: Type of its numbers.
        alignment: Bytes.

    Returns:
        Array, not initialised.

    Example:
        >>> aligned((2, 3)).ctypes.data % 64
        0
    """
    try:
        size = math.prod(map(operator.index, shape)) * np.dtype(dtype).itemsize
        memory = np.empty(size + alignment, dtype=np.uint8)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            "an array has a shape, a dtype and an alignment, not "
            f"{describe(shape)}, {describe(dtype)}, {describe(alignment)}"
        ) from None
    start = -memory.ctypes.data % alignment
    return memory[start : start + size].view(dtype).reshape(shape)
