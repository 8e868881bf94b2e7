"""Pictures of the results: lines over two logarithmic axes, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from readme_tables import load

from fallingcat.visualization.svg import EDGE, INK, SOFT, document, path, side_by_side, text

PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "benchmarks.svg"
WIDTH, HEIGHT = 520, 400
LEFT, RIGHT, TOP, BOTTOM = 74, 20, 62, 52
WHO = {"fallingcat": "kernel", "in batches": "batch", "Pinocchio": "Pinocchio", "MuJoCo": "MuJoCo"}
COLORS = ("#1f6fd0", "#7fb2ee", "#c44e14", "#2e8b57", "#8e4bb8", "#b8860b", "#5c6678")
Points = list[tuple[float, float]]


class Plot(NamedTuple):
    """Named lines of points over logarithmic axes; a single point is a dot."""

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Points]


def svg(plot: Plot) -> str:
    """With axes, grid and legend."""
    return document(WIDTH, HEIGHT, _drawn(plot))


def _drawn(plot: Plot) -> Iterator[str]:
    points = np.log10([point for line in plot.lines.values() for point in line])
    low, high = points.min(axis=0) - 0.08, points.max(axis=0) + 0.08
    corner, size = np.array([LEFT, HEIGHT - BOTTOM]), np.array([WIDTH - LEFT - RIGHT, TOP + BOTTOM - HEIGHT])

    def at(point: Any) -> np.ndarray:
        return corner + size * (np.log10(point) - low) / (high - low)

    yield text(WIDTH / 2, 20, plot.title, fill=INK, more='font-weight="600"')
    yield text(LEFT + size[0] / 2, HEIGHT - 12, plot.x_label)
    yield text(0, 0, plot.y_label, more=f'transform="translate(16 {corner[1] + size[1] / 2}) rotate(-90)"')
    for axis, (first, last) in enumerate(zip(low, high, strict=True)):
        for k in range(int(np.ceil(first)), int(np.floor(last)) + 1):
            here = np.where(np.arange(2) == axis, at([10.0**k, 10.0**k]), corner)
            there = here + np.where(np.arange(2) == axis, 0.0, size)
            yield path([here, there], EDGE, 1.0)
            x, y = here + ([0, 16] if axis == 0 else [-8, 4])
            yield text(x, y, f"{10.0**k:g}", "middle" if axis == 0 else "end")
    yield path([corner + size * np.array(end) for end in ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))], SOFT, 1.0)
    for i, (name, line) in enumerate(plot.lines.items()):
        color, where = COLORS[i % len(COLORS)], at(line)
        if len(line) > 1:
            yield path(where, color)
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{color}"/>' for x, y in where)
        x, y = LEFT + 8 + 146 * (i % 3), 38 + 14 * (i // 3)
        yield f'<rect x="{x}" y="{y - 8}" width="9" height="9" fill="{color}"/>' + text(x + 13, y, name, "start", INK)


def plots() -> Iterator[Plot]:
    """Scaling with joints and with depth, batches, and error over cost of contact."""
    rows = load("scaling")["rows"]
    for shape, words in (("chain", "a chain: deep"), ("star", "a star: flat")):
        lines = {
            name: [
                (row["joints"], 1e6 * row["forward_dynamics"]["times"][who]["median"])
                for row in rows
                if row["shape"] == shape and who in row["forward_dynamics"]["times"]
            ]
            for name, who in WHO.items()
        }
        yield Plot(f"Forward dynamics of {words}", "joints", "time of one call (µs)", lines)
    lines = {"fallingcat": [(row["batch"], 1e6 * row["state_s"][0]) for row in load("kernels")["batch_sizes"]["rows"]]}
    yield Plot("Inverse dynamics of Talos in batches", "states at once", "time for each state (µs)", lines)
    lines = {}
    for run in load("contact")["quadruped"] + load("contact_hard")["quadruped"][:3]:
        point = (run["simulated s per s"], 1e3 * run["error after 1 s (m)"])
        lines.setdefault(run["method"], []).append(point)
    yield Plot("A quadruped lands on four feet", "simulated seconds per second", "error after 1 s (mm)", lines)


def picture() -> str:
    """All plots in one."""
    return side_by_side([svg(plot) for plot in plots()], WIDTH, HEIGHT, columns=2)
