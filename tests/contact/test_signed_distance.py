"""Distances of shapes in closed form: against coal and MuJoCo, and by their own derivative."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from residuals import agree

from fallingcat.geometry.signed_distance import Proximity, Solid, proximity, solid_of_shape
from fallingcat.lie import SE3
from fallingcat.lie.rotations import exp
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere

BALL, ROD, BRICK = Solid((0.0, 0.0, 0.0), 0.12), Solid((0.0, 0.0, 0.2), 0.07), Solid((0.15, 0.08, 0.2), 0.0)
KINDS = list(combinations_with_replacement((BRICK, ROD, BALL), 2))
SIZES = {BALL: "sphere 0.12", ROD: "capsule 0.07 0.2", BRICK: "box 0.15 0.08 0.2"}


def placed(rng: np.random.Generator, within: float = 0.18) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = exp(2.0 * rng.normal(size=3)), rng.uniform(-within, within, 3)
    return H


def at(x: float, y: float, z: float, turn: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3], H[:3, 3] = exp(np.array(turn)), (x, y, z)
    return H


@pytest.mark.parametrize(("a", "b"), KINDS)
def test_as_far_as_coal_has_it(a, b):
    """Apart and in each other; two boxes that are apart are so by no more than their distance."""
    coal, rng = pytest.importorskip("coal"), np.random.default_rng(0)
    kinds = {BALL: coal.Sphere(0.12), ROD: coal.Capsule(0.07, 0.4), BRICK: coal.Box(0.3, 0.16, 0.4)}
    deep = 0
    for _ in range(40):
        H_a, H_b = placed(rng), placed(rng)
        poses = [coal.Transform3s(np.ascontiguousarray(H[:3, :3]), H[:3, 3].copy()) for H in (H_a, H_b)]
        known = coal.DistanceResult()
        distance = coal.distance(kinds[a], poses[0], kinds[b], poses[1], coal.DistanceRequest(), known)
        found = proximity(H_a, a, H_b, b)
        if a == b == BRICK and distance > 0.0:
            assert 0.0 < found.distance < distance + 1e-9
            continue
        deep += distance < 0.0
        agree("distance", found.distance, distance, 2e-6)  # of its search; 1e-15 where it has closed forms too
        agree("normal", found.normal, known.normal, 1e-2 if BRICK in (a, b) else 1e-12)
    assert deep >= 10


@pytest.mark.parametrize(("a", "b"), KINDS)
def test_as_deep_as_mujoco_has_it(a, b):
    """Depth, normal and place of the deepest contact; MuJoCo's way out of a box is the least one where it is short."""
    mujoco, rng = pytest.importorskip("mujoco"), np.random.default_rng(1)
    geoms = []
    for solid in (a, b):
        kind, size = SIZES[solid].split(" ", 1)
        geoms.append(f"<body><freejoint/><geom type='{kind}' size='{size}'/></body>")
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(geoms)}</worldbody></mujoco>")
    data, met = mujoco.MjData(model), 0
    for _ in range(40):
        H = placed(rng), placed(rng)
        for i, pose in enumerate(H):
            data.qpos[7 * i : 7 * i + 3] = pose[:3, 3]
            mujoco.mju_mat2Quat(data.qpos[7 * i + 3 : 7 * i + 7], pose[:3, :3].ravel())
        mujoco.mj_forward(model, data)
        contacts = sorted(data.contact[: data.ncon], key=lambda contact: contact.dist)
        found = proximity(H[0], a, H[1], b)
        if not contacts:
            assert found.distance > -1e-9
            continue
        first, met = contacts[0], met + 1
        if a == BRICK and b != BALL and found.distance < -0.05:
            continue
        normal = first.frame[:3] if first.geom[0] == 0 else -first.frame[:3]
        agree("depth", found.distance, first.dist, 1e-5 if a == b == BRICK else 1e-8)
        if a == b == BRICK and abs(found.distance - first.dist) > 1e-9:
            continue  # an edge that is almost as good as a face
        agree("normal", found.normal, normal, 1e-6)
        agree("on the line", np.cross(first.pos - found.point, normal), np.zeros(3), 1e-6)
    assert met >= 10


