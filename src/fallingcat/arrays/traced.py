"""Traced scalars: numbers that write down how they were made.

Exact zeros and ones disappear, constants fold, and signs move outwards (``-a * b`` is ``-(a * b)``, ``b - a`` shares
the node of ``a - b``), so that an algorithm written with dense matrices leaves a sparse trace.

>>> from fallingcat.arrays import Graph
>>> graph = Graph()
>>> x, y = graph.input("x"), graph.input("y")
>>> (1.0 * x) * (y + 0.0) + 0.0 * x
x * y
>>> (x - y) * x + (y - x) * x
0.0
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Union

import numpy as np

from .operations import CONDITIONS, FUNCTIONS
from .types import Scalar

if TYPE_CHECKING:
    from .graph import Graph

Number = Union[float, "Traced"]

_BRANCH = "write where(x > 0, a, b), (c) & (d), np.minimum, np.maximum or np.clip instead of if, and, min, max"
_EQUALITY_ADVICE = "write where(abs(x - y) < tolerance, a, b) instead of =="
_BUILD = (
    "write tau = np.zeros_like(state.rates); tau[0] = x, or array([x, 0.0]) of fallingcat.arrays, instead of "
    "tau = np.zeros(n), and np.sin, ... instead of math.sin"
)
_STEPS = "write steps as where(x < a, b, c), or give simulate a function of time and state, which may use all of NumPy"
LONGEST_TEXT: Final = 80
"""Characters of an expression that are printed."""
_NUMBERS = (int, float, np.floating, np.integer)


class TracedValueError(TypeError):
    """Error of asking an expression what only a number can give; the message says what to write instead."""


class Traced:
    """Node of a :class:`.Graph`: an operation and its operands, each a :class:`Traced` or a float.

    Equality and hash are those of identity: two equal expressions *are* the same object.

    Args:
        graph: Graph of the trace.
        op: Name of the operation in the table of operations.
        args: Operands.
        index: Position among the nodes of the graph; operands come before results.

    Example:
        >>> from fallingcat.arrays import Graph
        >>> graph = Graph()
        >>> x = graph.input("x")
        >>> (2.0 * x + 1.0).op, x * x is x * x
        ('add', True)

    ``index`` counts the nodes of the graph in the order of their making; operands come before results.
    Equality and hash are those of identity: two equal expressions *are* the same object.
    """

    __slots__ = ("args", "graph", "index", "op")

    def __init__(self, graph: Graph, op: str, args: tuple[Any, ...], index: int) -> None:
        self.graph, self.op, self.args, self.index = graph, op, args, index

    # arithmetic: fold first, then ask the graph for the one node of this expression
    def __add__(self, other: Scalar) -> Scalar:
        if type(other) is float and other == 0.0 and self.op not in CONDITIONS:  # most sums and products in matrices
            return self
        other = _operand(other)
        return other if other is NotImplemented else _add(_operand(self), other)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        other = _operand(other)
        return other if other is NotImplemented else _sub(_operand(self), other)

    def __rsub__(self, other: Scalar) -> Scalar:
        other = _operand(other)
        return other if other is NotImplemented else _sub(other, _operand(self))

    def __mul__(self, other: Scalar) -> Scalar:
        if type(other) is float and other == 0.0:
            return 0.0
        other = _operand(other)
        return other if other is NotImplemented else _mul(_operand(self), other)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        other = _operand(other)
        return other if other is NotImplemented else _div(_operand(self), other)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        other = _operand(other)
        return other if other is NotImplemented else _div(other, _operand(self))

    def __neg__(self) -> Traced:
        return _neg(_operand(self))

    def __pos__(self) -> Traced:
        return self

    def __pow__(self, exponent: Scalar) -> Scalar:
        halves = 2 * exponent if isinstance(exponent, _NUMBERS) else 0.5
        if halves != int(halves):
            raise TracedValueError(
                f"traced numbers have whole and half powers: write exp(p * log(x)), not x**{exponent!r}"
            )
        if halves % 2:
            return _apply_operation("sqrt", self) * self ** ((halves - 1) // 2)
        exponent = int(exponent)
        if exponent < 0:
            return 1.0 / self**-exponent
        result: Number = 1.0
        for bit in bin(exponent)[2:]:
            result = result * result
            result = result * self if bit == "1" else result
        return result

    def __rpow__(self, base: Scalar) -> Scalar:
        return _apply_operation("exp", math.log(base) * self)

    def __mod__(self, other: Scalar) -> Scalar:
        raise TracedValueError(
            f"no remainder of {self!r}: write arctan2(sin(x), cos(x)) for an angle within half a turn"
        )

    def __abs__(self) -> Scalar:
        return select(less(self, 0.0), _neg(self), self)

    # comparisons give traced conditions, for `where`
    def __lt__(self, other: Scalar) -> Scalar:
        return less(self, other)

    def __gt__(self, other: Scalar) -> Scalar:
        return less(other, self)

    def __le__(self, other: Scalar) -> Scalar:
        return less_equal(self, other)

    def __ge__(self, other: Scalar) -> Scalar:
        return less_equal(other, self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _NUMBERS):
            raise TracedValueError(f"whether {self!r} equals {other!r} is not known yet: {_EQUALITY_ADVICE}")
        return self is other

    __hash__ = object.__hash__

    def __and__(self, other: Scalar) -> Scalar:
        return (
            NotImplemented
            if isinstance(other, np.ndarray)
            else _condition_of(select(self, select(other, 1.0, 0.0), 0.0))
        )

    __rand__ = __and__

    def __or__(self, other: Scalar) -> Scalar:
        return (
            NotImplemented
            if isinstance(other, np.ndarray)
            else _condition_of(select(self, 1.0, select(other, 1.0, 0.0)))
        )

    __ror__ = __or__

    def __invert__(self) -> Any:
        return _condition_of(select(self, 0.0, 1.0))

    # what only a number can give
    def __bool__(self) -> bool:
        raise TracedValueError(f"whether {self!r} holds is not known yet: {_BRANCH}")

    def __float__(self) -> float:
        raise TracedValueError(f"the traced value {self!r} has no number yet: {_BUILD}")

    def _no_steps(self, *_: Any) -> int:
        raise TracedValueError(f"the traced value {self!r} has no number yet to round: {_STEPS}")

    __int__ = __round__ = __floor__ = __ceil__ = __trunc__ = __floordiv__ = _no_steps

    # NumPy's functions of it, and of arrays of it
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from .numpy_protocol import of_ufunc  # which is built on this file

        return of_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, given: Any, named: Any) -> Any:
        from .numpy_protocol import of_function

        return of_function(function, given, named)

    def conjugate(self) -> Traced:
        """The number itself: traced numbers are real.

        Returns:
            This node.
        """
        return self

    def __repr__(self) -> str:
        """The formula, cut where it is long: written out, a graph may be exponentially longer than it is."""
        text = ""
        for part in _parts(self, 0, 0):
            text += part
            if len(text) > LONGEST_TEXT:
                return f"{text[: LONGEST_TEXT - 3]}..."
        return text


# the algebra: every function folds what is exact, then asks for the node


def _add(a: Number, b: Number) -> Number:
    if type(a) is float:
        a, b = b, a
    if type(a) is float:
        return a + b
    if type(b) is float:
        return a if b == 0.0 else a.graph.node("add", a, b)  # type: ignore[union-attr]
    assert isinstance(a, Traced) and isinstance(b, Traced)
    if a.op == "neg":
        return _neg(_add(a.args[0], b.args[0])) if b.op == "neg" else _sub(b, a.args[0])
    if b.op == "neg":
        return _sub(a, b.args[0])
    return a.graph.node("add", a, b) if a.index <= b.index else a.graph.node("add", b, a)


def _sub(a: Number, b: Number) -> Number:
    if type(b) is float:
        return _add(a, -b)
    assert isinstance(b, Traced)
    if b.op == "neg":
        return _add(a, b.args[0])
    if type(a) is float and a == 0.0:
        return _neg(b)
    if isinstance(a, Traced):
        if a is b:
            return 0.0
        if a.op == "neg":
            return _neg(_add(a.args[0], b))
    twin = b.graph.find("sub", b, a)
    return b.graph.node("sub", a, b) if twin is None else _neg(twin)


def _mul(a: Number, b: Number) -> Number:
    if type(a) is float:
        a, b = b, a
    if type(a) is float:
        return a * b
    assert isinstance(a, Traced)
    if type(b) is float:
        return _scale(a, b)
    assert isinstance(b, Traced)
    if a.op == "neg":
        return _neg(_mul(a.args[0], b))
    if b.op == "neg":
        return _neg(_mul(a, b.args[0]))
    return a.graph.node("mul", a, b) if a.index <= b.index else a.graph.node("mul", b, a)


def _scale(a: Traced, factor: float) -> Number:
    """``factor * a``: constants multiply into constants, their sign moves outwards."""
    if factor == 0.0:
        return 0.0
    if a.op == "neg":
        return _neg(_scale(a.args[0], factor))
    if factor < 0.0:
        return _neg(_scale(a, -factor))
    if a.op == "mul" and type(a.args[0]) is float:
        return _scale(a.args[1], factor * a.args[0])
    return a if factor == 1.0 else a.graph.node("mul", factor, a)


def _div(a: Number, b: Number) -> Number:
    if type(b) is float:
        return _mul(a, 1.0 / b)
    assert isinstance(b, Traced)
    if b.op == "neg":
        return _neg(_div(a, b.args[0]))
    if type(a) is float:
        return 0.0 if a == 0.0 else b.graph.node("div", a, b)
    assert isinstance(a, Traced)
    if a is b:
        return 1.0
    return _neg(_div(a.args[0], b)) if a.op == "neg" else a.graph.node("div", a, b)


def _neg(a: Number) -> Any:
    if type(a) is float:
        return -a
    assert isinstance(a, Traced)
    return a.args[0] if a.op == "neg" else a.graph.node("neg", a)


def _operand(x: Any) -> Any:
    """``x`` as float or :class:`Traced`, conditions as 1 or 0, as NumPy counts them; arrays get their own turn."""
    if type(x) is float:
        return x
    if type(x) is Traced:
        return x if x.op not in CONDITIONS else x.graph.node("select", x, 1.0, 0.0)
    return float(x) if isinstance(x, _NUMBERS) else NotImplemented


# the functions that `arrays.elementwise` calls for traced numbers


def __getattr__(name: str) -> Any:
    """A function of the table, on operands of which one at least is traced."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return partial(_apply_operation, name)


