"""Reactions of everything that pushes, holds or rubs, in a fixed number of operations: what a compiled step solves.

Velocities ``u = short + G x`` follow from impulses ``x``.  Each group of rows has a law ``x = nearest(x - u)``, with
the impulse of its set that is nearest to ``x - u``: of a point in its cone, of dry friction within its bounds, of what
is closed any.  Sweeps of Gauss and Seidel come close to that from anywhere, steps of Newton's method on it end there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, less, scale, solve, sqrt, where

SWEEPS, STEPS = 3, 2
"""of Gauss and Seidel, and then of Newton's method."""
MANY = 16
"""Rows from which on steps of Newton's method are so long that there is one."""
SHARES = (1.0, 0.5, 0.25)
"""of a step of Newton's method, the best of which is taken"""
PROXIMAL = 1e-7
"""Added to the diagonal of ``G``, whose mean is 1, in Newton's method: what changes nothing stays as it was."""


class Nearest(NamedTuple):
    """The impulse of a set that is nearest to ``y``, and its derivative by ``y``."""

    impulse: list[Any]
    slope: list[list[Any]]


class Cone(NamedTuple):
    """Of a point that pushes, its normal row first: ``x_n >= 0``, ``|x_t| <= friction x_n``."""

    rows: int
    friction: float

    def scaled(self, d: Any) -> Cone:
        """The same for impulses in units of ``d``."""
        return self

    def nearest(self, y: Any) -> Nearest:
        """Coulomb's law: first along the normal, then along the ground."""
        carries, zero = less(0.0, y[0]), 0.0 * y[0]
        push, one = where(carries, y[0], zero), where(carries, 1.0 + zero, zero)
        if self.rows == 1:
            return Nearest([push], [[one]])
        share, slides, ways = self._within(push, y[1:])
        turns = where(slides, self.friction * one, zero)
        across = [[share * one * ((a == b) - where(slides, v * w, zero)) for b, w in enumerate(ways)]
                  for a, v in enumerate(ways)]  # fmt: skip
        slope = [[one, *[0.0] * len(ways)], *([turns * w, *row] for w, row in zip(ways, across, strict=True))]
        return Nearest([push, *(share * z for z in y[1:])], slope)

    def _within(self, push: Any, drag: Any) -> tuple[Any, Any, list[Any]]:
        """By which a drag is shortened, whether it is, and its direction."""
        size, limit = sqrt(sum(z * z for z in drag)), self.friction * push
        slides = less(limit, size)
        inverse = 1.0 / where(slides, size, 1.0 + 0.0 * size)
        return where(slides, limit * inverse, 1.0 + 0.0 * size), slides, [z * inverse for z in drag]

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """Impulses after a sweep over these rows, given their velocities and ``G`` of these rows."""
        push = x[0] - u[0] / G[0, 0]
        push = where(less(0.0, push), push, 0.0 * push)
        if self.rows == 1:
            return array([push])
        along = u[1:] + scale(push - x[0], G[1:, 0])
        drag = x[1:] - scale(1.0 / _stiffest(G[1:, 1:]), along)
        return concatenate([np.reshape(push, 1), scale(self._within(push, drag)[0], drag)])


def _stiffest(G: Any) -> Any:
    """The larger eigenvalue of one or two symmetric rows."""
    if len(G) == 1:
        return G[0, 0]
    mean, half = 0.5 * (G[0, 0] + G[1, 1]), 0.5 * (G[0, 0] - G[1, 1])
    return mean + sqrt(half * half + G[0, 1] * G[0, 1])


class Bounded(NamedTuple):
    """Of dry friction in one row: ``|x| <= limit``."""

    limit: Any
    rows: int = 1

    def scaled(self, d: Any) -> Bounded:
        """See :class:`Cone`."""
        return Bounded(self.limit / d)

    def nearest(self, y: Any) -> Nearest:
        low, high, one = less(y[0], -self.limit), less(self.limit, y[0]), 1.0 + 0.0 * y[0]
        impulse = where(low, -self.limit * one, where(high, self.limit * one, y[0]))
        return Nearest([impulse], [[where(low, 0.0 * one, where(high, 0.0 * one, one))]])

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """See :class:`Cone`."""
        return array(self.nearest([x[0] - u[0] / G[0, 0]]).impulse)


class Closed(NamedTuple):
    """Of a row that is held whatever that takes."""

    rows: int = 1

    def scaled(self, d: Any) -> Closed:
        """See :class:`Cone`."""
        return self

    def nearest(self, y: Any) -> Nearest:
        return Nearest([y[0]], [[1.0]])

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """See :class:`Cone`."""
        return array([x[0] - u[0] / G[0, 0]])


