"""Many simulations in one compiled code: advanced together, sampled, and checked robot by robot."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import is_numeric
from ..compiler import compile
from ..contact.base import Mode
from ..contact.capabilities import LinearizedForces, offers
from ..contact.rigid.joint_stops import joint_stops
from ..control import Sampled
from ..control.laws.passive_joints import SUNK
from ..dynamics import mass_matrix
from ..dynamics.forward import check_mass
from ..errors import ModelError, NumericsError, describe
from ..model import State
from ..records import table
from .accuracy import WHOLE, ErrorEstimate, halvings, worst_of_some
from .arguments import MOST_STEPS, answered
from .batch_simulator import BatchSimulator
from .compiled_dynamics import energies, energies_with, remembered
from .diagnostics import (
    MAX_ENERGY_RESIDUAL,
    SMALLER_STEPS,
    contact_law,
    counted_steps,
    energy_balance,
    passed_stops,
    unresolved_laws,
)
from .integrators.base import Marching
from .integrators.event_located import STALLED
from .integrators.implicit_step import commanded_at
from .late_switching import asking, late_switches, thinned
from .law_parameters import apart
from .outcome import Code, Diagnostic, Kind, status_text
from .output.ledger import residuals
from .robot_parameters import BEHIND, total_masses
from .sampling import Looking, SampledTogether
from .step_size import REBOUND, Rebound, too_fast, too_long
from .system import System
from .vector_field import Series, layout_of

AT_ONCE = 100_000
"""Steps, of all simulations together, between two looks at Ctrl-C."""


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """Result of :func:`fallingcat.rollout`: ``K`` kept samples of ``N`` simulations, in SI units.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.two_cylinder_cat()
        >>> many = fc.rollout(cat, [cat.state(rates=[1.0, 0.5])] * 3, 0.01)
        >>> many.joints.shape, many.finite.all()
        ((2, 3, 2), np.True_)
    """

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
    residual: np.ndarray
    """``N``: energy residual at the kept samples, as :attr:`.Trajectory.energy_residual`; NaN of one that failed"""
    codes: np.ndarray
    """``N``: how each simulation ended, a :class:`.Code`"""
    warnings: tuple[Diagnostic, ...] = ()
    """everything that makes numbers doubtful, by the kept samples, with the robots that are concerned"""
    memory: Any = None
    """``K x N x k``: what contact, laws and sampled laws remember, in this order"""
    error_estimate: ErrorEstimate | None = None
    """largest error at the end caused by the size of fixed steps, among up to eight simulations; None: not estimated"""
    code: Code = Code.FINISHED
    """how all of them ended"""
    reason: str = ""
    """why they stopped early"""
    integrator: str = ""

    @property
    def finite(self) -> np.ndarray:
        """True for each of the ``N`` simulations whose numbers stayed finite to its end."""
        return np.array([code in (Code.FINISHED, Code.EVENT) for code in self.codes], dtype=bool)

    @property
    def status(self) -> str:
        """Outcome and warnings as text; programs use :attr:`codes` and :attr:`warnings`."""
        return status_text(self.code, self.reason, self.warnings)

    def __repr__(self) -> str:
        """Duration, samples, robots, integrator and status in one line."""
        about = f"{self.times[-1]:g} s, {len(self.times)} samples of {len(self.codes)} robots, {self.integrator}"
        return f"<Rollout: {about}, {self.status}>"

    _repr_html_ = table


class Sample(NamedTuple):
    """All robots at a time."""

    time: float
    packed: np.ndarray
    """``N x size``"""
    looked: np.ndarray
    """``N x k``: what sampled laws remember before their next sample"""


class Batch:
    """``N`` robots of a :class:`.BatchSimulator` in steps of ``dt`` (s), with a sampled controller if there is one."""

    def __init__(self, fleet: BatchSimulator, system: System, method: Marching, dt: float) -> None:
        self.fleet, self.system, self.method, self.dt, self.done = fleet, system, method, dt, 0
        self.layout, self.begun = fleet.layout, self.packed
        self.held: SampledTogether | None = None
        self.looking: Looking | None = None
        if system.sampling is not None:
            sampled = system.sampling.sampled
            self.held = SampledTogether(sampled, np.zeros((fleet.count, system.sampling.size)), dt)
            if Looking.wanted(system.model, sampled.laws):
                self.looking = Looking(system.model, sampled, [fleet.state.at(i) for i in range(fleet.count)])

    @property
    def packed(self) -> np.ndarray:
        """``N x size``: as it is now."""
        return self.fleet.packed()

    @property
    def _order(self) -> int | None:
        """Order of fixed steps, whose error can be estimated; None: robots choose them, or are under samples."""
        return None if self.method.tolerance is not None or self.held is not None else self.method.order

    # moving ---------------------------------------------------------------------------------------------------

    def look(self) -> int:
        """Ask a sampled controller before the next step; the next step before which it is asked again."""
        return MOST_STEPS if self.held is None else self.held.before(self.done, self._asked)

    def advance(self, until: int) -> None:
        """Some steps of all, at most to step ``until``."""
        steps = min(until - self.done, max(1, AT_ONCE // self.fleet.count))
        if self.held is None:
            self.fleet.step(steps)
        else:
            base = np.zeros((self.fleet.count, self.system.model.nv - self.held.forces.shape[1]))
            self.fleet.marched(steps, np.hstack([base, self.held.forces]))
        self.done += steps

    def _asked(self) -> np.ndarray:
        """``N x size``: what a sampled controller says."""
        assert self.held is not None
        assert self.system.sampling is not None
        sampled: Sampled = self.system.sampling.sampled
        t, shape = self.done * self.dt, self.held.forces.shape
        if sampled.together is None:
            forces = self._commanded(t, sampled) if self.looking is None else self._looked(t)
            return forces[:, self.system.model.nv - shape[1] :]
        given = answered(sampled.together, t, State(*self.layout.series(self.packed).states))
        if not is_numeric(given) or np.shape(given) != shape:
            raise ModelError(f"a controller of {shape[0]} robots gives forces of shape {shape}, not {describe(given)}")
        return np.array(given, dtype=float)

    def _commanded(self, t: float, sampled: Sampled) -> np.ndarray:
        """``N x nv``: what sampled laws without a state of their own ask for."""
        model, contact, memory = self.system.model, self.system.contact, self.layout.memory
        laws, numbers = apart(sampled.laws, model)
        size = layout_of(System(model, laws, contact), memory).size
        inputs = {"packed": size, "clock": 1, "numbers": len(numbers)}
        about: dict[str, Any] = {"laws": laws, "contact": contact, "memory": memory}
        make = functools.partial(compile, model, commanded_at, inputs=inputs, **about)
        kernel = remembered((commanded_at, model, *inputs.values(), *about.values()), make)
        packed = self.packed
        return np.asarray(kernel(_resized(packed, size), np.full((len(packed), 1), t), numbers))

    def _looked(self, t: float) -> np.ndarray:
        """``N x nv``: what sampled laws with a state of their own ask for."""
        assert self.looking is not None
        packed, contact, groups = self.packed, self.system.contact, dict[Mode, list[int]]()
        states, out = self.layout.series(packed).states, np.zeros((len(packed), self.system.model.nv))
        for robot, mode in enumerate(self.fleet.march.modes(packed)):
            groups.setdefault(mode, []).append(robot)
        for mode, robots in groups.items():
            touching = contact.touching(mode) if contact is not None else frozenset[str]()
            out[robots] = self.looking(t, tuple(x[robots] for x in states), touching, np.array(robots))
        return out

    def sample(self) -> Sample:
        """All robots now."""
        packed, looking = self.packed, self.looking
        return Sample(
            self.done * self.dt, packed, np.zeros((len(packed), 0)) if looking is None else looking.memory.copy()
        )

    def halvings(self, steps: int) -> int:
        """How often the estimated error of the first of these ``steps`` asks for default steps to be halved."""
        if self._order is None or steps < 2:
            return 0
        return halvings(worst_of_some(self.fleet, self.begun, self.dt, min(steps, WHOLE), self._order))

    # the result -----------------------------------------------------------------------------------------------

    def record(self, kept: list[Sample]) -> Rollout:
        """Kept samples as a rollout, with its warnings."""
        series = self.layout.series(np.array([sample.packed for sample in kept]))
        memory = np.concatenate([series.memory, np.array([sample.looked for sample in kept])], axis=-1)
        times, works = np.array([sample.time for sample in kept]), series.base_works + series.joint_works
        finite = np.isfinite(kept[-1].packed).all(axis=1)
        residual = np.where(finite, self._residuals(series, works), np.nan)
        codes = np.full(len(finite), Code.FINISHED, dtype=object)
        codes[~finite], codes[~finite & self.fleet.stalled] = Code.FAILED, Code.STALLED
        error = None
        if self._order is not None and self.done >= 2:
            error = worst_of_some(self.fleet, self.begun, self.dt, self.done, self._order, kept[-1].packed)
        checks = self._checks(kept, series, works, residual)
        warnings = tuple(found for found in checks if found is not None)
        more: dict[str, Any] = {"memory": memory, "error_estimate": error, "integrator": self.method.name}
        return Rollout(times, *series.states, works, self.system.ports, residual, codes, warnings, **more)

    def _residuals(self, series: Series, works: np.ndarray) -> np.ndarray:
        lead = works.shape[:2]
        flat = [x.reshape(lead[0] * lead[1], *x.shape[2:]) for x in series.states]
        kinetic, potential = self._energies(*flat)
        return np.asarray(residuals(kinetic.reshape(lead), potential.reshape(lead), works))

    def _energies(self, *states: np.ndarray) -> Any:
        """Kinetic and potential energies (J) of kept samples, one after the other, of all simulations each."""
        model, lag, (names, numbers) = self.system.model, self.method.lag * self.dt, self.fleet.parameters
        if not names:
            return energies(model)(*states, lag)
        inputs = {"numbers": numbers.shape[1], "lag": 1}
        kernel = compile(model, energies_with, inputs=inputs, state=State._fields, varied=names)
        poses, *rest = states
        each = np.tile(numbers, (len(poses) // len(numbers), 1))
        return kernel(poses[:, :3], *rest, each, np.full((len(poses), 1), lag)).T

    def _checks(
        self, kept: list[Sample], series: Series, works: np.ndarray, residual: np.ndarray
    ) -> Iterator[Diagnostic | None]:
        sound = np.isfinite(residual)
        yield self._stalled()
        yield self._not_finite(~sound & ~self.fleet.stalled)
        yield self._energy_balance(residual)
        yield contact_law(self.system, series.memory[-1][sound]) if sound.any() else None
        yield unresolved_laws(self.system, works[:, sound], self.dt)
        yield self._landed(kept, works)
        if hasattr(self.fleet.march, "counts"):
            yield from counted_steps(self.fleet.march.counts(kept[-1].packed), self.done)
        yield self._nominal_stiffness(works)
        yield self._stops(series.states[1], sound)

    def _of(self, robots: np.ndarray) -> str:
        return f"{len(robots)} of {self.fleet.count} simulations"

    def _start(self, robot: int) -> State:
        return self.layout.unpack(self.begun[robot])[0]

    @property
    def _resolves(self) -> float:
        """Steps (s) that have to resolve all springs."""
        return 0.0 if self.method.stable else self.dt

    def _stalled(self) -> Diagnostic | None:
        robots = np.flatnonzero(self.fleet.stalled)
        return Diagnostic(Kind.STALLED, f"{self._of(robots)} {STALLED}", robots=robots) if len(robots) else None

    def _not_finite(self, broken: np.ndarray) -> Diagnostic | None:
        robots = np.flatnonzero(broken)
        if not len(robots):
            return None
        start = self._start(int(robots[0]))
        advice = self._singular(start) or too_fast(self.system, start, self._resolves) or SMALLER_STEPS
        message = f"the numbers of {self._of(robots)} are no longer finite"
        return Diagnostic(Kind.NOT_FINITE, message, advice=advice, robots=robots)

    def _singular(self, start: State) -> str:
        """Which joint has no inertia, if that is why numbers are not finite."""
        model = self.system.model
        try:
            check_mass(model, np.asarray(mass_matrix(model, start), dtype=float))
        except NumericsError as error:
            return str(error)
        return ""

    def _energy_balance(self, residual: np.ndarray) -> Diagnostic | None:
        robots = np.flatnonzero(residual > MAX_ENERGY_RESIDUAL)
        if not len(robots):
            return None
        worst = int(robots[residual[robots].argmax()])
        of = f"the energy balance of {self._of(robots)} is"
        found = energy_balance(float(residual[worst]), self.system, self._start(worst), self._resolves, of)
        return found and replace(found, robots=robots)

    def _landed(self, kept: list[Sample], works: np.ndarray) -> Diagnostic | None:
        """Of those that were in the air before the floor did work: rebounds in too long steps, or laws that switched
        late.
        """
        floor, model = self.system.contact, self.system.model
        foresees = self.method.stable and self.method.tolerance is None
        first = self._start(0)
        if floor is None or not foresees or not offers(floor, LinearizedForces):
            return None
        mass, gives = total_masses(self.fleet.parameters, model, floor)
        rebound = Rebound.of(self.system, first, mass, gives)
        long = np.zeros(len(mass), dtype=bool) if rebound is None else rebound.off(self.dt) > REBOUND
        if not long.any() and not asking(self.system, 0.0, first):
            return None
        air = np.array([[not any(mode) for mode in self.fleet.march.modes(sample.packed)] for sample in kept])
        pushed = works[:, :, self.system.ports.index(self.system.contact_ports[0])]
        robots = np.flatnonzero(long & (air & (pushed != pushed[-1])).any(axis=0))
        if rebound is not None and len(robots):
            found = too_long(rebound._replace(m=rebound.m[robots], gives=gives[robots]), self.dt)
            return found and replace(found, message=f"in {self._of(robots)} {found.message}", robots=robots)
        landed = np.broadcast_to(pushed[-1] != 0.0, air.shape)  # and no sample of it is kept that touches
        return self._late_switches(kept, landed if air.all() else ~air)

    def _late_switches(self, kept: list[Sample], marked: np.ndarray) -> Diagnostic | None:
        """Which laws switched late, by some of the kept samples that are marked (K x N)."""
        places = thinned(np.argwhere(marked))
        samples = [(kept[k].time, self.layout.unpack(kept[k].packed[i])[0]) for k, i in places]
        fastest = max((float(np.abs(state.rates).max(initial=0.0)) for _, state in samples), default=0.0)
        found = late_switches(self.system, samples, fastest, self.dt)
        return found and replace(found, robots=np.unique([i for _, i in places]))

    def _nominal_stiffness(self, works: np.ndarray) -> Diagnostic | None:
        """Of a law that is made for the inertias of the model, and acted on robots with inertias of their own."""
        made = [law.name for law in self.system.laws if law.nominal_inertia]
        if not made or BEHIND not in self.fleet.parameters.names or not self.system.ports:
            return None
        robots = np.flatnonzero(works[:, :, self.system.ports.index(made[0])].any(axis=0))
        if not len(robots):
            return None
        whose = f"that of {self.system.model.name!r} itself"
        message = f"{made[0]} of {len(robots)} of {works.shape[1]} robots acted, as stiff as {whose}"
        return Diagnostic(Kind.NOMINAL_STIFFNESS, message, name=made[0], robots=robots)

    def _stops(self, joints: np.ndarray, sound: np.ndarray) -> Diagnostic | None:
        """Joints that passed their stops, at the worst of samples (K x N x joints)."""
        found, model = passed_stops(self.system, joints[:, sound]), self.system.model
        if found is None:
            return None
        nearest = np.min([stop.gap(model, joints[:, sound]).min(axis=0) for stop in joint_stops(model)], axis=0)
        robots = np.flatnonzero(sound)[nearest < -SUNK]
        return replace(found, message=f"in {self._of(robots)} a stop is passed: {found.message}", robots=robots)


def _resized(packed: np.ndarray, size: int) -> np.ndarray:
    """``N x size``: packed for a system with other works, which come last."""
    return np.pad(packed[:, :size], ((0, 0), (0, max(0, size - packed.shape[1]))))
