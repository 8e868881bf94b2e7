"""Robots of the package ``example-robot-data`` by name: ``go2``, ``g1_29dof_rev_1_0``, ``talos_reduced``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_PLACE = "share/example-robot-data/robots"
_FOLDER_ENDINGS = ("_description", "_data")


def robots_folder() -> Path | None:
    """Folder with the robots of ``example-robot-data``, of its wheel or of this environment; None: not installed."""
    return next((folder for folder in _places() if folder.is_dir()), None)


def _places() -> Iterator[Path]:
    with suppress(PackageNotFoundError):
        yield Path(str(distribution("example-robot-data").locate_file(f"cmeel.prefix/{_PLACE}")))
    yield Path(sys.prefix) / _PLACE


def known_robots(folder: Path) -> Mapping[str, list[Path]]:
    """URDF files by name: that of a file, and that of its folder without ``_description``.

    Where a folder has several, a file whose name the folder's begins with stands alone under the folder's name.
    """
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*/*/*.urdf")):
        whole = path.relative_to(folder).parts[0]
        for name in {_plain(path.stem), *(whole.removesuffix(ending) for ending in _FOLDER_ENDINGS)} - {whole}:
            found.setdefault(name, []).append(path)
    plain = {name: [x for x in paths if f"{name}_".startswith(f"{_plain(x.stem)}_")] for name, paths in found.items()}
    return {name: plain[name] if len(plain[name]) == 1 else paths for name, paths in found.items()}


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def candidates(name: str, known: Mapping[str, list[Path]]) -> list[Path]:
    """Files that a name may mean: those of the name, else those of names that begin with it."""
    said = _plain(name).removesuffix("_description")
    longer = {path for key, paths in known.items() if key.startswith(f"{said}_") for path in paths}
    return known.get(said) or sorted(longer)
