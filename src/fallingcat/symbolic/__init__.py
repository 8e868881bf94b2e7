"""Equations that a person can read: closed forms of any small robot, with symbols for its parameters.

Needs SymPy: ``pip install '.[symbolic]'`` in a clone.
"""

from __future__ import annotations

from .._deprecated import former_names
from ..errors import ExtraMissingError

try:
    import sympy as _sympy  # noqa: F401
except ImportError:
    raise ExtraMissingError("symbolic", package="sympy", purpose="a derivation") from None

from . import toolbox
from .derivation import Derivation, derive
from .files import load
from .hopping import foot
from .identification import base_parameters
from .parameters import Symbols, numbers, symbols
from .readable import NamedExpressions

__all__ = [
    "Derivation",
    "NamedExpressions",
    "Symbols",
    "base_parameters",
    "derive",
    "foot",
    "load",
    "numbers",
    "symbols",
    "toolbox",
]

__getattr__ = former_names(__name__)
