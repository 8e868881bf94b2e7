"""The even functions of an angle that exponentials and their derivatives are made of, exact near zero.

Each is an entire (or, for :func:`d`, meromorphic) function of ``t = angle**2``: below ``t = 1`` its Taylor polynomial,
above it the closed form, chosen by ``where`` and guarded so that neither values nor gradients see a 0/0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, factorial

from ..arrays import cos, less, sin, sqrt, where
from ..arrays.types import Scalar

_TERMS = 13  # of each series: 1 / 39.5**13, the slowest one's remainder at t = 1, is below 1e-20
_ROUNDED = 1e-18  # of the first term: those below change no digit of a value up to t = 1, nor of its derivative


def polynomial(coefficients: Sequence[float], t: Scalar) -> Scalar:
    """Polynomial with the given coefficients, lowest first, by Horner's rule."""
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * t + coefficient
    return total


def _function(
    near: Callable[[Scalar], Scalar], closed: Callable[[Scalar], Scalar], doc: str
) -> Callable[[Scalar], Scalar]:
    def function(t: Scalar) -> Scalar:
        # Both branches are computed (traced and JAX numbers have no value to branch on), so each gets an argument at
        # which it is finite: 0/0 in the branch that is not taken would still make gradients NaN.
        small = less(t, 1.0)
        return where(small, near(where(small, t, 0.0)), closed(where(small, 1.0, t)))

    function.__doc__ = doc
    return function


def _near(taylor: Sequence[Fraction]) -> Callable[[Scalar], Scalar]:
    """The polynomial of a series, near zero."""
    coefficients = [float(x) for x in taylor if abs(x) > _ROUNDED * abs(taylor[0])]
    return lambda t: polynomial(coefficients, t)


def _derivative(taylor: Sequence[Fraction]) -> list[Fraction]:
    return [k * x for k, x in enumerate(taylor)][1:]


def _bernoulli(count: int) -> list[Fraction]:
    """The Bernoulli numbers B_0 ... B_{count-1}."""
    numbers: list[Fraction] = []
    for n in range(count):
        rest = sum((comb(n + 1, k) * numbers[k] for k in range(n)), start=Fraction(0))
        numbers.append(Fraction(1) if n == 0 else -rest / (n + 1))
    return numbers


_B = [Fraction((-1) ** k, factorial(2 * k + 2)) for k in range(_TERMS)]
_C = [Fraction((-1) ** k, factorial(2 * k + 3)) for k in range(_TERMS)]
_D = [abs(number) / factorial(2 * n) for n, number in enumerate(_bernoulli(2 * _TERMS + 2)[::2])][1:]


def _a_closed(t: Scalar) -> Scalar:
    angle = sqrt(t)
    return sin(angle) / angle


def _b_closed(t: Scalar) -> Scalar:
    # 2 sin(x/2)^2 instead of 1 - cos(x), which cancels for small angles
    half = sin(0.5 * sqrt(t))
    return 2.0 * half * half / t


def _c_closed(t: Scalar) -> Scalar:
    angle = sqrt(t)
    return (angle - sin(angle)) / (t * angle)


def _d_closed(t: Scalar) -> Scalar:
    half = 0.5 * sqrt(t)
    return (1.0 - half * cos(half) / sin(half)) / t


def _d1_closed(t: Scalar) -> Scalar:
    half = 0.5 * sqrt(t)
    s = sin(half)
    return (0.125 / (s * s) - cos(half) / (8.0 * half * s) - _d_closed(t)) / t


_c_near = _near(_C)
# sin(x) / x = 1 - x^2 c(x^2): a and c share one polynomial in compiled code
a = _function(lambda t: 1.0 - t * _c_near(t), _a_closed, "``sin(x) / x`` of ``t = x**2``.")
b = _function(_near(_B), _b_closed, "``(1 - cos(x)) / x**2`` of ``t = x**2``.")
c = _function(_c_near, _c_closed, "``(x - sin(x)) / x**3`` of ``t = x**2``.")
d = _function(_near(_D), _d_closed, "``(1 - x/2 cot(x/2)) / x**2`` of ``t = x**2``; infinite at ``x = 2 pi``.")
b1 = _function(_near(_derivative(_B)), lambda t: (_a_closed(t) - 2.0 * _b_closed(t)) / (2.0 * t), "``db/dt``.")
c1 = _function(_near(_derivative(_C)), lambda t: (_b_closed(t) - 3.0 * _c_closed(t)) / (2.0 * t), "``dc/dt``.")
d1 = _function(_near(_derivative(_D)), _d1_closed, "``dd/dt``.")
