"""Region of attraction of a gait: many runs at once, each until it is decided.

A gait with period ``T`` and step ``S`` is known again without looking for hops: ``T`` later the robot is as it was,
``S`` farther on.  So every run is looked at in the rhythm of the gait, whatever its phase.  Runs that have fallen
leave, and so do those that have been in the gait for some periods: the others go on alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from ...compiler.compilation import compile_step
from ...errors import ModelError
from ...geometry.contact_points import position
from ...model import Model, State
from ...simulation import BatchSimulator, EventLocator, Rosenbrock
from ..kind import Progress
from .batch_runs import RUNNING, BatchRuns
from .hopper import FOOT, floor, laws, start, upright_angle
from .measures import hop_period, stationarity, step_length
from .observed import Observed
from .parameters import AttractionParameters

VERDICTS: Final = ("undecided", "gait", "fell", "broke")
"""Outcomes of a run; its number is the place here.  ``broke``: no step met the tolerance."""
UNDECIDED, GAIT, FELL, BROKE = range(4)
SHARES: Final = ("runs", "in_the_gait", "fallen", "undecided", "broken")
"""Names of the numbers that :func:`attraction` returns."""
CHECKS_PER_PERIOD: Final = 8
"""Checks in a period of whether the base is below the floor."""
PERIODS: Final = 5
"""in a row that are like the gait"""
GAIT_TOLERANCES: Final = np.array([2e-3, 2e-3, 0.03, 0.03, 0.03])
"""Largest differences between end and beginning of a period in the gait: x (beside the step), y (m), cos and sin of
the base's angle, joint (rad)."""
LONGEST_STEP: Final = 5e-3
"""s"""


