"""Reactions of everything that pushes, holds or rubs: what a compiled step solves.

Velocities ``u = short + X G X' x`` follow from impulses ``x``.  Each set of rows has a law ``x = nearest(x - u)``, with
the impulse of its set that is nearest to ``x - u``: of a point in its cone, of dry friction within its bounds, of what
is closed any.  Rounds of a sweep of Gauss and Seidel, which comes close to that from anywhere, and of a step of
Newton's method, which ends there, are taken until the law is met.

Points of one sole move with their link, whose twist is 6 numbers however many points there are: ``X`` says how, and
``G`` is that of links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, less, repeat, scale, solve, sqrt, where
from .cones import Set

ROUNDS = 720
"""after which impulses are taken as they are"""
SHORT, PHASES = 8.5, (300, 60)
"""Rounds in which every step of Newton's method that leaves less is taken; and rounds in two phases that take turns
after that: in one, only steps that are :data:`CERTAIN`, and sweeps, which leave where steps go round in circles; in the
other all steps again, with another of :data:`PROXIMAL` in each round, as sweeps crawl where points depend on each
other."""
CERTAIN = 1e-4
"""What a step of Newton's method leaves at most of squares if it is certain."""
PROXIMAL = (1e-7, 1e-4, 1e-2)
"""Added to the diagonal of ``G``, whose mean is 1, in Newton's method: what changes nothing stays as it was, and what
changes little does not go far."""
LEFT = 1e-12
"""m/s or rad/s: how far from the law of contact velocities may be; more, with the square of the rounds."""
SHARES = (1.0, 0.5, 0.25)
"""of a step of Newton's method, the best of which is taken"""


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


def reactions(G: Any, short: Any, start: Any, sets: Sequence[Set], levers: Sequence[Lever] | None = None) -> Reactions:
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
    size, units = len(short), problem.units

    def around(z: Any) -> tuple[Any, Any]:
        at, (p, phase, rounds) = problem.at([z[part] for part in parts]), z[-4:-1]
        eager = where(less(rounds, SHORT), 1.0, where(less(phase, PHASES[0] - 0.5), CERTAIN, 1.0))
        x, _, fault = problem.nearer(problem.swept(at), p, eager)
        left = _largest(concatenate([f / d for f, d in zip(fault, units, strict=True)]))
        allowed = [a - b for a, b in zip(x, fault, strict=True)]
        then = array([*_next(p, phase), rounds + 1.0, left])
        return concatenate([*x, *allowed, then]), LEFT * rounds * rounds - left

    first = [start[part] / d for part, d in zip(parts, units, strict=True)]
    end = repeat(around, concatenate([*first, np.zeros(size), array([PROXIMAL[0], 1.0, 1.0, np.inf])]), ROUNDS)
    found = [end[size : 2 * size][part] for part in parts]
    impulses = concatenate([scale(d, x) for d, x in zip(units, found, strict=True)])
    return Reactions(impulses, problem.basis * problem.along(found), end[-1])


def _parts(sets: Sequence[Set]) -> list[slice]:
    ends = np.cumsum([s.rows for s in sets]).tolist()
    return [slice(end - s.rows, end) for s, end in zip(sets, ends, strict=True)]


def _next(p: Any, phase: Any) -> tuple[Any, Any]:
    """Of :data:`PROXIMAL`, and the round within two phases, for the next round."""
    small, mid, large = PROXIMAL
    phase = where(less(phase, sum(PHASES) - 1.5), phase + 1.0, 0.0 * phase)
    then = where(less(p, 0.5 * mid), mid, where(less(p, 0.5 * large), large, small)) + 0.0 * p
    return where(less(phase, PHASES[0] - 0.5), small + 0.0 * p, then), phase


def _largest(x: Any) -> Any:
    largest = 0.0
    for size in absolute(x):
        largest = where(less(largest, size), size, largest + 0.0 * size)
    return largest