def _apply_operation(name: str, *xs: Any) -> Number:
    xs = tuple(_operand(x) for x in xs)
    if name == "sin" and xs[0].op == "neg":
        return _neg(_apply_operation("sin", xs[0].args[0]))
    if name == "cos" and xs[0].op == "neg":
        return _apply_operation("cos", xs[0].args[0])
    return _graph(*xs).node(name, *xs)


def less(a: Any, b: Any) -> Any:
    """Comparison ``a < b``: decided where both are floats, else a node."""
    return _comparison("less", a, b)


def less_equal(a: Any, b: Any) -> Any:
    """Comparison ``a <= b``: decided where both are floats, else a node."""
    return _comparison("less_equal", a, b)


def _comparison(name: str, a: Any, b: Any) -> Any:
    a, b = _operand(a), _operand(b)
    if a is NotImplemented or b is NotImplemented:
        return NotImplemented
    return _graph(a, b).node(name, a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """Choice of ``a`` where the condition holds, else of ``b``."""
    if not isinstance(condition, Traced):
        return a if condition else b
    if condition.op not in (*CONDITIONS, "symbol"):
        raise TracedValueError(f"a choice is by a condition such as x > 0, not by the number {condition!r}")
    a, b = _operand(a), _operand(b)
    if a is b or (type(a) is float and type(b) is float and a == b):
        return a
    return condition.graph.node("select", condition, a, b)


def _condition_of(number: Any) -> Any:
    """Condition of which ``number`` is the 1 or 0."""
    return less(0.5, number) if isinstance(number, Traced) else number > 0.5


def _graph(*xs: Any) -> Graph:
    return next(x.graph for x in xs if isinstance(x, Traced))


_INFIX: Final = {
    "add": (" + ", 1),
    "sub": (" - ", 1),
    "mul": (" * ", 2),
    "div": (" / ", 2),
    "less": (" < ", 0),
    "less_equal": (" <= ", 0),
}


def _parts(x: Any, level: int, depth: int) -> Iterator[str]:
    """``x`` as a formula, piece by piece, with parentheses where ``level`` (of the operation around it) needs them."""
    if not isinstance(x, Traced):
        yield repr(x)
    elif x.op == "input":
        yield str(x.args[0])
    elif depth > LONGEST_TEXT:
        yield "..."
    elif x.op == "neg":
        yield "-"
        yield from _parts(x.args[0], 3, depth + 1)
    else:
        sign, own = _INFIX.get(x.op, (", ", 0))
        named, apart = x.op not in _INFIX, x.op in _INFIX and own < level
        yield f"{x.op}(" if named else "(" if apart else ""
        for i, a in enumerate(x.args):
            yield sign if i else ""
            yield from _parts(a, own + (i > 0 and x.op in ("sub", "div")), depth + 1)
        yield ")" if named or apart else ""
