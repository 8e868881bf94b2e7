"""``fallingcat certify FILE``: checks of the equations of motion of a robot in every formulation."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .app import SCHEMA, File, Json, app, errors_in_one_line
from .reading import Reading, with_reading_options
from .text import count, escape_markup, on_screen, plain, summary, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from ..formulations import Certificate, Check
    from ..model import Model


SECONDS_EACH = 1e-3
"""s for each state and pair of degrees of freedom; measured with 26 to 86"""


@app.command()
@with_reading_options
def certify(
    file: File,
    as_json: Json = False,
    states: Annotated[int, typer.Option(min=1, max=100_000, help="Number of random states.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random states.")] = 0,
    tolerance: Annotated[float, typer.Option(help="Largest relative residual of a claim that holds.")] = 1e-9,
    *,
    reading: Reading,
) -> None:
    """Check a robot's equations of motion at random states.

    Every formulation with every Coriolis matrix, numerically; each claim is compared with other algorithms:
    complex-step rates, Newton-Euler, energies, swept areas.  Exit code 1 if one fails or could not be checked.
    """
    with errors_in_one_line():
        from ..formulations.survey import survey
        from ..io import read

        model, _ = read(file, **reading)
        minutes = states * SECONDS_EACH * model.nv**2 / 60.0
        if minutes > 2.0:
            about = f"warning: {model.name!r} at {count(states, 'state')} takes about {minutes:,.0f} min"
            typer.echo(plain(about), err=True)
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
    """Certificates as plain data: the object that ``--json`` prints; a residual that is not a number is None."""
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
                "verdict": certificate.verdict,
                "checks": [
                    {
                        "name": check.name,
                        "meaning": check.meaning,
                        "claimed": check.claimed,
                        "holds": check.holds,
                        "residual": check.residual if math.isfinite(check.residual) else None,
                        "verdict": check.verdict if check.claimed else "not claimed",
                        "reason": check.reason or None,
                    }
                    for check in certificate.checks
                ],
            }
            for certificate in found
        ],
    }


@contextmanager
def _progress(states: int) -> Iterator[Callable[[], None]]:
    """Progress bar on a terminal's stderr while it takes long; nothing in a pipe."""
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
    claims = [(c, check) for c in found for check in c.claims]
    console.print("\n(in brackets: not claimed of this matrix)")
    if all(check.holds for _, check in claims):
        worst = max((check.residual for _, check in claims), default=0.0)
        console.print(f"all {count(len(claims), 'claim')} hold; worst residual {worst:.0e}", style="bold green")
    for verdict in ("broken", "unproved"):
        failed = [(c, check) for c, check in claims if check.verdict == verdict]
        if failed:
            console.print(f"{count(len(failed), 'claim')} of {len(claims):,} {verdict.upper()}", style="bold red")
        for certificate, check in failed:
            line = f"  {certificate.formulation}, {certificate.factorization}: {check.name}"
            why = check.reason or f"{check.residual:.1e} ({check.meaning})"
            console.print(escape_markup(f"{line}, {why}"))


def _print_formulation(console: Console, certificates: Sequence[Certificate]) -> None:
    """One table: a row for each check, a column for each Coriolis matrix."""
    out = table(certificates[0].formulation, least=17)
    for certificate in certificates:
        out.add_column(certificate.factorization, justify="right", no_wrap=True)
    if len(certificates) == 1:
        out.add_column("meaning", no_wrap=True)
    for checks in zip(*(certificate.checks for certificate in certificates), strict=True):
        row = [_cell(check) for check in checks]
        out.add_row(
            escape_markup(checks[0].name), *row, *([escape_markup(checks[0].meaning)] if len(checks) == 1 else [])
        )
    console.print()
    console.print(out)


def _cell(check: Check) -> Any:
    from rich.text import Text

    residual = "0" if check.residual == 0.0 else f"{check.residual:.0e}"
    if not check.claimed:
        return Text(f"({'-' if check.reason else residual})", style="dim")
    text = {"holds": residual, "broken": f"{residual} BROKEN", "unproved": "UNPROVED"}[check.verdict]
    return Text(text, style="" if check.holds else "bold red")
