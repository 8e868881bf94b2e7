"""Frames of one's own, principal axes, and maps in files ([Mishra] Algorithm 1, V-B)."""

import numpy as np
import pytest
import xarray

import fallingcat as fc
from fallingcat import planning as gaits
from fallingcat.errors import FileError, ModelError
from fallingcat.lie.rotations import homogeneous
from fallingcat.planning.curvature.frames import frame_pose

CAT = fc.robots.two_cylinder_cat()
PLANE = gaits.Plane.of_joints(CAT, "spine_z", "spine_y")
GRID = np.linspace(-1.0, 1.0, 4)
CIRCLE = gaits.Circle(0.4)


def at_center(joints):
    """The center of mass with the axes of the base, as a user would write it."""
    return homogeneous(np.eye(3), fc.center_of_mass(CAT, CAT.state(joints=joints)))


def test_a_function_is_the_frame_that_it_gives():
    ours = gaits.curvature_map(CAT, PLANE, GRID, GRID, frame=at_center)
    named = gaits.curvature_map(CAT, PLANE, GRID, GRID, frame="center_of_mass")
    np.testing.assert_allclose(ours.values, named.values, rtol=0, atol=1e-12)
    assert ours.frame == "at_center"
    for ask in (
        lambda frame: gaits.displacement(CAT, CIRCLE, frame=frame).pose,
        lambda frame: gaits.estimate(CAT, CIRCLE, frame=frame, tolerance=0.1).zeta,
    ):
        np.testing.assert_allclose(ask(at_center), ask("center_of_mass"), rtol=0, atol=1e-11)


def test_a_pose_is_a_frame_that_stays_on_the_base():
    """`DA^c = Ad(g_1c)^-1 DA` (Property 6), and displacements conjugate."""
    H = CAT.base.random(np.random.default_rng(0))
    ours, own = (gaits.curvature_map(CAT, PLANE, GRID, GRID, frame=frame) for frame in (H, "base"))
    X = CAT.base.Ad(CAT.base.inverse(H))
    np.testing.assert_allclose(ours.values, own.values @ X.T, rtol=0, atol=1e-11)
    moved, base = (gaits.displacement(CAT, CIRCLE, frame=frame).pose for frame in (H.tolist(), "base"))
    np.testing.assert_allclose(moved, np.linalg.inv(H) @ base @ H, rtol=0, atol=1e-11)


def test_in_principal_axes_the_locked_inertia_is_diagonal():
    model, rng = fc.robots.orbital_arm(), np.random.default_rng(1)
    for _ in range(5):
        state = model.state(joints=model.random_state(rng).joints)
        H = frame_pose(model, state.joints, "principal_axes")
        Ad = fc.lie.SE3().Ad(H)
        inertia = Ad.T @ fc.dynamics.locked_inertia(model, state) @ Ad
        np.testing.assert_allclose(inertia, np.diag(np.diag(inertia)), rtol=0, atol=1e-12 * np.abs(inertia).max())
    plane = gaits.Plane.of_joints(model, *model.joint_names[1:3], origin=state.joints)
    small = np.linspace(-0.1, 0.1, 3)
    ours = gaits.curvature_map(model, plane, small, small, frame="principal_axes")
    base = gaits.curvature_map(model, plane, small, small)
    for i, j in np.ndindex(3, 3):
        shape = plane.shapes(np.array([[small[i], small[j]]]))[0]
        H = frame_pose(model, shape, "principal_axes")
        wanted = fc.lie.SE3().Ad(np.linalg.inv(H)) @ base.values[i, j]
        np.testing.assert_allclose(ours.values[i, j], wanted, rtol=0, atol=1e-11)


def test_maps_are_read_back(tmp_path):
    found = gaits.curvature_map(CAT, PLANE, GRID, GRID[:3])
    found.save(tmp_path / "map.nc")
    with xarray.open_dataset(tmp_path / "map.nc", engine="scipy") as data:
        np.testing.assert_array_equal(data["curvature"].values, found.values)
        np.testing.assert_array_equal(data["r1"], GRID)
        np.testing.assert_array_equal(data["directions"], PLANE.directions)
        assert data.attrs["frame"] == "base"
    found.save(tmp_path / "map.csv")
    rows = np.loadtxt(tmp_path / "map.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(rows[:, 2:].reshape(found.values.shape), found.values)
    np.testing.assert_array_equal(rows[:, 0].reshape(4, 3)[:, 0], GRID)
    assert found.to_xarray()["curvature"].sizes == {"r1": 4, "r2": 3, "component": 6}
    with pytest.raises(FileError, match=r"a curvature map must be written to \.csv or \.nc"):
        found.save(tmp_path / "map.png")


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (2.0 * np.eye(4), "must be a pose in the base's group"),
        (np.eye(3), r"the pose of the frame must have shape \(4, 4\)"),
        (np.full((4, 4), np.nan), "not finite"),
        (3, "frame must be one of base, .* a pose or a function, got 3"),
        (None, "a pose or a function, got None"),
        (lambda joints: np.zeros(3), r"must have shape \(4, 4\)"),
        (lambda: np.eye(4), "must be a function of the joints"),
        ("moon", "frame is one of base"),
    ],
)
def test_frames_that_are_none(frame, words):
    with pytest.raises(ModelError, match=words):
        gaits.curvature_map(CAT, PLANE, GRID, GRID, frame=frame)
    with pytest.raises(ModelError, match=words):
        gaits.displacement(CAT, CIRCLE, frame=frame)
    with pytest.raises(ModelError, match=words):
        gaits.estimate(CAT, CIRCLE, frame=frame)


def test_a_planar_robot_has_no_principal_axes():
    hopper = fc.robots.random_tree(np.random.default_rng(0), 2, ["revolute"], base=fc.lie.SE2())
    with pytest.raises(ModelError, match=r"the principal axes of .* needs a free base"):
        gaits.displacement(hopper, gaits.Circle(0.2), frame="principal_axes")
