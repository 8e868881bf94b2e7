"""Running a study: its motion, its numbers, and how they compare with what was published."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, told
from ..model import Model
from ..simulation import Trajectory
from .basin import basin
from .hopper import robot, simulated, start
from .measures import measured
from .observed import Observed
from .scan import Progress, about_scan, scanned
from .tables import BasinParameters, Parameters, RowTable, ScanParameters, Study, load
from .verdicts import Band, Verdict, printed_number, verdict_of

if TYPE_CHECKING:
    from ..views import Page


@dataclass(frozen=True)
class Row:
    """One number: published, ours, and what may be said of the two.

    Where nothing is published, ours may have to ``hold``: within ``tolerance`` of ``reference``, which others computed,
    or of zero.
    """

    name: str
    published: float | str | None
    """a number or the words of the source"""
    ours: float | None
    unit: str
    verdict: Verdict
    holds: bool | None
    """whether it agrees, or is within its tolerance; None where nothing is claimed"""
    band: Band | None = None
    """smallest and largest number that agree with the source"""
    where: str = ""
    """in the source"""
    remark: str = ""
    reference: float | None = None
    tolerance: float | None = None

    def data(self) -> dict[str, Any]:
        """What ``--json`` prints; an open end of the band is null."""
        keys = ("name", "published", "ours", "unit", "verdict", "holds", "where")
        band = self.band and [x if math.isfinite(x) else None for x in self.band]
        return {key: getattr(self, key) for key in keys} | {"band": band}


@dataclass(frozen=True, eq=False)
class StudyResult:
    """A study that was run."""

    study: Study
    parameters: Parameters
    trajectory: Trajectory
    rows: tuple[Row, ...]
    seconds: float
    """wall time of the simulation and its measures"""
    curves: dict[str, np.ndarray] = field(default_factory=dict)
    """of a scan: ``q1`` (rad) and ``spin`` (N m s)"""

    @property
    def observed(self) -> Observed:
        """The run and what is seen of it."""
        return Observed(self.trajectory, self.parameters)

    @property
    def holds(self) -> bool:
        """Whether no row fails: nothing differs, and all that has a tolerance is within it."""
        return all(row.holds is not False for row in self.rows)

    def row(self, name: str) -> Row:
        """A row by name."""
        return next(row for row in self.rows if row.name == name)

    def data(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {"study": self.study.name, "seconds": self.seconds, "rows": [row.data() for row in self.rows]}

    def page(self) -> Page:
        """The panels of the study's figures, the animation and the table, as one page."""
        from .page import study_page

        return study_page(self)


def run(study: str, progress: Progress | None = None, **parameters: Any) -> StudyResult:
    """Run a study, by name or from a file of one's own, with other parameters where they are given.

    >>> result = run("revolute-6", duration=2.0, K_E=8.0)
    >>> result.trajectory.status, result.study.changed
    ('finished', ('duration', 'K_E'))
    >>> result.row("ledger balance").holds
    True
    >>> run("revolute-6", K_e=8.0)
    Traceback (most recent call last):
    fallingcat.errors.FallingCatError: study 'revolute-6': there is no parameter 'K_e'; do you mean 'K_E'? They are ...
    """
    return run_study(load(study).with_parameters(parameters), progress)


def run_study(study: Study, progress: Progress | None = None) -> StudyResult:
    """Run a study that was loaded."""
    if not isinstance(study, Study):
        raise ModelError(f"run_study takes a study that was loaded, not {told(study)}")
    began = time.perf_counter()
    p, tell = study.parameters, progress or (lambda what, share: None)
    model = robot(study.table.robot, p)
    found = simulated(model, start(model, p), p, progress=_seldom(lambda share: tell("running", share)))
    seen = Observed(found, p)
    extra, curves = _more(model, seen, p, tell)
    rows = tuple(_row(table, study, seen, extra) for table in study.table.row)
    return StudyResult(study, p, found, rows, time.perf_counter() - began, curves)


def _more(
    model: Model, seen: Observed, p: Parameters, tell: Progress
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """What studies of several runs find, by the names that their rows use."""
    if isinstance(p, ScanParameters):
        angles, spins = scanned(model, p, tell)
        return about_scan(angles, spins, p.q1), {"q1": angles, "spin": spins}
    if isinstance(p, BasinParameters):
        return basin(model, seen, p, tell), {}
    return {}, {}


def _seldom(tell: Callable[[float], None]) -> Callable[[float], None]:
    """Passes on every hundredth share only: a step takes microseconds."""
    last = -1.0

    def told(share: float) -> None:
        nonlocal last
        if share - last >= 0.01:
            last = share
            tell(share)

    return told


def _row(table: RowTable, study: Study, seen: Observed, extra: dict[str, float]) -> Row:
    value = extra[table.measure] if table.measure in extra else measured(table.measure, seen)
    ours = value if math.isfinite(value) else None
    printed = table.published
    number = None if printed is None else printed_number(printed)
    why = [study.other_experiment, table.incomparable] if printed is not None else []
    verdict = verdict_of(ours, printed is not None, not any(why), table.band)
    remark = "; ".join(text for text in (*why, table.because, table.remark) if text)
    holds = {"agrees": True, "differs": False, "not comparable": None}.get(verdict, _holds(ours, table, study))
    return Row(
        table.name, printed if number is None else number, ours, table.unit, verdict, holds, table.band, table.where,
        remark, table.reference, table.tolerance,
    )  # fmt: skip


def _holds(ours: float | None, table: RowTable, study: Study) -> bool | None:
    """Of a number that is not published."""
    if table.tolerance is None or (table.reference is not None and study.other_experiment):
        return None
    return ours is not None and abs(ours - (table.reference or 0.0)) <= table.tolerance
