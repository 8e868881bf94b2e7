"""Running a study: its motion, its numbers, and how they compare with what was published."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, told
from ..simulation import Trajectory
from . import hopper_kinds  # noqa: F401 - makes the kinds of hoppers known
from .kind import KINDS, Found, Progress
from .measures import measured
from .tables import RowTable, Study, load
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
    found: Found
    rows: tuple[Row, ...]
    seconds: float
    """wall time of the simulation and its measures"""

    @property
    def observed(self) -> Any:
        """The run and what its kind sees of it: :class:`Seen`, of hoppers :class:`Observed`."""
        return self.found.seen

    @property
    def trajectory(self) -> Trajectory:
        """The run."""
        return self.found.seen.run

    @property
    def parameters(self) -> Any:
        """What its kind has."""
        return self.study.parameters

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """Of a scan: ``q1`` (rad) and ``spin`` (N m s)."""
        return self.found.curves

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
        """The motion, the table and the charts of its kind, as one page."""
        return KINDS[self.study.table.kind].page(self)


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
    tell = progress or (lambda what, share: None)
    found = KINDS[study.table.kind].run(study.table.robot, study.parameters, tell)
    rows = tuple(_row(table, study, found) for table in study.table.row)
    return StudyResult(study, found, rows, time.perf_counter() - began)


def _row(table: RowTable, study: Study, found: Found) -> Row:
    extra = found.numbers
    value = extra[table.measure] if table.measure in extra else measured(table.measure, found.seen)
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
