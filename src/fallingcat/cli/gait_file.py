"""``fallingcat gait FILE --joints A B``: where two joints turn or carry a robot."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import FallingCatError
from .app import Base, File, Json, app, errors_in_one_line
from .drop_cat import NoOpen, written
from .text import on_screen, shown, summary, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..gaits.study import Study


@app.command()
def gait(
    file: File,
    joints: Annotated[tuple[str, str], typer.Option("--joints", metavar="A B", help="The two joints that move.")],
    reach: Annotated[float, typer.Option(help="Largest bend (degrees).")] = 60.0,
    component: Annotated[
        str | None,
        typer.Option(help="x, y, z, rx, ry or rz: what the map shows; the largest, if left out.", show_default=False),
    ] = None,
    base: Base = None,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to write the page.")] = "gait.html",
    no_open: NoOpen = False,
    as_json: Json = False,
) -> None:
    """Show where two joints turn or carry a robot: curvature map, zero lines, and how far bends carried around go."""
    with errors_in_one_line():
        from ..gaits.study import study, study_page
        from ..io import load

        if not (math.isfinite(reach) and reach > 0.0):
            raise FallingCatError(f"--reach is a positive angle in degrees, not {reach:g}")
        found = study(load(file, base=base), joints, math.radians(reach), component)
        page = written(study_page(found), out)
        if as_json:
            typer.echo(json.dumps(found.data() | {"page": page}, indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print(console, found, file, page))
        if not (no_open or as_json):
            typer.launch(page)


def _print(console: Console, found: Study, file: str, page: str) -> None:
    from ..gaits.study import COMPONENTS

    name = COMPONENTS[found.component]
    middle, far = [math.degrees(x) for x in found.center], found.best.exact[found.component]
    best = f"circle around ({middle[0]:.0f}, {middle[1]:.0f}) deg of radius {math.degrees(found.best.radius):.0f} deg: "
    best += f"{name} {far:.4g} m" if found.component < 3 else f"{name} {math.degrees(far):.2f} deg"
    summary(console, {"robot": found.model.name, "file": file, "joints": " and ".join(found.joints), "best": best})
    header = found.header()
    out = table(header[0], least=6)
    for title in header[1:]:
        out.add_column(title, justify="right", no_wrap=True)
    for row in found.rows():
        out.add_row(*map(shown, row))
    console.print()
    console.print(out)
    console.print(f"\nexact displacement of one cycle (m, deg), estimate of {name} from its curvature,")
    console.print("and the angle (for lengths, the way) between the ends of both")
    console.print(shown(page), soft_wrap=True)
