"""``fallingcat atlas FILE...``: which robots turn over in free fall."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from .app import Json, app, errors_in_one_line
from .sweep_run import sweep_bar
from .text import on_screen, open_page, summary


@app.command()
def atlas(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Robot files, folders of them, or names of robots.", show_default=False),
    ],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the results.")] = "atlas",
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes; default: one for each core.", show_default=False)
    ] = None,
    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit for one robot.")] = 900.0,
    pages: Annotated[int, typer.Option(min=0, max=100, help="Robots with a page and an animation.")] = 10,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Rank robots by the drop in which they turn over.

    Half a minute for each robot and core. An interrupted atlas continues when the command is run again.
    """
    with errors_in_one_line():
        from ..studies import righting_atlas

        with sweep_bar("atlas", as_json) as progress:
            found = righting_atlas(files, out, workers=workers, time_limit=time_limit, progress=progress or False)
        page = str(found.write(out, pages).resolve())
        if as_json:
            typer.echo(json.dumps(found.data() | {"page": page}))
            return
        data = found.data()
        about = {
            "robots": f"{data['computed']} of {data['files']} files",
            "turn over": f"{data['turn_over']}, {data['clear']} of them with links clear of each other",
        }
        if found.rows and found.rows[0].turns_over:
            about["least drop"] = f"{found.rows[0].numbers['drop_earth']:.3g} m on Earth: {found.rows[0].file}"
        on_screen(lambda console: summary(console, about | {"page": page}))
        if show:
            open_page(page)