def attraction(
    model: Model, seen: Observed, p: AttractionParameters, progress: Progress
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Shares of the runs from a grid of starts that end in the gait, fall, stay undecided or break.

    The :data:`SHARES`: how many runs there were, and how many end how (%); the axes of the grid, and ``verdicts`` and
    ``periods`` over them.  Not a number, and nothing, where the run itself does not end in a gait.
    """
    gait, grid = gait_of(seen), grid_of(p)
    if gait is None:
        return dict.fromkeys(SHARES, float("nan")), {}
    found = classify_runs(
        model,
        initial_states(model, grid.values(np.arange(grid.size))),
        p,
        gait,
        progress=partial(progress, "from all starts"),
    )
    shares = [100.0 * float(np.mean(found.verdicts == verdict)) for verdict in (GAIT, FELL, UNDECIDED, BROKE)]
    series = {"verdicts": found.verdicts.reshape(grid.shape), "periods": found.periods.reshape(grid.shape)}
    return dict(zip(SHARES, (float(grid.size), *shares), strict=True)), grid._asdict() | series


class Grid(NamedTuple):
    """Starts at rest but for a horizontal speed: a product of four axes, the last the fastest."""

    lean: np.ndarray
    """lean of the virtual leg from the vertical (rad), its foot in front where positive"""
    height: np.ndarray
    """height of the foot above the floor (m)"""
    joint: np.ndarray
    """rad"""
    speed: np.ndarray
    """speed of the whole robot, forward (m/s)"""

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(axis) for axis in self)

    @property
    def size(self) -> int:
        """Starts in all."""
        return int(np.prod(self.shape))

    def values(self, which: np.ndarray) -> np.ndarray:
        """``N x 4``: of the starts with these numbers."""
        places = np.unravel_index(which, self.shape)
        return np.stack([axis[k] for axis, k in zip(self, places, strict=True)], axis=1)


def initial_states(model: Model, values: np.ndarray) -> State:
    """The states (batched) of starts given by lean, height, joint and speed (N x 4)."""
    lean, height, joint, speed = values.T
    knees, own = np.unique(joint, return_inverse=True)
    theta = lean + np.array([upright_angle(model, float(q)) for q in knees])[own]
    pose, c, s = np.tile(np.eye(4), (len(values), 1, 1)), np.cos(theta), np.sin(theta)
    pose[:, 0, 0], pose[:, 0, 1], pose[:, 1, 0], pose[:, 1, 1] = c, -s, s, c
    foot = compile_step(model, foot_at, {}, ["pose", "joints"])
    pose[:, 1, 3] = height - foot(pose[:, :3], joint[:, None])[:, 1]
    twist = np.stack([c * speed, -s * speed, np.zeros(len(values))], axis=1)
    return State(pose, joint[:, None], twist, np.zeros((len(values), 1)))


def foot_at(model: Model, state: State) -> Any:
    """Position of the foot (m)."""
    return position(model, state, FOOT)


def grid_of(p: AttractionParameters) -> Grid:
    """The starts of a study."""
    return Grid(
        np.linspace(p.lean_first, p.lean_last, p.leans),
        np.linspace(p.height_first, p.height_last, p.heights),
        np.linspace(p.joint_first, p.joint_last, p.joints),
        np.linspace(p.speed_first, p.speed_last, p.speeds),
    )


class Gait(NamedTuple):
    """Period and step length that identify a gait."""

    period: float
    """s"""
    step: float
    """m"""


def gait_of(seen: Observed) -> Gait | None:
    """The gait in which a run ends, if it does."""
    return Gait(hop_period(seen), step_length(seen)) if stationarity(seen) < 0.1 else None


@dataclass
class RunOutcomes:
    """Outcomes of runs."""

    verdicts: np.ndarray
    """``N``: places in :data:`VERDICTS`"""
    periods: np.ndarray
    """``N``: after how many periods of the gait it was decided"""
    attempts: int = 0
    """at steps, of all runs together, those that wait for the next look included"""


def classify_runs(
    model: Model,
    states: State,
    p: AttractionParameters,
    gait: Gait,
    *,
    target: str = "cpu",
    threads: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> RunOutcomes:
    """Every run until it has fallen, has been in the gait for :data:`PERIODS`, or ends undecided."""
    if "initial" in (p.r_des, p.E_des):
        raise ModelError("r_des and E_des of a basin are numbers: all its runs have the same controller")
    own = laws(model, start(model, p), p)
    method = EventLocator(Rosenbrock(p.tolerance))
    how: dict[str, Any] = {"target": target, "threads": threads, "integrator": method, "ledger": False}
    simulator = BatchSimulator(model, states, own, floor(p), dt=LONGEST_STEP, **how)
    count = simulator.count
    watch, found = _GaitTest(simulator, p, gait), RunOutcomes(np.zeros(count, np.uint8), np.zeros(count, np.float32))
    for left in watch.finished_columns(progress):
        found.verdicts[left["runs"]], found.periods[left["runs"]] = left["verdict"], left["looks"] / CHECKS_PER_PERIOD
    found.attempts = watch.attempts
    return found


class _GaitTest(BatchRuns):
    """Test for the gait: the places of each run a period ago, and the number of periods in a row that were alike."""

    columns = (*BatchRuns.columns, "equal_periods", "last_places")
    broke = BROKE

    def __init__(self, simulator: BatchSimulator, p: AttractionParameters, gait: Gait) -> None:
        periods = int(np.ceil(p.duration / gait.period))
        super().__init__(simulator, gait.period / CHECKS_PER_PERIOD, periods * CHECKS_PER_PERIOD)
        xp = self.xp
        self.equal_periods, self.last_places = xp.zeros(simulator.count, dtype=xp.int64), self._places()
        self.tolerances, self.shift = xp.asarray(GAIT_TOLERANCES), xp.asarray([gait.step, 0.0, 0.0, 0.0, 0.0])

    def _places(self) -> Any:
        """``N x 5``: x, y, cos and sin of the base's angle, joint."""
        pose, joints, _, _ = self.simulator.state
        columns = (pose[:, 0, 3], pose[:, 1, 3], pose[:, 0, 0], pose[:, 1, 0], joints[:, 0])
        return self.xp.stack(columns, axis=1)

    def verdicts(self, arrived: Any) -> Any:
        xp, here = self.xp, self._places()
        period = arrived & (self.looks % CHECKS_PER_PERIOD == 0)
        alike = (xp.abs(here - self.last_places - self.shift) < self.tolerances).all(axis=1)
        self.equal_periods = xp.where(period, xp.where(alike, self.equal_periods + 1, 0), self.equal_periods)
        self.last_places = xp.where(period[:, None], here, self.last_places)
        out = xp.where(self.equal_periods >= PERIODS, GAIT, xp.where(self.looks >= self.last, UNDECIDED, RUNNING))
        out = xp.where(here[:, 1] >= 0.0, out, FELL)
        return xp.where(xp.isfinite(here).all(axis=1), out, BROKE)
