"""Contact manifolds: the points at which two solids touch, in closed form, on every kind of number.

A face that lies on a face touches in a polygon, of which four corners carry any load; a capsule on a face touches in a
segment.  All other pairs touch in one point, that of :mod:`fallingcat.geometry.signed_distance`.  The number of points
of a pair does not depend on where the solids are: points without a partner are far apart, so that one code serves all
configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, array, concatenate, less, scale, sqrt, stack, where
from .collision_pairs import Couple, for_all
from .signed_distance import NO_SEPARATION, PARALLEL_SINE, Pose, Proximity, Solid, proximity_function, separations

NO_CONTACT_HEIGHT = 1.0
"""m: height of a point without a partner"""
CORNER_TOLERANCE = 1e-9
"""m: by which corners may be outside of a face that they are on"""
EDGE_BIAS = 0.02
"""Margin, relative to the smallest half size, by which two edges must be farther apart than faces to touch in one
point: faces that are nearly parallel keep their four points."""
ALIGNED_COSINE = 0.999
"""cosine of the angle between a face and the direction of a capsule's contact up to which it lies on the face"""
EXTREME_DIRECTIONS = np.array([[np.cos(a), np.sin(a)] for a in np.deg2rad([56.0, 146.0, 236.0, 326.0])])
"""``4 x 2``: directions along which the corners of a polygon that carry are farthest.  Every rectangle has its own four
corners there, unless it is turned by 56 degrees to the face exactly."""
MIN_DEPTH_DIFFERENCE = 1e-6
"""m: by which another corner has to be deeper than these four to take the place of the highest."""


class Manifold(NamedTuple):
    """Points at which two solids touch, or would."""

    heights: Any
    """``k`` (m): how far the surfaces are apart there; negative: how deep in each other"""
    normal: Any
    """3: from the first solid to the second"""
    points: Any
    """``k x 3`` (m): between the surfaces"""


def point_count(a: Solid, b: Solid) -> int:
    """Number of points of the manifold of two solids, in any order."""
    counts = {(3, 3): 4, (3, 1): 2, (4, 4): 4, (4, 3): 4, (4, 1): 4}
    return counts.get((max(a.extent, b.extent), min(a.extent, b.extent)), 1)


def manifolds(pairs: Sequence[Couple], poses: Sequence[Any]) -> list[Manifold]:
    """Manifolds of pairs of shapes, given the poses of links in one frame, in which the answers are."""
    given = [(*a.place_solid(poses), *b.place_solid(poses)) for a, b in pairs]
    found = []
    for (a, b), x in zip(pairs, for_all(pairs, _flat_manifold, given), strict=True):
        k = point_count(a.solid, b.solid)
        found.append(Manifold(x[:k], x[k : k + 3], np.reshape(x[k + 3 :], (k, 3))))
    return found


def _flat_manifold(kind: Callable[..., Proximity], *given: Any) -> Any:
    several = getattr(kind, "manifold", None) or _MANIFOLDS.get(kind)
    found = _one_point_manifold(kind(*given)) if several is None else several(*given)
    return concatenate([found.heights, found.normal, *found.points])


def _one_point_manifold(met: Proximity) -> Manifold:
    return Manifold(np.reshape(met.distance, 1), met.normal, [met.point])


def tangent_axes(normal: Any) -> Any:
    """``3 x 3``: a unit vector and two tangents to it, as rows ([Duff 2017], without a singular direction)."""
    x, y, z = normal
    side = where(less(z, 0.0), -1.0, 1.0)
    a = -1.0 / (side + z)
    b = x * y * a
    return stack([normal, array([1.0 + side * x * x * a, side * b, -side * x]), array([b, side + y * y * a, -y])])


# a capsule on a box -----------------------------------------------------------------------------------------------


