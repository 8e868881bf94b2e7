"""Reactions of everything that pushes, holds or rubs: what a compiled step solves.

Velocities ``u = short + X G X' x`` follow from impulses ``x``.  Each set of rows has a law ``x = nearest(x - u)``, with
the impulse of its set that is nearest to ``x - u``: of a point in its cone, of dry friction within its bounds, of what
is closed any.  Rounds of Newton's method, which ends there, and of a sweep of Gauss and Seidel, which comes close to
that from anywhere, are taken until the law is met: mostly two steps from the impulses of the last time are enough, and
the rest of the round is not worked out.

Points of one sole move with their link, whose twist is 6 numbers however many points there are: ``X`` says how, and
``G`` is that of links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, less, repeat, scale, solver, sqrt, where
from .cones import Bend, Set

SHORT = 8.5
"""Rounds in which every step of Newton's method that leaves less is taken."""
CERTAIN = 1e-4
"""What a step of Newton's method leaves at most of squares if it is certain."""
ENOUGH = 5e-4
"""m/s or rad/s: more is never left to save rounds."""
NOTHING = 1e-30
"""The same, for what is taken as it was: where nothing touches."""
SHARES = (0.5, 0.25)
"""of a step of Newton's method: the best of these, the whole, and up to where a point lifts off or slides, is taken"""


class Digits(NamedTuple):
    """What is asked of numbers of a kind."""

    left: float
    """m/s or rad/s: how far from the law of contact velocities may be; more, with the square of the rounds"""
    proximal: tuple[float, float, float]
    """Added to the diagonal of ``G``, whose mean is 1, in Newton's method: what changes nothing stays as it was, and
    what changes little does not go far."""
    phases: tuple[int, int]
    """Rounds in two phases that take turns: in one, only steps that are :data:`CERTAIN`, and sweeps,
    which leave where steps go round in circles; in the other all steps again, with another of ``proximal`` in each
    round, as sweeps crawl where points depend on each other."""
    first: float
    """where in these a step begins: after a few rounds, the second phase comes before long sweeps"""
    rounds: int
    """after which impulses are taken as they are"""


DIGITS = {
    "float64": Digits(1e-12, (1e-6, 1e-3, 3e-2), (300, 120), 296.0, 720),
    "float32": Digits(1e-6, (1e-3, 1e-2, 1e-1), (10, 60), 1.0, 180),
}


class Lever(NamedTuple):
    """How a set of rows moves with what ``G`` is of: ``u = X V[span]``."""

    span: slice
    X: Any
    """``rows x columns``, or None: they are the same"""

    def of(self, V: Any) -> Any:
        """``X V``"""
        return self.within(V[self.span])

    def within(self, V: Any) -> Any:
        """The same of the span alone."""
        return V if self.X is None else self.X @ V

    def along(self, x: Any) -> Any:
        """``X' x``"""
        return x if self.X is None else self.X.T @ x


class Reactions(NamedTuple):
    """What was found."""

    impulses: Any
    """of all rows, each in its set"""
    along: Any
    """``X' impulses``"""
    left: Any
    """how far velocities are from the law, at most (m/s or rad/s)"""


def reactions(
    G: Any,
    short: Any,
    start: Any,
    sets: Sequence[Set],
    levers: Sequence[Lever] | None = None,
    digits: Digits = DIGITS["float64"],
) -> Reactions:
    """Impulses ``x`` with ``x = nearest(x - short - X G X' x)``, from a ``start``, on numbers or in a kernel.

    A step of Newton's method goes as far as it leaves least, if that is less than was left.

    >>> from fallingcat.contact.cones import Cone
    >>> G, short = np.diag([2.0, 1.0, 1.0]), np.array([-4.0, 5.0, 0.0])  # it falls and slides
    >>> found = reactions(G, short, np.zeros(3), [Cone(3, 0.5)])
    >>> found.impulses.round(12).tolist(), bool(found.left < 1e-12)
    ([2.0, -1.0, 0.0], True)
    """
    parts = _parts(sets)
    problem = _Problem.of(G, short, sets, parts, levers or [Lever(part, None) for part in parts])
    size = len(short)

    def around(z: Any) -> Iterator[tuple[Any, Any]]:
        x, (p, phase, rounds) = [z[part] for part in parts], z[-4:-1]

        def found(at: _At, enough: Any, then: Any = z[:size], p: Any = p, phase: Any = phase) -> tuple[Any, Any]:
            left = _largest(concatenate([scale(d, f) for f, d in zip(at.fault, problem.sizes, strict=True)]))
            allowed = [a - b for a, b in zip(at.x, at.fault, strict=True)]
            return concatenate([then, *allowed, array([p, phase, rounds + 1.0, left])]), enough - left

        at, enough = problem.at(x), _permitted(rounds, digits)
        yield found(at, NOTHING)
        way = problem.newton(at, p)
        yield found(way.twice, enough)
        eager = where(less(rounds, SHORT), 1.0, where(less(phase, digits.phases[0] - 0.5), CERTAIN, 1.0))
        best = problem.nearest(at, way, eager)
        yield found(best, enough, concatenate(problem.swept(best)), *_next(p, phase, digits))

    first = [scale(d, start[part]) for part, d in zip(parts, problem.sizes, strict=True)]
    counts = array([digits.proximal[0], digits.first, 1.0, np.inf])
    end = repeat(around, concatenate([*first, np.zeros(size), counts]), digits.rounds)
    found = [end[size : 2 * size][part] for part in parts]
    impulses = concatenate([scale(d, x) for d, x in zip(problem.units, found, strict=True)])
    return Reactions(impulses, problem.basis * problem.along(found), end[-1])


