"""Every study again, on one page: published and own results, the verdict on them, and its reason."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import current_process, get_context
from typing import TYPE_CHECKING, Any, Final

from ..errors import FallingCatError, ModelError, describe
from ..records import concise
from .kind import Progress
from .study import Row, run_study, tally
from .tables import load, names
from .verdicts import Category, Count

if TYPE_CHECKING:
    from ..visualization import Page
    from ..visualization.page import Block

DOCUMENT: Final = re.compile(r"\[([A-Z]\w+)\]")
WORKER_DIED: Final = (
    'a worker process ended before it answered: call this under `if __name__ == "__main__":`, because every worker '
    "imports the script that started it, or with workers=1; a guarded script has run out of memory"
)


@concise
@dataclass(frozen=True, eq=False)
class ReproductionResult:
    """Rows and verdicts of one study, without its trajectories.

    Example:
        >>> found = ReproductionResult("a", "t", "[Mishra] V-B: a gait")
        >>> found.holds, found.data()["rows"]
        (True, [])
    """

    study: str
    title: str
    about: str
    rows: tuple[Row, ...] = ()
    figures: tuple[Block, ...] = ()
    seconds: float = 0.0
    error: str = ""
    """reason why it did not run"""

    @property
    def document(self) -> str:
        """Key of the source document: the first that its file names; empty for a study of our own.

        Example:
            >>> ReproductionResult("a", "t", "[Mishra] V-B: a gait; see [ETH]").document
            'Mishra'
        """
        found = DOCUMENT.search(self.about)
        return found[1] if found else ""

    @property
    def holds(self) -> bool:
        """True if it ran, and no row fails."""
        return not self.error and all(row.holds is not False for row in self.rows)

    @property
    def counts(self) -> dict[Category, Count]:
        """Printed numbers, printed statements and identities, each apart."""
        return tally(self.rows)

    def data(self) -> dict[str, Any]:
        """Rows and verdicts as ``--json`` prints them.

        Returns:
            Values by name.
        """
        error = {"error": self.error} if self.error else {}
        return (
            {"study": self.study, "title": self.title, "seconds": self.seconds, "holds": self.holds}
            | error
            | {"counts": {category: count._asdict() for category, count in self.counts.items()}}
            | {"rows": [row.data() for row in self.rows]}
        )


@concise
@dataclass(frozen=True, eq=False)
class Reproduction:
    """Rows and verdicts of all studies, in the order of their names.

    Example:
        >>> Reproduction((ReproductionResult("a", "t", "", error="no memory"),), seconds=1.0).holds
        False
    """

    studies: tuple[ReproductionResult, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """True if no study fails."""
        return all(study.holds for study in self.studies)

    @property
    def counts(self) -> dict[Category, Count]:
        """Printed numbers, printed statements and identities of all studies, each apart."""
        return tally(row for study in self.studies for row in study.rows)

    def page(self) -> Page:
        """Page with all tables and figures.

        Returns:
            Page.
        """
        from .reproduction_page import reproduction_page

        return reproduction_page(self)


def reproduce(
    only: Sequence[str] = (), *, fast: bool = False, workers: int = 1, progress: Progress | None = None
) -> Reproduction:
    """Run the studies of the library and compare them with the published results.

    Args:
        only: Names of studies or keys of documents (``"Mishra"``); all if empty.
        fast: Use the ``fast`` parameters of the study files: fewer runs behind numbers that are not published.
        workers: Number of processes.
        progress: Called with what is done and its share (0 to 1).

    Returns:
        Rows of all studies with verdicts, counted by class: printed numbers, printed statements, identities.

    Example:
        >>> found = reproduce(["orbital-gait"])
        >>> found.holds, found.studies[0].document
        (True, 'Mishra')
    """
    wanted = _selected_studies(only)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ModelError(f"workers are a whole number above zero, not {describe(workers)}")
    began, found = time.perf_counter(), {}
    for k, study in enumerate(_reproduce_studies(wanted, fast, workers)):
        found[study.study] = study
        if progress is not None:
            progress(study.study, (k + 1) / len(wanted))
    return Reproduction(tuple(found[name] for name in wanted), time.perf_counter() - began)


def _selected_studies(only: Sequence[str]) -> list[str]:
    """Names of studies, from names, beginnings of names and documents; a wrong one is an error that lists them."""
    if isinstance(only, str):
        raise ModelError(f"only is a list of studies, not {describe(only)}")
    documents = {name: ReproductionResult(name, "", load(name).table.about).document.lower() for name in names()}
    out: list[str] = []
    for word in only:
        near = [
            n for n in names() if word in (n, documents[n]) or str(word).lower() in (documents[n], f"[{documents[n]}]")
        ]
        if not near:
            load(word)  # raises, and says which there are
        out += near
    return [name for name in names() if name in out or not only]


def _reproduce_studies(wanted: list[str], fast: bool, workers: int) -> Iterator[ReproductionResult]:
    if min(workers, len(wanted)) <= 1:
        yield from (reproduce_study(name, fast) for name in wanted)
        return
    if getattr(current_process(), "_inheriting", False):  # a worker imports an unguarded script: its parent says so
        raise SystemExit(1)
    try:
        with ProcessPoolExecutor(min(workers, len(wanted)), mp_context=get_context("spawn")) as pool:
            for future in as_completed([pool.submit(reproduce_study, name, fast) for name in _longest_first(wanted)]):
                yield future.result()
    except BrokenProcessPool:
        raise FallingCatError(WORKER_DIED) from None


def _longest_first(wanted: list[str]) -> list[str]:
    """Studies with more ``fast`` parameters first, the longest ones: then none of these runs last."""
    return sorted(wanted, key=lambda name: -len(load(name).table.fast))


def reproduce_study(name: str, fast: bool = False) -> ReproductionResult:
    """One study, run and drawn; its error is recorded, and the others go on."""
    from ..visualization import Scene

    study = load(name)
    study = study.with_parameters(study.table.fast) if fast else study
    found = ReproductionResult(name, study.table.title, study.table.about)
    began = time.perf_counter()
    try:
        result = run_study(study)
        figures = study.kind.figures(study, result.observed)
    except FallingCatError as error:
        return replace(found, error=str(error), seconds=time.perf_counter() - began)
    except Exception as error:
        return replace(found, error=f"{type(error).__name__}: {error}", seconds=time.perf_counter() - began)
    drawn = tuple(block for block in (*figures.above, *figures.below) if not isinstance(block, Scene))
    return replace(found, rows=result.rows, figures=drawn, seconds=time.perf_counter() - began)
