"""Hard stops: joints that do not pass their limits, in closed form, by the law of impacts, and beside hard contacts."""

from dataclasses import replace

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.contact import HardContacts, Stop, joint_stops
from fallingcat.errors import ModelError
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Body, Joint, Limits, Link, Model, Prismatic, Revolute

G = 9.81
BODY = Body(1.0, np.zeros(3), np.diag([0.5, 0.5, 0.5]))
INSIDE = 1e-9
"""rad or m: how far a joint may be beyond a stop"""


def one_joint(kind=None, lower=-0.3, upper=0.4, gravity=(0.0, 0.0, 0.0), center=(0.0, 0.0, 0.0)):
    """One body on a hinge about z, or another joint, fixed to the world."""
    joint = Joint("axle", kind or Revolute((0.0, 0.0, 1.0)), "stand", "wheel", limits=Limits(lower, upper))
    links = (Link("stand", BODY), Link("wheel", replace(BODY, center=np.array(center))))
    return Model("wheel", Trivial(), links, (joint,), gravity=np.array(gravity))


def hard(model, restitution=0.0, points=(), **options):
    return HardContacts(points, stops=joint_stops(model, restitution), **options)


def limited(model, rng, width=0.3):
    """The same robot, whose angles and lengths have stops around zero."""
    narrow = [
        replace(j, limits=Limits(-float(rng.uniform(0.1, width)), float(rng.uniform(0.1, width)))) for j in model.joints
    ]
    return replace(model, joints=tuple(narrow))


def names(run):
    return [event.name for event in run.events]


def inside(run):
    """All joints within their limits, at every sample."""
    lows, highs = (np.array([getattr(limits, end) for limits in run.model.limits]) for end in ("lower", "upper"))
    assert (run.joints >= lows - INSIDE).all()
    assert (run.joints <= highs + INSIDE).all()


def never_gains(run):
    energy = sum(run.energies())
    assert np.diff(energy).max() < 1e-9 * (np.ptp(energy) + run.energies()[0].max())


# closed forms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [1.0, 0.5])
def test_a_wheel_without_load_bounces_between_its_stops_at_known_times(restitution):
    wheel = one_joint()
    run = fc.simulate(wheel, wheel.state(rates=[2.0]), 1.0, contact=hard(wheel, restitution))
    times, speed, expected = 0.4 / 2.0, 2.0, []
    while times < 1.0:
        expected.append(times)
        speed *= restitution
        times += 0.7 / speed
    assert run.status == "finished"
    agree("times of impacts", [event.time for event in run.events], expected, 1e-9)
    assert names(run)[:2] == ["bounce axle upper stop", "bounce axle lower stop"][: len(expected)]
    losses = [0.25 * (2.0 * restitution**k) ** 2 * (1.0 - restitution**2) for k in range(len(expected))]
    agree("losses", [event.loss for event in run.events], losses, 1e-10)
    inside(run)


def test_a_pendulum_that_falls_on_a_stop_returns_with_its_restitution():
    """Released level, it falls by an angle of 1: half a circle later it is back at the height of its energy."""
    arm = one_joint(lower=-1.0, upper=3.0, gravity=(0.0, -G, 0.0), center=(0.5, 0.0, 0.0))
    inertia = 0.5 + 0.25  # about its own center, and away from the axle
    run = fc.simulate(arm, arm.state(joints=[0.0]), 2.0, contact=hard(arm, 0.6), dt=5e-4)
    speed = np.sqrt(2.0 * G * 0.5 * np.sin(1.0) / inertia)
    agree("loss", run.events[0].loss, 0.5 * inertia * speed**2 * (1.0 - 0.36), 1e-9)
    after = run.times > run.events[0].time
    second = run.times < run.events[1].time
    highest = run.joints[after & second].max()
    agree("height after", np.sin(highest) + np.sin(1.0), 0.36 * np.sin(1.0), 1e-4)  # between two samples
    inside(run)


def test_a_weight_on_a_rail_comes_to_rest_on_its_stop_in_the_time_of_the_series():
    """Zeno: flights shrink by e, so that all end by t0 (1 + e) / (1 - e)."""
    rail = one_joint(Prismatic((0.0, 0.0, 1.0)), lower=0.0, upper=5.0, gravity=(0.0, 0.0, -G))
    contact = hard(rail, 0.5)
    run = fc.simulate(rail, rail.state(joints=[0.5]), 1.5, contact=contact)
    first = np.sqrt(2.0 * 0.5 / G)
    assert run.status == "finished"
    assert names(run)[-1] == "touchdown axle lower stop"
    agree("time of rest", run.events[-1].time, first * 3.0, 1e-3)  # slower than rest_speed it does not bounce
    assert run.modes[-1][0] == "stick"
    rests = run.times > run.events[-1].time
    assert np.abs(run.rates[rests]).max() < 1e-12
    assert np.ptp(run.joints[rests]) < 1e-12
    forces = contact.forces(rail, run.modes[-1], run.state(-1), run.memory[-1], np.zeros(1))
    agree("push", forces["contact normal"], [G], 1e-12)
    inside(run)
    never_gains(run)


