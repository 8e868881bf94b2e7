"""Application: entry point, options without a command, and error output."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, NoReturn

import typer

from .. import __version__
from ..errors import FallingCatError
from .text import plain

SCHEMA: Final = 1
"""Version of the output of ``--json``; grows when a key changes its meaning."""
_OPTION: Final = re.compile(r'\b(base|physics|faults|inside|root|massless|xacro|loops)="([^"]*)"')

File = Annotated[str, typer.Argument(metavar="FILE", help="A .urdf, .xml (MJCF) or .toml file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of tables; see docs/reference/cli_json.md.")]

app = typer.Typer(
    help="Floating-base robots: inspect files, check equations, plan gaits, export code.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Entry point of the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name in Greek on a Latin terminal is escaped, not a crash
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except OSError as error:  # help for a full disk; a broken pipe ends quietly before
        _abandon(error)


def _abandon(error: OSError) -> NoReturn:
    """Exit where the output cannot be written: one line on stderr, no second attempt when Python closes stdout."""
    with contextlib.suppress(OSError):
        typer.echo(f"fallingcat: the output cannot be written: {error.strerror}", err=True)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fallingcat {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def on_the_command_line(text: str) -> str:
    """Text with Python arguments such as ``root="left leg"`` written as options: ``--root 'left leg'``."""
    return _OPTION.sub(lambda option: f"--{option[1]} {shlex.quote(option[2])}", text)


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(plain(on_the_command_line(f"warning: {message}")), err=True)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Context that prints errors as one line on stderr: exit code 2 for a bad file or option, 1 for a bug.

    Warnings are one line too, without the place in the source.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            yield
    except FallingCatError as error:
        typer.echo(on_the_command_line(str(error)), err=True)
        raise typer.Exit(2) from None
    except typer.Exit:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # the output cannot be written
            raise
        text = f"fallingcat: unexpected {type(error).__name__}: {error}: this is a bug, please report it with the file"
        typer.echo(plain(text), err=True)
        raise typer.Exit(1) from None
