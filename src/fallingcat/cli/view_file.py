"""``fallingcat view FILE``: interactive robot in the browser."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from .app import File, app, errors_in_one_line
from .drop_cat import NoOpen
from .reading import Reading, model_of, with_reading_options
from .text import open_page, plain


@app.command()
@with_reading_options
def view(
    file: File,
    port: Annotated[int, typer.Option(help="Port of this computer; the next free one.")] = 8080,
    *,
    reading: Reading,
    no_open: NoOpen = False,
) -> None:
    """Move a robot by hand in the browser, until Ctrl-C.

    Joint sliders, a draggable hand, free floating, simulation.
    """
    with errors_in_one_line():
        from ..viewer import view as live

        model = model_of(file, reading)
        viewer = live(model, port=port)
        typer.echo(f"{plain(model.name)} is shown at {viewer.url}, on this computer only; Ctrl-C ends it")
        if not no_open:
            open_page(viewer.url)
        try:
            while True:
                time.sleep(1.0)
        except KeyboardInterrupt:
            viewer.stop()
