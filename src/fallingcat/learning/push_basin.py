"""Basin of attraction of a controlled legged robot: which pushes, in which phase of its gait, it recovers from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ..errors import ModelError, describe
from ..records import concise, short_text
from ..simulation.problem.arguments import seconds as checked_seconds
from ..simulation.problem.arguments import whole
from .controlled_gait import ControlledRobots, SteadyGait, deviation
from .environment import MAX_SPEED
from .policy import Policy
from .walk import MAX_TILT_COSINE, MIN_HEIGHT_SHARE, Walk

OUTCOMES: Final = ("recovered", "fallen", "undecided")
"""Outcomes of a push; a robot whose numbers are no longer finite has fallen"""
RECOVERED, FALLEN, UNDECIDED, GOING_ON = 0, 1, 2, -1
HORIZON = 3.0
"""s: a robot that has neither recovered nor fallen by then is undecided"""
REST = 0.3
"""s: for which a robot that has no stride must be near its stance"""
LOOK = 10
"""Control periods between two times at which the host waits for the device."""


@concise
class PushGrid(NamedTuple):
    """Cells of a map of pushes: direction, strength and phase of the gait.

    A push changes the horizontal velocity of the whole robot at once: an impulse of ``mass * change`` (N s).

    Example:
        >>> PushGrid(8, 10, 4).size
        320
    """

    directions: int = 36
    """cells of the angle from the heading to the left, 0 to 360 degrees"""
    strengths: int = 40
    """cells of the change of velocity, 0 to :attr:`strongest`"""
    phases: int = 24
    """cells of a stride"""
    strongest: float = 4.0
    """m/s"""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along each axis."""
        return self.directions, self.strengths, self.phases

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.directions * self.strengths * self.phases


@concise
class Pushes(NamedTuple):
    """Pushes: numbers from 0 to 1 along the axes of a :class:`PushGrid`, and the sample of the gait at which they act.

    Example:
        >>> Pushes(np.array([0.25]), np.array([0.5]), np.array([7])).samples
        array([7])
    """

    directions: Any
    strengths: Any
    samples: Any


