"""Page of the righting atlas: facts, and a table of all robots."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from ..visualization import Fact, Page, Table
from .righting_atlas import MAX_ATTITUDE_ERROR, MAX_OVERLAP, Atlas, AtlasRow, page_name

PAGES: Final = 10
HEADER: Final = (
    "", "robot", "kg", "joints", "x", "y", "z", "turns over in (s)", "circles", "drop on Earth (m)", "on the Moon (m)",
    "missed (deg)", "momentum", "torque", "overlap (cm)", "limits",
)  # fmt: skip
NOTE: Final = (
    "x, y, z: turn (deg) about an axis of the base by one circle of all joints, the largest within their ranges. "
    "Turning over is by 180 degrees about x or y, from rest to rest, within 0.9 of the speeds and torques of the file; "
    "it is the best motion that the search found, and none is proved to be the fastest. Missed: attitude of the "
    "simulated flight beside the plan. Momentum: largest in the flight, relative to what the joint rates carry. "
    "Torque: largest share of a limit. Overlap: of links that are clear of each other at the start; above "
    f"{1e3 * MAX_OVERLAP:g} mm the robot is ranked after those that stay clear. Limits: shares of joints with limits "
    "of torque and of speed."
)


def atlas_page(atlas: Atlas) -> Page:
    """Page of an atlas."""
    count, root = atlas.data(), _root(atlas)
    good = [row for row in atlas.rows if not row.error]
    bad = [row for row in atlas.rows if row.error]
    facts = [
        Fact("robots", str(count["computed"]), f"of {count['files']} files"),
        Fact("turn over", str(count["turn_over"]), f"and the flight follows within {MAX_ATTITUDE_ERROR:g} deg"),
        Fact("with links clear", str(count["clear"])),
    ]
    if atlas.rows and atlas.rows[0].turns_over:
        facts.append(
            Fact("least drop on Earth", f"{atlas.rows[0].numbers['drop_earth']:.3g} m", _name(atlas.rows[0], root))
        )
    rows = [[str(k + 1), _name(row, root), *_cells(row)] for k, row in enumerate(good)]
    verdicts = [True if row.is_clear else None if row.turns_over else False for row in good]
    blocks = [Table("Robots, those that need the least drop first", HEADER, rows, NOTE, True, verdicts)]
    pages = [[page_name(k, row), _name(row, root)] for k, row in enumerate(atlas.rows[:PAGES]) if row.turns_over]
    if pages:
        blocks.append(Table("Animated flights, in this folder", ("page", "robot"), pages))
    if bad:
        reasons = [[_name(row, root), row.error] for row in bad]
        blocks.append(Table("Files without numbers", ("file", "reason"), reasons, wide=True))
    return Page("Righting atlas", "Which robots turn over in free fall, by their own joints", facts, blocks)


def _root(atlas: Atlas) -> str:
    folders = [os.path.dirname(os.path.abspath(row.file)) for row in atlas.rows]
    return os.path.commonpath(folders) if folders else ""


def _name(row: AtlasRow, root: str) -> str:
    return Path(os.path.relpath(row.file, root)).as_posix() if root else row.file


def _cells(row: AtlasRow) -> list[str]:
    x = row.numbers

    def cell(name: str, text: Callable[[float], str]) -> str:
        return text(x[name]) if np.isfinite(x[name]) else "-"

    return [
        cell("mass", lambda v: f"{v:.3g}"),
        cell("joints", lambda v: f"{v:.0f}"),
        *(cell(name, lambda v: f"{v:.0f}") for name in ("roll", "pitch", "yaw")),
        cell("time", lambda v: f"{v:.2f}"),
        cell("circles", lambda v: f"{v:.0f}"),
        *(cell(name, lambda v: f"{v:.2f}") for name in ("drop_earth", "drop_moon")),
        cell("missed", lambda v: f"{v:.2g}"),
        cell("spin", lambda v: f"{v:.0e}"),
        cell("effort", lambda v: f"{v:.2f}"),
        cell("overlap", lambda v: f"{100.0 * v:.1f}"),
        f"{100.0 * x['torque_limits']:.0f} %, {100.0 * x['speed_limits']:.0f} %",
    ]
