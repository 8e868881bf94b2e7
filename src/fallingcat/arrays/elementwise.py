"""Functions of each entry, for every kind of number.

An entry of an object array may be a float (folded away), a :class:`Traced`, a CasADi ``SX`` or a SymPy expression;
each kind brings its own functions (``kinds/``), found by the type of the entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature
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

    Args:
        x: Scalar of any kind.

    Returns:
        True for expressions, False for floats and for SymPy numbers.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> is_expression(Graph().input("q0")), is_expression(1.5)
        (True, False)
    """
    return kind_of(x) is not None and not getattr(x, "is_number", False)


def any_nonzero(x: np.ndarray) -> bool:
    """True if an entry is not exactly zero; an expression is not.

    Args:
        x: Array of any shape.

    Returns:
        True if an entry is an expression or not zero.

    Example:
        >>> any_nonzero(np.zeros(3)), any_nonzero(np.array([0.0, 1e-300]))
        (False, True)
    """
    return bool(x.any()) if x.dtype != object else any(is_expression(entry) or entry for entry in x.flat)


def _elementwise(name: str, parameters: str, doc: str, example: str) -> Callable[..., Any]:
    names = parameters.split(", ")

    def scalar(*xs: Any) -> Any:
        kind = next((k for k in map(kind_of, xs) if k is not None), floats)
        return getattr(kind, name)(*xs)

    on_floats, in_jax = getattr(floats, name), OPERATIONS[name].names["numpy"]
    on_objects = np.frompyfunc(scalar, len(names), 1)

    def function(*xs: Any) -> Any:
        jnp = jax_numpy(*xs)
        if jnp is not None:
            return getattr(jnp, in_jax)(*xs)
        if any(_is_object(x) for x in xs):
            return on_objects(*map(_wrap, xs))
        return on_floats(*xs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _docstring(names, doc, example)
    function.__signature__ = Signature([Parameter(x, Parameter.POSITIONAL_ONLY) for x in names])  # type: ignore[attr-defined]
    return function


def _docstring(names: list[str], doc: str, example: str) -> str:
    """Docstring of a function of ``names``; ``doc`` is its first part, ``example`` one line and its output."""
    lines = [doc, "", "Args:"]
    lines += [f"    {x}: Array or scalar of any kind, broadcast against the others." for x in names]
    lines += ["", "Returns:", "    Array of the broadcast shape.", "", "Example:"]
    return "\n".join([*lines, *(f"    {line}" for line in example.splitlines()), ""])


def _wrap(x: Any) -> np.ndarray:
    """``x`` as an object array: NumPy must not call an ``SX`` by its own idea of arrays."""
    if isinstance(x, np.ndarray):
        return x
    out = np.empty((), dtype=object)
    out[()] = x.item() if isinstance(x, np.generic) else x  # which would ask NumPy again
    return out


def _is_object(x: Any) -> bool:
    return x.dtype == object if isinstance(x, np.ndarray) else kind_of(x) is not None


sin = _elementwise("sin", "x", "Sine of each entry of ``x`` (rad).", ">>> sin(0.0)\nnp.float64(0.0)")
cos = _elementwise("cos", "x", "Cosine of each entry of ``x`` (rad).", ">>> cos(0.0)\nnp.float64(1.0)")
sqrt = _elementwise("sqrt", "x", "Square root of each entry.", ">>> sqrt(4.0)\nnp.float64(2.0)")
exp = _elementwise("exp", "x", "Exponential of each entry.", ">>> exp(0.0)\nnp.float64(1.0)")
log = _elementwise("log", "x", "Natural logarithm of each entry.", ">>> log(1.0)\nnp.float64(0.0)")
tanh = _elementwise("tanh", "x", "Hyperbolic tangent of each entry.", ">>> tanh(0.0)\nnp.float64(0.0)")
arctan2 = _elementwise(
    "arctan2",
    "y, x",
    "Angle of the point ``(x, y)`` (rad), between -pi and pi.",
    ">>> arctan2(0.0, 1.0)\nnp.float64(0.0)",
)
less = _elementwise(
    "less",
    "a, b",
    "Comparison ``a < b`` of each entry; complex numbers are compared by their real parts.",
    ">>> less(1.0, 2.0)\nTrue",
)
less_equal = _elementwise(
    "less_equal", "a, b", "Comparison ``a <= b`` of each entry, as :func:`less`.", ">>> less_equal(2.0, 2.0)\nTrue"
)
where = _elementwise(
    "select",
    "condition, a, b",
    """Choice of ``a`` where ``condition`` holds, else of ``b``.

Both are computed: guard the one that is not taken against NaN, or its gradient poisons the other one's.""",
    ">>> where(np.array([True, False]), 1.0, 2.0)\narray([1., 2.])",
)
