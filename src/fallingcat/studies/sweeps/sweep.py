"""A study over a grid or a sample of its parameters, resumable, on this machine or on a cluster."""

from __future__ import annotations

import os
import platform
import re
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from math import isqrt, prod
from pathlib import Path
from typing import Any, Final

from ..._version import __version__
from ...dynamics.checks import positive
from ...errors import ExtraMissingError, FallingCatError, ModelError, describe
from ...progress import report_progress
from ..tables import Study, load
from .functions import study_of
from .job import Job
from .points import Points, Value, points_of
from .processes import Processes
from .store import DONE, ERROR, FAILED, Store, create, resume_store

MAX_CHUNKS: Final = 1_000_000
"""Each is a task, and a file for each measure."""
LARGEST_CHUNK: Final = 1 << 13
"""Runs, unless said otherwise: see the cost model in docs/explanation/sweep_design.md."""
MAX_FILES_PER_SECOND: Final = 2000.0
"""Files that all workers of a cluster together may write in a second."""
SUSPECT_CHUNKS: Final = 64
"""Chunks that are run carefully after a worker has died."""
PROGRESS_PERIOD: Final = 0.5
"""s between two checks of the progress of workers"""

SweepProgress = Callable[[int, int, int], None]
"""Callback with the numbers of runs that are done, that failed, and of all."""
Runner = Callable[[Job, Sequence[int]], Iterator[int]]
"""Finishes chunks, in any order."""


@dataclass(frozen=True)
class Sweep:
    """Result of a sweep; :meth:`open_chunks` opens its store.

    Example:
        >>> from pathlib import Path
        >>> Sweep(Path("gains.zarr"), done=98, failed=2, total=100).data()
        {'done': 98, 'failed': 2, 'total': 100}
    """

    out: Path
    """a zarr store"""
    done: int
    """runs whose numbers are there"""
    failed: int
    """runs that failed, each with its error"""
    total: int

    def open(self) -> Any:
        """Dataset over the swept parameters: the measures, ``done``, ``failed``, ``error``.

        Returns:
            An ``xarray.Dataset``.
        """
        try:
            import xarray
        except ImportError:
            raise ExtraMissingError("sweep", package="xarray", purpose="a sweep as a dataset") from None
        return xarray.open_dataset(self.out, engine="zarr")

    def data(self) -> dict[str, int]:
        """Numbers of runs as ``--json`` prints them.

        Returns:
            Runs done, failed and in all.
        """
        return {"done": self.done, "failed": self.failed, "total": self.total}


def sweep(
    study: str | Study | Callable[..., Any],
    grid: Mapping[str, Iterable[Value]],
    out: str | os.PathLike[str],
    *,
    sample: int | None = None,
    seed: int = 0,
    resume: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    target: str = "cpu",
    chunk: int | None = None,
    time_limit: float | None = None,
    progress: SweepProgress | bool | None = None,
    measures: Sequence[str] | None = None,
    **parameters: Any,
) -> Sweep:
    """Run a study or a function over a grid of parameters, or over a Latin hypercube.

    The store at ``out`` is a zarr group that xarray opens, also while the sweep is running. Each measure of the study's
    rows (of its kind, where it has no rows) is a variable over the swept parameters; ``done`` marks finished runs,
    ``failed`` and ``error`` record failures. Runs are committed in the batches of their kind.

    Args:
        study: Name of a study, a loaded :class:`Study`, or a function that is called with the parameters by name and
            returns a number (variable ``result``) or a mapping from names to numbers.
        grid: Values of each swept parameter, by name.
        out: Folder of the store.
        sample: Number of points of a Latin hypercube between the smallest and largest values; None: the whole grid.
        seed: Seed of the hypercube.
        resume: Continue a stopped sweep; the numbers are bitwise those of one that was not stopped.
        workers: Processes of one thread each; None: one per core; 0: this process.
        scheduler: Address of a Dask cluster, in place of local processes.
        target: ``"cpu"``, or ``"cuda"`` for kinds that run on a GPU.
        chunk: Runs in a chunk of the store; None: about the square root of their number.
        time_limit: Longest time of a run (s); longer ones are recorded as failed.
        progress: True or False for a bar always or never, or a function of the runs done, failed and in all.
        measures: Names of the numbers that a function returns; None: a call at the first point finds them.
        **parameters: Parameters that are the same in all runs.

    Returns:
        Numbers of runs done, failed and in all, and the store.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = sweep(lambda x: x * x, {"x": [1.0, 2.0, 3.0]}, f"{folder}/squares", workers=0, progress=False)
        >>> found.done, found.total
        (3, 3)
    """
    if isinstance(study, Study):
        wanted = study.with_parameters(parameters)
    elif isinstance(study, str):
        wanted = load(study).with_parameters(parameters)
    elif callable(study) and not isinstance(study, type):
        wanted = study_of(study, grid, parameters, measures)
    else:
        raise ModelError(f"a study is given by its name, its file, itself or as a function, not by {describe(study)}")
    points = points_of(wanted, grid, sample, seed)
    run = _on_cluster(scheduler) if scheduler is not None else _local_runner(_workers(workers))
    limit = None if time_limit is None else positive(time_limit, "time_limit")
    if limit is not None and workers == 0 and scheduler is None:
        raise ModelError("a time limit ends the process of a run: give it one, workers=1 or more")
    job = replace(_job(wanted, points, Path(out), resume, chunk, target), time_limit=limit, token=uuid.uuid4().hex)
    if callable(progress):
        return _run_chunks(job, run, progress)
    if not (progress is None or isinstance(progress, bool)):
        raise ModelError(
            f"progress is True, False or a function of runs done, failed and in all, not {describe(progress)}"
        )
    with report_progress(f"sweep of {wanted.name!r}", progress) as report:
        share = report or (lambda share: None)
        return _run_chunks(job, run, lambda done, failed, total: share((done + failed) / max(1, total)))


