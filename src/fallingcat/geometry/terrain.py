"""Ground that is not flat: heights over a plane, and where a ball touches them."""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import Graph, Traced, array, concatenate, cross, elementwise, less, sqrt, where
from ..arrays.differentiate import jacobian
from ..arrays.operations import FUNCTIONS
from ..arrays.types import Scalar, Vector
from ..errors import ModelError, describe
from ..records import concise
from .contact_points import Plane, Site

NEWTON_STEPS = 3
"""Number of Newton steps to the nearest place of the ground, for a ball; a point in the ground is near it: one step."""
MAX_HEIGHTS = 1024
"""Heights of a field: the work of compiled code grows with them."""


class Slopes(NamedTuple):
    """A height ``h(x, y)`` (m), its first (1) and second (1/m) derivatives."""

    h: Any
    x: Any
    y: Any
    xx: Any
    xy: Any
    yy: Any


class Terrain(ABC):
    """Base class for terrain: heights over the plane of a floor.

    Write your own as a frozen dataclass whose :meth:`height` is smooth and works on every kind of number
    (``fallingcat.arrays``, no ``if`` on values): its derivatives are computed from it.
    :func:`fallingcat.testing.check_terrain` checks it.

    Example:
        >>> from fallingcat.arrays import cos
        >>> class Waves(Terrain):
        ...     def height(self, x, y):
        ...         return 0.1 * cos(2.0 * x)
        >>> at = Waves().slopes(0.0, 5.0)
        >>> print(at.h, at.x, at.xx)
        0.1 -0.0 -0.4
    """

    @abstractmethod
    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """Height of the terrain over the plane.

        Args:
            x: Coordinate (m) along the first tangent of the plane.
            y: Coordinate (m) along the second tangent.

        Returns:
            Height (m).
        """

    def slopes(self, x: Scalar, y: Scalar) -> Slopes:
        """Height with its first and second derivatives.

        Args:
            x: Coordinate (m) along the first tangent of the plane.
            y: Coordinate (m) along the second tangent.

        Returns:
            Height (m), first (1) and second (1/m) derivatives.
        """
        return Slopes(*_evaluated_trace(*_terrain_slopes(self), [x, y]))

    def check_radius(self, radius: float) -> None:  # noqa: B027 (most cannot say)
        """Refuse balls that do not fit into a hollow: they would touch at two places.

        Args:
            radius: Radius (m).
        """


class UnevenTerrain(NamedTuple):
    """A plane with heights over it."""

    plane: Plane
    terrain: Terrain

    @property
    def flat(self) -> bool:
        """False: axes change along the ground."""
        return False

    def site(self, p: Vector, radius: float = 0.0) -> Site:
        """Ground below a ball of ``radius`` (m) around ``p`` (3, world), by the place that is nearest to ``p``.

        With ``c`` above and ``(x, y)`` along the plane, ``(x - c_x) - (c_z - h) dh/dx = 0`` and the same in ``y``.
        A ball that is farther away than its diameter sees the tangent plane straight below it.
        """
        c = self.plane.axes @ p - np.array([self.plane.height, 0.0, 0.0])
        x, y, at = c[1], c[2], self.terrain.slopes(c[1], c[2])
        straight = c[0] - at.h
        flat = straight / sqrt(1.0 + at.x * at.x + at.y * at.y)
        near = less(flat, 2.0 * radius)
        top = at.h + where(near, straight, 0.0 * straight)
        for _ in range(NEWTON_STEPS if radius else 1):
            x, y = _newton_step(x, y, c, top - at.h, at)
            at = self.terrain.slopes(x, y)
        axes = _axes(at)
        away = axes[0] @ array([top - at.h, c[1] - x, c[2] - y])
        return Site(where(near, away, flat) - radius, axes @ self.plane.axes)

    def place(self, p: Vector) -> Vector:
        """``3`` (m): the height of ``p`` over it, and zeros: along a curved ground there are no coordinates."""
        return array([self.site(p).height, 0.0, 0.0])


def ground_surface(plane: Plane, terrain: Terrain | None) -> Plane | UnevenTerrain:
    """A plane, with a terrain if there is one."""
    return plane if terrain is None else UnevenTerrain(plane, terrain)


def check_terrain(terrain: Any) -> None:
    """Refuse an object that is neither a terrain nor None."""
    if not (terrain is None or isinstance(terrain, Terrain)):
        raise ModelError(f"terrain is a Terrain, such as a HeightField, not {describe(terrain)}")


