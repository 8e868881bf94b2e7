"""Text for a terminal; control characters of files are escaped."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import typer

from ..escaping import terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MIN_TABLE_WIDTH = 40
"""Columns of a table: a terminal that has fewer wraps its lines."""


plain = terminal


def escape_markup(text: str) -> Any:
    """Text without markup; line breaks are ours, all other control characters are escaped."""
    from rich.text import Text

    return Text("\n".join(map(plain, text.split("\n"))), overflow="fold")


def count(number: int, what: str) -> str:
    """Count with its noun: ``3 links``.

    Example:
        >>> count(1, "link"), count(2000, "link")
        ('1 link', '2,000 links')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def table(first: str, least: int = 12) -> Table:
    """Table whose first column folds long entries."""
    from rich import box
    from rich.table import Table

    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    out.add_column(plain(first), overflow="fold", min_width=least)
    return out


def summary(console: Console, rows: dict[str, str]) -> None:
    """Keys and values, one line each."""
    from rich.table import Table

    out = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    out.add_column(style="bold", no_wrap=True)
    out.add_column(overflow="fold")
    for key, text in rows.items():
        out.add_row(key, escape_markup(text))
    console.print(out)


def on_screen(write: Callable[[Console], None]) -> None:
    """Output of ``write`` to a console, without blanks at the ends of lines."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, MIN_TABLE_WIDTH)
    with console.capture() as captured:
        write(console)
    typer.echo("\n".join(line.rstrip(" ") for line in captured.get().splitlines()))


def open_page(page: str) -> None:
    """Show a page in the browser, where there is a screen; elsewhere its printed path has to do."""
    screen = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen:
        typer.launch(page)
