"""Contact of convex hulls with hulls, boxes, capsules and spheres, in closed form, on every kind of number.

Hulls are apart, or least deep, along a normal of a face of one, or across an edge of each.  Two edges make such a
direction where the arcs between the normals of their faces cross on the sphere of directions ([Gregorius 2013]).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, is_numeric, less, map_each, scale, skew, sqrt, stack, where
from .hulls import Hull, box_hull
from .manifold import (
    ALIGNED_COSINE,
    CORNER_TOLERANCE,
    EDGE_BIAS,
    NO_CONTACT_HEIGHT,
    Corner,
    Manifold,
    select_supporting_corners,
    smallest,
    tangent_axes,
)
from .signed_distance import (
    MIN_LENGTH,
    NO_SEPARATION,
    PARALLEL_SINE,
    Pose,
    Proximity,
    Solid,
    along_line,
    nearest_of_segments,
)

MIN_EDGE_LENGTH = 1e-12
"""m: below this an edge of a face is none"""
PERPENDICULAR_COSINE = 0.05
"""cosine of the angle between two faces that touch up to which corners of the one are sought on the other"""


@lru_cache(maxsize=1024)
def hull_meeting(first: Hull, second: Hull | Solid) -> HullContact:
    """Contact of a hull with another, or with a simple solid."""
    return HullContact(first, second)


class HullContact:
    """Function ``(pose, half, radius, pose, half, radius) -> Proximity`` of a hull and another solid."""

    def __init__(self, first: Hull, second: Hull | Solid) -> None:
        self.first, self.second = first, second
        if isinstance(second, Solid) and second.extent == 3:
            self.second = box_hull(second.half_sizes)

    def __call__(self, H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Proximity:
        """Deepest point of contact."""
        found = self.manifold(H_a, half_a, r_a, H_b, half_b, r_b)
        deepest, point = found.heights[0], found.points[0]
        for height, place in zip(found.heights[1:], found.points[1:], strict=True):
            deeper = less(height, deepest)
            deepest, point = where(deeper, height, deepest), where(deeper, place, point)
        return Proximity(deepest, found.normal, point)

    def manifold(self, H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Manifold:
        """Points of contact; half sizes are those of the hulls."""
        if isinstance(self.second, Hull):
            return _hulls(self.first, H_a, self.second, H_b)
        if self.second.extent:
            return _hull_and_capsule(self.first, H_a, H_b, half_b, r_b)
        return _hull_and_ball(self.first, H_a, H_b, r_b)


# two hulls ------------------------------------------------------------------------------------------------------------


class _Separation(NamedTuple):
    """Direction along which two hulls are farthest apart, or least deep, out of the first."""

    distance: Any
    normal: Any


class _Face(NamedTuple):
    """Face of a hull that looks along a direction."""

    normal: Any
    corners: Any
    """``K x 3`` (m)"""


def _hulls(a: Hull, H_a: Pose, b: Hull, H_b: Pose) -> Manifold:
    """Corners of the polygon in which two faces overlap; or the point where two edges cross.  Axes of the first."""
    A = H_a[:3, :3]
    R, d = A.T @ H_b[:3, :3], A.T @ (H_b[:3, 3] - H_a[:3, 3])
    of_a, of_b = _through_face(a, b.vertices @ R.T + d), _through_face(b, (a.vertices - d) @ R)
    over_edges, met = _edge_edge_direction(a, b, R, d)
    second = less(of_a.distance + CORNER_TOLERANCE, of_b.distance)
    least = EDGE_BIAS * min(a.inradius, b.inradius)
    crossing = less(where(second, of_b.distance, of_a.distance) + least, over_edges.distance)
    n = where(second, -1.0 * (R @ of_b.normal), of_a.normal)
    count = max(a.polygons.shape[1], b.polygons.shape[1])
    ours, theirs = _support_face(a, n, count), _support_face(b, -1.0 * (R.T @ n), count)
    theirs = _Face(R @ theirs.normal, theirs.corners @ R.T + d)
    face, other = (
        _Face(*(where(second, x, y) for x, y in zip(p, q, strict=True))) for p, q in ((theirs, ours), (ours, theirs))
    )
    axes = tangent_axes(where(second, -1.0 * n, n))[[1, 2, 0]]  # height last
    corners = _overlap(
        (face.corners - face.corners[0]) @ axes.T, (other.corners - face.corners[0]) @ axes.T, axes @ other.normal
    )
    heights, points = [], []
    for k, (x, y, z) in enumerate(select_supporting_corners(corners)):
        at = face.corners[0] + axes.T @ array([x, y, 0.5 * z])
        heights.append(where(crossing, over_edges.distance if k == 0 else NO_CONTACT_HEIGHT, z))
        points.append(H_a[:3, 3] + A @ where(crossing, met, at))
    return Manifold(array(heights), A @ where(crossing, over_edges.normal, n), points)


def _through_face(hull: Hull, points: Any) -> _Separation:
    """Normal of the face of a hull beyond which others' points (n x 3, in its frame) are farthest."""
    rows = points @ hull.normals.T
    least = rows[0]
    for row in rows[1:]:
        least = where(less(row, least), row, least)
    heights = least - hull.offsets
    best = _row_of_largest(heights, _with_column(heights, hull.normals))
    return _Separation(best[0], best[1:])


