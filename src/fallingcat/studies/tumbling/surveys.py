"""Surveys of many runs with slow, late, noisy poses: best gain, bandwidth saved, region of convergence."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...control import OutputFeedback, SampledController
from ...control.laws.output_feedback import COMPENSATIONS, compensation
from ...lie.rotations import exp
from ...model import State
from ...simulation import rollout
from ..kind import Progress
from .experiment import Experiment, with_frequency

GAINS = (0.2, 6.0)
"""1/s: from and to"""
FREQUENCIES = (1.0, 12.0)
"""rad/s: from and to"""
SURVEY_DURATION, SETTLED_DURATION = 30.0, 10.0
"""s: how long a survey runs, and the end of it that counts"""
RATE, FAST = 50.0, 100.0
"""1/s: at which laws look while gains and frequencies are tried"""
ALLOWED_JOINT_ERROR = 0.1
"""deg: the joint error that bandwidth is compared at"""
STARTS_RATE, STARTS_TIME = 20.0, 60.0
"""1/s and s: of the Monte Carlo"""
CONVERGED_ERRORS = (1.0, 2.0, 1.0)
"""deg, deg/s and deg: joint error, locked angular velocity error and attitude error of a run that has converged"""
SPINS, BINS = 45.0, 12
"""deg/s: fastest tumbling at a start; bins of the map each way"""


class GainSurvey(NamedTuple):
    """Observer gains, and what noise leaves of the error."""

    gains: np.ndarray
    """``G`` (1/s): ``k``, with ``l = k^2 / 4``"""
    locked: np.ndarray
    """``G`` (deg/s): root mean square error of the locked angular velocity at the end; inf: it does not settle"""
    joints: np.ndarray
    """``G`` (deg): of the joints' error"""

    @property
    def best_gain(self) -> float:
        """The gain (1/s) with least error of the locked velocity."""
        return float(self.gains[np.argmin(self.locked)])


class Bandwidth(NamedTuple):
    """Joint errors by the frequency of the joints."""

    frequencies: np.ndarray
    """``F`` (rad/s)"""
    errors: dict[str, np.ndarray]
    """by compensation, ``F`` (deg): the largest at the end of the joints' errors, root mean square over noise"""

    def required_frequency(self, kind: str) -> float:
        """Frequency (rad/s) with the error :data:`ALLOWED_JOINT_ERROR`, interpolated; else an end of the range."""
        x, y = np.log(self.frequencies), np.log(self.errors[kind] / ALLOWED_JOINT_ERROR)
        below = np.flatnonzero(y <= 0.0)
        if not len(below):
            return float("inf")
        i = int(below[0])
        return float(self.frequencies[0] if i == 0 else np.exp(np.interp(0.0, y[[i, i - 1]], x[[i, i - 1]])))


