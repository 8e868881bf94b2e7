"""The symbols of a state: coordinates, velocities, accelerations; and what a robot's own symbols may not be called."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import sympy

from ..errors import ModelError
from ..model import Model
from .parameters import Parameter, map_numbers

_RESERVED: Final = re.compile(
    r"x|y|z|theta|theta_bc|[pDstu]_\d+|(q|qd|qdd|n|nd)_\d+|[vw]d?_[xyz]|q[xyzw]|angle\d*|(inverse|part|e\^).*",
    re.DOTALL,
)
"""Names that symbols of a model may not have."""
_COORDINATES: Final = {"angle": "theta"}
_TWIST: Final = ("v_x", "v_y", "v_z", "w_x", "w_y", "w_z")

Symbols = tuple[Any, ...]


def coordinates(model: Model) -> Symbols:
    """``q``: those of the base, then ``q_1, q_2, ...``."""
    base = (_COORDINATES.get(x, x) for x in model.base.coordinate_names)
    return _real_symbols([*base, *(f"q_{i + 1}" for i in range(model.nq - model.base.nq))])


def velocities(model: Model) -> Symbols:
    """``v``: the twist of the base ``v_x, ..., w_z``, then ``qd_1, qd_2, ...``."""
    return _real_symbols([*_twist(model), *(f"qd_{i + 1}" for i in range(model.n))])


def accelerations(model: Model) -> Symbols:
    """``a = dv/dt``: ``vd_x, ..., wd_z``, then ``qdd_1, qdd_2, ...``."""
    return _real_symbols([*(f"{x[0]}d_{x[2:]}" for x in _twist(model)), *(f"qdd_{i + 1}" for i in range(model.n))])


def check_names(model: Model) -> None:
    """An error where a model's own symbols are called like the coordinates, or like each other."""
    found: dict[str, Any] = {}

    def look(at: Parameter, x: Any) -> Any:
        for symbol in x.free_symbols if isinstance(x, sympy.Basic) else ():
            name = str(symbol)
            if _RESERVED.fullmatch(name):
                raise ModelError(f"the symbol {name!r} of {model.name!r} is a name of derivations: choose another")
            if found.setdefault(name, symbol) != symbol:
                raise ModelError(f"two symbols of {model.name!r} are called {name!r}, with other assumptions")
        return x

    map_numbers(model, look)


def _real_symbols(names: Iterable[str]) -> Symbols:
    return tuple(sympy.Symbol(name, real=True) for name in names)


def _twist(model: Model) -> list[str]:
    """Names of the components of the base's twist; of a mixed one, its number."""
    found = []
    for i, column in enumerate(model.base.selection.T):
        places = np.flatnonzero(column)
        found.append(_TWIST[places[0]] if len(places) == 1 and column[places[0]] == 1.0 else f"n_{i + 1}")
    return found
