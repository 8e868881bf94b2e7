"""Dry friction at the end of a step: joints that it holds, and joints that slide.

Coulomb's law is a set: ``|f| <= limit`` while a joint rests, ``f = -limit sign(v)`` while it moves.  A held joint is
given the acceleration that stops it, and so much armature that it has no other; what this resists is the friction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import absolute, concatenate, less, where
from ...control import Law
from ...control.laws.carried_inertia import carried_inertia
from ...model import Model, State

HELD_ARMATURE = 1e12
"""The armature of a held joint, relative to the inertia that it carries: under a load ``f`` it creeps at
``1e-12 f dt / inertia``."""


MAX_CREEP = 2e-3
"""rad/s or m/s: where dry friction fades below a higher speed than this, joints that it should hold creep visibly"""


def creeps(laws: Sequence[Law], model: Model) -> bool:
    """True if integrators that take dry friction as a smooth law let joints creep visibly under half of it."""
    held = ((law, law.dry_friction(model)) for law in laws)
    return any(f is not None and law.fade_rates(model)[f > 0.0].max(initial=0.0) > MAX_CREEP for law, f in held)


class JointFriction(NamedTuple):
    """Joint rates with dry friction, in a sweep of a step."""

    model: Model
    name: str
    rates: np.ndarray
    """places of the rates"""
    limit: np.ndarray
    """N m or N"""
    stopping: Any
    """the accelerations that stop them within the step"""
    sticking: Any
    """1 where the law holds a joint, 0 where it slides"""
    direction: Any
    """1 or -1: in which it slides"""

    @classmethod
    def at_start(cls, law: Law, model: Model, state: State, dt: Any) -> JointFriction:
        """Friction before the first sweep: joints are held that it could stop if no other force acted."""
        limit = np.asarray(law.dry_friction(model))
        rates = np.flatnonzero(limit)
        limit, v = limit[rates], state.rates[rates]
        stops = less(absolute(v) * carried_inertia(model)[rates], limit * dt)
        return cls(model, law.name, rates, limit, -v / dt, _one(stops, v), _sign(v))

    def next(self, beyond: Any) -> JointFriction:
        """Friction for another sweep, after accelerations (n) beyond the :attr:`given` ones.

        A held joint slides where holding it takes more than the friction, and one that slides is held where it would
        turn round.
        """
        a = beyond[self.rates]
        held, slips, turns = less(0.5, self.sticking), less(self.limit, absolute(self._armature * a)), self._turns(a)
        sticking = where(held, 1.0 - _one(slips, a), _one(turns, a))
        return self._replace(sticking=sticking, direction=where(held, _sign(a), self.direction))

    def _turns(self, a: Any) -> Any:
        return less(self.direction * (a - self.stopping), 0.0)

    @property
    def _armature(self) -> np.ndarray:
        return HELD_ARMATURE * carried_inertia(self.model)[self.rates]

    @property
    def armature(self) -> Any:
        """Armature (n) that holds joints."""
        return self._spread @ (self.sticking * self._armature)

    @property
    def given(self) -> Any:
        """Accelerations (n) that stop held joints."""
        return self._spread @ (self.sticking * self.stopping)

    @property
    def sliding(self) -> Any:
        """Forces (nv) on sliding joints."""
        return self._forces((self.sticking - 1.0) * self.limit * self.direction)

    def forces(self, beyond: Any) -> Any:
        """``nv``: all forces, given the accelerations (n) beyond the :attr:`given` ones."""
        return self.sliding - self._forces(self.sticking * self._armature * beyond[self.rates])

    @property
    def _spread(self) -> np.ndarray:
        return np.eye(self.model.n)[:, self.rates]

    def _forces(self, joints: Any) -> Any:
        return concatenate([np.zeros(self.model.m), self._spread @ joints])


def _one(true: Any, like: Any) -> Any:
    return where(true, 1.0 + 0.0 * like, 0.0 * like)


def _sign(x: Any) -> Any:
    return where(less(x, 0.0), -1.0 + 0.0 * x, 1.0 + 0.0 * x)
