"""NumPy's own names on expressions: ``np.sin(x)``, ``np.where(x >= 0, a, b)``, ``tau[0] = x`` do what they say.

Object arrays ask their entries one by one, and a comparison of arrays asks for True or False, which expressions cannot
say.  So a function that is written in plain NumPy is given :class:`Expressions`, arrays that send what NumPy is asked
for to the functions of this package.

>>> from fallingcat.arrays import Graph
>>> x = Graph().inputs("x", 2).view(Expressions)
>>> np.where(x >= 0.0, np.sin(x), 2.0)
Expressions([select(0.0 <= x0, sin(x0), 2.0), select(0.0 <= x1, sin(x1), 2.0)],
            dtype=object)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from . import composed, elementwise
from .building import array, is_numeric
from .traced import _BUILD, _EQUALITY_ADVICE, _STEPS, TracedValueError


class Expressions(np.ndarray):
    """Array of expressions (dtype object) that NumPy's own functions take."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        return of_function(function, given, named)


def natural(x: Any) -> Any:
    """View of expressions that NumPy's own functions take; all else as it is."""
    return x.view(Expressions) if isinstance(x, np.ndarray) and x.dtype == object else x


def simplest_array(x: Any) -> Any:
    """Result as the rest of the library takes it: floats where all entries are."""
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return x
    return x.astype(float) if all(is_numeric(e) for e in x.flat) else np.asarray(x) + 0.0  # a condition is 1 or 0


def of_ufunc(ufunc: Any, method: str, inputs: Any, options: dict[str, Any]) -> Any:
    """Result of ``ufunc.method(*inputs, **options)`` where an input holds expressions: ours where we have one."""
    out, own = options.pop("out", None), UFUNCS.get(ufunc.__name__)
    if out is not None and any(x.dtype != object for x in out):
        raise TracedValueError(
            f"an array of numbers cannot take the result of np.{ufunc.__name__} of expressions: {_BUILD}"
        )
    xs = [_entries(x) for x in inputs]
    if own is None and ufunc.__name__ not in ENTRY_BY_ENTRY and hasattr(np, ufunc.__name__):
        raise _unsupported_error(f"np.{ufunc.__name__}")
    if own is None:
        result = _entrywise(getattr(ufunc, method), ufunc.__name__, [elementwise._wrap(x) for x in xs], options)
    elif method == "reduce":
        along = options.get("axis", 0)
        rows = np.ravel(xs[0]) if along is None else np.moveaxis(xs[0], along, 0)
        result = functools.reduce(own, rows)
    else:
        result = own(*xs)
    if out is None:
        return _match_arguments(result, inputs)
    out[0][...] = result
    return out[0]


def of_function(function: Any, given: Any, named: dict[str, Any]) -> Any:
    """Result of NumPy's ``function(*given, **named)`` where an argument holds expressions."""
    own = FUNCTIONS.get(function)
    if own is not None:
        return _match_arguments(own(*map(_entries, given), **named), given)
    name = f"{function.__module__.replace('numpy', 'np', 1)}.{function.__name__}"
    return _match_arguments(_entrywise(function._implementation, name, given, named), given)


def _entrywise(function: Callable[..., Any], name: str, given: Any, named: dict[str, Any]) -> Any:
    """Result of a function of NumPy on expressions, entry by entry; an error with its name where it takes none."""
    try:
        return function(*given, **named)
    except (TypeError, ValueError) as error:
        if isinstance(error, TracedValueError) and name.removeprefix("np.") not in REPLACEMENTS:
            raise
        raise _unsupported_error(name) from error


def _unsupported_error(name: str) -> TracedValueError:
    """The error of a function by its name, and what to write instead of it."""
    return TracedValueError(f"{name} takes no expressions: {REPLACEMENTS.get(name.removeprefix('np.'), _OURS)}")


def _entries(x: Any) -> Any:
    """A number or an array that knows nothing of this file."""
    return np.asarray(x) if isinstance(x, np.ndarray) else array(x) if isinstance(x, (list, tuple)) else x


def _match_arguments(result: Any, given: Any) -> Any:
    """Expressions, if some of the arguments were."""
    if isinstance(result, np.ndarray) and result.ndim == 0:
        return result[()]
    return natural(result) if _holds_expressions(given) else result


def _holds_expressions(x: Any) -> bool:
    return any(map(_holds_expressions, x)) if isinstance(x, (list, tuple)) else isinstance(x, Expressions)


def _refuse_equality(a: Any, b: Any) -> Any:
    raise TracedValueError(f"whether expressions are equal is not known yet: {_EQUALITY_ADVICE}")


def _clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    x = x if low is None else composed.maximum(x, low)
    return x if high is None else composed.minimum(x, high)


def _zeros_like(x: Any, *_: Any, **__: Any) -> Any:
    return np.full(np.shape(x), 0.0, dtype=object)  # whatever type was wanted: expressions are to be put there


def _refuse_pivoting(*_: Any) -> Any:
    raise TracedValueError(
        "among expressions no pivot is found: write solve(A, b) of fallingcat.arrays, for definite A"
    )


_OURS: Final = "write it with functions of fallingcat.arrays"

REPLACEMENTS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("floor", "ceil", "rint", "trunc", "fix", "round", "around", "floor_divide", "fmod", "modf"), _STEPS
    ),
    **dict.fromkeys(("interp", "digitize", "select", "piecewise"), _STEPS),
    "heaviside": "write where(x < 0, 0.0, 1.0)",
    "copysign": "write where(x < 0, -a, a)",
    "cbrt": "write sign(x) * exp(log(abs(x)) / 3)",
    "isnan": "runs stop by themselves where a number is none",
}
"""By NumPy's name: what to write where we have nothing of its own."""

UFUNCS: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(elementwise, name) for name in ("sin", "cos", "exp", "log", "sqrt", "tanh", "arctan2")},
    **{name: getattr(composed, name) for name in ("arctan", "arcsin", "arccos", "absolute", "minimum", "maximum")},
    "sign": composed.sign,
    "fabs": composed.absolute,
    **dict.fromkeys(("radians", "deg2rad"), lambda x: x * (np.pi / 180.0)),
    **dict.fromkeys(("degrees", "rad2deg"), lambda x: x * (180.0 / np.pi)),
    "tan": lambda x: elementwise.sin(x) / elementwise.cos(x),
    "hypot": lambda x, y: elementwise.sqrt(x * x + y * y),
    "clip": _clip,
    "less": elementwise.less,
    "less_equal": elementwise.less_equal,
    "greater": lambda a, b: elementwise.less(b, a),
    "greater_equal": lambda a, b: elementwise.less_equal(b, a),
    "equal": _refuse_equality,
    "not_equal": _refuse_equality,
    "logical_and": np.bitwise_and,
    "logical_or": np.bitwise_or,
    "logical_not": np.invert,
}
"""Elementwise functions by NumPy's name."""

ENTRY_BY_ENTRY: Final = {
    *("add", "subtract", "multiply", "divide", "negative", "positive", "power", "square", "reciprocal", "matmul"),
    *("matvec", "vecmat", "vecdot", "bitwise_and", "bitwise_or", "invert", "conjugate", "remainder"),
}
"""NumPy functions that apply the operators of the entries."""

FUNCTIONS: Final[dict[Any, Callable[..., Any]]] = {
    np.where: elementwise.where,
    np.clip: _clip,
    np.zeros_like: _zeros_like,
    np.linalg.solve: _refuse_pivoting,
    np.linalg.inv: _refuse_pivoting,
}
"""NumPy functions beyond the elementwise ones, with their counterparts here."""
