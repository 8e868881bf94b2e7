"""Many simulations one by one: of methods that locate their events, which have no one code for all modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...model import State
from ..diagnostics.motion import Motion
from ..events import TIME_TOLERANCE
from ..integrators.base import Integrator
from ..outcome import DiagnosticKind, StatusCode
from ..problem.arguments import MAX_STEPS
from ..problem.problem import Problem
from .rollout_runner import Rollout, rollout_of
from .run import Run
from .runner import FINISHED, End, Runner

KINDS = {StatusCode.STALLED: DiagnosticKind.STALLED, StatusCode.FAILED: DiagnosticKind.NOT_FINITE}
"""Kinds of warnings of runs that ended so"""


ONE_BY_ONE = "simulations that are run one by one are not repeated"


class OneByOne(Runner[Rollout]):
    """Runs of :func:`fallingcat.simulate` from ``N`` states, at common times.

    Args:
        problem: Problem.
        method: Integrator.
        many: States from which they start, with a first axis over them.
        times: Times (K, s) of the samples, the first is 0.
        dt: Step (s), or the longest one of a method that chooses them; None: as long as it likes.
        progress: Called with the share that is done.
    """

    simulator, sampling = None, None

    def __init__(
        self,
        problem: Problem,
        method: Integrator,
        many: State,
        times: np.ndarray,
        dt: float | None,
        progress: Callable[[float], None] | None,
    ) -> None:
        super().__init__(float(times[-1]), dt or 0.0, MAX_STEPS, len(many.pose), progress)
        self.problem, self.method, self.many, self.times, self._dt = problem, method, many, times, dt
        self.runs: list[Run] = []
        self.ends: list[End] = []

    def _run(self) -> End:
        for robot in range(count := len(self.many.pose)):
            state, own = self.many.at(robot), self.problem
            if own.sampling is not None:  # with a record, and noise, of its own
                own = replace(own, controller=own.sampling.of_robot(state, robot))
            self.runs.append(Run(own, self.method, state, self.duration, self._dt, MAX_STEPS, stops=self.times[1:]))
            try:
                self.ends.append(self.runs[-1]._run())
            finally:
                self.t = max(self.t, self.runs[-1].t)
            if self.progress is not None:
                self.progress((robot + 1) / count)
        return FINISHED

    def recorded(self, end: End) -> Rollout:
        """Runs side by side at common times; those that stopped early, or never began, are NaN from then on."""
        if not self.runs:
            raise  # what interrupted the first one before it began
        first, shape = self.runs[0], (len(self.times), len(self.many.pose))
        packed, sampled = (
            np.full((*shape, x.shape[-1]), np.nan) for x in (first.samples.packed, first.samples.sampled)
        )
        modes, codes = [[()] * shape[1] for _ in self.times], np.full(shape[1], StatusCode.INTERRUPTED, dtype=object)
        for robot, run in enumerate(self.runs):
            kept, known, own = run.samples, run.samples.times, run.samples.modes
            last = np.searchsorted(known, self.times[self.times <= known[-1] + TIME_TOLERANCE] + TIME_TOLERANCE) - 1
            packed[: len(last), robot], sampled[: len(last), robot] = kept.packed[last, 0], kept.sampled[last, 0]
            for row, k in zip(modes, last, strict=False):
                row[robot] = own[k]
        stopped: dict[DiagnosticKind, dict[int, str]] = {}
        for robot, (code, reason) in enumerate(self.ends):
            codes[robot] = code
            if code in KINDS:
                stopped.setdefault(KINDS[code], {})[robot] = reason.removeprefix("stopped ")
        dt, series = None if first.adaptive else first.dt, first.layout.series(packed)
        motion = Motion(
            first.problem,
            first.method,
            dt,
            self.times,
            series,
            lambda: modes,
            unestimated=first.unestimated or ONE_BY_ONE,
            stopped=stopped,
        )
        return rollout_of(motion, codes, sampled, end)
