"""Free flight with dry friction in the joints: momentum stays, joints stick, slide and turn round by Coulomb's law."""

import warnings
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, files

import numpy as np
import pytest
from oracles.coulomb_flight import Flight
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.control import JointDamper, JointSpring, Law, SampledController
from fallingcat.lie import SE3
from fallingcat.model import Body, Fixed, Joint, Limits, Link, Model, Passive, Revolute
from fallingcat.simulation import BatchSimulator, MomentumRungeKutta

CAT = fc.robots.two_cylinder_cat()
BASE, ROTOR = 0.5, 0.2
INERTIA = BASE * ROTOR / (BASE + ROTOR)
"""kg m^2: what a torque between the two bodies of a spinner turns"""


def spinner(friction, stiffness=0.0):
    """Two bodies about one axis, in flight."""
    links = [Link(name, Body(1.0, np.zeros(3), np.diag([x, x, x]))) for name, x in (("base", BASE), ("rotor", ROTOR))]
    passive = Passive(friction=friction, stiffness=stiffness)
    joint = Joint("axle", Revolute((0.0, 0.0, 1.0)), "base", "rotor", passive=passive)
    return Model("spinner", SE3(), tuple(links), (joint,))


def rubbing(robot, friction):
    """The same robot with this friction in each of its joints, and without stops."""
    joints = [
        replace(j, passive=Passive(friction=float(f)), limits=Limits())
        for j, f in zip(robot.joints, np.broadcast_to(friction, len(robot.joints)), strict=True)
    ]
    return replace(robot, joints=tuple(joints))


def tree(seed, count, low=0.05, high=1.0):
    """A random robot and a state in which some joints rest."""
    rng = np.random.default_rng(seed)
    robot = fc.robots.random_tree(rng, count, kinds=["revolute", "prismatic"])
    robot = rubbing(robot, rng.uniform(low, high, count))
    state = robot.random_state(rng)
    return robot, state._replace(rates=rng.choice([0.0, 0.2, 1.0], count) * rng.normal(size=count))


def check_flight(run, residual=1e-6, divided=False):
    """Momentum, parabola, rest and energy of a run; joints may slip and rest again between samples of divided steps."""
    robot, times = run.model, run.times[:, None]
    h = run.momenta("centroidal")
    linear = h[0, :3] + robot.mass * robot.gravity * times
    agree("linear momentum", h[:, :3], linear, 1e-12 * max(1.0, np.abs(linear).max()))
    agree("angular momentum", h[:, 3:], np.broadcast_to(h[0, 3:], h[:, 3:].shape), 1e-12 * max(1.0, np.abs(h[0]).max()))
    centers = np.array([fc.center_of_mass(robot, state) for state in run.states])
    parabola = centers[0] + times * h[0, :3] / robot.mass + 0.5 * times**2 * robot.gravity
    agree("center of mass", centers, parabola, 1e-12 * max(1.0, np.abs(parabola).max()))
    at_rest = (run.rates[1:] == 0.0) & (run.rates[:-1] == 0.0)
    assert divided or not np.diff(run.joints, axis=0)[at_rest].any()
    work = run.ledger.work("dry friction")
    assert np.diff(work).max() <= 0.0
    assert run.energy_residual < residual


# one joint, in closed form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dt", [1e-3, 7e-3, 0.05])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_spinner_slows_down_along_a_line_and_stays_at_rest(way, dt):
    robot, slows = spinner(0.03), 0.03 / INERTIA
    run = fc.simulate(robot, robot.state(rates=[0.2 * way], twist=[0.1, 0.2, 0.3, 0.0, 0.0, 0.1]), 1.5, dt=dt)
    assert (run.integrator, run.status) == ("momentum", "finished")
    rests = 0.2 / slows
    t = np.minimum(run.times, rests)
    agree("rates", run.rates[:, 0], way * (0.2 - slows * t), 1e-13)
    agree("angles", run.joints[:, 0], way * (0.2 * t - 0.5 * slows * t**2), 1e-13)
    assert (run.rates[run.times > rests] == 0.0).all()
    agree("work", run.ledger.work("dry friction")[-1], -0.5 * INERTIA * 0.2**2, 1e-13)
    check_flight(run)


