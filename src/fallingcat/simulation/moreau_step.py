"""What a step of :class:`.Moreau` computes, on any kind of number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, inverse_root, less, mirror, scale, where
from ..contact import loops
from ..contact.reactions import Bounded, Closed, Reactions, Set, reactions
from ..contact.situation import Situation
from ..contact.stepped import Remembered, SteppedContacts
from ..control import Law
from ..dynamics import mass_matrix
from ..dynamics.sweeps import places_above
from ..model import Model, State
from .closed import LOOPS
from .field import layout_of
from .implicit_step import Pull, ahead_of, powers_of, pulls_of
from .numbers import tuned
from .system import System, held

HEAD = 2
"""Numbers of a robot before its packed state: its time, and attempts at the step so far."""
ATTEMPTS = 200
"""At a step, after which it is taken as it is."""
STUBBORN, CERTAIN = 5.5, 1e-4
"""Attempts after which steps of Newton's method are taken only where they leave such a part (of squares)."""
LEFT = 1e-12
"""m/s or rad/s: how far from the law of contact a step may be; more, with the cube of the attempts."""


HAIR = 1e-12
"""m or rad: heights that are rounding."""


class Rows(NamedTuple):
    """What reactions act along: points and stops, then loops, then joints with dry friction."""

    J: Any
    """``rows x nv``"""
    wanted: Any
    """m/s or rad/s: the velocities that the law of each row asks for, or asks for at least"""
    sets: list[Set]
    forces: Any
    """N or N m: those of the last step"""
    places: list[int]
    """of the rows of points and stops among what is remembered"""
    ports: list[str]
    """through which they work"""


class Start(NamedTuple):
    """What a step begins with."""

    system: System
    contact: SteppedContacts
    state: State
    kept: Remembered
    works: Any
    pulls: dict[str, Pull]
    rows: Rows
    bias: Any
    """``nv``: ``C v + g``"""
    dt: Any


class End(NamedTuple):
    """What it comes to."""

    velocity: Any
    found: Reactions


def attempted(
    model: Model,
    x: Any,
    clock: Any,
    numbers: Any,
    forces: Any,
    *,
    laws: tuple[Law, ...],
    contact: SteppedContacts,
    memory: int,
) -> Any:
    """``x = [t, attempts; packed]`` an attempt at a step later, under held ``forces`` if there are any; and a positive
    number if the robot has arrived: at the time ``clock[0]``, in steps of ``clock[1]`` (s).

    Where the law of contact is not met, the robot stays, and the next attempt goes on from the forces that were found.
    """
    system, (t, tried) = System(model, tuned(laws, numbers), contact, held if len(forces) else None), x[:HEAD]
    layout, (until, dt) = layout_of(system, memory), clock
    start = _begun(system, contact, t, *layout.unpack(x[HEAD:]), forces, dt)
    end = _reacted(start, where(less(tried, STUBBORN), 1.0, CERTAIN))
    kept, after = _remembered(start, end.found), displaced(model, start.state, end.velocity, dt)
    now = concatenate(
        [array([t + dt, 0.0]), layout.pack(after, concatenate(list(kept)), start.works + _works(start, end))]
    )
    stays = layout.pack(start.state, concatenate([kept.forces, start.kept.left]), start.works)
    again, times = concatenate([array([t, tried + 1.0]), stays]), 1.0 + tried
    allowed = where(less(times, ATTEMPTS - 0.5), LEFT * times * times * times, np.inf)
    then = where(less(end.found.left, allowed), now, again)
    then = where(less(times, ATTEMPTS - 0.5), then, now)  # whatever it is, if it is a number or not
    then = where(less(t + 0.5 * dt, until), then, x)
    return concatenate([then, np.reshape(where(less(then[0] + 0.5 * dt, until), -1.0, 1.0), 1)])


def _begun(
    system: System, contact: SteppedContacts, t: Any, state: State, memory: Any, works: Any, forces: Any, dt: Any
) -> Start:
    kept, at, rubs = contact.remembered_of(memory), contact.seen(system.model, state), law_that_rubs(system)
    pulls = pulls_of(system, t, state, forces, contact.touched(memory), rubs.name if rubs else None)
    rows = _rows(system, contact, state, at, kept, rubs, dt)
    return Start(system, contact, state, kept, works, pulls, rows, at.bias_forces, dt)


def _reacted(start: Start, asked: Any) -> End:
    """``v+ = v + M^-1 (dt (forces - C v - g) + J' P)``, with ``M^-1 = R R'`` and ``G = (J R) (J R)'``."""
    model, state, rows, dt = start.system.model, start.state, start.rows, start.dt
    forces, armature = ahead_of(model, state, start.pulls, dt)
    more = concatenate([np.zeros(model.m), armature])[:, None] * np.eye(model.nv)
    R = inverse_root(mass_matrix(model, state) + more, places_above(model))
    free = state.velocity + scale(dt, R @ (R.T @ (forces - start.bias)))
    JR, u = rows.J @ R, rows.J @ free
    short = u - _rebounding(start.contact, rows, rows.J @ state.velocity, u)
    found = reactions(mirror(JR @ JR.T), short, scale(dt, rows.forces), rows.sets, asked)
    return End(free + R @ (JR.T @ found.impulses), found)