def _parts(sets: Sequence[Set]) -> list[slice]:
    ends = np.cumsum([s.rows for s in sets]).tolist()
    return [slice(end - s.rows, end) for s, end in zip(sets, ends, strict=True)]


def _permitted(rounds: Any, digits: Digits) -> Any:
    """What may be left after so many rounds."""
    grown = digits.left * rounds * rounds
    return where(less(grown, ENOUGH), grown, ENOUGH) if digits.left * digits.rounds**2 > ENOUGH else grown


def _next(p: Any, phase: Any, digits: Digits) -> tuple[Any, Any]:
    """What is added to the diagonal in the next round, and the place of that within two phases."""
    small, mid, large = digits.proximal
    phase = where(less(phase, sum(digits.phases) - 1.5), phase + 1.0, 0.0 * phase)
    then = where(less(p, 0.5 * mid), mid, where(less(p, 0.5 * large), large, small)) + 0.0 * p
    return where(less(phase, digits.phases[0] - 0.5), small + 0.0 * p, then), phase


def _largest(x: Any) -> Any:
    largest = 0.0
    for size in absolute(x):
        largest = where(less(largest, size), size, largest + 0.0 * size)
    return largest


class _At(NamedTuple):
    """Impulses, and what comes of them."""

    x: list[Any]
    V: Any
    """``G X' x``"""
    u: list[Any]
    """``short + X V``"""
    fault: list[Any]
    """``x - nearest(x - u)``"""

    def or_if(self, taken: Any, other: _At) -> _At:
        """The other where it is ``taken``."""
        x, fault = (
            [where(taken, b, a) for a, b in zip(*both, strict=True)]
            for both in ((self.x, other.x), (self.fault, other.fault))
        )
        return _At(x, where(taken, other.V, self.V), self.u, fault)


class _Way(NamedTuple):
    """A step of Newton's method, to be taken back from impulses; and where it leads."""

    step: list[Any]
    dV: Any
    """``G X' step``"""
    once: _At
    twice: _At
    """after another one with the same matrix"""