def _box_and_capsule(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Manifold:
    """The ends of the part of a segment that is over a face; or where they are nearest."""
    met = BOX_AND_CAPSULE(H_a, half_a, r_a, H_b, half_b, r_b)
    R = H_a[:3, :3]
    c, u, n = R.T @ (H_b[:3, 3] - H_a[:3, 3]), scale(half_b[2], R.T @ H_b[:3, 2]), R.T @ met.normal
    faces = [where(less(ALIGNED_COSINE, absolute(n[i])), 1.0, 0.0) for i in range(3)]
    beside = half_a + scale(1e3, array(faces))  # along the normal of the face nothing is clipped
    low, high, there = _clip_to_box(c, u, beside)
    flat = less(0.5, sum(faces) * where(there, 1.0, 0.0))
    heights, points = [], []
    for t, other in ((low, met.distance), (high, NO_CONTACT_HEIGHT)):
        x = c + scale(t, u)
        over = n @ x - absolute(n) @ half_a - r_b
        heights.append(where(flat, over, other))
        points.append(where(flat, H_a[:3, 3] + R @ (x - scale(0.5 * over + r_b, n)), met.point))
    return Manifold(array(heights), met.normal, points)


def _clip_to_box(c: Any, u: Any, half: Any) -> tuple[Any, Any, Any]:
    """Between which ``t`` in [-1, 1] ``c + t u`` is in a box, and whether it is there at all."""
    low, high, there = -1.0, 1.0, None
    size = PARALLEL_SINE * PARALLEL_SINE * (u @ u)
    for x, d, h in zip(c, u, half, strict=True):
        # along a face there is no crossing to divide for: whether it is within is all that counts
        parallel = less(d * d, size)
        step, side = where(parallel, 1.0, absolute(d)), where(less(d, 0.0), -1.0, 1.0)
        first, last = (-h - side * x) / step, (h - side * x) / step
        low = _larger(low, where(parallel, -1.0, first))
        high = -_larger(-high, where(parallel, -1.0, -last))
        outside = where(parallel, absolute(x) - h - CORNER_TOLERANCE, -1.0)
        there = outside if there is None else _larger(there, outside)
    return low, high, less(_larger(there, low - high - CORNER_TOLERANCE), 0.0)


# boxes ------------------------------------------------------------------------------------------------------------


class _Face(NamedTuple):
    """The face of one box that another box touches, in its own axes: two along it, the third out of it."""

    origin: Any
    """3: the middle of the box"""
    axes: Any
    """``3 x 3``: as rows"""
    half_sizes: Any
    """3: half sizes along them"""

    @classmethod
    def from_box(cls, H: Pose, half: Any, normal: Any) -> _Face:
        """Face of the box at ``H`` whose outward normal is ``normal`` (3, one axis of the box, plus or minus)."""
        out = absolute(normal)
        rows = stack([out[[2, 0, 1]], out[[1, 2, 0]], normal])  # the next axes of the box
        return cls(H[:3, 3], rows @ H[:3, :3].T, absolute(rows) @ half)

    def project_face(self, H: Pose, half: Any) -> tuple[Any, Any, Any]:
        """Middle and half edges (3 each, in the axes of this face) of the face of another box that looks at it."""
        Q, t = self.axes @ H[:3, :3], self.axes @ (H[:3, 3] - self.origin)
        sizes = absolute(Q[2])
        # ties go to the first axis, so that equal faces do not change places by rounding
        first = less(_larger(sizes[1], sizes[2]), sizes[0] + CORNER_TOLERANCE)
        second = less(sizes[2], sizes[1] + CORNER_TOLERANCE)
        x = where(first, 1.0, 0.0)
        y = where(first, 0.0, where(second, 1.0, 0.0))
        out = array([x, y, 1.0 - x - y])
        side = where(less(out @ Q[2], 0.0), 1.0, -1.0)
        edges = [Q @ (half * axis) for axis in (out[[2, 0, 1]], out[[1, 2, 0]])]
        middle = t + scale(side, Q @ (half * out)) - concatenate([np.zeros(2), np.reshape(self.half_sizes[2], 1)])
        return middle, *edges


def _boxes(H_a: Pose, half_a: Any, r_a: Any, H_b: Pose, half_b: Any, r_b: Any) -> Manifold:
    """Corners of the polygon in which two faces overlap; or the point where two edges cross."""
    of_a, of_b, edges = separations(H_a, half_a, H_b, half_b)
    second = less(of_a.distance + CORNER_TOLERANCE, of_b.distance)
    least = smallest(concatenate([half_a, half_b]))
    # faces first: an edge that wins by rounding would replace four points by one, and the box would tip
    crossing = less(where(second, of_b.distance, of_a.distance) + EDGE_BIAS * least, edges.distance)
    face = _Face.from_box(
        where(second, H_b, H_a), where(second, half_b, half_a), where(second, -1.0 * of_b.normal, of_a.normal)
    )
    corners = _overlap(face, *face.project_face(where(second, H_a, H_b), where(second, half_a, half_b)))
    met, heights, points = H_a[:3, 3] + H_a[:3, :3] @ edges.place, [], []
    for k, (x, y, z) in enumerate(select_supporting_corners(corners)):
        at = face.origin + face.axes.T @ array([x, y, face.half_sizes[2] + 0.5 * z])
        heights.append(where(crossing, edges.distance if k == 0 else NO_CONTACT_HEIGHT, z))
        points.append(where(crossing, met, at))
    normal = where(crossing, H_a[:3, :3] @ edges.normal, scale(where(second, -1.0, 1.0), face.axes[2]))
    return Manifold(array(heights), normal, points)


class Corner(NamedTuple):
    """A corner of the polygon in which two faces overlap."""

    place: Any
    """3: in the axes of the one face, height last"""
    position: Any
    """2 (m): along the edges of the other face"""
    exists: Any
    """condition that it is one"""


def _overlap(face: _Face, c: Any, p: Any, q: Any) -> list[Corner]:
    """Candidates for the corners of the polygon in which the rectangle ``c + s p + t q`` is over a face."""
    h, found, size = face.half_sizes[:2], [], array([sqrt(p @ p), sqrt(q @ q)])
    for k, (along, across) in enumerate(((p, q), (q, p))):
        for side in (-1.0, 1.0):
            middle = c + scale(side, across)
            low, high, there = _clip_to_box(middle[:2], along[:2], h)
            for t in (low, high):
                seen = size * (array([t, side]) if k == 0 else array([side, t]))
                found.append(Corner(middle + scale(t, along), seen, there))
    area = p[0] * q[1] - p[1] * q[0]
    # faces seen edge on: sin^2 of the angle between p and q below 1e-12, the division by the area is left out
    upright = less(1e-12 * (p @ p) * (q @ q), area * area)
    inverse = 1.0 / where(upright, area, 1.0)
    for side_x, side_y in product((-1.0, 1.0), repeat=2):
        x, y = side_x * h[0] - c[0], side_y * h[1] - c[1]
        s, t = (x * q[1] - y * q[0]) * inverse, (p[0] * y - p[1] * x) * inverse
        there = less(where(upright, _larger(absolute(s), absolute(t)) - 1.0 - CORNER_TOLERANCE, 1.0), 0.0)
        place = array([side_x * h[0], side_y * h[1], c[2] + s * p[2] + t * q[2]])
        found.append(Corner(place, size * array([s, t]), there))
    return found


def select_supporting_corners(corners: Sequence[Corner]) -> list[Any]:
    """Places of four corners: those farthest along :data:`EXTREME_DIRECTIONS`, and always the deepest."""
    places = [_extreme_corner([way @ x.position for x in corners], corners) for way in EXTREME_DIRECTIONS]
    deepest = _extreme_corner([-x.place[2] for x in corners], corners)
    deeper = less(deepest[2] + MIN_DEPTH_DIFFERENCE, smallest([place[2] for place in places]))
    highest = -smallest([-place[2] for place in places])
    found, taken = [], 0.0
    for place in places:
        here = where(less(place[2], highest), 0.0, where(deeper, 1.0 - taken, 0.0))
        found.append(where(less(0.5, here), deepest, place))
        taken = taken + here
    return found


def _extreme_corner(scores: Sequence[Any], corners: Sequence[Corner]) -> Any:
    """The place (3) of the corner with the highest score; one that is far above the face if none is there."""
    most, best = NO_SEPARATION, array([0.0, 0.0, NO_CONTACT_HEIGHT])
    for score, corner in zip(scores, corners, strict=True):
        here = where(corner.exists, score, NO_SEPARATION)
        better = less(most, here)
        most, best = where(better, here, most), where(better, corner.place, best)
    return best


def smallest(x: Any) -> Any:
    """Least of several numbers."""
    least = x[0]
    for y in x[1:]:
        least = where(less(y, least), y, least)
    return least


def _larger(x: Any, y: Any) -> Any:
    return where(less(x, y), y, x)


BOXES = proximity_function(Solid((1.0, 1.0, 1.0), 0.0), Solid((1.0, 1.0, 1.0), 0.0))
BOX_AND_CAPSULE = proximity_function(Solid((1.0, 1.0, 1.0), 0.0), Solid((0.0, 0.0, 1.0), 1.0))
_MANIFOLDS: dict[Callable[..., Proximity], Callable[..., Manifold]] = {
    BOXES: _boxes,
    BOX_AND_CAPSULE: _box_and_capsule,
}
