"""Springs and dampers in the middle of a step: order, stability, stops, and where a point lands."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import expm

import fallingcat as fc
from fallingcat.contact.effective_mass import effective_mass
from fallingcat.contact.theta_weights import ThetaWeights
from fallingcat.simulation.integrators.implicit.integrator import Implicit
from fallingcat.studies.hoppers.hopper import floor, laws, robot, start


def swing(K, D, m, dt, gives=None):
    """The matrix of a step of ``m x'' = -K x - D x'``, from ``(x, v)`` to the same later."""
    drift, gain = ThetaWeights.of(K, D, 1.0 / m if gives is None else gives, dt).predicted(K, D)
    half = np.array([[1.0, 0.5 * dt], [0.0, 1.0]])
    a = -np.array([K, D + drift]) / (m + dt * gain)
    return half @ (np.eye(2) + np.array([np.zeros(2), dt * a])) @ half


@pytest.mark.parametrize("seed", range(20))
def test_steps_are_stable_whatever_gives_way(seed):
    """Also where the inertia is not the one that was thought."""
    K, D, m, wrong = 10.0 ** np.random.default_rng(seed).uniform([-2, -3, -2, -3], [8, 6, 2, 3])
    for gives in (1.0 / m, wrong / m, 0.0):
        assert np.abs(np.linalg.eigvals(swing(K, D, m, 1e-2, gives))).max() <= 1.0 + 1e-9


@pytest.mark.parametrize(("K", "D"), [(400.0, 0.0), (400.0, 3.0), (0.0, 30.0), (50.0, 80.0)])
def test_steps_are_of_order_two(K, D):
    exact = expm(0.4 * np.array([[0.0, 1.0], [-K, -D]]))
    coarse, fine = (np.abs(np.linalg.matrix_power(swing(K, D, 1.0, 0.4 / n), n) - exact).max() for n in (160, 320))
    assert 1.9 < np.log2(coarse / fine) < 2.1


def test_what_a_step_does_not_resolve_comes_to_rest():
    for K, D in ((1e8, 0.0), (0.0, 1e8), (1e8, 1e4)):
        after = np.linalg.matrix_power(swing(K, D, 1.0, 1e-2), 40)
        assert np.abs(after[1]).max() < 1e-6


def test_flight_is_a_parabola():
    ball = fc.robots.free_body()
    floor = fc.contact.CompliantFloor(("body",), (1e4, 1e4), (10.0, 10.0))
    high = np.eye(4)
    high[2, 3] = 5.0
    run = fc.simulate(ball, ball.state(pose=high, twist=[1, 0, 2, 0, 0, 0]), 0.5, (), floor, integrator="implicit")
    np.testing.assert_allclose(run.poses[:, 2, 3], 5.0 + 2.0 * run.times - 0.5 * 9.81 * run.times**2, atol=1e-12)


def test_a_point_is_held_where_it_came_through_the_ground():
    """From any height: it was held up to a step before, or behind."""
    ball = fc.robots.free_body()
    floor = fc.contact.CompliantFloor(("body",), (1e3, 1e3), (10.0, 10.0), friction=None)
    for height in np.linspace(0.05, 0.06, 7):
        pose = np.eye(4)
        pose[2, 3] = height
        fall = np.sqrt(2.0 * height / 9.81)
        start = ball.state(pose=pose, twist=[3, 0, 0, 0, 0, 0])
        run = fc.simulate(ball, start, fall + 5e-3, (), floor, integrator="implicit")
        assert run.memory[-1, 0] == pytest.approx(3.0 * fall, abs=2e-5)  # of 3 mm a step


def test_stops_are_as_stiff_in_long_steps():
    """An arm drawn to its stops rests at one place, whatever the step: at 4 ms they gave way 16 times as far."""
    arm = fc.robots.planar_arm()
    stops = [replace(joint, limits=fc.model.Limits(-0.2, 0.2)) for joint in arm.joints]
    arm, laws = (
        replace(arm, joints=tuple(stops)),
        (fc.control.JointSpring(5.0, (1.0, 1.0, 1.0)), fc.control.JointDamper(1.0)),
    )
    ends = [fc.simulate(arm, arm.neutral(), 8.0, laws, integrator="implicit", dt=dt).joints[-1] for dt in (1e-3, 4e-3)]
    assert np.abs(ends[0]).max() > 0.2
    np.testing.assert_allclose(*ends, atol=1e-7)