def _run_chunks(job: Job, run: Runner, progress: SweepProgress) -> Sweep:
    """Run all chunks, those of workers that died once more; only results on disk are counted."""
    counts, died = _Counts(job.store, progress), False
    while counts.open_chunks:
        before = counts.sums()
        chunks = list(
            islice(counts.open_chunks, SUSPECT_CHUNKS if died else None)
        )  # in their order: what was under way comes first
        with counts.report_commits():
            for k in run(replace(job, careful=died), chunks):
                counts.update_count(k)
        blamed = [job.record_death(k) for k in chunks] if died else []
        counts.look()
        lost = any(k in counts.open_chunks for k in chunks)
        if died and lost and not any(blamed) and counts.sums() == before:
            raise FallingCatError(
                f"workers died, and died again, in chunks {sorted(counts.open_chunks)[:5]} of {job.store.path}: "
                "what is done is kept, resume=True (--resume) goes on"
            )
        died = lost and not died  # once carefully, to learn which run it was; then as before
    job.store.remove_leftovers()
    done, failed = counts.sums()
    return Sweep(job.store.path, done, failed, counts.total)


class _Counts:
    """Progress of a store."""

    def __init__(self, store: Store, progress: SweepProgress) -> None:
        self._store, self._progress = store, progress
        self._counts = {k: store.count(k) for k in range(store.chunks)}
        self.total = sum(map(store.size, range(store.chunks)))
        self.look()

    def look(self) -> None:
        """Update the counts of all chunks that are not known to be finished."""
        self.open_chunks = {k: None for k, found in self._counts.items() if sum(found) < self._store.size(k)}
        self._counts |= {k: self._store.count(k) for k in self.open_chunks}
        self.open_chunks = {k: None for k in self.open_chunks if sum(self._counts[k]) < self._store.size(k)}
        self._progress(*self.sums(), self.total)

    def sums(self) -> tuple[int, int]:
        """Runs that are done, and that failed."""
        found = list(self._counts.values())
        return sum(done for done, _ in found), sum(failed for _, failed in found)

    def update_count(self, k: int) -> None:
        """Update the count of a chunk that a worker reports as finished; its files decide."""
        self._counts[k] = self._store.count(k)
        if sum(self._counts[k]) == self._store.size(k):
            self.open_chunks.pop(k, None)
        self._progress(*self.sums(), self.total)

    @contextmanager
    def report_commits(self) -> Iterator[None]:
        """Report the commits of workers to unfinished chunks while they run."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(PROGRESS_PERIOD):
                under_way = {k: self._store.count(k) for k in islice(list(self.open_chunks), 4 * (os.cpu_count() or 1))}
                done, failed = self.sums()
                more = [(d - self._counts[k][0], f - self._counts[k][1]) for k, (d, f) in under_way.items()]
                self._progress(done + sum(d for d, _ in more), failed + sum(f for _, f in more), self.total)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


# how it is run --------------------------------------------------------------------------------------------------------


def _local_runner(workers: int) -> Runner:
    """Processes of this machine, each of which may die by itself; without workers, this process."""

    def run(job: Job, chunks: Sequence[int]) -> Iterator[int]:
        if not workers:
            yield from map(job.finish, chunks)
            return
        rest, own = iter(chunks), replace(job, parent=os.getpid())
        with Processes(own) as at_work:
            for k in islice(rest, workers):
                at_work.begin(k)
            while at_work.busy:
                k = at_work.next_finished()
                for more in islice(rest, 1):
                    at_work.begin(more)
                yield k

    return run


def _on_cluster(address: str) -> Runner:
    """A Dask cluster that exists; what a worker that died was at, another does again."""

    def run(job: Job, chunks: Sequence[int]) -> Iterator[int]:
        try:
            from distributed import Client, as_completed
            from distributed.scheduler import KilledWorker
        except ImportError:
            raise ExtraMissingError("cluster", package="distributed", purpose="a sweep on a Dask cluster") from None
        with _client(Client, address) as client:
            if job.time_limit is not None and any(threads > 1 for threads in client.nthreads().values()):
                raise ModelError("a time limit ends the process of a run: workers of the cluster have one thread each")
            workers = max(1, sum(client.nthreads().values()))
            store = replace(job.store, path=job.store.path.resolve())
            pause = workers * (len(job.measures) + 1) / MAX_FILES_PER_SECOND
            job, ahead = replace(job, store=store, pause=pause), 4 * workers  # the scheduler holds few tasks of many
            rest = iter(chunks)
            futures = as_completed([client.submit(job.finish, k, pure=False) for k in islice(rest, ahead)], client.loop)
            for future in futures:
                if not isinstance(future.exception(), KilledWorker):  # else it is run again, while there is progress
                    yield future.result()
                futures.update([client.submit(job.finish, k, pure=False) for k in islice(rest, 1)])

    return run


def _client(client: Any, address: str) -> Any:
    """Dask client for this sweep alone: as Dask's default, an absent one would block all later work of Dask."""

    class OwnClient(client):  # type: ignore[misc]
        def __init__(self) -> None:
            try:
                super().__init__(address, timeout="10s", set_as_default=False)
            except BaseException:
                self.close()  # else Dask tries when it is freed, at the end of the process for 20 s
                raise

    try:
        return OwnClient()
    except (OSError, ValueError, TimeoutError) as error:
        raise FallingCatError(f"there is no Dask scheduler at {address!r}: {error}") from None


