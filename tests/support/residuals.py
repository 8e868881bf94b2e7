"""Agreement to rounding, with a record of the worst residual of every law."""

from __future__ import annotations

from typing import Any

import numpy as np

WORST: dict[str, float] = {}
"""Largest residual of each law, relative to what is compared, in this run."""


def residual(a: Any, b: Any, scale: float = 1.0) -> float:
    """`max |a - b|`, relative to the largest entry of either, and to `scale` where they are small."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    size = max(scale, np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    return float(np.abs(a - b).max(initial=0.0) / size) if size else 0.0


def agree(law: str, a: Any, b: Any, tolerance: float = 1e-12, scale: float = 1.0) -> None:
    """`a` equals `b` to the relative `tolerance`; the residual goes on record under the name of the law."""
    found = residual(a, b, scale)
    WORST[law] = max(WORST.get(law, 0.0), found)
    assert found <= tolerance, f"{law}: residual {found:.2e} exceeds {tolerance:.2e}"
