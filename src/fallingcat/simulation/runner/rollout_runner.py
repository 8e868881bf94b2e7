"""Many simulations in one compiled code: advanced together, sampled, and checked robot by robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays.types import FloatArray
from ...records import table
from ..batch.batch_simulator import BatchSimulator
from ..diagnostics.accuracy import ErrorEstimate
from ..diagnostics.diagnostics import diagnosed
from ..diagnostics.held_forces import HeldForces
from ..diagnostics.motion import Motion
from ..events import TIME_TOLERANCE
from ..integrators.base import FixedStepIntegrator
from ..outcome import Diagnostic, DiagnosticKind, StatusCode, status_text
from ..problem.arguments import MAX_STEPS
from ..problem.problem import Problem
from .runner import FINISHED, STEP_GROWTH, End, Runner

STALLED = "because contacts chatter, or steps are endlessly small"


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
    """``N``: how each simulation ended, a :class:`.StatusCode`"""
    warnings: tuple[Diagnostic, ...] = ()
    """everything that makes numbers doubtful, by the kept samples, with the robots that are concerned"""
    memory: FloatArray | None = None
    """``K x N x k``: what contact, laws and sampled laws remember, in this order"""
    error_estimate: ErrorEstimate | None = None
    """largest error at the end caused by the size of fixed steps, among up to eight simulations; None: not estimated"""
    unestimated: str = ""
    """reason why there is no such estimate; empty if there is one"""
    code: StatusCode = StatusCode.FINISHED
    """end of all of them"""
    reason: str = ""
    """reason why they stopped early"""
    integrator: str = ""

    @property
    def finite(self) -> np.ndarray:
        """True for each of the ``N`` simulations whose numbers stayed finite to its end."""
        return np.array([code in (StatusCode.FINISHED, StatusCode.EVENT) for code in self.codes], dtype=bool)

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
    """``N`` robots in steps of a simulator, the first of ``first`` (s), with a sampled controller if there is one."""

    simulator: BatchSimulator

    def __init__(
        self,
        simulator: BatchSimulator,
        problem: Problem,
        method: FixedStepIntegrator,
        duration: float,
        every: int | None = None,
        progress: Callable[[float], None] | None = None,
        first: float = np.inf,
        finer: int = 0,
    ) -> None:
        super().__init__(duration, simulator.dt, every or MAX_STEPS, simulator.count, progress, finer)
        self.simulator, self.layout, self.next = simulator, simulator.layout, min(first, simulator.dt)
        self.problem, self.method = problem, method
        self.sampling = None if problem.sampling is None else problem.sampling.of_batch(simulator.state)
        if self.sampling is not None:
            self.hold(self.sampling, HeldForces([], [], []))

    @property
    def packed(self) -> np.ndarray:
        """``N x size``: as it is now."""
        return self.simulator.packed()

    # moving ---------------------------------------------------------------------------------------------------

    def advance(self) -> End:
        """Some steps of all, up to the next sample of a controller."""
        simulator, sampling = self.simulator, self.sampling
        if sampling is None:
            forces = simulator._applied(None)
        else:
            self.sample(self.packed)
            forces = np.hstack([np.zeros((simulator.count, self.problem.model.nv - sampling.size)), sampling.forces])
            if self.held is not None:
                self.held.see(self.t, forces[self.lanes])
        dt, at = self.planned(), round(self.t / self.dt)
        if dt < self.dt * (1.0 - 1e-6) or abs(self.t - at * self.dt) > TIME_TOLERANCE:
            self.advance_by(simulator, dt, forces)
            self.next = min(STEP_GROWTH * self.next, self.dt)
        else:
            ahead = (min(self.duration, self.instant) - self.t) / self.dt
            self.advance_to(simulator, at + max(1, int(ahead + 1e-6)), forces, self.instant)
        return FINISHED

    def keep(self) -> None:
        """A sample now."""
        self.add(np.array([self.t]), self.packed[None])

    def see(self) -> None:
        """A checkpoint of the error estimate now."""
        if self.estimates:
            self.checkpoints.see(self.t, self.simulator.some(self.lanes))

    # the result -----------------------------------------------------------------------------------------------

    def recorded(self, end: End) -> Rollout:
        """The samples so far, with their warnings."""
        if self.samples.last < self.t:
            self.keep()
        stepper, packed = self.simulator.stepper, self.samples.packed
        stalled = np.flatnonzero(self.simulator.stalled).tolist()
        motion = Motion(
            self.problem,
            self.method,
            None if self.method.tolerance is not None else self.dt,
            self.samples.times,
            self.layout.series(packed),
            lambda: [stepper.modes(row) for row in packed],
            parameters=self.simulator.parameters,
            errors=self.errors(),
            estimated=self.lanes,
            unestimated=self.unestimated,
            sampled_rates=self.sampled_rates,
            counts=stepper.counts(packed[-1]),
            steps=self.accepted,
            stopped={DiagnosticKind.STALLED: dict.fromkeys(stalled, STALLED)} if stalled else {},
        )
        codes = np.full(motion.count, StatusCode.FINISHED, dtype=object)
        codes[~motion.finite], codes[stalled] = StatusCode.FAILED, StatusCode.STALLED
        return rollout_of(motion, codes, self.samples.sampled, end)


def rollout_of(motion: Motion, codes: np.ndarray, sampled: np.ndarray, end: End) -> Rollout:
    """Result of ``N`` robots with these codes, beside what ``sampled`` laws remember (K x N x k)."""
    error = None if motion.errors is None else motion.errors.worst(motion.finite[motion.estimated])
    return Rollout(
        motion.times,
        *motion.series.states,
        motion.works,
        motion.problem.ports,
        motion.residual,
        codes,
        diagnosed(motion),
        np.concatenate([motion.series.memory, sampled], axis=-1),
        error,
        motion.why_unestimated(error),
        *end,
        motion.method.name,
    )
