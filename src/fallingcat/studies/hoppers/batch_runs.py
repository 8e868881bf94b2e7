"""Batch of runs, each until its verdict: decided runs leave, and none waits for the slowest."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final

import numpy as np

from ...simulation import BatchSimulator

RUNS_PER_DECIDED: Final = 16
"""Decided runs leave when they are one in so many."""
RUNNING: Final = -1
"""The verdict on a run that goes on."""


class BatchRuns(ABC):
    """Runs under way, wherever their numbers are.

    Each is examined every ``tick`` (s) of its own time, and gets a verdict (0 or more) at its ``last`` look, if not
    before.
    """

    columns: ClassVar[tuple[str, ...]] = ("runs", "looks", "verdict")
    """columns that are kept of each run that is under way"""
    rounds_per_check: ClassVar[int] = 20
    """rounds for each look that a whole run would need: what has not come so far then breaks"""
    broke: ClassVar[int]
    """the verdict on a run whose steps became too many"""

    def __init__(self, simulator: BatchSimulator, tick: float, last: int) -> None:
        self.simulator, self.tick, self.last, self.attempts = simulator, tick, last, 0
        self.xp: Any = sys.modules[type(simulator.times).__module__.partition(".")[0]]  # NumPy, or CuPy
        xp, count = self.xp, simulator.count
        self.runs, self.looks = xp.arange(count), xp.zeros(count, dtype=xp.int64)
        self.verdict = xp.full(count, RUNNING, dtype=xp.int64)

    @abstractmethod
    def verdicts(self, arrived: Any) -> Any:
        """Verdicts (N) on those that have ``arrived`` (N truth values) at a check; those of others are ignored."""

    def advance(self, until: Any) -> Any:
        """Advance every run up to its time ``until`` (N, s); True (N) for runs that have arrived there."""
        return self.simulator.approach(until)

    def finished_columns(
        self, progress: Callable[[float], None] = lambda share: None
    ) -> Iterator[dict[str, np.ndarray]]:
        """Columns of runs that leave, until none is left; ``progress`` is called with their share."""
        rounds, count = 0, self.simulator.count
        while self.simulator.count:
            self._round()
            rounds += 1
            if rounds > self.rounds_per_check * self.last:
                self.verdict = self.xp.where(self.verdict == RUNNING, self.broke, self.verdict)
            done = self.verdict != RUNNING
            if int(done.sum()) * RUNS_PER_DECIDED >= len(done):
                yield {name: self.simulator.fetched(getattr(self, name)[done]) for name in self.columns}
                self._keep(~done)
                progress(1.0 - self.simulator.count / count)

    def _round(self) -> None:
        """Some attempts at steps of all that go on, and what can be said of those that have arrived."""
        going = self.verdict == RUNNING
        arrived = self.advance((self.looks + going) * self.tick) & going
        self.attempts += self.simulator.attempts * int(going.sum())
        self.looks += arrived
        self.verdict = self.xp.where(arrived, self.verdicts(arrived), self.verdict)

    def _keep(self, stay: Any) -> None:
        self.simulator.keep(stay)
        for name in self.columns:
            setattr(self, name, getattr(self, name)[stay])
