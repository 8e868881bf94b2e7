"""``fallingcat derive FILE``: the equations of a robot as closed forms, on screen or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ModelError
from ..progress import report_progress
from .app import File, app, errors_in_one_line
from .reading import Reading, model_of, with_reading_options
from .text import plain

if TYPE_CHECKING:
    from ..symbolic import Derivation


@app.command()
@with_reading_options
def derive(
    file: File,
    what: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A quantity: M, C, g, T, U, A, ...; repeatable; any other lists all. Default: M C g.",
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="More quantities.")] = None,
    format: Annotated[str, typer.Option(metavar="text|latex|python|jax|c|julia|matlab|octave")] = "text",
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Output file; default: the terminal.", show_default=False)
    ] = None,
    symbols: Annotated[
        str | None,
        typer.Option(
            metavar="all|none|KIND,...",
            help="Parameters that are symbols: masses, lengths, ...; default: those of the TOML file, else all.",
            show_default=False,
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Derive the equations of a small robot as closed forms."""
    with errors_in_one_line():
        from ..symbolic import derive as derived
        from ..symbolic.files import of_file

        model = model_of(file, reading)
        names = (*(what or []), *(more or [])) or ("M", "C", "g")
        d = derived(of_file(model, file)) if symbols is None else derived(model, symbols.split(","))
        text = _text(d, names, format)
        if out is None:
            typer.echo("\n".join(map(plain, text.split("\n"))))
            return
        try:
            with open(out, "w", encoding="utf-8") as written:
                written.write(text)
        except OSError as error:
            raise ModelError(f"cannot write to {out!r}: {error.strerror}") from None
        typer.echo(plain(out))


def _text(d: Derivation, names: tuple[str, ...], format: str) -> str:
    """Text of the equations, with progress messages."""
    with report_progress(f"deriving {', '.join(names)}") as progress:
        for i, name in enumerate(names):
            d.named(name)
            if progress is not None:
                progress((i + 1) / (len(names) + 1))
        return d.write(*names, format=format)