@concise
@dataclass(frozen=True)
class PushBasin:
    """Map of pushes: how many of each cell end how.

    Example:
        >>> counts = np.array([[9, 1, 0], [8, 2, 0], [1, 9, 0], [0, 9, 0]])
        >>> round(PushBasin(PushGrid(1, 4, 1, strongest=2.0), counts).tolerated, 6)
        0.9
    """

    grid: PushGrid
    counts: np.ndarray
    """``cells x outcomes``: numbers of pushes, in the order of :data:`OUTCOMES`"""
    periods: int = 0
    """control periods of robots whose outcome was not known yet"""
    seconds: float = 0.0
    """wall time, without compilation"""
    first: np.ndarray | None = None
    """``N``: outcome of the first push of each robot"""

    @property
    def pushes(self) -> int:
        """Number of pushes."""
        return int(self.counts.sum())

    @property
    def probability(self) -> np.ndarray:
        """``directions x strengths x phases``: share of pushes from which robots recover; NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.counts[:, RECOVERED] / self.counts.sum(axis=1)).reshape(self.grid.shape))

    @property
    def tolerated(self) -> float:
        """Mean tolerated push (m/s): the share of pushes from which robots recover, integrated over the strength.

        Directions are equally likely, phases as they were drawn.
        """
        return float(self.tolerated_by_direction.mean())

    @property
    def tolerated_by_direction(self) -> np.ndarray:
        """``directions`` (m/s): the same integral for each direction."""
        return self._tolerated_strengths(2)

    @property
    def tolerated_by_phase(self) -> np.ndarray:
        """``phases`` (m/s): the same integral for each phase."""
        return self._tolerated_strengths(0)

    def _tolerated_strengths(self, axis: int) -> np.ndarray:
        """Integrals over the strength of shares of all pushes along an axis; strengths follow directions and phases."""
        counts = self.counts.reshape(*self.grid.shape, len(OUTCOMES)).sum(axis=axis)
        counts = counts if axis else counts.swapaxes(0, 1)
        with np.errstate(invalid="ignore"):
            shares = counts[..., RECOVERED] / counts.sum(axis=-1)
        return np.asarray(shares.mean(axis=1) * self.grid.strongest)

    def safe(self, share: float = 0.99) -> float:
        """Strength (m/s) below which robots recover from this share of pushes in every cell of direction and phase.

        Cells without pushes are left out (phases of which the gait has no sample); a strength without any ends it.

        Args:
            share: Least share.

        Returns:
            Lower end of the first cells of a strength that has no pushes, or misses the share in one of them.
        """
        found = self.probability
        good = (~(found < share)).all(axis=(0, 2)) & ~np.isnan(found).all(axis=(0, 2))
        cells = self.grid.strengths if good.all() else int(np.argmin(good))
        return cells * self.grid.strongest / self.grid.strengths


class PushedRobots:
    """Robots in a steady gait that are pushed, each anew as soon as its outcome is known, on CPU or GPU.

    A robot has fallen where its base tilts by more than 60 degrees or is below half of its standing height.  It has
    recovered where it is near the steady gait, as :attr:`.SteadyGait.calm` says, for a whole stride or more.

    Args:
        task: Walking.
        policy: Policy; None: servos hold the posture.
        gait: Steady gait.
        robots: Number of robots at once.
        grid: Cells of the map.
        horizon: Longest time (s) after a push, besides the strides in which it stays near the gait.
        strides: Strides of the gait for which a robot must be near it.
        options: Further arguments of :class:`.ControlledRobots`.

    Example:
        >>> import fallingcat as fc
        >>> task = fc.learning.Walk(fc.robots.quadruped())
        >>> gait = fc.learning.steady_gait(task, None, (0.0, 0.0, 0.0))
        >>> robots = PushedRobots(task, None, gait, 4, PushGrid(1, 2, 1, strongest=0.2))
        >>> robots.run(8).counts.sum(axis=0)
        array([8, 0, 0])
    """

    def __init__(
        self,
        task: Walk,
        policy: Policy | None,
        gait: SteadyGait,
        robots: int,
        grid: PushGrid | None = None,
        *,
        horizon: float = HORIZON,
        strides: int = 1,
        **options: Any,
    ) -> None:
        if not isinstance(task, Walk):
            raise ModelError(f"pushed robots have a Walk as their task, not {describe(task)}")
        self.task, self.gait, self.grid = task, gait, PushGrid() if grid is None else grid
        count, near = whole(robots, "robots"), whole(strides, "strides") * (gait.stride or REST)
        self.horizon = checked_seconds(horizon, "horizon") + near
        self._robots = ControlledRobots(task, policy, count, gait.states, gait.command, **options)
        self.library = self._robots.library
        floats = self.library.floats
        self._actions, self._times, self._phases = floats(gait.actions), floats(gait.times), floats(gait.phases)
        self._mean, self._tolerances = floats(gait.mean), floats(gait.calm)
        self._calm_periods = max(1, round(near / task.period))

    def __repr__(self) -> str:
        return f"<PushedRobots: {self._robots.robots} of {short_text(self.task.model.name)}>"

    def run(
        self,
        pushes: int,
        given: Pushes | None = None,
        *,
        seed: int = 0,
        seconds: float = np.inf,
        progress: Callable[[PushBasin], None] | None = None,
    ) -> PushBasin:
        """Push robots.

        Args:
            pushes: Number of pushes.
            given: First push of each robot; None: drawn as the others are, evenly.
            seed: Seed of the pushes.
            seconds: No push begins after this wall time (s); those that have begun are followed to their end.
            progress: Function of the map so far, called now and then.

        Returns:
            Map of all pushes that were begun.
        """
        xp, n = self.library.xp, self._robots.robots
        count, began = whole(pushes, "pushes"), time.perf_counter()
        self.library.seed(seed)
        none, one = self.library.floats(np.zeros(n)), self.library.floats(np.ones(n))
        self._begin(none)
        first, tally = self.library.indices(1, n) + GOING_ON, [0.0] * len(OUTCOMES)
        alive = xp.cumsum(one, 0) <= count
        self._push(alive, self._draw_pushes() if given is None else self._to_device(given))
        begun, periods, stopped = alive.sum(), 0, False
        while True:
            for _ in range(LOOK):
                periods = periods + alive.sum()
                self._robots.advance()
                outcome = self._outcome()
                over = alive & (outcome >= 0)
                first = xp.where(over & (first < 0), outcome, first)
                for k in range(len(OUTCOMES)):
                    ended = xp.where(over & (outcome == k), one, none)
                    tally[k] = tally[k] + xp.bincount(self._cell, ended, self.grid.size)
                fresh = over & (begun + xp.cumsum(over, 0) <= count) if not stopped else over & ~over
                begun = begun + fresh.sum()
                self._push(fresh, self._draw_pushes())
                alive = (alive & ~over) | fresh
            done, spent = not bool(alive.any()), time.perf_counter() - began
            stopped = stopped or spent > seconds
            if done or progress is not None:
                counts = np.rint(np.stack([self.library.to_numpy(x) for x in tally], axis=1)).astype(np.int64)
                ends = self.library.to_numpy(first) if done else None
                found = PushBasin(self.grid, counts, int(periods), spent, ends)
                if progress is not None:
                    progress(found)
            if done:
                return found

    # parts of a run ---------------------------------------------------------------------------------------------

    def _begin(self, none: Any) -> None:
        """Arrays of all robots, before the first push."""
        n = self._robots.robots
        self._age, self._time_near = none, none
        self._cell = self.library.indices(1, n)

    def _draw_pushes(self) -> Pushes:
        """Random pushes of all robots."""
        n = self._robots.robots
        numbers = self.library.uniform(0.0, 1.0, 2, n)
        return Pushes(numbers[0], numbers[1], self.library.indices(len(self.gait.times), n))

    def _to_device(self, given: Pushes) -> Pushes:
        """Pushes as arrays on the device."""
        n, floats = self._robots.robots, self.library.floats
        if any(np.shape(x) != (n,) for x in given):
            raise ModelError(f"given pushes are those of {n} robots, not {describe(given)}")
        return Pushes(
            floats(given.directions), floats(given.strengths), self.library.to_integers(floats(given.samples))
        )

    def _push(self, which: Any, pushes: Pushes) -> None:
        """Put some robots into the gait, and push them."""
        xp, robots, samples = self.library.xp, self._robots, pushes.samples
        robots.batch.restart(self.library.to_simulator(which), self.library.to_simulator(samples))
        R = robots.now.rotation
        ahead = R[:, :2, 0] / xp.sqrt((R[:, :2, 0] ** 2).sum(axis=1))[:, None]
        angle = 2.0 * np.pi * pushes.directions
        along, left = xp.cos(angle), xp.sin(angle)
        level = xp.stack([along * ahead[:, 0] - left * ahead[:, 1], along * ahead[:, 1] + left * ahead[:, 0]], axis=1)
        change = (R[:, :2] * (self.grid.strongest * pushes.strengths[:, None] * level)[:, :, None]).sum(axis=1)
        row = which[:, None]
        change = xp.where(row, change, 0.0 * robots.last_actions[:, :3])
        robots.batch.kick(self.library.to_simulator(xp.concatenate([change, 0.0 * change], axis=1)))
        robots.last_actions = xp.where(row, self._actions[samples], robots.last_actions)
        robots.time = xp.where(which, self._times[samples], robots.time)
        zero = 0.0 * robots.time
        self._age, self._time_near = xp.where(which, zero, self._age), xp.where(which, zero, self._time_near)
        self._cell = xp.where(which, self._cells(pushes), self._cell)

    def _cells(self, pushes: Pushes) -> Any:
        """Number of the cell of each push."""
        places = [
            self.library.xp.clip(self.library.to_integers(count * x), 0, count - 1)
            for count, x in zip(
                self.grid.shape, (pushes.directions, pushes.strengths, self._phases[pushes.samples]), strict=True
            )
        ]
        return (places[0] * self.grid.strengths + places[1]) * self.grid.phases + places[2]

    def _outcome(self) -> Any:
        """``N``: outcomes, below zero where they are not known yet."""
        xp, task, now = self.library.xp, self.task, self._robots.now
        speed = xp.amax(xp.abs(xp.concatenate([now.twist, now.rates], axis=1)), axis=1)
        low = (now.rotation[:, 2, 2] < MAX_TILT_COSINE) | (now.height < MIN_HEIGHT_SHARE * task.height)
        near = (xp.abs(deviation(now) - self._mean) < self._tolerances).all(axis=1)
        self._time_near = xp.where(near, self._time_near + 1.0, 0.0 * self._age)
        self._age = self._age + task.period
        late = xp.where(self._age > self.horizon - 0.5 * task.period, UNDECIDED, GOING_ON)
        up = xp.where(self._time_near > self._calm_periods - 0.5, RECOVERED, late)
        return xp.where(low | ~(speed < MAX_SPEED), FALLEN, up)
