"""``fallingcat bench [FILE]``: timings of the kernels of a robot and of other libraries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import SCHEMA, Json, app, errors_in_one_line
from .reading import Reading, model_of, with_reading_options
from .text import escape_markup, on_screen, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..compiler.compare import Row
    from ..model import Model


@app.command()
@with_reading_options
def bench(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Robot file; default: a humanoid.", show_default=False)
    ] = None,
    *,
    reading: Reading,
    batch: Annotated[int, typer.Option(min=1, max=10_000_000, help="Number of states in one call.")] = 4096,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="Number of measurements.")] = 15,
    as_json: Json = False,
) -> None:
    """Time a robot's kernels beside NumPy, Pinocchio and MuJoCo.

    Packages that are not installed are left out.
    """
    with errors_in_one_line():
        from ..compiler.compare import compare
        from ..model import robots

        model = robots.humanoid()
        if file is not None:
            model = model_of(file, reading)
        rows = compare(model, batch, rounds)
        if as_json:
            typer.echo(json.dumps(_bench_report(model, batch, rounds, rows), indent=2))
        else:
            on_screen(lambda console: _print(console, model, batch, rounds, rows))


def _bench_report(model: Model, batch: int, rounds: int, rows: list[Row]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "robot": model.name,
        "dimensions": {"m": model.m, "n": model.n, "nv": model.nv, "nq": model.nq},
        "batch": batch,
        "rounds": rounds,
        "functions": [
            {
                "name": row.function,
                "operations": row.operations,
                "compile_s": row.compile_s,
                "times_s": {key: t._asdict() for key, t in row.times.items()},
            }
            for row in rows
        ],
    }


def _print(console: Console, model: Model, batch: int, rounds: int, rows: list[Row]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row.times))
    heads = {"kernel": "kernel", "batch": "in a batch", "numpy": "NumPy"}
    console.print(escape_markup(f"{model.name}: {model.nv} degrees of freedom; us for each state, median of {rounds}"))
    out = table("function")
    for head in ("operations", *(heads.get(name, name) for name in names)):
        out.add_column(head, justify="right", no_wrap=True)
    for row in rows:
        times = [_microseconds(row.times[name].median) if name in row.times else "-" for name in names]
        out.add_row(row.function, f"{row.operations:,}", *times)
    console.print(out)
    console.print(escape_markup(f"One core; batches of {batch:,}, from plain arrays."))
    missing = [peer for peer in ("Pinocchio", "MuJoCo") if peer not in names]
    if missing:
        console.print(escape_markup(f"Not installed, or unable to read the robot: {', '.join(missing)}."))


def _microseconds(t: float) -> str:
    return f"{1e6 * t:.3g}" if t < 1e-3 else f"{1e6 * t:,.0f}"
