"""One step of the momentum-exact midpoint rule, on every kind of number; :mod:`.momentum` says what it is.

The shape obeys ``p1 = p0 + dt dl/dq + dt tau + J0' x + J1' y``: impulses ``x`` in loops at the start of the step close
them at its end, impulses ``y`` there take away velocities that would open them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, less, maximum, repeat, scale, where
from ..control import Law
from ..dynamics import center_of_mass, forward_dynamics, inverse_dynamics
from ..dynamics.energy import kinetic_slope
from ..lie import SO3
from ..lie.rotations import exp, homogeneous
from ..model import Model, State
from .closed import InnerLoops, row_count
from .field import layout_of
from .system import System

_ROTATIONS = SO3()
ITERATIONS = 150
TOLERANCE, STALLED, LOOSE = 1e-15, 1e-13, 1e-9
"""Changes of velocity, relative to it: with which passes end, with which they end unless they still shrink, and beyond
which a step has failed."""
NEVER = 1e300
"""The change before the first pass."""


class Guess(NamedTuple):
    """What passes of the fixed point make better; in a vector, one after the other."""

    velocity: Any
    """``nv``: at the midpoint, seen from the center of mass"""
    slope: Any
    """``n``: how fast the shape's momentum changes, but for loops"""
    impulses: Any
    """in loops, at the start of the step: one for each row"""
    change: Any
    """1: what the last pass changed, or how fast it leaves loops open, relative to the velocity"""

    @classmethod
    def of(cls, model: Model, x: Any) -> Guess:
        """Taken apart."""
        ends = list(accumulate((model.nv, model.n, row_count(model), 1)))
        return cls(*(x[a:b] for a, b in zip([0, *ends], ends, strict=False)))

    @classmethod
    def first(cls, model: Model, velocity: Any) -> Any:
        """The velocity at the start, and nothing else."""
        return concatenate([velocity, np.zeros(model.n + row_count(model)), np.full(1, NEVER)])


def stepped(
    model: Model,
    packed: Any,
    carried: Any,
    clock: Any,
    guess: Any,
    given: Any,
    *,
    laws: tuple[Law, ...],
    asked: bool,
) -> Any:
    """``[packed end; 0; packed midpoint; guess]`` after all passes of the fixed point, or after one from a ``guess``
    where a controller is ``asked`` in between for the joint forces ``given``.

    ``carried = [t; center; velocity; spin]`` of the center of mass at some time.
    """
    system, dt = System(model, laws, None, (lambda t, s: given) if asked else None), clock[1]
    layout, flight = layout_of(system, 0), Parabola(model, carried)
    start, _, works = layout.unpack(packed)
    light = replace(model, gravity=np.zeros(3))
    R, q, spin = start.pose[:3, :3], start.joints, carried[7:]
    flying = concatenate([start.twist, start.rates]) - flight.seen(clock[0], R)
    p = inverse_dynamics(light, _still(q), flying)[6:]
    closing = InnerLoops(light, _still(q))
    half = clock[0] + 0.5 * dt

    def middle(v: Any) -> State:
        return flight.state(half, R @ exp(0.5 * dt * v[3:6]), q + 0.5 * dt * v[6:], v)

    def better(x: Any) -> tuple[Any, Any]:
        v, _, impulses, before = Guess.of(model, x)
        q_mid = q + 0.5 * dt * v[6:]
        tau = system.total(system.applied((), half, middle(v), given))[6:]
        slope = kinetic_slope(light, State(np.eye(4), q_mid, v[:6], v[6:])) + tau
        h = _ROTATIONS.dexp_left(dt * v[3:6]).T @ (R.T @ spin)  # what the variation of R exp(dt w) asks for
        opening = scale(1.0 / dt, closing.error(_still(q + dt * v[6:])))
        impulses = impulses - closing.impulses(opening)
        new = _velocity(light, h, q_mid, p + 0.5 * dt * slope + closing.forces(impulses))
        change = _largest(concatenate([new - v, opening])) / _largest(concatenate([np.ones(1), new]))
        return concatenate([new, slope, impulses, np.reshape(change, 1)]), arrived(model, change, before[0], dt)

    x = better(guess)[0] if asked else repeat(better, Guess.first(model, flying), ITERATIONS)
    v, slope, impulses, _ = Guess.of(model, x)
    end_R, end_q = R @ exp(dt * v[3:6]), q + dt * v[6:]
    end_v = _velocity(light, end_R.T @ spin, end_q, p + dt * slope + closing.forces(impulses))
    end = flight.state(clock[0] + dt, end_R, end_q, InnerLoops(light, _still(end_q)).kept(end_v))
    forces, zero = system.applied((), half, middle(v), given), np.zeros(model.nv)  # those in loops do no work
    powers = [(0.0, forces.get(port, zero)[6:] @ v[6:]) for port in system.ports]
    works = works + dt * concatenate([np.zeros(0), *(np.reshape(power, 1) for pair in powers for power in pair)])
    ends = [layout.pack(at, np.zeros(0), works) for at in (end, middle(v))]
    return concatenate([ends[0], np.zeros(1), ends[1], x])


def slack(model: Model, dt: Any) -> Any:
    """How much larger changes may be that count as rounding: coordinates that close loops to rounding leave velocities
    as uncertain as rounding over ``dt``.
    """
    return 1.0 + 1.0 / dt if model.loops else 1.0


def arrived(model: Model, change: Any, before: Any, dt: Any) -> Any:
    """Positive after a pass that is the last."""
    allowed, stalled = (x * slack(model, dt) for x in (TOLERANCE, STALLED))
    return maximum(allowed - change, where(less(change, before), -1.0, stalled - change))


class Parabola(NamedTuple):
    """Where the center of mass of a robot is, and how fast."""

    model: Model
    carried: Any

    def velocity(self, t: Any) -> Any:
        return self.carried[4:7] + (t - self.carried[0]) * self.model.gravity

    def center(self, t: Any) -> Any:
        s = t - self.carried[0]
        return self.carried[1:4] + s * self.carried[4:7] + (0.5 * s * s) * self.model.gravity

    def seen(self, t: Any, R: Any) -> Any:
        """``nv``: its part in the velocity of a robot with this attitude."""
        return concatenate([R.T @ self.velocity(t), np.zeros(self.model.nv - 3)])

    def state(self, t: Any, R: Any, q: Any, v: Any) -> State:
        """The state whose center of mass lies on the parabola; ``v`` (nv) is seen from there."""
        v, offset = v + self.seen(t, R), center_of_mass(self.model, _still(q))
        return State(homogeneous(R, self.center(t) - R @ offset), q, v[:6], v[6:])


def _still(q: Any) -> State:
    return State(np.eye(4), q, np.zeros(6), np.zeros(len(q)))


def _velocity(light: Model, spin: Any, q: Any, p: Any) -> Any:
    """Twist and rates, seen from the center of mass, with body-fixed ``spin`` and shape momentum ``p``: ``M v = h``."""
    return forward_dynamics(light, _still(q), concatenate([np.zeros(3), spin, p]))


def _largest(x: Any) -> Any:
    size = where(less(x, 0.0), -x, x)
    top = size[0]
    for entry in size[1:]:
        top = where(less(top, entry), entry, top)
    return top
