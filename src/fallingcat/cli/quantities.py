"""Numbers of a robot in the columns of a table: lengths, inertias, limits, directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def numbers(values: Any, form: str) -> str:
    """All of them in one format, side by side."""
    return " ".join(f"{float(x) + 0.0:{form}}" for x in values)


def short(x: float) -> str:
    """Three digits after the point where they say something; six characters for whatever a robot measures in meters."""
    if x == 0.0:
        return "0"
    return f"{x:.3f}" if 0.0005 <= abs(x) < 100.0 else f"{x:.0e}"


def moment(x: float) -> str:
    """Of inertia, in seven characters."""
    return "0" if abs(x) < 1e-30 else f"{x:.3g}" if 1e-3 <= x < 1e4 else f"{x:.1e}"


def limit(x: float) -> str:
    """A number, or that there is none."""
    return f"{x + 0.0:.4g}" if math.isfinite(x) else "-"


def direction(axis: Sequence[float] | None) -> str:
    """``x``, ``-y``, ... or three numbers."""
    if axis is None:
        return ""
    for i, name in enumerate("xyz"):
        if abs(axis[i]) == 1.0:
            return name if axis[i] > 0.0 else f"-{name}"
    return numbers(axis, ".2f")