@pytest.mark.parametrize(("a", "b"), KINDS)
def test_the_distance_changes_as_points_on_its_line_move(a, b):
    """``d distance = n . (v_b - v_a)`` at the point: so springs along it have an energy, apart and in each other."""
    rng, step = np.random.default_rng(2), 1e-40
    for _ in range(25):
        H_a, H_b, nu_a, nu_b = placed(rng), placed(rng), rng.normal(size=6), rng.normal(size=6)
        found = proximity(H_a, a, H_b, b)
        moved = [(np.eye(4) + 1j * step * SE3().hat(nu)) @ H for nu, H in ((nu_a, H_a), (nu_b, H_b))]
        slope = np.imag(proximity(moved[0], a, moved[1], b).distance) / step
        apart = nu_b - nu_a
        agree("rate", found.normal @ (apart[:3] + np.cross(apart[3:], found.point)), slope, 1e-11)
        agree("a unit vector", found.normal @ found.normal, 1.0)
        turned = proximity(H_b, b, H_a, a)
        agree("the same turned round", turned.distance, found.distance)
        agree("the same turned round", turned.normal, -found.normal, 1e-11)


@pytest.mark.parametrize(
    ("a", "b", "H", "distance", "normal", "point"),
    [
        (BALL, BALL, at(0, 0, 0), -0.24, None, None),  # one center: there is no direction
        (ROD, ROD, at(0.1, 0, 0), -0.04, (1, 0, 0), (0.05, 0, 0)),  # side by side
        (ROD, ROD, at(0.1, 0, 0.3), -0.04, (1, 0, 0), (0.05, 0, 0.15)),  # beside each other for 0.1 m
        (ROD, ROD, at(0.1, 0, 0, (np.pi, 0, 0)), -0.04, (1, 0, 0), (0.05, 0, 0)),
        (ROD, ROD, at(0, 0, 0.5), -0.04, (0, 0, 1), (0, 0, 0.25)),  # end to end, their axes 0.1 m apart
        (ROD, ROD, at(0, 0, 0, (np.pi / 2, 0, 0)), -0.14, None, None),  # axes that cross
        (ROD, ROD, at(0, 0, 0), -0.14, None, None),
        (ROD, BALL, at(0, 0, 0), -0.19, None, None),
        (BRICK, BALL, at(0, 0, 0), -0.2, None, None),  # in the middle: any of its nearest faces
        (BRICK, BALL, at(0.15, 0, 0), -0.12, (1, 0, 0), (0.09, 0, 0)),  # its center on a face
        (BRICK, BALL, at(0.15, 0.08, 0.2), -0.12, None, None),  # on a corner
        (BRICK, ROD, at(0, 0.1, 0), -0.05, (0, 1, 0), (0, 0.055, 0)),  # along an edge, over a face
        (BRICK, ROD, at(0, 0.1, 0.3), -0.05, (0, 1, 0), (0, 0.055, 0.15)),  # 0.1 m of it
        (BRICK, ROD, at(0, 0.05, 0), -0.1, (0, 1, 0), (0, 0.03, 0)),  # its axis in the box
        (BRICK, ROD, at(0, 0, 0), -0.15, None, None),
        (BRICK, BRICK, at(0, 0.15, 0), -0.01, (0, 1, 0), (0, 0.07, 0)),  # face on face: its middle
        (BRICK, BRICK, at(0, 0, 0), -0.16, None, None),
        (BRICK, BRICK, at(0.3, 0, 0), 0.0, (1, 0, 0), (0.15, 0, 0)),
    ],
)
def test_special_places(a, b, H, distance, normal, point):
    """Nothing is NaN, and what meets along a line or face does so in its middle."""
    found = proximity(np.eye(4), a, H, b)
    assert found.distance == pytest.approx(distance, abs=1e-12)
    assert all(np.isfinite(x).all() for x in found)
    if normal is not None:
        agree("normal", found.normal, np.array(normal))
        agree("point", found.point, np.array(point))


def test_shapes_and_what_they_are():
    assert solid_of_shape(Sphere(0.1)) == Solid((0.0, 0.0, 0.0), 0.1)
    assert solid_of_shape(Capsule(0.1, 0.4)) == Solid((0.0, 0.0, 0.2), 0.1)
    assert solid_of_shape(Box((0.2, 0.4, 0.6))) == Solid((0.1, 0.2, 0.3), 0.0)
    assert solid_of_shape(Cylinder(0.1, 0.4)) == Solid((0.0, 0.0, 0.1), 0.1)
    assert solid_of_shape(Cylinder(0.1, 0.2)) == Solid((0.0, 0.0, 0.0), 0.1)
    flat = solid_of_shape(Cylinder(0.1, 0.05))
    assert flat.extent == 3
    assert np.hypot(*flat.half_sizes[:2]) == pytest.approx(0.1)
    assert solid_of_shape(Ellipsoid((0.1, 0.2, 0.3))) is None
    assert isinstance(proximity(np.eye(4), BALL, np.eye(4), BRICK), Proximity)
