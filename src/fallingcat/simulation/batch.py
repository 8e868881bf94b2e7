"""Many simulations in one compiled code: advanced together, sampled, and checked robot by robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import is_numeric
from ..control import Sampled
from ..errors import ModelError, describe
from ..model import State
from ..records import table
from .accuracy import MIN_STEPS_REPEATED, Checkpoints, ErrorEstimate, estimate, halvings
from .arguments import answered
from .batch_simulator import BatchSimulator
from .diagnostics import diagnosed
from .integrators.base import FixedStepIntegrator
from .motion import Motion
from .outcome import Code, Diagnostic, status_text
from .problem import Problem
from .runner import FINISHED, End, Runner
from .sampling import Looking, SampledTogether


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
    """end of all of them"""
    reason: str = ""
    """reason why they stopped early"""
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


class Batch(Runner[Rollout]):
    """``N`` robots in ``steps`` of ``dt`` (s), with a sampled controller if there is one."""

    simulator: BatchSimulator

    def __init__(
        self,
        simulator: BatchSimulator,
        problem: Problem,
        method: FixedStepIntegrator,
        steps: int,
        every: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(steps * simulator.dt, simulator.dt, every or steps, simulator.count, progress)
        self.simulator, self.layout = simulator, simulator.layout
        self.problem, self.method, self.steps = problem, method, steps
        self.held: SampledTogether | None = None
        self.looking: Looking | None = None
        self._remembered: list[np.ndarray] = []
        if problem.sampling is not None:
            sampled = problem.sampling.sampled
            self.held = SampledTogether(sampled, np.zeros((simulator.count, problem.sampling.size)), simulator.dt)
            if sampled.laws:
                states = [simulator.state.at(i) for i in range(simulator.count)]
                self.looking = Looking(problem.model, sampled, states, problem.contact)

    @property
    def packed(self) -> np.ndarray:
        """``N x size``: as it is now."""
        return self.simulator.packed()

    # moving ---------------------------------------------------------------------------------------------------

    def advance(self) -> End:
        """Some steps of all, up to where a sampled controller is asked again."""
        if self.held is None:
            self.advance_to(self.simulator, self.steps, self.simulator._applied(None))
        else:
            until = min(self.steps, self.held.before(round(self.t / self.dt), self._asked))
            base = np.zeros((self.simulator.count, self.problem.model.nv - self.held.forces.shape[1]))
            self.advance_to(self.simulator, until, np.hstack([base, self.held.forces]))
        return FINISHED

    def _asked(self) -> np.ndarray:
        """``N x size``: what a sampled controller says."""
        assert self.held is not None
        assert self.problem.sampling is not None
        sampled: Sampled = self.problem.sampling.sampled
        t, shape, packed = self.t, self.held.forces.shape, self.packed
        states = self.layout.series(packed).states
        if self.looking is not None:
            forces = self.looking(t, states, lambda: self._touching(packed))
            return forces[:, self.problem.model.nv - shape[1] :]
        given = answered(sampled.together, t, State(*states))
        if not is_numeric(given) or np.shape(given) != shape:
            raise ModelError(f"a controller of {shape[0]} robots gives forces of shape {shape}, not {describe(given)}")
        return np.array(given, dtype=float)

    def _touching(self, packed: np.ndarray) -> list[frozenset[str]]:
        contact: Any = self.problem.contact
        return [contact.touching(mode) for mode in self.simulator.stepper.modes(packed)]

    def keep(self) -> None:
        """A sample now."""
        self.add(np.array([self.t]), self.packed[None])

    def see(self) -> None:
        """A checkpoint of the error estimate now."""
        if self.estimates:
            self.checkpoints.see(self.t, self.simulator.some(self.lanes))

    def add(self, times: np.ndarray, packed: np.ndarray) -> None:
        """Further samples, with what sampled laws remember before their next one."""
        super().add(times, packed)
        known = np.zeros((packed.shape[1], 0)) if self.looking is None else self.looking.memory
        self._remembered.append(np.array([known] * len(times)).reshape(len(times), *known.shape))

    def halvings(self) -> int:
        """Number of halvings of default steps that the estimated error of the first steps asks for."""
        steps, simulator = min(self.steps, MIN_STEPS_REPEATED), self.simulator
        if not self.estimates or steps < 2:
            return 0
        on, start, points = simulator._on.part(self.lanes), simulator.some(self.lanes), Checkpoints(self.dt)
        points.see(0.0, start)
        ended = simulator.stepper.taken(on, on.sent(start), self.dt, steps, on.sent(np.zeros((len(start), 0))))
        points.see(steps * self.dt, np.array(on.fetched(ended), dtype=float))
        with np.errstate(all="ignore"):
            found = estimate(simulator.stepper, on, self.layout, points, self.method.order)
        return 0 if found is None else halvings(found.worst)

    # the result -----------------------------------------------------------------------------------------------

    def recorded(self, end: End) -> Rollout:
        """The samples so far, with their warnings."""
        if self.samples.last < self.t:
            self.keep()
        packed, stepper, stalled = self.samples.packed, self.simulator.stepper, self.simulator.stalled
        series = self.layout.series(packed)
        motion = Motion(
            self.problem,
            self.method,
            None if self.method.tolerance is not None else self.dt,
            self.samples.times,
            series,
            lambda: [stepper.modes(row) for row in packed],
            parameters=self.simulator.parameters,
            errors=self.errors(),
            estimated=self.lanes,
            counts=stepper.counts(packed[-1]),
            steps=self.accepted,
            stalled=stalled,
        )
        codes = np.full(len(stalled), Code.FINISHED, dtype=object)
        codes[~motion.finite], codes[~motion.finite & stalled] = Code.FAILED, Code.STALLED
        made = (self.samples.times, *series.states, motion.works, self.problem.ports, motion.residual, codes)
        more: dict[str, Any] = {"memory": np.concatenate([series.memory, np.concatenate(self._remembered)], axis=-1)}
        error = None if motion.errors is None else motion.errors.worst
        more |= {"error_estimate": error, "code": end.code, "reason": end.reason, "integrator": self.method.name}
        return Rollout(*made, diagnosed(motion), **more)
