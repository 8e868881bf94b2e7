"""Signed distance of two solids in closed form: on every kind of number, without a branch.

A solid is all within a ``radius`` of a box of ``half_sizes``, which may be zero: a sphere is a point that is made
thick, a capsule a segment, and a box is itself.  Distances of what overlaps are those of the least way out; two boxes
have 15 separating axes, a segment and a box six.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, cross, less, scale, sqrt, where
from ..arrays.types import Vector
from ..errors import ModelError
from ..model.shapes import Box, Capsule, Cylinder, Shape, Sphere

MIN_LENGTH = 1e-12
"""m: below this two points have no direction between them, and no normal"""
PARALLEL_SINE = 1e-9
"""sine of the angle below which edges and faces are parallel: then they meet in their middles"""
EDGE_MARGIN = 1e-9
"""m: by which edges have to be farther apart than faces to count"""
BOX_EXTENT = 3
"""extent of a box, see :attr:`.Solid.extent`"""
NO_SEPARATION = -1e9
"""m: the separation along an axis that is none"""


class Solid(NamedTuple):
    """All within ``radius`` of a box of ``half_sizes`` (m), in the frame of a shape."""

    half_sizes: tuple[float, float, float]
    radius: float

    @property
    def extent(self) -> int:
        """0 for a point, 1 for a segment along z, 3 for a box, before they are made thick."""
        return sum(h > 0.0 for h in self.half_sizes)

    @property
    def reach(self) -> float:
        """m: from its middle to what is farthest."""
        return float(np.linalg.norm(self.half_sizes)) + self.radius


class Proximity(NamedTuple):
    """Nearest, or deepest, point of two solids."""

    distance: Any
    """m; negative: the least way that parts them"""
    normal: Any
    """3: from the first to the second, along which they push; zero where there is no direction"""
    point: Any
    """3 (m): on the line along which they push, between the two surfaces"""


@singledispatch
def solid_of_shape(shape: Shape) -> Solid | None:
    """Solid of a shape for contacts between links; None: it has no closed form."""
    return None


@solid_of_shape.register
def _(shape: Sphere) -> Solid:
    return Solid((0.0, 0.0, 0.0), shape.radius)


@solid_of_shape.register
def _(shape: Capsule) -> Solid:
    return Solid((0.0, 0.0, 0.5 * shape.length), shape.radius)


@solid_of_shape.register
def _(shape: Box) -> Solid:
    x, y, z = shape.size
    return Solid((0.5 * x, 0.5 * y, 0.5 * z), 0.0)


@solid_of_shape.register
def _(shape: Cylinder) -> Solid:
    """The capsule in a long one; the box in a flat one, with its corners on the rims."""
    room = 0.5 * shape.length - shape.radius
    side = shape.radius / np.sqrt(2.0)
    return Solid((0.0, 0.0, room), shape.radius) if room >= 0.0 else Solid((side, side, 0.5 * shape.length), 0.0)


Pose = Any
"""``4 x 4``: of a solid in a frame that both have in common, in which answers are given."""


def proximity_function(first: Solid, second: Solid) -> Callable[[Pose, Any, Any, Pose, Any, Any], Proximity]:
    """Function ``(pose, half, radius, pose, half, radius) -> Proximity`` for two solids of these extents.

    The first is no less a box than the second.  A convex hull (:class:`.Hull`) has a function of its own.
    """
    if first.extent > BOX_EXTENT:
        return first.proximity_function(second)  # type: ignore[attr-defined]
    try:
        return _MEETINGS[first.extent, second.extent]
    except KeyError:
        raise ModelError("the first of two solids that meet is the one with the larger extent") from None


def proximity(H_a: Pose, a: Solid, H_b: Pose, b: Solid) -> Proximity:
    """Proximity of two solids, in any order.

    >>> at = np.eye(4)
    >>> at[0, 3] = 0.25
    >>> found = proximity(np.eye(4), Solid((0, 0, 0), 0.1), at, Solid((0, 0, 0.3), 0.2))  # a ball and a capsule
    >>> found.distance.round(12), found.normal + 0.0, found.point
    (np.float64(-0.05), array([1., 0., 0.]), array([0.075, 0.   , 0.   ]))
    """
    if a.extent >= b.extent:
        return proximity_function(a, b)(H_a, np.array(a.half_sizes), a.radius, H_b, np.array(b.half_sizes), b.radius)
    found = proximity(H_b, b, H_a, a)
    return found._replace(normal=-found.normal)


# points and segments, made thick ----------------------------------------------------------------------------------


def _balls(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    return _ball_ball(H_a[:3, 3], r_a, H_b[:3, 3], r_b)


def _capsule_and_ball(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    p, u, q = H_a[:3, 3], scale(half_a[2], H_a[:3, 2]), H_b[:3, 3]
    t = _clamp((q - p) @ u / (half_a[2] * half_a[2]), 1.0)
    return _ball_ball(p + scale(t, u), r_a, q, r_b)


def _capsules(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    p, e, q, f = H_a[:3, 3], H_a[:3, 2], H_b[:3, 3], H_b[:3, 2]
    s, t = nearest_of_segments(p - q, e, half_a[2], f, half_b[2])
    return _ball_ball(p + scale(s, e), r_a, q + scale(t, f), r_b)


def nearest_of_segments(w: Any, e: Any, a: Any, f: Any, b: Any) -> tuple[Any, Any]:
    """Parameters ``s, t`` of least ``|w + s e - t f|``, with unit vectors ``e``, ``f``, ``|s| <= a`` and ``|t| <= b``.

    Parallel segments are nearest in the middle of where they are beside each other.
    """
    turn, d, g = e @ f, e @ w, f @ w
    sine = 1.0 - turn * turn
    parallel = less(sine, PARALLEL_SINE * PARALLEL_SINE)
    low, high = _clamp(-d - absolute(turn) * b, a), _clamp(absolute(turn) * b - d, a)
    s = where(parallel, 0.5 * (low + high), _clamp((turn * g - d) / where(parallel, 1.0, sine), a))
    t = _clamp(turn * s + g, b)
    return where(parallel, s, _clamp(turn * t - d, a)), t


def _ball_ball(x: Any, r_x: Any, y: Any, r_y: Any) -> Proximity:
    """Two balls."""
    length, normal = _direction(y - x)
    return Proximity(length - r_x - r_y, normal, x + scale(0.5 * (r_x + length - r_y), normal))


def _direction(way: Any) -> tuple[Any, Any]:
    """Length and direction, which is zero where there is none."""
    square = way @ way
    there = less(MIN_LENGTH * MIN_LENGTH, square)
    length = sqrt(where(there, square, 1.0))
    return where(there, length, 0.0), scale(where(there, 1.0 / length, 0.0), way)


# boxes, and what is in their frame --------------------------------------------------------------------------------


class Separation(NamedTuple):
    """Along which a box and something else are apart, or least deep in each other."""

    distance: Any
    """m"""
    normal: Any
    """3: out of the box"""
    place: Any
    """place on the other"""

    def or_rather(self, other: Separation, by: float = 0.0) -> Separation:
        """The one along which they are farther apart, the other if it is so by this much."""
        better = less(self.distance + by, other.distance)
        return Separation(*(where(better, y, x) for x, y in zip(self, other, strict=True)))


def _box_and_ball(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    R, c = H_a[:3, :3], H_a[:3, :3].T @ (H_b[:3, 3] - H_a[:3, 3])
    way = _through_faces(half_a, c, np.zeros(3))
    distance, normal = _out_of_box(half_a, c, way)
    return _thrown_out(H_a, R, c, normal, distance, r_b)


def _box_and_capsule(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    R, c = H_a[:3, :3], H_a[:3, :3].T @ (H_b[:3, 3] - H_a[:3, 3])
    u = scale(half_b[2], R.T @ H_b[:3, 2])
    way = _through_faces(half_a, c, u)
    for k in range(3):
        way = way.or_rather(_over_edge(half_a, c, u, k), EDGE_MARGIN)
    t = where(less(way.distance, 0.0), way.place, _nearest_of_segment(half_a, c, u))
    x = c + scale(t, u)
    distance, normal = _out_of_box(half_a, x, way)
    return _thrown_out(H_a, R, x, normal, distance, r_b)


def _thrown_out(H: Pose, R: Any, x: Any, normal: Any, distance: Any, radius: Any) -> Proximity:
    """A box at ``H``, and a ball around ``x`` in its frame."""
    point = x - scale(0.5 * (distance + radius), normal)
    return Proximity(distance - radius, R @ normal, R @ point + H[:3, 3])


def _out_of_box(half: Any, x: Any, inside: Separation) -> tuple[Any, Any]:
    """Distance of ``x`` from a box, and its direction; or as ``inside`` has it."""
    length, normal = _direction(x - _clamp(x, half))
    deep = less(inside.distance, 0.0)
    there = where(deep, 0.0, length)
    return where(deep, inside.distance, length), where(less(0.0, there), normal, inside.normal)


def _through_faces(half: Any, c: Any, u: Any) -> Separation:
    """The face nearest to the deeper end of the segment ``c + t u``, ``|t| <= 1``."""
    ways = []
    for i, unit in enumerate(np.eye(3)):
        side = _sign(c[i])
        ways.append(Separation(side * c[i] - absolute(u[i]) - half[i], scale(side, unit), -side * _sign_or_none(u[i])))
    return ways[0].or_rather(ways[1]).or_rather(ways[2])


def _over_edge(half: Any, c: Any, u: Any, k: int) -> Separation:
    """The edges along axis ``k``, seen along ``k``: there the segment is one too, and the edge a corner."""
    i, j = (k + 1) % 3, (k + 2) % 3
    square = u[i] * u[i] + u[j] * u[j]
    crossing = less(PARALLEL_SINE * PARALLEL_SINE * (u @ u), square)
    length = sqrt(where(crossing, square, 1.0))
    n_i, n_j = -u[j] / length, u[i] / length
    side = _sign(n_i * c[i] + n_j * c[j])
    n_i, n_j = side * n_i, side * n_j
    apart = n_i * (c[i] - _sign(n_i) * half[i]) + n_j * (c[j] - _sign(n_j) * half[j])
    t = (_sign(n_i) * half[i] - c[i]) * u[i] + (_sign(n_j) * half[j] - c[j]) * u[j]
    normal = array([n_i if axis == i else n_j if axis == j else 0.0 * n_i for axis in range(3)])
    return Separation(where(crossing, apart, NO_SEPARATION), normal, t / (length * length))


def _nearest_of_segment(half: Any, c: Any, u: Any) -> Any:
    """``t`` of the point ``c + t u``, ``|t| <= 1``, that is nearest to a box; of several, the middle.

    Half the squared distance has the slope ``u . (x - x held in the box)``, which rises, and is straight but for kinks
    where the segment passes the plane of a face: it is zero between two of these, or at an end.
    """
    size = PARALLEL_SINE * PARALLEL_SINE * (u @ u)
    steps = where(less(u * u, size), np.ones(3), u)
    kinks = [_clamp((side * half[i] - c[i]) / steps[i], 1.0) for i in range(3) for side in (-1.0, 1.0)]
    low, slope_low, high, slope_high = -1.0, NO_SEPARATION, 1.0, -NO_SEPARATION
    for t in (-1.0, 1.0, *kinks):
        x = c + scale(t, u)
        slope = u @ (x - _clamp(x, half))
        falls, rises = less(slope, size), less(-size, slope)
        low, slope_low = _larger(low, where(falls, t, -1.0)), _larger(slope_low, where(falls, slope, NO_SEPARATION))
        high, slope_high = (
            -_larger(-high, where(rises, -t, -1.0)),
            -_larger(-slope_high, where(rises, -slope, NO_SEPARATION)),
        )
    between = less(2.0 * size, slope_high - slope_low)
    t = low - slope_low * (high - low) / where(between, slope_high - slope_low, 1.0)
    return where(between, t, 0.5 * (low + high))


def _boxes(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
    """Proximity by the separating axes: normals of faces and of pairs of edges.  Apart, it is at least this much."""
    A, (of_a, of_b, edges) = H_a[:3, :3], separations(H_a, half_a, H_b, half_b)
    d, R = A.T @ (H_b[:3, 3] - H_a[:3, 3]), A.T @ H_b[:3, :3]
    second = less(of_a.distance, of_b.distance)
    apart, n = where(second, of_b.distance, of_a.distance), where(second, R @ of_b.normal, of_a.normal)
    corner_a = half_a * _sign_or_none(n)  # or the middle of an edge or face, if all of it is as far
    corner_b = d - R @ (half_b * _sign_or_none(R.T @ n))
    across = less(apart + EDGE_MARGIN, edges.distance)
    point = where(across, edges.place, where(second, corner_a, corner_b))
    return Proximity(where(across, edges.distance, apart), A @ where(across, edges.normal, n), A @ point + H_a[:3, 3])


def separations(H_a: Pose, half_a: Vector, H_b: Pose, half_b: Vector) -> tuple[Separation, Separation, Separation]:
    """Separations of two boxes along face normals of the first, of the second, and across two edges.

    Those of faces are in the frame of their box; that of edges has the point of the first where they cross.  All
    normals are from the first to the second.
    """
    A = H_a[:3, :3]
    d, R = A.T @ (H_b[:3, 3] - H_a[:3, 3]), A.T @ H_b[:3, :3]
    edges, e, f = _edges(half_a, half_b, R, d)
    p = half_a * _sign(edges.normal) * (1.0 - e)
    q = d - R @ (half_b * _sign(R.T @ edges.normal) * (1.0 - f))
    crossing = edges._replace(place=p + scale(along_line(p - q, e, R @ f), e))
    return _faces(half_a, half_b, R, d), _faces(half_b, half_a, R.T, R.T @ d), crossing


def _faces(half: Any, other: Any, R: Any, d: Any) -> Separation:
    """Separation along a face normal of the first of two boxes, towards the second."""
    ways = [
        Separation(absolute(d[i]) - half[i] - other @ absolute(R[i]), scale(_sign(d[i]), unit), 0.0)
        for i, unit in enumerate(np.eye(3))
    ]
    return ways[0].or_rather(ways[1]).or_rather(ways[2])


def _edges(half_a: Any, half_b: Any, R: Any, d: Any) -> tuple[Separation, Any, Any]:
    """Two edges, and which they are: unit vectors along them, each in the frame of its box.

    Along ``e_i x f_j`` the axes of the boxes are entries of ``R``, so that this takes few operations.
    """
    S, apart, first, second = absolute(R), NO_SEPARATION, 0.0, 0.0
    for i, j in product(range(3), repeat=2):
        k, m, o, n = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
        square = R[k, j] * R[k, j] + R[m, j] * R[m, j]
        crossing = less(PARALLEL_SINE * PARALLEL_SINE, square)
        reach = half_a[k] * S[m, j] + half_a[m] * S[k, j] + half_b[o] * S[i, n] + half_b[n] * S[i, o]
        gap = (absolute(d[m] * R[k, j] - d[k] * R[m, j]) - reach) / sqrt(where(crossing, square, 1.0))
        better = less(apart, where(crossing, gap, NO_SEPARATION))
        apart, first, second = where(better, gap, apart), where(better, 1.0 * i, first), where(better, 1.0 * j, second)
    e, f = _unit(first), _unit(second)
    _, normal = _direction(cross(e, R @ f))
    return Separation(apart, scale(_sign(normal @ d), normal), 0.0), e, f


def _unit(number: Any) -> Any:
    """The unit vector along axis 0, 1 or 2."""
    return array([where(less(absolute(number - axis), 0.5), 1.0, 0.0) for axis in range(3)])


def along_line(w: Any, e: Any, f: Any) -> Any:
    """``s`` of the point ``p + s e`` of a line that is nearest to another, ``q + t f``; ``w = p - q``."""
    turn = e @ f
    sine = 1.0 - turn * turn
    crossing = less(PARALLEL_SINE * PARALLEL_SINE, sine)
    return where(crossing, (turn * (f @ w) - e @ w) / where(crossing, sine, 1.0), 0.0)


def _sign(x: Any) -> Any:
    """1 or -1."""
    return where(less(x, 0.0), -1.0, 1.0)


def _sign_or_none(x: Any) -> Any:
    """1 or -1; 0 where it is next to nothing."""
    return where(less(x, -PARALLEL_SINE), -1.0, where(less(PARALLEL_SINE, x), 1.0, 0.0))


def _larger(x: Any, y: Any) -> Any:
    return where(less(x, y), y, x)


def _clamp(x: Any, most: Any) -> Any:
    """``x`` between ``-most`` and ``most``."""
    return where(less(most, x), most, where(less(x, -most), -most, x))


_MEETINGS: dict[tuple[int, int], Callable[..., Proximity]] = {
    (0, 0): _balls,
    (1, 0): _capsule_and_ball,
    (1, 1): _capsules,
    (3, 0): _box_and_ball,
    (3, 1): _box_and_capsule,
    (3, 3): _boxes,
}