def _newton_step(x: Any, y: Any, c: Any, above: Any, at: Slopes) -> tuple[Any, Any]:
    """A step of Newton's method to where ``c`` is straight ``above`` along the normal."""
    f, g = x - c[1] - above * at.x, y - c[2] - above * at.y
    xx, xy, yy = 1.0 + at.x * at.x - above * at.xx, at.x * at.y - above * at.xy, 1.0 + at.y * at.y - above * at.yy
    inverse = 1.0 / (xx * yy - xy * xy)
    return x - inverse * (yy * f - xy * g), y - inverse * (xx * g - xy * f)


def _axes(at: Slopes) -> Any:
    """``3 x 3``: normal and tangents, the first of them over that of the plane, in the axes of the plane."""
    up = 1.0 / sqrt(1.0 + at.x * at.x + at.y * at.y)
    n = array([up, -at.x * up, -at.y * up])
    flat = 1.0 / sqrt(1.0 - n[1] * n[1])
    first = array([-n[0] * n[1] * flat, (1.0 - n[1] * n[1]) * flat, -n[1] * n[2] * flat])
    return concatenate([np.reshape(row, (1, 3)) for row in (n, first, cross(n, first))])


# derivatives of a user's heights ------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _terrain_slopes(terrain: Terrain) -> tuple[list[Any], np.ndarray]:
    """Traced :class:`Slopes`, and the inputs ``x`` and ``y`` that they are made of."""
    at = Graph().inputs("x", 2)
    h = terrain.height(*at)
    h = h if isinstance(h, Traced) else float(h)
    first = jacobian([h], at)[0]
    second = jacobian(first, at)
    return [h, *first, second[0, 0], second[0, 1], second[1, 1]], at


def _evaluated_trace(outputs: list[Any], inputs: np.ndarray, values: Sequence[Any]) -> list[Any]:
    """Values of traced ``outputs`` when their ``inputs`` are ``values``, numbers of any kind."""
    known: dict[Any, Any] = dict(zip(inputs, values, strict=True))
    for node in inputs[0].graph.needed(outputs):
        if node not in known:
            known[node] = TRACE_OPERATIONS[node.op](*(known.get(a, a) for a in node.args))
    return [known.get(x, x) for x in outputs]


TRACE_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "less": less,
    "select": where,
    **{name: getattr(elementwise, name) for name in FUNCTIONS},
}
"""Operations of a trace on numbers of any kind."""


# a grid -------------------------------------------------------------------------------------------------------


@concise
@dataclass(frozen=True)
class HeightField(Terrain):
    """Heights on a grid, and between them the cubic spline through them, with continuous curvature.

    ``heights[i][j]`` (m) is at ``x = origin[0] + i spacing[0]``, ``y = origin[1] + j spacing[1]``; a flat list of
    numbers is a profile along ``x``, the same for all ``y``.  The spline is natural, without curvature at the edges,
    and exact for a slope.  Beyond an edge the height of the edge goes on.

    Every height takes part in every step of compiled code, six operations each: a field has at most 1024.

    >>> field = HeightField([[0.0, 0.1], [0.2, 0.3]], spacing=0.5)
    >>> print(round(field.height(0.25, 0.25), 12), round(field.height(9.0, 9.0), 12))
    0.15 0.3
    """

    heights: tuple[tuple[float, ...], ...]
    spacing: tuple[float, float]
    """m, along x and y; a number: the same"""
    origin: tuple[float, float] = (0.0, 0.0)
    """m: where ``heights[0][0]`` is"""

    def __post_init__(self) -> None:
        heights, (spacing, origin) = _numbers(self.heights), map(_numbers, (self.spacing, self.origin))
        heights = heights[:, None] if heights.ndim == 1 else heights
        if heights.ndim != 2 or not heights.size or not np.isfinite(heights).all():
            odd = np.argwhere(~np.isfinite(heights) & (heights.ndim == 2))  # else there are no rows to point at
            what = f"{heights[tuple(odd[0])]} at {odd[0].tolist()}" if len(odd) else describe(self.heights)
            raise ModelError(f"heights are rows of finite numbers, all of one length, not {what}")
        if heights.size > MAX_HEIGHTS:
            raise ModelError(
                f"a height field has at most {MAX_HEIGHTS} heights, not {heights.size}: take a coarser grid"
            )
        spacing = np.broadcast_to(spacing, (2,)) if spacing.shape in ((), (2,)) else np.zeros(2)
        if not ((spacing > 0.0) & (spacing < np.inf)).all():
            raise ModelError(f"the spacing of heights is one positive number (m), or two, not {describe(self.spacing)}")
        if origin.shape != (2,) or not np.isfinite(origin).all():
            raise ModelError(f"the origin of heights is two finite numbers (m), not {describe(self.origin)}")
        object.__setattr__(self, "heights", tuple(map(tuple, heights.tolist())))
        object.__setattr__(self, "spacing", tuple(spacing.tolist()))
        object.__setattr__(self, "origin", tuple(origin.tolist()))

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """Height of the spline, see :meth:`slopes`."""
        return self.slopes(x, y).h

    def slopes(self, x: Scalar, y: Scalar) -> Slopes:
        """Height ``h = B(x)' C B(y)`` of cubic B-splines, with its first and second derivatives."""
        C = _coefficients(self.heights)
        (X, dX, ddX), (Y, dY, ddY) = (
            _splines((p - start) * (1.0 / step), count - 2, step)
            for p, start, step, count in zip((x, y), self.origin, self.spacing, C.shape, strict=True)
        )
        CY, CdY, CddY = C @ Y, C @ dY, C @ ddY
        return Slopes(X @ CY, dX @ CY, X @ CdY, ddX @ CY, dX @ CdY, X @ CddY)

    def check_radius(self, radius: float) -> None:
        """Refuse balls that touch twice, by the curvature at the grid, where that of a spline is largest."""
        nodes = np.ndindex(len(self.heights), len(self.heights[0]))
        places = [np.array(node) * self.spacing + self.origin for node in nodes]
        hollow = max(_curvature(self.slopes(*place)) for place in places)
        if hollow * radius >= 1.0:
            raise ModelError(
                f"a ball with a radius of {radius:g} m touches hollows of radius {1.0 / hollow:.3g} m at two places: "
                f"take smaller balls, or smoother heights"
            )


