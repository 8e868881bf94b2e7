"""Heights of many points at many states, and how loose those are that touch at once."""

from dataclasses import replace

import numpy as np
import pytest
from robot_laws import Robot, build

import fallingcat as fc
from fallingcat.contact.effective_mass import FACE_POINTS, effective_mass, touching_mobility
from fallingcat.geometry.contact_points import positions
from fallingcat.geometry.point_positions import level_heights, point_coordinates
from fallingcat.lie import SE3


@pytest.mark.parametrize("seed", range(3))
def test_coordinates_are_those_of_each_point(seed):
    model, _ = build(Robot(SE3(), 6, seed))
    rng, points = np.random.default_rng(seed), (*model.link_names[::2], *(frame.name for frame in model.frames))
    many, axes = model.random_state(rng, 5), rng.normal(size=(2, 3))
    found = point_coordinates(model, many.pose, many.joints, points, axes)
    expected = [[axes @ p for p in positions(model, many.at(i), points)] for i in range(5)]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_one_state_is_found_as_among_many_and_follows_its_numbers():
    """A state alone is remembered by its numbers: other numbers in the same arrays are another state."""
    model = fc.robots.quadruped()
    feet, many = tuple(frame.name for frame in model.frames), model.random_state(np.random.default_rng(4), 3)
    expected = point_coordinates(model, many.pose, many.joints, feet, np.eye(3))
    poses, joints = many.pose[:1].copy(), many.joints[:1].copy()
    for i in (0, 1, 1, 2, 0):
        poses[0], joints[0] = many.pose[i], many.joints[i]
        found = point_coordinates(model, poses, joints, feet, np.eye(3))
        assert np.array_equal(found[0], expected[i])
        found[:] = np.nan  # it is the caller's own
        assert np.array_equal(point_coordinates(model, poses[:, :3], joints, feet, np.eye(3))[0], expected[i])
    assert point_coordinates(model, poses[:0], joints[:0], feet, np.eye(3)).shape == (0, 4, 3)


def test_heights_are_those_of_the_ground():
    model = fc.robots.quadruped()
    feet, rng = tuple(frame.name for frame in model.frames), np.random.default_rng(0)
    floor = fc.contact.CompliantFloor(feet, normal=(0.1, -0.2, 1.0), height=0.3, radius=(0.0, 0.01, 0.02, 0.03))
    many, ground = model.random_state(rng, 4), floor.ground(model)
    found = level_heights(model, ground, many.pose, many.joints, feet, floor.radii)
    for i in range(4):
        balls = zip(positions(model, many.at(i), feet), floor.radii, strict=True)
        np.testing.assert_allclose(found[i], [ground.site(p, r).height for p, r in balls], rtol=0.0, atol=1e-12)


def test_points_that_do_not_touch_at_once_are_not_looser_together():
    """A body on its corners is as loose as ever; the same foot on ten times as many points no looser than a face."""
    box, corners = fc.contact.corners(fc.robots.free_body(), "body", (0.2, 0.1))
    floor = fc.contact.CompliantFloor(corners, (2e4, 2e4), (200.0, 200.0))
    assert touching_mobility(box, floor) == effective_mass(box, floor)
    places = [SE3().exp([0.1 * np.cos(a), 0.1 * np.sin(a), -0.1, 0.0, 0.0, 0.0]) for a in np.linspace(0.0, 6.0, 40)]
    frames = tuple(fc.model.Frame(f"rim{k}", "body", place) for k, place in enumerate(places))
    wheel = replace(fc.robots.free_body(), frames=frames)
    rim = fc.contact.CompliantFloor(tuple(frame.name for frame in frames), (2e4, 2e4), (200.0, 200.0))
    one = [effective_mass(wheel, fc.contact.CompliantFloor((name,), (2e4, 2e4), (200.0, 200.0))) for name in rim.points]
    assert touching_mobility(wheel, rim) == pytest.approx(FACE_POINTS * max(one))
    assert touching_mobility(wheel, rim) < 0.5 * effective_mass(wheel, rim)
