"""Surfaces as SVG pictures, seen from above a corner, with a closed curve on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays.types import Matrix, Vector
from ..records import concise
from .svg import EDGE, INK, SOFT, color, document, path, text, ticks


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


def _surface(surface: Surface, width: int, height: int) -> Iterator[str]:
    x, y, z = (np.asarray(v, dtype=float) for v in (surface.x, surface.y, surface.values))
    largest = surface.scale or float(np.abs(z).max()) or 1.0
    low, high = min(float(z.min()), 0.0), max(float(z.max()), 0.0)
    if surface.inside:
        z = np.where(_inside_curve(x, y, surface.curve), z, np.nan)
    view = _View(x, y, (low, high), width, height)
    yield text(0.5 * width, 20.0, surface.title, "middle", INK, 'font-weight="600" font-size="13"')
    yield from view.box(surface)
    mesh = _mesh(x, y, z)
    if surface.inside:
        mesh += [points * (1.0, 1.0, 0.0) for points in mesh] + _wall_polygons(surface, x, y)
    yield '<g stroke="#ffffff" stroke-width="0.35" fill-opacity="0.93">'
    for points in sorted(mesh, key=lambda p: view.depth(p.mean(axis=0))):
        flat = surface.inside and not points[:, 2].any()
        fill = "#e6e9ee" if flat else color(float(points[:, 2].mean()) / largest)
        corners_ = " ".join(f"{a:.1f},{b:.1f}" for a, b in view.project(points))
        yield f'<polygon points="{corners_}" fill="{fill}"/>'
    yield "</g>"
    if surface.curve is not None:
        yield from _curve_on_surface(surface, view, x, y, np.asarray(surface.values, dtype=float))


def _mesh(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    """Quadrilaterals (4 x 3) of the surface between grid points whose values are finite."""
    mesh = []
    for i in range(len(x) - 1):
        for j in range(len(y) - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            points = np.array([(x[a], y[b], z[a, b]) for a, b in corners])
            if np.isfinite(points).all():
                mesh.append(points)
    return mesh


def _wall_polygons(surface: Surface, x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """Upright pieces between the curve on the surface and zero."""
    curve = np.asarray(surface.curve, dtype=float)
    top = np.stack([*curve, _values_on_curve(x, y, np.asarray(surface.values, dtype=float), curve)], axis=1)[::4]
    return [np.array([a, b, b * (1.0, 1.0, 0.0), a * (1.0, 1.0, 0.0)]) for a, b in pairwise(top)]


def _curve_on_surface(surface: Surface, view: _View, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Iterator[str]:
    """The curve on the surface, and its shadow on the plane of zero."""
    curve = np.asarray(surface.curve, dtype=float)
    on = np.stack([*curve, _values_on_curve(x, y, z, curve)], axis=1)
    yield path(view.project(on * (1.0, 1.0, 0.0)), SOFT, 1.0, 'stroke-dasharray="3 3"')
    yield path(view.project(on), "#1f4fd0", 2.2)


def _inside_curve(x: np.ndarray, y: np.ndarray, curve: Any) -> np.ndarray:
    """Mask of grid points inside a closed curve: an odd number of crossings to the right."""
    px, py = np.asarray(curve, dtype=float)
    gx, gy = np.meshgrid(x, y, indexing="ij")
    inside = np.zeros(gx.shape, dtype=bool)
    for a, b, c, d in zip(px[:-1], py[:-1], px[1:], py[1:], strict=True):
        if b != d:
            inside ^= ((b > gy) != (d > gy)) & (gx < (c - a) * (gy - b) / (d - b) + a)
    return inside


def _values_on_curve(x: np.ndarray, y: np.ndarray, z: np.ndarray, curve: np.ndarray) -> np.ndarray:
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

    def project(self, points: Matrix) -> np.ndarray:
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
        yield path(self.project([(*p, a[2]) for p in floor]), EDGE, 1.0)
        yield path(self.project([(a[0], a[1], a[2]), (a[0], a[1], b[2])]), EDGE, 1.0)
        if self.ends[0] < 0.0 < self.ends[1]:
            yield path(self.project([(*p, 0.0) for p in floor]), EDGE, 0.8, 'stroke-dasharray="2 3"')
        for value in ticks(a[0], b[0], 4):
            (u, v) = self.project((value, a[1], a[2]))[0]
            yield text(u - 5.0, v + 15.0, f"{value:g}")
        for value in ticks(a[1], b[1], 4):
            (u, v) = self.project((b[0], value, a[2]))[0]
            yield text(u + 12.0, v + 13.0, f"{value:g}", "start")
        for value in ticks(a[2], b[2], 4):
            (u, v) = self.project((a[0], a[1], value))[0]
            yield text(u - 7.0, v + 4.0, f"{value:g}", "end")
        (u, v) = self.project((0.5 * (a[0] + b[0]), a[1], a[2]))[0]
        yield text(u - 22.0, v + 36.0, surface.x_label)
        (u, v) = self.project((b[0], 0.5 * (a[1] + b[1]), a[2]))[0]
        yield text(u + 30.0, v + 32.0, surface.y_label, "start")
        (u, v) = self.project((a[0], a[1], b[2]))[0]
        yield text(max(u - 40.0, 4.0), v - 14.0, surface.z_label, "start")
