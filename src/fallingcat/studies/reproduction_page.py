"""The page of a reproduction: one line for each study, then each with its numbers and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..views import Chart, Fact, Page, Table, Text
from ..views.page import TIME, Block
from .covered import STATES, counts, documents, key
from .page import judged, number, said
from .reproduction import Reproduced, Reproduction

STILL = "time of the run (s)"
"""So that no time line moves runs of different lengths."""


def reproduction_page(found: Reproduction) -> Page:
    """All tables and figures."""
    rows = [row for study in found.studies for row in study.rows]
    compared = [row for row in rows if row.verdict in ("agrees", "differs")]
    claimed = [row.holds for row in rows if row.verdict == "not published" and row.holds is not None]
    agree = sum(row.verdict == "agrees" for row in compared)
    facts = [
        Fact("studies", str(len(found.studies)), f"of {len(_documents(found))} documents, in {found.seconds:.0f} s"),
        Fact("agree", f"{agree} of {len(compared)}", "published numbers that can be compared"),
        Fact("differ", str(len(compared) - agree), "each with why, as far as it is known"),
        Fact("hold", f"{sum(claimed)} of {len(claimed)}", "identities, balances and numbers of others"),
        Fact("not comparable", str(sum(row.verdict == "not comparable" for row in rows)), "each with why"),
    ]
    blocks = [_summary(found), _coverage(), *(block for study in found.studies for block in _study(study))]
    about = (
        "Every experiment of the documents, run again: what was published, what we find, and what may be said of it."
    )
    return Page("The documents, reproduced", about, facts, blocks)


def _documents(found: Reproduction) -> set[str]:
    return {study.document for study in found.studies} - {""}


def _summary(found: Reproduction) -> Table:
    header = ("study", "document", "agree", "differ", "not comparable", "hold", "seconds", "verdict", "what")
    rows = []
    for study in found.studies:
        count = {v: sum(row.verdict == v for row in study.rows) for v in ("agrees", "differs", "not comparable")}
        held = [row.holds for row in study.rows if row.verdict == "not published" and row.holds is not None]
        hold = f"{sum(held)} of {len(held)}" if held else "-"
        counts = (str(count["agrees"]), str(count["differs"]), str(count["not comparable"]), hold)
        verdict = "holds" if study.holds else "does not hold"
        what = f"did not run: {study.error}" if study.error else study.title
        rows.append((study.study, study.document or "our own", *counts, f"{study.seconds:.1f}", verdict, what))
    return Table("Studies", header, rows, wide=True, good=[study.holds for study in found.studies])


def _coverage() -> Table:
    """How many of the items that each document numbers the library has."""
    header = ("state", *(f"[{key(name)}]" for name in documents()), "what")
    rows = [(state, *map(str, found.values()), STATES[state]) for state, found in counts().items()]
    return Table("Coverage: equations, theorems, tables, figures and examples", header, rows, wide=True)


def _study(study: Reproduced) -> Iterator[Block]:
    yield Text(study.title, f"{study.study}: {study.about}" + (f" It did not run: {study.error}" * bool(study.error)))
    if study.rows:
        header = ("quantity", "published", "ours", "unit", "verdict", "where, and why different")
        rows = [
            (r.name, said(r), number(r.ours), r.unit, judged(r), "; ".join(x for x in (r.where, r.remark) if x))
            for r in study.rows
        ]
        yield Table("Published and ours", header, rows, wide=True, good=[row.holds for row in study.rows])
    for block in study.figures:
        yield replace(block, x_label=STILL) if isinstance(block, Chart) and block.x_label == TIME else block
