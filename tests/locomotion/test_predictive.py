"""Predictive walking: numbers of the horizon, optimality of plans, pushes that whole-body control does not survive."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import locomotion as loco
from fallingcat.errors import ModelError, NumericsError
from fallingcat.studies.experiments.pushed_trot import PushedTrotParameters, Trotting, has_fallen
from tests.support.walking_robots import BENT, DOG, FEET, GROUND


def standing():
    return DOG.standing(GROUND, BENT)


def test_the_horizon_is_that_of_the_schedule():
    """Contacts, swing and heading of each node, by the schedule's own methods."""
    walk = loco.PredictiveWalk(DOG, FEET, BENT, loco.trot(0.36), steps=12)
    ahead = walk.compile(loco.VelocityCommand(0.4, 0.1, 0.5)).horizon
    state = standing()
    ahead(0.0, state)
    found = ahead(0.25, state)
    times = 0.25 + 0.02 * np.arange(13)
    assert_allclose(found.contacts, [walk.schedule.contacts(t) for t in times[:-1]])
    s, flies = (np.array([x(t) for t in times]) for x in (walk.schedule.swing, walk.schedule.contacts))
    feet = found.data[:, 7:].reshape(13, 4, 3)
    assert_allclose(feet[..., 1], 1.0 - flies, atol=1e-12)
    assert_allclose(feet[..., 0], (1.0 - flies) * s**2, atol=1e-12)
    middle = loco.swing_foot(np.zeros(3), np.array([0.0, 0.0, -0.01]), 0.5, 0.18, walk.clearance).position[2]
    height = 64.0 * 0.06 * (s * (1.0 - s)) ** 3 - 0.01 * s
    assert_allclose(feet[..., 2], height, atol=1e-12)
    assert_allclose(64.0 * 0.06 / 64.0 - 0.005, middle)  # the same curve as that of other walks
    heading = 0.25 * 0.5 + 0.5 * (times - 0.25)
    assert_allclose(found.data[:, :2], np.stack([np.cos(heading), np.sin(heading)], axis=1), atol=1e-12)
    assert_allclose(np.linalg.norm(found.data[:, 2:4], axis=1), np.hypot(0.4, 0.1))
    ground = min(fc.link_pose(DOG, state, f)[2, 3] for f in FEET)
    assert_allclose(found.data[:, 5], ground, atol=1e-6)


def test_a_robot_in_the_air_remembers_its_ground():
    ahead = loco.PredictiveWalk(DOG, FEET, BENT, loco.Schedule(0.4, 0.3, (0.0,) * 4)).compile().horizon
    state = standing()
    ground = ahead(0.0, state).data[0, 5]
    lifted = state._replace(pose=state.pose + 0.1 * np.eye(4)[:, [3, 3, 3, 2]] * [0, 0, 0, 1])
    assert lifted.pose[2, 3] > state.pose[2, 3] + 0.09
    assert ahead(0.2, lifted).data[0, 5] == ground


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"steps": 0}, "steps of a PredictiveWalk must be 1 to 1000, got 0"),
        ({"steps": 2.5}, "steps of a PredictiveWalk must be"),
        ({"dt": -0.01}, "dt of a PredictiveWalk"),
        ({"rate": np.nan}, "rate of a PredictiveWalk"),
        ({"friction": 0.0}, "friction is a positive number"),
        ({"feet": FEET[:3]}, "does not fit 3 feet"),
        ({"posture": (0.0, 0.7, 1.4) * 4}, "posture of joint 'front_left_knee' must be within its limits"),
        ({"posture": (0.0, 0.0, np.nan) * 4}, "nan|finite"),
        ({"schedule": "trot"}, "schedule must be a Schedule"),
    ],
)
def test_bad_walks_are_named(about, message):
    good = {"model": DOG, "feet": FEET, "posture": BENT}
    with pytest.raises(fc.FallingCatError, match=message):
        loco.PredictiveWalk(**(good | about))


def test_bad_commands_are_named():
    walk = loco.PredictiveWalk(DOG, FEET, BENT)
    with pytest.raises(ModelError, match="command must be a VelocityCommand or a function"):
        walk.compile(0.5)
    with pytest.raises(NumericsError, match=r"command at t = 0 s must be a VelocityCommand, got 0\.5"):
        walk.compile(lambda t: 0.5)(0.0, standing())


@pytest.mark.slow
def test_it_trots_and_turns():
    walk = loco.PredictiveWalk(DOG, FEET, BENT)
    controller = fc.control.SampledController(walk.compile(loco.VelocityCommand(0.4, turning=0.5)), rate=walk.rate)
    run = fc.simulate(DOG, standing(), 2.4, controller, GROUND, dt=1e-3, every=10)
    late = run.times >= 1.2
    heading = np.unwrap(np.arctan2(run.poses[late, 1, 0], run.poses[late, 0, 0]))
    assert_allclose((heading[-1] - heading[0]) / 1.2, 0.5, atol=0.05)
    speed = np.linalg.norm(np.diff(run.poses[late, :2, 3], axis=0), axis=1).sum() / 1.2
    assert_allclose(speed, 0.4, atol=0.05)
    assert run.poses[:, 2, 2].min() > np.cos(np.radians(3.0))


@pytest.mark.slow
def test_it_survives_a_push_that_whole_body_control_does_not():
    trotting = Trotting(PushedTrotParameters())
    assert not has_fallen(trotting.run("predictive", "left", 20.0))
    assert has_fallen(trotting.run("plain", "left", 20.0))
