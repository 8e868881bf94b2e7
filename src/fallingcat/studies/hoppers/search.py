"""Whether a controller has a gait at all: many random gains at once, and a second look at those that stay up."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ...model import Model, State
from ...simulation import Fleet, Located, Rosenbrock, simulate
from ..kind import Progress
from .attraction import starts
from .hopper import floor, laws, start
from .measures import hop_period, stationarity, step_length
from .observed import Observed
from .parameters import SearchParameters

RANGES: Final = {
    "K_r": (600.0, 6000.0), "D_r": (1.0, 60.0), "K_p": (0.02, 60.0), "D_p": (1e-3, 2.0), "K_E": (0.5, 60.0),
    "r_des": (0.09, 0.17), "E_des": (1.8, 5.0), "alpha_des": (-0.6, 0.6),
}  # fmt: skip
"""Between which the parameters of a run are drawn; gains evenly in their logarithms."""
EVEN: Final = {"r_des", "E_des", "alpha_des"}
STARTS: Final = ((-0.5, 0.5), (0.02, 0.3), (1.0, 2.5), (-0.3, 1.2))
"""Lean of the leg (rad), height of the foot (m), joint (rad) and forward speed (m/s) at the start, evenly."""
LOOK: Final = 0.25
"""s: between two looks at whether the base is still above the floor"""
FORWARD: Final = 0.05
"""m/s: what counts as going forward, on average of the second half"""
LONGEST_STEP: Final = 5e-3
"""s"""
THROWN: Final = (1.0, 60.0)
"""m and rad/s: a base above or faster is thrown, not hopping; the wanted energies lift it to half a metre"""
PATIENCE: Final = 40
"""Calls of the fleet between two looks."""


NUMBERS: Final = ("runs", "up", "forward", "looked_again", "gaits")
"""What :func:`about_search` finds."""


class Search(NamedTuple):
    """What became of all runs, and of those that were looked at again."""

    drawn: dict[str, np.ndarray]
    """``N`` each: parameters"""
    lasted: np.ndarray
    """``N`` (s): until the base was below the floor or thrown, or the end"""
    speed: np.ndarray
    """``N`` (m/s): forward, in the second half; NaN where it fell"""
    again: list[tuple[int, Observed]]
    """number and motion of some that were up at the end and went forward, for ``longer`` seconds"""
    longer: float

    @property
    def up(self) -> np.ndarray:
        """``N``: not fallen by the end."""
        return np.isfinite(self.speed)

    @property
    def forward(self) -> np.ndarray:
        """``N``: up, and on its way."""
        return self.up & (np.nan_to_num(self.speed) > FORWARD)

    @property
    def gaits(self) -> list[tuple[int, Observed]]:
        """Those whose hops repeat, forward, to the end of the longer run."""
        return [(i, seen) for i, seen in self.again if _is_gait(seen, self.longer)]


def _is_gait(seen: Observed, duration: float) -> bool:
    """Whether hops repeat to 0.1 % and go forward."""
    whole = seen.run.times[-1] > 0.999 * duration and seen.run.poses[-1, 1, 3] > 0.0
    return bool(whole and stationarity(seen) < 0.1 and step_length(seen) / hop_period(seen) > FORWARD)


def search(model: Model, p: SearchParameters, tell: Progress) -> Search:
    """``p.samples`` runs of ``p.trial`` (s) from random gains and starts; ``p.again`` of them for longer."""
    rng = np.random.default_rng(0)
    drawn = {name: _drawn(rng, name, p.samples) for name in RANGES}
    begun = starts(model, np.stack([rng.uniform(*ends, p.samples) for ends in STARTS], axis=1))
    each = [_with(p, drawn, i) for i in range(p.samples)]
    first = start(model, p)  # alpha_c is measured from the posture of the study
    lasted, speed = _outcome(model, begun, each, p, first, tell)
    good = np.flatnonzero(np.nan_to_num(speed) > FORWARD)
    again = []
    for k, i in enumerate(good[: p.again].tolist()):  # in the order in which they were drawn
        tell("looking again", k / p.again)
        own = each[i].model_copy(update={"duration": p.longer})
        how: dict[str, Any] = {"integrator": Rosenbrock(1e-6), "dt": LONGEST_STEP, "progress": False}
        run = simulate(model, State(*(x[i] for x in begun)), p.longer, laws(model, first, own), floor(p), **how)
        again.append((i, Observed(run, own)))
    return Search(drawn, lasted, speed, again, p.longer)


def _drawn(rng: np.random.Generator, name: str, count: int) -> np.ndarray:
    low, high = RANGES[name]
    if name in EVEN:
        return rng.uniform(low, high, count)
    return np.exp(rng.uniform(np.log(low), np.log(high), count))


def _with(p: SearchParameters, drawn: dict[str, np.ndarray], i: int) -> SearchParameters:
    return p.model_copy(update={name: float(values[i]) for name, values in drawn.items()})


def _outcome(
    model: Model, begun: State, each: list[SearchParameters], p: SearchParameters, first: State, tell: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """``N`` (s, m/s): how long each run lasted, and how fast it went in the second half."""
    method, count = Located(Rosenbrock(1e-5)), len(each)
    fleet = Fleet(model, begun, [laws(model, first, own) for own in each], floor(p), dt=LONGEST_STEP, integrator=method)
    runs, middle = np.arange(count), np.full(count, np.nan)
    lasted, speed, looks = np.zeros(count), np.full(count, np.nan), round(p.trial / LOOK)
    for k in range(1, looks + 1):
        tell("many gains", k / looks)
        for _ in range(PATIENCE):  # what has not come so far then counts as fallen
            if fleet.approach(np.full(fleet.count, k * LOOK)).all():
                break
        pose, _, twist, _ = fleet.state
        height, spin = pose[:, 1, 3], np.abs(twist[:, 2])
        stays = (
            (height > 0.0) & (height < THROWN[0]) & (spin < THROWN[1]) & (np.asarray(fleet.times) > (k - 0.5) * LOOK)
        )
        lasted[runs[stays]] = k * LOOK
        if k == looks // 2:
            middle[runs] = pose[:, 0, 3]
        if k == looks:
            speed[runs[stays]] = (pose[stays, 0, 3] - middle[runs[stays]]) / (0.5 * p.trial)
        if not stays.any():
            break
        fleet.keep(stays)
        runs = runs[stays]
    return lasted, speed


def about_search(found: Search) -> dict[str, float]:
    """The :data:`NUMBERS`: runs, those up at the end and those going forward (%), those looked at again, and how many
    of these have a gait.
    """
    shares = [100.0 * float(np.mean(x)) for x in (found.up, found.forward)]
    numbers = (float(len(found.lasted)), *shares, float(len(found.again)), float(len(found.gaits)))
    return dict(zip(NUMBERS, numbers, strict=True))
