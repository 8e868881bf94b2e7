"""Samples of one robot or many, as results and warnings look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from operator import is_not
from typing import Any

import numpy as np

from ...caching import cached_property
from ...compiler import compile
from ...control import SampledController
from ...model import State
from ..events import TIME_TOLERANCE
from ..integrators.base import Integrator
from ..outcome import Diagnostic, DiagnosticKind
from ..problem.compiled_dynamics import energies, energies_with
from ..problem.problem import Problem
from ..problem.robot_parameters import Parameters
from ..problem.vector_field import Series
from .accuracy import ErrorEstimate, Errors
from .ledger import residuals

SMALLER_STEPS = "take smaller steps"
MAX_ENERGY_SAMPLES = 250
"""Samples of a single run at which energies are evaluated."""


@dataclass(frozen=True, eq=False)
class Motion:
    """``K`` samples of ``N`` robots that got to their end, and the steps that led there."""

    problem: Problem
    method: Integrator
    dt: float | None
    """s: size of the steps; None: robots chose them"""
    times: np.ndarray
    """``K`` (s)"""
    series: Series
    """``K x N x ...``"""
    modes: Callable[[], Any]
    """``K x N`` modes of the contact, if asked"""
    many: bool = True
    """True for a batch, in whose warnings robots are named"""
    parameters: Parameters | None = None
    """parameters of each robot, if they differ"""
    errors: Errors | None = None
    """errors of up to eight of the robots"""
    estimated: np.ndarray = field(default_factory=lambda: np.zeros(1, dtype=int))
    """indices of these robots"""
    unestimated: str = ""
    """reason why errors are not estimated by this method, or under this controller"""
    sampled_rates: np.ndarray | None = None
    """``K x L x n``: rates of these robots at samples of a controller, whatever samples are kept"""
    counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """``N`` each: steps that the method has counted"""
    steps: int = 1
    """number of steps that robots took"""
    stopped: Mapping[DiagnosticKind, Mapping[int, str]] = field(default_factory=dict)
    """robots of a batch that did not get to the end, and why"""

    def why_unestimated(self, error: ErrorEstimate | None) -> str:
        """Reason why there is no estimate of the error; empty where there is one."""
        if error is not None:
            return ""
        if self.unestimated:
            return self.unestimated
        return "there are fewer than two steps of equal size" if self.finite.any() else "the motion is no longer finite"

    @property
    def count(self) -> int:
        """Robots."""
        return self.series.memory.shape[1]

    @cached_property
    def works(self) -> np.ndarray:
        """Works (K x N x ports, J)."""
        return np.asarray(self.series.base_works + self.series.joint_works)

    @cached_property
    def _energy_samples(self) -> Any:
        """Samples at which energies are evaluated: all of a batch, up to 250 of a single run."""
        if self.many or len(self.times) <= MAX_ENERGY_SAMPLES:
            return slice(None)
        return np.linspace(0, len(self.times) - 1, MAX_ENERGY_SAMPLES).round().astype(int)

    @cached_property
    def energies(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinetic and potential energy (J) at samples ``x N``, ``lag`` before their end."""
        states = [x[self._energy_samples] for x in self.series.states]
        lead = states[0].shape[:2]
        poses, *rest = (x.reshape(lead[0] * lead[1], *x.shape[2:]) for x in states)
        lag = self.method.lag * (self.dt or 0.0)
        if self.parameters is None or not self.parameters.names:
            found = energies(self.problem.model)(poses, *rest, lag)
        else:
            names, numbers = self.parameters
            inputs = {"numbers": numbers.shape[1], "lag": 1}
            kernel = compile(self.problem.model, energies_with, inputs=inputs, state=State._fields, varied=names)
            found = kernel(poses[:, :3], *rest, np.tile(numbers, (lead[0], 1)), np.full((len(poses), 1), lag)).T
        return found[0].reshape(lead), found[1].reshape(lead)

    @cached_property
    def finite(self) -> np.ndarray:
        """``N``: whether the numbers of a robot are, at the end."""
        series = (*(x[-1].reshape(self.count, -1) for x in self.series.states), self.series.memory[-1], self.works[-1])
        return np.asarray(np.isfinite(np.hstack(series)).all(axis=1))

    @cached_property
    def residual(self) -> np.ndarray:
        """``N``: energy residual, NaN of robots whose numbers are not finite."""
        found = residuals(*self.energies, self.works[self._energy_samples])
        return np.where(self.finite, found, np.nan)

    @cached_property
    def air(self) -> np.ndarray:
        """``K x N``: whether a robot touches nothing."""
        flat = list(chain.from_iterable(self.modes()))
        starts = [0, *compress(range(1, len(flat)), map(is_not, flat[1:], flat))]  # equal ones in a row are one object
        free = [not any(flat[k]) for k in starts]
        return np.repeat(free, np.diff(starts, append=len(flat))).reshape(-1, self.count)

    @property
    def pushed(self) -> np.ndarray:
        """``K x N``: work of the contact (J)."""
        return np.asarray(self.works[:, :, self.problem.ports.index(self.problem.contact_ports[0])])

    @cached_property
    def every_step(self) -> bool:
        """True if all steps are kept."""
        return self.dt is not None and len(self.times) > 2 and float(np.diff(self.times).max()) <= 1.5 * self.dt

    @property
    def rows_of_steps(self) -> np.ndarray:
        """Indices of samples where all steps are kept, else none."""
        return np.arange(len(self.times) if self.every_step else 0)

    def rows_of_samples(self, sampled: SampledController) -> np.ndarray:
        """Indices of samples at which a controller samples, where all of them are kept, else none."""
        times = np.arange(int(self.times[-1] * sampled.rate) + 1) / sampled.rate
        rows = np.searchsorted(self.times, times - TIME_TOLERANCE).clip(max=len(self.times) - 1)
        kept = np.abs(self.times[rows] - times) <= TIME_TOLERANCE
        return rows if kept.all() else rows[:0]

    def at(self, k: int, robot: int) -> State:
        """The state at a sample."""
        return State(*(x[k, robot] for x in self.series.states))

    def start(self, robot: int) -> State:
        """The first one."""
        return self.at(0, robot)

    @property
    def resolves(self) -> float:
        """Steps (s) that have to resolve all springs."""
        return 0.0 if self.method.stable or self.dt is None else self.dt

    def about(self, found: Diagnostic | None, robots: np.ndarray) -> Diagnostic | None:
        """A warning, with the robots of a batch that it concerns."""
        if found is None or not self.many:
            return found
        message = f"in {len(robots)} of {self.count} simulations {found.message}"
        return replace(found, message=message, robots=robots)

    def above(
        self,
        kind: DiagnosticKind,
        values: Any,
        limits: Any,
        words: Callable[[int], str],
        advice: str = SMALLER_STEPS,
        **more: Any,
    ) -> Diagnostic | None:
        """The warning for robots whose value (N) is above its limit, in the words of the worst of them."""
        values, limits = np.broadcast_arrays(np.asarray(values, dtype=float), limits)
        robots = np.flatnonzero(values > limits)
        if not len(robots):
            return None
        worst = int(robots[values[robots].argmax()])
        found = Diagnostic(kind, words(worst), float(values[worst]), float(limits[worst]), advice, **more)
        return self.about(found, robots)