def law_that_rubs(system: System) -> Law | None:
    """The first law of dry friction."""
    return next((law for law in system.laws if law.grip(system.model) is not None), None)


def further_rows(system: System) -> int:
    """Of loops and dry friction."""
    rubs = law_that_rubs(system)
    rubbed = 0 if rubs is None else np.count_nonzero(np.asarray(rubs.grip(system.model)))
    return sum(loop.count for loop in system.model.loops) + int(rubbed)


def _rows(
    system: System, contact: SteppedContacts, state: State, at: Situation, kept: Remembered, rubs: Law | None, dt: Any
) -> Rows:
    """All that may react, whether it will or not."""
    model, (normal, tangential) = system.model, contact.ports
    J, wanted, places, ports = [], [], [], []
    sets: list[Set] = list(contact.cones(model))
    for i, (axes, first) in enumerate(zip(contact.axes(model), contact.first_rows, strict=True)):
        axes = axes[: sets[i].rows]
        J.append(at.J[i][axes])
        height = where(less(absolute(at.places[i][0]), HAIR), 0.0, at.places[i][0])
        wanted.append(array([-height / dt, *np.zeros(len(axes) - 1)]))
        places += [first + axis for axis in axes]
        ports += [normal, *[tangential] * (len(axes) - 1)]
    if model.loops:
        error, J_loops, bias = loops.equations(model, state)
        J.append(J_loops)
        wanted.append(scale(-1.0 / dt, error) - scale(0.5 * dt, bias))
        sets, ports = [*sets, *[Closed()] * len(error)], [*ports, *[LOOPS] * len(error)]
    if rubs is not None:
        limits = np.asarray(rubs.grip(model))
        rubbed = np.flatnonzero(limits)
        J.append(np.eye(model.nv)[model.m + rubbed])
        wanted.append(np.zeros(len(rubbed)))
        sets, ports = [*sets, *(Bounded(limit * dt) for limit in limits[rubbed])], [*ports, *[rubs.name] * len(rubbed)]
    further = range(len(kept.forces) - contact.further, len(kept.forces))
    forces = kept.forces[np.array([*places, *further], dtype=int)]
    return Rows(concatenate(J), concatenate(wanted), sets, forces, places, ports)


def _rebounding(contact: SteppedContacts, rows: Rows, before: Any, free: Any) -> Any:
    """What rows ask for where points that reach the ground within the step are thrown back by their restitution, given
    the velocities of rows before, and without any reaction.
    """
    wanted, start = list(rows.wanted), 0
    for e, cone in zip(contact.restitutions, rows.sets, strict=False):
        if e:
            back = where(less(before[start], -contact.rest_speed), -e * before[start], wanted[start])
            higher = where(less(wanted[start], back), back, wanted[start])
            wanted[start] = where(less(free[start], wanted[start]), higher, wanted[start])
        start += cone.rows
    return array(wanted)


def _remembered(start: Start, found: Reactions) -> Remembered:
    """Of the step for the next."""
    kept, places = start.kept, start.rows.places
    forces, impulses = [0.0] * len(kept.forces), scale(1.0 / start.dt, found.impulses)
    for place, force in zip(places, impulses, strict=False):
        forces[place] = force
    forces[len(forces) - start.contact.further :] = list(impulses[len(places) :])
    return Remembered(array(forces), where(less(kept.left, found.left), found.left + 0.0 * kept.left, kept.left))


def displaced(model: Model, state: State, velocity: Any, dt: Any) -> State:
    """Along the velocity that a step ends with."""
    after = model.configuration.displace(state, scale(dt, velocity))
    return after._replace(twist=velocity[: model.m], rates=velocity[model.m :])


def _works(start: Start, end: End) -> Any:
    """J, two for each port: along the mean of the velocities before and after."""
    model, rows, state = start.system.model, start.rows, start.state
    mean, impulses = 0.5 * (state.velocity + end.velocity), end.found.impulses
    pairs = powers_of(model, state, end.velocity, start.pulls, start.dt)
    works = {name: scale(start.dt, array(list(pair))) for name, pair in zip(start.pulls, pairs, strict=True)}
    base, whole = impulses * (rows.J[:, : model.m] @ mean[: model.m]), impulses * (rows.J @ mean)
    for k, port in enumerate(rows.ports):
        works[port] = works.get(port, np.zeros(2)) + array([base[k], whole[k] - base[k]])
    return concatenate([np.zeros(0), *(works.get(port, np.zeros(2)) for port in start.system.ports)])
