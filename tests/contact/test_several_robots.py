"""Several articulated robots in one scene: starts, contact forces without a net wrench, a pushed crate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact import BodyContacts, CompliantBodies, body_pairs
from fallingcat.geometry.body_touch import body_touches
from fallingcat.lie import SE3
from fallingcat.model import combine, rigid_object
from fallingcat.model.shapes import Box

BENT = [0.0, 0.6, -1.2] * 4


def dog() -> fc.Model:
    """A quadruped that starts with bent knees, and touches with its trunk alone."""
    robot = fc.robots.quadruped()
    trunk = replace(robot.links[0], collisions=(Box((0.5, 0.25, 0.12)),))
    legs = (replace(link, collisions=()) for link in robot.links[1:])
    robot = replace(robot, links=(trunk, *legs))
    return robot.start_at(robot.state(joints=BENT))


def test_contact_forces_on_two_robots_have_no_net_wrench():
    """A rigid motion of the whole scene moves no point of contact, so contact forces cannot change its momentum."""
    scene, rng, group = combine({"a": dog(), "b": dog()}), np.random.default_rng(0), SE3()
    for _ in range(3):
        state = scene.random_state(rng)
        poses, velocity, twist = fc.forward_kinematics(scene, state), np.zeros(scene.nv), rng.normal(size=6)
        for part in "ab":
            velocity[scene.v_slices[scene.joint_index(part)]] = group.Ad(group.inverse(np.asarray(poses[part]))) @ twist
        for touch in body_touches(scene, state, body_pairs(scene, [("a", "b")])):
            rows = [touch.lever(arm) @ touch.J for arm in touch.arms]
            assert np.abs(np.array(rows) @ velocity).max() < 1e-12 * np.abs(twist).max()
            assert np.abs(np.array(rows) @ rng.normal(size=scene.nv)).max() > 1e-2


@pytest.mark.parametrize("kind", [BodyContacts, pytest.param(CompliantBodies, marks=pytest.mark.slow)])
def test_what_overlaps_at_its_start_is_named_and_what_is_placed_apart_runs(kind):
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    scene = combine({"left": cube, "right": cube})
    words = r"'left' and 'right' overlap there, start in touch or apart, as model.state\(joints=\{'right': \[x, y, z,"
    with pytest.raises(fc.ModelError, match=words):
        fc.Simulator(scene, kind(body_pairs(scene)))
    apart = combine({"left": cube, "right": cube}, {"right": [0.2, 0.0, 0.0]})
    sim = fc.Simulator(apart, kind(body_pairs(apart)))
    sim.step(steps=10)
    assert sim.state.joints[7] == pytest.approx(0.2, abs=1e-12)
    assert sim.state.joints[[2, 9]] == pytest.approx([-0.5 * 9.81 * 0.01**2] * 2, rel=0.11)  # first order: 11 / 10


def test_a_scene_cannot_stand_on_the_ground_as_a_whole():
    cube = rigid_object(Box((0.1, 0.1, 0.1)), mass=1.0)
    points = fc.contact.collision_points(combine({"a": cube}))
    with pytest.raises(fc.ModelError, match=r"give poses of its free bodies, as model.state\(joints=\{'a': \[x, y, z"):
        points.model.standing(fc.contact.CompliantFloor(points))


@pytest.mark.slow
def test_a_quadruped_pushes_a_crate_on_hard_and_on_compliant_ground():
    """Trunk against crate, feet and corners of the crate on the ground: both ways agree."""
    crate = rigid_object(Box((0.3, 0.4, 0.4)), mass=4.0)
    scene = combine({"dog": dog(), "crate": crate}, {"dog": [0.0, 0.0, 0.331], "crate": [0.401, 0.0, 0.2]})
    corners = fc.contact.collision_points(scene, ["crate"])
    model, points = corners.model, (*(frame.name for frame in scene.frames), *corners.points)
    servo = fc.control.PositionServo(kp=200.0, kd=5.0, only=scene.joint_names[1:13])
    hard = BodyContacts(body_pairs(model, [("dog", "crate")]), 0.3, floor=fc.contact.HardContacts(points, friction=0.6))
    soft = CompliantBodies(
        body_pairs(model, [("dog", "crate")]), friction=0.3, floor=fc.contact.CompliantFloor(points, friction=0.6)
    )
    places = []
    for touch in hard, soft:
        sim = fc.Simulator(model, touch, servo, dt=1e-3)
        for k in range(400):  # lean forward
            sim.step(targets=np.array(BENT) + np.tile([0.0, 0.25 * min(1.0, k / 200.0), 0.0], 4))
        places.append([*sim.state.joints[:2], *sim.state.joints[-7:-5]])
    assert places[0][2] > 0.47  # pushed by 7 cm or more
    assert np.abs(np.subtract(*places)).max() < 5e-3
