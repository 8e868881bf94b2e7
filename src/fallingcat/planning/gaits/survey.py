"""Survey of two joints of a robot: curvature map, displacement of carried bends, and optimal gait."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ...lie import SE3, rotations
from ...model import Model
from ...model.joints import Prismatic
from ..curvature.frames import GaitFrame, frame_pose, resolve_frame
from ..curvature.maps import CurvatureMap, Mapper, Plane
from .chains import Chain
from .curves import Circle, Curve, Segment
from .displacement import Reconstruction
from .estimate import estimate_with
from .optimization import Optimum, optimize

COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
"""Components of a displacement ``log(g)`` embedded in se(3): three lengths (m), three angles (rad)."""
CIRCLE_COUNT, GRID_POINTS = 6, 61
"""Number of circles that are compared, and of grid points of a map in each direction."""


class Cycle(NamedTuple):
    """One cycle of a gait, and its displacement."""

    radius: float
    """rad (or m): radius of its circle; the largest bend of the best gait"""
    exact: np.ndarray
    """``6``: logarithm of the exact displacement, ``[v; w]``"""
    estimate: np.ndarray
    """``6``: logarithm of the estimate from curvature"""
    gap: np.ndarray
    """``6``: logarithm of the estimate, seen from the exact end"""


class Unit(NamedTuple):
    """Display unit of a joint's coordinate."""

    factor: float
    name: str


def unit_of(model: Model, joint: str) -> Unit:
    """Unit of a joint: degrees for hinges, m for sliders."""
    kind = model.joints[model.leading_index(joint)].kind
    return Unit(1.0, "m") if isinstance(kind, Prismatic) else Unit(float(np.degrees(1.0)), "degrees")


class Survey(NamedTuple):
    """Result of :func:`survey`."""

    model: Model
    joints: tuple[str, str]
    map: CurvatureMap
    component: int
    """index in :data:`COMPONENTS` of the component that is shown"""
    circles: tuple[Cycle, ...]
    """bends of several sizes: bend, carry the bend once around the middle of the map, straighten"""
    circle: Cycle
    """the circle within reach, anywhere in the map, whose inside adds up to most"""
    center: np.ndarray
    """``2``: its center, from the middle of the map (rad)"""
    best: Cycle | None
    """the best gait of any form, where it was looked for"""
    optimum: Optimum | None

    @property
    def middle(self) -> np.ndarray:
        """Coordinates (2; rad) of the joints in the middle of the map, where every gait starts and ends."""
        return np.asarray(self.map.plane.directions.T @ self.map.plane.origin)

    @property
    def units(self) -> tuple[Unit, Unit]:
        """Units of the two joints."""
        first, second = (unit_of(self.model, name) for name in self.joints)
        return first, second

    @property
    def bend(self) -> Unit:
        """Unit of a radius: degrees, if both joints are hinges."""
        first, second = self.units
        return first if first == second else Unit(1.0, "rad, m")

    def header(self) -> list[str]:
        """Header of the table."""
        return [
            f"bend {self.bend.name.replace('degrees', 'deg')}",
            *COMPONENTS[:3],
            *(f"{name} deg" for name in COMPONENTS[3:]),
            "estimate",
            "gap",
        ]

    def rows(self) -> list[list[str]]:
        """Rows of the table: exact displacements (m, degrees), estimate of the shown component, gap of the ends."""
        out = []
        for row in self.circles:
            guess = display_value(row.estimate, self.component)
            gap = np.linalg.norm(row.gap[:3]) if self.component < 3 else np.degrees(np.linalg.norm(row.gap[3:]))
            cells = [f"{self.bend.factor * row.radius:.4g}", *(format_fixed(x, 4) for x in row.exact[:3])]
            cells += [format_fixed(float(np.degrees(x)), 2) for x in row.exact[3:]]
            out.append([*cells, format_fixed(guess, 4 if self.component < 3 else 2), f"{gap:.2g}"])
        return out

    def data(self) -> dict[str, Any]:
        """Plain data: radii in rad, displacements as ``[v; w]`` in m and rad."""
        bends = [{"radius": row.radius, **_row_data(row)} for row in self.circles]
        circle = {
            "center": (self.middle + self.center).tolist(),
            "radius": self.circle.radius,
            **_row_data(self.circle),
        }
        out: dict[str, Any] = {
            "joints": list(self.joints),
            "frame": self.map.frame,
            "component": COMPONENTS[self.component],
        }
        out |= {"circles": bends, "best_circle": circle, "best": None}
        if self.optimum is not None and self.best is not None:
            series, found, order = self.optimum.series, self.optimum, self._order(self.optimum)
            out["best"] = _row_data(self.best) | {
                "status": found.status,
                "message": found.message,
                "iterations": found.iterations,
                "gradient": found.gradient,
                "effort": found.effort,
                "mean": series.mean[order].tolist(),
                "cosines": series.cosines[:, order].tolist(),
                "sines": series.sines[:, order].tolist(),
            }
        return out

    def _order(self, optimum: Optimum) -> list[int]:
        return [optimum.joints.index(name) for name in self.joints]

    @property
    def curve(self) -> Curve:
        """Best gait that was found, over the two joints, from the middle of the map."""
        if self.optimum is not None and self.optimum.optimal:
            return self.optimum.series.embedded(np.eye(2)[self._order(self.optimum)], -self.middle)
        return Circle(self.circle.radius, (float(self.center[0]), float(self.center[1])))


