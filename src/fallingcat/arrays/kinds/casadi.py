"""CasADi ``SX`` scalars."""

from typing import Any

import casadi

from ..operations import OPERATIONS


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in OPERATIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(casadi, OPERATIONS[name].names["casadi"])
