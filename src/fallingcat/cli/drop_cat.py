"""``fallingcat drop``: a cat falls upside down, without spin, and lands on its feet."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FallingCatError
from .app import Json, app, errors_in_one_line
from .reading import model_of
from .text import escape_markup, on_screen, open_page

if TYPE_CHECKING:
    from rich.console import Console

    from ..model import Model
    from ..planning import Drop

SAMPLE_ROBOTS = ("humanoid", "quadruped", "two_cylinder_cat")
"""Robots of the library that have a name here."""
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")]


@app.command()
def drop(
    height: Annotated[float, typer.Option(help="Height of the center of mass above the floor (m).")] = 1.5,
    tilt: Annotated[float, typer.Option(help="Roll angle at the start (degrees, up to 180).")] = 180.0,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help=f"A robot file instead of the cat, or one of {', '.join(SAMPLE_ROBOTS)}.",
            show_default=False,
        ),
    ] = None,
    joints: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--joints",
            metavar="A B",
            help="The two joints that bend; default: the best of all.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Start with a random heading and drift.", show_default=False)
    ] = None,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Output page.")] = "drop.html",
    no_open: NoOpen = False,
    as_json: Json = False,
) -> None:
    """Drop a cat upside down, without spin; it lands on its feet."""
    with errors_in_one_line():
        began = time.perf_counter()
        robot = _robot(model)
        fall = _fall(height, tilt, robot, joints, seed, quiet=as_json)
        page = _page(fall, robot, out)
        result = drop_report(fall, time.perf_counter() - began, page)
        if as_json:
            typer.echo(json.dumps(result, indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print(console, fall, result))
        if not (no_open or as_json):
            open_page(page)


def _robot(file: str | None) -> Model | None:
    from .. import robots

    if file in SAMPLE_ROBOTS:
        made: Model = getattr(robots, file)()
        return made
    return None if file is None else model_of(file, {})


def _fall(
    height: float, tilt: float, robot: Model | None, joints: tuple[str, str] | None, seed: int | None, quiet: bool
) -> Drop:
    from ..planning import drop as dropped

    if not (math.isfinite(tilt) and 0.0 < tilt <= 180.0):
        raise FallingCatError(f"--tilt must be above 0 and up to 180 degrees, got {tilt:g}")
    with progress_bar(quiet) as progress:
        return dropped(height, math.radians(tilt), robot, joints, seed=seed, progress=progress)


def _page(fall: Drop, robot: Model | None, out: str) -> str:
    from ..model import robots
    from ..planning.righting.page import drop_page

    return write_page(drop_page(fall, robot or robots.cat(), is_cat=robot is None), out)


def write_page(page: Any, out: str) -> str:
    """Absolute path of a page, after it is written."""
    return str(page.write(out).resolve())


def drop_report(fall: Drop, seconds: float, page: str) -> dict[str, Any]:
    """Object that ``--json`` prints: degrees, relative angular momentum, relative energy gap, N m, s, path."""
    return {
        "turned_deg": math.degrees(fall.turned),
        "angular_momentum": float(fall.angular_momentum.max()),
        "energy_residual": fall.energy_residual,
        "peak_torque": fall.peak_force,
        "seconds": seconds,
        "page": page,
    }


def _print(console: Console, fall: Drop, result: dict[str, Any]) -> None:
    from rich.table import Table

    curve = fall.manoeuvre.curve
    out = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    out.add_column(style="bold", no_wrap=True)
    out.add_column(overflow="fold")
    out.add_column(style="dim")
    for row in (
        (
            "turned by",
            f"{result['turned_deg']:.2f} deg",
            f"lands {math.degrees(fall.landing_tilt):.2f} deg off upright",
        ),
        ("angular momentum", f"{result['angular_momentum']:.1e}", "at most, of what the joints move"),
        ("energy residual", f"{result['energy_residual']:.1e}", "energy against work of the joints"),
        ("peak torque", f"{result['peak_torque']:.2f} N m", "no wrench on the base"),
        (
            "bend",
            f"{math.degrees(curve.bend):.1f} deg",
            f"carried around {curve.turns:g} times in {fall.duration:.3f} s",
        ),
        ("fall", f"{fall.trajectory.times[-1]:.3f} s", f"{fall.fallen:.2f} m down"),
        ("time to plan", f"{fall.planning:.2f} s", f"{result['seconds']:.1f} s in all"),
    ):
        out.add_row(*map(escape_markup, row))
    console.print(out)
    console.print(escape_markup(f"\n{result['page']}"), soft_wrap=True)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Progress bar on a terminal's stderr; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:9}"), BarColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("planning", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)
