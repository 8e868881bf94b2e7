"""Balls around points: rolling and sliding as closed forms have it, on hard ground and on springs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.geometry.contact_points import Plane, plane, point_motions, touch_jacobian, touches
from fallingcat.lie import SE2
from tests.support.random_robots import BASES, Robot, build

G, RADIUS, MASS = 9.81, 0.1, 2.0
SLOPE = 0.3
UP, DOWN = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)]), np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
SPRINGS = {"stiffness": (1e5, 1e5), "damping": (500.0, 50.0)}


def ball(inertia: float = 0.4 * MASS * RADIUS**2) -> fc.Model:
    return fc.robots.free_body(body=fc.Body(MASS, (0.0, 0.0, 0.0), inertia * np.eye(3)))


def at(p: np.ndarray) -> np.ndarray:
    H = np.eye(4)
    H[:3, 3] = p
    return H


def went(run: fc.Trajectory, along: np.ndarray) -> float:
    return float((run.poses[-1, :3, 3] - run.poses[0, :3, 3]) @ along)


def floors(friction: float | None, depth: float = 0.0) -> dict[str, tuple[fc.contact.Contact, dict, np.ndarray]]:
    """Contact, options of the run and start, ``depth`` in the springs' ground: what carries the ball already."""
    about = {"friction": friction, "normal": tuple(UP), "radius": RADIUS}
    hard, soft = fc.contact.HardContacts(("body",), **about), fc.contact.CompliantFloor(("body",), **SPRINGS, **about)
    low = at((RADIUS - depth) * UP)
    return {
        "hard": (hard, {}, at(RADIUS * UP)),
        "rkmk4": (soft, {"integrator": "rkmk4", "dt": 2e-4}, low),
        "rosenbrock": (soft, {"integrator": "rosenbrock"}, low),
        "implicit": (soft, {"integrator": "implicit", "dt": 1e-4}, low),
    }


TOLERANCES = {"hard": 1e-8, "rkmk4": 2e-4, "rosenbrock": 2e-4, "implicit": 2e-3}
LOADED = MASS * G * np.cos(SLOPE) / SPRINGS["stiffness"][0]


@pytest.mark.parametrize("how", TOLERANCES)
def test_a_ball_rolls_down_a_slope_at_five_sevenths(how: str) -> None:
    contact, options, start = floors(0.5, LOADED)[how]
    run = fc.simulate(ball(), ball().state(pose=start), 0.3, contact=contact, **options)
    expected = 0.5 * (5.0 / 7.0) * G * np.sin(SLOPE) * 0.3**2
    assert went(run, DOWN) == pytest.approx(expected, rel=TOLERANCES[how])
    assert run.twists[-1, 4] * RADIUS == pytest.approx(2.0 * expected / 0.3, rel=TOLERANCES[how])  # it rolls
    F = run.contact_forces[-1, 0]
    assert pytest.approx(2.0 / 7.0 * MASS * G * np.sin(SLOPE), rel=5e-3 if how == "implicit" else 1e-3) == -F @ DOWN


@pytest.mark.parametrize("how", TOLERANCES)
def test_beyond_seven_halves_of_its_friction_a_ball_slides(how: str) -> None:
    mu = 0.5 * 2.0 / 7.0 * np.tan(SLOPE)
    contact, options, start = floors(mu, LOADED)[how]
    run = fc.simulate(ball(), ball().state(pose=start), 0.3, contact=contact, **options)
    a, alpha = G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), mu * MASS * G * np.cos(SLOPE) / (0.4 * MASS * RADIUS)
    before, after = (run.at(t) for t in (0.15, run.times[-1]))  # springs have taken up their load by then
    speeds = [float((s.pose[:3, :3] @ s.twist[:3]) @ DOWN) for s in (before, after)]
    slack = 10.0 * TOLERANCES[how] if how == "implicit" else 1e-4
    assert speeds[1] - speeds[0] == pytest.approx(a * 0.15, rel=slack)
    assert after.twist[4] - before.twist[4] == pytest.approx(alpha * 0.15, rel=5.0 * slack)
    assert run.slip[-1, 0] == pytest.approx(speeds[1] - RADIUS * after.twist[4], abs=1e-6)


