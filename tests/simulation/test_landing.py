"""Where a step lands: the ground acts from there on, and what it stops at once does not sink."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.studies.hoppers.hopper import floor, laws, robot, start

BALL = fc.robots.free_body()
BOX, CORNERS = fc.contact.corners(BALL, "body", (0.3, 0.2))
PHASES = np.linspace(0.02, 0.98, 8)


def depths(K, D, dt, friction, speed=1.0, normal=None):
    """How deep (m) a box sinks that meets the ground in 8 parts of a step, and the worst residual of its books."""
    floor = fc.contact.CompliantFloor(CORNERS, (K, K), (D, D), friction, normal)
    turn = np.eye(3) if normal is None else fc.contact.plane(BOX, floor.normal, 0.0).axes[[1, 2, 0]].T
    out = []
    for phase in PHASES:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, turn @ [0.0, 0.0, speed * dt * (3.0 + phase)]
        start = BOX.state(pose=pose, twist=[0.3, 0.0, -speed, 0.0, 0.0, 0.0])
        run = fc.simulate(BOX, start, 0.05, (), floor, integrator="implicit", dt=dt)
        out.append((-(run.poses[:, :3, 3] @ turn[:, 2]).min(), run.energy_residual))
    deep, residual = np.array(out).T
    return deep, residual.max()


@pytest.mark.parametrize("friction", [None, 0.0, 0.8])
@pytest.mark.parametrize(("K", "D"), [(1e4, 4e4), (1e6, 4e4), (1e4, 4e5)])
def test_floors_that_stop_at_once_do_not_let_it_sink(K, D, friction):
    """They moved on with half of the speed before: it sank by up to 1 mm at 1 ms, 5 mm at 4 ms, where 0.02 is right."""
    exact = depths(K, D, 1e-5, friction)[0].mean()
    for dt in (1e-4, 1e-3, 4e-3):
        deep, residual = depths(K, D, dt, friction)
        assert np.abs(deep - exact).max() < 0.12 * dt
        assert np.abs(deep - exact).mean() < 0.03 * dt
        assert residual < 1e-12


def test_slopes_stop_it_as_the_level_does():
    deep, residual = depths(1e4, 4e4, 1e-3, None, normal=(0.6, 0.0, 0.8))
    assert deep.max() < 4e-5
    assert residual < 1e-3


@pytest.mark.parametrize(("K", "D"), [(1e4, 100.0), (1e4, 0.0), (1e3, 30.0)])
def test_the_ground_acts_from_where_it_is_met(K, D):
    """Dampers acted for a whole step, or not at all: depths differed by 0.58 mm of 3.4."""
    (deep, _), (exact, _) = (depths(K, D, dt, 0.8 if D else None) for dt in (1e-3, 2e-5))
    assert np.ptp(deep) < 0.02 * deep.max()
    np.testing.assert_allclose(deep, exact.mean(), rtol=0.05)


def landing_arms():
    """A mass on a vertical slider, and a pendulum, both held by the world: their base does not fall."""
    body = fc.Body(2.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3))
    swing = fc.Body(2.0, (0.4, 0.0, 0.0), 0.01 * np.eye(3))
    world, above = fc.Link("world", fc.Body(1.0, (0.0, 0.0, 0.0), np.eye(3))), np.eye(4)
    above[2, 3] = 0.05
    kinds = ((fc.joints.Prismatic((0.0, 0.0, 1.0)), body, 0.0), (fc.joints.Revolute((0.0, 1.0, 0.0)), swing, 0.5))
    for kind, moving, reach in kinds:
        tip = np.eye(4)
        tip[0, 3] = reach
        joint = fc.Joint("joint", kind, "world", "arm", above)
        frames = (fc.model.Frame("tip", "arm", tip),)
        yield fc.Model("lander", fc.lie.Trivial(), (world, fc.Link("arm", moving)), (joint,), frames=frames)


def test_energy_balance_of_robots_whose_base_does_not_fall():
    for arm in landing_arms():
        floor = fc.contact.CompliantFloor(("tip",), (1e4, 1e4), (2e5, 2e5))
        for rate in np.linspace(0.0, 0.3, 7):
            speed = rate if arm.joints[0].kind.name == "revolute" else -rate
            run = fc.simulate(arm, arm.state(rates=[speed]), 0.3, (), floor, integrator="implicit", dt=1e-3)
            tips = [fc.contact.position(arm, run.state(i), "tip")[2] for i in range(len(run))]
            assert -1e-4 < min(tips) < 0.0
            assert run.energy_residual < 2e-3
            assert run.status == "finished"


@pytest.mark.parametrize("z", [1.0, 10.0, 30.0, 1e3])
def test_what_rests_on_dampers_creeps_as_they_let_it(z):
    """One sweep let go of it in every other step from ``z = 12`` on: it sank at ``g dt / 2``."""
    slider, weight = next(landing_arms()), 2.0 * 9.81
    D = z * 2.0 / 1e-3
    floor = fc.contact.CompliantFloor(("tip",), (0.0, 0.0), (D, D))
    run = fc.simulate(slider, slider.state(rates=[-0.1]), 0.4, (), floor, integrator="implicit", dt=1e-3)
    assert run.joints[-1, 0] - run.joints[-101, 0] == pytest.approx(-0.1 * weight / D, rel=1e-6)


def test_runs_and_rollouts_say_that_steps_are_too_long_for_a_rebound():
    """Rollouts did not: a box that should bounce stayed, and the status was finished."""
    floor = fc.contact.CompliantFloor(CORNERS, (1e6, 1e6), (0.0, 1e-3), friction=0.5)
    pose, far = np.eye(4), np.eye(4)
    pose[2, 3], far[2, 3] = 0.02, 5.0
    falls, flies = BOX.state(pose=pose), BOX.state(pose=far)
    says = "steps of 0.001 s are too long for the rebound from this floor; take at most"
    alone = fc.simulate(BOX, falls, 0.2, (), floor, integrator="implicit", dt=1e-3)
    assert alone.status.startswith(f"finished, but {says}")
    many = fc.rollout(BOX, [falls, flies, falls], 0.2, (), floor, dt=1e-3)
    assert many.status == alone.status.replace("but ", "but in 2 of 3 simulations ")
    assert fc.rollout(BOX, [flies], 0.2, (), floor, dt=1e-3).status == "finished"
    assert fc.rollout(BOX, [falls], 0.2, (), floor).status == "finished"  # in default steps, though it lands late
    heavy = {"body.mass": BOX.mass * np.array([1.0, 1e4])}
    each = fc.rollout(BOX, [falls, falls], 0.2, (), floor, dt=1e-3, parameters=heavy)
    assert each.status == alone.status.replace("but ", "but in 1 of 2 simulations ")


def test_steps_that_choose_themselves_are_not_too_long():
    floor = fc.contact.CompliantFloor(("body",), (1e6, 1e6), (0.0, 1e-3))
    pose = np.eye(4)
    pose[2, 3] = 0.02
    assert fc.rollout(BALL, [BALL.state(pose=pose)], 0.1, (), floor).status == "finished"
    long = fc.rollout(BALL, [BALL.state(pose=pose)], 0.1, (), floor, integrator="implicit", dt=1e-3)
    assert "in 1 of 1 simulations steps of 0.001 s are too long for the rebound" in long.status


def test_balls_that_stop_at_once_roll_as_they_should():
    """Also along the ground: a rolling ball remembers no more slip than it had."""
    ball = replace(BALL, name="rolling")
    floor = fc.contact.CompliantFloor(("body",), (1e4, 1e4), (4e4, 4e4), friction=0.3, radius=0.1)
    speeds = []
    for phase in PHASES:
        pose = np.eye(4)
        pose[2, 3] = 0.1 + 1e-3 * (3.0 + phase)
        start = ball.state(pose=pose, twist=[0.2, 0.0, -1.0, 0.0, 0.0, 0.0])
        run = fc.simulate(ball, start, 0.1, (), floor, integrator="implicit", dt=1e-3)
        fine = fc.simulate(ball, start, 0.1, (), floor, integrator="implicit", dt=1e-5)
        speeds.append(abs(run.twists[-1, 0] - fine.twists[-1, 0]))
        assert run.poses[:, 2, 3].min() > 0.1 - 1.5e-4
    assert np.median(speeds) < 0.02


def test_laws_that_switch_late_where_points_touch_are_named():
    """A hopper of a study was 215 mm off after 3 s at 1 ms, and its run and its rollout said finished."""
    p = fc.studies.load("revolute-6").parameters
    hopper = robot(p)
    begin, ground = start(hopper, p), floor(p)
    acting = laws(hopper, begin, p)
    says = "'radial damper', 'polar spring', switched up to half a step late where points touch"
    for dt, late in ((1e-3, True), (2e-5, False)):
        run = fc.simulate(hopper, begin, 1.0, acting, ground, integrator="implicit", dt=dt)
        many = fc.rollout(hopper, [begin, begin], 1.0, acting, ground, integrator="implicit", dt=dt)
        often = fc.rollout(hopper, [begin], 1.0, acting, ground, integrator="implicit", dt=dt, every=round(0.02 / dt))
        assert [says in x.status for x in (run, many, often)] == [late] * 3
        assert late or {x.status for x in (run, many, often)} == {"finished"}
    assert fc.rollout(hopper, [begin], 1.0, acting, ground).status == "finished"
    held = fc.control.JointSpring(8.0, tuple(begin.joints.tolist())), fc.control.JointDamper(0.05)
    asks_nothing = fc.simulate(hopper, begin, 0.3, held, ground, integrator="implicit", dt=1e-3)
    assert "late" not in asks_nothing.status
