"""SymPy expressions.

Choices are kept as they are written: SymPy's own ``Piecewise`` and ``<`` try to decide, merge and simplify them, which
takes for ever when a condition holds choices itself.

An expression is a graph: a part that is used twice is one object.  Much of SymPy (``subs``, ``diff``, ``lambdify``)
walks it as a tree, and the logarithm of SE(3), a graph of 218 parts, is a tree of 220 million.  Name the common parts
first, by ``sympy.cse(..., order="none")``: what is left is small.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import sympy
from sympy.core.function import Application
from sympy.core.logic import fuzzy_and
from sympy.logic.boolalg import Boolean

from ..operations import FUNCTIONS


def __getattr__(name: str) -> Any:
    """A function of the table."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(sympy, FUNCTIONS[name].names["sympy"])


class _PrintedAsSymPy:
    """Code, LaTeX and pretty printers show :meth:`to_sympy`, of a class that they know; ``str`` shows what it is."""

    to_sympy: ClassVar[Callable[[Any], Any]]

    def _print_as_sympy(self, printer: Any, *_: Any, **__: Any) -> Any:
        return printer._print(self.to_sympy())

    _latex = _pretty = _pythoncode = _numpycode = _mpmathcode = _jaxcode = _torchcode = _tensorflowcode = (
        _print_as_sympy
    )
    _ccode = _cxxcode = _fcode = _rust_code = _julia = _octave = _javascript = _print_as_sympy


# No BooleanFunction: the logic of SymPy would take a and b for propositions.
class Less(_PrintedAsSymPy, Application, Boolean):  # type: ignore[misc]
    """``Less(a, b)``: decided only when both are constants; ``.rewrite(Relational)`` gives SymPy's ``a < b``.

    Example:
        >>> x = sympy.Symbol("x")
        >>> Less(x**2, 1), Less(x**2, 1).subs(x, 2), Less(x**2, 1).rewrite(sympy.core.relational.Relational)
        (Less(x**2, 1), False, x**2 < 1)
    """

    relation: ClassVar[Any] = sympy.Lt
    nargs = 2
    binary_symbols: ClassVar[frozenset[Any]] = frozenset()  # none of the symbols in a and b is a proposition

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """Truth value where both sides are constants, else nothing."""
        if not (a.is_number and b.is_number and a.is_extended_real and b.is_extended_real):
            return None
        decided = cls.relation(a, b)
        return decided if decided in (sympy.true, sympy.false) else None

    def to_sympy(self) -> Any:
        """Relation of SymPy that printers know."""
        return self.relation(*self.args, evaluate=False)

    def _eval_rewrite_as_Relational(self, a: Any, b: Any, **_: Any) -> Any:
        return self.relation(a, b)


class LessEqual(Less):
    """``LessEqual(a, b)``, as :class:`Less`: ``.rewrite(Relational)`` gives SymPy's ``a <= b``."""

    relation = sympy.Le


class Select(_PrintedAsSymPy, sympy.Function):  # type: ignore[misc]
    """``Select(condition, a, b)``: ``a`` if the condition holds, else ``b``; ``.rewrite(Piecewise)`` gives SymPy's.

    The derivative is the derivative of the branch; jumps where the condition changes are not seen.

    Example:
        >>> x = sympy.Symbol("x")
        >>> hinge = Select(Less(x, 0), 0, x**2)
        >>> hinge.diff(x), hinge.subs(x, 3), hinge.rewrite(sympy.Piecewise)
        (Select(Less(x, 0), 0, 2*x), 9, Piecewise((0, x < 0), (x**2, True)))
    """

    nargs = 3
    is_commutative = True

    @classmethod
    def eval(cls, condition: Any, a: Any, b: Any) -> Any:
        """Branch where the condition is decided, else nothing."""
        if condition is sympy.true or a == b:
            return a
        return b if condition is sympy.false else None

    def to_sympy(self) -> Any:
        """Piecewise expression of SymPy that printers know."""
        condition, a, b = self.args
        return sympy.Piecewise((a, condition), (b, True), evaluate=False)

    def _eval_is_real(self) -> bool | None:
        return fuzzy_and(branch.is_real for branch in self.args[1:])

    def _eval_derivative(self, x: Any) -> Any:
        condition, a, b = self.args
        return Select(condition, a.diff(x), b.diff(x))

    def _eval_rewrite_as_Piecewise(self, condition: Any, a: Any, b: Any, **_: Any) -> Any:
        return sympy.Piecewise((a, condition.rewrite("Relational")), (b, True))


less, less_equal, select = Less, LessEqual, Select


def derivative(function: Callable[[Any], Any]) -> np.ndarray:
    """``d function(t) / dt`` at ``t = 0``."""
    time = sympy.Dummy("time", real=True)
    slope = np.frompyfunc(lambda x: sympy.sympify(x).diff(time).xreplace({time: sympy.Integer(0)}), 1, 1)
    return np.asarray(slope(np.asarray(function(time), dtype=object)))