def test_the_threshold_of_rolling_is_two_sevenths_of_the_slope() -> None:
    threshold = 2.0 / 7.0 * np.tan(SLOPE)
    for mu, rolls in ((0.999 * threshold, False), (1.001 * threshold, True)):
        contact, _, start = floors(mu)["hard"]
        run = fc.simulate(ball(), ball().state(pose=start), 0.02, contact=contact)
        assert run.modes[-1] == ("stick" if rolls else "slide",)


def test_a_bowling_ball_slides_then_rolls_at_five_sevenths_of_its_speed() -> None:
    floor = fc.contact.HardContacts(("body",), friction=0.2, radius=RADIUS)
    start = ball().state(pose=at(np.array([0.0, 0.0, RADIUS])), twist=[0.6, -0.8, 0.0, 0.0, 0.0, 0.0])
    run = fc.simulate(ball(), start, 0.3, contact=floor)
    event = run.events[0]
    assert event.name == "stick body"
    assert event.time == pytest.approx(2.0 / (7.0 * 0.2 * G), rel=1e-6)
    v = run.poses[-1, :3, :3] @ run.twists[-1, :3]
    np.testing.assert_allclose(v, [5.0 / 7.0 * 0.6, -5.0 / 7.0 * 0.8, 0.0], atol=1e-6)
    assert run.energy_residual < 1e-6
    kinetic, _ = run.energies()
    assert kinetic[-1] == pytest.approx(5.0 / 7.0 * kinetic[0], rel=1e-6)


def test_a_planar_wheel_rolls() -> None:
    body = fc.Body(MASS, (0.0, 0.0, 0.0), np.diag([0.01, 0.01, 0.5 * MASS * RADIUS**2]))
    wheel = fc.robots.free_body(SE2(), body)
    up, depth = np.array([np.sin(0.2), np.cos(0.2), 0.0]), MASS * G * np.cos(0.2) / SPRINGS["stiffness"][0]
    floor = fc.contact.CompliantFloor(("body",), **SPRINGS, friction=0.8, radius=(RADIUS,), normal=tuple(up))
    start = wheel.state(pose=at((RADIUS - depth) * up))
    for options, slack in (({"integrator": "rosenbrock"}, 2e-4), ({"integrator": "implicit", "dt": 1e-4}, 2e-3)):
        run = fc.simulate(wheel, start, 0.3, contact=floor, **options)
        expected = 0.5 * G * np.sin(0.2) / 1.5 * 0.3**2
        assert went(run, np.array([np.cos(0.2), -np.sin(0.2), 0.0])) == pytest.approx(expected, rel=slack)


def test_a_capsule_rolls_on_two_balls_and_shares_its_load() -> None:
    inertia = 0.6 * MASS * RADIUS**2
    body = fc.Body(MASS, (0.0, 0.0, 0.0), np.diag([0.02, inertia, 0.02]))
    model, ends = fc.contact.corners(fc.robots.free_body(body=body), "body", [(0.0, 0.2, 0.0), (0.0, -0.2, 0.0)])
    floor = fc.contact.HardContacts(ends, friction=0.5, normal=tuple(UP), radius=RADIUS)
    run = fc.simulate(model, model.state(pose=at(RADIUS * UP)), 0.2, contact=floor, integrator="rkmk4")
    assert went(run, DOWN) == pytest.approx(0.5 * G * np.sin(SLOPE) / 1.6 * 0.2**2, rel=1e-8)
    np.testing.assert_allclose(run.contact_forces[-1] @ UP, 0.5 * MASS * G * np.cos(SLOPE), rtol=1e-6)
    assert run.events == ()
    assert run.penetration.max() < 1e-8


