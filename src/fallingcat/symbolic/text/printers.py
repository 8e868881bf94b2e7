"""Expressions in the words of each language: SymPy's printers, with numbers that mean the same in all."""

from __future__ import annotations

from typing import Any, Final

import sympy
from sympy.printing.c import C99CodePrinter
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.julia import JuliaCodePrinter
from sympy.printing.numpy import NumPyPrinter
from sympy.printing.octave import OctaveCodePrinter

from ...errors import ModelError

_LARGEST: Final = 2**31
"""A whole number from here on overflows in C and JAX and is of another type in Julia: it is written as a float."""

_FRACTION: Final = 1000
"""Denominators from here on are not read as fractions."""


class _Numbers:
    """Fractions and large numbers as the nearest float, by its shortest text."""

    def _print_Rational(self, x: Any) -> str:
        return repr(x.p / x.q)

    def _print_Float(self, x: Any) -> str:
        return repr(float(x))

    def _print_Integer(self, x: Any) -> str:
        return str(x.p) if abs(x.p) < _LARGEST else repr(float(x.p))


class C(_Numbers, C99CodePrinter):  # type: ignore[misc]
    """C99."""


class Julia(_Numbers, JuliaCodePrinter):  # type: ignore[misc]
    """Julia, whose ``atan`` takes two arguments."""

    def __init__(self) -> None:
        super().__init__({"user_functions": {"atan2": "atan"}})


class Matlab(_Numbers, OctaveCodePrinter):  # type: ignore[misc]
    """MATLAB and Octave."""


class NumPy(_Numbers, NumPyPrinter):  # type: ignore[misc]
    """NumPy and JAX; ``functions`` are those that were used."""

    def __init__(self) -> None:
        super().__init__({"fully_qualified_modules": False})

    @property
    def functions(self) -> list[str]:
        """Names of the functions that were used."""
        return sorted({name for names in self.module_imports.values() for name in names})


def readable(x: Any) -> str:
    """An expression as text, with :func:`decimals`."""
    return str(sympy.sstr(decimals(x), full_prec=False))


def decimals(x: Any) -> Any:
    """Expression with readable numbers.

    ``1/3`` stays, ``1617/5000`` is ``0.3234`` as in the robot's file, and longer numbers become the nearest float.

    Example:
        >>> x = sympy.Symbol("x")
        >>> decimals(x / 3 - sympy.Rational("0.3234") * sympy.sin(x) + sympy.Rational(10**30 + 1, 10**32))
        x/3 - 0.3234*sin(x) + 0.01
    """
    return x.xreplace({r: sympy.Float(repr(r.p / r.q)) for r in x.atoms(sympy.Rational) if not _is_short(r)})


def _is_short(r: Any) -> bool:
    """True if a fraction is to be written as such."""
    tenth = r.q % 5 == 0 and 10**9 % r.q == 0
    return bool(r.q == 1 or (r.q < _FRACTION and not tenth))


def print_expression(words: C | Julia | Matlab | NumPy, x: Any) -> str:
    """The text of an expression, in one line."""
    try:
        return str(words.doprint(decimals(x)))
    except (PrintMethodNotImplementedError, NotImplementedError, ValueError):
        raise ModelError(f"{type(words).__name__} has no word for an expression in it: {str(x)[:60]!r}") from None
