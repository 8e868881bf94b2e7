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
