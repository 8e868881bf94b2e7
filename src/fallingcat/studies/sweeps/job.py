"""What a worker does: the runs of one chunk, batch after batch, each committed when it is done."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FallingCatError, ModelError
from ...simulation import Code
from ..checked import checked
from ..kind import Parameters, StudyKind
from .points import Points
from .store import LONGEST_ERROR, Store


@dataclass(frozen=True)
class Job:
    """A sweep as its workers see it; travels to other processes and machines."""

    study: str
    kind: StudyKind[Any, Any]
    base: Mapping[str, Any]
    """parameters that stay the same"""
    points: Points
    measures: Mapping[str, str]
    """variable of the store: measure of the kind"""
    store: Store
    target: str = "cpu"
    parent: int | None = None
    """the process without which there is nobody to work for"""
    pause: float = 0.0
    """s between two commits of a worker: on clusters, so that all of them together do not flood the file system"""

    careful: bool = False
    """one run after the other, each noted before it begins: who dies of it is known then"""

    def finish(self, k: int) -> int:
        """All runs of chunk ``k`` that are not there yet; gives ``k``."""
        part, runs = self.store.read(k), self.store.runs(k).ravel()
        together = 1 if self.careful else max(1, self.kind.together[self.target])
        todo, size, last = part.open, together, time.monotonic()
        for first in range(0, len(todo), size):
            some = todo[first : first + size]
            if self.careful:
                self._note(k).write_text(str(some[0]))
            outcomes = self.outcomes([int(run) for run in runs[some]])
            if self.parent is not None and os.getppid() != self.parent:
                os._exit(1)  # killed: somebody else may have gone on with this chunk
            for place, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    part.failed.flat[place], part.error.flat[place] = True, _said(outcome)
                    continue
                part.done.flat[place] = True
                for name, number in outcome.items():
                    part.numbers[name].flat[place] = number
            if first + size >= len(todo) or time.monotonic() - last >= self.pause:
                self.store.commit(k, part)
                last = time.monotonic()
        if self.careful:
            self._note(k).unlink(missing_ok=True)
        return k

    def blame(self, k: int) -> bool:
        """Whether a run of chunk ``k`` had begun when its process died; then that is its error."""
        note = self._note(k)
        if not note.exists():
            return False
        part, place = self.store.read(k), int(note.read_text())
        note.unlink()
        if part.done.flat[place] or part.failed.flat[place]:
            return False
        part.failed.flat[place], part.error.flat[place] = True, "the process that ran it died"
        self.store.commit(k, part)
        return True

    def _note(self, k: int) -> Path:
        return self.store.path / f".running.{k}.part"

    def outcomes(self, runs: list[int]) -> list[dict[str, float] | Exception]:
        """The numbers of some runs, or why there are none."""
        given = [self._parameters(run) for run in runs]
        good = [p for p in given if isinstance(p, Parameters)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they are about is in the numbers of each run
            seen = iter(self._seen(good))
            return [p if isinstance(p, Exception) else self._numbers(next(seen)) for p in given]

    def _parameters(self, run: int) -> Parameters | Exception:
        try:
            whole = {**self.base, **self.points.at(run)}
            return checked(self.kind.parameters, whole, f"study {self.study!r}", key="parameter")
        except FallingCatError as error:
            return error

    def _seen(self, many: list[Parameters]) -> list[Any]:
        try:
            seen = list(self.kind.run_many(many, self.target)) if many else []
        except Exception as error:
            return (
                [error] if len(many) == 1 else [self._seen([each])[0] for each in many]
            )  # the others are not to blame
        if len(seen) != len(many):
            raise ModelError(f"the kind {self.kind.name!r} saw {len(seen)} of {len(many)} runs")
        return seen

    def _numbers(self, seen: Any) -> dict[str, float] | Exception:
        if isinstance(seen, Exception):
            return seen
        try:
            motion = self.kind.motion(seen)
            if motion is not None and motion.code in (Code.STALLED, Code.FAILED):
                return FallingCatError(motion.status)
            with np.errstate(all="ignore"):
                return {name: float(self.kind.measure(measure)(seen)) for name, measure in self.measures.items()}
        except Exception as error:
            return error


def _said(error: Exception) -> str:
    """In one line: its own of an error of the library, with its kind of any other."""
    text = str(error) if isinstance(error, FallingCatError) else f"{type(error).__name__}: {error}"
    return str(FallingCatError(text))[:LONGEST_ERROR]
