"""Many simulations side by side: marching in one code, or grouped by the modes of their contacts."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import is_numeric
from ..contact.capabilities import LinearizedForces, offers
from ..contact.contact import Mode
from ..contact.stops import joint_stops
from ..control import Sampled, SelfContact
from ..control.passive import SUNK
from ..dynamics import mass_matrix
from ..dynamics.forward import check_mass
from ..errors import ModelError, NumericsError, told
from ..kernels import compile
from ..kernels.kernel import compile_step
from ..model import State
from .accuracy import WHOLE, ErrorEstimate, halvings, worst_of_some
from .arguments import MOST_STEPS, answered
from .books import UNBALANCED, hurried, passed, unbalanced
from .compiled import energies, energies_with, remembered
from .field import layout_of
from .fleet import Fleet
from .implicit_step import commanded_at
from .integrator import HALVINGS, Step
from .ledger import residuals
from .located import TRIED
from .numbers import apart
from .parameters import BEHIND, hefts
from .rule import Rule, commanded, compiled
from .sampling import Looking, SampledTogether
from .stiffness import REBOUND, Rebound, too_fast, too_long
from .switching import asking, late_switches, thinned
from .system import System

AT_ONCE = 100_000
"""Steps, of all simulations together, between two looks at Ctrl-C."""


class Rollout(NamedTuple):
    """``K`` kept samples of ``N`` simulations, in SI units."""

    times: np.ndarray
    """``K`` (s)"""
    poses: np.ndarray
    """``K x N x 4 x 4``: base to world"""
    joints: np.ndarray
    """``K x N x (nq - base)``"""
    twists: np.ndarray
    """``K x N x m``"""
    rates: np.ndarray
    """``K x N x n``"""
    works: np.ndarray
    """``K x N x ports``: work (J) since the start"""
    ports: tuple[str, ...]
    finite: np.ndarray
    """``N``: whether the numbers of a simulation stayed finite to its end"""
    residual: np.ndarray
    """``N``: how well the books balance at the kept samples, as :attr:`.Trajectory.energy_residual`; not a number where
    the simulation is none"""
    status: str = "finished"
    """``finished``, or how many simulations have books that do not balance, or broke, or landed in steps too long for
    their rebound, or went far beyond the stops of their joints, and why: by the kept samples"""
    memory: Any = None
    """``K x N x k``: what contact, laws and sampled laws remember, in this order"""
    error_estimate: ErrorEstimate | None = None
    """largest error at the end caused by the size of fixed steps, among up to eight simulations; None: not estimated"""


def _resized(packed: np.ndarray, size: int) -> np.ndarray:
    """``N x size``: packed for a system with other works, which come last."""
    return np.pad(packed[:, :size], ((0, 0), (0, max(0, size - packed.shape[1]))))


class Together(ABC):
    """All simulations, packed side by side."""

    held: SampledTogether | None = None
    lag = 0.0
    """s: see :attr:`.Integrator.lag`"""
    looking: Looking | None = None

    def __init__(self, system: System, many: State, memory: np.ndarray, threads: int) -> None:
        self.system, self.threads, self.memory = system, threads, memory.shape[1]
        self.layout = layout_of(system, self.memory)
        self.packed, self.done = self.layout.table(many, memory), 0
        self.begun = self.packed

    def look(self, t: float) -> int:
        """What a sampled law does before the next step; the next step before which it does something."""
        if self.held is None:
            return MOST_STEPS
        return self.held.before(self.done, lambda: self._asked(t))

    def _asked(self, t: float) -> np.ndarray:
        """``N x size``: what a sampled controller says."""
        assert self.held is not None
        assert self.system.sampling is not None
        together, shape = self.system.sampling.sampled.together, self.held.forces.shape
        if together is None:
            forces = self.commanded(t) if self.looking is None else self._looked(t)
            return forces[:, self.system.model.nv - shape[1] :]
        given = answered(together, t, State(*self.layout.series(self.packed).states))
        if not is_numeric(given) or np.shape(given) != shape:
            raise ModelError(f"a controller of {shape[0]} robots gives forces of shape {shape}, not {told(given)}")
        return np.array(given, dtype=float)

    def _looked(self, t: float) -> np.ndarray:
        """``N x nv``: what sampled laws with a state of their own ask for."""
        assert self.looking is not None
        states, out = self.layout.series(self.packed).states, np.zeros((len(self.packed), self.system.model.nv))
        for touching, members in self.touching():
            out[members] = self.looking(t, tuple(x[members] for x in states), touching, members)
        return out

    @abstractmethod
    def touching(self) -> Iterator[tuple[frozenset[str], np.ndarray]]:
        """What touches, and in which simulations."""

    def _look(self, sampled: Sampled, many: State) -> None:
        """Sampled laws that have a state of their own begin."""
        if Looking.wanted(self.system.model, sampled.laws):
            states = [many.at(i) for i in range(len(many.pose))]
            self.looking = Looking(self.system.model, sampled, states)

    @abstractmethod
    def commanded(self, t: float) -> np.ndarray:
        """``N x nv``: what a sampled law asks for."""

    @abstractmethod
    def advance(self, t: float, dt: float, until: int) -> None:
        """One step of all, or more, at most to step ``until``."""

    def sample(self, t: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Time, packed states, and what sampled laws remember before their next look."""
        packed = self.packed
        return t, packed, np.zeros((len(packed), 0)) if self.looking is None else self.looking.memory.copy()

    def record(self, kept: list[tuple[float, np.ndarray, np.ndarray]], resolves: float, dt: float) -> Rollout:
        """The rollout, by its books: steps of ``dt`` (s) have to resolve what acts now and then, steps of ``resolves``
        all springs.
        """
        series = self.layout.series(np.array([packed for _, packed, _ in kept]))
        memory = np.concatenate([series.memory, np.array([memory for _, _, memory in kept])], axis=-1)
        times, works = np.array([t for t, _, _ in kept]), series.base_works + series.joint_works
        finite, lead = np.isfinite(kept[-1][1]).all(axis=1), works.shape[:2]
        flat = [x.reshape(lead[0] * lead[1], *x.shape[2:]) for x in series.states]
        kinetic, potential = self.energies(*flat)
        residual = np.where(finite, residuals(kinetic.reshape(lead), potential.reshape(lead), works), np.nan)
        status = self._status(residual, resolves)
        missed = self.system.contact.told(series.memory[-1]) if self.system.contact and finite.all() else ""
        status = f"finished, but {missed}" if missed else status
        remark = ""
        if status == "finished":
            joints = series.states[1][:, finite]
            remark = hurried(self.system, works, dt) or self.damped(kept, works, dt)
            remark = remark or self.remark(works) or self._passed(joints)
        status = f"finished, but {remark}" if remark else status
        errors = self.estimated(kept[-1][1], dt)
        return Rollout(times, *series.states, works, self.system.ports, finite, residual, status, memory, errors)

    def estimated(self, ended: np.ndarray, dt: float) -> ErrorEstimate | None:
        """Error of the last packed states (N x size), where it can be estimated."""
        return None

    def halvings(self, dt: float, steps: int) -> int:
        """How often default steps of ``dt`` (s) are to be halved, where it can be estimated."""
        return 0

    def _passed(self, joints: np.ndarray) -> str:
        """In the words of :func:`passed`, on the worst of samples (K x N x joints), and in how many simulations."""
        words, model = passed(self.system, joints), self.system.model
        if not words:
            return ""
        nearest = np.min([stop.gap(model, joints).min(axis=0) for stop in joint_stops(model)], axis=0)
        return f"in {np.count_nonzero(nearest < -SUNK)} of {len(nearest)} simulations a stop is passed: {words}"

    def damped(self, kept: list[tuple[float, np.ndarray, np.ndarray]], works: np.ndarray, dt: float) -> str:
        """In the words of :func:`too_long`, in how many simulations steps are so, by kept samples with these works."""
        return ""

    def remark(self, works: np.ndarray) -> str:
        """What else there is to say of runs whose works (samples x N x ports) are these."""
        return ""

    def energies(self, *states: np.ndarray) -> Any:
        """Kinetic and potential energies (J) of kept samples, one after the other, of all simulations each."""
        return energies(self.system.model)(*states, self.lag)

    def _status(self, residual: np.ndarray, dt: float) -> str:
        """Of the first that broke, else, in the words of :func:`unbalanced`, of the worst."""
        broken, wrong, count = np.isnan(residual), residual > UNBALANCED, len(residual)
        if not broken.any() and not wrong.any():
            return "finished"
        start = self.layout.unpack(self.begun[int(np.argmax(broken if broken.any() else residual))])[0]
        if broken.any():
            why = self._broke(start) or too_fast(self.system, start, dt) or "take smaller steps"
            return f"finished, but the numbers of {broken.sum()} of {count} simulations are no longer finite; {why}"
        of = f"the books of {wrong.sum()} of {count} simulations"
        return f"finished, but {unbalanced(residual.max(), self.system, start, dt, of)}"

    def _broke(self, start: State) -> str:
        """What has no inertia, if that is why it broke."""
        model = self.system.model
        try:
            check_mass(model, np.asarray(mass_matrix(model, start), dtype=float))
        except NumericsError as error:
            return str(error)
        return ""