def _support_face(hull: Hull, n: Any, count: int) -> _Face:
    """Face with the vertex that is farthest along ``n``; of several, the one whose normal is nearest to ``n``."""
    along, slopes = hull.vertices @ n, hull.normals @ n
    low = smallest(list(-1.0 * along)) + CORNER_TOLERANCE * hull.reach
    ends = array([smallest([-1.0 * along[i] for i in face]) for face in hull.faces])
    scores = where(less(ends, low + 0.0 * ends), slopes, NO_SEPARATION)
    rows = np.concatenate([hull.normals, hull.pad_polygons(count).reshape(len(hull.faces), -1)], axis=1)
    best = _row_of_largest(scores, rows)
    return _Face(best[:3], np.reshape(best[3:], (count, 3)))


def _row_of_largest(scores: Any, rows: Any) -> Any:
    """The row with the highest score, of several the first."""
    if is_numeric(scores) and is_numeric(rows):
        return rows[np.argmax(scores)]
    most, best = scores[0], rows[0]
    for score, row in zip(scores[1:], rows[1:], strict=True):
        better = less(most, score)
        most, best = where(better, score, most), where(better, row, best)
    return best


def _with_column(column: Any, rows: Any) -> Any:
    return concatenate([np.reshape(column, (len(rows), 1)), rows], axis=1)


# edges ----------------------------------------------------------------------------------------------------------------


def _edge_edge_direction(a: Hull, b: Hull, R: Any, d: Any) -> tuple[_Separation, Any]:
    """Direction across an edge of each, and the point of the first hull's edge that is nearest to the other's."""

    def height_in_first_hull(q: Any, f: Any, left: Any, right: Any, R: Any, d: Any) -> Any:
        return _edge_height(a, R @ q + d, R @ f, R @ left, R @ right)

    columns = [list(x) for x in b.edge_arrays]
    rows = map_each(height_in_first_hull, *columns, [R] * len(columns[0]), [d] * len(columns[0]))
    best = _row_of_largest(array([row[0] for row in rows]), stack(rows))
    normal, p, e, q, f = (best[k : k + 3] for k in (1, 4, 7, 10, 13))
    return _Separation(best[0], normal), p + scale(along_line(p - q, e, f), e)


def _edge_height(a: Hull, q: Any, f: Any, left: Any, right: Any) -> Any:
    """``16``: height and normal of the edge of a hull that is farthest from an edge through ``q`` along ``f``.

    Then a point and the direction of each.  ``left`` and ``right`` are normals of the faces beside the other edge.
    """
    P, E, L, M = a.edge_arrays
    x, y, s, t = E @ left, E @ right, L @ f, M @ f
    N = E @ skew(f)  # rows e x f
    squares = (N * N) @ np.ones(3)
    # arcs between normals of faces cross each other on the sphere of directions
    there = less(0.0 * x, smallest([-1.0 * x * y, -1.0 * s * t, -1.0 * x * t, squares - PARALLEL_SINE * PARALLEL_SINE]))
    lengths = sqrt(where(there, squares, 1.0))
    sides = where(less((N * P) @ np.ones(3), 0.0 * x), -1.0, 1.0) / lengths  # out of the hull
    heights = where(there, sides * (N @ q - (N * P) @ np.ones(3)), NO_SEPARATION)
    best = _row_of_largest(heights, concatenate([_with_column(heights, N), _with_column(sides, P), E], axis=1))
    return concatenate([best[:1], scale(best[4], best[1:4]), best[5:11], q, f])


