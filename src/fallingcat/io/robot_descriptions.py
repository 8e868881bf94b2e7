"""Robots by name: files of ``robot_descriptions``, ``..._description`` packages and ``example-robot-data``."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..errors import ExtraMissingError, FileError, nearest_name_hint
from .example_robots import candidates, known_robots, robots_folder

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_ENDING: Final = "_description"
_CLONE_CALL: Final = re.compile(r"""clone_to_cache\(\s*["']([^"']+)["']""")


def is_name(path: str | os.PathLike[str]) -> bool:
    """True for a path that is no file but may be the name of a robot, like ``go2`` or ``go2_description``."""
    return isinstance(path, str) and _NAME.fullmatch(path) is not None and not os.path.exists(path)


def path_of(name: str) -> str:
    """The URDF, or else the MJCF file of a robot; nothing is fetched.

    ``robot_descriptions`` clones a repository when one of its modules is imported for the first time: here that is
    refused, and the message says how to have the files, unless ``example-robot-data`` has the robot, too.
    """
    module = _installed_module(name if name.endswith(_ENDING) else name + _ENDING)
    missing = _missing_files(name, module) if module is not None else None
    if module is not None and missing is None:
        return _description_file(name, module)
    return _example(name, missing)


def _description_file(name: str, module: str) -> str:
    """File of an installed description."""
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


def _example(name: str, missing: FileError | None) -> str:
    """File of ``example-robot-data``; else ``missing``, or an error that says which names there are."""
    folder = robots_folder()
    known = known_robots(folder) if folder is not None else {}
    found = candidates(name, known)
    if len(found) == 1:
        return os.fspath(found[0])
    if found:
        names = sorted(key for key, paths in known.items() if len(paths) == 1 and paths[0] in found)
        raise FileError(f"several robots have this name: load one of {', '.join(names)}", file=name)
    if missing is not None:
        raise missing
    if folder is None and importlib.util.find_spec("robot_descriptions") is None:
        raise ExtraMissingError(
            "robots", package="example-robot-data", purpose=f"{name!r} is no file, and by its name it"
        )
    names = [*_described_robots(), *(key for key, paths in known.items() if len(paths) == 1)]
    near = nearest_name_hint(name.removesuffix(_ENDING), names)
    raise FileError(f"there is no such file, and no robot of this name is installed{near}", file=name)


def _described_robots() -> list[str]:
    """Names of the robots that ``robot_descriptions`` knows, if it is installed."""
    spec = importlib.util.find_spec("robot_descriptions")
    modules = pkgutil.iter_modules(spec.submodule_search_locations if spec is not None else [])
    return [module.name.removesuffix(_ENDING) for module in modules if module.name.endswith(_ENDING)]


def _installed_module(name: str) -> str | None:
    """The module of a description, if there is one."""
    if importlib.util.find_spec(name) is not None:
        return name
    among = f"robot_descriptions.{name}"
    known = importlib.util.find_spec("robot_descriptions") is not None
    return among if known and importlib.util.find_spec(among) is not None else None


def _missing_files(name: str, module: str) -> FileError | None:
    """An error where the repository that the module reads is not on this machine."""
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec is not None and spec.origin else ""
    cloned = _CLONE_CALL.search(source)
    if cloned is None:
        return None
    repositories = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    cache = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", os.path.expanduser("~/.cache/robot_descriptions"))
    folder = os.path.join(os.path.expanduser(cache), repositories[cloned[1]].cache_path)
    if os.path.isdir(folder):
        return None
    way = f'python -c "import {module}"'
    return FileError(f"its files are not on this machine; with a network, {way} fetches them once", file=name)


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