class _At(NamedTuple):
    """Impulses of each set, the velocities that they cause, ``V = G X' x``, and ``x - nearest(x - u)``."""

    x: list[Any]
    V: Any
    fault: list[Any]


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
    basis: Any
    """units of what ``G`` is of, one for each column"""

    @classmethod
    def of(cls, G: Any, short: Any, sets: Sequence[Set], parts: list[slice], levers: Sequence[Lever]) -> _Problem:
        """From rows as they are."""
        own = [lever.within(lever.within(G[lever.span, lever.span]).T) for lever in levers]
        units = [1.0 / sqrt(sum(g[i, i] for i in range(len(g))) * (1.0 / len(g))) for g in own]
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

    def at(self, x: list[Any]) -> _At:
        """With nothing known of faults."""
        return _At(x, self.G @ self.along(x), [])

    def swept(self, at: _At) -> _At:
        """After one sweep of Gauss and Seidel."""
        x, V = list(at.x), at.V
        for span, which in self.together:
            mine, change = V[span], []
            for i in which:
                u = self.short[i] + self.levers[i].within(mine)
                new = self.sets[i].relaxed(x[i], u, self.own[i])
                change.append(self.levers[i].along(new - x[i]))
                x[i], mine = new, mine + self.G[span, span] @ change[-1]
            moved = _sum(change)
            V = concatenate(
                [
                    V[: span.start] + self.G[: span.start, span] @ moved,
                    mine,
                    V[span.stop :] + self.G[span.stop :, span] @ moved,
                ]
            )
        return _At(x, V, [])

    def velocities(self, V: Any) -> list[Any]:
        """``short + X V``"""
        return [short + lever.of(V) for short, lever in zip(self.short, self.levers, strict=True)]

    def fault(self, x: list[Any], u: list[Any]) -> list[Any]:
        """``x - nearest(x - u)``"""
        return [a - s.nearest(a - b) for s, a, b in zip(self.sets, x, u, strict=True)]

    def nearer(self, at: _At, p: Any, asked: Any) -> _At:
        """After a step of Newton's method, or a share of it, whichever leaves least; or none, if that is more than is
        ``asked`` of what was left.
        """
        x, u = at.x, self.velocities(at.V)
        best = fault = self.fault(x, u)
        step = self.newton(x, u, fault, p)
        dV = self.G @ self.along(step)
        du = [lever.of(dV) for lever in self.levers]
        least, share = asked * _square(fault), 0.0
        for part in (*SHARES, self.reach(x, u, step)):
            then = self.fault(_ahead(x, part, step), _ahead(u, part, du))
            size = _square(then)
            nearer = less(size, least)
            least, share = where(nearer, size, least), where(nearer, part + 0.0 * size, share + 0.0 * size)
            best = [where(nearer, a, b) for a, b in zip(then, best, strict=True)]
        return _At(_ahead(x, share, step), at.V - scale(share, dV), best)

    def reach(self, x: list[Any], u: list[Any], step: list[Any]) -> Any:
        """The share of a step after which the first point lifts off or begins to slide, at most 1."""
        first = 1.0
        for s, a, b, d in zip(self.sets, x, u, step, strict=True):
            share = s.reach(a, a - b, d)
            first = where(less(share, first), share, first)
        return first

    def newton(self, x: list[Any], u: list[Any], fault: list[Any], p: Any) -> list[Any]:
        """``(A + D X G X') step = fault``: with ``y = X' step``, ``(1 + X' E X G) y = X' A^-1 fault``, and then
        ``step = A^-1 fault - E X G y``.
        """
        bends = [s.bend(a - b, f, p) for s, a, b, f in zip(self.sets, x, u, fault, strict=True)]
        one, rows = np.eye(len(self.G)), []
        for span, which in self.together:
            K = _sum([self.levers[i].along(self.levers[i].along(bends[i].E.T).T) for i in which])
            rows.append(one[span] + K @ self.G[span])
        y = solve(concatenate(rows), self.along([bend.answer for bend in bends]))
        V = self.G @ y
        return [
            y[lever.span] if lever.X is None else bend.answer - bend.E @ lever.of(V)
            for lever, bend in zip(self.levers, bends, strict=True)
        ]


def _ahead(x: Sequence[Any], share: Any, step: Sequence[Any]) -> list[Any]:
    return [a - scale(share, b) for a, b in zip(x, step, strict=True)]


def _sum(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], start=parts[0])


def _square(x: Sequence[Any]) -> Any:
    return sum(part @ part for part in x)
