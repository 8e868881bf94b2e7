"""Lower bounds of effort and time of planar reorientation from the curvature, beside the best ellipse of the joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, SupportsFloat

import numpy as np
from pydantic import Field
from scipy.ndimage import map_coordinates
from scipy.optimize import brentq

from ...compiler.compilation import compile_step
from ...errors import NumericsError
from ...formulations import curvature
from ...lie import SE2
from ...model import Joint, Limits, Model, Revolute
from ...model.robots.shapes import at, box_link
from ...planning import Fourier, Reconstruction
from ..kind import Parameters, Progress, StudyKind, study_kind

CELLS = 400
"""Cells of the joints' ranges along each axis, on which the curvature is evaluated"""
CENTERS, ASPECTS = 40, (0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.4, 1.8, 2.5)
"""Middles of the ellipses along each axis, and ratios of their half axes"""
RADII, ANGLES = 40, 48
"""Points of an ellipse at which the curvature is added up"""
MOST_CYCLES = 200


class BoundParameters(Parameters):
    """Parameters of the turn."""

    angle: Annotated[float, Field(gt=0.0, le=180.0)] = 20.0
    """deg"""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower bounds for every closed motion of two joints within their ranges.

    In the plane rotations commute: a closed motion turns the base by the integral of the curvature over the area that
    it goes around.  Every closed curve is a chain of simple loops.  One that turns by ``t`` encloses at least the area
    ``A(t)`` on which the largest values of the curvature add up to ``t``, and then has a length of at least
    ``sqrt(4 pi A)``, or takes at least ``sqrt(8 A / (s_1 s_2))`` with joint speeds ``s``: isoperimetric inequalities of
    the Euclidean and of the largest norm.  Loops that share a turn need at least its size times the least length for
    each radian among loops of up to this turn.
    """

    curvature: np.ndarray
    """``cells x cells`` (1/rad): at the middles of cells"""
    cell: float
    """rad^2"""
    speeds: tuple[float, float]
    """rad/s"""

    @classmethod
    def from_model(cls, model: Model, cells: int = CELLS) -> Bounds:
        """Bounds of a planar robot of two joints."""
        grids = [x.lower + (x.upper - x.lower) * (np.arange(cells) + 0.5) / cells for x in model.limits]
        shapes = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 2)
        found = np.asarray(compile_step(model, curvature, {}, ["joints"])(shapes))[:, 2, 0, 1]
        first, second = (float(x.velocity) for x in model.limits)
        cell = float(np.prod([grid[1] - grid[0] for grid in grids]))
        return cls(found.reshape(cells, cells), cell, (first, second))

    @property
    def largest(self) -> float:
        """Bound of the turn of one loop (rad)."""
        return float(np.abs(self.curvature).sum() * self.cell)

    def length(self, turn: float) -> float:
        """Least length (rad) of closed motions that turn by an angle (rad)."""
        return float(np.sqrt(4.0 * np.pi)) * self._least_root(turn)

    def effort(self, turn: float) -> float:
        """Least integral of squared joint rates within one second (rad^2/s): the square of the length."""
        return self.length(turn) ** 2

    def time(self, turn: float) -> float:
        """Least time (s) within the speeds of the joints alone."""
        return float(np.sqrt(8.0 / np.prod(self.speeds))) * self._least_root(turn)

    def _least_root(self, turn: float) -> float:
        """Root of an area: ``turn * min sqrt(A(t)) / t`` over ``t`` up to ``turn``."""
        turns = np.cumsum(np.sort(np.abs(self.curvature).ravel())[::-1]) * self.cell
        t = np.linspace(0.0, min(turn, self.largest), 2001)[1:]
        areas = np.interp(t, np.append(0.0, turns), self.cell * np.arange(len(turns) + 1))
        return float(turn * np.min(np.sqrt(areas) / t))


@dataclass(frozen=True, eq=False)
class BoundResult:
    """Bounds, and the ellipse of least effort."""

    turn: float
    """rad"""
    bounds: Bounds
    coarse: Bounds
    """from a quarter of the cells"""
    gait: Fourier
    cycles: int
    error: float
    """rad"""

    @property
    def effort(self) -> float:
        """Integral of squared joint rates of all cycles within one second, at an even speed (rad^2/s)."""
        return float((self.cycles * np.linalg.norm(self._rates, axis=1).mean()) ** 2)

    @property
    def time(self) -> float:
        """Least time (s) within the speeds of the joints alone, of which one is always reached."""
        return float(self.cycles * (np.abs(self._rates) / np.array(self.bounds.speeds)).max(axis=1).mean())

    @property
    def _rates(self) -> np.ndarray:
        return np.asarray(self.gait((np.arange(4096) + 0.5) / 4096).dq)


@study_kind
class TurnBound(StudyKind[BoundParameters, BoundResult]):
    """Ellipse of least effort in the plane, beside what no closed motion can undercut."""

    name, parameters = "planar-turn-bound", BoundParameters
    measures: Mapping[str, Callable[[BoundResult], SupportsFloat]] = {
        "cycles": lambda seen: seen.cycles,
        "effort": lambda seen: seen.effort,
        "least_effort": lambda seen: seen.bounds.effort(seen.turn),
        "effort_ratio": lambda seen: seen.effort / seen.bounds.effort(seen.turn),
        "time": lambda seen: seen.time,
        "least_time": lambda seen: seen.bounds.time(seen.turn),
        "time_ratio": lambda seen: seen.time / seen.bounds.time(seen.turn),
        "largest_loop": lambda seen: np.degrees(seen.bounds.largest),
        "grid": lambda seen: abs(seen.coarse.effort(seen.turn) / seen.bounds.effort(seen.turn) - 1.0),
        "error": lambda seen: np.degrees(seen.error),
    }

    def run(self, parameters: BoundParameters, progress: Progress) -> BoundResult:
        """Bounds from the curvature, and the best of many ellipses."""
        model, turn = planar_astronaut(), float(np.radians(parameters.angle))
        progress("bounding", 0.0)
        bounds, coarse = Bounds.from_model(model), Bounds.from_model(model, CELLS // 2)
        progress("searching", 0.5)
        center, axes, cycles = best_ellipse(model, bounds, turn)
        reconstruction = Reconstruction(model)

        def turn_error(size: float) -> float:
            moved = reconstruction.displacement(ellipse(center, size * axes))
            return abs(float(model.base.log(moved.pose)[2])) - turn / cycles

        size = float(brentq(turn_error, 0.8, 1.2, xtol=1e-13))
        error = cycles * abs(turn_error(size))
        return BoundResult(turn, bounds, coarse, ellipse(center, size * axes), cycles, error)


def planar_astronaut() -> Model:
    """Three bodies with the masses of the sample humanoid, in the plane: trunk and head, both arms, both legs."""
    trunk = box_link("trunk", 30.0, (0.2, 0.9, 0.3), (0.0, 0.3, 0.0))
    arms = box_link("arms", 9.0, (0.1, 0.65, 0.5), (0.0, -0.3, 0.0))
    legs = box_link("legs", 25.0, (0.15, 0.85, 0.3), (0.0, -0.42, 0.0))
    hinge = Revolute((0.0, 0.0, 1.0))
    shoulders = Joint("shoulders", hinge, "trunk", "arms", at(y=0.5), limits=Limits(-3.0, 1.2, 10.0, 100.0))
    hips = Joint("hips", hinge, "trunk", "legs", at(y=-0.1), limits=Limits(-2.2, 0.8, 12.0, 300.0))
    return Model("planar_astronaut", SE2(), (trunk, arms, legs), (shoulders, hips))


def ellipse(center: np.ndarray, axes: np.ndarray) -> Fourier:
    """Ellipse of two joints along their axes."""
    return Fourier(center, np.array([[axes[0], 0.0]]), np.array([[0.0, axes[1]]]))


def best_ellipse(model: Model, bounds: Bounds, turn: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Middle (2), half axes (2) and number of cycles of the shortest motion along one ellipse within the ranges."""
    low, high = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
    angle = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
    radius = np.arange(RADII + 1) / RADII
    middle = 0.5 * (radius[1:] + radius[:-1])
    best: tuple[float, np.ndarray, np.ndarray, int] | None = None
    shares = (np.arange(CENTERS) + 0.5) / CENTERS
    for first in shares:
        for second in shares:
            center = low + (high - low) * np.array([first, second])
            room = np.minimum(center - low, high - center)
            for aspect in ASPECTS:
                axes = min(room[0], room[1] / aspect) * np.array([1.0, aspect])
                ring = np.stack([axes[0] * np.cos(angle), axes[1] * np.sin(angle)], axis=-1)
                places = (center - low + middle[:, None, None] * ring) / (high - low) * len(bounds.curvature) - 0.5
                F = map_coordinates(bounds.curvature, np.moveaxis(places, -1, 0), order=1, mode="nearest").mean(axis=1)
                turns = np.abs(np.append(0.0, np.cumsum(F * middle) * 2.0 * np.pi * axes.prod() / RADII))
                cycles = max(1, int(np.ceil(turn / turns.max())))
                for count in range(cycles, min(cycles + 3, MOST_CYCLES + 1)):
                    size = float(np.interp(turn / count, np.maximum.accumulate(turns), radius))
                    length = count * size * np.pi * np.sqrt(2.0 * (axes**2).sum())
                    if best is None or length < best[0]:
                        best = length, center, size * axes, count
    if best is None:
        raise NumericsError(f"no ellipse of the joints turns the base by {np.degrees(turn):.3g} deg")
    return best[1:]
