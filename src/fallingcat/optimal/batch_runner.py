"""Problems of a batch, and lanes that solve them: each iteration is that of :meth:`.Solver.improved`."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

from ..arrays.types import FloatArray
from ..errors import ModelError, describe
from ..model import Model, State
from ..model.states import check_record
from .lanes import Lanes
from .lockstep import Expansion, Motions
from .problem import Problem
from .result import Status
from .solver import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    FIRST_DAMPING,
    INITIAL_PENALTY,
    MAX_DAMPING,
    MAX_FLAT_STEPS,
    MAX_GAP,
    MAX_PENALTY,
    MIN_DAMPING,
    PENALTY_GROWTH,
    SUFFICIENT_DECREASE,
)

STATUSES = tuple(Status)
RUNNING = -1
"""In the place of an index of :data:`STATUSES`."""


class Batch:
    """Problems that wait, and results of those that are solved."""

    def __init__(self, problem: Problem, starts: Any, forces: Any, states: Any, data: Any, gains: bool) -> None:
        self.problem, self.gains, model, steps = problem, gains, problem.model, problem.stepping.steps
        _check_states(model, "starts", starts, "problems")
        _check_states(model, "states", states, "problems x (steps + 1)")
        own = problem.node_data
        self.data = self._numbers("data", own if data is None else data, own.shape, data is not None)
        self.forces = self._numbers("forces", 0.0 if forces is None else forces, (steps, model.n), False)
        self.forces = np.clip(self.forces, *problem.limits)
        self.count = count = self._problem_count(starts, states)
        self.data, self.forces = (np.broadcast_to(x, (count, *x.shape[-2:])) for x in (self.data, self.forces))
        self.first = self._first(starts)
        self.states = None if states is None else self._initial_guess(states, steps)
        self.waiting, self.stopped = deque(range(count)), threading.Event()
        self.found = self._empty_results()
        self.statuses, self.iterations = np.full(count, STATUSES.index(Status.INTERRUPTED)), np.zeros(count, dtype=int)

    def _problem_count(self, starts: State | None, states: State | None) -> int:
        """Number of problems, which all that is given must have."""
        leads = {len(x) for x in (self.data, self.forces) if x.ndim == 3}
        leads |= {given.batch[0] for given in (starts, states) if given is not None}
        if len(leads) != 1 or not min(leads):
            said = f"got {sorted(leads)}" if leads else "got none: give starts or data"
            raise ModelError(f"starts, data, forces and states must have one number of problems, {said}")
        return int(leads.pop())

    def _first(self, starts: State | None) -> FloatArray:
        """Configuration, velocity and memory at the start of each problem."""
        problem, count = self.problem, self.count
        begin, kept = problem.stepping.begin, problem.stepping.sizes.kept
        q, v = (np.asarray(x, dtype=float) for x in problem.model.flatten(problem.start if starts is None else starts))
        memory = np.zeros((count, kept))
        if kept:
            memory[:] = [begin(problem.start if starts is None else starts.at(i)) for i in range(count)]
        return np.concatenate([np.broadcast_to(x, (count, x.shape[-1])) for x in (q, v, memory)], axis=-1)

    def _empty_results(self) -> dict[str, FloatArray]:
        """Tables of the results: until a problem is begun its start and the guess of its forces."""
        problem, sizes = self.problem, self.problem.stepping.sizes
        steps, at = problem.stepping.steps, 0
        shapes: dict[str, tuple[int, ...]] = {"q": (steps + 1, sizes.nq), "v": (steps + 1, sizes.nv)}
        shapes["memory"] = (steps + 1, sizes.kept)
        shapes |= {"forces": (steps, sizes.n), "contact": (steps, problem.stepping.contacts)}
        shapes |= {"gains": (steps if self.gains else 0, sizes.n, sizes.x), "cost": (), "kkt": (4,)}
        found = {name: np.full((self.count, *shape), np.nan) for name, shape in shapes.items()}
        found["forces"][:] = self.forces
        for name in ("q", "v", "memory"):
            part = found[name]
            part[:] = self.first[:, None, at : at + part.shape[-1]]
            at += part.shape[-1]
        return found

    def _numbers(self, name: str, given: Any, shape: tuple[int, int], many: bool) -> FloatArray:
        """Numbers of nodes, with an axis of problems where it is given; ``many``: two axes are problems and numbers."""
        try:
            x = np.asarray(given, dtype=float)
            x = x[:, None] if many and x.ndim == 2 else x
            x = np.broadcast_to(x, (*x.shape[:-2], *shape) if x.ndim > 2 else shape)
        except (TypeError, ValueError):
            x = np.full(1, np.nan)
        if not np.isfinite(x).all():
            wanted = f"finite, of shape problems x {shape[0]} x {shape[1]}"
            raise ModelError(f"{name} must be {wanted}, got {describe(given)}")
        return x

    def _initial_guess(self, states: State, steps: int) -> list[FloatArray]:
        """Configurations, velocities and memories of guessed states, from the starts."""
        model, sizes = self.problem.model, self.problem.stepping.sizes
        if states.batch[1] != steps + 1:
            raise ModelError(f"the guess must have {steps + 1} states, got {describe(states.batch[1])}")
        q, v = (np.array(x, dtype=float) for x in model.flatten(states))
        memory = np.zeros((*states.batch, sizes.kept))
        if sizes.kept:
            begin = self.problem.stepping.begin
            memory[:] = [[begin(states.at((i, j))) for j in range(steps + 1)] for i in range(len(q))]
        parts, at = [q, v, memory], 0
        for part in parts[:2]:
            part[:, 0] = self.first[:, at : at + part.shape[-1]]
            at += part.shape[-1]
        return parts


def _check_states(model: Model, name: str, given: Any, axes: str) -> None:
    """Refuse states of another robot, without these batch axes, or not finite."""
    if given is None:
        return
    check_record(model, given)
    if len(given.batch) != 1 + axes.count(" x ") or not all(np.isfinite(part).all() for part in given):
        raise ModelError(f"{name} must be finite states with the batch axes {axes}, got {describe(given)}")


class Runner:
    """Lanes of one processor that take problems from a batch until none is left."""

    def __init__(
        self, problem: Problem, lanes: Lanes, iterations: int, tolerance: float, constraint_tolerance: float
    ) -> None:
        self.lanes, self.most, self.tolerance = lanes, iterations, tolerance
        self.constraint_tolerance = constraint_tolerance
        self._widest = self.motions = Motions(problem, lanes)
        self._narrower: dict[int, Motions] = {}
        self.batch: Any = None
        self._clear(lanes.count)

    def _clear(self, count: int) -> None:
        """So many lanes without a problem."""
        self.jobs, self.statuses = np.full(count, -1), np.full(count, RUNNING)
        """problem of each lane, -1 of none; and its status"""
        self.iterations, self.flat = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self.damping, self.violated = np.zeros(count), np.zeros(count)
        self.gradient = np.full(count, np.inf)

    @property
    def running(self) -> Any:
        """Lanes with a problem that is not solved yet."""
        return (self.jobs >= 0) & (self.statuses == RUNNING)

    def run(self, batch: Batch) -> None:
        """Solve what waits."""
        self.batch, self.motions = batch, self._widest
        self._clear(self.lanes.count)
        with np.errstate(all="ignore"):  # what is not finite gets a status
            try:
                self._run()
            except KeyboardInterrupt:
                self.batch.stopped.set()
            if self.batch.stopped.is_set():
                self._set(self.running, Status.INTERRUPTED)
                self._store_results(self.motions.expanded())

    def _run(self) -> None:
        self._load()
        while (self.jobs >= 0).any() and not self.batch.stopped.is_set():
            about = self.motions.expanded()
            self._set(self.running & ~np.isfinite(about.cost), Status.NOT_FINITE)
            self._set(self.running & (self.iterations >= self.most), Status.MAX_ITERATIONS)
            self._improve(self.running, about)
            if not self.running.any() or (self.batch.waiting and not self.running.all()):
                self._store_results(about)
                self._load()
            enough = [i for i, lanes in enumerate(self.lanes.narrower) if self._fit(lanes)]
            if enough and not self.batch.waiting:
                self._store_results(about)
                self._narrow(enough[-1])

    def _fit(self, lanes: Lanes) -> bool:
        """True if what runs has room in fewer lanes than it has."""
        return 0 < self.running.sum() <= lanes.count < len(self.jobs)

    def _narrow(self, i: int) -> None:
        """Move what runs to fewer lanes: those that have finished cost nothing any more."""
        which, old, lanes = self.running, self.motions, self.lanes.narrower[i]
        if i not in self._narrower:
            self._narrower[i] = Motions(old.problem, lanes)
        self._narrower[i].take(old, which)
        names = ("jobs", "statuses", "iterations", "flat", "damping", "violated", "gradient")
        kept = {name: getattr(self, name)[which] for name in names}
        self.motions = self._narrower[i]
        self._clear(lanes.count)
        for name, x in kept.items():
            getattr(self, name)[: len(x)] = x

    def _set(self, which: Any, status: Status) -> None:
        self.statuses[which] = STATUSES.index(status)

    def _load(self) -> None:
        """Give problems to lanes that have none."""
        which = np.zeros(len(self.jobs), dtype=bool)
        for lane in np.flatnonzero(self.jobs < 0):
            try:
                self.jobs[lane] = self.batch.waiting.popleft()
            except IndexError:
                break
            which[lane] = True
        if not which.any():
            return
        batch, jobs = self.batch, self.jobs[which]
        states = None if batch.states is None else [x[jobs] for x in batch.states]
        self.motions.weight[which], self.statuses[which] = INITIAL_PENALTY, RUNNING
        finite = self.motions.load(which, batch.first[jobs], batch.data[jobs], batch.forces[jobs], states)
        self._set(which & ~finite, Status.NOT_FINITE)
        self.iterations[which], self.flat[which] = 0, MAX_FLAT_STEPS
        self.damping[which], self.violated[which], self.gradient[which] = MIN_DAMPING, np.inf, np.inf

    def _improve(self, which: Any, about: Expansion) -> None:
        """One iteration of :meth:`.Solver.improved` in each of these lanes."""
        if not which.any():
            return
        motions, damping = self.motions, self.damping
        self.iterations[which] += 1
        solved, report = motions.policies(which, damping)
        self.gradient[solved] = report[solved, 0]
        minimum = solved & (report[:, 0] <= self.tolerance * (1.0 + about.cost)) & (about.gap <= MAX_GAP)
        moved = motions.searched(solved & ~minimum, about, report, self.flat)
        failed = which & ~moved & ~minimum & (damping < MAX_DAMPING)
        stuck = which & ~moved & ~failed  # nothing lowers the cost with these penalties
        damping[moved] = np.maximum(DAMPING_DECAY * damping[moved], MIN_DAMPING)
        damping[failed] = np.maximum(DAMPING_GROWTH * damping[failed], FIRST_DAMPING)
        before = np.where(stuck, self.violated, np.inf)
        self.violated[stuck] = about.violation[stuck]
        good = stuck & (self.violated <= self.constraint_tolerance)
        self._set(good & minimum, Status.CONVERGED)
        self._set(good & ~minimum, Status.STALLED)
        self._set(stuck & ~good & (motions.weight >= MAX_PENALTY), Status.INFEASIBLE)
        more = stuck & (self.statuses == RUNNING)
        if more.any():
            motions.next_multipliers(more)
            motions.weight[more & (self.violated > SUFFICIENT_DECREASE * before)] *= PENALTY_GROWTH
            damping[more] = MIN_DAMPING

    def _store_results(self, about: Expansion) -> None:
        """Take the results of lanes that are done, with the gains of the undamped policies."""
        which = (self.jobs >= 0) & ~self.running
        solved, report = self.motions.policies(which, np.full(len(self.jobs), MIN_DAMPING))
        gradient = np.where(solved, report[:, 0], self.gradient)
        jobs, lanes, motions, found = self.jobs[which], np.flatnonzero(which), self.motions, self.batch.found
        here, xp, host = motions.lanes.array(lanes), motions.xp, motions.lanes.host

        def of_jobs(x: Any) -> Any:
            return host(xp.ascontiguousarray(xp.swapaxes(x[:, here], 0, 1)))

        for name in ("q", "v", "memory"):
            found[name][jobs, :-1] = of_jobs(getattr(motions.at, name))
            found[name][jobs, -1] = host(getattr(motions.end, name)[here])
        parts = {"forces": motions.at.forces, "contact": motions.contact}
        for name, x in (parts | ({"gains": motions.arrays.K} if self.batch.gains else {})).items():
            found[name][jobs] = of_jobs(x)
        found["cost"][jobs] = about.plain[which]
        rows = (gradient, about.gap, about.violation, about.complementarity)
        found["kkt"][jobs] = np.stack([x[which] for x in rows], axis=-1)
        self.batch.statuses[jobs], self.batch.iterations[jobs] = self.statuses[which], self.iterations[which]
        self.jobs[which] = -1
