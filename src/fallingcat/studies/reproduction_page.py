"""The page of a reproduction: one line for each study, then each with its numbers and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ..visualization import Chart, Fact, Page, Table, Text
from ..visualization.charts import TIME
from ..visualization.page import Block
from .coverage_table import STATES, counts, documents, key
from .page import number, published_text, verdict_text
from .reproduction import Reproduction, ReproductionResult
from .verdicts import VERDICT_CATEGORIES, Category

NOTES: Final[dict[Category, str]] = {
    "printed number": "agree to half a unit of the last printed digit",
    "printed statement": "agree by the rule that stands beside each",
    "identity": "hold: laws, balances and references of our own",
}
TIME_ROW = "time of the run (s)"
"""Label of the time axis where no cursor is shared, since runs differ in length."""


def reproduction_page(found: Reproduction) -> Page:
    """Page with all tables and figures."""
    counts = found.counts
    facts = [
        Fact("studies", str(len(found.studies)), f"of {len(_documents(found))} documents, in {found.seconds:.0f} s"),
        *(Fact(VERDICT_CATEGORIES[category], str(counts[category]), note) for category, note in NOTES.items()),
        Fact("not comparable", str(sum(count.incomparable for count in counts.values())), "each with why"),
    ]
    blocks = [_summary(found), _coverage(), *(block for study in found.studies for block in _study(study))]
    about = (
        "Every experiment of the documents, run again: what was published, what we find, and what may be said of it."
    )
    return Page("The documents, reproduced", about, facts, blocks)


def _documents(found: Reproduction) -> set[str]:
    return {study.document for study in found.studies} - {""}


def _summary(found: Reproduction) -> Table:
    header = (
        "study",
        "document",
        "numbers",
        "statements",
        "identities",
        "not comparable",
        "seconds",
        "verdict",
        "what",
    )
    rows = []
    for study in found.studies:
        count = study.counts
        counts = (*map(str, count.values()), str(sum(each.incomparable for each in count.values())))
        verdict = "holds" if study.holds else "does not hold"
        what = f"did not run: {study.error}" if study.error else study.title
        rows.append((study.study, study.document or "our own", *counts, f"{study.seconds:.1f}", verdict, what))
    return Table("Studies", header, rows, wide=True, good=[study.holds for study in found.studies])


def _coverage() -> Table:
    """Number of the numbered items of each document that the library has."""
    header = ("state", *(f"[{key(name)}]" for name in documents()), "what")
    rows = [(state, *map(str, found.values()), STATES[state]) for state, found in counts().items()]
    return Table("Coverage: equations, theorems, tables, figures and examples", header, rows, wide=True)


def _study(study: ReproductionResult) -> Iterator[Block]:
    yield Text(study.title, f"{study.study}: {study.about}" + (f" It did not run: {study.error}" * bool(study.error)))
    if study.rows:
        header = ("quantity", "class", "published", "ours", "unit", "verdict", "where, rule, and why different")
        rows = [
            (
                r.name,
                r.category,
                published_text(r),
                number(r.ours),
                r.unit,
                verdict_text(r),
                "; ".join(x for x in (r.where, r.remark) if x),
            )
            for r in study.rows
        ]
        yield Table("Published and ours", header, rows, wide=True, good=[row.holds for row in study.rows])
    for block in study.figures:
        yield replace(block, x_label=TIME_ROW) if isinstance(block, Chart) and block.x_label == TIME else block
