"""The sets in which reactions are: of a point that pushes, of dry friction, of what is closed."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ....arrays import array, concatenate, is_numeric, less, scale, sqrt, where

STICKING_FRICTION = 1e30
"""A coefficient of friction that holds every point that pushes."""
JAMMED_FRICTION = (30.0, 10.0, 3.0, 1.0)
"""Coefficients in its place, one after the other, where no motion holds every point that pushes."""


class ImpulseSet(Protocol):
    """A convex set in which the impulse of a point, stop, loop or joint is, with the nearest impulse to any other."""

    @property
    def rows(self) -> int:
        """Length of an impulse."""

    @property
    def sticks(self) -> bool:
        """True for points whose friction has no limit."""

    def scaled(self, d: Any) -> ImpulseSet:
        """The same for impulses in units of ``d``."""

    def limited(self, friction: Any) -> ImpulseSet:
        """The same with a coefficient of friction where it :attr:`sticks`."""

    def nearest(self, y: Any) -> Any:
        """The impulse of the set that is nearest to ``y``."""

    def slope(self, y: Any, fault: Any, p: Any) -> ProjectionSlope:
        """Derivative of the projection by ``y``, and its response to a ``fault``, for the weight ``p``."""


class ProjectionSlope(NamedTuple):
    """Linearized projection onto a set: with its derivative ``D`` by ``y``, and ``A = 1 - D + p D``."""

    E: Any
    """``A^-1 D``"""
    correction: Any
    """``A^-1 fault``"""


class Cone(NamedTuple):
    """Friction cone of a point, its normal row first: ``x_n >= 0``, ``|x_t| <= friction x_n``."""

    rows: int
    friction: Any

    @property
    def sticks(self) -> bool:
        """The same as of :class:`ImpulseSet`."""
        return self.rows > 1 and is_numeric(self.friction) and bool(self.friction == STICKING_FRICTION)

    def scaled(self, d: Any) -> Cone:
        """The same for impulses in units of ``d``."""
        return self

    def limited(self, friction: Any) -> Cone:
        """The same as of :class:`ImpulseSet`."""
        return self._replace(friction=friction) if self.sticks else self

    def nearest(self, y: Any) -> Any:
        """The impulse of the set that is nearest to ``y``, first along the normal, then along the ground."""
        # Alart and Curnier: drag is clipped at friction times push; the Euclidean projection on the cone would lift
        # off the ground what slides
        push = where(less(0.0, y[0]), y[0], 0.0 * y[0])
        if self.rows == 1:
            return array([push])
        return concatenate([np.reshape(push, 1), scale(self._within(push, y[1:])[0], y[1:])])

    def _within(self, push: Any, drag: Any) -> tuple[Any, Any, Any]:
        """Factor by which a drag is shortened, the condition that it is, and its direction."""
        size, limit = sqrt(sum(z * z for z in drag)), self.friction * push
        slides = less(limit, size)
        # both branches are computed in kernels: 0 / 0 at rest would spoil the derivative of the one that counts
        inverse = 1.0 / where(slides, size, 1.0 + 0.0 * size)
        return where(slides, limit * inverse, 1.0 + 0.0 * size), slides, scale(inverse, drag)

    def slope(self, y: Any, fault: Any, p: Any) -> ProjectionSlope:
        """Linearized projection onto the cone.

        ``D = [[1, 0], [friction w, share (1 - w w')]]`` for a point that slides along ``w``, 1 where it sticks, else 0.
        """
        carries, zero = less(0.0, y[0]), 0.0 * y[0]
        stiff = where(carries, 1.0 / p + zero, zero)
        first = where(carries, (1.0 / p) * fault[0], fault[0])
        if self.rows == 1:
            return ProjectionSlope(array([[stiff]]), array([first]))
        share, slides, w = self._within(where(carries, y[0], zero), y[1:])
        held = where(carries, share, zero)
        loose = 1.0 / (1.0 - (1.0 - p) * held)
        turns = where(slides, self.friction * where(carries, 1.0 + zero, zero), zero)
        along = where(slides, (1.0 - loose) * (w @ fault[1:]), zero) + (1.0 - p) * turns * first
        one, stays = np.eye(len(w)), where(slides, 1.0 + zero, zero)
        across = scale(held * loose, one - scale(stays, w)[:, None] * w[None, :])
        E = [[stiff, *[0.0] * len(w)], *([turns * stiff * a, *row] for a, row in zip(w, across, strict=True))]
        return ProjectionSlope(array(E), concatenate([np.reshape(first, 1), scale(loose, fault[1:]) + scale(along, w)]))


class Bounded(NamedTuple):
    """Interval of dry friction in one row: ``|x| <= limit``."""

    limit: Any
    rows: int = 1

    @property
    def sticks(self) -> bool:
        """The same as of :class:`ImpulseSet`."""
        return False

    def limited(self, friction: Any) -> Bounded:
        """The same as of :class:`ImpulseSet`."""
        return self

    def scaled(self, d: Any) -> Bounded:
        """The same as of :class:`Cone`."""
        return Bounded(self.limit / d)

    def nearest(self, y: Any) -> Any:
        """The same as of :class:`Cone`."""
        above = where(less(y[0], -self.limit), -self.limit + 0.0 * y[0], y[0])
        return array([where(less(self.limit, above), self.limit + 0.0 * above, above)])

    def slope(self, y: Any, fault: Any, p: Any) -> ProjectionSlope:
        """``D`` is 1 within the bounds, else 0."""
        size = where(less(y[0], 0.0), -y[0], y[0])
        slides, zero = less(self.limit, size), 0.0 * y[0]
        stiff = where(slides, zero, 1.0 / p + zero)
        return ProjectionSlope(array([[stiff]]), array([where(slides, fault[0], (1.0 / p) * fault[0])]))


class Closed(NamedTuple):
    """All impulses: a row that is held by any impulse."""

    rows: int = 1

    @property
    def sticks(self) -> bool:
        """The same as of :class:`ImpulseSet`."""
        return False

    def limited(self, friction: Any) -> Closed:
        """The same as of :class:`ImpulseSet`."""
        return self

    def scaled(self, d: Any) -> Closed:
        """The same as of :class:`Cone`."""
        return self

    def nearest(self, y: Any) -> Any:
        """The same as of :class:`Cone`."""
        return array([y[0]])

    def slope(self, y: Any, fault: Any, p: Any) -> ProjectionSlope:
        """``D`` is 1."""
        return ProjectionSlope(array([[1.0 / p]]), array([(1.0 / p) * fault[0]]))
