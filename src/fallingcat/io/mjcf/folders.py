"""The other files of a robot: found where MuJoCo finds them, and never outside one folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..diagnostics import Located, Reader


def home(reader: Reader) -> Path:
    """The folder of the robot's first file."""
    return Path(reader.file).absolute().parent


def locate(reader: Reader, place: Located, name: str, starts: Sequence[Path], hint: str | None = None) -> Path:
    """The plain file ``name``, seen from the first of ``starts`` where it exists; it must lie below the robot's folder.

    That folder is the one of the first file, or the one that ``load(inside=...)`` names; links are followed before it
    is asked.  ``hint`` is the way out where there is no such file.
    """
    shown, steps = repr(name[:80]), name.replace("\\", "/").split("/")
    if not name.strip() or ":" in name or steps[0] == "" or "\0" in name:
        rule = f"a file of a robot is given by its path from the robot's own folder, not by {shown}"
        reader.fail(place, rule, "no absolute path, no address")
    try:
        found = next((path for start in starts if (path := start.joinpath(*steps)).exists()), None)
        if found is None:
            reader.fail(place, f"the file {shown} does not exist in the robot's folder", hint)
        if not found.resolve().is_relative_to(limit(reader)):
            reader.fail(place, f"the file {shown} leads out of the robot's folder", _way_out(reader, found.resolve()))
        if not found.is_file():
            reader.fail(place, f"{shown} is not a plain file")
    except OSError as error:  # a name too long for the system, a folder that may not be read
        reader.fail(place, f"the file {shown} cannot be read: {error.strerror}")
    return found


def limit(reader: Reader) -> Path:
    """The folder that no file of the robot may leave."""
    return reader.options.inside or home(reader).resolve()


def _way_out(reader: Reader, target: Path) -> str:
    """The option that would let the file in, with the folder that holds it and the robot's own file."""
    here = home(reader).resolve()
    common = next(folder for folder in (here, *here.parents) if target.is_relative_to(folder))
    if common == common.parent:
        return "copy it there"
    folder = os.path.normpath(os.path.join(os.path.dirname(reader.file), os.path.relpath(common, here)))
    return f'load with inside="{folder}" to read files from there'
