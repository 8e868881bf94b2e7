"""What a caller gave, as an array of numbers of a given shape; what is none is named before it spreads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError, told
from .building import array, is_numeric


def as_array(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of the given shape, of floats or of another kind of number; finite if it can be looked at.

    >>> as_array([1, 2], (2,), "joints")
    array([1., 2.])
    """
    x = of_shape(x, shape, what)
    if is_numeric(x) and not np.isfinite(x).all():
        raise ModelError(f"{what} holds a number that is not finite: {np.asarray(x).tolist()}")
    return x


def of_shape(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of the given shape, of floats or of another kind of number, whatever their values.

    >>> of_shape([0.0, 0.0], (3,), "an element of the algebra of SO(3)")
    Traceback (most recent call last):
    fallingcat.errors.ModelError: an element of the algebra of SO(3) has shape (3,), not (2,)
    """
    if isinstance(x, (list, tuple, range)):
        x = _from_lists(x, shape, what)
    if shape_of(x) != shape:
        raise ModelError(f"{what} has shape {shape}, not {shape_of(x) or told(x)}")
    if not holds_numbers(x):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}")
    return x.astype(float) if is_numeric(x) and x.dtype.kind not in "fc" else x


def shape_of(x: Any) -> tuple[int, ...] | None:
    """The shape of an array or of nested lists; None where rows differ in length."""
    try:
        return np.shape(x)
    except ValueError:
        return None


def holds_numbers(x: Any) -> bool:
    """Whether an array is one of numbers, of whatever kind, and not of texts, dates or nothing."""
    if not isinstance(x, np.ndarray):
        return not isinstance(x, (str, bytes))
    return x.dtype.kind in "biufc" or (
        x.dtype == object and not any(e is None or isinstance(e, (str, bytes, list, tuple, dict)) for e in x.flat)
    )


def _from_lists(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """Nested lists as an array: of floats where every entry is one, of another kind of number otherwise."""
    try:
        return np.array(x, dtype=complex if _any_complex(x) else float) if _plain(x) else array(x)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}") from None


def _plain(x: Any) -> bool:
    return all(map(_plain, x)) if isinstance(x, (list, tuple)) else is_numeric(x)


def _any_complex(x: Any) -> bool:
    return any(map(_any_complex, x)) if isinstance(x, (list, tuple)) else bool(np.iscomplexobj(x))
