"""Step of the momentum-exact midpoint rule, on every kind of number.

The rule is described in :mod:`fallingcat.simulation.integrators.momentum.integrator`.
The shape obeys ``p1 = p0 + dt dl/dq + dt tau + J0' x + J1' y``: impulses ``x`` in loops at the start of the step close
them at its end, impulses ``y`` there take away velocities that would open them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ....arrays import absolute, array, concatenate, cross, less, maximum, scale, where, while_loop
from ....control import Law
from ....dynamics import center_of_mass, inverse_dynamics
from ....dynamics.energy import kinetic_slope
from ....dynamics.forward import response
from ....lie import SE3, SO3, Group
from ....lie.rotations import exp, homogeneous
from ....model import Model, State
from ...problem.loop_closure import InnerLoops, row_count
from ...problem.problem import Problem, held
from ...problem.vector_field import layout_of
from ..step_arguments import StepArguments, of_arguments

_ROTATIONS = SO3()
MAX_PASSES, UNROLLED_PASSES = 150, 16
"""Passes at most, and where they are written one after the other (C, CasADi, derivatives): a pass leaves about ``dt``
times the fastest rate of the error, so that steps for which 16 are not enough are far too long, and end as infinite"""
VELOCITY_TOLERANCE, STALLED_VELOCITY_TOLERANCE, MAX_VELOCITY_ERROR = 1e-15, 1e-13, 1e-9
"""Changes of velocity, relative to it: with which passes end, with which they end unless they still shrink, and beyond
which a step has failed."""
CARRIED_SIZE = 10
"""Numbers: a time, and center of mass, its velocity and the spin about it then."""
FIRST_CHANGE = 1e300
"""The change before the first pass."""


class Guess(NamedTuple):
    """Unknowns of the passes; in a vector, one after the other."""

    velocity: Any
    """``nv``: at the midpoint, seen from the center of mass"""
    slope: Any
    """``n``: how fast the shape's momentum changes, but for loops"""
    impulses: Any
    """in loops, at the start of the step: one for each row"""
    rates: Any
    """``n``: before the last pass"""
    forces: Any
    """``n``: of laws and controller on the joints, at these rates"""
    falls: Any
    """``n``: by how much less they are at higher rates"""
    change: Any
    """1: what the last pass changed, or how fast it leaves loops open, relative to the velocity"""

    @classmethod
    def of(cls, model: Model, x: Any) -> Guess:
        """Taken apart."""
        n = model.n
        ends = list(accumulate((model.nv, n, row_count(model), n, n, n, 1)))
        return cls(*(x[a:b] for a, b in zip([0, *ends], ends, strict=False)))

    @classmethod
    def first(cls, model: Model, velocity: Any, falls: Any) -> Any:
        """The velocity at the start, and nothing else."""
        nothing = np.zeros(model.n + row_count(model))
        return concatenate([velocity, nothing, velocity[model.m :], np.zeros(model.n), falls, np.full(1, FIRST_CHANGE)])


@of_arguments
def flown(source: StepArguments) -> Any:
    """``x = [count; carried; packed]`` a step of ``clock[0]`` (s) later, under held ``forces`` (nv) if there are."""
    count, carried, packed, out = solved(source, np.zeros(0))
    end, error = out[: len(packed)], out[len(packed)]
    after = where(less(1.0, error), np.inf + 0.0 * end, end)
    return concatenate([np.reshape(count + 1.0, 1), carried, after])


def solved(source: StepArguments, guess: Any) -> tuple[Any, Any, Any, Any]:
    """Count of steps, what is carried and packed, and what :func:`stepped` finds from there."""
    (problem, _), x, dt = source.problem(source.values), source.x, source.clock[0]
    carried, packed = x[1 : 1 + CARRIED_SIZE], x[1 + CARRIED_SIZE :]
    given: dict[str, Any] = {"laws": problem.laws, "driven": len(source.forces) > 0}
    about = array([x[0] * dt, dt]), guess, source.forces[source.model.m :]
    return x[0], carried, packed, stepped(source.model, packed, carried, *about, **given)