class _Problem(NamedTuple):
    """Rows scaled set by set, to a mean of 1 on the diagonal of ``X G X'``; lists have an entry for each set."""

    G: Any
    short: list[Any]
    sets: list[Set]
    levers: list[Lever]
    own: list[Any]
    """``X G X'`` of the set alone"""
    units: list[Any]
    """of impulses"""
    sizes: list[Any]
    """1 / units"""
    basis: Any
    """units of what ``G`` is of, one for each column"""

    @classmethod
    def of(cls, G: Any, short: Any, sets: Sequence[Set], parts: list[slice], levers: Sequence[Lever]) -> _Problem:
        """From rows as they are."""
        own = [lever.within(lever.within(G[lever.span, lever.span]).T) for lever in levers]
        sizes = [sqrt(sum(g[i, i] for i in range(len(g))) * (1.0 / len(g))) for g in own]
        units = [1.0 / size for size in sizes]
        basis = np.ones(len(G)) + 0.0 * G[0]
        for lever, d in zip(levers, units, strict=True):
            basis[lever.span] = d if lever.X is None else 1.0
        return cls(
            basis[:, None] * G * basis[None, :],
            [scale(d, short[part]) for part, d in zip(parts, units, strict=True)],
            [one.scaled(d) for one, d in zip(sets, units, strict=True)],
            [
                lever if lever.X is None else lever._replace(X=scale(d, lever.X))
                for lever, d in zip(levers, units, strict=True)
            ],
            [scale(d * d, g) for g, d in zip(own, units, strict=True)],
            units,
            sizes,
            basis,
        )

    @property
    def together(self) -> list[tuple[slice, list[int]]]:
        """Sets that move together, and with what."""
        found: dict[int, list[int]] = {}
        for i, lever in enumerate(self.levers):
            found.setdefault(lever.span.start, []).append(i)
        return [(self.levers[which[0]].span, which) for _, which in sorted(found.items())]

    def along(self, x: Sequence[Any]) -> Any:
        """``X' x``"""
        return concatenate([_sum([self.levers[i].along(x[i]) for i in which]) for _, which in self.together])

    def at(self, x: list[Any], V: Any = None) -> _At:
        """What impulses come to, given ``V = G X' x`` if it is known."""
        V = self.G @ self.along(x) if V is None else V
        u = [short + lever.of(V) for short, lever in zip(self.short, self.levers, strict=True)]
        return _At(x, V, u, [a - s.nearest(a - b) for s, a, b in zip(self.sets, x, u, strict=True)])

    def swept(self, at: _At) -> list[Any]:
        """Impulses after one sweep of Gauss and Seidel."""
        x, V = list(at.x), at.V
        for span, which in self.together:
            mine, change = V[span], []
            for i in which:
                u = self.short[i] + self.levers[i].within(mine)
                new = self.sets[i].relaxed(x[i], u, self.own[i])
                change.append(self.levers[i].along(new - x[i]))
                x[i], mine = new, mine + self.G[span, span] @ change[-1]
            V = V + self.G[:, span] @ _sum(change)
        return x

    def ahead(self, at: _At, share: Any, step: list[Any], dV: Any) -> _At:
        """After a share of a step."""
        return self.at([a - scale(share, b) for a, b in zip(at.x, step, strict=True)], at.V - scale(share, dV))

    def nearest(self, at: _At, way: _Way, asked: Any) -> _At:
        """After one or two steps of Newton's method, or a share of one, whichever leaves least; or none, if that is
        more than is ``asked`` of what was left.
        """
        least, best = asked * _square(at.fault), at
        shares = (*SHARES, self.reach(at, way.step))
        for then in (way.once, way.twice, *(self.ahead(at, share, way.step, way.dV) for share in shares)):
            size = _square(then.fault)
            nearer = less(size, least)
            least, best = where(nearer, size, least), best.or_if(nearer, then)
        return best

    def reach(self, at: _At, step: list[Any]) -> Any:
        """The share of a step after which the first point lifts off or begins to slide, at most 1."""
        first = 1.0
        for s, x, u, d in zip(self.sets, at.x, at.u, step, strict=True):
            share = s.reach(x, x - u, d)
            first = where(less(share, first), share, first)
        return first

    def newton(self, at: _At, p: Any) -> _Way:
        """``(A + D X G X') step = fault``: with ``y = X' step``, ``(1 + X' E X G) y = X' A^-1 fault``, and then
        ``step = A^-1 fault - E X G y``.
        """
        E, one, rows = [bend.E for bend in self.bends(at, at.fault, p)], np.eye(len(self.G)), []
        for span, which in self.together:
            K = _sum([self.levers[i].along(self.levers[i].along(E[i].T).T) for i in which])
            rows.append(one[span] + K @ self.G[span])
        solved = solver(concatenate(rows))

        def step(fault: list[Any]) -> tuple[list[Any], Any]:
            answers = [bend.answer for bend in self.bends(at, fault, p)]
            y = solved(self.along(answers))
            V = self.G @ y
            steps = [
                y[lever.span] if lever.X is None else answer - e @ lever.of(V)
                for lever, e, answer in zip(self.levers, E, answers, strict=True)
            ]
            return steps, V

        first = step(at.fault)
        once = self.ahead(at, 1.0, *first)
        return _Way(*first, once, self.ahead(once, 1.0, *step(once.fault)))

    def bends(self, at: _At, fault: list[Any], p: Any) -> list[Bend]:
        """How the nearest impulses change there."""
        return [s.bend(x - u, f, p) for s, x, u, f in zip(self.sets, at.x, at.u, fault, strict=True)]


def _sum(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], start=parts[0])


def _square(x: Sequence[Any]) -> Any:
    return sum(part @ part for part in x)
