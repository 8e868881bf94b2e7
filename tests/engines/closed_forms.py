"""Closed forms of compliant contact with Coulomb friction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from .reference_floor import GRAVITY


def oscillator(mass: float, stiffness: float, damping: float, x: float, v: float, t: float) -> tuple[float, float]:
    """Position and velocity after ``t`` (s) of ``m x'' + d x' + k x = 0``."""
    half, root = 0.5 * damping / mass, np.sqrt(complex((0.5 * damping / mass) ** 2 - stiffness / mass))
    a, b = -half + root, -half - root
    assert abs(root) > 1e-6 * half, "critical damping has another form"
    c = (v - b * x) / (a - b)
    e, f = c * np.exp(a * t), (x - c) * np.exp(b * t)
    return float((e + f).real), float((a * e + b * f).real)


@dataclass(frozen=True)
class Braking:
    """A mass that slides on one point of a floor, from an unloaded tangential spring, until it sticks.

    While it slides, ``v = v0 - mu g t`` and the deflection ``s`` of the bristle obeys ``K s + D ds/dt = mu m g``:
    ``s = (mu m g / K) (1 - exp(-K t / D))``.  It sticks from the time ``t1`` on at which the trial force ``K s + D v``
    has fallen to the limit, ``D v(t1) = mu m g exp(-K t1 / D)``; from there ``m s'' + D s' + K s = 0``.  In the end it
    has come back by ``s(t1)``: ``x = v0 t1 - mu g t1^2 / 2 - s(t1)``.  For a stiff bristle this is Coulomb's
    ``v0^2 / (2 mu g)``.
    """

    mass: float
    stiffness: float
    damping: float
    friction: float
    speed: float

    def __post_init__(self) -> None:
        assert self.damping * self.speed > self.limit, "it sticks from the beginning"

    @property
    def limit(self) -> float:
        """N"""
        return self.friction * self.mass * GRAVITY

    @property
    def coulomb(self) -> float:
        """Stopping distance on a rigid floor (m)."""
        return self.speed**2 / (2.0 * self.friction * GRAVITY)

    @cached_property
    def sticks(self) -> float:
        """Time from which on it sticks (s)."""
        ends = self.speed / (self.friction * GRAVITY)
        return float(brentq(self._excess, 0.0, ends, xtol=1e-15))

    def _excess(self, t: float) -> float:
        velocity = self.speed - self.friction * GRAVITY * t
        return float(self.damping * velocity - self.limit * np.exp(-self.stiffness / self.damping * t))

    def deflection(self, t: float) -> float:
        """Of the bristle while it slides (m)."""
        relaxed = -np.expm1(-self.stiffness / self.damping * t)
        return float(self.limit / self.stiffness * relaxed)

    def place(self, t: float) -> float:
        """Distance covered after ``t`` (s)."""
        slides = min(t, self.sticks)
        x = self.speed * slides - 0.5 * self.friction * GRAVITY * slides**2
        if t <= self.sticks:
            return x
        s, v = self.deflection(slides), self.speed - self.friction * GRAVITY * slides
        return x - s + oscillator(self.mass, self.stiffness, self.damping, s, v, t - slides)[0]


@dataclass(frozen=True)
class Bounce:
    """A mass dropped from a height on a spring and damper that push and never pull."""

    mass: float
    stiffness: float
    """N/m, of all points together"""
    damping: float
    height: float

    @cached_property
    def _released(self) -> tuple[float, float, float]:
        """Time since touchdown, place and velocity at which the spring and damper stop pushing."""
        sag = self.mass * GRAVITY / self.stiffness  # oscillates about -sag
        impact = -np.sqrt(2.0 * GRAVITY * self.height)

        def motion(t: float) -> tuple[float, float]:
            z, v = oscillator(self.mass, self.stiffness, self.damping, sag, impact, t)
            return z - sag, v

        def push(t: float) -> float:
            y, v = motion(t)
            return -self.stiffness * y - self.damping * v

        period = 2.0 * np.pi * np.sqrt(self.mass / self.stiffness)
        times = np.linspace(0.0, period, 2001)[1:]
        i = next(i for i, t in enumerate(times) if push(t) < 0.0)
        ends = float(brentq(push, times[i - 1], times[i], xtol=1e-15))
        return ends, *motion(ends)

    @property
    def leaves(self) -> float:
        """Time at which it comes out of the ground (s)."""
        t, y, v = self._released
        rises = (v - np.sqrt(v**2 + 2.0 * GRAVITY * y)) / GRAVITY
        return float(np.sqrt(2.0 * self.height / GRAVITY) + t + rises)

    @property
    def speed(self) -> float:
        """With which it comes out of the ground (m/s)."""
        _, y, v = self._released
        return float(np.sqrt(v**2 + 2.0 * GRAVITY * y))
