"""Many motions at once, each recorded with every step that it took, as by :func:`simulate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...contact import Contact
from ...contact.sample_modes import modes_of_samples
from ...control import Law
from ...errors import ModelError
from ...model import Model, State
from ..batch.batch_simulator import BatchSimulator
from ..events import contact_events
from ..integrators.event_located import HEAD_SIZE, MAX_EXCESS, EventLocator
from ..integrators.rosenbrock import Rosenbrock
from ..outcome import StatusCode
from ..output.trajectory import Trajectory
from ..problem.problem import Problem
from .run import OneRobot
from .runner import FINISHED, End

ATTEMPTS_PER_CALL = 256
"""Attempted steps of all robots between two checks of which have arrived."""
ROBOTS_PER_ARRIVAL = 8
"""Robots that have arrived leave when they are one in so many."""
CHATTER_TIME = 1.0
"""s: in which a motion may have :attr:`.Contact.max_events`; feet that settle have 40,000 and go on"""


def record_runs(
    model: Model,
    states: Sequence[State],
    duration: float,
    laws: Sequence[Sequence[Law]],
    contact: Contact,
    *,
    rule: Rosenbrock,
    dt: float,
    target: str = "cpu",
) -> list[Trajectory]:
    """Motions from many states, each under laws of its own, which differ in their numbers.

    Every robot takes steps of its own of at most ``dt`` (s) within the tolerance of the ``rule``, contacts located,
    events named.  A motion is the same, bit by bit, whichever others are computed with it.  One whose contacts switch
    without end stops, with a ``status`` that says so, and the others go on.
    """
    if len(laws) != len(states):
        raise ModelError(f"laws of {len(states)} robots are {len(states)} lists of laws, not {len(laws)}")
    simulator = BatchSimulator(model, states, laws, contact, dt=dt, target=target, integrator=EventLocator(rule))
    records = [_Record(row, simulator.stepper.head, contact.max_events) for row in simulator.whole()]
    who = np.arange(len(states))
    while len(who):
        before, seen = simulator.times, simulator.recorded(duration, ATTEMPTS_PER_CALL)
        before = np.vstack([np.asarray(simulator.fetched(before))[None], seen[:-1, :, 0]])
        taken = seen[:, :, 0] > before
        for k, robot in enumerate(who):
            records[robot].add(seen[taken[:, k], k])
        away = (seen[-1, :, 0] < duration) & ~np.array([records[robot].chatters for robot in who])
        if np.count_nonzero(~away) * ROBOTS_PER_ARRIVAL >= len(away):
            simulator.keep(away)
            who = who[away]
        elif not away.any():
            break
    problems = (replace(simulator.problem, laws=(*own, *simulator.problem.laws[len(own) :])) for own in laws)
    return [_trajectory(problem, simulator, rule, record) for problem, record in zip(problems, records, strict=True)]


class _Record:
    """Record of a motion at its steps, until it chatters.

    Rows are ``[time, advised step, aim, attempts; what touches; packed]``.
    """

    def __init__(self, start: np.ndarray, head: int, most: int) -> None:
        self._parts, self._head, self._most = [start[None]], head, most
        self._switches, self.chatters = np.zeros(0), False

    @property
    def rows(self) -> np.ndarray:
        return np.concatenate(self._parts)

    def add(self, rows: np.ndarray) -> None:
        """Further steps; those after more than ``most`` events :data:`CHATTER_TIME` some time are left out."""
        if self.chatters or not len(rows):
            return
        touches = np.vstack([self._parts[-1][-1:], rows])[:, HEAD_SIZE : self._head] > 0.5
        switches = np.repeat(rows[:, 0], np.count_nonzero(touches[1:] != touches[:-1], axis=1))
        times = np.concatenate([self._switches, switches])
        soon = np.flatnonzero(times[self._most :] - times[: -self._most] < CHATTER_TIME)
        self.chatters, self._switches = bool(len(soon)), times[-self._most :]
        self._parts.append(rows[rows[:, 0] <= times[self._most + soon[0]]] if self.chatters else rows)


def _trajectory(problem: Problem, simulator: BatchSimulator, rule: Rosenbrock, record: _Record) -> Trajectory:
    """One motion from its record."""
    rows = record.rows
    broke, stalled = not np.isfinite(rows[-1]).all(), rows[-1, HEAD_SIZE - 1] > MAX_EXCESS
    rows = rows[:-1] if broke else rows
    contact, head = problem.contact, simulator.stepper.head
    assert contact is not None
    modes, times = modes_of_samples(rows[:, HEAD_SIZE:head] > 0.5), rows[:, 0].copy()
    end, known = FINISHED, dict[str, Any]()
    if broke or record.chatters:
        often = f"contacts chatter, {contact.max_events + 1} events within {CHATTER_TIME:g} s"
        why = often if record.chatters else "steps are endlessly small" if stalled else "no step meets the tolerance"
        end = End(StatusCode.STALLED, f"stopped after {times[-1]:.6g} s: {why}")
    one, events = OneRobot(problem, EventLocator(rule), None, simulator.layout), contact_events(times, modes, contact)
    return one.trajectory(times, [rows[:, head:]], modes, events, end, known if end is FINISHED else None)
