"""Distances between links, against closed forms and MuJoCo."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import distances, self_pairs
from fallingcat.errors import ExtraMissingError, ModelError
from fallingcat.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere

mujoco = pytest.importorskip("mujoco")


def three(*shapes: tuple[Shape, ...]) -> fc.Model:
    """Links that float apart, each on the one before."""
    names, body = ("a", "b", "c"), fc.Body(1.0, (0.0, 0.0, 0.0), np.eye(3))
    links = [fc.Link(name, body, collisions=own) for name, own in zip(names, shapes, strict=True)]
    joints = [fc.Joint(f"to_{child}", fc.joints.Free(), parent, child) for parent, child in pairwise(names)]
    return fc.Model("three", fc.lie.SE3(), links, joints)


def test_neighbours_are_left_out() -> None:
    pytest.importorskip("coal")
    ball = (Sphere(0.1),)
    model = three(ball, ball, ball)
    assert self_pairs(model) == (("a", "c"),)
    assert self_pairs(three(ball, ball, ())) == ()
    state = model.random_state(np.random.default_rng(0))
    poses = fc.forward_kinematics(model, state)
    for found, pair in zip(distances(model, state, [("a", "b"), ("c", "a")]), [("a", "b"), ("c", "a")], strict=True):
        apart = poses[pair[1]][:3, 3] - poses[pair[0]][:3, 3]
        assert found.links == pair
        assert found.distance == pytest.approx(np.linalg.norm(apart) - 0.2, abs=1e-9)
        np.testing.assert_allclose(
            found.points[0], poses[pair[0]][:3, 3] + 0.1 * apart / np.linalg.norm(apart), atol=1e-7
        )


def test_pairs_of_shapes_are_as_far_as_mujoco_has_it() -> None:
    """Every pair of kinds at random, apart and in each other; the nearest shapes of a link count."""
    pytest.importorskip("coal")
    rng = np.random.default_rng(1)
    kinds = [Sphere(0.2), Capsule(0.1, 0.4), Box((0.3, 0.2, 0.4)), Cylinder(0.15, 0.3), Ellipsoid((0.1, 0.2, 0.3))]
    sizes = {
        "sphere": "0.2",
        "capsule": "0.1 0.2",
        "box": "0.15 0.1 0.2",
        "cylinder": "0.15 0.15",
        "ellipsoid": "0.1 0.2 0.3",
    }
    for first in kinds:
        for second in kinds:
            model = three((first,), (), (second,))
            state = model.random_state(rng)
            poses = fc.forward_kinematics(model, state)
            geoms = "".join(
                f'<body mocap="true"><geom type="{s.kind}" size="{sizes[s.kind]}"/></body>' for s in (first, second)
            )
            theirs = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{geoms}</worldbody></mujoco>")
            data = mujoco.MjData(theirs)
            for i, name in enumerate(("a", "c")):
                data.mocap_pos[i] = poses[name][:3, 3]
                mujoco.mju_mat2Quat(data.mocap_quat[i], poses[name][:3, :3].ravel())
            mujoco.mj_forward(theirs, data)
            expected = mujoco.mj_geomDistance(theirs, data, 0, 1, 10.0, None)
            (found,) = distances(model, state)
            assert found.distance == pytest.approx(expected, abs=2e-4 if expected > 0.0 else 2e-2)
            assert np.linalg.norm(found.points[1] - found.points[0]) == pytest.approx(abs(found.distance), abs=1e-6)


def test_a_bent_arm_hits_itself() -> None:
    pytest.importorskip("coal")
    rod = Capsule(0.05, 0.8).moved(np.array([[0.0, 0, 1, 0.5], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1.0]]))
    links = [fc.Link(name, fc.Body(1.0, (0.5, 0, 0), np.eye(3)), collisions=(rod,)) for name in ("one", "two", "three")]
    out = np.eye(4)
    out[0, 3] = 1.0
    hinge = fc.joints.Revolute((0.0, 0.0, 1.0))
    joints = [
        fc.Joint("first", hinge, "one", "two", placement=out),
        fc.Joint("second", hinge, "two", "three", placement=out),
    ]
    arm = fc.Model("arm", fc.lie.SE3(), links, joints)
    (straight,), (folded,) = (distances(arm, arm.state(joints=q)) for q in ([0.0, 0.0], [2.2, 2.2]))
    assert straight.distance == pytest.approx(1.0 + 2 * 0.1 - 2 * 0.05, abs=1e-6)  # the rods end 0.1 before the joints
    assert folded.distance < 0.0


def test_a_mesh_counts_as_its_convex_hull(tmp_path: Path) -> None:
    """A pyramid of points, one of them inside; a flat one has no hull."""
    pytest.importorskip("coal")
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.1)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [
        "f 1 3 2",
        "f 1 2 4",
        "f 1 4 3",
        "f 2 3 5",
        "f 3 4 5",
        "f 4 2 5",
    ]
    (tmp_path / "dented.obj").write_text("\n".join(lines))
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    model = three((Mesh("dented.obj", str(tmp_path)),), (), (Sphere(0.1),))
    expected = {1.0: 2.0 / np.sqrt(3.0) - 0.1, 0.2: (0.6 - 1.0) / np.sqrt(3.0) - 0.1}
    for x, distance in expected.items():
        state = model.state(joints={"to_c": np.array([x, x, x, 0.0, 0.0, 0.0, 1.0])})
        (found,) = distances(model, state)
        assert found.distance == pytest.approx(max(distance, -0.3), abs=1e-6)
    flat = three((Mesh("flat.obj", str(tmp_path)),), (), (Sphere(0.1),))
    with pytest.raises(ModelError, match=r"no convex hull of the mesh 'flat\.obj' was found"):
        distances(flat, flat.neutral())


def test_what_cannot_be_asked_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    model = three((Sphere(0.1),), (), (Sphere(0.1),))
    with pytest.raises(ModelError, match="'b' is no link of 'three' with collision shapes"):
        distances(model, model.neutral(), [("a", "b")])
    for pairs in ("ab", [("a",)], 3, [3]):
        with pytest.raises(ModelError, match=r"pairs are pairs of names of links|is no link"):
            distances(model, model.neutral(), pairs)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "coal", None)
    fresh = three((Sphere(0.1),), (), (Sphere(0.1),))
    with pytest.raises(ExtraMissingError, match=r"a distance between links needs coal: pip install '\.\[coal\]'"):
        distances(fresh, fresh.neutral())
