"""Options of robot files, common to all commands that read one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .text import count

if TYPE_CHECKING:
    from ..model import Model

Physics = Annotated[str, typer.Option(metavar="strict|warn", help="Treatment of inertias that no rigid body can have.")]
Faults = Annotated[
    str,
    typer.Option(metavar="strict|warn", help="Treatment of faults of a URDF: a missing mass, doubled elements, ..."),
]
Base = Annotated[
    str | None,
    typer.Option(
        metavar="BASE",
        help="free, planar, spherical, schoenflies, translational or fixed; default: that of the file.",
        show_default=False,
    ),
]
Inside = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Folder that the parts of an MJCF file may not leave; default: its own.",
        show_default=False,
    ),
]
Root = Annotated[
    str | None,
    typer.Option(
        metavar="BODY",
        help="Body of an MJCF file that is the robot, where several move; 'world': all of them.",
        show_default=False,
    ),
]
Massless = Annotated[
    str, typer.Option(metavar="keep|weld", help="Treatment of joints that move no mass: weld fixes them.")
]
Xacro = Annotated[
    str,
    typer.Option(
        metavar="refuse|expand|skip",
        help="Treatment of macros in a URDF; expand evaluates code of the file: only if you trust it.",
    ),
]
Loops = Annotated[
    str | None,
    typer.Option(
        metavar="open|close",
        help="Keep mimic joints and equalities as loops, or open them; default: mimic joints follow others, and "
        "loops of a .toml are kept.",
        show_default=False,
    ),
]

Reading = dict[str, Any]
"""Values of the options: arguments of :func:`fallingcat.load`."""
OPTIONS: Final[dict[str, tuple[Any, str | None]]] = {
    "base": (Base, None),
    "physics": (Physics, "strict"),
    "faults": (Faults, "strict"),
    "inside": (Inside, None),
    "root": (Root, None),
    "massless": (Massless, "keep"),
    "xacro": (Xacro, "refuse"),
    "loops": (Loops, None),
}
"""Type and default of each option, as ``--help`` lists them."""


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Command with :data:`OPTIONS` in the place of its argument ``reading``."""
    signature, P = inspect.signature(command, eval_str=True), inspect.Parameter
    options = [P(name, P.KEYWORD_ONLY, default=default, annotation=kind) for name, (kind, default) in OPTIONS.items()]
    places = [options if name == "reading" else [own] for name, own in signature.parameters.items()]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        reading = {name: given.pop(name) for name in OPTIONS}
        command(**given, reading=reading)

    parameters = [parameter.replace(kind=P.KEYWORD_ONLY) for place in places for parameter in place]
    wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return wrapper


def model_of(file: str, reading: Reading) -> Model:
    """Robot of a file; the number of warnings is printed in one line."""
    from ..io import read

    model, notes = read(file, **reading)
    if notes:
        typer.echo(f"{count(len(notes), 'warning')} about the file; see fallingcat inspect", err=True)
    return model
