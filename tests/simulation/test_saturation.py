"""Drives that give all they can, in implicit steps: cut as they are, and not to and fro between their limits."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fallingcat as fc
from fallingcat.arrays import concatenate, less, where
from fallingcat.control import Actuators, JointDamper, JointSpring, Law
from fallingcat.control.laws.drive_limits import SPEED_FADE, cut_resistance
from fallingcat.lie import R3, Trivial

DT = 1e-3


def wheel(inertia, actuator):
    """One joint, without gravity."""
    body = fc.Body(1.0, (0, 0, 0), np.diag([1.0, 1.0, 1.0]) * inertia)
    joint = fc.Joint("axle", fc.joints.Revolute((0.0, 0.0, 1.0)), "ground", "wheel")
    links = (fc.Link("ground"), fc.Link("wheel", body))
    return fc.Model("wheel", Trivial(), links, (joint,), gravity=(0, 0, 0), actuators=(actuator,))


def seen_by_a_damper(z, v, ahead):
    """Which velocity a damper with ``z = dt D / m`` sees in a step from ``v`` to ``ahead``: implicit_steps.md."""
    return v + (6.0 + 3.0 * z + z * z) / (12.0 + 4.0 * z + z * z) * (ahead - v)


@pytest.mark.parametrize("seed", range(8))
def test_a_step_of_one_servo_is_under_the_force_that_is_cut(seed):
    rng = np.random.default_rng(seed)
    m, kv, most, gear = 10.0 ** rng.uniform([-3, -1, 0, -0.5], [0, 2, 1.5, 0.5])
    wanted, v = rng.uniform(-5, 5, 2)
    model = wheel(m, fc.model.Actuator("spin", "axle", "velocity", gear, kv=kv, force_range=(-most, 2.0 * most)))
    run = fc.simulate(model, model.state(rates=[v]), DT, Actuators((wanted,)), integrator="implicit", dt=DT)
    ahead = run.rates[-1, 0]
    seen = seen_by_a_damper(DT * kv * gear**2 / m, v, ahead)
    assert m * (ahead - v) == pytest.approx(DT * gear * np.clip(kv * (wanted - gear * seen), -most, 2.0 * most))
    assert (wanted - gear * v) * (wanted - gear * ahead) > -1e-2 * wanted**2  # it does not pass what is wanted


@pytest.mark.parametrize("seed", range(4))
def test_a_step_of_one_joint_is_under_its_effort_limit(seed):
    rng = np.random.default_rng(seed)
    m, d, effort, v = 10.0 ** rng.uniform([-3, 1, 0, 0], [-2, 2, 1, 1])
    model = wheel(m, fc.model.Actuator("none", "axle"))
    model = replace(model, joints=(replace(model.joints[0], limits=fc.model.Limits(effort=effort)),))
    run = fc.simulate(model, model.state(rates=[v]), DT, JointDamper(d), integrator="implicit", dt=DT)
    ahead = run.rates[-1, 0]
    seen = seen_by_a_damper(DT * d / m, v, ahead)
    assert m * (ahead - v) == pytest.approx(DT * np.clip(-d * seen, -effort, effort))


def strong(effort):
    arm = fc.robots.planar_arm()
    limits, rubs = fc.model.Limits(-3.0, 3.0, effort=effort), fc.model.Passive(friction=0.4)
    return replace(arm, joints=tuple(replace(joint, limits=limits, passive=rubs) for joint in arm.joints))


def servos(model, most):
    made = [
        fc.model.Actuator(name, name, "position", kp=900.0, kv=90.0, force_range=(-most, most))
        for name in model.joint_names
    ]
    return replace(model, actuators=tuple(made))


@pytest.mark.parametrize("by", ["force range", "effort limit"])
def test_stiff_drives_at_their_limits(by):
    goal = (0.6, -0.5, 0.8)
    if by == "force range":
        model, laws = servos(strong(np.inf), 8.0), [Actuators(goal)]
    else:
        model, laws = strong(8.0), [JointSpring(900.0, goal), JointDamper(90.0)]
    start = model.state(joints=[0.0, 0.3, 0.0])
    run = fc.simulate(model, start, 0.3, laws, integrator="implicit", dt=DT)
    fine = fc.simulate(model, start, 0.3, laws, integrator="implicit", dt=DT / 50, every=50)
    assert run.status == "finished"
    assert abs(run.joints - fine.joints).max() < 0.02
    turns = np.diff(np.sign(np.diff(run.rates, axis=0)), axis=0)
    assert (abs(turns) > 1).sum() < 12  # no chatter: rates go up, and come down


@pytest.mark.parametrize("seed", range(4))
def test_strong_drives_do_not_pass_the_speed_limit(seed):
    """Forces fade to none at it within a step in which they would pass it many times over."""
    rng = np.random.default_rng(seed)
    m, effort, top, v = 10.0 ** rng.uniform([-3, 1, -1, -2], [-2, 2, 0, -1])
    model = wheel(m, fc.model.Actuator("none", "axle"))
    model = replace(model, joints=(replace(model.joints[0], limits=fc.model.Limits(effort=effort, velocity=top)),))
    run = fc.simulate(model, model.state(rates=[-v]), 0.05, lambda t, s: [2.0 * effort], integrator="implicit", dt=DT)
    ahead = run.rates[1, 0]
    fading = np.clip((top - ahead) / (SPEED_FADE * top), 0.0, 1.0)
    assert m * (ahead + v) == pytest.approx(DT * effort * fading, rel=1e-9)
    assert 0.9 * top < run.rates[1:].min() <= run.rates[1:].max() <= top


def leg(foot=0.01, body=10.0, top=1.0):
    """A body on a leg that a drive lengthens, whose foot is light."""
    solid = [fc.Body(m, (0, 0, 0), 1e-2 * m * np.eye(3)) for m in (body, foot)]
    slide = fc.joints.Prismatic((0.0, 0.0, -1.0))
    joint = fc.Joint("leg", slide, "body", "foot", limits=fc.model.Limits(velocity=top))
    links = (fc.Link("body", solid[0]), fc.Link("foot", solid[1]))
    return fc.Model("leg", R3(), links, (joint,))


def stands(model, length=0.5):
    pose = np.eye(4)
    pose[2, 3] = length
    return model.state(joints=[length], pose=pose)


SOFT = fc.contact.CompliantFloor(("foot",), (1e6, 1e6), (1e3, 1e3), friction=1.0)
HARD = fc.contact.HardContacts(("foot",), friction=1.0)


@pytest.mark.parametrize("dt", [5e-4, 2e-3, 4e-3])
def test_a_drive_lifts_a_body_from_a_light_foot_that_stands(dt):
    """The foot alone would pass the speed limit in each step; it stands, and the body rises with half of g."""
    model, force = leg(), 1.5 * 9.81 * 10.0
    run = fc.simulate(model, stands(model), 0.1, lambda t, s: [force], SOFT, dt=dt, integrator="implicit")
    assert run.rates[-1, 0] == pytest.approx(0.5 * 9.81 * 0.1, rel=1e-4)
    batch = fc.simulation.BatchSimulator(model, [stands(model)] * 3, None, SOFT, dt=dt, driven=True)
    batch.step(round(0.1 / dt), np.full((3, 1), force))
    assert batch.state.rates[:, 0] == pytest.approx(run.rates[-1, 0], rel=1e-6)


@pytest.mark.parametrize("dt", [5e-4, 2e-3, 4e-3])
def test_a_drive_lifts_a_body_from_hard_ground(dt):
    """The same: what foresees the end of a step knows after two of them that the foot stands."""
    model, force = leg(), 1.5 * 9.81 * 10.0
    run = fc.simulate(model, stands(model), 0.1, lambda t, s: [force], HARD, dt=dt, integrator="moreau", every=1)
    np.testing.assert_allclose(np.diff(run.rates[2:, 0]), 0.5 * 9.81 * dt, rtol=1e-9)
    assert run.rates[-1, 0] == pytest.approx(0.5 * 9.81 * 0.1, rel=3e-3)  # 0.9, 3.7 and 7.1 % were missing
    batch = fc.simulation.BatchSimulator(model, [stands(model)] * 3, None, HARD, dt=dt, driven=True)
    batch.step(round(0.1 / dt), np.full((3, 1), force))
    assert batch.state.rates[:, 0] == pytest.approx(run.rates[-1, 0], rel=1e-9)


@pytest.mark.parametrize(("dt", "off"), [(5e-4, 2e-3), (1e-3, 4e-3), (2e-3, 7e-3)])
def test_a_servo_that_is_cut_lifts_a_body_from_hard_ground(dt, off):
    """Its gain braked the body as the foot alone: it was 0.45, 0.9 and 1.8 % of its way late."""
    model, weight, stiffness, damping, wanted = leg(top=0.0), 9.81 * 10.0, 2e4, 2e3, 0.53
    effort = 1.5 * weight
    model = replace(model, joints=(replace(model.joints[0], limits=fc.model.Limits(effort=effort)),))

    def slope(t, x):
        return [x[1], (np.clip(stiffness * (wanted - x[0]) - damping * x[1], -effort, effort) - weight) / 10.0]

    servo = [JointSpring(stiffness, rest=(wanted,)), JointDamper(damping)]
    run = fc.simulate(model, stands(model), 0.2, servo, HARD, dt=dt, integrator="moreau")
    exact = solve_ivp(slope, (0.0, 0.2), [0.5, 0.0], method="LSODA", rtol=1e-9, max_step=1e-4, t_eval=run.times).y[0]
    assert np.abs(run.joints[:, 0] - exact).max() < off * 0.03


@pytest.mark.parametrize("seed", range(4))
def test_the_gain_of_a_drive_that_is_cut_is_right_against_a_load(seed):
    rng = np.random.default_rng(seed)
    m, dt, gain, given, ask, held = 10.0 ** rng.uniform([-3, -3, 0, 0, 0, -2], [1, -2, 2, 1, 0.7, 0])
    asked, load = (1.0 + ask) * given, (1.0 - held) * given
    for sign in (1.0, -1.0):
        part = cut_resistance(sign * asked, sign * given, gain, m, dt, sign * load)
        dv = dt * (given - load) / (m + dt * part * gain)
        assert m * dv == pytest.approx(dt * (np.clip(asked - gain * dv, -given, given) - load), rel=1e-9)
        against = cut_resistance(sign * asked, sign * given, gain, m, dt, -sign * load)
        assert against == cut_resistance(asked, given, gain, m, dt)  # what pushes along is not counted


@pytest.mark.parametrize("dt", [2e-3, 4e-3])
def test_a_light_foot_above_hard_ground_comes_to_its_speed_limit(dt):
    """It would pass it hundreds of times over in a step."""
    model = leg(top=1.0)
    lifted = stands(model)._replace(pose=stands(model, 0.6).pose)
    run = fc.simulate(model, lifted, 0.04, lambda t, s: [150.0], HARD, dt=dt, integrator="moreau", every=1)
    assert 0.9 < run.rates[1:, 0].min() <= run.rates[1:, 0].max() <= 1.0


@pytest.mark.parametrize(("floor", "method"), [(SOFT, "implicit"), (HARD, "moreau")])
def test_it_comes_to_its_speed_limit_and_no_further(floor, method):
    """The body rises until the drive has lost a third of its force, and that carries it."""
    model = leg()
    run = fc.simulate(model, stands(model), 1.0, lambda t, s: [1.5 * 9.81 * 10.0], floor, dt=2e-3, integrator=method)
    assert run.rates[-1, 0] == pytest.approx(1.0 - SPEED_FADE / 1.5, rel=1e-5)
    assert run.status == "finished"


@pytest.mark.parametrize("seed", range(6))
def test_drives_of_many_joints_lose_their_force_at_the_end_of_a_step(seed):
    """Accelerations of the first step are those of forces that the law gives at the rates at its end."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 6, kinds=["revolute", "prismatic"])
    limits = [fc.model.Limits(velocity=top) for top in 10.0 ** rng.uniform(-1.0, 0.5, 6)]
    model = replace(model, joints=tuple(replace(j, limits=x) for j, x in zip(model.joints, limits, strict=True)))
    top, start = np.array([x.velocity for x in limits]), model.random_state(rng)
    start = start._replace(rates=top * rng.uniform(-0.99, 0.99, 6))
    asked = 10.0 ** rng.uniform(1.0, 3.0, 6) * rng.choice([-1.0, 1.0], 6)
    run = fc.simulate(model, start, DT, lambda t, s: asked, dt=DT, integrator="implicit")
    a = (run.state(1).velocity - start.velocity) / DT
    middle = model.configuration.displace(start, 0.5 * DT * start.velocity)
    needed = fc.inverse_dynamics(model, middle, a)
    share = np.clip((top - np.sign(asked) * run.rates[1]) / (SPEED_FADE * top), 0.0, 1.0)
    np.testing.assert_allclose(needed[:6], 0.0, atol=1e-8)
    np.testing.assert_allclose(needed[6:], share * asked, rtol=1e-8, atol=1e-8 * abs(asked).max())
    assert (share < 1.0).sum() > 0


