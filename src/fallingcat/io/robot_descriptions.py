"""Robots by name: files that ``robot_descriptions``, or a ``..._description`` package, has on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..errors import ExtraMissingError, FileError

_NAME: Final = re.compile(r"[a-z0-9_]+")
_ENDING: Final = "_description"
_CLONED: Final = re.compile(r"""clone_to_cache\(\s*["']([^"']+)["']""")


def is_name(path: str | os.PathLike[str]) -> bool:
    """True for a path that is no file but the name of a description.

    Like ``go2_description``, or ``go2`` where that is installed.
    """
    if not isinstance(path, str) or _NAME.fullmatch(path) is None or os.path.exists(path):
        return False
    return path.endswith(_ENDING) or _installed(path + _ENDING) is not None


def path_of(name: str) -> str:
    """The URDF, or else the MJCF file of a description; nothing is fetched.

    ``robot_descriptions`` clones a repository when one of its modules is imported for the first time: here that is
    refused, and the message says how to have the files.
    """
    module = _module(name if name.endswith(_ENDING) else name + _ENDING)
    _check_files(name, module)
    with _no_network():
        try:
            found = importlib.import_module(module)
        except Exception as error:  # whatever git, or the module, says
            raise FileError(f"{module} cannot be imported: {error}", file=name) from error
    for attribute in ("URDF_PATH", "MJCF_PATH"):
        path = getattr(found, attribute, None)
        if path is not None:
            return os.fspath(path)
    raise FileError(f"{module} has no URDF_PATH and no MJCF_PATH (a xacro has to be processed first)", file=name)


def _module(name: str) -> str:
    """Place where the description is installed: as a package of its own, or among robot_descriptions."""
    found = _installed(name)
    if found is not None:
        return found
    if importlib.util.find_spec("robot_descriptions") is None:
        raise ExtraMissingError(
            "robots", package="robot_descriptions", purpose=f"{name!r} is no file, and by its name it"
        )
    raise FileError("robot_descriptions has no robot of this name, and there is no such package", file=name)


def _installed(name: str) -> str | None:
    """The module of a description, if there is one."""
    if importlib.util.find_spec(name) is not None:
        return name
    among = f"robot_descriptions.{name}"
    known = importlib.util.find_spec("robot_descriptions") is not None
    return among if known and importlib.util.find_spec(among) is not None else None


def _check_files(name: str, module: str) -> None:
    """An error unless the repository that the module reads is on this machine."""
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec is not None and spec.origin else ""
    cloned = _CLONED.search(source)
    if cloned is None:
        return
    repositories = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", os.path.expanduser("~/.cache/robot_descriptions"))
    folder = os.path.join(os.path.expanduser(cache), repositories[cloned[1]].cache_path)
    if not os.path.isdir(folder):
        way = f'python -c "import {module}"'
        raise FileError(f"its files are not on this machine; with a network, {way} fetches them once", file=name)


@contextmanager
def _no_network() -> Iterator[None]:
    """Git, as a child of this process, reads local repositories only."""
    before = os.environ.get("GIT_ALLOW_PROTOCOL")
    os.environ["GIT_ALLOW_PROTOCOL"] = "file"
    try:
        yield
    finally:
        if before is None:
            del os.environ["GIT_ALLOW_PROTOCOL"]
        else:
            os.environ["GIT_ALLOW_PROTOCOL"] = before
