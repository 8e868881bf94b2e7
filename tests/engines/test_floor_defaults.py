"""Springs of a floor that follow from the mass of a robot: right for light and heavy ones, in three scenes.

Against the reference floor, MuJoCo with the same law, and closed forms: Coulomb's stopping distance, and the depth at
which the weight rests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import default_springs

from .box_scenes import BoxScene, motion
from .reference_floor import GRAVITY

MASSES = (0.1, 10.0, 1000.0)
WAYS = {
    "braking": {"velocity": (1.0, 0.3, 0.0), "duration": 0.4},
    "landing": {"velocity": (0.5, 0.0, -1.0), "height": 0.05, "pitch": 0.2, "duration": 0.4},
    "standing": {"velocity": (0.0, 0.0, 0.0), "height": 0.0, "duration": 0.3},
}
each = pytest.mark.parametrize(("mass", "way"), [(mass, way) for mass in MASSES for way in WAYS])


def scene(mass: float, way: str, step: float = 1e-3) -> BoxScene:
    box = BoxScene(mass, **WAYS[way])
    model, _, _, floor = box.ours()
    K, D = default_springs(model, floor.points, step)
    return replace(box, stiffness=K, damping=D)


def error(box: BoxScene, end: np.ndarray, **options: Any) -> float:
    """Of the place at the end, relative to the way, which counts as 5 mm at least."""
    way = max(5e-3, float(np.linalg.norm(end[:3] - box.pose[:3, 3])))
    return float(np.linalg.norm(motion(box.simulate(**options).state(-1))[:3] - end[:3])) / way


@each
def test_default_steps_are_those_of_the_reference(mass: float, way: str) -> None:
    box = scene(mass, way)
    assert error(box, box.reference()) < 0.02


@pytest.mark.parametrize("way", WAYS)
def test_long_steps_are_right_with_springs_for_them(way: str) -> None:
    box = scene(10.0, way, step=4e-3)
    assert box.stiffness[0] < scene(10.0, way).stiffness[0]
    assert error(box, box.reference(), dt=4e-3) < 0.05


@each
@pytest.mark.slow
def test_mujoco_has_the_same_motion(mass: float, way: str) -> None:
    from .mujoco_twin import MujocoTwin

    box = scene(mass, way)
    box = replace(box, stiffness=(box.stiffness[0], 0.0))
    model, state, _, floor = box.ours()
    found = motion(MujocoTwin(model, floor, dt=4e-5).run(state, box.duration))
    assert error(box, found) < 0.02


@pytest.mark.parametrize("mass", MASSES)
def test_a_box_stops_where_coulomb_says(mass: float) -> None:
    box = scene(mass, "braking")
    speed = float(np.linalg.norm(box.velocity))
    end = motion(box.simulate().state(-1))
    way = np.linalg.norm(end[:2] - box.pose[:2, 3])
    np.testing.assert_allclose(way, speed**2 / (2.0 * box.friction * GRAVITY), rtol=0.02)


@pytest.mark.parametrize("mass", MASSES)
def test_a_box_lands_and_rests_two_millimetres_deep(mass: float) -> None:
    box = replace(scene(mass, "landing"), pitch=0.0, duration=1.0)
    run = box.simulate(every=1)
    heights = run.poses[:, 2, 3] - 0.05  # of the lower side
    np.testing.assert_allclose(heights[-1], -2e-3, atol=4e-5)
    assert heights.min() > -0.02
    landed = int(np.argmax(heights < 0.0))
    assert heights[landed:].max() < 5e-3  # it fell from 50 mm, at 1 m/s


def test_a_robot_stands_on_its_feet_by_default() -> None:
    for robot in (fc.robots.quadruped(), fc.robots.humanoid()):
        feet = fc.contact.feet(robot)
        ground = fc.contact.CompliantFloor(feet, friction=0.8)
        start = feet.model.standing(ground)
        hold = fc.control.Impedance(start.joints, *fc.control.gains(hertz=10.0))
        run = fc.simulate(feet.model, start, 0.2, hold, ground)
        assert run.status == "finished"
        assert np.ptp(run.poses[:, 2, 3]) < 4e-3
