"""Links that keep a distance: limits of velocities, and inverse kinematics around obstacles."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import CollisionLimit, JointsTask, PositionTask, inverse_kinematics, velocities
from fallingcat.errors import ModelError
from fallingcat.model.shapes import Box, Sphere

pytest.importorskip("coal")


def at(*p):
    H = np.eye(4)
    H[:3, 3] = p
    return H


@pytest.fixture(scope="module")
def arm():
    """Three links of balls and boxes in a plane, on a post."""
    return fc.robots.planar_arm()


def test_rows_are_the_rates_of_distances(arm):
    dog, rng = fc.robots.quadruped(), np.random.default_rng(0)
    for robot, pairs in ((arm, None), (dog, [("front_left_shank", "rear_left_shank"), ("trunk", "front_right_shank")])):
        names = [link.name for link in robot.links if link.collisions]
        pairs = pairs if pairs is None or {x for p in pairs for x in p} <= set(names) else [(names[1], names[-1])]
        limit = CollisionLimit(pairs, obstacles=(Sphere(0.3, placement=at(1.5, 0.3, 2.0)),), near=50.0, gain=1.0)
        for _ in range(3):
            state = robot.random_state(rng)
            rows, h = limit.rows(robot, state), 1e-6
            ahead, behind = (
                limit.rows(robot, robot.configuration.displace(state, s * h * state.velocity)) for s in (1.0, -1.0)
            )
            assert rows.names == ahead.names
            deep = rows.h < -1e-3  # of shapes that overlap the nearest points may jump
            slopes = (ahead.h - behind.h) / (2.0 * h)
            assert np.allclose((-rows.G @ state.velocity)[~deep], slopes[~deep], rtol=1e-4, atol=1e-4)


def test_a_tip_that_is_pulled_through_a_ball_stops_before_it(arm):
    ball = Sphere(0.4, placement=at(1.6, 0.0, 2.0))
    state, found = arm.state(joints=[0.2, 0.3, 0.3]), None
    task = PositionTask("end_effector", [1.6, 0.0, 2.0], gain=2.0, mask=(True, False, True))
    limit = CollisionLimit([], [ball], margin=0.02, near=1.0, gain=5.0)
    for _ in range(150):
        found = velocities(arm, state, [[task]], limits=[limit], damping=0.1, last=found)
        state = arm.configuration.displace(state, 0.05 * found.velocity)
    gap = min(d.distance for d in fc.contact.distances(arm, state, [], [ball]))
    assert 0.015 < gap < 0.03
    assert any("obstacle" in name for name in found.active)


def test_inverse_kinematics_goes_around(arm):
    ball = Sphere(0.35, placement=at(0.75, 0.0, 2.05))
    limit = CollisionLimit([], [ball], margin=0.01)
    goal = PositionTask("end_effector", [1.5, 0.0, 2.2])
    start = arm.state(joints=[-0.5, 0.3, 0.3])
    free = inverse_kinematics(arm, [goal], arm.state(joints=[0.2, 0.6, 0.6]))
    within = inverse_kinematics(arm, [goal], start, limits=[limit])
    assert within.status == "converged"
    assert within.error <= 1e-6
    assert min(d.distance for d in fc.contact.distances(arm, within.state, [], [ball])) >= 0.01 - 1e-9
    assert free.converged
    inside = inverse_kinematics(arm, [goal.replaced(goal=[0.75, 0.0, 2.05])], start, limits=[limit], restarts=1)
    assert inside.status == "limited"
    assert any("obstacle" in name for name in inside.limits)


def test_bad_arguments(arm):
    for made, said in (
        (lambda: CollisionLimit(near=-1.0), "near of CollisionLimit"),
        (lambda: CollisionLimit(margin=1.0), "margin of CollisionLimit"),
        (lambda: CollisionLimit([("link1", "ghost")]).rows(arm, arm.neutral()), "ghost"),
        (lambda: CollisionLimit(obstacles="wall").rows(arm, arm.neutral()), "obstacles are shapes"),
        (lambda: inverse_kinematics(arm, [JointsTask([0.0] * 3)], limits=3), "limits must be a list"),
        (
            lambda: inverse_kinematics(arm, [PositionTask("link3", np.zeros((2, 3)))], limits=[CollisionLimit()]),
            "one goal at a time",
        ),
    ):
        with pytest.raises(ModelError, match=said):
            made()
    assert Box((1.0, 1.0, 1.0)).kind == "box"
