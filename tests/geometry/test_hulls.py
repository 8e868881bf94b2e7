"""Convex hulls that touch hulls, boxes, capsules and balls: separating axes by brute force, coal, boxes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.meshes import mesh, polyhedron, stone, triangles

import fallingcat as fc
from fallingcat.contact import BodyContacts, body_pairs
from fallingcat.geometry.body_touch import body_touches
from fallingcat.geometry.collision_pairs import Side
from fallingcat.geometry.hull_contact import HullContact, _edge_edge_direction, _through_face
from fallingcat.geometry.hulls import MAX_VERTICES, Hull, box_hull, hull_of, mesh_hull, reduced_hull
from fallingcat.geometry.manifold import manifolds
from fallingcat.geometry.signed_distance import Solid
from fallingcat.lie.rotations import about, homogeneous
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box, Capsule, Sphere

NONE = np.zeros(3)


def pose(rng: np.random.Generator, size: float) -> np.ndarray:
    turn = rng.normal(size=3)
    angle = np.linalg.norm(turn)
    return homogeneous(about(turn / angle, angle), size * rng.normal(size=3))


def deepest(a: Hull, H: np.ndarray, b: Hull, G: np.ndarray) -> float:
    """Largest separation along all normals of faces and all products of two edges."""
    first, second = (h.vertices @ X[:3, :3].T + X[:3, 3] for h, X in ((a, H), (b, G)))
    e, f = (h.edge_arrays[1] @ X[:3, :3].T for h, X in ((a, H), (b, G)))
    across = np.cross(e[:, None], f[None]).reshape(-1, 3)
    lengths = np.linalg.norm(across, axis=1)
    across = across[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    ways = np.concatenate([a.normals @ H[:3, :3].T, -b.normals @ G[:3, :3].T, across, -across])
    return float(((ways @ second.T).min(axis=1) - (ways @ first.T).max(axis=1)).max())


def test_the_hull_of_a_box_and_of_points_in_it():
    rng = np.random.default_rng(0)
    hull = box_hull((0.1, 0.2, 0.3))
    again = hull_of(np.concatenate([hull.vertices, rng.uniform(-1, 1, (8, 3)) * hull.half_sizes, [[0.1, 0.05, -0.1]]]))
    for each in hull, again:
        assert (len(each.vertices), len(each.faces), len(each.edges[0])) == (8, 6, 12)
        assert each.volume == pytest.approx(0.048, rel=1e-14)
        assert (each.vertices @ each.normals.T - each.offsets).max() < 1e-15
    with pytest.raises(fc.ModelError, match="no convex hull with a volume"):
        hull_of(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]))


def test_a_hull_with_few_vertices_says_how_far_it_is_inside():
    ball = np.random.default_rng(0).normal(size=(500, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    hull = reduced_hull(ball)
    assert len(hull.vertices) == MAX_VERTICES
    assert hull.error == pytest.approx((ball @ hull.normals.T - hull.offsets).max())
    assert 0.05 < hull.error < 0.4
    assert reduced_hull(box_hull((0.1, 0.2, 0.3)).vertices).error == 0.0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))])
def test_depths_of_polyhedra_are_those_of_all_separating_axes(seed):
    rng, count = np.random.default_rng(seed), 0
    while count < 5:
        a, b = (hull_of(polyhedron(rng, int(rng.integers(4, 12)))) for _ in range(2))
        H, G = pose(rng, 0.0), pose(rng, 0.06)
        expected = deepest(a, H, b, G)
        if expected > 0.0:
            continue
        count += 1
        R = H[:3, :3].T @ G[:3, :3]
        d = H[:3, :3].T @ (G[:3, 3] - H[:3, 3])
        ways = (
            _through_face(a, b.vertices @ R.T + d),
            _through_face(b, (a.vertices - d) @ R),
            _edge_edge_direction(a, b, R, d)[0],
        )
        assert max(way.distance for way in ways) == pytest.approx(expected, abs=1e-15)
        found = HullContact(a, b).manifold(H, NONE, 0.0, G, NONE, 0.0)
        assert abs(min(found.heights) - expected) < 0.02 * min(a.inradius, b.inradius) + 1e-12  # EDGE_BIAS
        assert np.linalg.norm(found.normal) == pytest.approx(1.0)


def test_boxes_as_hulls_touch_as_boxes():
    rng = np.random.default_rng(4)
    for k in range(8):
        a, b = (tuple(rng.uniform(0.05, 0.3, 3)) for _ in range(2))
        H, G = pose(rng, 0.0), pose(rng, 0.15)
        if k % 2:  # on a face, in four corners
            G = homogeneous(np.eye(3), np.array([0.02, 0.03, a[2] + b[2] - 1e-3]))
            G = H @ G
        ours = HullContact(box_hull(a), box_hull(b)).manifold(H, NONE, 0.0, G, NONE, 0.0)
        theirs = next(iter(_boxes(H, a, G, b)))
        assert np.abs(ours.normal - theirs.normal).max() < 1e-14
        assert min(ours.heights) == pytest.approx(min(theirs.heights), abs=1e-15)
        if k % 2:
            assert np.sort(ours.heights) == pytest.approx(np.sort(theirs.heights), abs=1e-15)
            far = [np.linalg.norm(np.array(ours.points) - p, axis=1).min() for p in theirs.points]
            assert max(far) < 1e-14


def _boxes(H, a, G, b):
    return manifolds([(Side(0, np.eye(4), Solid(a, 0.0)), Side(1, np.eye(4), Solid(b, 0.0)))], [H, G])


def test_balls_and_capsules_beside_hulls_as_coal_has_them():
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(2)

    def transform(H):
        return coal.Transform3s(H[:3, :3], H[:3, 3])

    for k in range(16):
        hull = hull_of(polyhedron(rng, int(rng.integers(4, 12))))
        H, G, radius, half = pose(rng, 0.0), pose(rng, 0.15), rng.uniform(0.02, 0.06), 0.0 if k % 2 else 0.08
        points = coal.StdVec_Vec3s()
        for vertex in hull.vertices:
            points.append(vertex)
        other = coal.Capsule(radius, 2.0 * half) if half else coal.Sphere(radius)
        exact = coal.Convex.convexHull(points, False, None)
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        expected = coal.distance(exact, transform(H), other, transform(G), request, result)
        if half and expected < -radius:  # its segment is in the hull
            continue
        sizes = np.array([0.0, 0.0, half])
        found = HullContact(hull, Solid((0.0, 0.0, half), radius)).manifold(H, NONE, 0.0, G, sizes, radius)
        assert min(found.heights) == pytest.approx(expected, abs=1e-9)


def test_meshes_are_convex_hulls_and_say_where_they_are_not(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        middle, hull = mesh_hull(mesh(tmp_path, "box.obj", box_hull((0.1, 0.2, 0.3))))
    assert np.array_equal(middle, np.zeros(3))
    assert len(hull.faces) == 6
    dented = Hull(np.concatenate([hull.vertices, [[0.0, 0.0, 0.1]]]), hull.faces)  # a pit in the upper face
    kept = [row for row in triangles(hull).tolist() if not (hull.vertices[row, 2] > 0.29).all()]
    top = next(face for face in hull.faces if (hull.vertices[list(face), 2] > 0.29).all())
    pit = [(top[i - 1], top[i], 8) for i in range(4)]
    with pytest.warns(fc.FileWarning, match="pit.obj: it is not convex, and touches as its convex hull, of which it"):
        assert len(mesh_hull(mesh(tmp_path, "pit.obj", dented, np.array([*kept, *pit])))[1].vertices) == 8


def test_pairs_with_meshes(tmp_path):
    """Meshes touch meshes, boxes, capsules and balls, and a cube rests on a mesh as on a box."""
    cube = box_hull((0.0625, 0.0625, 0.0625))  # files of meshes are read in single precision
    objects = {"mesh": stone(tmp_path, "a.obj", cube), "other": stone(tmp_path, "b.obj", cube)}
    simple = {"box": Box((0.1, 0.1, 0.1)), "ball": Sphere(0.05), "rod": Capsule(0.02, 0.1)}
    scene = combine(
        {"floor": stone(tmp_path, "floor.obj", box_hull((1.0, 1.0, 0.125)), None), **objects}
        | {name: rigid_object(shape, mass=1.0) for name, shape in simple.items()}
    )
    pairs = body_pairs(scene, [("mesh", name) for name in ("floor", "other", *simple)])
    assert [pair.points for pair in pairs] == [4, 4, 4, 1, 4]
    two = combine({"floor": stone(tmp_path, "floor.obj", box_hull((1.0, 1.0, 0.125)), None), "a": objects["mesh"]})
    start = two.state(joints={"a": [0.25, 0.125, 0.1875, 0.0, 0.0, 0.0, 1.0]})
    (touch,) = body_touches(two, start, body_pairs(two))
    assert np.abs(touch.heights).max() < 1e-15
    run = fc.simulate(two, start, 0.05, contact=BodyContacts(body_pairs(two), friction=0.5))
    assert run.status == "finished"
    assert run.contact_pushes[-1].sum() == pytest.approx(9.81 * two.mass, rel=1e-9)
    assert np.abs(run.joints[-1] - run.joints[0]).max() < 1e-9
