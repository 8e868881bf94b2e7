"""CasADi ``SX`` scalars."""

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from ..building import from_casadi, to_casadi
from ..operations import OPERATIONS


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in OPERATIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(casadi, OPERATIONS[name].names["casadi"])


def derivative(function: Callable[[Any], Any]) -> np.ndarray:
    """``d function(t) / dt`` at ``t = 0``."""
    time = casadi.SX.sym("time")
    values = np.asarray(function(time), dtype=object)
    slopes = casadi.jacobian(to_casadi(values.ravel()), time)
    return from_casadi(casadi.densify(casadi.substitute(slopes, time, 0.0))).reshape(values.shape)
