"""``fallingcat report FILE``: report page of a robot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from .app import File, Json, app, errors_in_one_line
from .drop_cat import progress_bar, write_page
from .reading import Reading, model_of, with_reading_options
from .text import on_screen, open_page, summary

if TYPE_CHECKING:
    from ..studies import RobotReport


@app.command("report")
@with_reading_options
def report_robot(
    file: File,
    states: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of random states at which equations are checked.")
    ] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states and shapes.")] = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Output page; default: report.html.", show_default=False),
    ] = None,
    *,
    reading: Reading,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Write a page about a robot: masses, checks, gaits, 3-D.

    Also its tree, couplings and curvature.  Exit code 1 if a check of its equations fails or could not be made.
    """
    with errors_in_one_line():
        from ..studies import report

        model = model_of(file, reading)
        with progress_bar(as_json) as progress:
            found = report(model, states, seed, progress)
            if progress is not None:
                progress("drawing", 1.0)
            page = write_page(found.page(), out or "report.html")
        if as_json:
            typer.echo(json.dumps(found.data() | {"file": file, "page": page}, indent=2, allow_nan=False))
        else:
            on_screen(lambda console: summary(console, _lines(found, page)))
        if show:
            open_page(page)
        if not found.passed:
            raise typer.Exit(1)


def _lines(found: RobotReport, page: str) -> dict[str, str]:
    data, at = found.data(), "one state" if found.states == 1 else f"{found.states} states"
    rows = {
        "robot": f"{data['name']}: {data['mass']:.4g} kg, {data['links']} links, base {data['base']}",
        "equations": f"{data['claims']['proved']} of {data['claims']['total']} claims proved at {at}",
    }
    if data["couplings"]:
        most = max(data["couplings"], key=lambda x: x["turn"])
        rows["strongest joint"] = f"{most['name']}: the base turns by {most['turn']:.3g} of its turn"
    if data["gaits"]:
        best = data["gaits"][0]
        rows["best gait"] = f"{' and '.join(best['joints'])}: {57.29577951308232 * best['turn']:.4g} deg per cycle"
    return rows | {"page": page}
