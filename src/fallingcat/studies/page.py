"""The page of a study: the figures of its kind, the table of its numbers, and how to run it again."""

from __future__ import annotations

import math
from shlex import quote

from ..simulation import StatusCode
from ..visualization import Fact, Page, Table, Text
from .study import Row, StudyResult, tally
from .verdicts import VERDICT_CATEGORIES


def study_page(result: StudyResult) -> Page:
    """The page of a study that was run."""
    study = result.study
    figures = study.kind.figures(study, result.observed)
    blocks = [*figures.above, rows_table(result), *figures.below, *_ends(result)]
    return Page(study.table.title, _subtitle(result), _facts(result), blocks)


def _subtitle(result: StudyResult) -> str:
    changed = f" Changed: {', '.join(result.study.changed)}." if result.study.changed else ""
    run = result.study.kind.motion(result.observed)
    ended = "" if run is None or (run.code is StatusCode.FINISHED and not run.warnings) else f" The run {run.status}."
    return f"{result.study.name}: {result.study.table.about}{changed}{ended}"


def _facts(result: StudyResult) -> list[Fact]:
    run = result.study.kind.motion(result.observed)
    if run is None:
        facts = [Fact("computed", f"{result.seconds:.2f} s", "with all its numbers")]
    else:
        facts = [Fact("simulated", f"{run.times[-1]:.4g} s", f"in {result.seconds:.2f} s with all its numbers")]
    compared = [row for row in result.rows if row.verdict in ("agrees", "differs")]
    counts = tally(result.rows)
    facts += [
        Fact(VERDICT_CATEGORIES[c], str(n), "hold" if c == "identity" else "agree")
        for c, n in counts.items()
        if n.comparable
    ]
    shown = [
        (row.name, f"{number(row.ours)} {row.unit}".strip(), f"published: {published_text(row)}; {row.verdict}")
        for row in compared[:3]
    ]
    facts += [Fact(*texts) for texts in shown]
    return facts


# the table ----------------------------------------------------------------------------------------------------------


def number(x: float | None) -> str:
    """Five digits; a dash for nothing.

    >>> number(7.161018), number(None), number(53.0), number(1.6e-9)
    ('7.161', '-', '53', '1.6e-09')
    """
    if x is None:
        return "-"
    return "0" if x == 0.0 else f"{x:.5g}" if 1e-4 <= abs(x) < 1e5 else f"{x:.1e}"


def published_text(row: Row) -> str:
    """Published value: a number, words, or a dash."""
    return row.published if isinstance(row.published, str) else number(row.published)


def span(row: Row) -> str:
    """Interval of agreement where something is published; else the reference and its tolerance."""
    if row.band is None:
        return "-" if row.tolerance is None else f"{number(row.reference or 0.0)} +- {number(row.tolerance)}"
    low, high = (number(x) if math.isfinite(x) else "" for x in row.band)
    return low if low == high else f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}"


def verdict_text(row: Row) -> str:
    """The verdict; and that a number that is not published is out of its tolerance, if it is."""
    return f"{row.verdict}, does not hold" if row.verdict == "not published" and row.holds is False else row.verdict


def rows_table(result: StudyResult) -> Table:
    """Published, ours, verdict."""
    header = (
        "quantity", "class", "published", "computed by others", "ours", "unit", "agrees", "verdict",
        "where, and remark",
    )  # fmt: skip
    rows = [
        (
            row.name, row.category, published_text(row), number(row.reference), number(row.ours), row.unit, span(row),
            verdict_text(row), "; ".join(text for text in (row.where, row.remark) if text),
        )
        for row in result.rows
    ]  # fmt: skip
    return Table("Published and ours", header, rows, wide=True, good=[row.holds for row in result.rows])


def _ends(result: StudyResult) -> list[Text]:
    """The parameters, and how to run it again."""
    values = result.parameters.model_dump()
    shown = {key: f"{x:.10g}" if isinstance(x, float) else str(x) for key, x in values.items()}
    sets = "".join(f" --set {quote(f'{key}={shown[key]}')}" for key in result.study.changed)
    return [
        Text("Parameters (SI units, rad)", ", ".join(f"{key} = {x}" for key, x in shown.items())),
        Text("Again", f"fallingcat study run {quote(result.study.file or result.study.name)}{sets}"),
    ]
