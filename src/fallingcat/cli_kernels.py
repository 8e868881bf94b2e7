"""``fallingcat export``, ``bench`` and ``cache``: what the command line says about kernels."""

# Heavy imports are inside the functions, so that `fallingcat --help` answers at once.

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .errors import FallingCatError, ModelError

if TYPE_CHECKING:
    from .kernels.compare import Row
    from .model import Model

SCHEMA: Final = 1
"""Of the output of ``--json``; grows when a key changes its meaning."""
TARGETS: Final = ("c", "cuda", "llvm")

_File = Annotated[str, typer.Argument(metavar="FILE", help="A .urdf, .xml (MJCF) or .toml file.", show_default=False)]
_Base = Annotated[str | None, typer.Option(metavar="BASE", help="The base, as for inspect.", show_default=False)]


@contextmanager
def errors() -> Iterator[None]:
    """Errors as one line on stderr: exit code 2 for the user's, 1 for ours."""
    try:
        yield
    except FallingCatError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except (typer.Exit, BrokenPipeError):
        raise
    except Exception as error:
        text = f"fallingcat: unexpected {type(error).__name__}: {error}: this is a bug, please report it"
        typer.echo(str(FallingCatError(text)), err=True)
        raise typer.Exit(1) from None


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(export)
    app.command()(bench)
    cache = typer.Typer(help="The machine code that was kept.", no_args_is_help=True)
    cache.command("info")(cache_info)
    cache.command("clear")(cache_clear)
    app.add_typer(cache, name="cache")


# export -------------------------------------------------------------------------------------------------------------


def export(
    file: _File,
    function: Annotated[str, typer.Option(metavar="NAME", help="A function of the library, e.g. inverse_dynamics.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to write; made if it is not there.")],
    target: Annotated[str, typer.Option(metavar="c|cuda|llvm")] = "c",
    dtype: Annotated[str, typer.Option(metavar="float64|float32")] = "float64",
    base: _Base = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the function, e.g. factorization=passive; repeatable."),
    ] = None,
) -> None:
    """Write a function of a robot as source code."""
    with errors():
        for path in exported(file, function, out, target, dtype, base, option or []):
            typer.echo(str(FallingCatError(path)))


def exported(
    file: str, function: str, out: str, target: str, dtype: str, base: str | None, options: list[str]
) -> list[str]:
    """Writes the files; their paths."""
    from pathlib import Path

    from .kernels import compile

    if target not in TARGETS:
        raise ModelError(f"target is one of {', '.join(TARGETS)}, not {target!r}")
    named = _named(function)
    given = dict(_option(text) for text in options)
    model = _model(file, base)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if target == "llvm":
            text = compile(model, named, dtype=dtype, **given).source
            if not text:
                raise ModelError("there is no LLVM text without llvmlite")
            path = folder / f"{function}.ll"
            path.write_text(text, encoding="ascii")
            return [str(path)]
        written = compile(model, named, target=target, dtype=dtype, **given).write(folder)
        return [str(path) for path in written]
    except OSError as error:
        raise ModelError(f"cannot write to {out!r}: {error.strerror}") from None


def _named(name: str) -> Callable[..., Any]:
    """A function of the library that kernels can be made of."""
    import inspect

    import fallingcat

    known = {}
    for each in fallingcat.__all__:
        thing = getattr(fallingcat, each)
        if inspect.isfunction(thing) and list(inspect.signature(thing).parameters)[:2] == ["model", "state"]:
            known[each] = thing
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        hint = f"; do you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
        raise ModelError(f"there is no function {name!r} of a robot{hint}")
    return known[name]


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier() or name in ("target", "dtype", "sizes", "model", "function"):
        raise ModelError(f"--option is name=value, not {text!r}")
    return name, value


def _model(file: str, base: str | None) -> Model:
    from .io import read

    model, notes = read(file, base=base)
    if notes:
        typer.echo(f"{len(notes)} warnings about the file: fallingcat inspect shows them", err=True)
    return model


# bench --------------------------------------------------------------------------------------------------------------


def bench(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A robot; a humanoid if left out.", show_default=False)
    ] = None,
    base: _Base = None,
    batch: Annotated[int, typer.Option(min=1, max=10_000_000, help="States in one call.")] = 4096,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="How often each thing is measured.")] = 15,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a table.")] = False,
) -> None:
    """Time the kernels of a robot beside NumPy, Pinocchio and MuJoCo, as far as these are installed."""
    with errors():
        from .kernels.compare import compare
        from .model import robots

        model = robots.humanoid() if file is None else _model(file, base)
        rows = compare(model, batch, rounds)
        if as_json:
            typer.echo(json.dumps(_bench_report(model, batch, rounds, rows), indent=2))
        else:
            _show(model, batch, rounds, rows)


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


def _show(model: Model, batch: int, rounds: int, rows: list[Row]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, markup=False, emoji=False)
    names = list(dict.fromkeys(name for row in rows for name in row.times))
    heads = {"kernel": "kernel", "batch": "in a batch", "numpy": "NumPy"}
    name = str(FallingCatError(model.name))
    console.print(Text(f"{name}: {model.nv} degrees of freedom; us for each state, median of {rounds}", style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("function")
    table.add_column("operations", justify="right")
    for key in names:
        table.add_column(heads.get(key, key), justify="right")
    for row in rows:
        times = [_microseconds(row.times[key].median) if key in row.times else "-" for key in names]
        table.add_row(row.function, f"{row.operations:,}", *times)
    console.print(table)
    missing = [peer for peer in ("Pinocchio", "MuJoCo") if peer not in names]
    console.print(Text(f"One core; batches of {batch:,}, from plain arrays."))
    if missing:
        console.print(Text(f"Not there, or unable to read the robot: {', '.join(missing)}."))
    sys.stdout.flush()


def _microseconds(t: float) -> str:
    return f"{1e6 * t:.3g}" if t < 1e-3 else f"{1e6 * t:,.0f}"


# cache --------------------------------------------------------------------------------------------------------------


def cache_info(as_json: Annotated[bool, typer.Option("--json", help="JSON.")] = False) -> None:
    """Show where the machine code is kept, and how much there is."""
    with errors():
        from .kernels import cache

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
            typer.echo(f"{key:7} {FallingCatError(text)}")


def cache_clear() -> None:
    """Delete the machine code that was kept."""
    with errors():
        from .kernels import cache

        try:
            typer.echo(f"{cache.clear():,} files deleted")
        except (OSError, cache.Unusable) as error:
            raise ModelError(f"the cache is not cleared: {error}") from None
