"""Righting atlas: which robots of many files turn over in free fall, ranked by the drop that they need.

Each file is a run of the study ``righting-robot``, in a sweep that can be interrupted and resumed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..errors import ModelError, describe
from ..io.files import write_text
from ..io.robot_descriptions import is_name, path_of
from ..records import concise
from .sweeps import Sweep, sweep
from .sweeps.sweep import SweepProgress

if TYPE_CHECKING:
    from ..visualization import Page

STUDY: Final = "righting-robot"
ENDINGS: Final = (".urdf", ".xml", ".mjcf")
MAX_OVERLAP: Final = 0.005
"""m: overlap of links up to which a motion counts as free of collisions"""
MAX_ATTITUDE_ERROR: Final = 5.0
"""deg: attitude that the simulated flight may miss"""
TIME_LIMIT: Final = 900.0
"""s: for one robot"""


class AtlasRow(NamedTuple):
    """Robot of the atlas: the measures of its study, or the reason why there are none."""

    file: str
    numbers: dict[str, float]
    error: str = ""

    @property
    def turns_over(self) -> bool:
        """True if the simulated flight follows a motion that turns it over."""
        return bool(self.numbers.get("time", np.nan) > 0.0 and self.numbers["missed"] <= MAX_ATTITUDE_ERROR)

    @property
    def is_clear(self) -> bool:
        """True if its links stay clear of each other on the way."""
        return self.turns_over and bool(self.numbers["overlap"] <= MAX_OVERLAP)

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Sort key: clear motions first, then the drop on Earth."""
        return (not self.is_clear, not self.turns_over, self.numbers.get("drop_earth", np.inf))


@concise
@dataclass(frozen=True)
class Atlas:
    """Robots in the order of their drop; :meth:`page` shows them, :meth:`write` saves pages and a table.

    Example:
        >>> Atlas((AtlasRow("a.urdf", {}, "no joints"),), Sweep(Path("atlas.zarr"), 0, 1, 1)).data()["turn_over"]
        0
    """

    rows: tuple[AtlasRow, ...]
    """the best first; files without numbers last"""
    sweep: Sweep

    def data(self) -> dict[str, int]:
        """Numbers of robots as ``--json`` prints them.

        Returns:
            Files, and how many of them were computed, turn over, and do so with links clear of each other.
        """
        return {
            "files": len(self.rows),
            "computed": sum(not row.error for row in self.rows),
            "turn_over": sum(row.turns_over for row in self.rows),
            "clear": sum(row.is_clear for row in self.rows),
        }

    def page(self) -> Page:
        """Page with the table of all robots.

        Returns:
            Page.
        """
        from .righting_atlas_page import atlas_page

        return atlas_page(self)

    def csv(self) -> str:
        """Table of all numbers, in SI units and degrees.

        Returns:
            Text with a header line.
        """
        names = list(dict.fromkeys(name for row in self.rows for name in row.numbers))
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["file", *names, "error"])
        for row in self.rows:
            writer.writerow([row.file, *(f"{row.numbers.get(name, np.nan):.9g}" for name in names), row.error])
        return out.getvalue()

    def write(self, folder: str | os.PathLike[str], pages: int = 10) -> Path:
        """Write ``index.html``, ``atlas.csv`` and a page with the animated flight of each of the best robots.

        Args:
            folder: Folder, made if it is not there.
            pages: Number of robots with a page of their own.

        Returns:
            Path of ``index.html``.
        """
        from .study import run_study
        from .tables import load

        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        for k, row in enumerate(self.rows[:pages]):
            if row.turns_over:
                result = run_study(load(STUDY).with_parameters({"file": row.file}))
                result.page().write(out / page_name(k, row))
        write_text(out / "atlas.csv", self.csv())
        return self.page().write(out / "index.html")


def righting_atlas(
    files: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    time_limit: float = TIME_LIMIT,
    progress: SweepProgress | bool | None = None,
) -> Atlas:
    """Search the fastest turn over in free fall of each robot, and rank them (extra ``sweep``).

    An interrupted atlas continues where it stopped when it is called again with the same files.

    Args:
        files: Robot files, folders of them (searched with their subfolders), and names of installed robots.
        out: Folder of the results; robots are stored in ``atlas.zarr`` as they are done.
        workers: Processes of one thread each; None: one per core; 0: this process, without a time limit.
        time_limit: Longest time for one robot (s); one that takes longer is recorded as failed.
        progress: True or False for a bar always or never, or a function of the robots done, failed and in all.

    Returns:
        Ranked robots; :meth:`Atlas.write` writes pages.

    Raises:
        ModelError: There is no robot file.

    Example:
        >>> righting_atlas([], "atlas")
        Traceback (most recent call last):
        fallingcat.errors.ModelError: files must name a robot file, a folder of them or a robot, at least one
    """
    found = tuple(robot_files(files))
    if not found:
        raise ModelError("files must name a robot file, a folder of them or a robot, at least one")
    store, limit = Path(out) / "atlas.zarr", None if workers == 0 else time_limit
    store.parent.mkdir(parents=True, exist_ok=True)
    done = sweep(
        STUDY, {"file": found}, store, resume=store.exists(), workers=workers, time_limit=limit, chunk=1,
        progress=progress,
    )  # fmt: skip
    return Atlas(tuple(sorted(_rows(done), key=lambda row: row.rank)), done)


def robot_files(files: Iterable[str | os.PathLike[str]]) -> Iterator[str]:
    """Robot files among files, folders and names, each content once.

    Args:
        files: Files, folders (searched with their subfolders), and names of installed robots.

    Yields:
        Paths, sorted within a folder.
    """
    if isinstance(files, (str, os.PathLike)) or not isinstance(files, Iterable):
        raise ModelError(f"files must be a list of paths or names of robots, got {describe(files)}")
    seen: set[bytes] = set()
    for given in files:
        path = Path(path_of(given) if isinstance(given, str) and is_name(given) else given)
        inside = sorted(p for p in path.rglob("*") if p.suffix in ENDINGS and p.is_file() and _robot(p))
        for file in inside if path.is_dir() else [path]:
            digest = hashlib.sha256(file.read_bytes()).digest() if file.is_file() else os.fsencode(file)
            if digest not in seen:
                seen.add(digest)
                yield os.fspath(file)


def _robot(path: Path) -> bool:
    """True for a URDF, and for an XML file with bodies of its own: many are parts, or scenes around a robot."""
    text = path.read_bytes()
    return b"<robot" in text if path.suffix == ".urdf" else b"<mujoco" in text and b"<joint" in text


def page_name(k: int, row: AtlasRow) -> str:
    """Name of the page of the robot at place ``k``.

    Example:
        >>> page_name(0, AtlasRow("robots/go2.urdf", {}))
        '01_go2.html'
    """
    return f"{k + 1:02d}_{''.join(c if c.isalnum() else '_' for c in Path(row.file).stem)}.html"


def _rows(done: Sweep) -> Sequence[AtlasRow]:
    with done.open() as data:
        names = [name for name in data.data_vars if name not in ("done", "failed", "error")]
        columns = {name: np.asarray(data[name]) for name in names}
        failed, errors = np.asarray(data["failed"]), np.asarray(data["error"])
        files = [str(file) for file in np.asarray(data["file"])]
    return [
        AtlasRow(file, {}, str(errors[k]))
        if failed[k]
        else AtlasRow(file, {name: float(column[k]) for name, column in columns.items()})
        for k, file in enumerate(files)
    ]
