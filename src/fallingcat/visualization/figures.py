"""Maps and surfaces as SVG pictures: for papers and documents, without a browser or another package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays.types import Matrix, Vector
from ..escaping import html
from ..records import concise
from .page import HeatMap

INK, SOFT, EDGE = "#1d2430", "#5c6678", "#c9d0db"
STROKES = ("#1d2430", "#1f6fd0", "#2e8b57", "#8e4bb8", "#b8860b")
STOPS = (
    (-1.0, (33, 91, 178)),
    (-0.5, (120, 170, 224)),
    (0.0, (247, 246, 242)),
    (0.5, (240, 165, 98)),
    (1.0, (196, 78, 20)),
)
"""Of the colors: zero is where nothing turns."""
ZERO = "#12807f"


@concise
@dataclass(frozen=True)
class Surface:
    """Surface of ``values`` (len(x) x len(y)) seen from above the corner, with a closed curve (2 x N) on it.

    With ``inside`` only what lies inside the curve is drawn, down to zero: the volume that a gait encloses.

    Example:
        >>> surface = Surface("curvature", [0.0, 1.0], [0.0, 1.0], np.eye(2), x_label="q1", y_label="q2")
        >>> surface_svg(surface).startswith("<svg")
        True
    """

    title: str
    """above the picture"""
    x: Vector
    """first coordinate"""
    y: Vector
    """second coordinate"""
    values: Matrix
    """``len(x) x len(y)``"""
    curve: Matrix | None = None
    """``2 x N``, closed"""
    x_label: str = ""
    """name of ``x``"""
    y_label: str = ""
    """name of ``y``"""
    z_label: str = ""
    """name of the values"""
    inside: bool = False
    """draw only what lies inside the curve"""
    scale: float | None = None
    """largest value of the colors"""


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


def surface_svg(surface: Surface, width: int = 460, height: int = 400) -> str:
    """Picture of a surface.

    Args:
        surface: Surface.
        width: Width (pixels).
        height: Height (pixels).

    Returns:
        SVG text.

    Example:
        >>> surface_svg(Surface("flat", [0.0, 1.0], [0.0, 1.0], np.zeros((2, 2)))).startswith("<svg")
        True
    """
    return document(width, height, _surface(surface, width, height))


def side_by_side(pictures: Sequence[str], width: int = 460, height: int = 400, columns: int = 3) -> str:
    """Pictures of one size in rows, as one picture.

    Args:
        pictures: SVG texts.
        width: Width of each (pixels).
        height: Height of each (pixels).
        columns: Pictures in a row.

    Returns:
        SVG text.

    Example:
        >>> flat = surface_svg(Surface("flat", [0.0, 1.0], [0.0, 1.0], np.zeros((2, 2))))
        >>> side_by_side([flat, flat]).count("<svg")
        3
    """
    rows = -(-len(pictures) // columns)
    parts = []
    for k, picture in enumerate(pictures):
        at = f'<svg x="{width * (k % columns)}" y="{height * (k // columns)}"'
        parts.append(picture.replace("<svg", at, 1))
    return document(width * min(columns, len(pictures)), height * rows, parts)


def document(width: int, height: int, parts: Sequence[str] | Iterator[str]) -> str:
    """Picture of these parts on white."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    font = 'font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif" font-size="12"'
    return (
        f'{head} {font}>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def color(value: float) -> str:
    """Color of a value between -1 and 1.

    Example:
        >>> color(0.0)
        '#f7f6f2'
    """
    x = min(max(value, -1.0), 1.0)
    for (a, low), (b, high) in pairwise(STOPS):
        if x <= b:
            mixed = [round(p + (x - a) / (b - a) * (q - p)) for p, q in zip(low, high, strict=True)]
            return "#{:02x}{:02x}{:02x}".format(*mixed)
    return "#000000"


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two ends.

    Example:
        >>> ticks(-1.0, 1.0, 4)
        [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    raw = (high - low) / max(count, 1)
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(x * power for x in (1.0, 2.0, 2.5, 5.0, 10.0) if x * power >= 0.75 * raw)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [round(float(k * step), 12) for k in range(first, last + 1)]


def text(x: float, y: float, words: str, anchor: str = "middle", fill: str = SOFT, more: str = "") -> str:
    """Text at a point; never markup."""
    inner = html(words)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {more}>{inner}</text>'


def path(points: Matrix, stroke: str, width: float = 1.8, more: str = "") -> str:
    """Line through points (N x 2)."""
    line = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in np.asarray(points, dtype=float))
    return f'<path d="{line}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round" {more}/>'


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

    def at(points: Any) -> np.ndarray:
        p = np.atleast_2d(np.asarray(points, dtype=float))
        across = left + (p[:, 0] - x[0]) / (x[-1] - x[0]) * (right - left)
        return np.stack([across, bottom - (p[:, 1] - y[0]) / (y[-1] - y[0]) * (bottom - top)], axis=1)

    largest = float(np.abs(z).max()) or 1.0
    yield text(left, 20.0, chart.title, "start", INK, 'font-weight="600" font-size="13"')
    yield '<g shape-rendering="crispEdges">'
    for a, ends in enumerate(_cells(x)):
        for b, sides in enumerate(_cells(y)):
            (u, low), (v, high) = at([(ends[0], sides[0]), (ends[1], sides[1])])
            fill = color(float(z[a, b]) / largest)
            yield f'<rect x="{u:.2f}" y="{high:.2f}" width="{v - u:.2f}" height="{low - high:.2f}" fill="{fill}"/>'
    yield "</g>"
    for line in zero_segments(x, y, z):
        yield path(at(line), ZERO, 1.4, 'stroke-dasharray="4 3"')
    for k, trace in enumerate(chart.traces):
        points = at(np.stack([np.asarray(trace.x, dtype=float), np.asarray(trace.y, dtype=float)], axis=1))
        yield path(points, STROKES[k % len(STROKES)])
        if np.ptp(points, axis=0).max() > 4.0:
            yield _arrow(points, STROKES[k % len(STROKES)])
    yield from _axes(chart, x, y, at, (left, right, top, bottom))
    yield from _bar(right + 16.0, top, bottom, largest, chart.unit)
    for k, row in enumerate(entries):
        for x_, name, stroke in row:
            y_ = bottom + 54.0 + 18.0 * k
            yield path([(left + x_, y_ - 4.0), (left + x_ + 16.0, y_ - 4.0)], stroke, 3.0)
            yield text(left + x_ + 21.0, y_, name, "start")


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


def _axes(chart: HeatMap, x: np.ndarray, y: np.ndarray, at: Any, box: tuple[float, ...]) -> Iterator[str]:
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


# surfaces -------------------------------------------------------------------------------------------------------


def _surface(surface: Surface, width: int, height: int) -> Iterator[str]:
    x, y, z = (np.asarray(v, dtype=float) for v in (surface.x, surface.y, surface.values))
    largest = surface.scale or float(np.abs(z).max()) or 1.0
    low, high = min(float(z.min()), 0.0), max(float(z.max()), 0.0)
    if surface.inside:
        z = np.where(_within(x, y, surface.curve), z, np.nan)
    view = _View(x, y, (low, high), width, height)
    yield text(0.5 * width, 20.0, surface.title, "middle", INK, 'font-weight="600" font-size="13"')
    yield from view.box(surface)
    mesh = []
    for i in range(len(x) - 1):
        for j in range(len(y) - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            points = np.array([(x[a], y[b], z[a, b]) for a, b in corners])
            if np.isfinite(points).all():
                mesh.append(points)
    if surface.inside:
        mesh += [points * (1.0, 1.0, 0.0) for points in mesh] + _walls(surface, x, y)
    yield '<g stroke="#ffffff" stroke-width="0.35" fill-opacity="0.93">'
    for points in sorted(mesh, key=lambda p: view.depth(p.mean(axis=0))):
        flat = surface.inside and not points[:, 2].any()
        fill = "#e6e9ee" if flat else color(float(points[:, 2].mean()) / largest)
        corners_ = " ".join(f"{a:.1f},{b:.1f}" for a, b in view.at(points))
        yield f'<polygon points="{corners_}" fill="{fill}"/>'
    yield "</g>"
    if surface.curve is not None:
        yield from _carried(surface, view, x, y, np.asarray(surface.values, dtype=float))


def _walls(surface: Surface, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Upright pieces between the curve on the surface and zero."""
    curve = np.asarray(surface.curve, dtype=float)
    top = np.stack([*curve, _between(x, y, np.asarray(surface.values, dtype=float), curve)], axis=1)[::4]
    return [np.array([a, b, b * (1.0, 1.0, 0.0), a * (1.0, 1.0, 0.0)]) for a, b in pairwise(top)]


def _carried(surface: Surface, view: _View, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Iterator[str]:
    """The curve on the surface, and its shadow on the plane of zero."""
    curve = np.asarray(surface.curve, dtype=float)
    on = np.stack([*curve, _between(x, y, z, curve)], axis=1)
    yield path(view.at(on * (1.0, 1.0, 0.0)), SOFT, 1.0, 'stroke-dasharray="3 3"')
    yield path(view.at(on), "#1f4fd0", 2.2)


def _within(x: np.ndarray, y: np.ndarray, curve: Any) -> np.ndarray:
    """Which grid points lie inside a closed curve: an odd number of crossings to the right."""
    px, py = np.asarray(curve, dtype=float)
    gx, gy = np.meshgrid(x, y, indexing="ij")
    inside = np.zeros(gx.shape, dtype=bool)
    for a, b, c, d in zip(px[:-1], py[:-1], px[1:], py[1:], strict=True):
        if b != d:
            inside ^= ((b > gy) != (d > gy)) & (gx < (c - a) * (gy - b) / (d - b) + a)
    return inside


def _between(x: np.ndarray, y: np.ndarray, z: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Values (N) on a curve (2 x N), linear between grid points."""
    i = np.clip(np.searchsorted(x, curve[0]) - 1, 0, len(x) - 2)
    j = np.clip(np.searchsorted(y, curve[1]) - 1, 0, len(y) - 2)
    u, v = (curve[0] - x[i]) / (x[i + 1] - x[i]), (curve[1] - y[j]) / (y[j + 1] - y[j])
    low = (1.0 - u) * z[i, j] + u * z[i + 1, j]
    return np.asarray((1.0 - v) * low + v * ((1.0 - u) * z[i, j + 1] + u * z[i + 1, j + 1]))


class _View:
    """Points of a box on the paper: turned about the vertical, seen from above."""

    def __init__(self, x: np.ndarray, y: np.ndarray, z: tuple[float, float], width: int, height: int) -> None:
        self.low = np.array([x[0], y[0], z[0]])
        self.size = np.array([x[-1] - x[0], y[-1] - y[0], (z[1] - z[0]) or 1.0])
        self.ends = z
        a, e = np.radians(-58.0), np.radians(27.0)
        self.right = np.array([-np.sin(a), np.cos(a), 0.0])
        self.up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), 0.9 * np.cos(e)])
        self.toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        corners = np.array([(i, j, k) for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
        seen = np.stack([corners @ self.right, -(corners @ self.up)], axis=1)
        room = np.array([width - 2 * 66.0, height - 30.0 - 58.0])
        self.scale = float((room / np.ptp(seen, axis=0)).min())
        center = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        self.middle = np.array([0.5 * width, 30.0 + 0.5 * room[1]]) - self.scale * center

    def at(self, points: Matrix) -> np.ndarray:
        """Points on the paper."""
        p = (np.atleast_2d(points) - self.low) / self.size - 0.5
        return np.stack(
            [self.middle[0] + self.scale * (p @ self.right), self.middle[1] - self.scale * (p @ self.up)], axis=1
        )

    def depth(self, point: np.ndarray) -> float:
        """Larger is nearer."""
        return float(((point - self.low) / self.size - 0.5) @ self.toward)

    def box(self, surface: Surface) -> Iterator[str]:
        """The floor at the lowest value, the vertical axis, and their numbers."""
        a, b = self.low, self.low + self.size
        floor = [(a[0], a[1]), (b[0], a[1]), (b[0], b[1]), (a[0], b[1]), (a[0], a[1])]
        yield path(self.at([(*p, a[2]) for p in floor]), EDGE, 1.0)
        yield path(self.at([(a[0], a[1], a[2]), (a[0], a[1], b[2])]), EDGE, 1.0)
        if self.ends[0] < 0.0 < self.ends[1]:
            yield path(self.at([(*p, 0.0) for p in floor]), EDGE, 0.8, 'stroke-dasharray="2 3"')
        for value in ticks(a[0], b[0], 4):
            (u, v) = self.at((value, a[1], a[2]))[0]
            yield text(u - 5.0, v + 15.0, f"{value:g}")
        for value in ticks(a[1], b[1], 4):
            (u, v) = self.at((b[0], value, a[2]))[0]
            yield text(u + 12.0, v + 13.0, f"{value:g}", "start")
        for value in ticks(a[2], b[2], 4):
            (u, v) = self.at((a[0], a[1], value))[0]
            yield text(u - 7.0, v + 4.0, f"{value:g}", "end")
        (u, v) = self.at((0.5 * (a[0] + b[0]), a[1], a[2]))[0]
        yield text(u - 22.0, v + 36.0, surface.x_label)
        (u, v) = self.at((b[0], 0.5 * (a[1] + b[1]), a[2]))[0]
        yield text(u + 30.0, v + 32.0, surface.y_label, "start")
        (u, v) = self.at((a[0], a[1], b[2]))[0]
        yield text(max(u - 40.0, 4.0), v - 14.0, surface.z_label, "start")