def test_a_spring_loses_twice_friction_over_stiffness_in_every_half_swing():
    friction, stiffness, first = 0.02, 1.0, 0.29
    robot = spinner(friction, stiffness)
    half, loss = np.pi * np.sqrt(INERTIA / stiffness), 2.0 * friction / stiffness
    for swings in (1, 2, 3):
        run = fc.simulate(robot, robot.state(joints=[first]), swings * half)
        agree("turning point", run.joints[-1, 0], (-1.0) ** swings * (first - swings * loss), 1e-9)
        check_flight(run)
    rest = fc.simulate(robot, robot.state(joints=[first]), 12.0 * half, dt=5e-3)
    assert rest.rates[-1, 0] == 0.0
    agree("where it sticks", rest.joints[-1, 0], -0.01, 1e-9)  # after seven half swings: 0.29 - 7 * 0.04


@dataclass(frozen=True)
class Ramp(Law):
    """A torque that grows with time."""

    start: float
    rate: float
    name: str = "ramp"

    def forces(self, model, t, state, touching):
        return concatenate([np.zeros(model.m), (self.start + self.rate * t) * np.ones(model.n)])


def ramp(t, state):
    return np.array([0.6 * t])


@pytest.mark.parametrize("controller", [Ramp(0.0, 0.6), ramp], ids=["law", "function"])
def test_a_load_that_grows_beyond_friction_breaks_the_joint_loose(controller):
    robot = spinner(0.1003)
    run = fc.simulate(robot, robot.neutral(), 0.5, controller)
    assert run.integrator == "momentum"
    s = np.maximum(run.times - 0.1003 / 0.6, 0.0)
    agree("rates", run.rates[:, 0], 0.3 * s**2 / INERTIA, 1e-6)  # it breaks loose a millionth of its friction later
    agree("angles", run.joints[:, 0], 0.1 * s**3 / INERTIA, 1e-6)
    check_flight(run)


def test_a_joint_turns_round_under_a_load_above_its_friction():
    robot, load = spinner(0.05), 0.2
    run = fc.simulate(robot, robot.state(rates=[0.3]), 1.0, Ramp(-load, 0.0))
    turns = 0.3 * INERTIA / (load + 0.05)
    s = run.times - turns
    exact = np.where(s < 0.0, -(load + 0.05), -(load - 0.05)) * s / INERTIA
    agree("rates", run.rates[:, 0], exact, 1e-12)
    check_flight(run)


# many joints --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_momentum_stays_whatever_sticks_and_slides(seed):
    robot, start = tree(seed, 4)
    spring = JointSpring(5.0, tuple(np.zeros(robot.n)))
    run = fc.simulate(robot, start, 0.4, [spring], dt=2e-3)
    assert (run.integrator, run.status) == ("momentum", "finished")
    check_flight(run)
    free = fc.simulate(robot, start, 2.0, dt=1e-2)
    assert np.diff(np.sum(free.energies(), axis=0)).max() < 1e-9 * max(1.0, np.abs(free.energies()).max())
    assert (free.rates == 0.0).any()
    check_flight(free)


