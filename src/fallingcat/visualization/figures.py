"""Maps as SVG pictures: for papers and documents, without a browser or another package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arrays.types import Matrix
from .charts import HeatMap
from .svg import EDGE, INK, color, document, path, text, ticks

STROKES = ("#1d2430", "#1f6fd0", "#2e8b57", "#8e4bb8", "#b8860b")
"""Colors of curves on a map, in turn."""
ZERO = "#12807f"
"""Color of lines where the values change their sign."""
Projection = Callable[[Matrix], np.ndarray]
"""Points of a map (N x 2) on the paper (N x 2, pixels)."""


def map_svg(chart: HeatMap, width: int = 460, height: int = 400) -> str:
    """Picture of a map with its zero lines, curves, axes and color bar.

    Args:
        chart: Map.
        width: Width (pixels).
        height: Height (pixels).

    Returns:
        SVG text.

    Example:
        >>> map_svg(HeatMap("roll", [0.0, 1.0], [0.0, 1.0], np.eye(2))).startswith("<svg")
        True
    """
    return document(width, height, _map(chart, width, height))


def zero_segments(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    """Segments (2 x 2) along which a map changes its sign: marching squares.

    Example:
        >>> zero_segments(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([[-1.0, -1.0], [1.0, 1.0]]))[0].tolist()
        [[0.5, 0.0], [0.5, 1.0]]
    """
    out = []
    for i in range(len(x) - 1):
        for j in range(len(y) - 1):
            corners = np.array([(x[i], y[j]), (x[i + 1], y[j]), (x[i + 1], y[j + 1]), (x[i], y[j + 1])])
            v = np.array([z[i, j], z[i + 1, j], z[i + 1, j + 1], z[i, j + 1]])
            cuts = []
            for k in range(4):
                a, b = v[k], v[(k + 1) % 4]
                if (a > 0.0) != (b > 0.0):
                    cuts.append(corners[k] + a / (a - b) * (corners[(k + 1) % 4] - corners[k]))
            out += [np.array(cuts[k : k + 2]) for k in range(0, len(cuts) - 1, 2)]
    return out


def _map(chart: HeatMap, width: int, height: int) -> Iterator[str]:
    x, y, z = (np.asarray(v, dtype=float) for v in (chart.x, chart.y, chart.values))
    entries = _legend(chart, width - 58.0)
    left, right, top, bottom = 58.0, width - 84.0, 34.0, height - 46.0 - 18.0 * len(entries)
    unit = min((right - left) / (x[-1] - x[0]), (bottom - top) / (y[-1] - y[0])) if chart.equal else 0.0
    if unit:
        right, bottom = left + unit * (x[-1] - x[0]), top + unit * (y[-1] - y[0])

    def to_pixels(points: Any) -> np.ndarray:
        p = np.atleast_2d(np.asarray(points, dtype=float))
        across = left + (p[:, 0] - x[0]) / (x[-1] - x[0]) * (right - left)
        return np.stack([across, bottom - (p[:, 1] - y[0]) / (y[-1] - y[0]) * (bottom - top)], axis=1)

    largest = float(np.abs(z).max()) or 1.0
    yield text(left, 20.0, chart.title, "start", INK, 'font-weight="600" font-size="13"')
    yield from _colors(x, y, z / largest, to_pixels)
    for line in zero_segments(x, y, z):
        yield path(to_pixels(line), ZERO, 1.4, 'stroke-dasharray="4 3"')
    yield from _curves(chart, to_pixels)
    yield from _axes(chart, x, y, to_pixels, (left, right, top, bottom))
    yield from _bar(right + 16.0, top, bottom, largest, chart.unit)
    for k, row in enumerate(entries):
        for x_, name, stroke in row:
            y_ = bottom + 54.0 + 18.0 * k
            yield path([(left + x_, y_ - 4.0), (left + x_ + 16.0, y_ - 4.0)], stroke, 3.0)
            yield text(left + x_ + 21.0, y_, name, "start")


def _colors(x: np.ndarray, y: np.ndarray, z: np.ndarray, at: Projection) -> Iterator[str]:
    """Rectangle of each grid point in the color of its value, from -1 to 1."""
    yield '<g shape-rendering="crispEdges">'
    for a, ends in enumerate(_cells(x)):
        for b, sides in enumerate(_cells(y)):
            (u, low), (v, high) = at([(ends[0], sides[0]), (ends[1], sides[1])])
            fill = color(float(z[a, b]))
            yield f'<rect x="{u:.2f}" y="{high:.2f}" width="{v - u:.2f}" height="{low - high:.2f}" fill="{fill}"/>'
    yield "</g>"


def _curves(chart: HeatMap, at: Projection) -> Iterator[str]:
    """Curves of the map, with arrows on those that are long enough to have a direction."""
    for k, trace in enumerate(chart.traces):
        points = at(np.stack([np.asarray(trace.x, dtype=float), np.asarray(trace.y, dtype=float)], axis=1))
        yield path(points, STROKES[k % len(STROKES)])
        if np.ptp(points, axis=0).max() > 4.0:
            yield _arrow(points, STROKES[k % len(STROKES)])


def _cells(x: np.ndarray) -> list[tuple[float, float]]:
    """Around each grid point, half way to its neighbours."""
    edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _arrow(points: np.ndarray, fill: str) -> str:
    k = len(points) // 2
    d = points[k + 1] - points[k]
    d = d / (np.linalg.norm(d) or 1.0)
    across = np.array([-d[1], d[0]])
    tips = [points[k] + 8.0 * d, points[k] - 5.0 * d + 5.0 * across, points[k] - 5.0 * d - 5.0 * across]
    return f'<path d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in tips)}Z" fill="{fill}"/>'


def _axes(chart: HeatMap, x: np.ndarray, y: np.ndarray, at: Projection, box: tuple[float, ...]) -> Iterator[str]:
    left, right, top, bottom = box
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" fill="none" '
        f'stroke="{EDGE}"/>'
    )
    for value in ticks(x[0], x[-1], 6):
        yield text(at((value, y[0]))[0, 0], bottom + 16.0, f"{value:g}")
    for value in ticks(y[0], y[-1], 6):
        yield text(left - 6.0, at((x[0], value))[0, 1] + 4.0, f"{value:g}", "end")
    yield text(0.5 * (left + right), bottom + 34.0, chart.x_label)
    middle = 0.5 * (top + bottom)
    yield text(16.0, middle, chart.y_label, more=f'transform="rotate(-90 16 {middle:.1f})"')


def _bar(x: float, top: float, bottom: float, largest: float, unit: str) -> Iterator[str]:
    size = (bottom - top - 18.0) / 40.0
    for k in range(40):
        fill = color(1.0 - (k + 0.5) / 20.0)
        yield f'<rect x="{x:.1f}" y="{top + k * size:.2f}" width="12" height="{size + 0.5:.2f}" fill="{fill}"/>'
    for value in ticks(-largest, largest, 6):
        yield text(x + 17.0, top + 20.0 * size * (1.0 - value / largest) + 4.0, f"{value:g}", "start")
    yield text(x - 4.0, bottom + 1.0, unit, "start")


def _legend(chart: HeatMap, width: float) -> list[list[tuple[float, str, str]]]:
    """Rows of entries: where, what, and in which color."""
    entries = [(t.name, STROKES[k % len(STROKES)]) for k, t in enumerate(chart.traces)]
    z = np.asarray(chart.values, dtype=float)
    if (z > 0.0).any() and (z < 0.0).any():
        entries.append((chart.zero, ZERO))
    rows: list[list[tuple[float, str, str]]] = [[]]
    x = 0.0
    for name, stroke in entries:
        size = 36.0 + 6.6 * len(name)
        if rows[-1] and x + size > width:
            rows.append([])
            x = 0.0
        rows[-1].append((x, name, stroke))
        x += size
    return rows
