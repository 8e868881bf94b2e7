"""Work of one process: the runs of one chunk, batch after batch, each committed when it is done."""

from __future__ import annotations

import faulthandler
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FallingCatError, ModelError
from ...io.files import write_bytes
from ...simulation import StatusCode
from ..kind import Parameters, StudyKind
from ..validation import validate_table
from .points import Points
from .store import LONGEST_ERROR, Store

COMMIT_SHARE = 0.1
"""Share of the time of a worker that it may spend on commits."""


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
    """parent process; a worker ends when it is gone"""
    pause: float = 0.0
    """s between two commits of a worker: on clusters, so that all of them together do not flood the file system"""

    careful: bool = False
    """one run after the other, each noted before it begins: who dies of it is known then"""
    time_limit: float | None = None
    """s: a run that takes longer ends its process, and has failed"""
    token: str = ""
    """identifier of the coordinator: its notes are not those of another one"""

    @property
    def notes_runs(self) -> bool:
        """True if runs are noted before they begin."""
        return self.careful or self.time_limit is not None

    def finish(self, k: int) -> int:
        """Finish all open runs of chunk ``k``, and return ``k``."""
        if self.notes_runs:
            self.record_death(k)  # of one who died before
        part, runs = self.store.read(k), self.store.runs(k).ravel()
        todo, size = part.open_runs, 1 if self.notes_runs else max(1, self.kind.chunk_sizes[self.target])
        last, pause = time.monotonic(), 0.0
        for first in range(0, len(todo), size):
            some = todo[first : first + size]
            if self.notes_runs:
                write_bytes(self._note(k), str(some[0]).encode())
            with self._time_limit(k):
                outcomes = self.outcomes([int(run) for run in runs[some]])
            if self.parent is not None and os.getppid() != self.parent:
                os._exit(1)  # killed: somebody else may have gone on with this chunk
            for place, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, Exception):
                    part.failed.flat[place], part.error.flat[place] = True, _error_text(outcome)
                    continue
                part.done.flat[place] = True
                for name, number in outcome.items():
                    part.numbers[name].flat[place] = number
            begun = time.monotonic()
            if first + size >= len(todo) or begun - last >= pause:
                self.store.commit(k, part)
                last = time.monotonic()
                pause = max(self.pause, (last - begun) / COMMIT_SHARE)
        if self.notes_runs:
            self._note(k).unlink(missing_ok=True)
        return k

    def record_death(self, k: int) -> bool:
        """True if a run of chunk ``k`` had begun when its process died; then that is its error."""
        note, late = self._note(k), self._late_note(k)
        if not note.exists():
            return False
        part, place = self.store.read(k), int(note.read_text())
        over = late.exists() and late.stat().st_size > 0
        for file in (note, late):
            file.unlink(missing_ok=True)
        if part.done.flat[place] or part.failed.flat[place]:
            return False
        why = f"took longer than {self.time_limit:g} s" if over else "the process that ran it died"
        part.failed.flat[place], part.error.flat[place] = True, why
        self.store.commit(k, part)
        return True

    def _note(self, k: int) -> Path:
        return self.store.note(f"running.{self.token}.{k}")

    def _late_note(self, k: int) -> Path:
        return self.store.note(f"late.{self.token}.{k}")

    @contextmanager
    def _time_limit(self, k: int) -> Iterator[None]:
        """Time limit on the code inside: beyond it this process ends, and leaves a note."""
        if self.time_limit is None:
            yield
            return
        late = self._late_note(k)
        with late.open("w") as out:
            faulthandler.dump_traceback_later(self.time_limit, exit=True, file=out)  # also out of native code
            try:
                yield
            finally:
                faulthandler.cancel_dump_traceback_later()
        late.unlink()

    def outcomes(self, runs: list[int]) -> list[dict[str, float] | Exception]:
        """The numbers of some runs, or why there are none."""
        given = [self._parameters(run) for run in runs]
        good = [p for p in given if isinstance(p, Parameters)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they are about is in the numbers of each run
            seen = iter(self._observe(good))
            return [p if isinstance(p, Exception) else self._numbers(next(seen)) for p in given]

    def _parameters(self, run: int) -> Parameters | Exception:
        try:
            whole = {**self.base, **self.points.parameters_of(run)}
            return validate_table(self.kind.parameters, whole, f"study {self.study!r}", key="parameter")
        except FallingCatError as error:
            return error

    def _observe(self, many: list[Parameters]) -> list[Any]:
        try:
            seen = list(self.kind.run_many(many, self.target)) if many else []
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, GeneratorExit and asyncio's CancelledError are the task's, too
            if len(many) > 1:
                return [self._observe([each])[0] for each in many]  # the others are not to blame
            return [error if isinstance(error, Exception) else FallingCatError(_error_text(error))]
        if len(seen) != len(many):
            raise ModelError(f"the kind {self.kind.name!r} saw {len(seen)} of {len(many)} runs")
        return seen

    def _numbers(self, seen: Any) -> dict[str, float] | Exception:
        if isinstance(seen, Exception):
            return seen
        try:
            motion = self.kind.motion(seen)
            if motion is not None and motion.code in (StatusCode.STALLED, StatusCode.FAILED):
                return FallingCatError(motion.status)
            with np.errstate(all="ignore"):
                return {name: float(self.kind.measure(measure)(seen)) for name, measure in self.measures.items()}
        except Exception as error:
            return error


def _error_text(error: BaseException) -> str:
    """Error message in one line; for errors from outside the library, with the type of the error."""
    try:
        text = str(error) if isinstance(error, FallingCatError) else f"{type(error).__name__}: {error}"
    except Exception:  # an error whose own text fails
        text = type(error).__name__
    return str(FallingCatError(text))[:LONGEST_ERROR]