def _workers(wanted: int | None) -> int:
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 0:
        raise ModelError(f"workers are a whole number, 0 for this process, not {describe(wanted)}")
    return wanted


# what is run ----------------------------------------------------------------------------------------------------------


def _job(study: Study, points: Points, out: Path, resume: bool, chunk: int | None, target: str) -> Job:
    kind, measures = study.kind, _measures(study, points)
    if target not in kind.chunk_sizes:
        raise ModelError(
            f"runs of the kind {kind.name!r} take place on {' or '.join(kind.chunk_sizes)}, not {describe(target)}"
        )
    store = _store(study, points, measures, out, resume, chunk, target)
    return Job(study.name, kind, study.parameters.model_dump(), points, measures, store, target)


def _measures(study: Study, points: Points) -> dict[str, str]:
    """Variable: measure, of the rows of the study, or all of its kind; a name that two would have is an error."""
    wanted = dict.fromkeys(row.measure for row in study.table.row) or dict.fromkeys(study.kind.measures)
    taken = {**dict.fromkeys((DONE, FAILED, ERROR, *points.dims), ""), **dict.fromkeys(points.coordinates, "")}
    out: dict[str, str] = {}
    for measure in wanted:
        name = re.sub(r"\W+", "_", measure, flags=re.ASCII).strip("_") or "measure"
        name = f"{name}_measured" if name in taken else name
        if name in out:
            raise ModelError(f"the measures {out[name]!r} and {measure!r} would both be the variable {name!r}")
        out[name] = measure
    return out


def _store(
    study: Study,
    points: Points,
    measures: Mapping[str, str],
    out: Path,
    resume: bool,
    chunk: int | None,
    target: str,
) -> Store:
    about = _configuration(study, points, target)
    if resume and (out / "zarr.json").exists():
        return _reopen_damaged(resume_store(out, points, tuple(measures), about))
    most = (
        chunk
        if chunk is not None
        else min(max(isqrt(prod(points.shape)), study.kind.chunk_sizes[target]), LARGEST_CHUNK)
    )
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise ModelError(f"chunk is a whole number of runs above zero, not {describe(chunk)}")
    if prod(points.shape) / most > MAX_CHUNKS:
        raise ModelError(
            f"{prod(points.shape):,} runs in chunks of {most:,} are more than {MAX_CHUNKS:,} chunks: give larger ones"
        )
    rows = {row.measure: row for row in study.table.row}
    known = {
        name: {"long_name": rows[m].name, "units": rows[m].unit, "measure": m} if m in rows else {"measure": m}
        for name, m in measures.items()
    }
    return create(out, points, most, known, about)


def _reopen_damaged(store: Store) -> Store:
    """Store in which finished runs with missing files are open again."""
    lost = sum(map(store.repair, range(store.chunks)))
    if lost:
        text = f"files of {lost:,} finished runs are missing: they are run again"
        warnings.warn(f"{store.path}: {text}", RuntimeWarning, stacklevel=5)
    return store


def _configuration(study: Study, points: Points, target: str) -> dict[str, Any]:
    """Configuration that determines the numbers; exact, as JSON keeps every float."""
    return {
        "study": study.name,
        "kind": study.kind.name,
        "parameters": study.parameters.model_dump(mode="json"),
        "rows": [row.model_dump(mode="json") for row in study.table.row],
        "points": points.data(),
        "target": target,
        "versions": {
            "fallingcat": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "llvmlite")},
            "machine": platform.machine(),
        },
    }
