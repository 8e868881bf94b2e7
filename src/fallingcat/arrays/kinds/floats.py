"""Floats, and complex numbers for complex-step derivatives.

A complex number is a value with an infinitesimal derivative in its imaginary part.
"""

from typing import Any

import numpy as np

from ..operations import FUNCTIONS
from ..types import Scalar


def __getattr__(name: str) -> Any:
    """A function of the table that has no complex step of its own below."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(np, FUNCTIONS[name].names["numpy"])


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point ``(x, y)``; of complex numbers, with the derivative of its real part."""
    if np.iscomplexobj(y) or np.iscomplexobj(x):
        # NumPy has no arctan2 of complex numbers: the derivative is written out.
        (x, dx), (y, dy) = (np.real(x), np.imag(x)), (np.real(y), np.imag(y))
        return np.arctan2(y, x) + 1j * (x * dy - y * dx) / (x * x + y * y)
    return np.arctan2(y, x)


def less(a: Scalar, b: Scalar) -> Any:
    """Comparison ``a < b`` of the real parts."""
    return np.real(a) < np.real(b)


def less_equal(a: Scalar, b: Scalar) -> Any:
    """Comparison ``a <= b`` of the real parts."""
    return np.real(a) <= np.real(b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Choice of ``a`` where the condition holds, else of ``b``."""
    return np.where(condition, a, b)[()]  # scalars stay scalars
