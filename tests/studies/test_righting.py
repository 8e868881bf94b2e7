"""A quadruped that rights itself in the air and lands: its robot, and the whole of it, which is slow."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FallingCatError
from fallingcat.model.shapes import Box
from fallingcat.studies import run
from fallingcat.studies.experiments.righting import RightingParameters, Robot


def test_it_stands_on_its_feet_in_its_posture(tmp_path):
    robot = Robot.from_parameters(RightingParameters(posture=[0.0, 23.0, -46.0], gravity=1.62))
    np.testing.assert_allclose(robot.heights(robot.standing_state), 0.0, atol=1e-15)
    np.testing.assert_allclose(robot.model.gravity, [0.0, 0.0, -1.62])
    path = tmp_path / "dog.urdf"
    fc.save(fc.robots.quadruped(), path)
    feet = [f"{leg}_shank" for leg in ("front_left", "rear_left", "rear_right")]
    own = Robot.from_parameters(RightingParameters(posture=[0.0, 23.0, -46.0], file=str(path), feet=feet))
    assert own.feet == tuple(feet)
    assert own.heights(own.standing_state).min() == pytest.approx(0.0, abs=1e-15)


def test_of_a_file_each_leg_has_one_foot(tmp_path):
    """Its collision shapes may give many points of one foot: a box has four below."""
    dog = fc.robots.quadruped()
    at = np.eye(4)
    at[2, 3] = -0.2
    boxed = [
        replace(link, collisions=(Box((0.04, 0.04, 0.02), placement=at),)) if link.name.endswith("shank") else link
        for link in dog.links
    ]
    path = tmp_path / "boxed.urdf"
    fc.save(replace(dog, links=tuple(boxed)), path)
    robot = Robot.from_parameters(RightingParameters(posture=[0.0, 0.0, 0.0], file=str(path)))
    assert len(robot.feet) == 4
    assert len({robot.model.frame(foot).link for foot in robot.feet}) == 4
    np.testing.assert_allclose(robot.heights(robot.standing_state), 0.0, atol=1e-12)


@pytest.mark.parametrize("changes", [{"posture": [0.0] * 5}, {"file": "nowhere.urdf"}, {"feet": ["hand"]}])
def test_what_cannot_fall_is_refused(changes):
    with pytest.raises(FallingCatError):
        Robot.from_parameters(RightingParameters(**{"posture": [0.0, 23.0, -46.0]} | changes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["righting-dog", "righting-dog-moon"])
def test_the_dog_lands_on_its_feet(name, tmp_path):
    result = run(name)
    assert result.holds
    seen, wanted = result.observed, result.parameters.roll
    assert result.row("rolled over at the start").ours > wanted - 2.0
    assert result.row("turn that is planned").ours == pytest.approx(wanted, abs=1e-6)
    exact, guess = (
        result.row(f"turn of one full circle, {how}").ours for how in ("exact", "by the curvature inside it")
    )
    assert guess == pytest.approx(exact, rel=0.05)
    assert result.row("least distance between the center lines of two legs").ours > 0.06
    assert result.row("least height of a foot before that").ours > 0.0
    assert result.row("lowest height of the trunk's middle").ours > 0.08  # its underside does not touch
    assert np.abs(seen.flight.rates).max() < 20.0
    assert "Why it turns" in result.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