def _row_data(row: Cycle) -> dict[str, Any]:
    return {"exact": row.exact.tolist(), "estimate": row.estimate.tolist()}


def format_fixed(x: float, digits: int) -> str:
    """Number with so many digits, and no minus before a zero.

    Example:
        >>> format_fixed(-1e-9, 2)
        '0.00'
    """
    return f"{round(float(x), digits) + 0.0:.{digits}f}"


def display_value(x: np.ndarray, component: int) -> float:
    """A component of a displacement in m or degrees."""
    return float(x[component] if component < 3 else np.degrees(x[component]))


def visible(x: np.ndarray, component: int) -> float:
    """:func:`display_value`, and zero where it is the rounding of other components.

    >>> visible(np.array([0.0, 0.0, 0.0, 1.0, 1e-16, 0.0]), 4)
    0.0
    """
    size = float(np.abs(x[:3] if component < 3 else np.degrees(x[3:])).max())
    value = display_value(x, component)
    # what symmetry makes zero comes out as rounding
    return value if abs(value) > max(1e-9 * size, 1e-12) else 0.0


def survey(
    model: Model,
    joints: tuple[str, str],
    reach: float,
    component: str | None = None,
    frame: GaitFrame = "minimum_perturbation",
    best: bool | None = None,
) -> Survey:
    """Curvature map of two joints, displacement of bends up to ``reach`` (rad), and the optimal gait.

    The middle of the map is the neutral shape, or the shape next to it from which both joints have room both ways. Each
    bend is carried once around it, anticlockwise: out along the first joint, a circle, and back. The optimal gait goes
    around the same way as the best circle, and both start in the middle, too.  ``best`` is True to look for it, and
    False not to; None: where CasADi is installed.

    Example:
        >>> from fallingcat.model import robots
        >>> found = survey(robots.two_cylinder_cat(), ("spine_z", "spine_y"), 0.6, best=False)
        >>> COMPONENTS[found.component], len(found.circles)
        ('rx', 6)
    """
    if joints[0] == joints[1]:
        raise ModelError(f"a gait needs two different joints, got {joints[0]!r} twice")
    if component is not None and component not in COMPONENTS:
        raise ModelError(f"component must be one of {', '.join(COMPONENTS)}, got {component!r}")
    model = _with_others_locked(model, joints)
    reach, middle = _common_reach(model, joints, reach)
    plane = Plane.of_joints(model, *joints, origin=middle)
    grid = np.linspace(-reach, reach, GRID_POINTS)
    mapper = Mapper(model, resolve_frame(model, frame, lambda: plane.region(grid, grid)))
    found = mapper.map(plane, grid, grid)
    reconstruction, G = Reconstruction(model), model.base
    S = G.selection

    def row(radius: float, curve: Curve) -> Cycle:
        gait = plane.curve(from_middle(curve))
        exact, guess = reconstruction.displacement(gait).pose, estimate_with(mapper, gait, plane.origin)
        near = S @ G.Ad(frame_pose(model, plane.origin, mapper.frame)) @ guess.zeta
        gap = S @ G.log(G.inverse(exact) @ guess.pose)
        return Cycle(float(radius), logarithm(exact, near), logarithm(guess.pose, near), gap)

    radii = [float(x) for x in reach * np.arange(1, CIRCLE_COUNT + 1) / CIRCLE_COUNT]
    circles = tuple(row(radius, Circle(radius)) for radius in radii)
    index = COMPONENTS.index(component) if component else _strongest(np.abs(found.values @ S.T).max(axis=(0, 1)))
    center, radius = best_circle(grid, found.values @ S[index])
    wheel = Circle(radius, (float(center[0]), float(center[1])))
    out = Survey(model, joints, found, index, circles, row(radius, wheel), center, None, None)
    if best is False or (best is None and find_spec("casadi") is None) or not out.circle.estimate[index]:
        return out
    aim = f"{'-' if out.circle.estimate[index] < 0.0 else ''}{COMPONENTS[index]}"
    if component is None and np.linalg.matrix_rank(S[3:]) == 3:
        aim = "turn"  # about whatever axis: that of the base depends on where the cycle starts
    optimum = optimize(model, aim, joints, reach=reach, origin=middle, start=plane.curve(wheel), strict=False)
    out = out._replace(optimum=optimum)
    return out._replace(best=row(float(np.abs(out.curve(np.linspace(0.0, 1.0, 241)).q).max()), out.curve))


