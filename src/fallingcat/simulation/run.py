"""One run of a simulation: steps, events and jumps, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..contact.contact import Mode
from ..errors import FallingCatError, NumericsError
from ..model import Model, State
from .events import PRECISION, Event, Happened, first_crossing
from .field import layout_of
from .integrator import Integrator, Step
from .ledger import Ledger
from .rule import guards
from .system import System
from .trajectory import Trajectory

DEFAULT_STEP = 1e-3
SMALLEST_STEP = 1e-13
CHATTER = 100
"""So many events within :data:`STANDSTILL` seconds are chattering."""
STANDSTILL = 1e-7


class Hit(NamedTuple):
    """What ends a step early: a guard of the contact, or an event of the user."""

    dt: float
    guard: int | None
    event: Event | None


class Run:
    """The state of a run: time, packed state, mode; and its record."""

    def __init__(
        self,
        system: System,
        method: Integrator,
        state: State,
        duration: float,
        dt: float | None,
        every: int,
        events: tuple[Event, ...],
        progress: Callable[[float], None] | None,
    ) -> None:
        self.system, self.method, self.duration, self.every = system, method, duration, every
        self.events, self.progress = events, progress
        self.adaptive = method.tolerance is not None
        self.largest = dt if dt is not None else (duration if self.adaptive else DEFAULT_STEP)
        self.mode: Mode = ()
        memory = np.zeros(0)
        if system.contact is not None:
            self.mode, memory = system.contact.begin(system.model, state)
        self.layout = layout_of(system, len(memory))
        self.t, self.next = 0.0, min(self.largest, 1e-4) if self.adaptive else self.largest
        self.packed = np.asarray(self.layout.pack(state, memory, np.zeros(self.layout.works)), dtype=float)
        self.start = self.packed.copy()
        self.rows: list[tuple[float, np.ndarray, Mode]] = []
        self.happened: list[Happened] = []
        self.recent: list[float] = []
        self.rejected = self.accepted = 0
        self._steps: dict[Mode, Step] = {self.mode: method.stepper(system, self.mode, len(memory))}
        self._measures: dict[Mode, Step] = {}

    # the loop -------------------------------------------------------------------------------------------------

    def trajectory(self) -> Trajectory:
        """Run to the end, or to what stops it."""
        status = "finished"
        self._keep()
        try:
            with np.errstate(all="ignore"):  # what is not finite stops the run by name
                while self.t < self.duration - 0.5 * PRECISION and status == "finished":
                    status = self._advance()
                    if self.progress is not None:
                        self.progress(self.t / self.duration)
        except FallingCatError as error:
            status = f"stopped after {self.t:.6g} s: {error}"
        if self.rows[-1][0] < self.t:
            self._keep()
        return self._record(status)

    def _advance(self) -> str:
        """One step, to its end or to the first event in it; what ends the run, if anything does."""
        dt = self._planned()
        out, dt = self._step(dt)
        hit = self._hit(out, dt)
        if hit is not None and hit.dt < dt:
            out, dt = (self._call(hit.dt), hit.dt) if hit.dt > 0.0 else (self.packed, 0.0)
        self._values = self._events_at(out, self.t + dt) if self.events else []
        self.t += dt
        self.packed = out[: self.layout.size]
        self.accepted += 1
        if hit is not None or self.accepted % self.every == 0:
            self._keep()
        return "finished" if hit is None else self._handle(hit)

    def _planned(self) -> float:
        """The next step's size: to the grid of fixed steps, or as the last error advises."""
        left = self.duration - self.t
        if self.adaptive:
            return left if self.next > 0.9 * left else min(self.next, self.largest)
        ahead = (np.floor(self.t / self.largest + 1e-6) + 1.0) * self.largest - self.t
        return float(left if ahead > left - 1e-6 * self.largest else ahead)

    def _step(self, dt: float) -> tuple[np.ndarray, float]:
        """A step that is finite and meets the tolerance, and its size."""
        while True:
            out = self._call(dt)
            finite = bool(np.isfinite(out).all())
            if not self.adaptive:
                if not finite:
                    self._refuse(out, dt)
                return out, dt
            size = float(out[-1])
            factor = min(6.0, max(0.2, 0.9 / max(size, 1e-12) ** (1.0 / self.method.order))) if finite else 0.1
            if finite and size <= 1.0:
                self.next = dt * factor
                return out, dt
            self.rejected += 1
            dt *= min(factor, 0.9)
            if dt < SMALLEST_STEP * max(1.0, self.t):
                if not finite:
                    self._refuse(out, dt)
                raise NumericsError("no step, however small, meets the tolerance", time=self.t, value=size)

    def _call(self, dt: float) -> np.ndarray:
        if self.mode not in self._steps:
            self._steps[self.mode] = self.method.stepper(self.system, self.mode, self.layout.memory)
        return self._steps[self.mode](self.packed, np.array([self.t, dt]))

    def _refuse(self, out: np.ndarray, dt: float) -> None:
        """Names what is no longer finite."""
        model: Model = self.system.model
        rates = out[12 + self.layout.joints :][model.m : model.nv]
        for joint, place in zip(model.joints, model.v_slices, strict=True):
            if not np.isfinite(rates[place]).all():
                raise NumericsError("the motion is no longer finite", time=self.t + dt, joint=joint.name)
        raise NumericsError("the motion of the base is no longer finite", time=self.t + dt)

    # events and jumps -----------------------------------------------------------------------------------------

    def _hit(self, out: np.ndarray, dt: float) -> Hit | None:
        """The first guard or event within the step."""
        hits = []
        after_all = out[self.layout.size : -1]
        for i in np.flatnonzero(after_all < 0.0):
            before = float(self._guards_now()[i])
            value = lambda s, i=i: float(self._call(s)[self.layout.size + i])  # noqa: E731
            time = first_crossing(value, before, float(after_all[i]), dt) if before >= 0.0 else 0.0
            hits.append(Hit(time, int(i), None))
        if self.events:
            after = self._events_at(out, self.t + dt)
            for k, event in enumerate(self.events):
                if event.happens(self._values[k], after[k]):
                    value = lambda s, k=k: self._events_at(self._call(s), self.t + s)[k]  # noqa: E731
                    hits.append(Hit(first_crossing(value, self._values[k], after[k], dt), None, event))
        if not hits:
            return None
        first = min(hits, key=lambda hit: hit.dt)
        together = max(hit.dt for hit in hits if hit.dt <= first.dt + 2.0 * PRECISION)
        return first._replace(dt=together)  # feet that land at once have all landed then

    def _guards_now(self) -> Any:
        if self.mode not in self._measures:
            self._measures[self.mode] = guards(self.system, self.mode, self.layout.memory)
        return self._measures[self.mode](self.packed, np.array([self.t, 0.0]))

    def _events_at(self, packed: np.ndarray, t: float) -> list[float]:
        state = self.layout.unpack(packed[: self.layout.size], self.system.model.m)[0]
        return [float(event.function(t, state)) for event in self.events]

    def _handle(self, hit: Hit) -> str:
        """What an event does; the status after it."""
        if hit.event is not None:
            self.happened.append(Happened(hit.event.name, self.t))
            return f"stopped by the event {hit.event.name!r}" if hit.event.terminal else "finished"
        guard: int | None = hit.guard
        while guard is not None:
            jump = self._jump(guard)
            self.recent = [t for t in self.recent if self.t - t < STANDSTILL] + [self.t]
            if len(self.recent) > CHATTER:
                return f"stopped after {self.t:.6g} s: contacts chatter, {jump!r} and others {CHATTER} times at once"
            guard = next(iter(np.flatnonzero(self._guards_now() < 0.0).tolist()), None)
        self.next = min(self.next, 1e-4)
        return "finished"

    def _jump(self, guard: int) -> str:
        """Into the next mode; the name of what happened."""
        assert self.system.contact is not None
        state, memory, works = self.layout.unpack(self.packed, self.system.model.m)
        applied = self.system.applied_at(self.mode, self.t, state)
        jump = self.system.contact.jump(self.system.model, self.mode, guard, state, memory, applied)
        self.happened.append(Happened(jump.name, self.t, jump.loss))
        self.mode, works = jump.mode, works.copy()
        works[-1] -= jump.loss
        before, self.packed = self.packed, np.asarray(self.layout.pack(jump.state, jump.memory, works), dtype=float)
        if not np.array_equal(before, self.packed):
            self._keep()
        return jump.name

    # the record -----------------------------------------------------------------------------------------------

    def _keep(self) -> None:
        if not self.rows and self.events:
            self._values = self._events_at(self.packed, self.t)
        self.rows.append((self.t, self.packed, self.mode))

    def _record(self, status: str) -> Trajectory:
        model, layout = self.system.model, self.layout
        times = np.array([t for t, _, _ in self.rows])
        packed = np.array([p for _, p, _ in self.rows])
        poses = np.zeros((len(times), 4, 4))
        poses[:, :3] = packed[:, :12].reshape(-1, 3, 4)
        poses[:, 3, 3] = 1.0
        a = 12 + layout.joints
        b = a + layout.nv
        c = b + layout.memory
        works = packed[:, c:].reshape(len(times), -1, 2)
        return Trajectory(
            model, times, poses, packed[:, 12:a], packed[:, a : a + model.m], packed[:, a + model.m : b],
            packed[:, b:c], tuple(mode for _, _, mode in self.rows), self.system,
            Ledger(self.system.ports, works[:, :, 0], works[:, :, 1]), tuple(self.happened), status, self.method.name,
        )  # fmt: skip