class Marched(Together):
    """Simulations whose steps are the same in all modes: many steps in one call."""

    def __init__(self, fleet: Fleet, system: System, dt: float, lag: float, foresees: bool, order: int | None) -> None:
        self.lag, self.foresees, self.order = lag, foresees, order
        self.fleet, self.system, self.layout, self.done = fleet, system, fleet.layout, 0
        self.begun, self.memory = self.packed, fleet.layout.memory
        if system.sampling is not None:
            self.held = SampledTogether(system.sampling.sampled, np.zeros((fleet.count, system.sampling.size)), dt)
            self._look(system.sampling.sampled, fleet.state)

    def estimated(self, ended: np.ndarray, dt: float) -> ErrorEstimate | None:
        """Beside steps twice as long; not under sampled controllers, or where robots choose their own steps."""
        if self.held is not None or self.order is None or self.done < 2:
            return None
        return worst_of_some(self.fleet, self.begun, dt, self.done, self.order, ended)

    def halvings(self, dt: float, steps: int) -> int:
        """How often the error of the first of these ``steps`` asks for default steps ``dt`` (s) to be halved."""
        if self.held is not None or self.order is None or steps < 2:
            return 0
        return halvings(worst_of_some(self.fleet, self.begun, dt, min(steps, WHOLE), self.order))

    def _status(self, residual: np.ndarray, dt: float) -> str:
        """Of robots that were given up first."""
        weary = self.fleet.weary
        ended = f"{weary} of {self.fleet.count} simulations {TRIED}"
        return f"finished, but {ended}" if weary else super()._status(residual, dt)

    def damped(self, kept: list[tuple[float, np.ndarray, np.ndarray]], works: np.ndarray, dt: float) -> str:
        """Of those that landed: they were in the air, and the floor did work later; or of laws that switched late."""
        floor, model = self.system.contact, self.system.model
        if floor is None or not self.foresees or not offers(floor, LinearizedForces):
            return ""
        mass, gives = hefts(self.fleet.parameters, model, floor)
        first = self.layout.unpack(self.begun[0])[0]
        rebound = Rebound.of(self.system, first, mass, gives)
        long = np.zeros(len(mass), dtype=bool) if rebound is None else rebound.off(dt) > REBOUND
        if not long.any() and not asking(self.system, 0.0, first):
            return ""
        air = np.array([[not any(mode) for mode in self.fleet.march.modes(packed)] for _, packed, _ in kept])
        pushed = works[:, :, self.system.ports.index(self.system.contact_ports[0])]
        told = long & (air & (pushed != pushed[-1])).any(axis=0)
        if rebound is not None and told.any():
            words = too_long(rebound._replace(m=rebound.m[told], gives=gives[told]), dt)
            return f"in {told.sum()} of {len(told)} simulations {words}"
        landed = np.broadcast_to(pushed[-1] != 0.0, air.shape)  # and no sample of it is kept that touches
        return self._switched(kept, landed if air.all() else ~air, dt)

    def _switched(self, kept: list[tuple[float, np.ndarray, np.ndarray]], marked: np.ndarray, dt: float) -> str:
        """Which laws switched late, by some of the kept samples that are marked (K x N)."""
        samples = [(kept[k][0], self.layout.unpack(kept[k][1][i])[0]) for k, i in thinned(np.argwhere(marked))]
        fastest = max((float(np.abs(state.rates).max(initial=0.0)) for _, state in samples), default=0.0)
        return late_switches(self.system, samples, fastest, dt)

    def remark(self, works: np.ndarray) -> str:
        """Of a law that is made for the inertias of the model, and acted on robots with inertias of their own."""
        made = [law.name for law in self.system.laws if isinstance(law, SelfContact) and law.stiffness is None]
        if not made or BEHIND not in self.fleet.parameters.names or not self.system.ports:
            return ""
        acted = int(works[:, :, self.system.ports.index(made[0])].any(axis=0).sum())
        whose = f"that of {self.system.model.name!r} itself"
        return f"{made[0]} of {acted} of {works.shape[1]} robots acted, as stiff as {whose}" if acted else ""

    def energies(self, *states: np.ndarray) -> Any:
        model, (names, numbers) = self.system.model, self.fleet.parameters
        if not names:
            return super().energies(*states)
        inputs = {"numbers": numbers.shape[1], "lag": 1}
        kernel = compile(model, energies_with, inputs=inputs, state=State._fields, varied=names)
        poses, *rest = states
        each = np.tile(numbers, (len(poses) // len(numbers), 1))
        return kernel(poses[:, :3], *rest, each, np.full((len(poses), 1), self.lag)).T

    def touching(self) -> Iterator[tuple[frozenset[str], np.ndarray]]:
        """Nothing, or it is not known here."""
        if self.system.contact is not None:
            raise ModelError("sampled laws with a state of their own roll out on contacts with a rule, such as 'rkmk4'")
        yield frozenset(), np.arange(self.fleet.count)

    @property
    def packed(self) -> np.ndarray:  # type: ignore[override]
        """As it is now."""
        return self.fleet.packed()

    def advance(self, t: float, dt: float, until: int) -> None:
        """Some steps of all, at most to step ``until``."""
        steps = min(until - self.done, max(1, AT_ONCE // self.fleet.count))
        if self.held is None:
            self.fleet.step(steps)
        else:
            base = np.zeros((self.fleet.count, self.system.model.nv - self.held.forces.shape[1]))
            self.fleet.marched(steps, np.hstack([base, self.held.forces]))
        self.done += steps

    def commanded(self, t: float) -> np.ndarray:
        """Whatever touches."""
        assert self.system.sampling is not None
        model, contact = self.system.model, self.system.contact
        laws, numbers = apart(self.system.sampling.sampled.laws, model)
        size = layout_of(System(model, laws, contact), self.memory).size
        inputs = {"packed": size, "clock": 1, "numbers": len(numbers)}
        about = {"laws": laws, "contact": contact, "memory": self.memory}
        make = functools.partial(compile, model, commanded_at, inputs=inputs, **about)
        kernel = remembered((commanded_at, model, *inputs.values(), *about.values()), make)
        packed = self.packed
        return np.asarray(kernel(_resized(packed, size), np.full((len(packed), 1), t), numbers))


class ByModes(Together):
    """Simulations in modes: which of them are in which."""

    def __init__(self, system: System, rule: Rule, many: State, threads: int, dt: float) -> None:
        self.rule, self.modes = rule, np.empty(len(many.pose), dtype=object)
        remembers, memory = system.contact is not None or any(system.sizes), np.zeros((len(many.pose), 0))
        begun = [system.begin(many.at(i)) for i in range(len(memory))] if remembers else []
        self.modes[:] = [mode for mode, _ in begun] if remembers else [()] * len(memory)
        super().__init__(system, many, np.array([m for _, m in begun]) if remembers else memory, threads)
        self.groups = self._grouped()
        self.ended: list[str] = []
        """why simulations ended as no numbers, one by one"""
        self._steps: dict[Mode, Step] = {}
        if system.sampling is not None:
            self.held = SampledTogether(system.sampling.sampled, np.zeros((len(memory), system.sampling.size)), dt)
            self._look(system.sampling.sampled, many)

    def touching(self) -> Iterator[tuple[frozenset[str], np.ndarray]]:
        """Mode by mode."""
        contact = self.system.contact
        return ((contact.touching(mode) if contact else frozenset(), here) for mode, here in self.groups.items())

    def _grouped(self) -> dict[Mode, np.ndarray]:
        groups: dict[Mode, list[int]] = {}
        for i, mode in enumerate(self.modes):
            groups.setdefault(mode, []).append(i)
        return {mode: np.array(members) for mode, members in groups.items()}

    def advance(self, t: float, dt: float, until: int) -> None:
        """One step of all, mode by mode."""
        jumped, after = False, np.empty_like(self.packed)
        for mode, members in self.groups.items():
            if mode not in self._steps:
                self._steps[mode] = self.rule.kernel(self.system, mode, self.memory)
            given = {} if self.held is None else {"given": self.held.forces[members]}
            out = self._stepped(mode, self.packed[members], t, dt, given)
            after[members], guards, _ = self.layout.outcome(out)
            for row in np.flatnonzero((guards < 0.0).any(axis=1)):
                if np.isfinite(out[row]).all():
                    i, guard = int(members[row]), int(np.argmax(guards[row] < 0.0))
                    after[i] = self._jump(t + dt, i, guard, after[i])
                    jumped = True
        self.packed, self.done = after, self.done + 1  # at once: Ctrl-C leaves whole steps
        if jumped:
            self.groups = self._grouped()

    def _status(self, residual: np.ndarray, dt: float) -> str:
        """Of those that could not go on first."""
        if not self.ended:
            return super()._status(residual, dt)
        return f"finished, but {len(self.ended)} of {len(self.packed)} simulations stopped, the first: {self.ended[0]}"

    def commanded(self, t: float) -> np.ndarray:
        """Mode by mode."""
        assert self.system.sampling is not None
        model, contact = self.system.model, self.system.contact
        bare, out = System(model, self.system.sampling.sampled.laws, contact), np.zeros((len(self.packed), model.nv))
        for mode, members in self.groups.items():
            packed = _resized(self.packed[members], layout_of(bare, self.memory).size)
            kernel = compiled(commanded, bare, mode, self.memory, compile_step)
            out[members] = kernel(packed, np.tile([t, 0.0], (len(members), 1)))
        return out

    def _stepped(
        self, mode: Mode, packed: np.ndarray, t: float, dt: float, given: dict[str, Any], halvings: int = HALVINGS
    ) -> np.ndarray:
        """One step of some in a mode; where it is too long for what the contact holds, two of half its size."""
        clock = np.tile([t, dt], (len(packed), 1))
        out = np.array(self._steps[mode](packed, clock, threads=self.threads, **given))  # type: ignore[call-arg]
        long = np.flatnonzero(self.layout.outcome(out).error > 1.0)
        if len(long) and halvings == 0:
            assert self.system.contact is not None
            self.ended += [str(self.system.contact.unheld(mode, t))] * len(long)
            out[long] = np.nan
        elif len(long):
            given = {name: x[long] for name, x in given.items()}
            half = self._stepped(mode, packed[long], t, 0.5 * dt, given, halvings - 1)
            half = self.layout.outcome(half).packed
            out[long] = self._stepped(mode, half, t + 0.5 * dt, 0.5 * dt, given, halvings - 1)
        return out

    def _jump(self, t: float, i: int, guard: int, packed: np.ndarray) -> np.ndarray:
        """One whose guard has become negative goes on in another mode: how it goes on, or no numbers if it cannot."""
        contact: Any = self.system.contact
        model = self.system.model
        state, remembered, works = self.layout.unpack(packed)
        given = None if self.held is None else self.held.forces[i]
        system, memory = replace(self.system, given=given).recalling(remembered)
        applied = system.applied_at(self.modes[i], t, state)
        try:
            jump = contact.jump(model, self.modes[i], guard, state, memory, applied)
        except NumericsError as error:
            self.ended.append(f"t = {t:.6g} s: {error}")
            return np.full_like(packed, np.nan)
        self.modes[i] = jump.mode
        return self.layout.jumped(jump, remembered[len(memory) :], works)
