"""A robot that is moved by hand, without a browser."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.planning import displacement, polygon
from fallingcat.viewer import PosedRobot
from fallingcat.viewer.solids import triangles_of
from fallingcat.visualization import Box, Capsule, Solid, appearance

CORNERS = [[0.0, 0.0], [0.7, 0.0], [0.7, 0.6], [0.0, 0.6], [0.0, 0.0]]


def test_bending_carries_a_robot_that_floats_as_its_connection_says():
    cat = fc.robots.two_cylinder_cat()
    posed_robot = PosedRobot(cat)
    for corner in CORNERS[1:]:
        posed_robot.bend(corner)
    np.testing.assert_allclose(posed_robot.state.pose, displacement(cat, polygon(CORNERS)).pose, atol=1e-8)
    by_hand = np.eye(4)  # midpoints of small steps: no Magnus, no kernel
    for start, end in zip(np.array(CORNERS[:-1]), np.array(CORNERS[1:]), strict=True):
        for k in range(200):
            at = cat.state(joints=start + (end - start) * (k + 0.5) / 200)
            by_hand = by_hand @ cat.base.exp(-fc.connection(cat, at) @ (end - start) / 200)
    np.testing.assert_allclose(posed_robot.state.pose, by_hand, atol=2e-6)
    assert np.linalg.norm(cat.base.log(posed_robot.state.pose)[3:]) > 0.1


def test_a_base_that_is_held_stays():
    posed_robot = PosedRobot(fc.robots.cat())
    posed_robot.floats = False
    posed_robot.bend(0.3 * np.ones(10))
    np.testing.assert_array_equal(posed_robot.state.pose, np.eye(4))
    arm = PosedRobot(fc.robots.planar_arm())
    assert not arm.can_float
    arm.bend([0.1, 0.2, 0.3])


def parallelogram():
    """Three bars on the ground, the last pinned to it."""
    bars = [fc.Link("ground"), *(fc.Link(f"bar{k}", fc.Body(1.0, (0.5, 0.0, 0.0), 0.1 * np.eye(3))) for k in range(3))]
    at = fc.lie.SE3().exp([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    turns = fc.joints.Revolute((0.0, 0.0, 1.0))
    joints = [fc.Joint("crank", turns, "ground", "bar0")]
    joints += [fc.Joint(f"joint{k}", turns, f"bar{k}", f"bar{k + 1}", at) for k in range(2)]
    open_ = fc.Model("parallelogram", fc.lie.Trivial(), tuple(bars), tuple(joints))
    return open_.close_loops(fc.model.Pin("end", "bar2", "ground", (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)))


def test_loops_stay_closed():
    model = parallelogram()
    posed_robot = PosedRobot(
        model, fc.constraints.assemble(model, model.state(joints=[1.5, -1.5, -1.5]), held=["crank"])
    )
    bent = posed_robot.state.joints.copy()
    bent[0] = 1.0
    posed_robot.bend(bent)
    assert posed_robot.state.joints[0] == 1.0
    assert np.abs(fc.constraints.equations(model, posed_robot.state).error).max() < 1e-9
    with pytest.raises(fc.ModelError, match="has loops"):
        posed_robot.drag("bar2", np.zeros(3))


@pytest.mark.parametrize("floats", [False, True])
def test_a_hand_is_dragged_within_limits(floats):
    robot = fc.robots.humanoid()
    posed_robot = PosedRobot(robot)
    posed_robot.floats = floats
    hand = robot.link_names[-1]
    goal = posed_robot.where(hand) + np.array([0.1, 0.05, 0.15])
    away = posed_robot.drag(hand, goal)
    assert away == pytest.approx(np.linalg.norm(posed_robot.where(hand) - goal))
    assert away < (0.02 if floats else 1e-5)  # what floats gives way while it reaches
    for x, limits in zip(posed_robot.state.joints, robot.limits, strict=True):
        assert limits.lower - 1e-9 <= x <= limits.upper + 1e-9
    assert posed_robot.drag(hand, posed_robot.where(hand) + np.array([10.0, 0.0, 0.0])) > 5.0


def test_what_falls_falls():
    body = fc.robots.free_body()
    posed_robot = PosedRobot(body)
    for _ in range(10):
        assert posed_robot.fall(0.05) == "finished"
    assert posed_robot.state.pose[2, 3] == pytest.approx(-0.5 * 9.81 * 0.25, rel=1e-9)
    assert posed_robot.time == pytest.approx(0.5)
    assert posed_robot.totals().linear[2] == pytest.approx(-body.mass * 9.81 * 0.5, rel=1e-9)
    posed_robot.reset()
    np.testing.assert_array_equal(posed_robot.state.pose, np.eye(4))


def test_totals_are_principal_axes():
    rng = np.random.default_rng(0)
    cat = fc.robots.cat()
    posed_robot = PosedRobot(cat, cat.random_state(rng))
    found = posed_robot.totals()
    inertia = fc.dynamics.locked_inertia(cat, posed_robot.state, "centroidal")[3:, 3:]
    np.testing.assert_allclose(found.axes @ np.diag(found.inertias) @ found.axes.T, inertia, atol=1e-14)
    assert np.linalg.det(found.axes) == pytest.approx(1.0)
    np.testing.assert_allclose(found.angular, fc.momentum(cat, posed_robot.state, "centroidal")[3:])


def test_the_record_is_a_page_that_plays(tmp_path):
    posed_robot = PosedRobot(fc.robots.two_cylinder_cat())
    with pytest.raises(fc.ModelError, match="nothing has been recorded"):
        posed_robot.page()
    for corner in CORNERS[1:]:
        posed_robot.bend(corner)
    assert posed_robot.page().write(tmp_path / "done.html").stat().st_size > 10_000


@pytest.mark.parametrize("wrong", [np.zeros(3), [np.nan, 0.0], "bent"])
def test_wrong_bends_are_refused(wrong):
    with pytest.raises(fc.ModelError, match="joints"):
        PosedRobot(fc.robots.two_cylinder_cat()).bend(wrong)


def test_solids_are_closed_and_where_they_were():
    for shape, volume in (
        (Box((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)), 0.048),
        (Capsule((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), 0.5), 4.0 / 3.0 * np.pi * 0.125),
    ):
        mesh = triangles_of(shape)
        a, b, c = mesh.points[mesh.faces.T]
        assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0 == pytest.approx(volume, rel=0.03)
    rod = triangles_of(Capsule((0.0, 0.0, 0.0), (0.3, 0.4, 0.0), 0.1)).points
    assert rod.max(axis=0) == pytest.approx([0.4, 0.5, 0.1], abs=0.01)
    for shapes in appearance(fc.robots.humanoid()).shapes.values():
        assert all(len(triangles_of(s).points) for s in shapes if isinstance(s, (Box, Capsule, Solid)))
