"""Results of library functions as SymPy expressions: matrices, arrays, and records of them as dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from ..compiler.ir.results import Result, rebuild


def assemble_result(result: Result, flat: list[Any]) -> Any:
    """The entries of a result, put together: a vector is a column."""
    return _sympy(rebuild(result, np.array([None, *flat], dtype=object)[1:]))


def _sympy(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return _array(x)
    if hasattr(x, "_asdict"):
        x = x._asdict()
    elif hasattr(x, "__dataclass_fields__"):
        x = {name: getattr(x, name) for name in x.__dataclass_fields__}
    if isinstance(x, dict):
        return {name: _sympy(part) for name, part in x.items()}
    return tuple(map(_sympy, x)) if isinstance(x, (tuple, list)) else x


def _array(x: np.ndarray) -> Any:
    if x.ndim == 0:
        return x.item()
    if x.ndim == 1:
        return sympy.ImmutableMatrix(len(x), 1, list(x))
    if x.ndim == 2:
        return sympy.ImmutableMatrix(*x.shape, list(x.flat))
    return sympy.ImmutableDenseNDimArray(list(x.flat), x.shape)


def map_entries(x: Any, change: Callable[[Any], Any]) -> Any:
    """``change`` of every expression in it."""
    if isinstance(x, dict):
        return {name: map_entries(part, change) for name, part in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)(map_entries(part, change) for part in x)
    if isinstance(x, (sympy.MatrixBase, sympy.NDimArray)):
        return x.applyfunc(change)
    return change(x) if isinstance(x, sympy.Basic) else x


def free_symbols(x: Any) -> set[Any]:
    """Free symbols of a result."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (tuple, list)):
        return set().union(*map(free_symbols, x))
    return set(getattr(x, "free_symbols", ()))
