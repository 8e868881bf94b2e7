"""The other files of a robot: found where MuJoCo finds them, and never outside one folder or those just above it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..diagnostics import Located, Reader

MAX_CLIMB: Final = 3
"""Folders above the robot's own whose files are read, with a warning, where no ``inside`` is given."""


def home(reader: Reader) -> Path:
    """The folder of the robot's first file."""
    return Path(reader.file).absolute().parent


def locate(reader: Reader, place: Located, name: str, starts: Sequence[Path], hint: str | None = None) -> Path:
    """The plain file ``name``, seen from the first of ``starts`` where it exists.

    It lies below the folder that ``load(inside=...)`` names, or below that of the first file and, with a warning, those
    just above it (:data:`MAX_CLIMB`); links are followed before it is asked.  ``hint`` is the way out
    where there is no such file.
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
            written = next(start.resolve().joinpath(*steps) for start in starts if start.joinpath(*steps) == found)
            _outside_folder(reader, place, shown, found.resolve(), os.path.normpath(written))
        if not found.is_file():
            reader.fail(place, f"{shown} is not a plain file")
    except OSError as error:  # a name too long for the system, a folder that may not be read
        reader.fail(place, f"the file {shown} cannot be read: {error.strerror}")
    return found


def limit(reader: Reader) -> Path:
    """The folder that no file of the robot may leave."""
    return reader.options.inside or home(reader).resolve()


def _outside_folder(reader: Reader, place: Located, shown: str, target: Path, written: str) -> None:
    """A file beyond the robot's folder: read with one warning where it is near and nobody set a limit, else refused.

    The way there is ``..`` in the file's own words, not a link, which would hide it.
    """
    here = home(reader).resolve()
    common = next(folder for folder in (here, *here.parents) if target.is_relative_to(folder))
    folder = os.path.normpath(os.path.join(os.path.dirname(reader.file), os.path.relpath(common, here)))
    near = common in here.parents[:MAX_CLIMB] and not _is_above_homes(common) and str(target) == written
    if reader.options.inside is None and near:
        text = (
            f"files beyond the robot's folder are read, up to {folder!r}: inside={folder!r} reads them without a remark"
        )
        reader.warn(place, text, kind="beyond the folder")
        return
    rule = f"the file {shown} leads out of the robot's folder"
    reader.fail(
        place,
        rule,
        "copy it there" if _is_above_homes(common) else f'load with inside="{folder}" to read files from there',
    )


def _is_above_homes(folder: Path) -> bool:
    """True for the root of the file system, for the user's own folder and for those above it."""
    own = Path(os.path.expanduser("~"))
    return folder == folder.parent or own.resolve().is_relative_to(folder)