# polygons -------------------------------------------------------------------------------------------------------------


def _overlap(face: Any, other: Any, normal: Any) -> list[Corner]:
    """Candidates for the corners of the polygon in which another face (K x 3, height last) is over a face."""
    found, flat, seen = [], face[:, :2], other[:, :2]
    way = _direction(seen[1] - seen[0])
    turn = stack([way, array([-way[1], way[0]])])
    inward, back = _sides(flat, 1.0), _sides(seen, -1.0)
    for i in range(len(other)):
        c, u = other[i - 1], other[i] - other[i - 1]
        low, high, there = _clip_to_polygon(c[:2], u[:2], flat, inward)
        for t in (low, high):
            place = c + scale(t, u)
            found.append(Corner(place, turn @ place[:2], there))
    upright = less(normal[2], -PERPENDICULAR_COSINE)
    for p in flat:
        out = _distance_outside(p, seen, back)
        z = other[0][2] - (normal[:2] @ (p - seen[0])) / where(upright, normal[2], -1.0)
        there = less(where(upright, out - CORNER_TOLERANCE, 1.0), 0.0)
        found.append(Corner(concatenate([p, np.reshape(z, 1)]), turn @ p, there))
    return found


def _sides(polygon: Any, turn: float) -> list[Any]:
    """Unit normals (2 each) of the edges that end at each corner, outward; zero for edges without a length."""
    edges = [polygon[i] - polygon[i - 1] for i in range(len(polygon))]
    return [scale(turn, _direction(array([e[1], -e[0]]))) for e in edges]


def _direction(x: Any) -> Any:
    """Unit vector, or zero."""
    square = x @ x
    there = less(MIN_EDGE_LENGTH * MIN_EDGE_LENGTH, square)
    return scale(where(there, 1.0 / sqrt(where(there, square, 1.0)), 0.0), x)


def _distance_outside(p: Any, polygon: Any, sides: list[Any]) -> Any:
    """m: how far a point is outside of a polygon."""
    return -smallest([-1.0 * (out @ (p - corner)) for out, corner in zip(sides, polygon, strict=True)])


def _clip_to_polygon(c: Any, u: Any, polygon: Any, sides: list[Any]) -> tuple[Any, Any, Any]:
    """Between which ``t`` in [0, 1] ``c + t u`` is in a polygon, and whether it is there at all."""
    low, high, beyond = 0.0, 1.0, NO_SEPARATION
    for out, corner in zip(sides, polygon, strict=True):
        height, slope = out @ (c - corner), out @ u
        level = less(absolute(slope), MIN_EDGE_LENGTH)
        t = -height / where(level, 1.0, slope)
        low = _larger(low, where(level, 0.0, where(less(slope, 0.0), t, 0.0)))
        high = -_larger(-high, where(level, -1.0, where(less(0.0, slope), -t, -1.0)))
        beyond = _larger(beyond, where(level, height - CORNER_TOLERANCE, -1.0))
    return low, high, less(_larger(beyond, low - high - CORNER_TOLERANCE), 0.0)


def _larger(x: Any, y: Any) -> Any:
    return where(less(x, y), y, x)


# balls and capsules ---------------------------------------------------------------------------------------------------


def _hull_and_ball(hull: Hull, H_a: Pose, H_b: Pose, radius: Any) -> Manifold:
    R = H_a[:3, :3]
    c = R.T @ (H_b[:3, 3] - H_a[:3, 3])
    distance, normal = _nearest(hull, c)
    point = c - scale(0.5 * (distance + radius), normal)
    return Manifold(np.reshape(distance - radius, 1), R @ normal, [H_a[:3, 3] + R @ point])


