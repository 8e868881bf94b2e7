"""Exact arithmetic of the expressions that robots are made of: polynomials in parameters, velocities and turns.

A turn by the angle ``a`` is the number ``e^(i a)``; ``cos a`` and ``sin a`` are sums of it and its inverse.  So
``cos(a) cos(b) - sin(a) sin(b)`` *is* ``cos(a + b)`` and ``cos(a)^2 + sin(a)^2`` *is* 1: two expressions are equal when
they have the same terms, and nothing has to be simplified.

A monomial is one integer: its digits, to the base :data:`DIGIT`, are the exponents (which may be negative), and
products of monomials are sums of integers.  The lowest digit is the power of ``i``, 0 or 1.

>>> ring = Ring()
>>> a, b = ring.turn("a"), ring.turn("b")
>>> (a.cos * b.cos - a.sin * b.sin) - (a * b).cos
0
>>> a.cos * a.cos + a.sin * a.sin
1
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

DIGIT: Final = 1 << 12
"""Exponents lie between minus and plus half of it."""
_MAX_STEPS: Final = 20_000
"""Steps of a division, before it is given up."""

Rational = int | Fraction


class Ring:
    """Generators of polynomials, in the order of their first use."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def generator(self, name: str) -> Polynomial:
        """The generator ``name``; the same name gives the same one."""
        if name not in self.names:
            self.names.append(name)
        return Polynomial(self, {DIGIT ** (1 + self.names.index(name)): 1})

    def turn(self, name: str) -> Turn:
        """``e^(i name)``."""
        return Turn(self, next(iter(self.generator(f"e^{name}").terms)))

    def number(self, x: Rational) -> Polynomial:
        """A constant."""
        return Polynomial(self, {0: x} if x else {})

    def exponents(self, monomial: int) -> dict[str, int]:
        """The generators in a monomial and their exponents, without ``i``."""
        found, rest, place = {}, monomial >> 12, 0
        while rest:
            digit = ((rest + DIGIT // 2) & (DIGIT - 1)) - DIGIT // 2
            if digit:
                found[self.names[place]] = digit
            rest, place = (rest - digit) >> 12, place + 1
        return found


class Turn:
    """``e^(i a)`` of a sum of angles ``a``."""

    def __init__(self, ring: Ring, monomial: int) -> None:
        self.ring, self.monomial = ring, monomial

    def __mul__(self, other: Turn) -> Turn:
        return Turn(self.ring, self.monomial + other.monomial)

    @property
    def cos(self) -> Polynomial:
        """``(e^(i a) + e^(-i a)) / 2``."""
        half = Fraction(1, 2)
        both: dict[int, Rational] = {self.monomial: half, -self.monomial: half}
        return Polynomial(self.ring, both) if self.monomial else self.ring.number(1)

    @property
    def sin(self) -> Polynomial:
        """``-i (e^(i a) - e^(-i a)) / 2``."""
        half = Fraction(1, 2)
        both: dict[int, Rational] = {self.monomial + 1: -half, -self.monomial + 1: half}
        return Polynomial(self.ring, both) if self.monomial else self.ring.number(0)


class Polynomial:
    """A sum of monomials with rational coefficients."""

    __slots__ = ("ring", "terms")

    def __init__(self, ring: Ring, terms: dict[int, Rational]) -> None:
        self.ring, self.terms = ring, terms

    def __add__(self, other: Polynomial) -> Polynomial:
        if len(other.terms) > len(self.terms):
            self, other = other, self
        terms = dict(self.terms)
        for key, x in other.terms.items():
            total = terms.get(key, 0) + x
            if total:
                terms[key] = total
            else:
                terms.pop(key, None)
        return Polynomial(self.ring, terms)

    def __neg__(self) -> Polynomial:
        return Polynomial(self.ring, {key: -x for key, x in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + (-other)

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[int, Rational] = {}
        for key, x in self.terms.items():
            for more, y in other.terms.items():
                both, product = key + more, x * y
                if both & 2:  # i^2 = -1
                    both, product = both - 2, -product
                terms[both] = terms.get(both, 0) + product
        return Polynomial(self.ring, {key: _as_integer(x) for key, x in terms.items() if x})

    def __pow__(self, exponent: int) -> Polynomial:
        result = self.ring.number(1)
        for _ in range(exponent):
            result = result * self
        return result

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def times(self, factor: Rational) -> Polynomial:
        """The product with a number."""
        return Polynomial(self.ring, {key: _as_integer(x * factor) for key, x in self.terms.items()} if factor else {})

    # quotients --------------------------------------------------------------------------------------------------

    def inverse_monomial(self) -> Polynomial | None:
        """``1 / self`` where there is one term, else None."""
        if len(self.terms) != 1:
            return None
        ((key, x),) = self.terms.items()
        inverse = Fraction(1) / x
        return Polynomial(self.ring, {-key: _as_integer(inverse)} if not key & 1 else {2 - key: _as_integer(-inverse)})

    def divide(self, divisor: Polynomial) -> Polynomial | None:
        """``self / divisor`` where that is a polynomial (exponents may be negative), else None."""
        room = _exponent_ranges(self, divisor)
        if room is None:
            return None
        rest, by = _complex(self), _complex(divisor)
        lead = max(by)
        norm = by[lead][0] ** 2 + by[lead][1] ** 2
        quotient: dict[int, Rational] = {}
        for _ in range(_MAX_STEPS):
            if not rest:
                return Polynomial(self.ring, quotient)
            top = max(rest)
            powers = self.ring.exponents((top - lead) << 12)
            if any(not low <= powers.get(name, 0) <= high for name, (low, high) in room.items()):
                return None
            (a, b), (c, d) = rest[top], by[lead]
            x, y = Fraction(a * c + b * d) / norm, Fraction(b * c - a * d) / norm
            for part, digit in ((x, 0), (y, 1)):
                if part:
                    quotient[((top - lead) << 12) + digit] = _as_integer(part)
            for key, (c, d) in by.items():
                p, q = rest.get(key + top - lead, (0, 0))
                left = (p - x * c + y * d, q - x * d - y * c)
                if any(left):
                    rest[key + top - lead] = left
                else:
                    rest.pop(key + top - lead, None)
        return None

    def by_powers(self, name: str) -> dict[int, Polynomial]:
        """The coefficients of the powers of one generator."""
        place = DIGIT ** (1 + self.ring.names.index(name))
        found: dict[int, dict[int, Rational]] = {}
        for key, x in self.terms.items():
            power = self.ring.exponents(key).get(name, 0)
            found.setdefault(power, {})[key - power * place] = x
        return {power: Polynomial(self.ring, terms) for power, terms in found.items()}

    def monomials(self) -> Iterator[tuple[dict[str, int], int, Rational]]:
        """Terms: exponents of the generators, the power of ``i``, the coefficient."""
        for key, x in self.terms.items():
            yield self.ring.exponents(key), key & 1, x

    def __repr__(self) -> str:
        parts = []
        for powers, i, x in self.monomials():
            factors = [str(x)] if x != 1 or not (powers or i) else []
            factors += ["i"] * i + [name if p == 1 else f"{name}^{p}" for name, p in powers.items()]
            parts.append(" ".join(factors))
        return " + ".join(parts) or "0"


def _as_integer(x: Any) -> Rational:
    """A whole number as an int: arithmetic is faster."""
    return x.numerator if isinstance(x, Fraction) and x.denominator == 1 else x


def _exponent_ranges(p: Polynomial, divisor: Polynomial) -> dict[str, tuple[int, int]] | None:
    """Between which exponents every term of a quotient lies, for each generator; None where there can be none."""
    ends = []
    for each in (p, divisor):
        exponents = [each.ring.exponents(key) for key in each.terms]
        names = {name for powers in exponents for name in powers}
        ends.append({n: (min(e.get(n, 0) for e in exponents), max(e.get(n, 0) for e in exponents)) for n in names})
    top, bottom = ends
    room = {}
    for name in {*top, *bottom}:
        (low, high), (least, most) = top.get(name, (0, 0)), bottom.get(name, (0, 0))
        room[name] = (low - least, high - most)
        if low - least > high - most:
            return None
    return room


def _complex(p: Polynomial) -> dict[int, tuple[Rational, Rational]]:
    """Coefficients of real monomials as pairs: real and imaginary part."""
    found: dict[int, tuple[Rational, Rational]] = {}
    for key, x in p.terms.items():
        real, imaginary = found.get(key >> 12, (0, 0))
        found[key >> 12] = (real, imaginary + x) if key & 1 else (real + x, imaginary)
    return found
