"""Arguments of curves, checked: numbers, rows, matrices and samples of shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays.arguments import shape_of
from ...arrays.types import FloatArray, Matrix, Vector
from ...errors import ModelError, describe

RANKS = ("a finite number", "a row of finite numbers", "a matrix of finite numbers")
"""By number of dimensions, for error messages."""


def samples(x: Matrix, width: int, what: str) -> FloatArray:
    """Points (N x width) as an array; a single one is a row."""
    out = np.atleast_2d(finite(x, 1 if shape_of(x) == (width,) else 2, what))
    if out.shape[1] != width:
        raise ModelError(f"{what} must have shape (N, {width}), got {out.shape}")
    return out


def at_once(x: Vector, what: str) -> FloatArray:
    """One number or a vector of them as a vector."""
    return finite([x] if shape_of(x) == () else x, 1, what)


def finite(x: Any, rank: int, what: str) -> FloatArray:
    """Array of finite numbers with the given number of dimensions."""
    try:
        out = np.array(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be {RANKS[rank]}, got {describe(x)}") from None
    if out.ndim != rank or not np.isfinite(out).all():
        raise ModelError(f"{what} must be {RANKS[rank]}")
    return out
