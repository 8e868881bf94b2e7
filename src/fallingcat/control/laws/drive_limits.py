"""Torque and speed limits of the drives of joints."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import absolute, clip, concatenate, less, maximum, minimum, where
from ...arrays.types import Scalar, Vector, Vector_n, Vector_nv
from ...model import Model, State
from .base import Law
from .carried_inertia import carried_inertia
from .springs import on_rates, replaced

SPEED_FADE = 0.05
"""Share of its speed limit over which a drive loses its force."""


@dataclass(frozen=True)
class DriveLimits(Law):
    """Torque and speed limits of the drives.

    The forces of commanded laws and controller are cut to ``limits.effort``; in the direction of motion they then fade
    to zero over the last twentieth of ``limits.velocity``, as those of a motor whose back-EMF uses up its supply.  So
    drives do not move a joint faster than its limit, while gravity and impacts may.  Limits that are zero mean none, as
    in many files.

    Steps of ``implicit`` find the force at the rates at their end, and foresee by the least inertia that a joint
    carries whether a drive is still cut there.  Those of ``moreau`` foresee that end by this inertia and by the
    reactions of the step before: a drive whose load jumps has the force of another speed for one step.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> asked = np.concatenate([np.zeros(dog.m), np.full(dog.n, 1e3)])
        >>> cut = DriveLimits().saturated_forces(dog, 0.0, dog.neutral(), frozenset(), asked)
        >>> bool(np.allclose((asked + cut)[dog.m :], [x.effort for x in dog.limits]))
        True
    """

    name: str = "drive limits"
    saturates = True
    ignores_contact = True

    def forces(self, model: Model, t: Scalar, state: State, touching: frozenset[str]) -> Vector_nv:
        """Zero: without commands there is nothing to cut."""
        return self.saturated_forces(model, t, state, touching, np.zeros(model.nv))

    def saturated_forces(
        self, model: Model, t: Scalar, state: State, touching: frozenset[str], asked: Vector_nv
    ) -> Vector_nv:
        """Difference (nv) between the forces that drives exert and those ``asked``."""
        u, fast = self._within_effort_limits(model, asked[model.m :]), np.flatnonzero(limited_rates(model, "velocity"))
        top, left = limits_of_rates(model, "velocity")[fast], self._speed_margin(model, state, u)
        share = clip(left / (SPEED_FADE * top), np.zeros(len(fast)), np.ones(len(fast)))
        return concatenate([np.zeros(model.m), replaced(u, fast, share * u[fast]) - asked[model.m :]])

    def _within_effort_limits(self, model: Model, u: Any) -> Any:
        """Joint forces (n) within the effort limits."""
        strong = np.flatnonzero(limited_rates(model, "effort"))
        most = limits_of_rates(model, "effort")[strong]
        return replaced(u, strong, clip(u[strong], -most, most))

    def _speed_margin(self, model: Model, state: State, u: Any) -> Any:
        """Speed margin of joints with a speed limit along forces ``u`` (n)."""
        fast = np.flatnonzero(limited_rates(model, "velocity"))
        v = state.rates[fast]
        return limits_of_rates(model, "velocity")[fast] - where(less(u[fast], 0.0), -v, v)

    def implicit_damping(self, model: Model, state: State, asked: Vector_nv, dt: Scalar) -> Vector_n:
        """Damping of drives near their speed limit.

        There forces ``F`` fall to zero along a line, a damping of ``d = F / (fade top)`` with ``fade = SPEED_FADE``.
        Of a step that ends there :func:`cut_resistance` has the part ``s - (1 - s) m / (dt d)``, with the share
        ``s = fade top / (top - v)`` of the speed that is left.
        """
        fast = np.flatnonzero(limited_rates(model, "velocity"))
        top, u = limits_of_rates(model, "velocity")[fast], self._within_effort_limits(model, asked[model.m :])
        left, kept = self._speed_margin(model, state, u), carried_inertia(model)[fast] * (1.0 / dt)
        s = SPEED_FADE * top / maximum(left, SPEED_FADE * top)
        damping = s * (absolute(u[fast]) / (SPEED_FADE * top) + kept) - kept
        return on_rates(model, fast, where(less(0.0, left), maximum(damping, 0.0 * damping), 0.0 * damping))[model.m :]


def limits_speeds(law: Law, model: Model) -> bool:
    """True if a law is that of :class:`DriveLimits`, and a joint of the robot has a speed limit."""
    return type(law) is DriveLimits and bool(limited_rates(model, "velocity").any())


def cut_resistance(
    asked: Scalar | Vector,
    given: Scalar | Vector,
    gain: Scalar | Vector,
    inertia: Scalar | Vector,
    dt: Scalar,
    load: Scalar | Vector = 0.0,
) -> Scalar | Vector:
    """Part of the gain ``D + dt K`` of a saturated drive that an implicit step assumes.

    An inertia ``m`` moved by this force against a ``load`` ends the step of ``dt`` (s) under ``clip(asked - gain dv)``:
    cut from ``asked`` to ``given`` as before, or no longer.  ``given - part gain dv`` is the same force there, with
    ``part = 1 - (asked - given) (m + dt gain) / (dt gain (asked - load))``, and zero where it stays cut.  All of
    ``gain`` would brake what the drive cannot brake, as an inertia of ``dt gain`` does; none lets stiff drives
    oscillate between their limits.  No more of a load is counted than what is given, along it.

    Example:
        >>> m, dt, gain = 2.0, 0.1, 50.0
        >>> part = cut_resistance(6.0, 3.0, gain, m, dt)
        >>> dv = dt * 3.0 / (m + dt * part * gain)
        >>> bool(np.isclose(m * dv, dt * np.clip(6.0 - gain * dv, -3.0, 3.0)))
        True
    """
    size, most, none = absolute(asked), absolute(given), 0.0 * asked
    against = where(less(asked, none), -load, none + load)
    against = minimum(maximum(against, none), most)
    is_cut, resists = less(most, size), less(0.0, gain)
    gain = dt * where(resists, gain, 1.0 + 0.0 * gain)
    left = where(is_cut, gain * (size - against), 1.0 + none)
    part = 1.0 - (size - most) * (inertia + gain) / left
    return where(is_cut, maximum(part, 0.0 * part), 1.0 + 0.0 * part)


@functools.lru_cache(maxsize=64)
def limits_of_rates(model: Model, what: str) -> np.ndarray:
    """The ``effort`` or ``velocity`` limit of each rate (n)."""
    pairs = zip(model.joint_names, model.limits, strict=True)
    sizes = [(model.joints[model.joint_index(name)].nv, getattr(limits, what)) for name, limits in pairs]
    return np.concatenate([np.zeros(0), *(np.full(nv, top if nv == 1 else np.inf) for nv, top in sizes)])


@functools.lru_cache(maxsize=64)
def limited_rates(model: Model, what: str) -> np.ndarray:
    """Mask (n) of the rates that have such a limit."""
    top = limits_of_rates(model, what)
    return (top > 0.0) & (top < np.inf)
