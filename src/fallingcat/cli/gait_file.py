"""``fallingcat gait FILE --joints A B``: displacement of a robot by gaits of two joints."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import FallingCatError, how_to_get
from .app import File, Json, app, errors_in_one_line
from .drop_cat import NoOpen, write_page
from .reading import Reading, model_of, with_reading_options
from .text import escape_markup, on_screen, open_page, summary, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..planning.gaits.survey import Cycle, Survey


@app.command()
@with_reading_options
def gait(
    file: File,
    joints: Annotated[tuple[str, str], typer.Option("--joints", metavar="A B", help="The two joints that move.")],
    reach: Annotated[float, typer.Option(help="Largest bend (degrees; 60 are 1.05 m for a slider).")] = 60.0,
    component: Annotated[
        str | None,
        typer.Option(help="Component of the map: x, y, z, rx, ry or rz; default: the largest.", show_default=False),
    ] = None,
    frame: Annotated[
        str,
        typer.Option(
            metavar="FRAME",
            help="Frame of the curvature: base, center_of_mass, virtual_chassis or minimum_perturbation.",
        ),
    ] = "minimum_perturbation",
    optimize: Annotated[
        bool | None,
        typer.Option(
            "--optimize/--no-optimize",
            help="Search the optimal gait with CasADi; default: where it is installed.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Write the page with the map.")] = True,
    *,
    reading: Reading,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Output page.")] = "gait.html",
    no_open: NoOpen = False,
    as_json: Json = False,
) -> None:
    """Survey the gaits of two joints of a robot.

    Curvature map, zero lines, optimal gait, and displacement of bends.
    """
    with errors_in_one_line():
        from ..planning.gaits.survey import survey
        from ..planning.gaits.survey_page import survey_page

        if any(name.startswith("-") for name in joints):
            raise FallingCatError(f"--joints must be two different names, A B, got {' '.join(joints)}")
        if not (math.isfinite(reach) and reach > 0.0):
            raise FallingCatError(f"--reach must be a positive angle in degrees, got {reach:g}")
        model = model_of(file, reading)
        found = survey(model, joints, math.radians(reach), component, frame, optimize)
        page = write_page(survey_page(found), out) if plot else None
        if as_json:
            typer.echo(json.dumps(found.data() | {"page": page}, indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print(console, found, file, page))
        if page is not None and not (no_open or as_json):
            open_page(page)


def _print(console: Console, found: Survey, file: str, page: str | None) -> None:
    from ..planning.gaits.survey import COMPONENTS

    name = COMPONENTS[found.component]
    a, b = (
        f"{unit.factor * x:.3g} {unit.name}" for unit, x in zip(found.units, found.middle + found.center, strict=True)
    )
    radius = f"{found.bend.factor * found.circle.radius:.3g} {found.bend.name}"
    circle = f"{_displacement_text(found.circle, found)} around ({a}, {b}) with radius {radius}".replace(
        "degrees", "deg"
    )
    rows = {"robot": found.model.name, "file": file, "joints": " and ".join(found.joints), "best circle": circle}
    if found.optimum is not None and found.best is not None:
        rows["best gait"] = (
            f"{_displacement_text(found.best, found)} ({found.optimum.message}, {found.optimum.iterations} steps)"
        )
    elif find_spec("casadi") is None:
        rows["best gait"] = f"of any form: {how_to_get('casadi')}"
    summary(console, rows)
    header = found.header()
    out = table(header[0], least=6)
    for title in header[1:]:
        out.add_column(title, justify="right", no_wrap=True)
    for row in found.rows():
        out.add_row(*map(escape_markup, row))
    console.print()
    console.print(out)
    console.print(f"\nexact displacement of one cycle (m, deg), estimate of {name} from its curvature,")
    console.print("and the angle (for lengths, the way) between the ends of both")
    if page is not None:
        console.print(escape_markup(page), soft_wrap=True)


def _displacement_text(row: Cycle, found: Survey) -> str:
    from ..planning.gaits.survey import COMPONENTS, visible

    far, name = visible(row.exact, found.component), COMPONENTS[found.component]
    return f"{name} {far:.4g} m" if found.component < 3 else f"{name} {far:.2f} deg"