Set = Cone | Bounded | Closed


class Reactions(NamedTuple):
    """What was found."""

    impulses: Any
    """of all rows, each in its set"""
    left: Any
    """how far velocities are from the law, at most (m/s or rad/s)"""


def reactions(G: Any, short: Any, start: Any, sets: Sequence[Set], asked: Any = 1.0) -> Reactions:
    """Impulses ``x`` with ``x = nearest(x - short - G x)``, from a ``start``, on any kind of number.

    Rows are scaled set by set, to a mean of 1 on the diagonal of ``G``.  A step of Newton's method is kept where it
    leaves less than the part ``asked`` of what was left (of squares): where that is 1 it may go round in circles, which
    sweeps do not.

    >>> G, short = np.diag([2.0, 1.0, 1.0]), np.array([-4.0, 5.0, 0.0])  # it falls and slides
    >>> found = reactions(G, short, np.zeros(3), [Cone(3, 0.5)])
    >>> found.impulses.round(12).tolist(), bool(found.left < 1e-12)
    ([2.0, -1.0, 0.0], True)
    """
    parts = _parts(sets)
    d = concatenate([np.zeros(0), *(scale(_unit(G, part), np.ones(part.stop - part.start)) for part in parts)])
    sets = [one.scaled(d[part.start]) for one, part in zip(sets, parts, strict=True)]
    G, short, x = d[:, None] * G * d[None, :], d * short, start / d
    u = short + G @ x
    for _ in range(SWEEPS):
        x, u = _swept(G, x, u, sets, parts)
    for _ in range(STEPS if len(G) <= MANY else 1):
        x, u = _nearer(G, x, u, sets, parts, asked)
    fault, _ = _fault(x, u, sets, parts)
    return Reactions(d * (x - fault), _largest(fault / d))


def _parts(sets: Sequence[Set]) -> list[slice]:
    ends = np.cumsum([s.rows for s in sets]).tolist()
    return [slice(end - s.rows, end) for s, end in zip(sets, ends, strict=True)]


def _unit(G: Any, part: slice) -> Any:
    rows = range(part.start, part.stop)
    return 1.0 / sqrt(sum(G[i, i] for i in rows) * (1.0 / len(rows)))


def _swept(G: Any, x: Any, u: Any, sets: Sequence[Set], parts: list[slice]) -> tuple[Any, Any]:
    """Impulses and velocities after one sweep of Gauss and Seidel."""
    for s, part in zip(sets, parts, strict=True):
        new = s.relaxed(x[part], u[part], G[part, part])
        u = u + G[:, part] @ (new - x[part])
        x = concatenate([x[: part.start], new, x[part.stop :]])
    return x, u


def _fault(x: Any, u: Any, sets: Sequence[Set], parts: list[slice]) -> tuple[Any, list[Nearest]]:
    """``x - nearest(x - u)``"""
    found = [s.nearest((x - u)[part]) for s, part in zip(sets, parts, strict=True)]
    return x - concatenate([array(near.impulse) for near in found]), found


def _nearer(G: Any, x: Any, u: Any, sets: Sequence[Set], parts: list[slice], asked: Any) -> tuple[Any, Any]:
    """Impulses and velocities after a step of Newton's method, or a share of it, or none, whichever leaves least."""
    fault, found = _fault(x, u, sets, parts)
    step = _newton(G, fault, found)
    change, least, share = G @ step, asked * (fault @ fault), 0.0
    for part in SHARES:
        then, _ = _fault(x - part * step, u - part * change, sets, parts)
        size = then @ then
        nearer = less(size, least)
        least, share = where(nearer, size, least), where(nearer, part + 0.0 * size, share + 0.0 * size)
    return x - scale(share, step), u - scale(share, change)


def _largest(x: Any) -> Any:
    largest = 0.0
    for size in absolute(x):
        largest = where(less(largest, size), size, largest + 0.0 * size)
    return largest


def _newton(G: Any, fault: Any, found: list[Nearest]) -> Any:
    """``(1 - D (1 - G)) step = fault`` with the derivative ``D`` of what is nearest."""
    one = np.eye(len(G))
    rest, rows, start = one - G - PROXIMAL * one, [], 0
    for near in found:
        n = len(near.impulse)
        rows.append(one[start : start + n] - array(near.slope) @ rest[start : start + n])
        start += n
    return solve(concatenate(rows), fault)