def test_a_light_joint_that_a_drive_takes_far_beyond_its_stop_is_reported():
    """Springs of stops are made for the inertia behind a joint, not for what pulls at it."""
    arm = fc.robots.planar_arm()
    stops = [replace(joint, limits=fc.model.Limits(-0.5, 0.5)) for joint in arm.joints]
    arm = replace(arm, joints=tuple(stops))
    strong = fc.simulate(arm, arm.state(), 0.5, lambda t, state: [0.0, 0.0, 4e3])
    assert "finished, but joint 'joint3' goes" in strong.status
    assert "beyond its upper stop at 0.5, whose spring yields" in strong.status
    weak = fc.simulate(arm, arm.state(), 0.5, lambda t, state: [0.0, 0.0, 4.0])
    assert weak.joints.max() > 0.5
    assert weak.status == "finished"


@dataclass(frozen=True)
class Pull(Law):
    """At the last joint of robots whose first is above 0."""

    force: float
    name: str = "pull"

    def forces(self, model, t, state, touching):
        return concatenate([np.zeros(model.nv - 1), np.reshape(where(less(0.0, state.joints[0]), self.force, 0.0), 1)])


@pytest.mark.parametrize("integrator", ["rkmk4", "implicit"])
def test_a_rollout_tells_it_too(integrator):
    arm = fc.robots.planar_arm()
    arm = replace(
        arm, gravity=(0, 0, 0), joints=tuple(replace(j, limits=fc.model.Limits(-0.5, 0.5)) for j in arm.joints)
    )
    states = [arm.state(joints=[x, 0.0, 0.0]) for x in (0.4, -0.1, -0.2)]
    about = {"integrator": integrator, "dt": 5e-4}
    strong = fc.rollout(arm, states, 0.05, Pull(4e3), **about, every=1)
    single = fc.simulate(arm, states[0], 0.05, Pull(4e3), **about)
    assert single.status.startswith("finished, but joint 'joint3' goes")
    words = single.status.removeprefix("finished, but ")
    assert strong.status == f"finished, but in 1 of 3 simulations {words}"
    assert fc.rollout(arm, states, 0.05, Pull(4.0), **about).status == "finished"
    assert "a stop" not in fc.rollout(arm, states, 0.05, Pull(4e3), **about, passive=False).status  # there are none


def test_a_function_that_shakes_a_joint_at_each_step_is_reported():
    """It would grow without bound, but for the limit of the drive; a public hand was 0.05 rad off in silence."""
    arm = fc.robots.planar_arm()
    arm = replace(arm, joints=tuple(replace(joint, limits=fc.model.Limits(effort=300.0)) for joint in arm.joints))
    start = arm.state(joints=[0.1, 0.2, 0.3])
    about, rng = {"integrator": "implicit", "dt": 1e-3}, np.random.default_rng(0)
    shaken = fc.simulate(arm, start, 0.2, lambda t, s: -1e3 * s.rates + 1e-9 * rng.normal(size=3), **about)
    assert "goes to and fro with the samples of the controller; take lower gains, or sample faster" in shaken.status
    for damping in (1.0, 1e3):  # how stiff a function is without noise, differences say
        assert fc.simulate(arm, start, 0.2, lambda t, s, d=damping: -d * s.rates, **about).status == "finished"
    assert fc.simulate(arm, start, 0.2, JointDamper(1e3), **about).status == "finished"
