"""``fallingcat study list`` and ``study run NAME``: published experiments, repeated."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import FallingCatError, FileError
from ..io.diagnostics import Reader
from ..io.toml.text import parsed
from .app import Json, app, errors_in_one_line
from .drop_cat import progress_bar, write_page
from .text import escape_markup, on_screen, open_page, summary, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..studies import StudyResult

study_app = typer.Typer(help="Published experiments, repeated.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(study_app, name="study")


@study_app.command("list")
def study_list(as_json: Json = False) -> None:
    """List the studies."""
    with errors_in_one_line():
        from ..studies import load, names

        found = [load(name) for name in names()]
        if as_json:
            keys = ("title", "kind", "figures")
            listed = [{"name": s.name} | {key: getattr(s.table, key) for key in keys} for s in found]
            typer.echo(json.dumps({"studies": listed}, indent=2))
            return

        def write(console: Console) -> None:
            out = table("study")
            out.add_column("what", overflow="fold")
            out.add_column("figure", no_wrap=True)
            for s in found:
                out.add_row(*map(escape_markup, (s.name, s.table.title, s.table.figures)))
            console.print(out)

        on_screen(write)


@study_app.command("run")
def study_run(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Name of the list, or a .toml file of your own.")],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of a parameter; repeatable."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Output page; default: STUDY.html.", show_default=False),
    ] = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Run a study: a table of published and own numbers, and a page with its figures and the motion."""
    with errors_in_one_line():
        from ..studies import load, run_study

        wanted = load(study).with_parameters(dict(map(parse_setting, settings or ())))
        with progress_bar(as_json) as progress:
            result = run_study(wanted, progress)
            if progress is not None:
                progress("drawing", 1.0)
            page = write_page(result.page(), out or f"{wanted.name}.html")
        if as_json:
            typer.echo(json.dumps(result.data(), indent=2, allow_nan=False))
        else:
            on_screen(lambda console: _print(console, result, page))
        if show:
            open_page(page)


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of a setting: a number, or else a word.

    Example:
        >>> parse_setting("K_E=8"), parse_setting("controller=III")
        (('K_E', 8), ('controller', 'III'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise FallingCatError(f"--set must be NAME=VALUE, got {text!r}")
    try:
        read = parsed(f"value = {value}", Reader("--set"))
    except FileError:
        return name, value
    return name, read["value"] if set(read) == {"value"} else value


def _print(console: Console, result: StudyResult, page: str) -> None:
    from ..studies.page import number, published_text, verdict_text

    about = {"study": result.study.name, "what": result.study.table.title}
    if result.study.changed:
        values = result.parameters.model_dump()
        about["changed"] = ", ".join(f"{key} = {values[key]}" for key in result.study.changed)
    run = result.study.kind.motion(result.observed)
    simulated = "" if run is None else f"{run.times[-1]:.4g} s simulated, {run.status}; "
    about["run"] = f"{simulated}{result.seconds:.2f} s"
    summary(console, about)
    out = table("quantity", least=22)
    for title in ("published", "ours", "unit", "verdict"):
        out.add_column(title, justify="right" if title in ("published", "ours") else "left", no_wrap=True)
    notes: dict[str, int] = {}
    for row in result.rows:
        mark = ""
        if row.remark and row.verdict != "not published":
            mark = f" [{notes.setdefault(row.remark, len(notes) + 1)}]"
        out.add_row(
            *map(escape_markup, (row.name + mark, published_text(row), number(row.ours), row.unit, verdict_text(row)))
        )
    console.print()
    console.print(out)
    console.print()
    for note, k in notes.items():
        console.print(escape_markup(f"[{k}] {note}"))
    console.print(escape_markup(f"\n{page}"), soft_wrap=True)