@pytest.mark.parametrize("seed", range(6))
def test_they_obey_coulombs_law_together(seed):
    """The first accelerations are those of the only case that obeys it."""
    robot, start = tree(seed, 5, 0.5, 8.0)
    robot = replace(robot, gravity=np.zeros(3))
    start = start._replace(joints=2.0 * start.joints)
    flight = Flight(robot, np.array([j.passive.friction for j in robot.joints]), 10.0)
    y = np.concatenate([np.eye(3).ravel(), start.joints, start.velocity])
    exact = flight._solved(y, flight.modes(y))[0][6:]
    run = fc.simulate(robot, start, 1e-7, [JointSpring(10.0, tuple(np.zeros(robot.n)))], dt=1e-7)
    agree("accelerations", (run.rates[-1] - start.rates) / 1e-7, exact, 1e-4 * np.abs(exact).max())
    assert ((run.rates[-1] == 0.0) == ((start.rates == 0.0) & (exact == 0.0))).all()


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_it_is_the_motion_that_located_events_find(seed):
    robot, start = tree(seed, 3, 0.3, 1.5)
    robot = replace(robot, gravity=np.zeros(3))
    flight = Flight(robot, np.array([j.passive.friction for j in robot.joints]), 8.0)
    y, events = flight.run(np.concatenate([np.eye(3).ravel(), start.joints, start.velocity]), 0.5)
    assert events >= 2
    run = fc.simulate(robot, start._replace(pose=np.eye(4)), 0.5, [JointSpring(8.0, tuple(np.zeros(robot.n)))])
    R, q, v = flight.parts(y)
    agree("attitude", run.poses[-1, :3, :3], R, 1e-6)
    agree("joints", run.joints[-1], q, 1e-6)
    agree("rates", run.rates[-1], v[6:], 1e-5)


@pytest.mark.parametrize("seed", [2, 4, 7])
def test_the_order_is_kept_across_stick_and_slip(seed):
    robot, start = tree(seed, 4)
    spring = [JointSpring(10.0, tuple(np.full(robot.n, 0.2)))]
    runs = [fc.simulate(robot, start, 0.4, spring, dt=dt, integrator=MomentumRungeKutta()) for dt in (8e-3, 4e-3, 5e-4)]
    turned = np.count_nonzero(np.diff(np.sign(runs[-1].rates), axis=0))
    assert turned > 0
    coarse, fine = (np.abs(run.joints[-1] - runs[-1].joints[-1]).max() for run in runs[:2])
    assert fine < 1e-6
    assert coarse > 12.0 * fine


# robots, drives, many at once ----------------------------------------------------------------------------------------


def test_a_cat_with_friction_keeps_its_momentum_by_default():
    """``implicit``, the default before, lost 0.1 kg m/s and 16 mm."""
    robot = rubbing(fc.robots.cat(), 0.5)
    run = fc.simulate(robot, robot.random_state(np.random.default_rng(1)), 2.0, every=5)
    assert (run.integrator, run.status) == ("momentum", "finished")
    check_flight(run)
    assert (run.rates[-1] == 0.0).any()


@pytest.mark.parametrize("seed", range(3))
def test_drives_stops_and_samples_act_beside_friction(seed):
    dog = fc.robots.quadruped()
    joints = tuple(replace(j, passive=replace(j.passive, friction=0.4, damping=0.05)) for j in dog.joints)
    dog = replace(dog, joints=joints)
    start = dog.random_state(np.random.default_rng(seed))
    law = [JointSpring(40.0, tuple(np.zeros(dog.n))), JointDamper(0.5)]
    pd = lambda t, state: -40.0 * state.joints - 0.5 * state.rates  # noqa: E731
    ends = []
    for controller in (law, pd, SampledController(pd, 1000.0)):
        run = fc.simulate(dog, start, 0.1, controller)
        assert (run.integrator, run.status) == ("momentum", "finished")
        check_flight(run, 5e-3)  # stops have kinks
        ends.append(run.joints[-1])
    agree("asked at every stage", ends[1], ends[0], 1e-10)
    agree("sampled", ends[2], ends[0], 2e-2)


def test_many_fly_as_single_ones():
    robot = rubbing(CAT, 0.02)
    starts = [robot.state(joints=[0.3, 0.2], rates=[0.5 * k, -0.3], twist=0.1 * np.ones(6)) for k in range(3)]
    many, simulator = fc.rollout(robot, starts, 0.3, every=100), BatchSimulator(robot, starts)
    simulator.step(300)
    for i, start in enumerate(starts):
        one = fc.simulate(robot, start, 0.3)
        agree("joints", many.joints[-1, i], one.joints[-1], 1e-13)
        agree("poses", many.poses[-1, i], one.poses[-1], 1e-13)
        np.testing.assert_array_equal(simulator.state.joints[i], many.joints[-1, i])
        np.testing.assert_array_equal(simulator.state.rates[i] == 0.0, one.rates[-1] == 0.0)


