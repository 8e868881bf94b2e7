"""The sets in which reactions are: of a point that pushes, of dry friction, of what is closed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import array, concatenate, is_numeric, less, scale, sqrt, where

GLUED = 1e30
"""A coefficient of friction that holds every point that pushes."""


class Bend(NamedTuple):
    """How the nearest impulse changes: with its derivative ``D`` by ``y``, and ``A = 1 - D + p D``."""

    E: Any
    """``A^-1 D``"""
    answer: Any
    """``A^-1 fault``"""


class Cone(NamedTuple):
    """Of a point that pushes, its normal row first: ``x_n >= 0``, ``|x_t| <= friction x_n``."""

    rows: int
    friction: Any

    def scaled(self, d: Any) -> Cone:
        """The same for impulses in units of ``d``."""
        return self

    def nearest(self, y: Any) -> Any:
        """The impulse of the set that is nearest to ``y``, first along the normal, then along the ground."""
        push = where(less(0.0, y[0]), y[0], 0.0 * y[0])
        if self.rows == 1:
            return array([push])
        return concatenate([np.reshape(push, 1), scale(self._within(push, y[1:])[0], y[1:])])

    def _within(self, push: Any, drag: Any) -> tuple[Any, Any, Any]:
        """By which a drag is shortened, whether it is, and its direction."""
        size, limit = sqrt(sum(z * z for z in drag)), self.friction * push
        slides = less(limit, size)
        inverse = 1.0 / where(slides, size, 1.0 + 0.0 * size)
        return where(slides, limit * inverse, 1.0 + 0.0 * size), slides, scale(inverse, drag)

    def bend(self, y: Any, fault: Any, p: Any) -> Bend:
        """Where it slides along ``w``, ``D = [[1, 0], [friction w, share (1 - w w')]]``; where it sticks 1, else 0."""
        carries, zero = less(0.0, y[0]), 0.0 * y[0]
        stiff = where(carries, 1.0 / p + zero, zero)
        first = where(carries, (1.0 / p) * fault[0], fault[0])
        if self.rows == 1:
            return Bend(array([[stiff]]), array([first]))
        share, slides, w = self._within(where(carries, y[0], zero), y[1:])
        held = where(carries, share, zero)
        loose = 1.0 / (1.0 - (1.0 - p) * held)
        turns = where(slides, self.friction * where(carries, 1.0 + zero, zero), zero)
        along = where(slides, (1.0 - loose) * (w @ fault[1:]), zero) + (1.0 - p) * turns * first
        one, stays = np.eye(len(w)), where(slides, 1.0 + zero, zero)
        across = scale(held * loose, one - scale(stays, w)[:, None] * w[None, :])
        E = [[stiff, *[0.0] * len(w)], *([turns * stiff * a, *row] for a, row in zip(w, across, strict=True))]
        return Bend(array(E), concatenate([np.reshape(first, 1), scale(loose, fault[1:]) + scale(along, w)]))

    def reach(self, x: Any, y: Any, step: Any) -> Any:
        """The share of a step after which ``x - share step`` leaves the cone where it pushes and holds, at most 1."""
        carries, one = less(0.0, y[0]), 1.0 + 0.0 * y[0]
        share = _share(carries, x[0], step[0], one)
        if self.rows == 1 or (is_numeric(self.friction) and self.friction >= GLUED):
            return share
        # |x_t - s d_t| = mu (x_n - s d_n) is a s^2 + b s + c = 0, with c < 0 inside
        drag, d, mu = x[1:], step[1:], self.friction**2
        a, b = d @ d - mu * step[0] * step[0], 2.0 * (mu * x[0] * step[0] - drag @ d)
        c = drag @ drag - mu * x[0] * x[0]
        square = b * b - 4.0 * a * c
        meets = b + sqrt(where(less(0.0, square), square, 0.0 * square))
        holds = less(y[1:] @ y[1:], where(carries, mu * y[0] * y[0], 0.0 * one))
        first = _share(holds, where(less(square, 0.0), 0.0 * one, -2.0 * c), meets, one)
        return where(less(first, share), first, share)

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """Impulses after a sweep over these rows, given their velocities and ``G`` of these rows."""
        push = x[0] - (1.0 / G[0, 0]) * u[0]
        push = where(less(0.0, push), push, 0.0 * push)
        if self.rows == 1:
            return array([push])
        along = u[1:] + scale(push - x[0], G[1:, 0])
        drag = x[1:] - scale(1.0 / _stiffest(G[1:, 1:]), along)
        return concatenate([np.reshape(push, 1), scale(self._within(push, drag)[0], drag)])


def _share(holds: Any, way: Any, speed: Any, one: Any) -> Any:
    """``way / speed`` if something ``holds``, both are positive, and it is less than 1; else 1."""
    fast = where(holds, speed, 0.0 * one)
    comes = less(where(less(0.0, way), way, fast), fast)
    return where(comes, way / where(comes, fast, one), one)


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

    def nearest(self, y: Any) -> Any:
        """See :class:`Cone`."""
        above = where(less(y[0], -self.limit), -self.limit + 0.0 * y[0], y[0])
        return array([where(less(self.limit, above), self.limit + 0.0 * above, above)])

    def bend(self, y: Any, fault: Any, p: Any) -> Bend:
        """``D`` is 1 within the bounds, else 0."""
        size = where(less(y[0], 0.0), -y[0], y[0])
        slides, zero = less(self.limit, size), 0.0 * y[0]
        stiff = where(slides, zero, 1.0 / p + zero)
        return Bend(array([[stiff]]), array([where(slides, fault[0], (1.0 / p) * fault[0])]))

    def reach(self, x: Any, y: Any, step: Any) -> Any:
        """See :class:`Cone`."""
        back, one = less(0.0, step[0]), 1.0 + 0.0 * y[0]
        way, size = where(back, x[0] + self.limit, self.limit - x[0]), where(back, step[0], -step[0])
        return _share(less(where(less(y[0], 0.0), -y[0], y[0]), self.limit), way, size, one)

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """See :class:`Cone`."""
        return self.nearest([x[0] - (1.0 / G[0, 0]) * u[0]])


class Closed(NamedTuple):
    """Of a row that is held whatever that takes."""

    rows: int = 1

    def scaled(self, d: Any) -> Closed:
        """See :class:`Cone`."""
        return self

    def nearest(self, y: Any) -> Any:
        """See :class:`Cone`."""
        return array([y[0]])

    def bend(self, y: Any, fault: Any, p: Any) -> Bend:
        """``D`` is 1."""
        return Bend(array([[1.0 / p]]), array([(1.0 / p) * fault[0]]))

    def reach(self, x: Any, y: Any, step: Any) -> Any:
        """See :class:`Cone`: there is no end."""
        return 1.0

    def relaxed(self, x: Any, u: Any, G: Any) -> Any:
        """See :class:`Cone`."""
        return array([x[0] - (1.0 / G[0, 0]) * u[0]])


Set = Cone | Bounded | Closed
