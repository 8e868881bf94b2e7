"""One run of a simulation: steps, events and jumps, and what is kept of them."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..contact.base import Mode
from ..errors import FallingCatError, Interrupted
from ..model import State
from .accuracy import STEPS_PER_PART, Checkpoints, ErrorEstimate, estimate
from .arguments import carry, keepable, read_only
from .diagnostics import counted_steps, diagnosed
from .events import LOCATED, PRECISION, Event, Happened, contact_events, first_crossing
from .integrators.base import HALVINGS, Integrator, Step
from .integrators.implicit import CompiledStepper
from .integrators.rule import guards
from .outcome import Code
from .output.ledger import Ledger
from .output.trajectory import Trajectory
from .stepping import Stepping
from .system import System

WATCHED_STEP = 1e-2
"""The longest step of an adaptive method between two looks at events, unless ``dt`` is given (s)."""
WHILE = 1e-3
"""The time (s) in which a contact may have :attr:`.Contact.most_events`."""
SEIZED = -1
"""Instead of the number of a guard: no step, however small, holds what the contact should hold."""
AN_INSTANT = 0.01
"""Part of a step in which something has to happen there, at the latest, to count as happening at once."""
MANY = 100_000
"""Steps between two looks at whether they lead anywhere."""
MOST_KEPT = 2e9
"""Bytes of samples of a run that chooses its steps: as many again are taken to put them together"""
BYTES_PER_ROW = 250
"""Of a sample, beside its numbers"""
AT_ONCE = 2000
"""Steps of a march between two looks at Ctrl-C and progress."""


class Hit(NamedTuple):
    """What ends a step early: a guard of the contact (its number), or an event of the user."""

    dt: float
    what: int | Event


class End(NamedTuple):
    """How a run ended, and why where it did not get to its end."""

    code: Code
    reason: str = ""


FINISHED = End(Code.FINISHED)


class Run(Stepping):
    """Steps to the end of a run, with what happens at and within them; and its record."""

    def __init__(
        self,
        system: System,
        method: Integrator,
        state: State,
        duration: float,
        dt: float | None,
        every: int = 1,
        events: tuple[Event, ...] = (),
        progress: Callable[[float], None] | None = None,
        stops: np.ndarray | None = None,
    ) -> None:
        super().__init__(system, method, state, duration, dt, WATCHED_STEP if events else duration)
        self.every, self.events, self.progress = every, events, progress
        self.stops = self.stops if stops is None else stops
        if not self.adaptive and not events:  # which may end it earlier
            keepable(duration / self.largest / every, self.layout.size)
        self.rows: list[tuple[float, np.ndarray, Mode]] = []
        self.happened: list[Happened] = []
        self.recent: deque[float] = deque()
        self.accepted, self._looked = 0, 0.0
        self._values = self._events_at(self.packed, self.t)
        self._measures: dict[Mode, Step] = {}
        self.checkpoints = Checkpoints(self.largest)
        self.prepare(whole=not events)

    # the loop -------------------------------------------------------------------------------------------------

    def trajectory(self) -> Trajectory:
        """Run to the end, or to what stops it; Ctrl-C raises :class:`Interrupted` with what there is, and what the
        user's functions raise goes on with it.
        """
        try:
            run = self._record(self._run())
            if run.code not in (Code.FINISHED, Code.EVENT):
                return run
            run = replace(run, error_estimate=self._estimate())
            steps = None if self.adaptive else self.largest
            counts = {} if self.march is None else self.march.counts(self.packed)
            found = *diagnosed(run, steps, self.method.stable), *counted_steps(counts, self.accepted)
            return replace(run, warnings=found)
        except KeyboardInterrupt:
            reason = f"interrupted at t = {self.t:.6g} s"
            raise Interrupted(reason, self._record(End(Code.INTERRUPTED, reason))) from None
        except Exception as error:
            carry(error, self.t, self._record(self._stopped(Code.FAILED, repr(error))))
            raise

    def _stopped(self, code: Code, why: str) -> End:
        return End(code, f"stopped after {self.t:.6g} s: {why}")

    def _run(self) -> End:
        end = FINISHED
        self._keep()
        self.checkpoints.see(self.t, self.packed)
        try:
            with np.errstate(all="ignore"):  # what is not finite stops the run by name
                while self.t < self.duration - 0.5 * PRECISION and end is FINISHED:
                    if self.march is None or self.events or not self._march(self.march):
                        end = self._advance()
                    self.checkpoints.see(self.t, self.packed)
                    if self.progress is not None:
                        self.progress(self.t / self.duration)
        except FallingCatError as error:
            return self._stopped(Code.FAILED, str(error))
        return end

    def _advance(self) -> End:
        """One step, to its end or to the first event in it; what ends the run, if anything does."""
        planned, instant = self._planned(), self.instant
        out, dt, values, hits = self._step_to_event(planned)
        after = instant if dt == instant - self.t else self.t + dt
        self.t, self.packed, self._values = after, self.layout.outcome(out).packed, values
        self.accepted += 1
        if hits or self.accepted % self.every == 0 or after in self.stops:
            self._keep()
        end = self._handle(hits) if hits else FINISHED
        if self.t == instant and end is FINISHED:
            self._sample()
        return self._progress() if self.accepted % MANY == 0 and end is FINISHED else end

    def _progress(self) -> End:
        """Whether the last steps led anywhere: they are far longer than what events are located to."""
        within, self._looked = self.t - self._looked, self.t
        if len(self.rows) * (8 * self.layout.size + BYTES_PER_ROW) > MOST_KEPT:
            more = f"{len(self.rows):,} samples are more than {MOST_KEPT / 1e9:g} GB"
            return self._stopped(Code.STALLED, f"{more}: keep fewer, every={10 * self.every}, say")
        if within >= MANY * min(10.0 * PRECISION, self.largest / 2**HALVINGS):
            return FINISHED
        return self._stopped(Code.STALLED, f"steps are endlessly small, {MANY} of them within {within:.2g} s")

    def _sample(self) -> None:
        """The controller looks, or what it said arrives: what was tried under the old forces is forgotten."""
        if self.duration - self.t <= PRECISION:
            return
        contact, sampling = self.system.contact, self.system.sampling
        if sampling is None or sampling.next > self.t:
            return
        touching: frozenset[str] = frozenset()
        if contact is not None and sampling.sampled.laws:  # functions are not told
            touching = contact.touching(self.mode if self.march is None else self.march.modes(self.packed[None])[0])
        sampling.advance(self.t, self._seen(self.packed), touching)
        self._tried = self.packed, {}

    def _march(self, march: CompiledStepper) -> bool:
        """Whole steps in machine code, up to where a controller is asked again, if there are any such steps."""
        dt, at = self.largest, round(self.t / self.largest)
        whole = abs(self.t - at * dt) <= PRECISION and not self.eases
        steps = min(int(self.duration / dt + 1e-9) - at, self._undisturbed()) if whole else 0
        if steps <= 1:
            return steps == 1 and self._march_once(march, at + 1)
        every = self.every if self.system.controller is None and steps >= self.every and at % self.every == 0 else 1
        found = march.rows(self.t, self.packed, dt, steps // every, every, forces=march.held(self.t, dt, self.packed))
        good = np.isfinite(found).all(axis=1)
        sound = len(found) if good.all() else int(good.argmin())
        done = np.arange(1, sound + 1) * every + at
        times = np.where(abs(done * dt - self.instant) <= PRECISION, self.instant, done * dt)
        kept = done % self.every == 0
        for i in np.flatnonzero(done % STEPS_PER_PART == 0).tolist():
            self.checkpoints.see(float(times[i]), found[i])
        self.rows += zip(times[kept].tolist(), found[:sound][kept], repeat(self.mode), strict=False)
        if sound:
            self.t, self.packed = float(times[-1]), found[sound - 1]
            self.accepted += sound * every
        if sound < len(found) and not np.isinf(found[sound]).any():  # else the step is too long: see _step
            self._refuse(found[sound], every * dt)
        if self.t == self.instant:
            self._sample()
        return sound > 0

    def _march_once(self, march: CompiledStepper, number: int) -> bool:
        """The step that ends at a ``number`` of steps, if it is not too long."""
        out, end = march.one(self.t, self.largest, self.packed), number * self.largest
        if not np.isfinite(out).all():
            if not np.isinf(out).any():
                self._refuse(out, self.largest)
            return False
        self.t = self.instant if abs(end - self.instant) <= PRECISION else end
        self.packed, self.accepted = out, self.accepted + 1
        if number % self.every == 0:
            self._keep()
        if self.t == self.instant:
            self._sample()
        return True

    def _undisturbed(self) -> int:
        """Steps before a controller is asked again, or Ctrl-C heard; 0: it looks within a step."""
        if self.system.controller is None:
            most = max(AT_ONCE, self.every)
            return most if STEPS_PER_PART % self.every == 0 else min(most, self.checkpoints.before_next(self.t))
        ahead = 1.0 if self.system.sampling is None else (self.instant - self.t) / self.largest
        return min(round(ahead), AT_ONCE) if abs(ahead - round(ahead)) <= 1e-6 else 0

    def _step_to_event(self, dt: float) -> tuple[np.ndarray, float, list[float], list[Hit]]:
        """A step, its size, the values of events at its end, and those that end it."""
        while True:
            out, dt = self._step(dt)
            if dt == 0.0:
                return out, dt, self._values, [Hit(0.0, SEIZED)]
            values = self._events_at(out, self.t + dt) if self.events else []
            hits = self._hits(out, dt, values)
            last = max((hit.dt for hit in hits), default=dt)
            if last == dt:
                return out, dt, values, hits
            early = self._call(last) if last > 0.0 else np.append(self.packed, 0.0)
            if last == 0.0 or self._resolved(early):
                return early, last, self._events_at(early, self.t + last), hits
            dt = 0.5 * last  # what seemed to happen there was not resolved

    # events and jumps -----------------------------------------------------------------------------------------

    def _hits(self, out: np.ndarray, dt: float, after: list[float]) -> list[Hit]:
        """The first guard or event within the step, and all that cannot be told from it in time, in the order given."""
        hits = self._guard_hit(self.layout.outcome(out).guards, dt)
        hits += self._event_hits(min((hit.dt + LOCATED for hit in hits), default=dt), dt, after)
        instant = min((hit.dt for hit in hits), default=0.0) + LOCATED
        return [hit for hit in hits if hit.dt <= instant]  # feet that land at once land together

    def _event_hits(self, latest: float, dt: float, after: list[float]) -> list[Hit]:
        """Events in the order given; those that happen after ``latest`` or another one are not located."""
        found: dict[int, Hit] = {}
        seen = functools.cache(lambda s: self._seen(self._call(s)))
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
                latest = min(latest, found[i].dt + LOCATED)
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
            self._measures[self.mode] = guards(self.system, self.mode, self.layout.memory)
        return self._measures[self.mode](self.packed, np.array([self.t, 0.0]))

    def _events_at(self, packed: np.ndarray, t: float) -> list[float]:
        seen = self._seen(packed) if self.events else None
        return [event.value(t, seen) for event in self.events] if seen else []

    def _seen(self, packed: np.ndarray) -> State:
        return read_only(self.layout.unpack(packed)[0])

    def _tell(self, events: list[Event]) -> End:
        """Events of this instant, in the order in which they were given; the first terminal one ends the run."""
        self.happened += [Happened(event.name, self.t) for event in events]
        stop = next((event for event in events if event.terminal), None)
        return FINISHED if stop is None else End(Code.EVENT, f"stopped by the event {stop.name!r}")

    def _handle(self, hits: list[Hit]) -> End:
        """What comes at once: events, then jumps of the contact unless one stopped the run, then what jumps caused."""
        end = self._tell([hit.what for hit in hits if isinstance(hit.what, Event)])
        if end is not FINISHED:
            return end
        guard = next((hit.what for hit in hits if isinstance(hit.what, int)), None)
        switched = guard is not None
        while guard is not None:
            jump = self._jump(guard)
            self.recent.append(self.t)
            while self.t - self.recent[0] >= WHILE:
                self.recent.popleft()
            if len(self.recent) > self.system.contact.most_events:  # type: ignore[union-attr]
                often = f"{len(self.recent)} events within {WHILE:g} s, {jump!r} the last"
                return self._stopped(Code.STALLED, f"contacts chatter, {often}")
            guard = next(iter(np.flatnonzero(self._guards_now() < 0.0).tolist()), None)
        if switched:
            self.next = min(self.next, 1e-4) if self.adaptive else self.next
            before, self._values = self._values, self._events_at(self.packed, self.t)
            changes = zip(self.events, before, self._values, strict=True)
            return self._tell([event for event, start, end in changes if event.happens(start, end)])
        return FINISHED

    def _jump(self, guard: int) -> str:
        """Into the next mode; the name of what happened."""
        contact: Any = self.system.prepared or self.system.contact
        state, remembered, works = self.layout.unpack(self.packed)
        system, memory = self.system.recalling(remembered)
        applied = system.applied_at(self.mode, self.t, state)
        model, mode = self.system.model, self.mode
        if guard == SEIZED:
            jump = contact.seize(model, mode, state, memory, applied, AN_INSTANT * self.largest)
        else:
            jump = contact.jump(model, mode, guard, state, memory, applied)
        told = Happened(jump.name, self.t, jump.loss)
        after = self.layout.jumped(jump, remembered[len(memory) :], works)
        before, self.packed, self.mode = self.packed, after, jump.mode  # at once: Ctrl-C may come at any call
        self.happened.append(told)
        if not np.array_equal(before, self.packed):
            self._keep()
        return jump.name

    def _estimate(self) -> ErrorEstimate | None:
        """Error of compiled fixed steps under laws; functions would have to be asked again."""
        if self.march is None or self.adaptive or self.system.controller is not None:
            return None
        with np.errstate(all="ignore"):
            return estimate(self.march, self.system.model, self.layout, self.checkpoints, self.method.order)

    # the record -----------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        self.rows.append((self.t, self.packed, self.mode))

    def _record(self, end: End) -> Trajectory:
        if not self.rows or self.rows[-1][0] < self.t:
            self._keep()
        model, ports = self.system.model, self.system.ports
        times = np.array([t for t, _, _ in self.rows])
        packed = np.array([p for _, p, _ in self.rows])
        modes = tuple(mode for _, _, mode in self.rows) if self.march is None else self.march.modes(packed)
        series = self.layout.series(packed)
        ledger = Ledger(ports, series.base_works, series.joint_works)
        events = tuple(self.happened)
        if self.march is not None and self.system.contact is not None:
            touching = {mode: self.system.contact.touching(mode) for mode in set(modes)}
            events = tuple(sorted((*events, *contact_events(times, [touching[mode] for mode in modes])), key=_time))
        return Trajectory(
            model,
            times,
            *series.states,
            series.memory,
            modes,
            self.system,
            ledger,
            events,
            *end,
            integrator=self.method.name,
            lag=self.method.lag * self.largest,
        )


def _time(event: Happened) -> float:
    return event.time