def test_what_gives_way():
    ball = fc.robots.free_body()
    one = fc.contact.CompliantFloor(("body",), (1.0, 1.0), (1.0, 1.0))
    assert effective_mass(ball, one) == pytest.approx(1.0 / ball.mass)
    box, corners = fc.contact.corners(ball, "body", (0.3, 0.2))
    many = replace(one, points=corners)
    spins = 4.0 * (0.15**2 + 0.1**2) / np.asarray(ball.links[0].body.inertia)[2, 2]
    assert effective_mass(box, many) == pytest.approx(max(4.0 / ball.mass, spins))


@pytest.fixture(scope="module")
def landing():
    """A humanoid on the corners of its soles, held by springs: the knees rest on their stops."""
    model, left = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.2, 0.1))
    model, right = fc.contact.corners(model, "right_sole", (0.2, 0.1))
    pose = np.eye(4)
    pose[2, 3] = 0.92
    start = model.state(pose=pose, twist=[0.05, 0.05, 0.0, 0.0, 0.0, 0.1])
    laws = fc.control.JointSpring(1000.0, tuple(np.zeros(model.n))), fc.control.JointDamper(30.0)
    floor = fc.contact.CompliantFloor((*left, *right), (3e4, 3e4), (300.0, 300.0), friction=0.8)

    def end(dt):
        return fc.simulate(model, start, 1.0, laws, floor, integrator=Implicit(), dt=dt, every=10).poses[-1, :3, 3]

    return end, end(1e-3 / 32.0)


@pytest.mark.parametrize(("dt", "within"), [(1e-3, 3e-5), (2e-3, 1e-4), (4e-3, 2.5e-4)])
def test_a_humanoid_lands_as_in_small_steps(landing, dt, within):
    """Order 1, and stops that depend on the step: it was off by 0.2, 1.8 and 2.6 mm."""
    end, fine = landing
    assert np.abs(end(dt) - fine).max() < within


def test_springs_of_a_function_gain_no_energy():
    """It sees the middle of a step, as laws do: asked at the start, it made an arm swing 1.6 times as far in 1 s."""
    arm, k = fc.robots.planar_arm(), 100.0
    start, asked = arm.state(joints=[0.1, 0.2, -0.1]), []

    def spring(t, state):
        asked.append(t)
        return -k * state.joints

    run = fc.simulate(arm, start, 1.0, spring, integrator="implicit", dt=1e-3)
    exact = fc.simulate(arm, start, 1.0, fc.control.JointSpring(k, (0.0, 0.0, 0.0)), integrator="rkmk4", dt=2e-4)
    np.testing.assert_allclose(run.joints[-1], exact.joints[-1], atol=1e-3)
    assert {0.5e-3, 1.5e-3} <= set(asked)


def test_a_floor_without_a_limit_of_friction_holds_what_leaves_until_it_is_out():
    """Its tangential force stays while the normal one is clipped at zero: a hopper's leg is stopped as it lifts off."""
    p = fc.studies.load("revolute-6").parameters
    hopper = robot(p)
    begin, ground = start(hopper, p), floor(p)
    assert ground.friction is None
    seen = ThetaWeights(np.zeros(3), np.full(3, 0.5), 1e-3, 1.0)
    place, velocity = np.array([-1e-3, 0.0, 0.0]), np.array([0.1, 2.0, 0.0])
    point = SimpleNamespace(position=place, velocity=velocity, anchor=np.zeros(2), lasts=1.0)
    held = ground.support(point, velocity, seen)
    assert held.gain[0] == held.force[0] == 0.0  # it would have to pull
    assert held.force[1] - held.gain[1] * 2.0 == pytest.approx(-2.0 * ground.damping[1])
    acting = laws(hopper, begin, p)
    fine = fc.simulate(hopper, begin, 0.3, acting, ground, integrator=fc.simulation.Rosenbrock(1e-8))
    ours = fc.simulate(hopper, begin, 0.3, acting, ground, integrator="implicit", dt=5e-5)
    assert ours.status == "finished"
    np.testing.assert_allclose(ours.twists[-1], fine.twists[-1], atol=0.05)
