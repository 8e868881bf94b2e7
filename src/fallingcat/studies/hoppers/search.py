"""Search for a gait of a controller: many random gains at once, and a second look at those that stay up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...model import Model, State
from ...simulation import BatchSimulator, EventLocator, Rosenbrock
from ...simulation.runner.recorded_runs import record_runs
from ..kind import Progress
from .attraction import initial_states
from .batch_runs import RUNNING, BatchRuns
from .hopper import floor, laws, start
from .measures import forward_speed, hop_period, stationarity
from .observed import Observed
from .parameters import SearchParameters

RANGES: Final = {
    "K_r": (600.0, 6000.0), "D_r": (1.0, 60.0), "K_p": (0.02, 60.0), "D_p": (1e-3, 2.0), "K_E": (0.5, 60.0),
    "r_des": (0.09, 0.17), "E_des": (1.8, 5.0), "alpha_des": (-0.6, 0.6),
}  # fmt: skip
"""Between which the parameters of a run are drawn; gains evenly in their logarithms."""
LINEAR_PARAMETERS: Final = {"r_des", "E_des", "alpha_des"}
STARTS: Final = ((-0.5, 0.5), (0.02, 0.3), (1.0, 2.5), (-0.3, 1.2))
"""Lean of the leg (rad), height of the foot (m), joint (rad) and forward speed (m/s) at the start, evenly."""
CHECK_PERIOD: Final = 0.05
"""s: between two checks that the base is still above the floor"""
MIN_FORWARD_SPEED: Final = 0.05
"""m/s: what counts as going forward, on average of the second half"""
LONGEST_STEP: Final = 5e-3
"""s"""
THROWN_LIMITS: Final = (1.0, 60.0)
"""m and rad/s: a base above or faster is thrown, not hopping; the wanted energies lift it to half a metre"""
FELL, STAYED, BROKE = range(3)
"""Outcomes of a run.  ``BROKE``: too many steps, or NaN."""
CHATTER_STEP: Final = 5e-5
"""s: steps of those whose foot chatters"""
RUNS_AT_ONCE: Final = 32
"""Runs that are looked at again at once, with every step kept."""
NUMBERS: Final = ("runs", "up", "forward", "chattering", "looked_again", "gaits", "fastest")
"""Names of the numbers that :func:`about_search` returns."""


class Search(NamedTuple):
    """Outcomes of all runs, and of those that were examined again."""

    parameters: dict[str, np.ndarray]
    """``N`` each: parameters"""
    verdicts: np.ndarray
    """``N``: fell or was thrown, stayed up to the end, or broke"""
    durations: np.ndarray
    """``N`` (s): until that was seen"""
    speed: np.ndarray
    """``N`` (m/s): forward, in the second half; NaN where it did not stay up"""
    chatters: np.ndarray
    """``N``: whether its foot leaves the floor and comes back every few microseconds, between laws that pull it apart:
    then it was followed in steps of :data:`CHATTER_STEP`, which do not look for switches
    """
    pace: dict[int, float]
    """number of a run that was up at the end and went forward, did not chatter and was looked at again for longer: its
    speed (m/s) if it ends in a forward gait, else NaN
    """

    @property
    def hops_forward(self) -> np.ndarray:
        """``N``: up at the end, and on its way."""
        return np.asarray(np.nan_to_num(self.speed) > MIN_FORWARD_SPEED)

    @property
    def gaits(self) -> np.ndarray:
        """Numbers of those that end in a forward gait, the fastest first."""
        found = [i for i, speed in self.pace.items() if np.isfinite(speed)]
        return np.array(sorted(found, key=lambda i: -self.pace[i]), dtype=int)

    @property
    def region(self) -> dict[str, np.ndarray]:
        """Parameters of those in a forward gait, and their ``speed`` (m/s), the fastest first."""
        gaits = self.gaits
        speeds = np.array([self.pace[i] for i in gaits.tolist()])
        return {name: values[gaits] for name, values in self.parameters.items()} | {"speed": speeds}


def search(model: Model, p: SearchParameters, progress: Progress) -> Search:
    """``p.samples`` runs of ``p.trial`` (s) from random gains and starts; ``p.again`` of them for longer."""
    begun, each = draw_runs(model, p)
    drawn = {name: np.array([getattr(mine, name) for mine in each]) for name in RANGES}
    found = Search(drawn, *_outcome(model, begun, each, progress), {})
    # in the order in which they were drawn
    good = np.flatnonzero(found.hops_forward & ~found.chatters)[: p.again].tolist()
    for k in range(0, len(good), RUNS_AT_ONCE):
        progress("looking again", k / len(good))
        some = good[k : k + RUNS_AT_ONCE]
        own = [each[i].model_copy(update={"duration": p.longer}) for i in some]
        paces = gait_speeds(model, [begun.at(i) for i in some], own)
        found.pace.update(zip(some, paces, strict=True))
    return found


def draw_runs(model: Model, p: SearchParameters) -> tuple[State, list[SearchParameters]]:
    """The random starts (batched) and parameters of all runs; others for another number of them."""
    rng = np.random.default_rng(0)
    values = [_random_values(rng, name, p.samples).tolist() for name in RANGES]
    begun = initial_states(model, np.stack([rng.uniform(*ends, p.samples) for ends in STARTS], axis=1))
    each = [p.model_copy(update=dict(zip(RANGES, own, strict=True))) for own in zip(*values, strict=True)]
    return begun, each


def _random_values(rng: np.random.Generator, name: str, count: int) -> np.ndarray:
    low, high = RANGES[name]
    if name in LINEAR_PARAMETERS:
        return rng.uniform(low, high, count)
    return np.exp(rng.uniform(np.log(low), np.log(high), count))


def _outcome(
    model: Model, begun: State, each: Sequence[SearchParameters], progress: Progress
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Outcome of each run, ``N`` each.

    The verdict, the time that it lasted (s), its speed in the second half (m/s), and whether its foot chatters.
    """
    p, count = each[0], len(each)
    first = start(model, p)  # alpha_c is measured from the posture of the study
    own, ground, looks = [laws(model, first, mine) for mine in each], floor(p), round(p.trial / CHECK_PERIOD)
    verdicts, lasted, speed = np.zeros(count, dtype=int), np.zeros(count), np.full(count, np.nan)

    def hear(watch: BatchRuns, which: np.ndarray, what: str) -> None:
        for left in watch.finished_columns(lambda share: progress(what, share)):
            runs, half = which[left["runs"]], (looks - looks // 2) * CHECK_PERIOD
            verdicts[runs], lasted[runs] = left["verdict"], left["looks"] * CHECK_PERIOD
            speed[runs] = np.where(left["verdict"] == STAYED, (left["end"] - left["middle"]) / half, np.nan)

    located = BatchSimulator(
        model, begun, own, ground, dt=LONGEST_STEP, integrator=EventLocator(Rosenbrock(1e-5)), ledger=False
    )
    hear(_SurvivalTest(located, CHECK_PERIOD, looks), np.arange(count), "many gains")
    chatters = verdicts == BROKE
    some = np.flatnonzero(chatters)
    if len(some):
        states = begun.at(some)
        hear(
            _FixedStepTest(
                BatchSimulator(model, states, [own[i] for i in some], ground, dt=CHATTER_STEP), CHECK_PERIOD, looks
            ),
            some,
            "chattering",
        )
    return verdicts, lasted, speed, chatters


class _SurvivalTest(BatchRuns):
    """Test for runs that stay up, with their positions in the middle and at the end (m)."""

    columns = (*BatchRuns.columns, "middle", "end")
    rounds_per_check, broke = 4, BROKE

    def __init__(self, simulator: BatchSimulator, tick: float, last: int) -> None:
        super().__init__(simulator, tick, last)
        self.middle = self.end = np.zeros(simulator.count)

    def verdicts(self, arrived: Any) -> Any:
        pose, _, twist, _ = self.simulator.state
        (x, height), spin = pose[:, :2, 3].T, np.abs(twist[:, 2])
        self.middle = np.where(arrived & (self.looks == self.last // 2), x, self.middle)
        self.end = np.where(arrived, x, self.end)
        up = (height > 0.0) & (height < THROWN_LIMITS[0]) & (spin < THROWN_LIMITS[1])
        out = np.where(up, np.where(self.looks == self.last, STAYED, RUNNING), FELL)
        return np.where(np.isfinite(height + spin), out, BROKE)


class _FixedStepTest(_SurvivalTest):
    """Test for runs that stay up, in fixed steps that all take together."""

    def advance(self, until: Any) -> Any:
        self.simulator.step(round(self.tick / self.simulator.dt))
        return np.ones(self.simulator.count, dtype=bool)


def gait_speeds(model: Model, states: Sequence[State], each: Sequence[SearchParameters]) -> list[float]:
    """m/s: how fast the gait is in which each run ends; NaN where it ends in none that goes forward."""
    first, p = start(model, each[0]), each[0]
    own = [laws(model, first, mine) for mine in each]
    runs = record_runs(model, states, p.duration, own, floor(p), rule=Rosenbrock(1e-6), dt=LONGEST_STEP)
    return [pace(Observed(run, mine)) for run, mine in zip(runs, each, strict=True)]


def pace(seen: Observed) -> float:
    """Forward speed (m/s) of the gait in which a run ends.

    NaN unless the run lasts, its last hops repeat to 0.1 % and its base stays above the floor in its second half.
    """
    late = seen.times > 0.5 * seen.parameters.duration
    whole = seen.times[-1] > 0.999 * seen.parameters.duration and seen.run.poses[late, 1, 3].min() > 0.0
    if not whole or not stationarity(seen) < 0.1:
        return np.nan
    hops = seen.times[-1] - seen.times[seen.lift_offs[-1]] < 2.0 * hop_period(seen)
    speed = forward_speed(seen)
    return speed if hops and speed > MIN_FORWARD_SPEED else np.nan


def about_search(found: Search) -> dict[str, float]:
    """Numbers of a search.

    The :data:`NUMBERS`: runs; those up at the end, going forward, and with a foot that chatters (%); those examined
    again, how many of these have a gait, and the speed of the fastest (m/s).
    """
    shares = [100.0 * float(np.mean(x)) for x in (found.verdicts == STAYED, found.hops_forward, found.chatters)]
    best = [found.pace[i] for i in found.gaits[:1].tolist()]
    counts = [float(len(x)) for x in (found.pace, found.gaits)]
    return dict(zip(NUMBERS, (float(len(found.durations)), *shares, *counts, *(best or [np.nan])), strict=True))
