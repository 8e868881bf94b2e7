"""``fallingcat export FILE``: functions of a robot as source code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..errors import ModelError, nearest_name_hint
from .app import File, app, errors_in_one_line
from .reading import Reading, model_of, with_reading_options
from .text import plain

if TYPE_CHECKING:
    from ..model import Model

TARGETS: Final = ("c", "cuda", "llvm")
TARGETS_WITHOUT_TEXT: Final = ("casadi", "jax")
"""Targets of :func:`fallingcat.compile` that have no text; those of other packages may have."""


@app.command()
@with_reading_options
def export(
    file: File,
    out: Annotated[str, typer.Option(metavar="DIR", help="Output folder; created if missing.")],
    function: Annotated[
        str | None, typer.Option(metavar="NAME", help="Function of the library, e.g. inverse_dynamics.")
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option(metavar="TOML", help="Controller instead of a function: contacts and tasks by priority."),
    ] = None,
    target: Annotated[str, typer.Option(metavar="c|cuda|llvm|javascript")] = "c",
    dtype: Annotated[str, typer.Option(metavar="float64|float32")] = "float64",
    *,
    reading: Reading,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option of the function, e.g. factorization=passive; repeatable."),
    ] = None,
) -> None:
    """Write a function of a robot, or a controller, as source code."""
    with errors_in_one_line():
        model = model_of(file, reading)
        if (function is None) == (controller is None):
            raise ModelError("give either a --function of the library or a --controller")
        if controller is not None:
            if target != "c" or option:
                raise ModelError("a controller is exported as C, without --option")
            paths = controller_exported(model, controller, out, dtype)
        else:
            paths = export_files(model, str(function), out, target, dtype, option or [])
        for path in paths:
            typer.echo(plain(path))


def export_files(model: Model, function: str, out: str, target: str, dtype: str, options: list[str]) -> list[str]:
    """Paths of the files, after they are written."""
    from pathlib import Path

    from ..compiler import compile
    from ..compiler.targets import TARGETS as ALL

    if target not in (
        known := (*TARGETS, *(name for name in ALL if name not in TARGETS_WITHOUT_TEXT and name not in TARGETS))
    ):
        raise ModelError(f"target must be one of {', '.join(known)}, got {target!r}")
    named = _function_of_name(function)
    given: dict[str, Any] = dict(_option(text) for text in options)
    _check_options(model, named, given)
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kernel = compile(model, named, target="cpu" if target == "llvm" else target, dtype=dtype, **given)
        if hasattr(kernel, "write"):
            return [str(path) for path in kernel.write(folder)]
        if not getattr(kernel, "source", None):
            raise ModelError("there is no LLVM text without llvmlite" if target == "llvm" else f"{target} has no text")
        ending = {"llvm": "ll", "cuda": "cu", "javascript": "js"}.get(target, target)
        path = folder / f"{function}.{ending}"
        path.write_text(kernel.source, encoding="ascii")
        return [str(path)]
    except OSError as error:
        raise ModelError(f"cannot write to {out!r}: {error.strerror}") from None
    except TypeError as error:  # an option of another kind than the function takes, as a rule
        raise ModelError(f"{function} cannot be exported with these options: {error}") from None


def controller_exported(model: Model, controller: str, out: str, dtype: str) -> list[str]:
    """Write ``control_torques`` in C with its goals as last argument, and the numbers of the file as a table."""
    import re
    from dataclasses import replace
    from math import prod

    from ..compiler.codegen.c_syntax import Real
    from ..control.whole_body.controller_file import read_controller
    from ..escaping import READABLE, comment

    law = read_controller(controller)
    source, numbers, real = law.steered(model, "c", dtype=dtype), law.numbers(model), Real(dtype)
    lines, at = ["/* What steers it, a2: where the numbers of what begin, and how many there are."], 0
    for task in (task for level in law.constant_tasks for task in level):
        for name, shape in task.number_shapes(model).items():
            about = comment(re.sub("[()']", " ", task.name).strip(), READABLE)
            lines.append(f" *   a2[{at}], {prod(shape)}: {name} of {about}")
            at += prod(shape)
    values = ", ".join(real.constant(float(x)) for x in numbers)
    table = f"static const {real.text} fc_control_numbers[{max(at, 1)}] = {{{values or real.constant(0.0)}}};"
    above = "\n".join([*lines, " */", table, "", "/* Arguments and result"])
    text = source.header.replace("/* Arguments and result", above)
    try:
        return [str(path) for path in replace(source, header=text).write(out)]
    except OSError as error:
        raise ModelError(f"cannot write to {out!r}: {error.strerror}") from None


def _function_of_name(name: str) -> Callable[..., Any]:
    """Function of the library that kernels can be made of."""
    known = _robot_functions()
    if name not in known:
        hint = nearest_name_hint(name, known) or f"; there are {', '.join(_exportable_functions())}"
        raise ModelError(f"there is no function {name!r} of a robot{hint}")
    return known[name]


def _robot_functions() -> dict[str, Callable[..., Any]]:
    """The public functions of a model and a state: dynamics, formulations, and changes of velocity."""
    import inspect

    import fallingcat

    rooms = (fallingcat.dynamics, fallingcat.formulations, fallingcat.changes)
    functions = {each: getattr(room, each) for room in rooms for each in room.__all__}
    return {
        each: thing
        for each, thing in functions.items()
        if inspect.isfunction(thing) and list(inspect.signature(thing).parameters)[:2] == ["model", "state"]
    }


def _exportable_functions() -> list[str]:
    """Functions that a command can make kernels of."""
    from ..arrays import why_numbers_only

    return [
        each for each, f in _robot_functions().items() if why_numbers_only(f) is None and not _required_arguments(f)[1]
    ]


def _check_options(model: Model, function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Raise an error that names missing options, or arguments that no option can express."""
    from ..arrays import why_numbers_only

    if why_numbers_only(function) is not None:
        return  # compile says so
    texts, others = _required_arguments(function)
    if others:
        rule = f"{function.__name__} takes {' and '.join(others)}, which no option can be"
        raise ModelError(f"{rule}: see compile(..., target='c') in Python, whose inputs= and keywords can")
    missing = [f"--option {name}=..." for name in texts if name not in given]
    if missing:
        places = ", ".join([*model.link_names, *(frame.name for frame in model.frames)][:12])
        raise ModelError(f"{function.__name__} needs {' and '.join(missing)}, one of {places}")


def _required_arguments(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """Arguments of a function beside numbers of known size: names of places, and those that no text can express."""
    import inspect

    from ..arrays import sizes_of

    parameters = list(inspect.signature(function).parameters.values())[2:]
    needed = [p for p in parameters if p.default is p.empty and p.name not in sizes_of(function)]
    places = [p.name for p in needed if p.annotation in ("Place", "str")]
    return places, [p.name for p in needed if p.name not in places]


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier() or name in ("target", "dtype", "sizes", "model", "function"):
        raise ModelError(f"--option must be name=value, got {text!r}")
    return name, value
