"""Processes of this machine that finish the chunks of a sweep."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from typing import Any, Final

from ...errors import ExtraMissingError, FallingCatError
from .job import Job

MAX_DEATHS: Final = 3
"""Deaths of processes at one chunk, without a run that could be to blame."""
IDLE_TIME: Final = 5.0
"""s: a process without work leaves then, also where its coordinator was killed"""
THREADS: Final = tuple(f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR"))
"""Variables of the environment: how many threads libraries take."""


class Processes:
    """Pools of one process each: when one dies, it dies of its own run, and the others go on."""

    def __init__(self, job: Job) -> None:
        try:
            from joblib.externals.loky import ProcessPoolExecutor
            from joblib.externals.loky.process_executor import BrokenProcessPool
        except ImportError:
            raise ExtraMissingError("sweep", package="joblib", purpose="a sweep in several processes") from None
        self._job, self._pool, self._pool_error = job, ProcessPoolExecutor, BrokenProcessPool
        self._idle: list[Any] = []
        self.busy: dict[Any, tuple[int, Any, int]] = {}
        """task: chunk, its pool, and how many died at it without a run to blame"""

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (*self._idle, *(pool for _, pool, _ in self.busy.values())):
            pool.shutdown(wait=False, kill_workers=True)

    def begin(self, k: int, crashes: int = 0, careful: bool = False) -> None:
        """A process finishes chunk ``k``, one that is idle or a new one."""
        pool = self._idle.pop() if self._idle else self._pool(1, timeout=IDLE_TIME, env=dict.fromkeys(THREADS, "1"))
        task = pool.submit(replace(self._job, careful=careful).finish, k)
        self.busy[task] = k, pool, crashes

    def next_finished(self) -> int:
        """The next chunk that is finished, whoever dies meanwhile."""
        while True:
            for task in wait(self.busy, return_when=FIRST_COMPLETED).done:
                k, pool, crashes = self.busy.pop(task)
                try:
                    task.result()
                except self._pool_error:  # once more, one run after the other; then it is known of which it died
                    crashes = 0 if self._job.record_death(k) else crashes + 1
                    if crashes > MAX_DEATHS:
                        text = f"{crashes} processes died in chunk {k} of {self._job.store.path}: what is done is kept"
                        raise FallingCatError(f"{text}, resume=True (--resume) goes on") from None
                    self.begin(k, crashes, careful=True)
                    continue
                except BaseException:
                    self._idle.append(pool)
                    raise
                self._idle.append(pool)
                return k