def _nearest(hull: Hull, c: Any) -> tuple[Any, Any]:
    """Signed distance of a point from a hull, and the direction out of it."""
    heights = hull.normals @ c - hull.offsets
    way = _through_face(hull, np.reshape(c, (1, 3)))
    best, foot = -NO_SEPARATION, c
    for height, normal, corners, sides in zip(heights, hull.normals, hull.polygons, hull.face_sides, strict=True):
        over = -smallest([-1.0 * x for x in ((c - corners) * sides) @ np.ones(3)])
        here = where(
            less(over, CORNER_TOLERANCE), where(less(height, 0.0), -NO_SEPARATION, height * height), -NO_SEPARATION
        )
        better = less(here, best)
        best, foot = where(better, here, best), where(better, c - scale(height, normal), foot)
    P, E, _, _ = hull.edge_arrays
    for p, e, length in zip(P, E, hull.edge_lengths, strict=True):
        t = (c - p) @ e
        x = p + scale(where(less(t, 0.0), 0.0, where(less(length, t), length, t)), e)
        here = (c - x) @ (c - x)
        better = less(here, best)
        best, foot = where(better, here, best), where(better, x, foot)
    # nearer than that the direction to the foot is rounding: the normal of the face serves
    outside = less(MIN_LENGTH * MIN_LENGTH, where(less(0.0, way.distance), best, 0.0))
    length = sqrt(where(outside, best, 1.0))
    return where(outside, length, way.distance), where(outside, scale(1.0 / length, c - foot), way.normal)


def _hull_and_capsule(hull: Hull, H_a: Pose, H_b: Pose, half: Any, radius: Any) -> Manifold:
    """The two ends of a capsule, and where it lies over an edge on either side of its middle."""
    R = H_a[:3, :3]
    c, u = R.T @ (H_b[:3, 3] - H_a[:3, 3]), R.T @ H_b[:3, 2]
    found = []
    for side in (-1.0, 1.0):
        end = c + scale(side * half[2], u)
        distance, normal = _nearest(hull, end)
        found.append((distance, normal, end))
    # an end inside of the hull: edges say nothing then, because distances to them are not depths
    inside = smallest([distance for distance, _, _ in found])
    for side in (-1.0, 1.0):
        distance, normal, place = _over_edges(hull, c, u, half[2], side)
        found.append((where(less(inside, 0.0), NO_CONTACT_HEIGHT, distance), normal, place))
    least, n = found[0][:2]
    for distance, normal, _ in found[1:]:
        better = less(distance, least)
        least, n = where(better, distance, least), where(better, normal, n)
    heights, points = [], []
    for distance, normal, place in found:
        # one normal for all points: those whose own points elsewhere belong to another face, and are far
        heights.append(where(less(ALIGNED_COSINE, n @ normal), distance - radius, NO_CONTACT_HEIGHT))
        points.append(H_a[:3, 3] + R @ (place - scale(0.5 * (distance + radius), normal)))
    return Manifold(array(heights), R @ n, points)


def _over_edges(hull: Hull, c: Any, u: Any, half: Any, side: float) -> tuple[Any, Any, Any]:
    """Distance, normal and place of the part of a segment on one side of its middle that is nearest to an edge."""
    best, normal, place = NO_CONTACT_HEIGHT, u, c
    P, E, _, _ = hull.edge_arrays
    for p, e, length in zip(P, E, hull.edge_lengths, strict=True):
        middle = p + scale(0.5 * length, e)
        s, t = nearest_of_segments(middle - c, e, 0.5 * length, u, half)
        x, y = middle + scale(s, e), c + scale(t, u)
        square = (y - x) @ (y - x)
        # the ends of the capsule have points of their own: here they would count twice
        within = less(absolute(t), (1.0 - 1e-3) * half)
        there = less(
            0.0, smallest([where(within, 1.0, -1.0), side * t + (CORNER_TOLERANCE if side > 0.0 else 0.0), square])
        )
        gap = sqrt(where(there, square, 1.0))
        here = where(there, gap, NO_CONTACT_HEIGHT)
        better = less(here, best)
        best, place = where(better, here, best), where(better, y, place)
        normal = where(better, scale(1.0 / gap, y - x), normal)
    return best, normal, place