def test_a_joint_is_held_while_pushed_and_released_when_pulled():
    wheel = one_joint()
    push = lambda t, state: np.array([np.cos(2.0 * t)])  # noqa: E731
    run = fc.simulate(wheel, wheel.state(joints=[0.4]), 1.5, push, hard(wheel))
    assert names(run)[0] == "lift-off axle upper stop"
    agree("release", run.events[0].time, 0.25 * np.pi, 1e-8)
    held = run.times <= run.events[0].time
    assert np.abs(run.joints[held] - 0.4).max() < 1e-12
    s = run.times[~held]
    free = 0.4 - (s - 0.25 * np.pi) - 0.5 * np.cos(2.0 * s)  # a = 2 cos 2t from rest
    falls = free > -0.3
    agree("free motion", run.joints[~held][falls, 0], free[falls], 1e-7)
    inside(run)


def test_an_elbow_stops_a_double_pendulum_as_moreau_has_it():
    arm = fc.robots.planar_arm()
    joints = [replace(j, limits=Limits(-9.0, 0.5 if j.name == arm.joint_names[1] else 9.0)) for j in arm.joints]
    arm = replace(arm, joints=tuple(joints), gravity=np.zeros(3))
    state = arm.state(joints=[0.2, 0.4, -0.3], rates=[0.3, 2.0, -0.5])
    for restitution in (0.0, 0.7):
        run = fc.simulate(arm, state, 0.2, contact=hard(arm, restitution))
        event = run.events[0]
        k = int(np.flatnonzero(run.times == event.time)[0])
        before, after = run.state(k), run.state(k + 1)
        M, J = fc.mass_matrix(arm, before), np.array([[0.0, -1.0, 0.0]])
        impulse = -(1.0 + restitution) * (J @ before.rates) / (J @ np.linalg.solve(M, J.T))
        agree("velocity after", after.rates, before.rates + np.linalg.solve(M, J.T @ impulse.ravel()), 1e-12)
        taken = 0.5 * (before.rates @ M @ before.rates - after.rates @ M @ after.rates)
        agree("loss", event.loss, taken, 1e-12)
        inside(run)
        never_gains(run)


# robots -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("base", [Trivial(), SE3()])
@pytest.mark.parametrize("seed", [1, 3])
def test_random_robots_stay_within_their_stops_and_never_gain(seed, base, restitution):
    rng = np.random.default_rng(seed)
    count = 2 if isinstance(base, SE3) else 4  # stops times degrees of freedom for which events are located
    robot = limited(fc.robots.random_tree(rng, count, base=base, kinds=["revolute", "prismatic"]), rng)
    robot = replace(robot, gravity=np.array([0.0, 0.0, -G]))
    run = fc.simulate(robot, robot.state(rates=rng.normal(0.0, 2.0, robot.n)), 0.2, contact=hard(robot, restitution))
    assert run.status == "finished"
    assert any("stop" in name for name in names(run))
    inside(run)
    never_gains(run)
    assert run.energy_residual < 1e-6
    if isinstance(base, SE3):
        impulses = [fc.momentum(robot, run.state(k), "centroidal")[3:] for k in (0, -1)]
        agree("stops are internal", impulses[1], impulses[0], 1e-6)


def test_stops_and_ground_share_the_load():
    """A limp quadruped collapses on its feet until its joints are on their stops."""
    dog = fc.robots.quadruped()
    feet = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
    narrow = [replace(j, limits=replace(j.limits, lower=-0.05, upper=0.05)) for j in dog.joints]
    dog = replace(dog, joints=tuple(narrow))
    bent = np.tile([0.01, 0.02, -0.03], 4)
    pose = np.eye(4)
    pose[2, 3] = 0.01 - min(fc.forward_kinematics(dog, dog.state(joints=bent))[foot][2, 3] for foot in feet)
    contact = hard(dog, 0.0, feet, friction=0.8)
    run = fc.simulate(dog, dog.state(pose=pose, joints=bent), 0.15, contact=contact, dt=1e-3)
    assert (run.code, run.integrator) == (fc.simulation.StatusCode.FINISHED, "moreau")
    inside(run)
    assert run.energy_residual < 1e-3
    closed = dict(zip(contact.names, run.modes[-1], strict=True))
    assert any(pushes for name, pushes in closed.items() if "stop" in name)
    assert any(pushes for name, pushes in closed.items() if name in feet)


# what is said -------------------------------------------------------------------------------------------------------


def test_hard_stops_replace_the_law_of_compliant_ones():
    dog = fc.robots.quadruped()
    state = dog.state(pose=np.eye(4))
    compliant = fc.simulate(dog, state, 1e-3)
    stopped = fc.simulate(dog, state, 1e-3, contact=hard(dog))
    assert "joint stops" in compliant.ledger.ports
    assert "joint stops" not in stopped.ledger.ports


def test_a_joint_that_starts_beyond_its_stop_is_named():
    wheel = one_joint()
    with pytest.raises(ModelError, match=r"joint 'axle' starts 0\.05 beyond its upper stop at 0\.4: start within"):
        fc.simulate(wheel, wheel.state(joints=[0.45]), 0.1, contact=hard(wheel))


def test_stops_of_another_robot_are_named():
    wheel = one_joint()
    with pytest.raises(ModelError, match="knee"):
        fc.simulate(wheel, wheel.neutral(), 0.1, contact=HardContacts(stops=(Stop("knee", "lower", 0.0),)))


def test_joints_without_stops_have_none():
    wheel = one_joint(lower=0.0, upper=0.0)
    assert joint_stops(wheel) == ()
    half = one_joint(lower=-np.inf, upper=1.0)
    assert [stop.name for stop in joint_stops(half)] == ["axle upper stop"]
