"""State of a run, and its next step: one that is finite, meets its tolerance, and holds what it should."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ...contact.base import Mode
from ...dynamics import mass_matrix
from ...dynamics.forward import check_mass
from ...errors import NumericsError
from ...model import Model, State
from ..batch.batch_simulator import BatchSimulator
from ..diagnostics.diagnostics import Account, at_rest
from ..diagnostics.held_forces import HeldForces
from ..diagnostics.ledger import ROUNDING
from ..integrators.base import MAX_STEP_HALVINGS, Integrator, Step
from ..integrators.compiled_rule import smooth
from ..integrators.implicit.integrator import CompiledStepper
from ..integrators.single_steps import SingleSteps
from ..output.trajectory import Trajectory
from ..problem.compiled_dynamics import energy
from ..problem.problem import Problem
from ..problem.vector_field import layout_of
from ..step_size import default_steps, predicting, too_fast
from .runner import STEP_GROWTH, Runner

MAX_HELD_ENERGY_GAP, MAX_FLIGHT_ENERGY_GAP = 1e-7, 1e-8
"""Energy that a step may lose or create beside hard contacts, where points are held and in flight, relative to the
largest kinetic energy so far."""
FIRST_ADAPTED_STEP = 1e-4
"""s: first step of a method that chooses its steps by their error, which soon grow from it"""


class Stepping(Runner[Trajectory]):
    """Run of one robot, by its steps: packed state and mode, and the next step from there.

    Steps are of ``dt`` (s), or as the method chooses, or, where nothing else says how long they may be, of at most
    ``longest``; ``whole``: nothing but a controller looks within them.
    """

    watched = True

    def __init__(
        self,
        problem: Problem,
        method: Integrator,
        state: State,
        duration: float,
        dt: float | None,
        longest: float,
        finer: int,
        every: int,
        progress: Callable[[float], None] | None,
        whole: bool,
    ) -> None:
        problem, self.adaptive = method.suited(problem), method.tolerance is not None
        if problem.feedback is not None:
            problem = replace(problem, feedback=copy(problem.feedback))  # which changes in a run, and may begin again
        dt = longest if dt is None and self.adaptive else dt
        dt, first = default_steps(problem, method, state, finer) if dt is None else (dt, dt)
        super().__init__(duration, dt, every, 1, progress, finer)
        self.repeatable = problem.feedback is not None
        self.problem = problem = predicting(problem, state, dt)
        self.method, self.sampling, self.start_state = method.at(problem, dt), problem.sampling, state
        self.eases, self.next = first < dt, min(first, FIRST_ADAPTED_STEP) if self.adaptive else first
        self.mode, memory = problem.begin(state)
        self.layout = layout_of(problem, len(memory))
        self.packed = np.asarray(self.layout.pack(state, memory, np.zeros(self.layout.works)), dtype=float)
        self.fastest = 0.0  # kinetic energy (J) at most, before steps beside hard contacts
        self._account: tuple[np.ndarray, Account] = np.zeros(0), Account(0.0, 0.0, 0.0)  # of the packed state
        self._tried: tuple[np.ndarray, dict[float, np.ndarray]] = self.packed, {}
        self._prepare(whole)

    def _prepare(self, whole: bool) -> None:
        """The first step as code."""
        held = self.problem.controller is None or self.sampling is not None
        stepping = smooth(self.method, self.problem) if held and whole else self.method
        step = stepping.stepper(self.problem, self.mode, self.layout.memory)
        self.simulator = None
        if isinstance(step, CompiledStepper):
            if self.sampling is not None:
                self.hold(self.sampling, HeldForces(self.sampling.times, self.sampling.values, []))
            self.mode = ()  # of no matter to it: see Run.recorded
            step.kernel  # noqa: B018 (made now: what laws refuse is an error, not the end of a run)
            self.simulator = BatchSimulator.alone(self.problem, step, self.layout, self.dt)
        self._steps: dict[Mode, Step] = {self.mode: step}

    @property
    def repeats(self) -> tuple[Any, Any]:
        """Steps that an estimate takes again: single ones where they are not compiled for many."""
        if self.simulator is not None:
            return super().repeats
        steps = SingleSteps(self.problem, self._steps[self.mode])
        return steps, steps

    def planned(self) -> float:
        """Size (s) of the next step: on the grid of fixed steps, or as the last error advises."""
        if not self.adaptive:
            return super().planned()
        left, planned = min(self.duration, self.instant) - self.t, min(self.next, self.dt)
        return left if 0.9 * left < planned and left <= self.dt else planned

    def _step(self, dt: float) -> tuple[np.ndarray, float]:
        """A step that is finite, meets the tolerance and holds what it should, and its size."""
        return self._adaptive_step(dt) if self.adaptive else self._halving_step(dt)

    def _halving_step(self, dt: float) -> tuple[np.ndarray, float]:
        """:meth:`_step` of a method with fixed steps: half of one that is not resolved, and so on."""
        while True:
            out = self._call(dt)
            if not np.isfinite(out).all():
                self._refuse(out, dt)
            if self._resolved(out):
                self.next = min((STEP_GROWTH if self.eases else 2.0) * self.next, self.dt)
                self.eases = self.eases and self.next < self.dt
                return out, dt
            dt = self.next = 0.5 * dt
            if dt < self.dt * 0.5**MAX_STEP_HALVINGS:
                self.next = self.dt
                if self.problem.contact is None:
                    self._check_mass()
                    raise NumericsError(self.method.unsolved(self.problem), time=self.t)
                if out[-1] <= 1.0 and self._has_force_jump(2.0 * dt):
                    return out, 2.0 * dt
                raise self.problem.contact.step_failure(self.mode)

    def _adaptive_step(self, dt: float) -> tuple[np.ndarray, float]:
        """:meth:`_step` of a method that says its error, in units of the tolerance: as long as that allows."""
        while True:
            out = self._call(dt)
            finite, size = bool(np.isfinite(out).all()), float(out[-1])
            # the error grows as dt^order; 0.9 keeps most second tries from failing
            factor = min(6.0, max(0.2, 0.9 / max(size, 1e-12) ** (1.0 / self.method.order))) if finite else 0.1
            if finite and size <= 1.0:
                self.next = dt * factor
                return out, dt
            dt *= min(factor, 0.9)
            if dt < 1e-13 * max(1.0, self.t):  # time would stand still
                if not finite:
                    self._refuse(out, dt)
                raise NumericsError("no step, however small, meets the tolerance", time=self.t, value=size)

    def _resolved(self, out: np.ndarray) -> bool:
        """True if a step meets its tolerance and holds what it should, and its energy is accounted for.

        Forces that grow without bound within a step may leave no other trace.
        """
        contact = self.problem.contact
        if out[-1] > 1.0 or self.adaptive or self.simulator is not None or contact is None or not contact.passive:
            return bool(out[-1] <= 1.0)
        if self._account[0] is not self.packed:
            self._account = self.packed, self._energies(self.packed)
        before, after = self._account[1], self._energies(out)
        self.fastest = max(self.fastest, before.kinetic)
        share = MAX_HELD_ENERGY_GAP if contact.touching(self.mode) else MAX_FLIGHT_ENERGY_GAP
        allowed = share * max(self.fastest, after.kinetic) + ROUNDING * max(abs(before.potential), abs(after.potential))
        return abs(after.unaccounted - before.unaccounted) <= allowed + at_rest(self.problem.model)

    def _has_force_jump(self, dt: float) -> bool:
        """True if laws jump within a step that is so short that the robot does not move.

        No step across is resolved, and from rest no energy is small beside that of the robot.
        """
        state, full_memory, _ = self.layout.unpack(self.packed)
        problem, _ = self.problem.with_memory(full_memory)
        before, after = (problem.applied_at(self.mode, t, state) for t in (self.t, self.t + 1.01 * dt))
        least = 1e-3 * np.abs([before, after]).max(initial=0.0)  # N or N m: a change that counts as a jump
        return bool(np.abs(after - before).max(initial=0.0) > least)

    def _energies(self, packed: np.ndarray) -> Account:
        *fields, works = self.layout.numbers(packed[: self.layout.size])
        kinetic, potential = energy(self.problem.model)(*fields)
        return Account(kinetic, potential, float(works.sum()))

    def _call(self, dt: float) -> np.ndarray:
        """A step from now; those that were tried are remembered until one is taken."""
        if self.mode not in self._steps:
            self._steps[self.mode] = self.method.stepper(self.problem, self.mode, self.layout.memory)
        if self._tried[0] is not self.packed:
            self._tried = self.packed, {}
        if dt not in self._tried[1]:
            self._tried[1][dt] = self._steps[self.mode](self.packed, np.array([self.t, dt]))
        return self._tried[1][dt]

    def _check_mass(self) -> None:
        """Error where no inertia resists a motion; at the start only, as numbers that have blown up show nothing."""
        model = self.problem.model
        check_mass(model, np.asarray(mass_matrix(model, self.start_state), dtype=float))

    def _refuse(self, out: np.ndarray, dt: float) -> None:
        """Raise an error that names what is not finite, or without inertia, or springs too fast for the step."""
        self._check_mass()
        model: Model = self.problem.model
        why = ""
        if not self.adaptive and not self.method.stable:
            why = too_fast(self.problem, self.layout.unpack(self.packed)[0], dt)
        if not why and self.problem.controller is not None:
            why = "forces of a function are held or looked at in steps, take smaller ones, or a law, which they foresee"
        why = f": {why}" if why else ""
        rates = self.layout.unpack(out[: self.layout.size])[0].rates
        for joint, rate in zip(model.rate_joints, rates, strict=True):
            if not np.isfinite(rate):
                raise NumericsError(f"the motion is no longer finite{why}", time=self.t + dt, joint=joint)
        raise NumericsError(f"the motion of the base is no longer finite{why}", time=self.t + dt)
