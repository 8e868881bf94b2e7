"""Polynomials as people write them: sums of angles, one name for each group of parameters, velocities together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd
from typing import Any, NamedTuple

import sympy

from ..records import concise
from .algebra import Algebra
from .matrices import free_symbols
from .polynomials import Polynomial, Rational

Wave = tuple[tuple[bool, tuple[tuple[str, int], ...]], ...]
"""A product of sines (True) and cosines (False), each of a sum of angles."""
Powers = tuple[tuple[str, int], ...]


_MAX_SUM_TERMS, _MAX_SUM_NUMBER = 40, 10**6
"""Terms of a sum, and numbers in it, beyond which factors are not sought."""


@concise
class NamedExpressions(NamedTuple):
    """Expressions with common subexpressions pulled out.

    Example:
        >>> import fallingcat as fc
        >>> found = fc.symbolic.derive(fc.robots.prismatic_hopper(), "masses").named("M")
        >>> [str(name) for name in found.definitions], list(found.expressions)
        (['p_1'], ['M'])
    """

    definitions: dict[Any, Any]
    """symbol -> expression, in the order in which they are needed"""
    expressions: dict[str, Any]

    @property
    def operations(self) -> int:
        """Additions, multiplications, divisions, powers, sines and cosines in all."""
        return int(sympy.count_ops([*self.definitions.values(), *self.expressions.values()]))


class Part(NamedTuple):
    """``factor coefficient wave state``: one term, with all parameters in ``coefficient``, scaled to whole numbers."""

    factor: Rational
    coefficient: tuple[tuple[Powers, int], ...]
    wave: Wave
    state: Powers


class Writer:
    """Polynomials to SymPy.  ``definitions`` has the names that were given on the way: symbol -> expression.

    ``states`` are the generators that change with time; ``groups`` says which angles turn about parallel axes, and so
    add up: ``cos(q_1 + q_2)``; the others stay apart: ``cos(q_1) cos(q_3)``.
    """

    def __init__(self, algebra: Algebra, states: Iterable[str] = (), groups: Mapping[str, int] | None = None) -> None:
        self.algebra, self.states, self.groups = algebra, set(states), dict(groups or {})
        self.definitions: dict[Any, Any] = {}
        self._names: dict[Any, Any] = {}

    def write(self, p: Polynomial) -> Any:
        """The expression, with names for what parameters make of each other."""
        found: dict[tuple[Wave, Any], dict[Powers, Rational]] = {}
        for part in self._parts(p):
            sums = found.setdefault((part.wave, part.coefficient), {})
            sums[part.state] = sums.get(part.state, 0) + part.factor
        together: dict[tuple[Any, ...], list[Any]] = {}  # what multiplies the same velocities
        for (wave, coefficient), sums in found.items():
            first = next(iter(sums.values()))
            state = tuple((powers, Fraction(x) / first) for powers, x in sums.items())
            term = _number(first) * self._coefficient(coefficient) * self._wave(wave)
            together.setdefault(state, []).append(term)
        return sympy.Add(*(sympy.Add(*terms) * self._velocities(state) for state, terms in together.items()))

    def explicit(self, expression: Any) -> Any:
        """The expression without names."""
        while found := {s: self.definitions[s] for s in expression.free_symbols if s in self.definitions}:
            expression = expression.xreplace(found)
        return expression

    def name(self, expression: Any, name: str = "") -> Any:
        """A symbol that stands for an expression of its own; numbers and symbols need none."""
        if expression.is_number or expression.is_Symbol:
            return expression
        if expression not in self._names:
            name = name or f"p_{1 + sum(str(s)[0] == 'p' for s in self.definitions)}"
            self._names[expression] = self._define_name(name, expression)
        return self._names[expression]

    def definitions_for(self, expressions: Iterable[Any]) -> dict[Any, Any]:
        """Definitions of the names in expressions, and in each other, in the order of their making."""
        needed: set[Any] = set()
        waiting = [x for e in expressions for x in free_symbols(e)]
        while waiting:
            symbol = waiting.pop()
            if symbol in self.definitions and symbol not in needed:
                needed.add(symbol)
                waiting += self.definitions[symbol].free_symbols
        return {symbol: x for symbol, x in self.definitions.items() if symbol in needed}

    def keep_constants(self, expression: Any, states: set[Any]) -> Any:
        """Expression in which names stand only for what does not depend on these symbols."""
        constant = {x for x in self.definitions if not states & self.explicit(x).free_symbols}
        while found := expression.free_symbols & (self.definitions.keys() - constant):
            expression = expression.xreplace({x: self.definitions[x] for x in found})
        return expression

    def _define_name(self, name: str, expression: Any) -> Any:
        symbol = sympy.Symbol(name, real=True)
        self.definitions[symbol] = expression
        return symbol

    # parts ------------------------------------------------------------------------------------------------------

    def _parts(self, p: Polynomial) -> list[Part]:
        found: dict[tuple[Wave, Powers], dict[Powers, Rational]] = {}
        for powers, i, x in p.monomials():
            constant: list[tuple[str, int]] = []
            state: list[tuple[str, int]] = []
            turns: dict[int, list[tuple[str, int]]] = {}
            for name, power in powers.items():
                if name.startswith("e^"):
                    turns.setdefault(self.groups.get(name[2:], -1 - len(turns)), []).append((name[2:], power))
                elif name in self.states or name in self.algebra.parts or name.startswith("inverse"):
                    state.append((name, power))
                else:
                    constant.append((name, power))
            for wave, sign in _waves(list(turns.values()), i):
                sums = found.setdefault((wave, tuple(sorted(state))), {})
                at = tuple(sorted(constant))
                sums[at] = sums.get(at, 0) + x * sign
        parts = []
        for (wave, state_powers), sums in found.items():
            sums = {at: x for at, x in sums.items() if x}
            if sums:
                factor = _common_divisor(list(sums.values()))
                whole = tuple(sorted((at, int(x / factor)) for at, x in sums.items()))
                if whole[0][1] < 0:
                    factor, whole = -factor, tuple((at, -x) for at, x in whole)
                parts.append(Part(factor, whole, wave, state_powers))
        return parts

    # pieces -----------------------------------------------------------------------------------------------------

    def _coefficient(self, coefficient: tuple[tuple[Powers, int], ...]) -> Any:
        """Parameters: a name where there is more than one operation."""
        if coefficient not in self._names:
            terms = [sympy.Integer(x) * self._product(powers) for powers, x in coefficient]
            whole = sympy.Add(*terms)
            if sympy.count_ops(whole) > 1 or (len(coefficient) > 1):
                whole = self.name(sympy.factor(whole) if _factors(coefficient) else whole)
            self._names[coefficient] = whole
        return self._names[coefficient]

    def _product(self, powers: Powers) -> Any:
        return sympy.Mul(*(self._generator(name) ** power for name, power in powers))

    def _generator(self, name: str) -> Any:
        if name in self.algebra.parts:
            if name not in self._names:
                self._names[name] = self._define_name(f"s_{name[4:]}", self.write(self.algebra.parts[name]))
            return self._names[name]
        if not name.startswith("inverse"):
            return self.algebra.symbols[name]
        if name not in self._names:
            sum_of = self.write(next(known.of for known in self.algebra.inverses if known.name == name))
            self._names[name] = self._define_name(f"D_{name[7:]}", sum_of)
        return 1 / self._names[name]

    def _wave(self, wave: Wave) -> Any:
        factors = []
        for is_sine, angles in wave:
            angle = sympy.Add(*(power * self.algebra.symbols[name] for name, power in angles))
            factors.append(sympy.sin(angle) if is_sine else sympy.cos(angle))
        return sympy.Mul(*factors)

    def _velocities(self, state: tuple[tuple[Powers, Fraction], ...]) -> Any:
        common = set.intersection(*(set(powers) for powers, _ in state)) if len(state) > 1 else set()
        outside = self._product(tuple(sorted(common)))
        inside = (
            _number(x) * self._product(tuple(each for each in powers if each not in common)) for powers, x in state
        )
        return outside * sympy.Add(*inside)


def _factors(coefficient: tuple[tuple[Powers, int], ...]) -> bool:
    """True if a sum of parameters may be factored: it is short, and no number in it is from a rotation by an angle."""
    return 1 < len(coefficient) <= _MAX_SUM_TERMS and all(abs(x) < _MAX_SUM_NUMBER for _, x in coefficient)


def without_names(algebra: Algebra, p: Polynomial) -> Any:
    """A polynomial without names."""
    writer = Writer(algebra)
    return writer.explicit(writer.write(p))


def _number(x: Rational) -> Any:
    return sympy.Rational(Fraction(x).numerator, Fraction(x).denominator)


def _common_divisor(xs: list[Rational]) -> Fraction:
    """The largest number of which all are whole multiples."""
    fractions = [Fraction(x) for x in xs]
    below = 1
    for x in fractions:
        below = below * x.denominator // gcd(below, x.denominator)
    return Fraction(gcd(*(int(x * below) for x in fractions)), below)


def _waves(turns: list[list[tuple[str, int]]], i: int) -> list[tuple[Wave, int]]:
    """``i^k e^(i a) e^(i b) ...`` as products of cosines and sines; what is imaginary cancels with the conjugate."""
    found: list[tuple[list[Any], int, int]] = [([], i, 1)]
    for angles in turns:
        angles = sorted(angles)
        sign = 1 if angles[0][1] > 0 else -1
        angle = tuple((name, sign * power) for name, power in angles)
        found = [
            ([*wave, (is_sine, angle)], power + is_sine, factor * (sign if is_sine else 1))
            for wave, power, factor in found
            for is_sine in (False, True)
        ]
    return [(tuple(sorted(wave)), factor * (-1) ** (power // 2)) for wave, power, factor in found if power % 2 == 0]
