"""Functions of each entry, for every kind of number.

An entry of an object array may be a float (folded away), a :class:`Traced`, a CasADi ``SX`` or a SymPy expression;
each kind brings its own functions (``kinds/``), found by the type of the entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from . import traced
from .building import jax_numpy
from .kinds import floats
from .operations import OPERATIONS


def kind_of(x: Any) -> ModuleType | None:
    """Module of functions for the scalar ``x``; None for plain numbers."""
    if isinstance(x, float):
        return None
    if isinstance(x, traced.Traced):
        return traced
    for package, number in (("casadi", "SX"), ("sympy", "Basic")):
        module = sys.modules.get(package)  # never imported here: without it no such number exists
        if module is not None and isinstance(x, getattr(module, number)):
            return import_module(f".kinds.{package}", __package__)
    return None


def is_expression(x: Any) -> bool:
    """True if ``x`` is one number without a value of its own: traced, of CasADi, or an expression of SymPy.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> is_expression(Graph().input("q0")), is_expression(1.5)
        (True, False)
    """
    return kind_of(x) is not None and not getattr(x, "is_number", False)


def any_nonzero(x: np.ndarray) -> bool:
    """True if an entry is not exactly zero; an expression is not.

    Example:
        >>> any_nonzero(np.zeros(3)), any_nonzero(np.array([0.0, 1e-300]))
        (False, True)
    """
    return bool(x.any()) if x.dtype != object else any(is_expression(entry) or entry for entry in x.flat)


def _elementwise(name: str, inputs: int, doc: str) -> Callable[..., Any]:
    def scalar(*xs: Any) -> Any:
        kind = next((k for k in map(kind_of, xs) if k is not None), floats)
        return getattr(kind, name)(*xs)

    on_floats, in_jax = getattr(floats, name), OPERATIONS[name].names["numpy"]
    on_objects = np.frompyfunc(scalar, inputs, 1)

    def function(*xs: Any) -> Any:
        jnp = jax_numpy(*xs)
        if jnp is not None:
            return getattr(jnp, in_jax)(*xs)
        if any(_is_object(x) for x in xs):
            return on_objects(*map(_wrap, xs))
        return on_floats(*xs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _wrap(x: Any) -> np.ndarray:
    """``x`` as an object array: NumPy must not call an ``SX`` by its own idea of arrays."""
    if isinstance(x, np.ndarray):
        return x
    out = np.empty((), dtype=object)
    out[()] = x.item() if isinstance(x, np.generic) else x  # which would ask NumPy again
    return out


def _is_object(x: Any) -> bool:
    return x.dtype == object if isinstance(x, np.ndarray) else kind_of(x) is not None


sin = _elementwise("sin", 1, "The sine of each entry of ``x`` (radians).")
cos = _elementwise("cos", 1, "The cosine of each entry of ``x`` (radians).")
sqrt = _elementwise("sqrt", 1, "The square root of each entry of ``x``.")
exp = _elementwise("exp", 1, "The exponential of each entry of ``x``.")
log = _elementwise("log", 1, "The natural logarithm of each entry of ``x``.")
tanh = _elementwise("tanh", 1, "The hyperbolic tangent of each entry of ``x``.")
arctan2 = _elementwise("arctan2", 2, "The angle of the point ``(x, y)``, called as ``arctan2(y, x)``, in radians.")
less = _elementwise("less", 2, "``a < b`` for each entry; complex numbers are compared by their real parts.")
less_equal = _elementwise("less_equal", 2, "``a <= b`` for each entry, as :func:`less`.")
where = _elementwise(
    "select",
    3,
    """``a`` where ``condition`` holds, else ``b``, called as ``where(condition, a, b)``.

Both are computed: guard the one that is not taken against NaN, or its gradient poisons the other one's.
""",
)
