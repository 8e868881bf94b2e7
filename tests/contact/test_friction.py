"""Coulomb friction of the compliant floor: closed forms, and all integrators on the same law."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.contact.bristle import anchor_rate, anchor_travel, cone_share
from fallingcat.simulation import Implicit

GRAVITY, FRICTION, SPEED = 9.81, 0.5, 1.0
COULOMB = SPEED**2 / (2.0 * FRICTION * GRAVITY)
"""m: a rigid box that slides at 1 m/s stops after this distance"""
HALF = np.array([0.1, 0.1, 0.02])


def at(x, y, z):
    H = np.eye(4)
    H[:3, 3] = x, y, z
    return H


def box(mass):
    """A flat box on its four lower corners."""
    inertia = mass / 3.0 * (HALF @ HALF * np.eye(3) - np.diag(HALF**2))
    corners = tuple(
        fc.model.Frame(f"corner{i}", "box", at(x * HALF[0], y * HALF[1], -HALF[2]))
        for i, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    )
    link = fc.Link("box", fc.Body(mass, (0.0, 0.0, 0.0), inertia))
    return fc.Model("box", fc.lie.SE3(), (link,), frames=corners), tuple(corner.name for corner in corners)


def braked(mass, stiffness, damping, integrator=None, dt=None):
    """Distance (m) that a settled box slides from 1 m/s."""
    model, corners = box(mass)
    floor = fc.contact.CompliantFloor(corners, stiffness, damping, FRICTION)
    start = at(0.0, 0.0, HALF[2] - mass * GRAVITY / (4.0 * stiffness[0]))
    state = model.state(pose=start, twist=[SPEED, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(model, state, 0.3, contact=floor, integrator=integrator, dt=dt)
    assert run.status == "finished"
    assert np.abs(run.twists[-1]).max() < 0.02 * SPEED
    return run.poses[-1, 0, 3]


@pytest.mark.parametrize("tangential", [(1e3, 1e3), (1e3, 300.0), (1e4, 1e3), (2e4, 2e3)])
def test_a_braking_box_stops_where_coulomb_says(tangential):
    """The anchor once moved with the point as if the damper did not: +337 % at (1e3, 1e3), at any step."""
    (K, D), deflection = tangential, FRICTION * 10.0 * GRAVITY / (4.0 * tangential[0])
    found = braked(10.0, (1e4, K), (100.0, D))
    reference = braked(10.0, (1e4, K), (100.0, D), "rosenbrock")
    assert found == pytest.approx(reference, rel=3e-3)
    assert found == pytest.approx(COULOMB, abs=deflection + 0.01 * COULOMB)  # the bristle springs back at the end


@pytest.mark.parametrize(
    ("mass", "stiffness", "dt"),
    [(0.05, 2e4, 1e-3), (0.1, 2e4, 1e-3), (0.2, 2e4, 1e-3), (0.4, 3e4, 1e-3), (1.0, 2e4, 2e-3), (3.0, 2e4, 4e-3)],
)
@pytest.mark.parametrize("sweeps", [1, 2, 3])
def test_light_boxes_and_long_steps_brake_as_heavy_and_short_ones(mass, stiffness, dt, sweeps):
    """A first sweep that took all points to stick tipped the box and once braked it 1.4 to 2 times as hard."""
    floor = (stiffness, stiffness), (0.01 * stiffness, 0.01 * stiffness)
    assert braked(mass, *floor, Implicit(sweeps), dt) == pytest.approx(COULOMB, rel=5e-3)


@pytest.mark.parametrize("direction", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("mass", [0.1, 10.0])
def test_a_sliding_box_feels_friction_times_its_weight(direction, mass):
    """In steady sliding, whatever the direction; normal forces carry the weight."""
    model, corners = box(mass)
    floor = fc.contact.CompliantFloor(corners, (2e4, 2e4), (200.0, 200.0), FRICTION)
    way = np.array([np.cos(direction), np.sin(direction)])
    state = model.state(pose=at(0.0, 0.0, HALF[2] - mass * GRAVITY / 8e4), twist=[*(3.0 * way), 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(model, state, 0.3, contact=floor, dt=1e-3)
    slowed = (run.twists[100, :2] - run.twists[300, :2]) / 0.2
    np.testing.assert_allclose(slowed, FRICTION * GRAVITY * way, atol=2e-3 * GRAVITY)
    forces = run.contact_forces[100:300].mean(axis=0).sum(axis=0)
    np.testing.assert_allclose(forces, mass * GRAVITY * np.array([*(-FRICTION * way), 1.0]), atol=2e-3 * mass * GRAVITY)


@pytest.mark.parametrize("z", [1e-4, 0.1, 1.0, 10.0, 1e4])
def test_the_anchor_travels_as_the_bristle_relaxes(z):
    """``K s + D (v - da/dt) = F``: exact for constant ``v`` and ``F``, within 3 % of the way that is relaxed."""
    K, D, dt = 2e3, 30.0, z * 30.0 / 2e3
    s, force = 3e-3, 1.5
    travel = anchor_travel(np.array([K * s - force, 0.0]), K, D, dt)[0]
    exact = (s - force / K) * -np.expm1(-z)
    assert travel == pytest.approx(exact, abs=0.03 * (s - force / K))
    rate = anchor_rate(np.array([K * s - force, 0.0]), D)[0]
    assert travel <= rate * dt * (1.0 + 1e-12)


def test_friction_stays_in_its_cone():
    trial = np.array([3.0, -4.0])
    assert cone_share(trial, 10.0) == 1.0
    assert np.linalg.norm(cone_share(trial, 2.0) * trial) == pytest.approx(2.0, rel=1e-15)
    assert cone_share(np.zeros(2), 0.0) == 1.0


@pytest.mark.parametrize("kind", [fc.contact.CompliantFloor, fc.contact.HardContacts])
def test_friction_is_one_where_nobody_says_otherwise(kind):
    """It was unlimited; None still is."""
    body = fc.robots.free_body()
    point = body.link_names[0]
    left_out, none = kind((point,)), kind((point,), friction=None)
    assert (left_out.for_robot(body).friction, none.for_robot(body).friction) == (1.0, None)
    for again in (copy.deepcopy(left_out), pickle.loads(pickle.dumps(left_out))):
        assert again.for_robot(body).friction == 1.0
    stops = []
    for floor in (left_out, kind((point,), friction=1.0)):
        start = body.standing(floor)._replace(twist=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
        stops.append(fc.simulate(body, start, 0.05, contact=floor).state(-1).twist)
    np.testing.assert_array_equal(*stops)
    with pytest.raises(fc.errors.ModelError, match="a tuple with one for each point"):
        kind((point,), friction=())