def test_strong_dampers_beside_friction():
    """Steps that nobody gave a size resolve them; given ones are divided until they do, or are left to ``implicit``."""
    passive = Passive(friction=0.02, damping=5.0)
    robot = replace(CAT, joints=tuple(replace(j, passive=passive) for j in CAT.joints))
    start = robot.state(rates=[1.0, -0.5], twist=0.1 * np.ones(6))
    run = fc.simulate(robot, start, 0.02)
    assert (run.integrator, run.status) == ("momentum", "finished")
    check_flight(run)
    assert (run.rates[-1] == 0.0).all()
    long = fc.simulate(robot, start, 0.02, dt=1e-2)
    assert (long.integrator, len(long)) == ("momentum", 3)
    check_flight(long, residual=1e-5)
    stiff = replace(robot, joints=tuple(replace(j, passive=replace(passive, damping=5e2)) for j in CAT.joints))
    assert fc.simulate(stiff, start, 0.02, dt=1e-2).integrator == "implicit"


def test_friction_of_a_joint_that_does_not_move_holds_nothing():
    joint = Joint("weld", Fixed(), "base", "rotor", passive=Passive(friction=0.1))
    robot = replace(spinner(0.0), joints=(joint,))
    run = fc.simulate(robot, robot.state(twist=0.1 * np.ones(6)), 0.1)
    assert (run.integrator, run.status) == ("momentum", "finished")


@pytest.mark.parametrize("dt", [5e-3, 1e-2])
def test_given_steps_do_not_change_the_method(dt):
    """Dampers ask for shorter ones: they are divided, and samples are where they would be."""
    robot, start = tree(3, 4)
    law = JointDamper(1e3 * float(fc.control.laws.carried_inertia.carried_inertia(robot).min()))
    run = fc.simulate(robot, start, 0.1, law, dt=dt, every=2)
    assert (run.integrator, run.status) == ("momentum", "finished")
    np.testing.assert_allclose(run.times, 2.0 * dt * np.arange(len(run)), atol=1e-12)
    check_flight(run)
    many = fc.rollout(robot, [start] * 2, 0.1, law, dt=dt, every=2)
    assert many.integrator == "momentum"
    np.testing.assert_allclose(many.times, run.times, atol=1e-12)
    np.testing.assert_allclose(many.joints[-1, 0], run.joints[-1], atol=1e-9)


def test_stops_are_made_for_the_divided_steps():
    """They yielded as in the whole step, 0.28 rad here."""
    passive = Passive(friction=0.02, damping=5.0)
    joints = (replace(joint, passive=passive, limits=Limits(-0.2, 0.2)) for joint in CAT.joints)
    robot = replace(CAT, joints=tuple(joints))
    spring, start = fc.control.JointSpring(10.0, (0.6,) * robot.n), robot.state(joints=[0.2] * robot.n)
    run = fc.simulate(robot, start, 3.0, spring, dt=1e-2)
    assert (run.integrator, run.status) == ("momentum", "finished")
    assert 0.005 < run.joints[-1].max() - 0.2 < 0.02


@pytest.mark.slow
def test_talos_as_its_file_has_it():
    """``implicit``, the default before, lost 11 mm and 4e-4 of the angular momentum."""
    try:
        found = [path for path in files("example-robot-data") or () if path.name == "talos_full_v2.urdf"]
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joints that are fixed have axes in this file
        robot = fc.load(str(found[0].locate()))
    rng = np.random.default_rng(0)
    start = robot.state(rates=rng.normal(0.0, 1.0, robot.n), twist=rng.normal(0.0, 1.0, 6))
    for dt in (None, 4e-3):
        run = fc.simulate(robot, start, 2.0, dt=dt)
        assert (run.integrator, run.status) == ("momentum", "finished")
        check_flight(run, divided=dt is not None)