def _curvature(at: Slopes) -> float:
    """1/m: the largest upward one, ``max k'Hk / (k'(1 + dh dh')k) / sqrt(1 + dh'dh)``."""
    metric = np.eye(2) + np.outer((at.x, at.y), (at.x, at.y))
    bent = np.linalg.solve(metric, np.array([[at.xx, at.xy], [at.xy, at.yy]]))
    return float(np.linalg.eigvals(bent).real.max()) / float(np.sqrt(1.0 + at.x**2 + at.y**2))


def _numbers(given: Any) -> np.ndarray:
    try:
        return np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return np.full((1, 1, 1), np.nan)


@functools.lru_cache(maxsize=64)
def _coefficients(heights: tuple[tuple[float, ...], ...]) -> np.ndarray:
    """Coefficients of the B-splines of the natural spline through ``heights``, one more row and column on each side."""
    return _knot_values(_knot_values(np.array(heights)).T).T


def _knot_values(heights: np.ndarray) -> np.ndarray:
    """Along the first axis: ``(c[i-1] + 4 c[i] + c[i+1]) / 6 = h[i]``, without curvature at the ends."""
    n = len(heights)
    T = np.eye(n)
    for i in range(1, n - 1):
        T[i, i - 1 : i + 2] = np.array([1.0, 4.0, 1.0]) / 6.0
    c = np.linalg.solve(T, heights)
    before, after = (2.0 * c[0] - c[1], 2.0 * c[-1] - c[-2]) if n > 1 else (c[0], c[0])
    return np.vstack([before, c, after])


def _splines(t: Any, n: int, step: float) -> tuple[Any, Any, Any]:
    """Cubic B-splines around ``-1, 0, ..., n`` at ``t``, kept between 0 and ``n - 1``, and their derivatives."""
    low, high = less(t, 0.0), less(n - 1.0, t)
    t = where(low, 0.0 * t, where(high, n - 1.0 + 0.0 * t, t))
    inside = where(low, 0.0 * t, where(high, 0.0 * t, 1.0 + 0.0 * t)) * (1.0 / step)
    rows: list[tuple[Any, Any, Any]] = []
    for i in range(-1, n + 1):
        s = t - float(i)
        sign = where(less(s, 0.0), -1.0 + 0.0 * s, 1.0 + 0.0 * s)
        s = s * sign
        far = where(less(s, 2.0), 2.0 - s, 0.0 * s)
        close = where(less(s, 1.0), 1.0 - s, 0.0 * s)
        rows.append(
            (
                far * far * far * (1.0 / 6.0) - close * close * close * (4.0 / 6.0),
                sign * inside * (2.0 * close * close - 0.5 * far * far),
                inside * inside * (far - 4.0 * close),
            )
        )
    B, dB, ddB = (array([row[k] for row in rows]) for k in range(3))
    return B, dB, ddB
