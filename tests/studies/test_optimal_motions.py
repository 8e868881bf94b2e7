"""Motions of optimal control: swings, a jump, a backflip."""

import numpy as np
import pytest

from fallingcat.dynamics import center_of_mass, link_pose
from fallingcat.studies import run
from fallingcat.studies.experiments.leaps import Box, LeapParameters, leap_problem, quick_dog
from fallingcat.studies.experiments.standing_up import (
    SOLES,
    StandingUpParameters,
    seated_scene,
    standing_up_problem,
)
from fallingcat.studies.experiments.swing_up import acrobot
from fallingcat.studies.experiments.tracked_plan import Catch


def test_the_guess_of_a_backflip_turns_once():
    problem, guess = leap_problem(LeapParameters(leap="backflip", distance=-0.3))
    R = guess.pose[:, :3, :3]
    turned = np.unwrap(np.arctan2(R[:, 0, 2], R[:, 0, 0]))
    assert turned[-1] == pytest.approx(-2.0 * np.pi)
    assert problem.dynamics.phases[1].points == ("rear_left_foot", "rear_right_foot")
    assert {x.velocity for x in quick_dog(30.0).limits} == {30.0}
    assert Box(0.4).height(1.0, 0.0) == pytest.approx(0.4)
    assert Box(0.4).height(0.0, 0.0) < 1e-9
    assert center_of_mass(acrobot(20.0), acrobot(20.0).neutral())[2] == pytest.approx(-2.0 / 3.0)


def test_a_catch_is_made_for_the_state_that_it_finds():
    found = []

    def stand(state):
        found.append(state)
        return lambda t, state: "stands"

    catch = Catch(lambda t, state: "flies", 0.5, stand)
    assert [catch(t, t) for t in (0.0, 0.4, 0.5, 0.6, 0.1)] == ["flies", "flies", "stands", "stands", "flies"]
    assert found == [0.5]


def test_a_seated_robot_has_its_soles_on_the_ground_behind_which_the_seat_is():
    parameters = StandingUpParameters()
    problem, guess = standing_up_problem(parameters)
    robot = problem.model
    for i in (0, -1):
        for sole in SOLES:
            np.testing.assert_allclose(link_pose(robot, guess.at(i), sole)[[0, 2], 3], 0.0, atol=1e-12)
            np.testing.assert_allclose(link_pose(robot, guess.at(i), sole)[:3, :3], np.eye(3), atol=1e-12)
    assert problem.dynamics.phases[0].points == ("seat", "left_ankle", "right_ankle")
    robot, floor = seated_scene(parameters, robot, problem.start)
    ground = [floor.terrain.height(*link_pose(robot, problem.start, point)[:2, 3]) for point in floor.points]
    height = [link_pose(robot, problem.start, point)[2, 3] for point in floor.points]
    np.testing.assert_allclose(height, ground, atol=1e-4)  # m: all corners touch


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standing-up", "cart-pole-swing-up", "acrobot-swing-up", "box-jump", "backflip"])
def test_motions_hold_what_they_promise(name, tmp_path):
    result = run(name)
    assert result.holds, [(row.name, row.ours) for row in result.rows if row.holds is False]
    assert result.trajectory.status == "finished"
    assert "timeline" in result.page().write(tmp_path / f"{name}.html").read_text()


@pytest.mark.slow
def test_predictive_control_survives_harder_pushes_than_whole_body_control(tmp_path):
    result = run("pushed-trot")
    assert result.holds, [(row.name, row.ours) for row in result.rows if row.holds is False]
    survived = result.observed.largest_impulses
    assert survived["predictive"]["left"] >= survived["plain"]["left"] + 10.0
    for direction, largest in survived["plain"].items():
        assert survived["predictive"][direction] >= largest - 5.0
    assert "timeline" in result.page().write(tmp_path / "trot.html").read_text()
