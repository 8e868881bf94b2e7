"""A trace, computed again in exact arithmetic: every algorithm of the library gives a closed form.

What a polynomial cannot be gets a generator with a definition: the inverse of a sum, the sine of half an angle, a
root.  Inverses are named once each and cancelled wherever they divide what they multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import sympy

from ..arrays import Graph, Traced
from ..arrays.operations import FUNCTIONS
from ..errors import ModelError
from .polynomials import DIGIT, Polynomial, Ring, Turn

MAX_EXPANDED_TERMS: Final = 60
"""Terms that enter quotients, in all: up to here quotients are written out, beyond parts of them get names."""
MAX_UNNAMED_TERMS: Final = 12
"""Terms of a part of a large quotient: a longer one gets a name."""


class Inverse(NamedTuple):
    """``name = 1 / of``."""

    name: str
    of: Polynomial


class Algebra:
    """Polynomials with the symbols of a robot, and what was defined on the way."""

    def __init__(self) -> None:
        self.ring = Ring()
        self.symbols: dict[str, Any] = {}
        """generator -> symbol (or expression of SymPy) that it stands for"""
        self.inverses: list[Inverse] = []
        self.parts: dict[str, Polynomial] = {}
        """generator -> the sum that it stands for, in large quotients"""
        self.units: list[Polynomial] = []
        """sums that are 1: the squares of a unit quaternion"""
        self.separate_generators: set[str] = set()
        """generators that no denominator holds, velocities: what multiplies each is a quotient of its own"""
        self._angles: dict[Polynomial, str] = {}

    # SymPy to polynomials ---------------------------------------------------------------------------------------

    def symbol(self, x: Any) -> Polynomial:
        """The generator of a SymPy symbol (or of an expression taken as one thing)."""
        name = str(x)
        self.symbols.setdefault(name, x)
        return self.ring.generator(name)

    def polynomial(self, x: Any) -> Polynomial:
        """A SymPy expression (or number) as a polynomial."""
        x = sympy.sympify(x)
        if x.is_Rational:
            return self.ring.number(Fraction(int(x.p), int(x.q)))
        if x.is_Float:
            return self.ring.number(exact_fraction(float(x)))
        if x.is_Symbol:
            return self.symbol(x)
        if x.is_Add:
            return sum((self.polynomial(a) for a in x.args[1:]), start=self.polynomial(x.args[0]))
        if x.is_Mul:
            product = self.polynomial(x.args[0])
            for a in x.args[1:]:
                product = product * self.polynomial(a)
            return product
        if x.is_Pow and x.exp.is_Integer:
            base = self.polynomial(x.base) ** abs(int(x.exp))
            return base if x.exp > 0 else self.inverse(base)
        if isinstance(x, (sympy.sin, sympy.cos)):
            turn = self.turn(self.polynomial(x.args[0]))
            return turn.sin if isinstance(x, sympy.sin) else turn.cos
        return self.symbol(x)

    # functions of polynomials -----------------------------------------------------------------------------------

    def turn(self, angle: Polynomial) -> Turn:
        """``e^(i angle)``: whole multiples of symbols add up, of anything else the sum is one angle."""
        result = Turn(self.ring, 0)
        for powers, i, factor in angle.monomials():
            if i or sum(powers.values()) != 1 or len(powers) != 1 or factor != int(factor):
                name = self._angles.setdefault(angle, f"angle{len(self._angles) + 1}")
                self.symbols.setdefault(name, self.expression(angle))
                return self.ring.turn(name)
            one = self.ring.turn(next(iter(powers)))
            result = result * Turn(self.ring, one.monomial * int(factor))
        return result

    def is_easy(self, p: Polynomial) -> bool:
        """True if ``1 / p`` needs no new name: one term, or a sum that is 1."""
        return len(p.terms) == 1 or any(p.divide(unit) is not None for unit in self.units)

    def inverse(self, p: Polynomial) -> Polynomial:
        """``1 / p``: exact where p is a product of what is known, else a new name."""
        if not p:
            raise ModelError("a quotient by an expression that is zero: is a mass matrix singular?")
        single = p.inverse_monomial()
        if single is not None:
            return single
        scale, p = self.ring.number(1), self.common_quotient(p)
        for known in self.inverses:  # 1 / (N r^e) = D^e / N
            powers = p.by_powers(known.name) if known.name in self.ring.names else {0: p}
            most = max(powers)
            if most:
                whole = (q * known.of ** (most - power) for power, q in powers.items())
                p, scale = sum(whole, start=self.ring.number(0)), scale * known.of**most
        for unit in self.units:
            while (quotient := p.divide(unit)) is not None:
                p = quotient
        for known in self.inverses:
            while (quotient := p.divide(known.of)) is not None:
                p, scale = quotient, scale * self.ring.generator(known.name)
        single = p.inverse_monomial()
        return scale * single if single is not None else scale * self._new_inverse(p)

    def part(self, p: Polynomial) -> Polynomial:
        """A sum as one thing: its name, or the product of a number with the name of a multiple of it."""
        if len(p.terms) < 2:
            return p
        factor = p.terms[max(p.terms)]
        p = p.times(Fraction(1) / factor)
        name = next((name for name, known in self.parts.items() if known == p), f"part{len(self.parts) + 1}")
        self.parts[name] = p
        return self.ring.generator(name).times(factor)

    def _new_inverse(self, p: Polynomial) -> Polynomial:
        content = _content(p)
        p = p * Polynomial(p.ring, {-next(iter(content.terms)): Fraction(1) / next(iter(content.terms.values()))})
        self.inverses.append(Inverse(f"inverse{len(self.inverses) + 1}", p))
        outside = content.inverse_monomial()
        assert outside is not None
        return outside * self.ring.generator(self.inverses[-1].name)

    def common_quotient(self, p: Polynomial) -> Polynomial:
        """``p`` as one quotient (for each velocity), in which the named sums are cancelled where they can be."""
        if not any(known.name in powers for powers, _, _ in p.monomials() for known in self.inverses):
            return self._reduce_by_units(p)
        parts: dict[Any, dict[int, Any]] = {}
        for key, x in p.terms.items():
            powers = self.ring.exponents(key)
            velocity = tuple(
                sorted((name, power) for name, power in powers.items() if name in self.separate_generators)
            )
            parts.setdefault(velocity, {})[key] = x
        total = self.ring.number(0)
        for terms in parts.values():
            total = total + self._cancel_sums(Polynomial(self.ring, terms))
        return total

    def _reduce_by_units(self, p: Polynomial) -> Polynomial:
        for unit in self.units:
            p = _reduce_by_unit(p, unit)
        return p

    def _cancel_sums(self, p: Polynomial) -> Polynomial:
        p = self._reduce_by_units(p)
        for known in self.inverses:
            if known.name not in self.ring.names:
                continue
            powers = p.by_powers(known.name)
            most = max(powers, default=0)
            if most <= 0:
                continue
            total = self.ring.number(0)
            for power, q in powers.items():
                total = total + q * known.of ** (most - power)
            while most and (quotient := total.divide(known.of)) is not None:
                total, most = quotient, most - 1
            p = total * self.ring.generator(known.name) ** most
        return p

    def expression(self, p: Polynomial) -> Any:
        """The polynomial as SymPy writes it, term by term."""
        from .readable import without_names

        return without_names(self, p)


def exact_fraction(x: float) -> Fraction:
    """The shortest decimal that is this float: 0.12 is 3/25."""
    return Fraction(repr(float(x)))


class _Values:
    """The polynomials of the nodes of a trace."""

    def __init__(self, algebra: Algebra, given: Mapping[str, Polynomial], known: dict[Traced, Polynomial]) -> None:
        self.algebra, self.inputs, self.values = algebra, given, known

    def polynomial(self, x: Any) -> Polynomial:
        """The polynomial of a node that is known, or of a number."""
        return self.values[x] if isinstance(x, Traced) else self.algebra.ring.number(exact_fraction(x))

    def evaluate(self, node: Traced) -> Polynomial:
        """The polynomial of a node whose arguments are known."""
        if node.op == "input":
            return self.inputs[node.args[0]]
        arguments = map(self.polynomial, node.args)
        if rule := _RULES.get(node.op):
            return rule(self.algebra, *arguments)
        return _function(self.algebra, node.op, *arguments)

    def adds(self, node: Traced) -> bool:
        """True if a node needs no quotient; it is known from then on."""
        ready = all(a in self.values for a in _operands(node))
        if not ready or (node.op == "div" and not self.algebra.is_easy(self.polynomial(node.args[1]))):
            return False
        self.values[node] = self.evaluate(node)
        return True


def evaluate_outputs(algebra: Algebra, graph: Graph, outputs: Any, given: Mapping[str, Polynomial]) -> list[Polynomial]:
    """The polynomials of ``outputs`` (a flat list of traced numbers and floats) when the inputs are ``given``.

    What needs no quotient is written out.  Quotients are too where little enters them, else of named parts.
    """
    whole = _Values(algebra, given, {})
    quotients = [node for node in graph.needed(outputs) if not whole.adds(node)]
    entering = sorted({a for node in quotients for a in _operands(node) if a in whole.values}, key=lambda a: a.index)
    large = sum(len(whole.values[a].terms) for a in entering) > MAX_EXPANDED_TERMS
    named = {a: algebra.part(whole.values[a]) for a in entering} if large else {}
    inside = _Values(algebra, given, whole.values | named)
    for node in quotients:
        p = inside.evaluate(node)
        inside.values[node] = algebra.part(p) if large and len(p.terms) > MAX_UNNAMED_TERMS else p
    found = _Values(algebra, given, inside.values | whole.values)
    return [without_rounding_residues(algebra.common_quotient(found.polynomial(x))) for x in outputs]


def _operands(node: Traced) -> list[Traced]:
    """The nodes that a node is made of."""
    return [a for a in node.args if isinstance(a, Traced)]


def _function(algebra: Algebra, name: str, *xs: Polynomial) -> Polynomial:
    """A function that polynomials do not have: a new symbol that means it."""
    if name not in FUNCTIONS:
        raise ModelError(f"a closed form cannot choose: this function branches on values ({name})")
    function = getattr(sympy, FUNCTIONS[name].names["sympy"])
    return algebra.polynomial(function(*(algebra.expression(algebra.common_quotient(x)) for x in xs)))


_RULES: dict[str, Callable[..., Polynomial]] = {
    "add": lambda algebra, a, b: a + b,
    "sub": lambda algebra, a, b: a - b,
    "neg": lambda algebra, a: -a,
    "mul": lambda algebra, a, b: a * b,
    "div": lambda algebra, a, b: a * algebra.inverse(b),
    "sin": lambda algebra, a: algebra.turn(a).sin,
    "cos": lambda algebra, a: algebra.turn(a).cos,
}


def without_rounding_residues(p: Polynomial) -> Polynomial:
    """Polynomial without residues of numbers that were rounded: a turn of 45 degrees has entries of 16 digits."""
    size = max((abs(Fraction(x)) for x in p.terms.values()), default=Fraction(0))
    small = [key for key, x in p.terms.items() if abs(Fraction(x)) * 10**15 < size and x.denominator > 10**25]
    return Polynomial(p.ring, {key: x for key, x in p.terms.items() if key not in small}) if small else p


def _content(p: Polynomial) -> Polynomial:
    """The one term that divides all others: least exponents, and the coefficient of the greatest monomial."""
    exponents = [p.ring.exponents(key) for key in p.terms]
    key = 0
    for name in {name for powers in exponents for name in powers}:
        least = min(powers.get(name, 0) for powers in exponents)
        if not name.startswith("e^"):
            key += least * DIGIT ** (1 + p.ring.names.index(name))
    return Polynomial(p.ring, {key: p.terms[max(k for k in p.terms if not k & 1)]})


def _reduce_by_unit(p: Polynomial, unit: Polynomial) -> Polynomial:
    """``p`` with the greatest monomial of a sum that is 1 replaced by the rest of it."""
    top = max(unit.terms)
    rest = p.ring.number(1) - Polynomial(p.ring, {k: x for k, x in unit.terms.items() if k != top})
    square = next(iter(p.ring.exponents(top)))
    if not p or square not in p.ring.names:
        return p
    while True:
        powers = p.by_powers(square)
        if max(powers) < 2:
            return p
        generator = p.ring.generator(square)
        total = p.ring.number(0)
        for power, q in powers.items():
            total = total + (q * rest * generator ** (power - 2) if power >= 2 else q * generator**power)
        p = total


def flat_entries(result: Any) -> list[Any]:
    """The entries of an array, or a number, in a list."""
    return list(np.asarray(result, dtype=object).flat)
