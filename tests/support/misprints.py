"""What an erratum has to show: the corrected formula is right to rounding, the printed one is not."""

from __future__ import annotations

from typing import Any

from residuals import agree, residual

WRONG = 1e-3
"""A printed formula is called wrong only when it is off by more than this, relative to what it should give."""


def misprint(where: str, printed: Any, right: Any, truth: Any, tolerance: float = 1e-12) -> None:
    """`right` equals `truth`, which was found another way, and `printed` does not."""
    agree(where, right, truth, tolerance)
    off = residual(printed, truth)
    assert off > WRONG, f"{where}: what is printed is off by {off:.1e} only"
