"""Many motions at once, each kept with every step that it took: what :func:`simulate` gives, from a fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..contact import CompliantFloor
from ..control import Law
from ..errors import ModelError
from ..model import Model, State
from .books import books
from .events import Happened
from .fleet import Fleet
from .ledger import Ledger
from .located import HEAD, Located
from .rosenbrock import Rosenbrock
from .system import System
from .trajectory import Trajectory

ATTEMPTS = 256
"""At steps, of all robots, between two looks at who has arrived."""
CROWD = 8
"""Robots that have arrived leave when they are one in so many."""


def simulate_many(
    model: Model,
    states: Sequence[State],
    duration: float,
    laws: Sequence[Sequence[Law]],
    contact: CompliantFloor,
    *,
    rule: Rosenbrock,
    dt: float,
    target: str = "cpu",
) -> list[Trajectory]:
    """The motions from many states, each under laws of its own, which differ in their numbers: every robot in steps of
    its own of at most ``dt`` (s) within the tolerance of the ``rule``, contacts located, events named.

    A motion is the same, bit by bit, whichever others are computed with it.
    """
    if len(laws) != len(states):
        raise ModelError(f"laws of {len(states)} robots are {len(states)} lists of laws, not {len(laws)}")
    fleet = Fleet(model, states, laws, contact, dt=dt, target=target, integrator=Located(rule))
    rows: list[list[np.ndarray]] = [[row[None]] for row in fleet.whole()]
    who = np.arange(len(states))
    while len(who):
        before, seen = fleet.times, fleet.recorded(duration, ATTEMPTS)
        before = np.vstack([np.asarray(fleet.fetched(before))[None], seen[:-1, :, 0]])
        taken = seen[:, :, 0] > before
        for k, robot in enumerate(who):
            rows[robot].append(seen[taken[:, k], k])
        away = seen[-1, :, 0] < duration
        if np.count_nonzero(~away) * CROWD >= len(away):
            fleet.keep(away)
            who = who[away]
        elif not away.any():
            break
    systems = (replace(fleet.system, laws=(*own, *fleet.system.laws[len(own) :])) for own in laws)
    return [_trajectory(system, fleet, rule, np.concatenate(own)) for system, own in zip(systems, rows, strict=True)]


def _trajectory(system: System, fleet: Fleet, rule: Rosenbrock, rows: np.ndarray) -> Trajectory:
    """One motion from ``[time, advised step, aim; what touches; packed]`` at its steps."""
    broke = not np.isfinite(rows[-1]).all()
    rows = rows[:-1] if broke else rows
    contact = system.contact
    assert isinstance(contact, CompliantFloor)
    touches, times = rows[:, HEAD : fleet.march.head] > 0.5, rows[:, 0].copy()
    series = fleet.layout.series(rows[:, fleet.march.head :])
    poses, joints, twists, rates = map(np.ascontiguousarray, series.states)  # which are read many times
    ledger = Ledger(system.ports, *(np.ascontiguousarray(x) for x in (series.base_works, series.joint_works)))
    modes = tuple(map(tuple, touches.tolist()))
    events = _events(contact.points, times, touches)
    status = f"stopped after {times[-1]:.6g} s: no step meets the tolerance" if broke else "finished"
    run = Trajectory(
        system.model,
        times,
        poses,
        joints,
        twists,
        rates,
        series.memory,
        modes,
        system,
        ledger,
        events,
        status,
        "located",
    )
    return run if broke else replace(run, status=books(run, None, rule.stable))


def _events(points: Sequence[str], times: np.ndarray, touches: np.ndarray) -> tuple[Happened, ...]:
    """Touchdowns and lift-offs, where what touches has changed.

    >>> _events(["foot"], np.array([0.0, 0.1, 0.2]), np.array([[False], [True], [True]]))
    (Happened(name='touchdown foot', time=0.1, loss=0.0),)
    """
    samples, place = np.nonzero(touches[1:] != touches[:-1])
    names = [(f"lift-off {point}", f"touchdown {point}") for point in points]
    return tuple(
        Happened(names[k][int(touches[i + 1, k])], float(times[i + 1])) for i, k in zip(samples, place, strict=True)
    )
