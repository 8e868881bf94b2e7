"""Formats of numbers in tables: lengths, inertias, limits, directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def numbers(values: Any, form: str) -> str:
    """Numbers in one format, side by side."""
    return " ".join(f"{float(x) + 0.0:{form}}" for x in values)


def format_short(x: float) -> str:
    """Number with three decimals where they are significant, at most six characters for lengths in meters."""
    if x == 0.0:
        return "0"
    return f"{x:.3f}" if 0.0005 <= abs(x) < 100.0 else f"{x:.0e}"


def moment(x: float) -> str:
    """Moment of inertia in seven characters."""
    return "0" if abs(x) < 1e-30 else f"{x:.3g}" if 1e-3 <= x < 1e4 else f"{x:.1e}"


def limit(x: float) -> str:
    """Limit as a number, or a mark for none."""
    return f"{x + 0.0:.4g}" if math.isfinite(x) else "-"


def direction(axis: Sequence[float] | None) -> str:
    """Direction as ``x``, ``-y``, ... or three numbers."""
    if axis is None:
        return ""
    for i, name in enumerate("xyz"):
        if abs(axis[i]) == 1.0:
            return name if axis[i] > 0.0 else f"-{name}"
    return numbers(axis, ".2f")
