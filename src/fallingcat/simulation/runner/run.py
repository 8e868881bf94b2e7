"""One run of a simulation: steps, events and jumps, and what is kept of them."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ...contact.base import Mode
from ...model import State
from ..batch.batch_simulator import BatchSimulator
from ..diagnostics.diagnostics import diagnosed
from ..diagnostics.ledger import Ledger
from ..diagnostics.motion import Motion
from ..events import CROSSING_TIME_TOLERANCE, TIME_TOLERANCE, Event, EventRecord, contact_events, first_crossing
from ..integrators.base import MAX_STEP_HALVINGS, Integrator, Step
from ..integrators.rule import guards
from ..outcome import StatusCode
from ..output.trajectory import Trajectory
from ..problem.arguments import MAX_STEPS, keepable, read_only
from ..problem.problem import Problem
from ..problem.vector_field import Layout, Series
from .runner import FINISHED, End
from .stepping import FIRST_ADAPTED_STEP, Stepping

MAX_STEP_WITH_EVENTS = 1e-2
"""The longest step of an adaptive method between two looks at events, unless ``dt`` is given (s)."""
CHATTER_TIME = 1e-3
"""The time (s) in which a contact may have :attr:`.Contact.max_events`."""
PROGRESS_STEPS = 100_000
"""Steps between two checks that the run advances."""
MAX_SAMPLE_BYTES = 2e9
"""Largest size of the samples of a run that chooses its steps; putting them together takes as much again"""


STOPPED = "the run did not get to its end"


class Hit(NamedTuple):
    """Early end of a step: a guard of the contact (its number), or an event of the user."""

    dt: float
    what: int | Event


class Run(Stepping):
    """Run of one robot, with what happens at and within its steps."""

    def __init__(
        self,
        problem: Problem,
        method: Integrator,
        state: State,
        duration: float,
        dt: float | None,
        every: int = 1,
        events: tuple[Event, ...] = (),
        progress: Callable[[float], None] | None = None,
        stops: np.ndarray | None = None,
        finer: int = 0,
    ) -> None:
        longest = MAX_STEP_WITH_EVENTS if events else duration
        super().__init__(problem, method, state, duration, dt, longest, finer, every, progress, whole=not events)
        self.events = events
        self.stops = np.zeros(0) if stops is None else stops
        """s: times at which steps have to end, because they are kept"""
        if not self.adaptive and not events:  # which may end it earlier
            keepable(duration / self.dt / every, self.layout.size)
        self.event_records: list[EventRecord] = []
        self.recent: deque[float] = deque()
        self._looked = 0.0
        self._values = self._events_at(self.packed, self.t)
        self._measures: dict[Mode, Step] = {}

    @property
    def instant(self) -> float:
        """The next time (s) at which a sampled controller samples or acts, or that is to be kept: one if they round."""
        kept, samples = self._stop_after(self.t + TIME_TOLERANCE), super().instant
        return samples if samples <= kept + TIME_TOLERANCE else kept

    def _stop_after(self, t: float) -> float:
        """The first time (s) to be kept that is not before ``t``; none: infinity."""
        k = int(np.searchsorted(self.stops, t))
        return float(self.stops[k]) if k < len(self.stops) else np.inf

    # the loop -------------------------------------------------------------------------------------------------

    def advance(self) -> End:
        """Compiled steps, or one within which something may happen."""
        if self.simulator is not None and not self.events and self._compiled_steps(self.simulator):
            return FINISHED
        end = self._advance()
        self.see()
        return end

    def see(self) -> None:
        """A checkpoint of the error estimate now."""
        if not self.estimates:
            return
        if self.simulator is None:
            self.checkpoints.see(self.t, np.append(round(self.t / self.dt), self.packed)[None])
        else:
            self.checkpoints.see(self.t, self.simulator.stepper.at(self.t, self.dt, self.packed)[None])

    def _advance(self) -> End:
        """One step, to its end or to the first event in it; what ends the run, if anything does."""
        planned, instant = self.planned(), self.instant
        out, dt, values, hits = self._step_to_event(planned)
        after = instant if dt == instant - self.t else self.t + dt
        self.t, self.packed, self._values = after, self.layout.outcome(out).packed, values
        self.accepted += 1
        stops = self._stop_after(after - TIME_TOLERANCE) <= after + TIME_TOLERANCE
        if hits or self.accepted % self.every == 0 or stops:
            self.keep()
        end = self._handle(hits) if hits else FINISHED
        if self.t == instant and end is FINISHED:
            self._sample()
        return self._progress() if self.accepted % PROGRESS_STEPS == 0 and end is FINISHED else end

    def _progress(self) -> End:
        """Check that the last steps led anywhere: they are far longer than what events are located to."""
        within, self._looked = self.t - self._looked, self.t
        kept = sum(len(block.times) for block in self.samples)
        if kept * (8 * self.layout.size + 250) > MAX_SAMPLE_BYTES:  # its numbers, and the arrays that hold them
            more = f"{kept:,} samples are more than {MAX_SAMPLE_BYTES / 1e9:g} GB"
            return self.stopped(StatusCode.STALLED, f"{more}: keep fewer, every={10 * self.every}, say")
        if within >= PROGRESS_STEPS * min(10.0 * TIME_TOLERANCE, self.dt / 2**MAX_STEP_HALVINGS):
            return FINISHED
        return self.stopped(
            StatusCode.STALLED, f"steps are endlessly small, {PROGRESS_STEPS} of them within {within:.2g} s"
        )

    def _sample(self) -> None:
        """The controller samples, or delayed forces begin to act: steps tried under the old forces are dropped."""
        if self.duration - self.t > TIME_TOLERANCE and self.sample(self.packed[None]):
            self._tried = self.packed, {}

    def _compiled_steps(self, simulator: BatchSimulator) -> bool:
        """Whole steps in machine code, up to the next sample of a controller, if there are any such steps."""
        dt, at = self.dt, round(self.t / self.dt)
        whole = abs(self.t - at * dt) <= TIME_TOLERANCE and not self.eases
        until = min(self.steps, at + self._steps_until_sample()) if whole else at
        if until <= at:
            return False
        simulator.place(self.t, self.packed)
        held = simulator.stepper.held(self.t, dt, self.packed)[None]
        found, sound, stride = self.advance_to(simulator, until, held, self.instant)
        assert found is not None
        after = found[:, 0, simulator.stepper.head :]
        if sound:
            self.packed = after[sound - 1]
        if sound < len(after) and not np.isinf(after[sound]).any():  # else the step is too long: see _halved
            self._refuse(after[sound], stride * dt)
        if self.t == self.instant:
            self._sample()
        return sound > 0

    def _steps_until_sample(self) -> int:
        """Steps before the next sample of a controller; 0: it samples within a step."""
        if self.problem.controller is None:
            return MAX_STEPS
        ahead = 1.0 if self.problem.sampling is None else (self.instant - self.t) / self.dt
        # both times are sums of steps, with their rounding
        return round(ahead) if abs(ahead - round(ahead)) <= 1e-6 else 0

    def _step_to_event(self, dt: float) -> tuple[np.ndarray, float, list[float], list[Hit]]:
        """A step, its size, the values of events at its end, and those that end it."""
        while True:
            out, dt = self._step(dt)
            values = self._events_at(out, self.t + dt) if self.events else []
            hits = self._hits(out, dt, values)
            last = max((hit.dt for hit in hits), default=dt)
            if last == dt:
                return out, dt, values, hits
            early = self._call(last) if last > 0.0 else np.append(self.packed, 0.0)
            if last > 0.0 and not self._resolved(early):
                dt = 0.5 * last  # what seemed to happen there was not resolved
                continue
            values = self._events_at(early, self.t + last)
            if last == 0.0 or not self._has_unseen_event(values, hits):
                return early, last, values, hits
            dt = last

    def _has_unseen_event(self, values: list[float], hits: list[Hit]) -> bool:
        """True if another event lies in a step cut short by ``hits``: one that crosses zero twice in the whole step."""
        changes = zip(self.events, self._values, values, strict=True)
        return any(event.happens(a, b) for event, a, b in changes if all(hit.what is not event for hit in hits))

    # events and jumps -----------------------------------------------------------------------------------------

    def _hits(self, out: np.ndarray, dt: float, after: list[float]) -> list[Hit]:
        """First guard or event within the step, and all that coincide with it in time, in the order given."""
        hits = self._guard_hit(self.layout.outcome(out).guards, dt)
        hits += self._event_hits(min((hit.dt + CROSSING_TIME_TOLERANCE for hit in hits), default=dt), dt, after)
        instant = min((hit.dt for hit in hits), default=0.0) + CROSSING_TIME_TOLERANCE
        return [hit for hit in hits if hit.dt <= instant]  # feet that land at once land together

    def _event_hits(self, latest: float, dt: float, after: list[float]) -> list[Hit]:
        """Events in the order given; those that happen after ``latest`` or another one are not located."""
        found: dict[int, Hit] = {}
        seen = functools.cache(lambda s: self._state_at(self._call(s)))
        changes = enumerate(zip(self.events, self._values, after, strict=True))
        happen = [(i, *change) for i, change in changes if change[0].happens(*change[1:])]
        for i, event, start, end in sorted(happen, key=lambda each: each[2] / (each[2] - each[3])):  # likely order

            def value(s: float, event: Event = event) -> float:
                return event.value(self.t + s, seen(s))

            def reached(f: float, event: Event = event, start: float = start) -> bool:
                return event.happens(start, f)

            last = end if latest >= dt else value(latest)
            if reached(last):
                found[i] = Hit(first_crossing(value, start, last, min(latest, dt), reached), event)
                latest = min(latest, found[i].dt + CROSSING_TIME_TOLERANCE)
        return [found[i] for i in sorted(found)]

    def _guard_hit(self, after: np.ndarray, dt: float) -> list[Hit]:
        """The first guard of a step: one is located, then any that had ended before it."""
        ended = np.flatnonzero(after < 0.0)
        if not len(ended):
            return []
        before = np.asarray(self._guards_now())
        if (before[ended] < 0.0).any():
            return [Hit(0.0, int(ended[before[ended] < 0.0][0]))]
        while True:
            i = int(ended[np.argmin(before[ended] / (before[ended] - after[ended]))])
            value = lambda s, i=i: float(self.layout.outcome(self._call(s)).guards[i])  # noqa: E731
            dt = first_crossing(value, float(before[i]), float(after[i]), dt, lambda f: f < 0.0)
            after = self.layout.outcome(self._call(dt)).guards
            ended = np.array([k for k in ended if k != i and after[k] < 0.0], dtype=int)
            if not len(ended):
                return [Hit(dt, i)]

    def _guards_now(self) -> Any:
        if self.mode not in self._measures:
            self._measures[self.mode] = guards(self.problem, self.mode, self.layout.memory)
        return self._measures[self.mode](self.packed, np.array([self.t, 0.0]))

    def _events_at(self, packed: np.ndarray, t: float) -> list[float]:
        seen = self._state_at(packed) if self.events else None
        return [event.value(t, seen) for event in self.events] if seen else []

    def _state_at(self, packed: np.ndarray) -> State:
        return read_only(self.layout.unpack(packed)[0])

    def _record(self, events: list[Event]) -> End:
        """Events of this instant, in the order in which they were given; the first terminal one ends the run."""
        self.event_records += [EventRecord(event.name, self.t) for event in events]
        stop = next((event for event in events if event.terminal), None)
        return FINISHED if stop is None else End(StatusCode.EVENT, f"stopped by the event {stop.name!r}")

    def _handle(self, hits: list[Hit]) -> End:
        """Handle events, then jumps of the contact unless one stopped the run, then what jumps caused."""
        end = self._record([hit.what for hit in hits if isinstance(hit.what, Event)])
        if end is not FINISHED:
            return end
        guard = next((hit.what for hit in hits if isinstance(hit.what, int)), None)
        switched = guard is not None
        while guard is not None:
            jump = self._jump(guard)
            self.recent.append(self.t)
            while self.t - self.recent[0] >= CHATTER_TIME:
                self.recent.popleft()
            if len(self.recent) > self.problem.contact.max_events:  # type: ignore[union-attr]
                often = f"{len(self.recent)} events within {CHATTER_TIME:g} s, {jump!r} the last"
                return self.stopped(StatusCode.STALLED, f"contacts chatter, {often}")
            guard = next(iter(np.flatnonzero(self._guards_now() < 0.0).tolist()), None)
        if switched:
            self.next = min(self.next, FIRST_ADAPTED_STEP) if self.adaptive else self.next
            before, self._values = self._values, self._events_at(self.packed, self.t)
            changes = zip(self.events, before, self._values, strict=True)
            return self._record([event for event, start, end in changes if event.happens(start, end)])
        return FINISHED

    def _jump(self, guard: int) -> str:
        """Into the next mode; the name of what happened."""
        contact: Any = self.problem.contact
        state, full_memory, works = self.layout.unpack(self.packed)
        problem, memory = self.problem.with_memory(full_memory)
        applied = problem.applied_at(self.mode, self.t, state)
        jump = contact.jump(self.problem.model, self.mode, guard, state, memory, applied)
        event = EventRecord(jump.name, self.t, jump.loss)
        after = self.layout.jumped(jump, full_memory[len(memory) :], works)
        before, self.packed, self.mode = self.packed, after, jump.mode  # at once: Ctrl-C may come at any call
        self.event_records.append(event)
        if not np.array_equal(before, self.packed):
            self.keep()
        return jump.name

    # the record -----------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """A sample now."""
        self.add(np.array([self.t]), self.packed[None, None])

    def recorded(self, end: End) -> Trajectory:
        """The samples so far, with warnings if they got to their end."""
        if self.samples.last < self.t:
            self.keep()
        blocks, stepper = self.samples.of_one, None if self.simulator is None else self.simulator.stepper
        record = OneRobot(self.problem, self.method, None if self.adaptive else self.dt, self.layout)
        modes = self.samples.modes if stepper is None else tuple(chain.from_iterable(map(stepper.modes, blocks)))
        event_records = self.event_records
        if stepper is not None and self.problem.contact is not None:
            event_records = [*event_records, *contact_events(self.samples.times, modes, self.problem.contact)]
        events = tuple(sorted(event_records, key=_time))
        if end.code not in (StatusCode.FINISHED, StatusCode.EVENT):
            return record.trajectory(self.samples.times, blocks, modes, events, end)
        counts = {} if stepper is None else stepper.counts(self.packed)
        known = {"errors": self.errors(), "counts": counts, "steps": self.accepted, "unestimated": self.unestimated}
        known["sampled_rates"] = self.sampled_rates
        return record.trajectory(self.samples.times, blocks, modes, events, end, known)


class OneRobot(NamedTuple):
    """Source of the samples of one robot."""

    problem: Problem
    method: Integrator
    dt: float | None
    """s: its steps; None: it chose them"""
    layout: Layout

    def trajectory(
        self,
        times: np.ndarray,
        blocks: list[np.ndarray],
        modes: tuple[Mode, ...],
        events: tuple[EventRecord, ...],
        end: End,
        known: dict[str, Any] | None = None,
    ) -> Trajectory:
        """Samples, in blocks (k x size), as a result; with warnings, where what is ``known`` of the steps is given."""
        (states, *rest) = zip(*map(self.layout.series, blocks), strict=True)
        series = Series(tuple(map(_joined, zip(*states, strict=True))), *map(_joined, rest))  # type: ignore[arg-type]
        ledger = Ledger(self.problem.ports, series.base_works, series.joint_works)
        made = (self.problem.model, times, *series.states, series.memory, modes, self.problem, ledger, events, *end)
        lag = self.method.lag * (self.dt or 0.0)
        if known is None:
            return Trajectory(*made, integrator=self.method.name, lag=lag, unestimated=STOPPED)
        whole = Series(*(_one_of_many(x) for x in series))
        motion = Motion(
            self.problem, self.method, self.dt, times, whole, lambda: zip(modes, strict=True), False, **known
        )
        error = None if motion.errors is None else motion.errors.worst()
        about: dict[str, Any] = {"integrator": self.method.name, "lag": lag, "error_estimate": error}
        about["unestimated"] = motion.why_unestimated(error)
        return Trajectory(*made, warnings=diagnosed(motion), **about)


def _joined(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Contiguous array, which is read many times."""
    return np.ascontiguousarray(blocks[0]) if len(blocks) == 1 else np.concatenate(blocks)


def _one_of_many(x: Any) -> Any:
    return tuple(each[:, None] for each in x) if isinstance(x, tuple) else x[:, None]


def _time(event: EventRecord) -> float:
    return event.time
