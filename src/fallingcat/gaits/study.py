"""Two joints of a robot: the map of their curvature, and how far bends that are carried around turn and move it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..model import Model
from ..views import Fact, HeatMap, Page, Trace
from .curves import Circle, Curve, carried_bend
from .displacement import Reconstruction
from .estimate import estimate_with
from .frames import check_frame
from .maps import CurvatureMap, Mapper, Plane

COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
"""Of a displacement ``log(g)`` embedded in se(3): three lengths (m), three angles (rad)."""
RADII, GRID = 6, 61


class Row(NamedTuple):
    """One gait: bend, carry the bend once around the neutral shape, straighten."""

    radius: float
    """rad (or m)"""
    exact: np.ndarray
    """``6``: logarithm of the exact displacement, ``[v; w]``"""
    estimate: np.ndarray
    """``6``: logarithm of the estimate from curvature"""
    gap: np.ndarray
    """``6``: logarithm of the estimate, seen from the exact end"""


class Study(NamedTuple):
    """What two joints can do."""

    model: Model
    joints: tuple[str, str]
    map: CurvatureMap
    component: int
    """of :data:`COMPONENTS`: what is shown"""
    circles: tuple[Row, ...]
    best: Row
    """the circle within reach, anywhere in the map, whose inside adds up to most"""
    center: np.ndarray
    """``2``: its center (rad)"""

    def header(self) -> list[str]:
        """Of the table."""
        return ["bend deg", *COMPONENTS[:3], *(f"{name} deg" for name in COMPONENTS[3:]), "estimate", "gap"]

    def rows(self) -> list[list[str]]:
        """The table: exact displacements (m, degrees), estimate of the shown component, gap between the ends."""
        out = []
        for row in self.circles:
            guess = _shown(row.estimate, self.component)
            gap = np.linalg.norm(row.gap[:3]) if self.component < 3 else np.degrees(np.linalg.norm(row.gap[3:]))
            cells = [f"{np.degrees(row.radius):.1f}", *(f"{x:.4f}" for x in row.exact[:3])]
            cells += [f"{np.degrees(x):.2f}" for x in row.exact[3:]]
            out.append([*cells, f"{guess + 0.0:.{4 if self.component < 3 else 2}f}", f"{gap:.2g}"])
        return out

    def data(self) -> dict[str, Any]:
        """As plain data: radii in rad, displacements as ``[v; w]`` in m and rad."""
        circles = [
            {"radius": row.radius, "exact": row.exact.tolist(), "estimate": row.estimate.tolist()}
            for row in self.circles
        ]
        best = {
            "center": self.center.tolist(),
            "radius": self.best.radius,
            "exact": self.best.exact.tolist(),
            "estimate": self.best.estimate.tolist(),
        }
        return {"joints": list(self.joints), "component": COMPONENTS[self.component], "circles": circles, "best": best}


def _shown(x: np.ndarray, component: int) -> float:
    return float(x[component] if component < 3 else np.degrees(x[component]))


def study(model: Model, joints: tuple[str, str], reach: float, component: str | None = None) -> Study:
    """The curvature map of two joints around neutral, and what bends up to ``reach`` (rad) do.

    Each is carried once around, anticlockwise: from neutral out along the first joint, a circle, and back.

    >>> from fallingcat.model import robots
    >>> found = study(robots.two_cylinder_cat(), ("spine_z", "spine_y"), 0.6)
    >>> COMPONENTS[found.component], len(found.circles)
    ('rx', 6)
    """
    if joints[0] == joints[1]:
        raise ModelError(f"a gait takes two joints, not {joints[0]!r} twice")
    if component is not None and component not in COMPONENTS:
        raise ModelError(f"component is one of {', '.join(COMPONENTS)}, not {component!r}")
    plane = Plane.of_joints(model, *joints)
    reach = _within(model, joints, reach)
    mapper = Mapper(model, _frame(model))
    grid = np.linspace(-reach, reach, GRID)
    found = mapper.map(plane, grid, grid)
    reconstruction, G = Reconstruction(model), model.base
    S = G.selection

    def row(radius: float, curve: Curve, apex: np.ndarray) -> Row:
        gait = plane.curve(curve)
        exact, guess = reconstruction.displacement(gait).pose, estimate_with(mapper, gait, apex).pose
        logs = [S @ G.log(pose) for pose in (exact, guess, G.inverse(exact) @ guess)]
        return Row(float(radius), *logs)

    radii = [float(x) for x in reach * np.arange(1, RADII + 1) / RADII]
    circles = tuple(row(radius, carried_bend(radius), plane.origin) for radius in radii)
    index = COMPONENTS.index(component) if component else _strongest(np.abs(found.values @ S.T).max(axis=(0, 1)))
    center, radius = best_circle(grid, found.values @ S[index])
    best = row(radius, Circle(radius, tuple(center)), plane.shapes(center[None])[0])
    return Study(model, joints, found, index, circles, best, center)


def best_circle(grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Center (2) and radius of the circle on the square of ``grid`` x ``grid`` inside which ``values`` add up to most.

    >>> grid = np.linspace(-1.0, 1.0, 41)
    >>> best_circle(grid, np.ones((41, 41)))[1]
    1.0
    """
    x, y = np.meshgrid(grid, grid, indexing="ij")
    reach, best = float(grid[-1]), (-1.0, np.zeros(2), 0.0)
    for radius in reach * np.arange(10, 0, -1) / 10.0:
        room = np.linspace(radius - reach, reach - radius, 9 if radius < reach else 1)
        for center in np.stack(np.meshgrid(room, room), axis=-1).reshape(-1, 2):
            inside = (x - center[0]) ** 2 + (y - center[1]) ** 2 <= radius**2
            total = abs(float(values[inside].sum()))
            if total > 1.0001 * best[0]:
                best = (total, center, float(radius))
    return best[1], best[2]


