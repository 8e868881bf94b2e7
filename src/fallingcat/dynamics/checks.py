"""Arguments of the wrong shape or without a value are named before they spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import is_numeric
from ..errors import ModelError


def vector(x: Any, length: int, what: str) -> Any:
    """``x`` as a vector of the given length; finite, if it holds numbers."""
    if isinstance(x, (list, tuple)):
        x = np.array(x, dtype=float)
    if np.shape(x) != (length,):
        raise ModelError(f"{what} has shape ({length},), not {np.shape(x)}")
    if is_numeric(x) and not np.isfinite(x).all():
        raise ModelError(f"{what} holds a number that is not finite, at index {int(np.argmin(np.isfinite(x)))}")
    return x


def choice(x: Any, options: tuple[str, ...], what: str) -> str:
    """``x`` if it is one of ``options``, else an error that lists them."""
    if x not in options:
        raise ModelError(f"{what} is one of {', '.join(options)}, not {x!r}")
    return str(x)
