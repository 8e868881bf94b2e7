"""Laws of terrain: smooth heights that compile, over which distances are distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import array
from ..arrays.types import Vector
from ..compiler import compile
from ..contact import Terrain, plane
from ..dynamics.checks import positive
from ..errors import ModelError, describe
from ..formulations.time import STEP
from ..geometry.terrain import UnevenTerrain
from ..model import Model, robots
from .laws import PLAIN_DATA
from .report import Report, Requirement, generator, largest, of_type, relative_difference

PLACES = 50
"""At random."""
DIFFERENCE = 1e-5
"""m: of central differences."""


def check_terrain(terrain: Terrain, size: float, radius: float = 0.0, seed: int = 0) -> Report:
    """Check the laws of terrain around the origin, for balls or points.

    A ball that does not fit into a hollow breaks the last law.

    Args:
        terrain: Terrain.
        size: Half width (m) of the square in which it is checked.
        radius: Radius (m) of balls; 0: points.
        seed: Seed of the random places.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> from fallingcat.contact import HeightField
        >>> print(check_terrain(HeightField([0.0, 0.02, 0.01, 0.05], spacing=0.5), size=2.0, radius=0.05))
        terrain HeightField: passed
          plain data      ...  holds        hashable, equal to its copy
          heights         ...  holds        one finite number
          slopes          ...  holds        derivatives, by complex step and differences
          compiled        ...  holds        machine code gives the same numbers
          distance        ...  holds        the gradient of a ball's height is the normal
    """
    of_type(terrain, Terrain, "terrain must be a Terrain")
    positive(size, "size")
    if not isinstance(radius, (int, float, np.number)) or not 0.0 <= radius < np.inf:
        raise ModelError(f"radius must be a number (m) that is not negative, got {describe(radius)}")
    subject, rng = f"terrain {type(terrain).__name__}", generator(seed)
    places = rng.uniform(-size, size, (PLACES, 2))
    depths = rng.uniform(-0.05, 0.0, PLACES) * (radius or 0.02)
    trials: list[tuple[Requirement, list[Any]]] = [
        (PLAIN_DATA, [(terrain,)]),
        (HEIGHTS, [(terrain, *place) for place in places]),
        (SLOPES, [(terrain, *place) for place in places]),
        (COMPILED, [(terrain, places)]),
        (
            DISTANCE,
            [(terrain, place, float(depth), float(radius)) for place, depth in zip(places, depths, strict=True)],
        ),
    ]
    return Report.of(subject, (law.check_cases(subject, cases) for law, cases in trials))


def _heights(terrain: Terrain, x: float, y: float) -> float:
    h = terrain.height(x, y)
    return 0.0 if np.shape(h) == () and np.isfinite(float(h)) else np.inf


def _slopes(terrain: Terrain, x: float, y: float) -> float:
    found = terrain.slopes(x, y)
    first = [np.imag(terrain.height(*at)) / STEP for at in ((x + 1j * STEP, y), (x, y + 1j * STEP))]
    ahead, behind = ([terrain.slopes(x + e, y), terrain.slopes(x, y + e)] for e in (DIFFERENCE, -DIFFERENCE))
    (xx, _), (xy, yy) = (((a.x - b.x), (a.y - b.y)) for a, b in zip(ahead, behind, strict=True))
    second = np.array([xx, xy, yy]) / (2.0 * DIFFERENCE)
    exact = relative_difference(np.array([found.x, found.y], dtype=float), np.array(first))
    return largest(exact * 1e6, relative_difference(np.array([found.xx, found.xy, found.yy], dtype=float), second))


def slopes_at(model: Model, x: Vector, *, terrain: Terrain) -> Vector:
    """Slopes of a terrain, for kernels."""
    return array(list(terrain.slopes(x[0], x[1])))


def _compiled_residual(terrain: Terrain, places: np.ndarray) -> float:
    kernel = compile(robots.free_body(), slopes_at, inputs={"x": 2}, terrain=terrain)
    expected = np.array([list(terrain.slopes(*place)) for place in places], dtype=float)
    return relative_difference(np.asarray(kernel(places)), expected)


def _distance(terrain: Terrain, place: np.ndarray, depth: float, radius: float) -> float:
    """Error of the distance at a center ``radius + depth`` above ``place``, along the normal there."""
    ground, at = UnevenTerrain(plane(robots.free_body()), terrain), terrain.slopes(*place)
    normal = np.array([-at.x, -at.y, 1.0], dtype=float) / np.sqrt(1.0 + at.x**2 + at.y**2)
    p = np.array([*place, at.h], dtype=float) + (radius + depth) * normal
    site = ground.site(p, radius)
    gradient = [np.imag(ground.site(p + 1j * STEP * axis, radius).height) / STEP for axis in np.eye(3)]
    off = abs(float(site.height) - depth) / (radius + 0.01)
    return largest(
        off,
        relative_difference(np.array(gradient), normal),
        relative_difference(np.asarray(site.axes[0], dtype=float), normal),
    )


HEIGHTS = Requirement("heights", "one finite number", 0.0, _heights)
SLOPES = Requirement("slopes", "derivatives, by complex step and differences", 1e-5, _slopes)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-11, _compiled_residual)
DISTANCE = Requirement("distance", "the gradient of a ball's height is the normal", 1e-4, _distance)