def from_middle(curve: Curve) -> Curve:
    """A closed curve of two joints, with the straight ways to it from zero and back: it starts in the middle."""
    start = tuple(float(x) for x in curve(0.0).q[0])
    if not any(start):
        return curve
    return Chain((Segment((0.0, 0.0), start), curve, Segment(start, (0.0, 0.0))))


def logarithm(pose: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Logarithm (6) of a pose, with the full turns that bring its angles next to those of a twist ``near``.

    Example:
        >>> half_more = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 3.5])
        >>> bool(np.abs(logarithm(SE3().exp(half_more), half_more) - half_more).max() < 1e-12)
        True
    """
    x = np.asarray(SE3().log(pose))
    angle = float(np.linalg.norm(x[3:]))
    # without a turn there is no axis, and no other branch of the logarithm to choose
    if angle < 1e-9:
        return x
    axis = x[3:] / angle
    w = axis * (angle + 2.0 * np.pi * round((float(axis @ near[3:]) - angle) / (2.0 * np.pi)))
    return np.concatenate([rotations.left_jacobian_inverse(w) @ pose[:3, 3], w])


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


def _with_others_locked(model: Model, joints: tuple[str, str]) -> Model:
    """The robot with all other joints locked at neutral: their motion is not used, and would cost time."""
    for name in joints:
        model.leading_index(name)  # a name that does not exist is an error that says so
    return model.lock([name for name in model.joint_names if name not in joints]).merge_fixed()


def _common_reach(model: Model, joints: tuple[str, str], reach: float) -> tuple[float, np.ndarray]:
    """A reach that both joints have, and the shape (n) next to neutral where they have it both ways."""
    low, high = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
    least = float(min([reach, *(0.5 * (high - low))]))
    if not (np.isfinite(least) and least > 0.0):
        raise ModelError(f"circles need room for {joints[0]!r} and {joints[1]!r} to move: their limits leave none")
    return least, np.clip(np.asarray(model.neutral().joints, dtype=float), low + least, high - least)