class StartSurvey(NamedTuple):
    """Region of convergence of the law."""

    attitude: np.ndarray
    """``N`` (deg): how wrong the observer is at the start"""
    spin: np.ndarray
    """``N`` (deg/s): how fast it tumbles, of which it does not know"""
    converged: np.ndarray
    """``N``"""
    finite: np.ndarray
    """``N``"""

    def share(self, chosen: np.ndarray | slice = slice(None)) -> float:
        """Share of converged runs (%)."""
        return 100.0 * float(self.converged[chosen].mean())

    def share_by_bin(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Middles of the bins (deg, deg/s), and the share (percent) that converges; NaN where there is none."""
        edges = np.linspace(0.0, 180.0, BINS + 1), np.linspace(0.0, SPINS, BINS + 1)
        at = (self.attitude, self.spin)
        all_, good = (np.histogram2d(*at, bins=edges, weights=w)[0] for w in (None, self.converged.astype(float)))
        share = np.divide(100.0 * good, all_, out=np.full_like(all_, np.nan), where=all_ > 0)
        middles = [0.5 * (e[1:] + e[:-1]) for e in edges]
        return middles[0], middles[1], share


def tune_observers(here: Experiment, progress: Progress) -> GainSurvey:
    """Observers of several gains under the same noise."""
    gains = np.geomspace(*GAINS, here.p.gains)
    found = []
    for i, gain in enumerate(gains):
        progress("tuning the observer", i / len(gains))
        found.append(settled_deviations(here, here.slow_law("locked", float(gain)))[:2])
    locked, joints = np.array(found).T
    return GainSurvey(gains, locked, joints)


def settled_deviations(here: Experiment, law: OutputFeedback, rate: float = RATE) -> tuple[float, float, np.ndarray]:
    """Root mean squares (deg/s, deg) at the end of runs with noise, of locked angular velocity and joints.

    The joints' errors themselves (K x N x n, deg) come third; inf where a run does not stay finite.
    """
    every = round(0.1 * rate)
    runs = here.noisy_runs(law, here.p.noises, SURVEY_DURATION, rate, every)
    late = runs.times >= SURVEY_DURATION - SETTLED_DURATION
    if not runs.finite.all():
        return np.inf, np.inf, np.full((1, 1, here.model.n), np.inf)
    states = tuple(x[late] for x in (runs.poses, runs.joints, runs.twists, runs.rates))
    x = here.errors(law, states, np.asarray(runs.memory)[late])
    sizes = (np.degrees(np.linalg.norm(y, axis=-1)) for y in (x.locked[..., 3:], x.joints))
    locked, joints = (float(np.sqrt(np.mean(y**2))) for y in sizes)
    return locked, joints, np.degrees(x.joints)


def bandwidth(here: Experiment, gain: float, progress: Progress) -> Bandwidth:
    """Joint errors with each compensation, by the frequency of the joints."""
    frequencies = np.geomspace(*FREQUENCIES, here.p.frequencies)
    errors: dict[str, list[float]] = {kind: [] for kind in COMPENSATIONS}
    for i, frequency in enumerate(frequencies):
        for j, kind in enumerate(COMPENSATIONS):
            progress("bandwidths", (i + j / 3.0) / len(frequencies))
            law = with_frequency(here.slow_law(kind, gain), float(frequency))
            away = settled_deviations(here, law, FAST)[2]
            errors[kind].append(float(np.sqrt((away**2).mean(axis=1)).max()))
    return Bandwidth(frequencies, {kind: np.array(found) for kind, found in errors.items()})


def jitter(here: Experiment, kind: str) -> float:
    """N m: standard deviation of a compensation under the noise of joint rates alone, with the truth for the rest."""
    rng, model, law = np.random.default_rng(0), here.model, here.law(kind)
    state = model.state(joints=here.target, twist=here.start.twist)
    knows, noise = law.with_memory(law.begin(model, state)), np.radians(here.p.rate_noise)
    seen = [state._replace(rates=noise * rng.standard_normal(model.n)) for _ in range(30)]
    tau = np.array([compensation(knows.observed(model, each).rel, kind) for each in seen])
    return float(np.linalg.norm(tau.std(axis=0)))


def survey_starts(here: Experiment, gain: float, count: int, progress: Progress, perfect: bool = False) -> StartSurvey:
    """Outcomes of ``count`` random starts.

    The observer believes the base at rest in the origin, and it is turned, moved and tumbling.  With ``perfect`` poses
    the observers are integrated with the robot.
    """
    model, rng = here.model, np.random.default_rng(0)
    angle, spin = rng.uniform(0.0, np.pi, count), rng.uniform(0.0, np.radians(SPINS), count)
    poses, twists = np.tile(np.eye(4), (count, 1, 1)), np.zeros((count, 6))
    for i in range(count):
        axis, about = rng.normal(size=(2, 3))
        poses[i, :3, :3] = exp(angle[i] * axis / np.linalg.norm(axis))
        twists[i, 3:] = spin[i] * about / np.linalg.norm(about)
    poses[:, :3, 3] = 0.1 * rng.normal(size=(count, 3))
    twists[:, :3] = 0.05 * rng.normal(size=(count, 3))
    joints = here.target + np.radians(rng.uniform(-30.0, 30.0, (count, model.n)))
    law = here.slow_law("locked", gain, pose=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    law = replace(law, sensor=None) if perfect else law
    progress(f"{count} starts with {'perfect' if perfect else 'slow'} poses", 0.0)
    many = State(poses, joints, twists, np.zeros((count, model.n)))
    asked = law if perfect else SampledController(law, STARTS_RATE, seed=2)
    end = rollout(model, many, STARTS_TIME, asked, dt=1.0 / STARTS_RATE, threads=2)
    x = here.errors(law, tuple(y[-1] for y in (end.poses, end.joints, end.twists, end.rates)), end.memory[-1])
    turned = np.degrees(np.linalg.norm(x.pose[:, 3:], axis=1))
    lost = np.degrees(np.linalg.norm(x.locked[:, 3:], axis=1))
    away = np.degrees(np.abs(x.joints).max(axis=1))
    good = end.finite & (away < CONVERGED_ERRORS[0]) & (lost < CONVERGED_ERRORS[1]) & (turned < CONVERGED_ERRORS[2])
    return StartSurvey(np.degrees(angle), np.degrees(spin), good, end.finite)
