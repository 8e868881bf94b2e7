"""The study of an arm that tumbles: its runs, its numbers, its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import SupportsFloat

import numpy as np

from ...control.laws.output_feedback import COMPENSATIONS
from ...simulation import Trajectory
from ..kind import Figures, Progress, study_kind
from ..simulated import SimulatedKind
from ..tables import Study
from . import drawings
from .experiment import Errors, Experiment
from .parameters import TumblingParameters
from .surveys import (
    Bandwidth,
    GainSurvey,
    StartSurvey,
    bandwidth,
    jitter,
    settled_deviations,
    survey_starts,
    tune_observers,
)

PERFECT_POSE_INTERVAL = 5
"""One start of the Monte Carlo in so many is also tried with perfect poses."""
NEAR_START = (90.0, 15.0)
"""deg and deg/s: starts within them are 'near'"""


@dataclass(frozen=True, eq=False)
class TumblingResult:
    """Observed runs, errors and surveys."""

    experiment: Experiment
    runs: dict[str, Trajectory]
    """by compensation, with perfect poses"""
    errors: dict[str, Errors]
    dissipation_errors: dict[str, float]
    """distance of ``dW/dt`` from (58), relative to the largest"""
    torques: dict[str, np.ndarray]
    """both compensations (N x n) along the run of ``locked``"""
    tuning: GainSurvey
    papers: float
    """deg/s: what the paper's gains do with slow poses"""
    bandwidth: Bandwidth
    jitter: dict[str, float]
    """N m: noise of joint rates in each compensation"""
    slow_starts: StartSurvey
    perfect: StartSurvey

    def end(self, kind: str) -> float:
        """deg: norm of the joint errors at the end."""
        return float(np.degrees(np.linalg.norm(self.errors[kind].joints[-1])))

    def joint_error(self, kind: str) -> float:
        """deg: the largest joint error in the last quarter of the run."""
        away = np.abs(self.errors[kind].joints)
        return float(np.degrees(away[3 * len(away) // 4 :].max()))

    def storage_rises(self, kind: str) -> int:
        """Number of samples at which ``W`` is larger than one sample before."""
        return int((np.diff(self.errors[kind].W) >= 0.0).sum())

    @property
    def torque_difference(self) -> np.ndarray:
        """``N`` (N m): norm of the difference of the two compensations along one run."""
        return np.asarray(np.linalg.norm(self.torques["curvature"] - self.torques["locked"], axis=1))

    def compensation_variation(self, kind: str) -> float:
        """N m: total variation of the norm of a compensation."""
        return float(np.abs(np.diff(np.linalg.norm(self.torques[kind], axis=1))).sum())

    def required_frequency(self, kind: str) -> float:
        """rad/s: the joints' frequency for an error of 0.1 deg."""
        return self.bandwidth.required_frequency(kind)

    def converged_share(self, starts: StartSurvey) -> float:
        """percent: of the starts near the truth that converge."""
        return starts.share((starts.attitude < NEAR_START[0]) & (starts.spin < NEAR_START[1]))


@study_kind
class OrbitalControl(SimulatedKind[TumblingParameters, TumblingResult]):
    """Perfect poses, then slow ones: tuned, compared, and from many starts."""

    name, parameters = "orbital-control", TumblingParameters
    resolution = frozenset({"gains", "frequencies", "noises", "samples"})
    measures: Mapping[str, Callable[[TumblingResult], SupportsFloat]] = {
        **{f"end_{kind}": partial(TumblingResult.end, kind=kind) for kind in COMPENSATIONS},
        **{f"rises_{kind}": partial(TumblingResult.storage_rises, kind=kind) for kind in COMPENSATIONS[:2]},
        "dissipation_curvature": lambda seen: seen.dissipation_errors["curvature"],
        "dissipation_locked": lambda seen: seen.dissipation_errors["locked"],
        "kept_none": lambda seen: seen.joint_error("none"),
        "W_difference": lambda seen: (
            np.abs(seen.errors["curvature"].W - seen.errors["locked"].W).max() / seen.errors["locked"].W[0]
        ),
        "torque_difference": lambda seen: seen.torque_difference[-1] / seen.torque_difference.max(),
        "oscillation": lambda seen: seen.compensation_variation("curvature") / seen.compensation_variation("locked"),
        "jitter_curvature": lambda seen: seen.jitter["curvature"],
        "jitter_locked": lambda seen: seen.jitter["locked"],
        "best_gain": lambda seen: seen.tuning.best_gain,
        "best_locked": lambda seen: seen.tuning.locked.min(),
        "papers_gains_fail": lambda seen: float(not seen.papers < 10.0),
        **{f"bandwidth_{kind}": partial(TumblingResult.required_frequency, kind=kind) for kind in COMPENSATIONS},
        "bandwidth_saved": lambda seen: seen.required_frequency("none") / seen.required_frequency("locked"),
        "starts": lambda seen: len(seen.slow_starts.converged),
        "converged_slow": lambda seen: seen.slow_starts.share(),
        "converged_near": lambda seen: seen.converged_share(seen.slow_starts),
        "converged_perfect": lambda seen: seen.perfect.share(),
    }

    def run(self, parameters: TumblingParameters, progress: Progress) -> TumblingResult:
        """Simulate every compensation, tune the observer, and survey starts."""
        here, runs, errors, dissipated = Experiment.from_parameters(parameters), {}, {}, {}
        for i, kind in enumerate(COMPENSATIONS):
            progress("perfect poses", i / len(COMPENSATIONS))
            law = here.law(kind)
            runs[kind] = here.run(law)
            errors[kind] = here.errors_along(runs[kind], law)
            if kind != "none":
                dissipated[kind] = here.dissipation_error(runs[kind], law)
        torques = here.torques(runs["locked"], here.law("locked"))
        tuning = tune_observers(here, progress)
        papers = here.slow_law("locked", parameters.pose_gain, locked_gain=parameters.locked_gain, base_weights=None)
        found = settled_deviations(here, papers)[0]
        saved = bandwidth(here, tuning.best_gain, progress)
        noise = {kind: jitter(here, kind) for kind in COMPENSATIONS[:2]}
        slow = survey_starts(here, tuning.best_gain, parameters.samples, progress)
        perfect = survey_starts(
            here, tuning.best_gain, max(10, parameters.samples // PERFECT_POSE_INTERVAL), progress, perfect=True
        )
        return TumblingResult(here, runs, errors, dissipated, torques, tuning, found, saved, noise, slow, perfect)

    def motion(self, seen: TumblingResult) -> Trajectory:
        """Under the law without the curvature."""
        return seen.runs["locked"]

    def figures(self, study: Study, seen: TumblingResult) -> Figures:
        """The arm in motion, like Fig. 5 and 6, errors beside those of springs alone, surveys."""
        return drawings.figures(seen)
