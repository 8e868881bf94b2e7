"""SymPy expressions."""

from typing import Any

import sympy

sin, cos, sqrt, exp, log, arctan2 = sympy.sin, sympy.cos, sympy.sqrt, sympy.exp, sympy.log, sympy.atan2


def less(a: Any, b: Any) -> Any:
    return sympy.Lt(a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    return sympy.Piecewise((a, condition), (b, True))
