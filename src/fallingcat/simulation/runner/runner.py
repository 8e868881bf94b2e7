"""The loop of a simulation: compiled steps of ``N`` robots, samples, error estimate, warnings, and how it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from ...contact.base import Mode
from ...errors import FallingCatError, Interrupted
from ...model import Model, State
from ..batch.batch_simulator import BatchSimulator
from ..diagnostics.accuracy import (
    MAX_DEFAULT_ERROR,
    MAX_ERROR,
    MAX_HALVINGS,
    Checkpoints,
    Errors,
    estimate,
    halvings,
    parts_per_step,
    some_of,
)
from ..diagnostics.held_forces import HELD_SAMPLES, MAX_HELD_TIME, MAX_NUMBERS, HeldForces
from ..diagnostics.sensitivity import START_CHANGE, with_sensitivity
from ..events import TIME_TOLERANCE
from ..integrators.base import Integrator
from ..outcome import StatusCode
from ..problem.arguments import carry, read_only
from ..problem.problem import Problem
from ..problem.sampling import Sampling
from ..problem.vector_field import Layout

STEPS_PER_CALL, ROBOT_STEPS_PER_CALL = 2000, 100_000
"""Compiled steps at most, of each robot and of all together, between two looks at Ctrl-C and progress"""

STEP_GROWTH = 1.2
"""Growth of steps from those that resolve dampers: what decays at any rate is e^-10 of itself before they do not
resolve that any more."""

R = TypeVar("R")


class End(NamedTuple):
    """End of a run, and the reason where it stopped early."""

    code: StatusCode
    reason: str = ""


FINISHED = End(StatusCode.FINISHED)


class Sample(NamedTuple):
    """All robots at some times in a mode, one block of what is kept."""

    times: np.ndarray
    """``k`` (s)"""
    packed: np.ndarray
    """``k x N x size``"""
    mode: Mode
    sampled: np.ndarray
    """``N x s``: what sampled laws remember before their next sample"""


class Samples(list[Sample]):
    """Samples that are kept of a run."""

    @property
    def last(self) -> float:
        """Time (s) of the last one."""
        return float(self[-1].times[-1]) if self else -np.inf

    @property
    def times(self) -> np.ndarray:
        """Times (K, s)."""
        return np.concatenate([block.times for block in self])

    @property
    def packed(self) -> np.ndarray:
        """Packed states (K x N x size)."""
        return np.concatenate([block.packed for block in self])

    @property
    def of_one(self) -> list[np.ndarray]:
        """Packed states (k x size) of a single robot, in blocks; few samples in one: calls cost more."""
        few = sum(len(block.times) for block in self) <= 2 * STEPS_PER_CALL
        return [self.packed[:, 0]] if few else [block.packed[:, 0] for block in self]

    @property
    def modes(self) -> tuple[Mode, ...]:
        """``K``: the mode after each."""
        return tuple(block.mode for block in self for _ in block.times)

    @property
    def sampled(self) -> np.ndarray:
        """``K x N x s``: what sampled laws remember before their next sample."""
        return np.array([block.sampled for block in self for _ in block.times])


def refined(model: Model, run: Callable[[int, float], R], chooses: bool) -> R:
    """Result of ``run(0, 0.0)``; where it ``chooses`` its steps, of a run in steps halved as often as its error asks.

    One rule for single runs and batches: see :func:`.halvings`.  Errors of impacts do not fall until steps resolve
    them: what has not come down to half, or would be reported, is run again.  Estimates do not see how errors grow
    later: a last run, from a start that is changed by its second argument, does, see :func:`.with_sensitivity`.
    """
    found: Any = run(0, 0.0)
    finer, more, ends = 0, halvings(found.error_estimate), (StatusCode.FINISHED, StatusCode.EVENT)
    while more and chooses and found.code in ends:
        finer, before = finer + more, found.error_estimate.relative
        found = run(finer, 0.0)
        limit = max(MAX_DEFAULT_ERROR, min(MAX_ERROR, 0.5 * before))
        more = min(halvings(found.error_estimate, limit), MAX_HALVINGS - finer)
    if not finer or found.code not in ends:
        return found
    try:
        return with_sensitivity(model, found, run(finer, START_CHANGE))
    except BaseException as error:
        error.result = found  # type: ignore[attr-defined]  # whole, and from the start that was given
        raise


class Runner(ABC, Generic[R]):
    """``N`` robots from their starts to the end of a run in steps of ``dt`` (s), every ``every``-th of which is kept.

    :class:`.Batch` gives a :class:`.Rollout` of many; :class:`.Run` gives the :class:`.Trajectory` of one, which may
    ask functions and locate events within steps.
    """

    problem: Problem
    method: Integrator
    layout: Layout
    simulator: BatchSimulator | None
    """robots in compiled steps; None: these are not compiled for all modes"""
    mode: Mode = ()
    watched = False
    """True if numbers that are not finite end the run"""
    sampling: Sampling | None
    """sampled controller, if there is one"""
    repeatable = False
    """True if a function as controller answers the same question in the same way"""
    held: HeldForces | None = None
    """forces of a controller that is not asked again, in steps that hold them"""

    def __init__(
        self,
        duration: float,
        dt: float,
        every: int,
        count: int,
        progress: Callable[[float], None] | None,
        finer: int = 0,
    ) -> None:
        self.duration, self.dt, self.every, self.progress, self.t = duration, dt, every, progress, 0.0
        self.steps, self.next = int(duration / dt + 1e-9) if dt else 0, dt
        self.samples, self.checkpoints, self.lanes = Samples(), Checkpoints(dt, finer), some_of(count)
        self._most = max(1, min(STEPS_PER_CALL, ROBOT_STEPS_PER_CALL // count))
        self.accepted = 0

    # the loop -------------------------------------------------------------------------------------------------

    def result(self) -> R:
        """Run to the end, or to what stops it.

        Ctrl-C raises :class:`.Interrupted` with what there is, and exceptions of the user's functions go on with it.
        """
        try:
            return self.recorded(self._run())
        except KeyboardInterrupt:
            reason = f"interrupted at t = {self.t:.6g} s"
            raise Interrupted(reason, self.recorded(End(StatusCode.INTERRUPTED, reason))) from None
        except Exception as error:
            if self.t > 0.0 or self.watched:  # else there is nothing to lose
                carry(error, self.t, self.recorded(self.stopped(StatusCode.FAILED, repr(error))))
            raise

    def stopped(self, code: StatusCode, why: str) -> End:
        """An end at this time."""
        return End(code, f"stopped after {self.t:.6g} s: {why}")

    def _run(self) -> End:
        end = FINISHED
        self.keep()
        self.see()
        try:
            with np.errstate(all="ignore"):  # what is not finite stops the run by name
                while self.t < self.duration - 0.5 * TIME_TOLERANCE and end is FINISHED:
                    end = self.advance()
                    if self.progress is not None:
                        self.progress(self.t / self.duration)
        except FallingCatError as error:
            if not self.watched:
                raise
            return self.stopped(StatusCode.FAILED, str(error))
        return end

    def advance(self) -> End:
        """Some steps; what ends the run, if anything does."""
        raise NotImplementedError

    @abstractmethod
    def recorded(self, end: End) -> R:
        """The samples so far, as a result."""

    def keep(self) -> None:
        """A sample now."""

    def see(self) -> None:
        """A checkpoint of the error estimate now."""

    @property
    def instant(self) -> float:
        """The next time (s) at which a step has to end: a sampled controller samples or acts."""
        return np.inf if self.sampling is None else self.sampling.next

    def planned(self) -> float:
        """Size (s) of the next step: to the grid of fixed steps, or as the last halving or the first steps advise."""
        left = min(self.duration, self.instant) - self.t
        ahead = (np.floor(self.t / self.dt + 1e-6) + 1.0) * self.dt - self.t
        planned = float(left if ahead > left - 1e-6 * self.dt else ahead)
        return planned if planned <= self.next * (1.0 + 1e-6) else self.next  # no slivers

    def sample(self, packed: np.ndarray) -> bool:
        """Ask a sampled controller for the states of robots (N x size) if it is its time; True if it was."""
        sampling, contact = self.sampling, self.problem.contact
        if sampling is None or sampling.next > self.t:
            return False

        def touching() -> list[frozenset[str]]:
            modes = [self.mode] if self.simulator is None else self.simulator.stepper.modes(packed)
            return [frozenset() if contact is None else contact.touching(mode) for mode in modes]

        states = read_only(State(*self.layout.series(packed).states))
        if sampling.advance(self.t, states, touching) and self.held is not None:
            self.held.rates.append(states.rates[self.lanes])
        return True

    # compiled steps -------------------------------------------------------------------------------------------

    def advance_to(
        self, simulator: BatchSimulator, until: int, forces: Any, instant: float = np.inf
    ) -> tuple[np.ndarray | None, int, int]:
        """Compiled steps of all robots, at most to step ``until``, under ``forces`` that are held.

        The one that ends at an ``instant`` (s) ends there exactly.  Robots (rows x N x size) after some of the steps,
        if they were looked at, how many rows are kept, of a batch all, in which what is not finite stays so, and the
        steps between rows.
        """
        at, every = round(self.t / self.dt), self.every
        left = min(until - at, self._most)
        if self.estimates and self.checkpoints.part % every:
            left = min(left, self.checkpoints.before_next(self.t))
        whole = at % every == 0 and left >= every
        rows, stride = (left // every, every) if whole else (1, min(left, every - at % every))
        found = None
        if self.watched or rows > 1 or (at + stride) % every == 0:
            found = simulator.rows(rows, stride, forces)
        else:
            simulator.advance(stride, forces)
        sound = rows
        if self.watched and found is not None and not np.isfinite(found).all():
            sound = int(np.argmin(np.isfinite(found).all(axis=(1, 2))))
        if sound:
            self._arrive(simulator, at, stride, sound, found, instant)
        return found, sound, stride

    def _arrive(
        self, simulator: BatchSimulator, at: int, stride: int, rows: int, found: np.ndarray | None, instant: float
    ) -> None:
        """Time, samples and checkpoints after ``rows`` times ``stride`` steps from step ``at``."""
        end = at + rows * stride
        times = self.dt * np.arange(at + stride, end + 1, stride)
        if abs(times[-1] - instant) <= TIME_TOLERANCE:
            times[-1] = instant
        self.t, self.accepted = float(times[-1]), self.accepted + rows * stride
        if found is not None and (at + stride) % self.every == 0:  # and so are all, if there are more
            self.add(times, found[:rows, :, simulator.stepper.head :])
        if not self.estimates:
            return
        part = self.checkpoints.part
        marks = list(range(at - at % part + part, end + 1, part))
        marks += [end] if self.watched or end >= self.steps else []
        for mark in (mark for mark in marks if (mark - at) % stride == 0):
            row = (mark - at) // stride - 1
            self.checkpoints.see(
                mark * self.dt, simulator.some(self.lanes) if found is None else found[row, self.lanes]
            )

    def add(self, times: np.ndarray, packed: np.ndarray) -> None:
        """Further samples (k x N x size), of one mode."""
        if len(times):
            known = np.zeros((packed.shape[1], 0)) if self.sampling is None else self.sampling.memory
            self.samples.append(Sample(times, packed, self.mode, known))

    def advance_by(self, simulator: BatchSimulator, dt: float, forces: Any) -> None:
        """One step of another size, of all robots: to the end of the run, or to an instant between two steps."""
        after = self.instant if abs(self.t + dt - self.instant) <= TIME_TOLERANCE else self.t + dt
        simulator.step_between(self.t, after, dt, forces)
        self.t, self.accepted, at = after, self.accepted + 1, round(after / self.dt)
        if abs(after - at * self.dt) <= TIME_TOLERANCE and at % self.every == 0:
            self.keep()
        self.see()

    # the error of steps ---------------------------------------------------------------------------------------

    def hold(self, sampling: Sampling, record: HeldForces) -> None:
        """Estimate errors by a record of the forces of a controller, if it is not too long, and ask it no more."""
        if self.steps * len(self.lanes) * self.problem.model.nv <= MAX_NUMBERS:
            part = min(MAX_HELD_TIME, HELD_SAMPLES / sampling.sampled.rate)
            self.held, self.checkpoints.part = record, max(1, round(part / self.dt))

    @property
    def sampled_rates(self) -> np.ndarray | None:
        """``K x L x n``: of the joints of up to eight robots at samples of a controller; None: not recorded."""
        return np.array(self.held.rates) if self.held is not None and self.held.rates else None

    @property
    def estimates(self) -> bool:
        """True if errors are estimated: of fixed steps in one code."""
        return not self.unestimated

    @property
    def unestimated(self) -> str:
        """Reason why errors are not estimated; empty where they are."""
        if self.method.tolerance is not None:
            return f"{self.method.name!r} chooses its steps by their error"
        if self.simulator is None and self.problem.contact is not None:
            return "the contact switches between modes at located events"
        if self.problem.controller is None or self.repeatable or self.held is not None:
            return ""
        if self.sampling is not None:
            return "the run is so long that the forces of its controller are not kept"
        return "the controller is a function that is not smooth at the start"

    @property
    def repeats(self) -> tuple[Any, Any]:
        """Steps that an estimate takes again, and the device of their robots."""
        assert self.simulator is not None
        return self.simulator.stepper, self.simulator._on.part(self.lanes)

    def errors(self) -> Errors | None:
        """Errors of up to eight robots."""
        if not self.estimates:
            return None

        def start() -> State:
            return self.layout.unpack(next(iter(self.checkpoints)).x[0, -self.layout.size :])[0]

        (stepper, on), finer = self.repeats, parts_per_step(self.problem, start, self.dt, self.steps)
        with np.errstate(all="ignore"):
            return estimate(stepper, on, self.layout, self.checkpoints, self.method.order, finer, self.held)
