"""``fallingcat certify FILE``: the equations of motion of a robot in every formulation, proved by their residuals."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from .app import SCHEMA, Base, File, Json, Physics, app, errors_in_one_line
from .text import count, on_screen, shown, summary, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ..formulations import Certificate, Check
    from ..model import Model


@app.command()
def certify(
    file: File,
    as_json: Json = False,
    states: Annotated[int, typer.Option(min=1, max=100_000, help="How many random states.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the random states.")] = 0,
    tolerance: Annotated[float, typer.Option(help="Largest relative residual of what holds.")] = 1e-9,
    physics: Physics = "strict",
    base: Base = None,
) -> None:
    """Prove the equations of motion of a robot: every formulation, every Coriolis matrix, over random states.

    Each claim is held against other algorithms: complex-step rates, Newton-Euler, energies, swept areas.
    Exit code 1 if one is broken.
    """
    with errors_in_one_line():
        from ..formulations.survey import survey
        from ..io import read

        model, _ = read(file, base=base, physics=cast(Literal["strict", "warn"], physics))
        with _progress(states) as advance:
            found = survey(model, states, seed, tolerance, advance)
        passed = all(certificate.passed for certificate in found)
        if as_json:
            settings = {"states": states, "seed": seed, "tolerance": tolerance}
            typer.echo(json.dumps(certificate_report(model, file, settings, found), indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print_all(console, model, file, states, found))
        if not passed:
            raise typer.Exit(1)


def certificate_report(
    model: Model, file: str, settings: dict[str, Any], found: Sequence[Certificate]
) -> dict[str, Any]:
    """All certificates as plain data: the object that ``--json`` prints; a residual that is not a number is None."""
    return {
        "schema": SCHEMA,
        "file": file,
        "name": model.name,
        **settings,
        "passed": all(certificate.passed for certificate in found),
        "certificates": [
            {
                "formulation": certificate.formulation,
                "factorization": certificate.factorization,
                "passed": certificate.passed,
                "checks": [
                    {
                        "name": check.name,
                        "meaning": check.meaning,
                        "claimed": check.claimed,
                        "holds": check.holds,
                        "residual": check.residual if math.isfinite(check.residual) else None,
                    }
                    for check in certificate.checks
                ],
            }
            for certificate in found
        ],
    }


@contextmanager
def _progress(states: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal's stderr while it takes long; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("random states", total=states)
        yield lambda: bar.advance(task)


def _print_all(console: Console, model: Model, file: str, states: int, found: Sequence[Certificate]) -> None:
    rows = {"robot": model.name, "file": file, "base": f"{model.base}, link {model.links[0].name}"}
    summary(console, rows | {"states": f"{states:,} at random; residuals are relative, the worst of all states"})
    names = list(dict.fromkeys(certificate.formulation for certificate in found))
    for name in names:
        _print_formulation(console, [c for c in found if c.formulation == name])
    claims = [check for c in found for check in c.checks if check.claimed]
    broken = [(c, check) for c in found for check in c.checks if check.claimed and not check.holds]
    worst = max((check.residual for check in claims), default=0.0)
    console.print("\n(in brackets: not claimed of this matrix)")
    if not broken:
        console.print(f"all {count(len(claims), 'claim')} hold; worst residual {worst:.0e}", style="bold green")
        return
    console.print(f"{count(len(broken), 'claim')} of {len(claims):,} BROKEN", style="bold red")
    for certificate, check in broken:
        line = f"  {certificate.formulation}, {certificate.factorization}: {check.name}, {check.residual:.1e}"
        console.print(shown(f"{line} ({check.meaning})"))


def _print_formulation(console: Console, certificates: Sequence[Certificate]) -> None:
    """One table: a row for each check, a column for each Coriolis matrix."""
    out = table(certificates[0].formulation, least=17)
    for certificate in certificates:
        out.add_column(certificate.factorization, justify="right", no_wrap=True)
    if len(certificates) == 1:
        out.add_column("meaning", no_wrap=True)
    for checks in zip(*(certificate.checks for certificate in certificates), strict=True):
        row = [_cell(check) for check in checks]
        out.add_row(shown(checks[0].name), *row, *([shown(checks[0].meaning)] if len(checks) == 1 else []))
    console.print()
    console.print(out)


def _cell(check: Check) -> Any:
    from rich.text import Text

    residual = "0" if check.residual == 0.0 else f"{check.residual:.0e}"
    if not check.claimed:
        return Text(f"({residual})", style="dim")
    return Text(residual if check.holds else f"{residual} BROKEN", style="" if check.holds else "bold red")
