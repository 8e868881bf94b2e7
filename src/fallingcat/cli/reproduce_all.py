"""``fallingcat reproduce``: all studies of the reference documents on one page."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated

import typer

from .app import Json, app, errors_in_one_line
from .drop_cat import progress_bar, write_page
from .text import escape_markup, on_screen, open_page, summary, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..studies import Reproduction


@app.command()
def reproduce(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Study, or document such as Mishra; repeatable."),
    ] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Fewer runs for numbers that are not published.")] = False,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Output page.")] = "reproduction.html",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes; default: two, or the number of cores.", min=1)
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Run every study of every document again, onto one page.

    It shows published | ours | verdict | why, and the figures.  Printed numbers (agree to half a unit of the last
    digit), printed statements (by a stated rule) and identities of our own are counted separately.  Exit code 1 if a
    verdict does not hold: a number that differs from its source, or is out of its tolerance.
    """
    with errors_in_one_line():
        from ..studies import reproduce as reproduced

        processes = workers or min(2, os.cpu_count() or 1)
        with progress_bar(as_json) as progress:
            found = reproduced(only or (), fast=fast, workers=processes, progress=progress)
            page = write_page(found.page(), out)
        if as_json:
            typer.echo(json.dumps([study.data() for study in found.studies], indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print(console, found, page))
        if show:
            open_page(page)
        if not found.holds:
            raise typer.Exit(1)


def _print(console: Console, found: Reproduction, page: str) -> None:
    from ..studies.page import number, published_text
    from ..studies.verdicts import VERDICT_CATEGORIES

    out = table("study", least=18)
    for title in ("document", "numbers", "statements", "identities", "s"):
        out.add_column(title, no_wrap=True, justify="left" if title == "document" else "right")
    for study in found.studies:
        counts = (*map(str, study.counts.values()), f"{study.seconds:.1f}")
        out.add_row(*map(escape_markup, (study.study, study.document or "our own", *counts)))
    console.print(out)
    console.print()
    for study in found.studies:
        if study.error:
            console.print(escape_markup(f"{study.study}: did not run: {study.error}"))
        for row in study.rows:
            if row.holds is False:
                console.print(
                    escape_markup(
                        f"{study.study}: {row.name}: "
                        f"published {published_text(row)}, ours {number(row.ours)} {row.unit}"
                    )
                )
    console.print()
    classes = {VERDICT_CATEGORIES[c]: f"{n}, {n.incomparable} not comparable" for c, n in found.counts.items()}
    summary(console, classes | {"verdicts": "all hold" if found.holds else "some do not hold", "page": page})
