"""Joints that stick and slide under Coulomb friction within a step of a flight.

Coulomb's law is a set: ``|f| <= limit`` while a joint rests, ``f = -limit sign(v)`` while it moves.  A step is cut into
parts within which every joint is held or slides in one direction, so that the method keeps its order; and into shorter
ones where dampers ask for these.  At the start of
a part, joints at rest are held unless that takes more than the friction; which ones slide, and in which direction, is
the solution of a linear complementarity problem, found by changing those that violate the law.  A part ends where a
sliding joint comes to rest, or holding one takes more than its friction: this time is located by shortening the part
until the rate at its end is zero, or the load is the friction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....arrays import absolute, clip, concatenate, less, maximum, sqrt, where
from ....control import Law
from ....control.laws.carried_inertia import carried_inertia
from ....model import Model

STAGE_AT_END, LAST_STAGE = 4, 5
"""The stage whose slope is taken at the end of a part, and the last one."""
LOCKED_ARMATURE = 1e18
"""Armature of a held joint, relative to the inertia that it carries."""
RATE_TOLERANCE = 1e-9
"""Rate at the end of a part that counts as zero, relative to the rate at its start and the change within it."""
LOAD_TOLERANCE = 1e-6
"""Excess of the load of a joint over its friction, relative to it, at which it breaks loose: so little
that it does not matter, and so much that the next part does not hold it."""
JOINT_CHANGE_ROUNDS = 8
"""Rounds in which all joints that violate the law change; later one at a time, which cannot cycle."""
MAX_LOCATING_ROUNDS = 200
"""Rounds of stages in each division of a step for locating the times at which joints come to rest."""


class Friction(NamedTuple):
    """Dry friction of some joints."""

    model: Model
    name: str
    places: np.ndarray
    """indices of their rates"""
    limit: np.ndarray
    """N m or N"""
    divisions: int = 1
    """least number of parts of a step"""
    longest: Any = 0.0
    """s: of a part, where there are several"""

    @classmethod
    def of(cls, law: Law, model: Model, dt: Any, divisions: int) -> Friction:
        """Dry friction of a law on a robot, in steps of ``dt`` (s)."""
        limit = np.asarray(law.dry_friction(model))
        places = np.flatnonzero(limit)
        return cls(model, law.name, places, limit[places], divisions, dt / divisions)

    @property
    def decisions(self) -> int:
        """Rounds in which joints at rest may change, at most."""
        return JOINT_CHANGE_ROUNDS + 2 * len(self.places)

    @property
    def rounds(self) -> int:
        """Rounds of stages in a step, at most."""
        return self.divisions * (MAX_LOCATING_ROUNDS + 2 * self.decisions + 14)

    @property
    def locating_rounds(self) -> float:
        """Rounds of stages after which times at which joints come to rest are no longer located."""
        return float(self.divisions * MAX_LOCATING_ROUNDS)

    def part(self, left: Any) -> Any:
        """Size (s) of the next part, where so much of a step is left."""
        # 1e-6: rounding of what is left must not add a sliver
        return left if self.divisions == 1 else where(less(left, (1.0 + 1e-6) * self.longest), left, self.longest)

    @property
    def first_rate(self) -> int:
        """Place of the joint rates in ``y = [turn; twist; rates; ...]``."""
        return 3 + self.model.m

    @property
    def _spread(self) -> np.ndarray:
        return np.eye(self.model.n)[:, self.places]

    @property
    def locks(self) -> Any:
        """Armature of the joints if they are held."""
        return LOCKED_ARMATURE * carried_inertia(self.model)[self.places]

    def armature(self, way: Any) -> Any:
        """``n``: of joints that are held."""
        return self._spread @ (_one(_holds(way)) * self.locks)

    def forces(self, way: Any) -> Any:
        """``n``: of joints that slide."""
        return self._spread @ (-self.limit * way)

    def held_still(self, acceleration: Any, way: Any) -> Any:
        """``nv``: accelerations, which are zero where a joint is held."""
        held = concatenate([np.zeros(self.model.m), self._spread @ _one(_holds(way))])
        return where(less(0.5, held), 0.0 * acceleration, acceleration)


class Modes(NamedTuple):
    """Joints that stick and slide in a part of a step."""

    friction: Friction
    left: Any
    """s: from the start of the part to the end of the step"""
    size: Any
    """s: of the part"""
    tries: Any
    """rounds in which the joints at rest were decided upon"""
    total: Any
    """rounds of stages"""
    way: Any
    """direction of each joint: 1 or -1 if it slides in that direction, 0 if it is held"""
    load: Any
    """load of each joint that is held: the force that moves it if nothing holds it, at the start of the part"""
    last_load: Any
    """the same at its end"""
    start: Any
    """``y`` at the start of the part"""

    @classmethod
    def first(cls, friction: Friction, y: Any, dt: Any) -> Any:
        """Flat, at the start of a step of ``dt`` (s) from ``y``."""
        none, loads = 0.0 * dt, np.zeros(len(friction.places))
        modes = cls(friction, dt, friction.part(dt), none, none, loads, loads, loads, y)
        return modes._replace(way=_sign(modes.before)).flat

    @classmethod
    def of(cls, friction: Friction, flat: Any) -> Modes:
        """The inverse of :attr:`flat`."""
        (left, part, tries, total), rest = flat[:4], flat[4:]
        k = len(friction.places)
        return cls(friction, left, part, tries, total, rest[:k], rest[k : 2 * k], rest[2 * k : 3 * k], rest[3 * k :])

    @property
    def flat(self) -> Any:
        """In a vector, one after the other."""
        return concatenate([*(np.reshape(x, 1) for x in self[1:5]), *self[5:]])

    def _of(self, y: Any) -> Any:
        """The rates of these joints."""
        return y[self.friction.first_rate :][self.friction.places]

    @property
    def before(self) -> Any:
        """Their rates at the start of the part."""
        return self._of(self.start)

    def after(self, stage: Any, point: Any, first: Any, pulled: Any) -> tuple[Any, Any, Modes]:
        """Next stage, its point and the modes, after a stage that leads to a ``point``.

        ``first`` is the slope of ``y`` at the start of the part, after its last stage; ``pulled`` (n) are the
        accelerations at this stage before those of held joints were set to zero.
        """
        load = self.friction.locks * pulled[self.friction.places]
        last_load = where(less(absolute(stage - STAGE_AT_END), 0.5), load, self.last_load)
        counted = self._replace(total=self.total + 1.0, last_load=last_load)
        decided, changed = counted._decided(load)
        again = less(stage, 0.5) & less(0.5, changed)
        ended = less(LAST_STAGE - 0.5, stage)
        at_end, next_point = counted._ended(point, first)
        modes = _choose(ended, at_end, _choose(less(stage, 0.5), decided, counted))
        point = where(again, self.start, where(ended, next_point, point))
        return where(again | ended, 0.0, stage + 1.0), point, modes

    def _decided(self, load: Any) -> tuple[Modes, Any]:
        """At the start of a part, joints at rest that violate the law change; and how many did."""
        held, resting = _holds(self.way), less(absolute(self.before), np.full(len(self.way), 1e-300))
        slips = held & less(self.friction.limit, absolute(load))
        turns = resting & ~held & less(self.way * load, 0.0 * load)
        change = where(less(self.tries, float(self.friction.decisions)), _one(slips | turns), 0.0 * load)
        change = where(less(self.tries, float(JOINT_CHANGE_ROUNDS)), change, _first_of(change))
        way = where(less(0.5, change), where(held, _sign(load), 0.0 * load), self.way)
        return self._replace(way=way, load=load, tries=self.tries + 1.0), sum(change[1:], start=change[0])

    def _ended(self, point: Any, first: Any) -> tuple[Modes, Any]:
        """Modes and point after the last stage of a part, which leads to ``point``.

        The part began with the slope ``first``.  The next one is a shorter one from the same start where a joint has
        turned round, or the load of one that is held is more than its friction; else the one that follows.
        """
        along, change = self.way * self._of(point), self.size * self._of(first)
        rest = RATE_TOLERANCE * (absolute(self.before) + absolute(change))
        turned = less(along, -rest)
        share = where(turned, _crossing(self.way * self.before, self.way * change, along), 1.0 + 0.0 * along)
        slips = _holds(self.way) & less((1.0 + 2.0 * LOAD_TOLERANCE) * self.friction.limit, absolute(self.last_load))
        share = where(slips, _breaking(self.load, self.last_load, (1.0 + LOAD_TOLERANCE) * self.friction.limit), share)
        share = where(less(self.total, self.friction.locating_rounds), _least(share), 1.0)
        back, stops = less(share, 1.0), ~_holds(self.way) & ~less(rest, along)
        rates = self.friction._spread @ _one(stops)
        before = self.friction.first_rate
        still = concatenate([np.zeros(before), rates, np.zeros(len(point) - before - len(rates))])
        arrived = where(less(0.5, still), 0.0 * point, point)
        left, none = self.left - self.size, 0.0 * self.tries
        size = self.friction.part(left)
        ahead = self._replace(left=left, size=size, tries=none, way=_sign(self._of(arrived)), start=arrived)
        modes = _choose(back, self._replace(size=share * self.size), ahead)
        return modes, where(back, self.start, arrived)


def _crossing(v: Any, a: Any, end: Any) -> Any:
    """Root of ``v + a r + (end - v - a) r^2``, for ``v >= 0 > end``."""
    c = end - v - a
    root = sqrt(maximum(a * a - 4.0 * c * v, 0.0 * a))
    slows = less(a, 0.0 * a)
    # of the two forms of a root the one in which nothing cancels
    share = where(slows, 2.0 * v, a + root) / where(slows, root - a, where(less(c, 0.0), -2.0 * c, 1.0))
    return clip(share, np.full(len(v), 1e-12), np.full(len(v), 1.0 - 1e-12))


def _breaking(start: Any, end: Any, limit: Any) -> Any:
    """Share at which a load that changes along a line exceeds a limit, which it does at its end."""
    grows = absolute(end) - _sign(end) * start
    share = (limit - _sign(end) * start) / where(less(0.0, grows), grows, 1.0)
    return clip(share, np.full(len(limit), 1e-12), np.full(len(limit), 1.0 - 1e-12))


def _choose(which: Any, these: Modes, those: Modes) -> Modes:
    chosen = (where(which, a, b) for a, b in zip(these[1:], those[1:], strict=True))
    return Modes(these.friction, *chosen)


def _holds(way: Any) -> Any:
    return less(absolute(way), np.full(len(way), 0.5))


def _one(true: Any) -> Any:
    return where(true, 1.0, 0.0)


def _sign(x: Any) -> Any:
    return where(less(x, 0.0 * x), -1.0, where(less(0.0 * x, x), 1.0, 0.0))


def _first_of(marks: Any) -> Any:
    """The first of several marks (0 or 1) alone."""
    found, any_before = [], 0.0
    for mark in marks:
        found.append(np.reshape(where(less(0.5, any_before), 0.0, mark), 1))
        any_before = any_before + mark
    return concatenate(found)


def _least(x: Any) -> Any:
    least = x[0]
    for entry in x[1:]:
        least = where(less(entry, least), entry, least)
    return least
