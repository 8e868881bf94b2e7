"""``fallingcat sweep STUDY --grid NAME=start:stop:count``: a study over many parameters."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FallingCatError
from .app import Json, app, errors_in_one_line
from .study_run import parse_setting
from .text import count, on_screen, plain, summary

if TYPE_CHECKING:
    from ..studies.sweeps.sweep import Sweep, SweepProgress


@app.command()
def sweep(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of `study list`, or a .toml file of your own.")],
    grid: Annotated[
        list[str],
        typer.Option(
            "--grid",
            metavar="NAME=START:STOP:COUNT",
            help="Values of a parameter, evenly spaced, or NAME=A,B,C; repeatable.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Zarr store; default: STUDY.zarr.", show_default=False),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="Points of a Latin hypercube in the box of --grid, instead of its counts."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of a constant parameter; repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted sweep.")] = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes; default: one for each core; 0: this one.", show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask cluster instead, such as tcp://node1:8786.")
    ] = None,
    target: Annotated[
        str, typer.Option(metavar="cpu|cuda", help="Device of kinds of study that run in batches.")
    ] = "cpu",
    chunk: Annotated[
        int | None,
        typer.Option(metavar="RUNS", help="Runs in one file of each variable; default: the square root of all."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time limit of a run.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a study over a grid or a sample of its parameters.

    An interrupted sweep continues with --resume.
    """
    with errors_in_one_line():
        from ..studies import load
        from ..studies import sweep as swept

        wanted = load(study).with_parameters(dict(map(parse_setting, settings or ())))
        with sweep_bar(wanted.name, as_json) as progress:
            found = swept(
                wanted, dict(map(_axis, grid)), out or f"{wanted.name}.zarr", sample=sample, seed=seed, resume=resume,
                workers=workers, scheduler=scheduler, target=target, chunk=chunk, time_limit=time_limit,
                progress=progress,
            )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(found.data()))
        else:
            on_screen(lambda console: summary(console, _outcome(wanted.name, found)))
    if not found.done:
        raise typer.Exit(1)


def _outcome(name: str, found: Sweep) -> dict[str, str]:
    """Rows of the table of a sweep."""
    about = {"study": name, "runs": f"{found.done:,} of {found.total:,} done"}
    if found.failed:
        first = next(text for text in found.open()["error"].values.flat if text)
        about["failed"] = f"{count(found.failed, 'run')}, see the variable 'error'; one says: {first}"
    return about | {"results": f"{found.out.resolve()}: xarray.open_zarr(...)"}


def _axis(text: str) -> tuple[str, list[Any]]:
    """Parameter and its values.

    Example:
        >>> _axis("K_E=8:10:3"), _axis("controller=II,III")
        (('K_E', [8.0, 9.0, 10.0]), ('controller', ['II', 'III']))
    """
    from ..studies.sweeps.points import linear

    name, equals, values = (part.strip() for part in text.partition("="))
    if not (name and equals and values):
        raise FallingCatError(f"--grid must be NAME=START:STOP:COUNT or NAME=A,B,C, got {text!r}")
    if ":" not in values:
        return name, [parse_setting(f"{name}={value}")[1] for value in values.split(",")]
    try:
        return name, linear(values)
    except FallingCatError as error:
        raise FallingCatError(f"--grid {name} {error}") from None


@contextmanager
def sweep_bar(what: str, quiet: bool) -> Iterator[SweepProgress | None]:
    """Progress bar on a terminal's stderr with rate and time left; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[failed]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=120.0) as bar:
        task = bar.add_task(plain(what), total=None, rate="", failed="")

        def progress(done: int, failed: int, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:.3g} runs/s"
            bar.update(task, completed=done + failed, total=total, rate=rate, failed=f"{failed} failed" * bool(failed))

        yield progress