def carried_at(model: Model, state: State) -> Any:
    """Center of mass, its velocity, and the spin about it."""
    R, free = state.pose[:3, :3], replace(model, base=SE3(), gravity=np.zeros(3))
    still, twist = still_at(free, state.joints), model.base.selection @ state.twist
    # M v by a sweep: a third of the operations of the momentum matrix
    h = inverse_dynamics(free, still, concatenate([twist, state.rates]))
    offset = center_of_mass(free, still)
    spin = R @ (h[3:6] - cross(offset, h[:3]))
    return concatenate([state.pose[:3, 3] + R @ offset, scale(1.0 / model.mass, R @ h[:3]), spin])


def stepped(
    model: Model, packed: Any, carried: Any, clock: Any, guess: Any, given: Any, *, laws: tuple[Law, ...], driven: bool
) -> Any:
    """``[packed end; error; packed midpoint; guess]`` after all passes, or after one from a ``guess`` if there is one.

    ``carried = [t; center; velocity; spin]`` of the center of mass at some time; ``given`` are the joint forces (n) of
    a controller, if the robot is ``driven`` by one.
    """
    problem, dt = Problem(model, laws, None, held if driven else None), clock[1]
    layout, flight = layout_of(problem, 0), Parabola(model, carried)
    start, _, works = layout.unpack(packed)
    light = replace(model, gravity=np.zeros(3))
    R, q, spin = start.pose[:3, :3], start.joints, carried[7:]
    flying = concatenate([start.twist, start.rates]) - flight.seen(clock[0], R)
    m = model.m
    p = inverse_dynamics(light, still_at(light, q), flying)[m:]
    half, predicted = clock[0] + 0.5 * dt, _implicit_slopes(problem, clock[0], start, 0.5 * dt)
    closing = InnerLoops(light, still_at(light, q), 0.5 * dt * predicted)

    def middle(v: Any) -> State:
        return flight.state(half, R @ exp(0.5 * dt * angular_velocity(model, v)), q + 0.5 * dt * v[m:], v)

    def better(x: Any) -> tuple[Any, Any]:
        at = Guess.of(model, x)
        v, rates = at.velocity, at.velocity[m:]
        q_mid, tau = q + 0.5 * dt * rates, problem.total(problem.applied((), half, middle(v), given))[m:]
        slope = kinetic_slope(light, State(np.eye(4), q_mid, v[:m], rates)) + tau
        h = _ROTATIONS.dexp_left(dt * angular_velocity(model, v)).T @ (
            R.T @ spin
        )  # what the variation of R exp(dt w) asks for
        opening, more = closing.correction(still_at(light, q + dt * rates), dt)
        impulses = at.impulses + more
        falls = _measured_slopes(at, rates, tau)
        p_mid = p + 0.5 * dt * slope + closing.forces(impulses)
        new = _velocity(light, h, q_mid, p_mid, 0.5 * dt * falls, rates)
        change = _largest(concatenate([new - v, opening])) / _largest(concatenate([np.ones(1), new]))
        found = Guess(new, slope, impulses, rates, tau, falls, np.reshape(change, 1))
        return concatenate(list(found)), arrived(model, change, at.change[0], dt)

    first = Guess.first(model, flying, predicted)
    x = better(guess)[0] if len(guess) else while_loop(better, first, MAX_PASSES, UNROLLED_PASSES)
    v, slope, impulses, *_, change = Guess.of(model, x)
    end_R, end_q = R @ exp(dt * angular_velocity(model, v)), q + dt * v[m:]
    end_v = _velocity(light, end_R.T @ spin, end_q, p + dt * slope + closing.forces(impulses))
    end = flight.state(clock[0] + dt, end_R, end_q, InnerLoops(light, still_at(light, end_q)).kept(end_v))
    forces, zero = problem.applied((), half, middle(v), given), np.zeros(model.nv)  # those in loops do no work
    powers = [(0.0, forces.get(port, zero)[m:] @ v[m:]) for port in problem.ports]
    works = works + dt * concatenate([np.zeros(0), *(np.reshape(power, 1) for pair in powers for power in pair)])
    ends = [layout.pack(at, np.zeros(0), works) for at in (end, middle(v))]
    return concatenate([ends[0], change / (MAX_VELOCITY_ERROR * slack(model, 1e3 * dt)), ends[1], x])