def test_a_ball_lands_at_its_radius_and_is_named() -> None:
    start = ball().state(pose=at(np.array([0.0, 0.0, RADIUS + 0.05])))
    for contact in (
        fc.contact.HardContacts(("body",), radius=RADIUS),
        fc.contact.CompliantFloor(("body",), **SPRINGS, radius=RADIUS),
    ):
        run = fc.simulate(ball(), start, 0.15, contact=contact)
        assert run.events[0].name == "touchdown body"
        assert run.events[0].time == pytest.approx(np.sqrt(2.0 * 0.05 / G), rel=1e-6)
        assert run.touching[-1] == {"body"} or isinstance(contact, fc.contact.CompliantFloor)


@pytest.mark.parametrize("around", [0.3, fc.contact.rim(0.3), fc.contact.ContactEllipsoid((0.1, 0.2, 0.3), 0.05)])
def test_places_of_touch_move_as_differences_say(around: Any) -> None:
    """``J v`` of the place of touch, and its rate at constant ``v``, on random robots."""
    for seed, base in enumerate(BASES):
        model, state = build(Robot(base, 4, seed))
        ground = plane(model, (0.2, -0.3, 1.0))
        place, dt = model.link_names[-1], 1e-5

        def speed(t: float, model=model, state=state, place=place, ground: Plane = ground) -> np.ndarray:
            there = fc.dynamics.displace(model, state, t * state.velocity)
            ((_, lever),) = touches(model, there, [place], ground, [around])
            return touch_jacobian(model, there, place, lever) @ state.velocity

        (motion,) = point_motions(model, state, [place])
        lever = motion.touch(ground, around).lever
        J = motion.jacobian_at(lever)
        np.testing.assert_allclose(J, touch_jacobian(model, state, place, lever), atol=1e-11)
        bias = motion.bias_at(lever, motion.lever_rate(around, ground.normal, np.zeros(3)))
        difference = (speed(dt) - speed(-dt)) / (2.0 * dt)
        np.testing.assert_allclose(bias, difference, atol=1e-6 * max(1.0, np.abs(bias).max()))


def test_laws_of_contacts_hold_for_balls() -> None:
    spinning = ball().state(pose=at(np.array([0.0, 0.0, 0.13])), twist=[0.3, 0.0, 0.0, 1.0, 2.0, 3.0])
    soft = fc.contact.CompliantFloor(("body",), (1e4, 1e4), (50.0, 50.0), friction=0.5, radius=RADIUS)
    fc.testing.check_contact(soft, ball(), spinning)
    fc.testing.check_contact(fc.contact.HardContacts(("body",), friction=0.1, radius=RADIUS), ball(), spinning)


def test_rollouts_of_rolling_balls_agree_with_runs() -> None:
    floor = fc.contact.CompliantFloor(("body",), **SPRINGS, friction=0.3, radius=RADIUS)
    starts = [
        ball().state(pose=at(np.array([0.0, 0.0, RADIUS + 0.001 * i])), twist=[0.5, 0.1 * i, 0.0, 0.0, 3.0, 0.0])
        for i in range(4)
    ]
    for integrator, dt in (("implicit", 1e-3), ("rkmk4", 5e-4)):
        many = fc.rollout(ball(), starts, 0.1, contact=floor, integrator=integrator, dt=dt)
        for i, start in enumerate(starts):
            run = fc.simulate(ball(), start, 0.1, contact=floor, integrator=integrator, dt=dt)
            slack = 1e-12 if integrator == "implicit" else 2e-4  # a rollout switches at the ends of steps
            np.testing.assert_allclose(many.poses[-1, i], run.poses[-1], atol=slack)


@pytest.mark.parametrize("radius", [-0.1, np.nan, np.inf, "wide", (0.1, 0.2), None])
@pytest.mark.parametrize(("kind", "more"), [(fc.contact.CompliantFloor, SPRINGS), (fc.contact.HardContacts, {})])
def test_radii_that_are_none_are_refused(kind: type, more: dict, radius: object) -> None:
    with pytest.raises(fc.errors.ModelError, match="radius is not negative"):
        kind(("body",), **more, radius=radius)
