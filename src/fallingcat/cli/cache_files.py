"""``fallingcat cache info`` and ``cache clear``: stored machine code."""

from __future__ import annotations

import json

import typer

from ..errors import ModelError
from .app import SCHEMA, Json, app, errors_in_one_line
from .text import plain

cache_app = typer.Typer(help="Stored machine code.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(cache_app, name="cache")


@cache_app.command("info")
def cache_info(as_json: Json = False) -> None:
    """Show location and size of the stored machine code."""
    with errors_in_one_line():
        from ..compiler.cache import files as cache

        info = cache.info()
        if as_json:
            typer.echo(json.dumps({"schema": SCHEMA, **info._asdict()}, indent=2))
            return
        lines = {
            "folder": info.folder or "-",
            "files": f"{info.files:,}",
            "size": f"{info.bytes / 2**20:.1f} of {info.limit / 2**20:.0f} MiB",
            "state": "in use" if info.problem is None else f"not used: {info.problem}",
        }
        for key, text in lines.items():
            typer.echo(f"{key:7} {plain(text)}")


@cache_app.command("clear")
def cache_clear() -> None:
    """Delete the stored machine code."""
    with errors_in_one_line():
        from ..compiler.cache import files as cache

        try:
            typer.echo(f"{cache.clear():,} files deleted")
        except (OSError, cache.Unusable) as error:
            raise ModelError(f"the cache cannot be cleared: {error}") from None
