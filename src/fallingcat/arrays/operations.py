"""The table of operations: a row says all that the library must know of one, to compute, differentiate and compile it.

A new elementary function is a new row of :data:`FUNCTIONS` and a name in ``arrays.elementwise``; what can be said in
terms of others (``abs``, ``clip``) needs no row, see ``arrays.composed``.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple


class Operation(NamedTuple):
    """One operation on numbers."""

    evaluate: Callable[..., Any]
    """value for floats, or for complex numbers in complex-step derivatives"""
    slopes: Callable[..., tuple[Any, ...]]
    """``(result, *operands)`` -> the partial derivatives along the operands, in terms of any kind of number"""
    names: dict[str, str]
    """name in ``numpy`` (and JAX), ``casadi``, ``sympy`` and ``c`` (and LLVM, CUDA)"""
    cost: tuple[int, int] = (1, 1)
    """machine instructions on a GPU, about, in float32 and in float64"""
    inputs: int = 2


def _function(
    name: str,
    evaluate: Callable[..., Any],
    slopes: Callable[..., Any],
    cost: tuple[int, int],
    inputs: int = 1,
    **names: str,
) -> Operation:
    return Operation(evaluate, slopes, {package: names.get(package, name) for package in PACKAGES}, cost, inputs)


def _comparison(holds: Callable[[float, float], bool], numpy: str, casadi: str, sign: str, llvm: str) -> Operation:
    names = {"numpy": numpy, "casadi": casadi, "c": f"{{}} {sign} {{}}", "llvm": f"fcmp {llvm}"}
    return Operation(lambda a, b: holds(a.real, b.real), lambda _, a, b: (), names)


def _float_or_complex(name: str) -> Callable[..., Any]:
    """Python's function of floats, or that of complex numbers."""
    on_floats, on_complex = getattr(math, name), getattr(cmath, name)
    return lambda x: on_complex(x) if isinstance(x, complex) else on_floats(x)


def _function_of_table(name: str) -> Callable[[Any], Any]:
    """A function of this table, of any kind of number."""

    def function(x: Any) -> Any:
        from . import elementwise

        return getattr(elementwise, name)(x)

    return function


def _quotient_slopes(result: Any, a: Any, b: Any) -> tuple[Any, Any]:
    inverse = 1.0 / b
    return inverse, -(result * inverse)


def _angle(y: Any, x: Any) -> Any:
    """Angle of the point ``(x, y)``; of complex numbers, with the derivative of its real part."""
    angle = math.atan2(y.real, x.real)
    if not (isinstance(x, complex) or isinstance(y, complex)):
        return angle
    return complex(angle, (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))


def _angle_slopes(_: Any, y: Any, x: Any) -> tuple[Any, Any]:
    square = x * x + y * y
    return x / square, -y / square


PACKAGES: Final = ("numpy", "casadi", "sympy", "c")

ARITHMETIC: Final[dict[str, Operation]] = {
    "add": Operation(operator.add, lambda _, a, b: (1.0, 1.0), {"numpy": "add", "c": "{} + {}", "llvm": "fadd"}),
    "sub": Operation(operator.sub, lambda _, a, b: (1.0, -1.0), {"numpy": "subtract", "c": "{} - {}", "llvm": "fsub"}),
    "mul": Operation(operator.mul, lambda _, a, b: (b, a), {"numpy": "multiply", "c": "{} * {}", "llvm": "fmul"}),
    "div": Operation(
        operator.truediv, _quotient_slopes, {"numpy": "divide", "c": "{} / {}", "llvm": "fdiv"}, cost=(4, 12)
    ),
    "neg": Operation(operator.neg, lambda _, a: (-1.0,), {"numpy": "negative", "c": "-{}", "llvm": "fneg"}),
    "less": _comparison(operator.lt, "less", "lt", "<", "olt"),
    "less_equal": _comparison(operator.le, "less_equal", "le", "<=", "ole"),
    "select": Operation(
        lambda condition, a, b: a if condition else b,
        lambda _, condition, a, b: (),  # the slope of the branch that is taken: see `differentiate`
        {"numpy": "where", "casadi": "if_else"},
        cost=(2, 3),
    ),
}
"""Operations that fold: the rules are in ``arrays.traced``, the generated text in each emitter."""

FUNCTIONS: Final[dict[str, Operation]] = {
    "sin": _function("sin", _float_or_complex("sin"), lambda _, x: (_function_of_table("cos")(x),), cost=(11, 25)),
    "cos": _function("cos", _float_or_complex("cos"), lambda _, x: (-_function_of_table("sin")(x),), cost=(11, 25)),
    "sqrt": _function("sqrt", _float_or_complex("sqrt"), lambda y, x: (0.5 / y,), cost=(8, 12)),
    "exp": _function("exp", _float_or_complex("exp"), lambda y, x: (y,), cost=(20, 40)),
    "log": _function("log", _float_or_complex("log"), lambda _, x: (1.0 / x,), cost=(25, 40)),
    "tanh": _function("tanh", _float_or_complex("tanh"), lambda y, x: (1.0 - y * y,), cost=(30, 60)),
    "arctan2": _function("arctan2", _angle, _angle_slopes, (60, 100), 2, casadi="atan2", sympy="atan2", c="atan2"),
}
"""Elementary functions, by the name that they have in ``arrays``."""

CONDITIONS: Final = ("less", "less_equal")
"""Operations whose result is a truth value."""

OPERATIONS: Final = {**ARITHMETIC, **FUNCTIONS}