def _strongest(sizes: np.ndarray) -> int:
    """The angle that turns most; where nothing turns, the length that goes farthest."""
    return int(np.argmax(sizes[3:])) + 3 if sizes[3:].max() > 1e-9 else int(np.argmax(sizes[:3]))


def _within(model: Model, joints: tuple[str, str], reach: float) -> float:
    limits = [model.joints[model.joint_index(name)].limits for name in joints]
    least = float(min([reach, *(min(x.upper, -x.lower) for x in limits)]))
    if not (np.isfinite(least) and least > 0.0):
        raise ModelError(f"circles around the neutral shape need room on both sides of {joints[0]!r} and {joints[1]!r}")
    return least


def _frame(model: Model) -> str:
    try:
        check_frame(model, "center_of_mass")
    except ModelError:
        return "base"
    return "center_of_mass"


def study_page(found: Study) -> Page:
    """The page of a study: a map of every component that is not zero, the shown one first, and gaits on it."""
    sizes = np.abs(found.map.values @ found.model.base.selection.T).max(axis=(0, 1))
    shown = [k for k in range(6) if sizes[k] > 1e-6 * sizes.max() and k != found.component]
    facts = [
        Fact(
            f"bend of {np.degrees(row.radius):.0f}°",
            _far(row, found.component),
            f"{COMPONENTS[found.component]} per cycle",
        )
        for row in found.circles
    ]
    about = (
        f"Where {found.joints[0]} and {found.joints[1]} turn and carry {found.model.name} without momentum; base "
        f"{found.model.base}, frame {found.map.frame.replace('_', ' ')}. A small anticlockwise gait moves it by the "
        "value where it is, times its area; one that stays on one side of a zero line loses nothing."
    )
    return Page(f"Gaits of {found.model.name}", about, facts, [_chart(found, k) for k in (found.component, *shown)])


def _far(row: Row, component: int) -> str:
    return f"{_shown(row.exact, component):.4g}{' m' if component < 3 else '°'}"


def _chart(found: Study, component: int) -> HeatMap:
    kind = "travel along" if component < 3 else "turn about"
    angles, grid = np.linspace(0.0, 2.0 * np.pi, 181), np.degrees(found.map.first)
    half, middle = found.circles[len(found.circles) // 2 - 1], np.degrees(found.center)
    traces = []
    for name, row, (x, y) in (("best circle", found.best, middle), ("bend of {:.0f}°", half, np.zeros(2))):
        r = np.degrees(row.radius)
        label = f"{name.format(r)}: {_far(row, component)}"
        traces.append(Trace(label, x + r * np.cos(angles), y + r * np.sin(angles)))
    return HeatMap(
        f"{COMPONENTS[component]}: {kind} {'xyz'[component % 3]} per area",
        grid,
        grid,
        -found.map.values @ found.model.base.selection[component],
        x_label=f"{found.joints[0]} (degrees)",
        y_label=f"{found.joints[1]} (degrees)",
        unit="m/rad²" if component < 3 else "rad/rad²",
        traces=traces,
    )
