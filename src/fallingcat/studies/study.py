"""Running a study: its motion, its numbers, and how they compare with what was published."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, describe
from ..records import concise
from ..simulation import Trajectory
from .kind import Parameters, Progress
from .tables import RowTable, Study, load
from .verdicts import VERDICT_CATEGORIES, Band, Category, Count, Verdict, printed_number, verdict_of

if TYPE_CHECKING:
    from ..visualization import Page


@dataclass(frozen=True)
class Row:
    """One row of a study: a published value, the computed value and a verdict.

    Rows without a published value may have a ``reference`` of an independent computation, which the computed value has
    to match within ``tolerance``; without a reference it has to be zero within ``tolerance``.

    Example:
        >>> row = run_study(load("from-equations").with_parameters({"samples": 1})).rows[0]
        >>> row.name, row.category, row.holds
        ('velocity on SE(3)', 'identity', True)
    """

    name: str
    published: float | str | None
    """a number or the words of the source"""
    ours: float | None
    unit: str
    verdict: Verdict
    holds: bool | None
    """True if it agrees, or is within its tolerance; None where nothing is claimed"""
    band: Band | None = None
    """smallest and largest number that agree with the source"""
    where: str = ""
    """in the source"""
    remark: str = ""
    reference: float | None = None
    tolerance: float | None = None

    @property
    def category(self) -> Category:
        """Class of the row; classes are counted apart."""
        if self.published is None:
            return "measured" if self.tolerance is None else "identity"
        return "printed statement" if isinstance(self.published, str) else "printed number"

    def data(self) -> dict[str, Any]:
        """Row as ``--json`` prints it; an open end of the band is null.

        Returns:
            Values by field name.
        """
        keys = ("name", "category", "published", "ours", "unit", "verdict", "holds", "where")
        band = self.band and [x if math.isfinite(x) else None for x in self.band]
        return {key: getattr(self, key) for key in keys} | {"band": band}


def tally(rows: Iterable[Row]) -> dict[Category, Count]:
    """Counts of the classes that have a verdict, each apart."""
    listed = list(rows)
    out: dict[Category, Count] = {}
    for category in VERDICT_CATEGORIES:
        own = [row for row in listed if row.category == category]
        judged = [row.holds for row in own if row.holds is not None]
        out[category] = Count(sum(judged), len(judged), sum(row.verdict == "not comparable" for row in own))
    return out


@concise
@dataclass(frozen=True, eq=False)
class StudyResult:
    """Result of a study: rows with verdicts, observed quantities, trajectory and page.

    Example:
        >>> result = run_study(load("from-equations").with_parameters({"samples": 1}))
        >>> result.holds, result.row("velocity on SE(3)").verdict
        (True, 'not published')
        >>> result.page().title
        'Equations of a rigid body on every group of motions'
    """

    study: Study
    observed: Any
    """observed quantities of the kind of the study"""
    rows: tuple[Row, ...]
    seconds: float
    """wall time of the run and its measures"""

    @property
    def parameters(self) -> Parameters:
        """Parameters of the run."""
        return self.study.parameters

    @property
    def trajectory(self) -> Trajectory:
        """Motion of the run; an error where this kind of study simulates none."""
        found = self.study.kind.motion(self.observed)
        if found is None:
            raise ModelError(f"study {self.study.name!r}: the kind {self.study.kind.name!r} simulates no motion")
        return found

    @property
    def holds(self) -> bool:
        """True if no row fails: nothing differs, and all that has a tolerance is within it."""
        return all(row.holds is not False for row in self.rows)

    def row(self, name: str) -> Row:
        """Row by name.

        Args:
            name: Name of the row.

        Returns:
            Row.
        """
        return next(row for row in self.rows if row.name == name)

    def data(self) -> dict[str, Any]:
        """Result as ``--json`` prints it.

        Returns:
            Name of the study, wall time (s) and rows.
        """
        return {"study": self.study.name, "seconds": self.seconds, "rows": [row.data() for row in self.rows]}

    def page(self) -> Page:
        """Page with the figures of its kind and the table.

        Returns:
            Page.
        """
        from .page import study_page

        return study_page(self)


def run(study: str, progress: Progress | None = None, **parameters: Any) -> StudyResult:
    """Run a study.

    Args:
        study: Name of a study, or path of a ``.toml`` file.
        progress: Called with what is done and its share (0 to 1).
        **parameters: Parameters of the study that differ from its file.

    Returns:
        Rows with verdicts, observed quantities, and the trajectory of kinds that simulate.

    Example:
        >>> result = run("revolute-6", duration=2.0, K_E=8.0)
        >>> result.trajectory.status, result.study.changed
        ('finished', ('duration', 'K_E'))
        >>> result.row("ledger balance").holds
        True
        >>> run("revolute-6", K_e=8.0)
        Traceback (most recent call last):
        fallingcat.errors.FallingCatError: study 'revolute-6': there is no parameter 'K_e'; do you mean 'K_E'? ...
    """
    return run_study(load(study).with_parameters(parameters), progress)


def run_study(study: Study, progress: Progress | None = None) -> StudyResult:
    """Run a loaded study.

    Args:
        study: Study of :func:`load` or :func:`parse`.
        progress: Called with what is done and its share (0 to 1).

    Returns:
        As :func:`run`.

    Example:
        >>> run_study(load("from-equations").with_parameters({"samples": 1})).holds
        True
    """
    if not isinstance(study, Study):
        raise ModelError(f"run_study takes a study that was loaded, not {describe(study)}")
    began = time.perf_counter()
    kind = study.kind
    measures = [kind.measure(table.measure) for table in study.table.row]
    seen = kind.run(study.parameters, progress or (lambda what, share: None))
    numbers = [_number(measure(seen), table) for measure, table in zip(measures, study.table.row, strict=True)]
    rows = tuple(_row(table, study, number) for table, number in zip(study.table.row, numbers, strict=True))
    return StudyResult(study, seen, rows, time.perf_counter() - began)


def _number(value: Any, table: RowTable) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"the measure {table.measure!r} gives a number, not {describe(value)}") from None


def _row(table: RowTable, study: Study, value: float) -> Row:
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
    """Verdict on a number that is not published."""
    if table.tolerance is None or (table.reference is not None and study.other_experiment):
        return None
    return ours is not None and abs(ours - (table.reference or 0.0)) <= table.tolerance