def _implicit_slopes(problem: Problem, t: Any, state: State, dt: Any) -> Any:
    """``n``: by how much less the forces of laws will be at higher rates, as they say; ``dt`` is how long these act."""
    falls: Any = np.zeros(problem.model.n)
    for law in problem.laws:
        K, D = law.joint_impedance(problem.model, t, state, frozenset(), dt)
        falls = falls + maximum(D + dt * K, np.zeros(problem.model.n))
    return falls


def _measured_slopes(before: Guess, rates: Any, forces: Any) -> Any:
    """The same as it is seen from one pass to the next: stiff laws, and drives at their limits, stop no pass."""
    moved = rates - before.rates
    # smaller changes of rates measure rounding of the forces
    seen = less(1e-9, absolute(moved))
    falls = (before.forces - forces) / where(seen, moved, 1.0)
    return where(seen, maximum(falls, 0.0 * falls), before.falls)


def slack(model: Model, dt: Any) -> Any:
    """Factor of changes that count as rounding.

    Coordinates that close loops to rounding leave velocities as uncertain as rounding over ``dt``.
    """
    return 1.0 + 1.0 / dt if model.loops else 1.0


def arrived(model: Model, change: Any, before: Any, dt: Any) -> Any:
    """Positive after a pass that is the last."""
    allowed, stalled = (x * slack(model, dt) for x in (VELOCITY_TOLERANCE, STALLED_VELOCITY_TOLERANCE))
    return maximum(allowed - change, where(less(change, before), -1.0, stalled - change))


class Parabola(NamedTuple):
    """Motion of the center of mass of a robot in flight."""

    model: Model
    carried: Any

    def velocity(self, t: Any) -> Any:
        """Velocity (3, m/s) of the center of mass at a time (s)."""
        return self.carried[4:7] + (t - self.carried[0]) * self.model.gravity

    def center(self, t: Any) -> Any:
        """Position (3, m) of the center of mass at a time (s)."""
        s = t - self.carried[0]
        return self.carried[1:4] + s * self.carried[4:7] + (0.5 * s * s) * self.model.gravity

    def seen(self, t: Any, R: Any) -> Any:
        """``nv``: its part in the velocity of a robot with this attitude."""
        return concatenate([self.model.base.selection[:3].T @ (R.T @ self.velocity(t)), np.zeros(self.model.n)])

    def state(self, t: Any, R: Any, q: Any, v: Any) -> State:
        """The state whose center of mass lies on the parabola; ``v`` (nv) is seen from there."""
        v, offset = v + self.seen(t, R), center_of_mass(self.model, still_at(self.model, q))
        place = free_directions(self.model.base) @ (self.center(t) - R @ offset)
        return State(homogeneous(R, place), q, v[: self.model.m], v[self.model.m :])


def free_directions(base: Group) -> np.ndarray:
    """Projection (3 x 3) onto the directions in which a base moves."""
    return base.selection[:3] @ base.selection[:3].T


def still_at(model: Model, q: Any) -> State:
    """State at rest at joint coordinates, with a base at the origin."""
    return State(np.eye(4), q, np.zeros(model.m), np.zeros(len(q)))


def angular_velocity(model: Model, v: Any) -> Any:
    """Angular velocity (3, rad/s, base axes) of the base in a velocity (nv)."""
    return model.base.selection[3:] @ v[: model.m]


def _velocity(light: Model, spin: Any, q: Any, p: Any, resists: Any = None, rates: Any = None) -> Any:
    """Twist and rates, seen from the center of mass, with body-fixed ``spin`` and shape momentum ``p``.

    ``M v = h``, where ``h`` falls by what ``resists`` (n) rates beyond some.
    """
    h = concatenate([light.base.selection[3:].T @ spin, p])
    return response(light, still_at(light, q), h, (), (), resists, rates).acceleration


def _largest(x: Any) -> Any:
    size = where(less(x, 0.0), -x, x)
    top = size[0]
    for entry in size[1:]:
        top = where(less(top, entry), entry, top)
    return top
