"""The basin of a gait as a figure: slices over lean and speed, for some heights and joint angles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

import numpy as np

from ...visualization import Picture, Text
from ...visualization.page import Block
from ...visualization.svg import EDGE, INK, document, text, ticks
from ..kind import Figures
from .appearance import hopper_scene
from .attraction import BROKE, FELL, GAIT, PERIODS, UNDECIDED
from .observed import Observed

HOPS_TO_GAIT: Final = (10, 15, 20)
"""Periods until a run in the gait is known for one: limits of the colors."""
COLORS: Final = ("#0b4a8f", "#3f83c4", "#86b6e0", "#c6dcf0", "#eceae4", "#e0a030", "#c02020")
NAMES: Final = (
    *(f"gait, clear after {last} hops" for last in HOPS_TO_GAIT),
    "gait, clear later",
    "falls",
    "undecided",
    "not computed",
)
"""Meaning of the colors: :func:`categories` gives places here."""
MAX_CHARTS: Final = 3
"""Heights, and joint angles, of which slices are shown."""
PANEL, MARGINS, LEFT, TOP = (230.0, 190.0), (40.0, 48.0), 76.0, 72.0


def attraction_figures(seen: Observed) -> Figures:
    """The slices above the table, the run that gives the gait below it."""
    below: list[Block] = [Text("The run that gives the gait", "From the start of the parameters."), hopper_scene(seen)]
    if not seen.curves:
        return Figures(below)
    note = f"A gait is clear after {PERIODS} periods in which it is like the last one. Every cell is a run."
    return Figures([Picture("From which starts the gait is found", slices_svg(seen.curves), note)], below)


def categories(verdicts: np.ndarray, periods: np.ndarray) -> np.ndarray:
    """Places in :data:`NAMES`.

    >>> categories(np.array([GAIT, GAIT, FELL, UNDECIDED]), np.array([7.0, 30.0, 2.0, 54.0])).tolist()
    [0, 3, 4, 5]
    """
    gait = np.searchsorted(HOPS_TO_GAIT, periods)
    others = {FELL: len(HOPS_TO_GAIT) + 1, UNDECIDED: len(HOPS_TO_GAIT) + 2, BROKE: len(HOPS_TO_GAIT) + 3}
    out = np.where(verdicts == GAIT, gait, 0)
    for verdict, place in others.items():
        out = np.where(verdicts == verdict, place, out)
    return np.asarray(out)


def slices_svg(basin: Mapping[str, np.ndarray]) -> str:
    """Slices over lean and speed, side by side for joint angles, above one another for heights."""
    kinds = categories(basin["verdicts"], basin["periods"])
    heights, joints = (_spread_places(len(basin[name])) for name in ("height", "joint"))
    width, height = (LEFT + len(joints) * (PANEL[0] + MARGINS[0]), TOP + len(heights) * (PANEL[1] + MARGINS[1]) + 20.0)
    parts = [*_legend(set(np.unique(kinds).tolist()))]
    for row, i in enumerate(reversed(heights)):  # the highest on top
        for column, j in enumerate(joints):
            corner = LEFT + column * (PANEL[0] + MARGINS[0]), TOP + row * (PANEL[1] + MARGINS[1])
            title = f"foot at {basin['height'][i]:.3g} m, knee at {np.degrees(basin['joint'][j]):.0f}°"
            parts += _panel(np.degrees(basin["lean"]), basin["speed"], kinds[:, i, j, :], corner, title)
    across, down = 0.5 * (LEFT + width - MARGINS[0]), 0.5 * (TOP + height - MARGINS[1] - 20.0)
    parts.append(text(across, height - 14.0, "lean of the leg at release (degrees; foot in front: positive)"))
    turned = f'transform="rotate(-90 22 {down:.1f})"'
    parts.append(text(22.0, down, "forward speed at release (m/s)", more=turned))
    return document(round(width), round(height), parts)


def _spread_places(count: int) -> list[int]:
    """Places spread over an axis, without its ends where it is long enough."""
    spread = (np.arange(MAX_CHARTS) + 0.5) / MAX_CHARTS * count
    return sorted({min(int(k), count - 1) for k in spread})


def _legend(kinds: set[int]) -> Iterator[str]:
    x, y = LEFT, 18.0
    for k in sorted(kinds):
        name, color = NAMES[k], COLORS[k]
        if k > len(HOPS_TO_GAIT) and y < 38.0:
            x, y = LEFT, 38.0
        yield f'<rect x="{x:.1f}" y="{y - 10.0:.1f}" width="14" height="12" fill="{color}" stroke="{EDGE}"/>'
        yield text(x + 20.0, y, name, "start")
        x += 44.0 + 6.3 * len(name)


def _panel(x: np.ndarray, y: np.ndarray, kinds: np.ndarray, corner: tuple[float, float], title: str) -> Iterator[str]:
    """One slice: ``kinds`` (len(x) x len(y)) as cells, neighbours of a kind as one."""
    (left, top), (width, height) = corner, PANEL
    wide, high = width / len(x), height / len(y)
    yield text(left, top - 6.0, title, "start", INK)
    yield f'<g shape-rendering="crispEdges" transform="translate({left:.1f} {top + height:.1f}) scale(1 -1)">'
    for b in range(len(y)):
        first = 0
        for kind, group in groupby(kinds[:, b].tolist()):
            count = len(list(group))
            at = f'x="{first * wide:.2f}" y="{b * high:.2f}" width="{count * wide:.2f}" height="{high:.2f}"'
            yield f'<rect {at} fill="{COLORS[kind]}"/>'
            first += count
    yield "</g>"
    yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="none" stroke="{EDGE}"/>'
    for value in ticks(x[0], x[-1], 5):  # cells have their grid point in the middle
        yield text(left + width * _share(x, value), top + height + 14.0, f"{value:g}")
    for value in ticks(y[0], y[-1], 5):
        yield text(left - 5.0, top + height * (1.0 - _share(y, value)) + 4.0, f"{value:g}", "end")


def _share(axis: np.ndarray, value: float) -> float:
    """Place of a value along the cells of an axis, which begin and end half a cell outside it."""
    return float((np.interp(value, axis, np.arange(len(axis))) + 0.5) / len(axis))
