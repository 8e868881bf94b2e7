"""Newton's method in steps of the implicit midpoint rule: derivatives of contact forces, and steps that converge."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.contact import patches
from fallingcat.contact.theta_weights import ThetaWeights
from fallingcat.dynamics.forward import response
from fallingcat.model.robots.random_tree import random_tree
from fallingcat.simulation import BatchSimulator

FLOOR = fc.contact.CompliantFloor(("foot",), (2e4, 1e4), (200.0, 100.0), friction=0.6)
SEEN = ThetaWeights.of(*FLOOR._springs, 0.5, 4e-3)


def point(height, velocity, anchor=(0.0, 0.0), lasts=1.0):
    place = np.array([height, 0.0, 0.0])
    return SimpleNamespace(position=place, velocity=np.array(velocity), anchor=np.array(anchor), lasts=lasts)


POINTS = {
    "sticks": (point(-5e-3, [0.1, 0.01, 0.0]), [0.05, 0.02, 0.01]),
    "slides": (point(-5e-3, [0.1, 2.0, 1.0]), [0.05, 1.5, 1.2]),
    "slides, stretched": (point(-5e-3, [0.0, 0.5, 0.0], anchor=(0.02, -0.03)), [0.01, 0.1, 0.4]),
    "lifts off": (point(-1e-4, [0.5, 1.0, 0.0]), [0.6, 1.0, 0.0]),
    "in the air": (point(0.1, [-0.1, 1.0, 0.0]), [-0.2, 1.0, 0.0]),
    "is pushed into the ground and slides": (point(1e-3, [-0.2, 3.0, 0.0]), [-1.5, 3.0, 1.0]),
}


@pytest.mark.parametrize("case", POINTS)
def test_tangents_are_the_derivatives_of_forces(case):
    """Of all but the part of a step for which a point sticks that has just come into the ground."""
    about, ahead = POINTS[case]
    ahead = np.array(ahead)
    found = FLOOR.tangent(about, ahead, SEEN)
    steps = 1e-6 * np.eye(3)
    slopes = [FLOOR.step_force(about, ahead + h, SEEN) - FLOOR.step_force(about, ahead - h, SEEN) for h in steps]
    np.testing.assert_allclose(found.gain, -np.transpose(slopes) / 2e-6, atol=1e-5)
    np.testing.assert_allclose(found.at(ahead), FLOOR.step_force(about, ahead, SEEN), atol=1e-9)
    np.testing.assert_allclose(FLOOR.support(about, ahead, SEEN).at(ahead), found.at(ahead), atol=1e-9)


def test_forces_on_points_that_come_into_the_ground_grow_from_zero():
    """With the depth at the end of the step: without a jump, by which no velocity would be a solution."""
    about = point(1e-3, [-0.2, 0.3, 0.0])
    at_ground = -1e-3 / (0.5 * SEEN.dt)
    forces = [FLOOR.step_force(about, np.array([w, 0.3, 0.0]), SEEN) for w in at_ground - np.array([0.0, 1e-6, 1.0])]
    assert np.linalg.norm(forces[0]) == 0.0
    assert 0.0 < np.linalg.norm(forces[1]) < 1e-3
    assert forces[2][0] == pytest.approx(100.0)  # D_n / 2 for 1 m/s more


@pytest.mark.parametrize("seed", range(4))
def test_inertias_need_not_be_symmetric(seed):
    """What a link resists with is the wrench that its acceleration takes."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 6)
    state, forces, given = model.random_state(rng), rng.normal(size=model.nv), rng.normal(size=model.n)
    links = rng.choice(len(model.links), 3, replace=False)
    more = [(int(i), np.eye(6) + 0.5 * rng.normal(size=(6, 6))) for i in links]
    found = response(model, state, forces, resisting=more, armature=np.ones(model.n), given=given, symmetric=False)
    wrenches = [(i, -R @ found.links[i]) for i, R in more]
    same = response(model, state, forces, wrenches, armature=np.ones(model.n), given=given)
    np.testing.assert_allclose(same.acceleration, found.acceleration, rtol=1e-9, atol=1e-9)


def test_steps_converge_under_random_torques():
    """At 4 ms, where feet slide, stop and turn round: 17 % of steps did not with fixed slopes.

    Those that do not are taken in quarters: without that 8 of 256 ants passed 3 times a speed limit.
    """
    model, count, dt = robots.quadruped(), 8, 4e-3
    feet = tuple(frame.name for frame in model.frames)
    floor = fc.contact.CompliantFloor(feet, (3e4, 3e4), (300.0, 300.0), friction=0.8)
    pose = np.eye(4)
    pose[2, 3] = 0.36
    start = model.state(pose=pose, joints=np.tile([0.0, 0.6, -1.2], 4))
    simulator, rng = BatchSimulator(model, [start] * count, (), floor, dt=dt, driven=True), np.random.default_rng(0)
    effort = np.array([joint.limits.effort for joint in model.joints])
    for _ in range(100):
        simulator.step(5, forces=rng.uniform(-1.0, 1.0, (count, model.n)) * effort)
    counts = simulator.stepper.counts(simulator.packed())
    assert counts["unconverged"].sum() == 0
    assert 0 < counts["refined"].sum() < 0.02 * 500 * count


def test_points_of_a_link_are_added_up(monkeypatch):
    """A box that lands and slides on its corners moves as if each point was taken by itself."""
    model, points = fc.contact.corners(robots.free_body(), "body", (0.2, 0.1))
    floor = fc.contact.CompliantFloor(points, (2e4, 2e4), (200.0, 200.0), friction=0.5)
    pose = np.eye(4)
    pose[2, 3] = 0.01
    start = model.state(pose=pose, twist=[1.0, 0.2, -0.5, 0.1, 0.1, 0.5])
    ends = []
    for fewest in (4, 5):
        monkeypatch.setattr(patches, "MIN_POINTS", fewest)
        alike = replace(floor, height=1e-12 * fewest)  # else the first code would be taken again
        simulator = BatchSimulator(model, [start], (), alike, dt=2e-3)
        simulator.step(60)
        ends.append(simulator.state.velocity[0])
    assert np.abs(ends[0] - start.velocity).max() > 0.5
    np.testing.assert_allclose(*ends, atol=1e-6)
