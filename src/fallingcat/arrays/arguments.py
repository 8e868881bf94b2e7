"""Arguments as arrays of numbers of a given shape; those that are none are named before they spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import wraps
from typing import Any

import numpy as np

from ..errors import ModelError, describe
from .building import array, is_numeric

LARGEST_FLOAT = int(np.finfo(float).max)
"""Largest number: whole ones are compared with it exactly."""


def as_array(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of the given shape, of floats or of another kind of number; finite where values are known.

    Example:
        >>> as_array([1, 2], (2,), "joints")
        array([1., 2.])
    """
    x = of_shape(x, shape, what)
    if is_numeric(x) and not np.isfinite(x).all():
        raise ModelError(f"{what} holds a number that is not finite: {np.asarray(x).tolist()}")
    return x


def of_shape(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """``x`` as an array of the given shape, of floats or of another kind of number, whatever their values.

    Example:
        >>> of_shape([0.0, 0.0], (3,), "an element of the algebra of SO(3)")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: an element of the algebra of SO(3) must have shape (3,), got (2,)
    """
    if isinstance(x, range) and shape_of(x) == shape:
        x = list(x)
    if isinstance(x, (list, tuple)):
        x = _from_lists(x, shape, what)
    elif isinstance(x, (memoryview, np.matrix)):  # slices and products of these are not those of arrays
        x = np.asarray(x)
    if isinstance(x, np.ndarray) and _is_extended(x):
        x = x.astype(complex if x.dtype.kind == "c" else float)
    if shape_of(x) != shape:
        raise ModelError(f"{what} must have shape {shape}, got {shape_of(x) or describe(x)}")
    if not holds_numbers(x):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}")
    return x.astype(float) if is_numeric(x) and x.dtype.kind not in "fc" else x


def as_number(x: Any, what: str, *, real: bool = False) -> Any:
    """``x``, if it is one finite number, or one of another kind; ``real``: no complex step either.

    Example:
        >>> as_number("late", "t")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: t must be a finite number, got 'late'
    """
    if isinstance(x, (int, float, complex, np.number)):
        size: Any = abs(x)
        good = not isinstance(x, bool) and size <= LARGEST_FLOAT and not (real and np.iscomplexobj(x))
    else:
        good = getattr(x, "shape", ()) in ((), (1, 1)) and _is_number_of_any_kind(x)
    if not good:
        raise ModelError(f"{what} must be a finite number, got {describe(x)}")
    return x


def check_arguments_first(kind: type[Any], looks: Mapping[str, Callable[..., None]]) -> None:
    """Make the methods that the class ``kind`` defines begin with ``looks[name]``, which takes what they take."""
    for name in looks.keys() & vars(kind).keys():
        method = vars(kind)[name]
        if isinstance(method, classmethod):
            setattr(kind, name, classmethod(_with_argument_check(method.__func__, looks[name])))
        elif callable(method) and not getattr(method, "__isabstractmethod__", False):
            setattr(kind, name, _with_argument_check(method, looks[name]))


def _with_argument_check(method: Callable[..., Any], look: Callable[..., None]) -> Callable[..., Any]:
    @wraps(method)
    def wrapper(*given: Any, **named: Any) -> Any:
        look(*given, **named)
        return method(*given, **named)

    return wrapper


def check_rng(rng: Any, batch: tuple[Any, ...] = ()) -> None:
    """Raise an error unless ``rng`` is a generator of random numbers and ``batch`` a shape."""
    if not isinstance(rng, np.random.Generator):
        raise ModelError(f"rng is a numpy.random.Generator, not {describe(rng)}")
    for size in batch:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise ModelError(f"how many there are is a whole number, zero or above, not {describe(size)}")


def is_scalar(x: Any) -> bool:
    """True if ``x`` may be one number, of whatever kind."""
    none = x is None or isinstance(x, (str, bytes, list, tuple, dict, set, frozenset))
    return not none and getattr(x, "shape", ()) == ()


def shape_of(x: Any) -> tuple[int, ...] | None:
    """Shape of an array or of nested lists; None where rows differ in length."""
    if isinstance(x, range):  # takes no memory; its numbers do
        return (len(x),)
    try:
        return np.shape(x)
    except ValueError:
        return None
    except TypeError:  # a list with traced numbers of JAX, which NumPy does not look at
        inner = {shape_of(each) for each in x}
        return (len(x), *inner.pop()) if len(inner) == 1 and None not in inner else None  # type: ignore[misc]


def holds_numbers(x: Any) -> bool:
    """True for an array of numbers, of whatever kind, and not of texts, dates or nothing.

    What is masked is nothing; decimal numbers do not add to floats, and linear algebra has no extended precision.
    """
    if not isinstance(x, np.ndarray):
        return not isinstance(x, (str, bytes))
    if isinstance(x, np.ma.MaskedArray):
        return False
    if x.dtype == object:
        return not any(e is None or isinstance(e, (str, bytes, list, tuple, dict, Decimal)) for e in x.flat)
    return x.dtype.kind in "biufc" and not _is_extended(x)


def _is_extended(x: np.ndarray) -> bool:
    """True for numbers of more precision than linear algebra takes."""
    return x.dtype.kind in "fc" and x.dtype.itemsize > {"f": 8, "c": 16}[x.dtype.kind]


def _is_number_of_any_kind(x: Any) -> bool:
    """True for one number in an array, or one that is traced or symbolic."""
    if isinstance(x, np.ndarray):
        return holds_numbers(x) and (not is_numeric(x) or bool(np.isfinite(x).all()))
    return hasattr(x, "__mul__") and not isinstance(x, (str, bytes, list, tuple, dict, set, type))


def _from_lists(x: Any, shape: tuple[int, ...], what: str) -> Any:
    """Nested lists as an array: of floats where every entry is one, of another kind of number otherwise."""
    try:
        return np.array(x, dtype=complex if _any_complex(x) else float) if _is_nested_numbers(x) else array(x)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ModelError(f"{what} is an array of numbers of shape {shape}, not {x!r}") from None


def _is_nested_numbers(x: Any) -> bool:
    return all(map(_is_nested_numbers, x)) if isinstance(x, (list, tuple)) else is_numeric(x)


def _any_complex(x: Any) -> bool:
    return any(map(_any_complex, x)) if isinstance(x, (list, tuple)) else bool(np.iscomplexobj(x))
