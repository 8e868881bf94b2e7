"""Contact manifolds beside an independent clipping of polygons, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from fallingcat.geometry.collision_pairs import Side
from fallingcat.geometry.manifold import NO_CONTACT_HEIGHT, manifolds, point_count, tangent_axes
from fallingcat.geometry.signed_distance import Solid

CUBE = Solid((0.05, 0.05, 0.05), 0.0)
TABLE = Solid((1.0, 1.0, 0.5), 0.0)


def pose(p=(0.0, 0.0, 0.0), turn=None):
    H = np.eye(4)
    H[:3, 3] = p
    if turn is not None:
        H[:3, :3] = Rotation.from_euler("xyz", turn).as_matrix()
    return H


def touched(a, H_a, b, H_b):
    (found,) = manifolds([(Side(0, np.eye(4), a), Side(1, np.eye(4), b))], [H_a, H_b])
    return found


def clipped(polygon, half):
    """Sutherland and Hodgman: the part of a polygon (k x 2) in a rectangle."""
    for axis, side in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        inside = lambda p: side * p[axis] <= half[axis]  # noqa: B023, E731
        out = []
        for p, q in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
            if inside(p) != inside(q):
                t = (side * half[axis] - p[axis]) / (q[axis] - p[axis])
                out.append(p + t * (q - p))
            if inside(q):
                out.append(q)
        polygon = out
    return np.array(polygon)


def test_a_cube_on_a_table_touches_at_its_corners():
    found = touched(TABLE, pose((0.0, 0.0, -0.5)), CUBE, pose((0.3, 0.2, 0.05)))
    assert np.allclose(found.heights, 0.0, atol=1e-15)
    assert np.allclose(found.normal, [0.0, 0.0, 1.0])
    assert {tuple(p) for p in (found.points - [0.3, 0.2, 0.0]).round(9)} == {
        (x, y, 0.0) for x in (-0.05, 0.05) for y in (-0.05, 0.05)
    }


@pytest.mark.parametrize("angle", [0.0, 1e-12, 0.1, 0.5, np.pi / 4, 1.0, 1.5])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.03, -0.04), (0.08, 0.0)])
def test_four_corners_of_the_polygon_of_two_faces(angle, shift):
    H = pose((*shift, 0.0999), (0.0, 0.0, angle))
    found = touched(CUBE, pose(), CUBE, H)
    corners = np.array([(x, y) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))]) * 0.05
    polygon = clipped([*(corners @ H[:2, :2].T + shift)], (0.05, 0.05))
    assert np.allclose(found.heights, -1e-4, atol=1e-12)
    away = np.linalg.norm(found.points[:, None, :2] - polygon[None], axis=2)
    assert away.min(axis=1).max() < 1e-9  # each is a corner of it
    assert ConvexHull(found.points[:, :2]).volume > 0.6 * ConvexHull(polygon).volume
    if angle == 0.0:
        assert ConvexHull(found.points[:, :2]).volume == pytest.approx(ConvexHull(polygon).volume)


def test_a_tilted_cube_touches_with_its_edge():
    tilt = 0.1
    H = pose((0.0, 0.0, 0.05 * (np.cos(tilt) + np.sin(tilt))), (0.0, tilt, 0.0))
    found = touched(TABLE, pose((0.0, 0.0, -0.5)), CUBE, H)
    assert np.allclose(np.sort(found.heights), [0.0, 0.0, 0.1 * np.sin(tilt), 0.1 * np.sin(tilt)], atol=1e-12)


def test_crossed_edges_touch_in_one_point():
    first, second = pose((0.0, 0.0, 0.0), (np.pi / 4, 0.0, 0.0)), pose((0.01, 0.0, 0.2), (0.0, np.pi / 4, 0.0))
    found = touched(CUBE, first, CUBE, second)
    gap = 0.2 - 2 * 0.05 * np.sqrt(2.0)
    assert np.allclose(found.heights, [gap, NO_CONTACT_HEIGHT, NO_CONTACT_HEIGHT, NO_CONTACT_HEIGHT])
    assert np.allclose(np.abs(found.normal), [0.0, 0.0, 1.0])
    assert np.allclose(found.points[0, :2], [0.01, 0.0], atol=1e-12)


def test_boxes_beside_each_other_have_no_point_below_the_corner():
    found = touched(CUBE, pose(), CUBE, pose((0.0, 0.12, 0.12)))
    assert np.all(found.heights > 0.0)


def test_the_deepest_corner_is_always_among_them():
    """A box on a corner or an edge, turned at random, 1 mm deep in a table."""
    half = np.array([0.03, 0.06, 0.08])
    for R in Rotation.random(40, random_state=0).as_matrix():
        H = np.eye(4)
        H[:3, :3], H[:3, 3] = R, (0.2, -0.1, np.abs(R[2]) @ half - 1e-3)
        found = touched(TABLE, pose((0.0, 0.0, -0.5)), Solid(tuple(half), 0.0), H)
        assert found.heights.min() == pytest.approx(-1e-3, abs=1e-9)


def test_a_capsule_on_a_box_touches_at_both_ends_or_at_the_edge():
    rod, lying = Solid((0.0, 0.0, 0.1), 0.02), (0.0, np.pi / 2, 0.0)
    found = touched(TABLE, pose((0.0, 0.0, -0.5)), rod, pose((0.0, 0.0, 0.02), lying))
    assert np.allclose(found.heights, 0.0, atol=1e-12)
    assert np.allclose(np.sort(found.points[:, 0]), [-0.1, 0.1])
    over = touched(CUBE, pose(), rod, pose((0.1, 0.0, 0.07), lying))
    assert np.allclose(np.sort(over.points[:, 0]), [0.0, 0.05])


def test_points_of_other_pairs():
    ball = Solid((0.0, 0.0, 0.0), 0.1)
    assert point_count(ball, CUBE) == point_count(CUBE, ball) == 1
    found = touched(CUBE, pose(), ball, pose((0.0, 0.16, 0.0)))
    assert np.allclose(found.heights, 0.01)
    assert np.allclose(found.normal, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("z", [-1.0, 1.0, -1e-9, 0.3])
def test_tangents_are_orthonormal(z):
    n = np.array([0.6, 0.8, 0.0]) * np.sqrt(1.0 - z * z) + [0.0, 0.0, z]
    axes = tangent_axes(n)
    assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.allclose(axes[0], n)
