"""Controllers that are plain functions, on robots with light links: they run as the law of the same forces does."""

import importlib.metadata
import pickle
from functools import lru_cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import fallingcat as fc
from fallingcat.simulation import Problem
from fallingcat.simulation.defaults import default_method
from fallingcat.simulation.problem.feedback import STEPS_PER_CHECK, Feedback

AXES = ["0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1"]
MASSES = [2.4, 1.9, 1.6, 1.7, 1.3, 1.3, 0.17]
INERTIAS = [5e-3, 4e-3, 3e-3, 3e-3, 2e-3, 1.4e-3, 1.4e-4]
"""kg m^2: an arm from a file, with a flange of 0.14 g m^2"""
START = np.array([0.3, -0.5, 0.2, 0.8, 0.1, 0.9, 0.2])
GAINS = [(kp, kd) for kp in (10.0, 100.0, 1000.0) for kd in (0.1, 1.0, 10.0, 100.0)]
STIFF = (100.0, 5.0)


def urdf():
    links = ['<link name="base"/>']
    joints = []
    for i, (axis, m, inertia) in enumerate(zip(AXES, MASSES, INERTIAS, strict=True)):
        ends = f'<parent link="{f"link{i}" if i else "base"}"/><child link="link{i + 1}"/>'
        joints.append(
            f'<joint name="joint{i + 1}" type="continuous">{ends}<origin xyz="0 0 {0.15 if i else 0.0}"/>'
            f'<axis xyz="{axis}"/></joint>'
        )
        body = f'<mass value="{m}"/><origin xyz="0 {0.02 if i < 6 else 0} 0.06"/>'
        square = f'<inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>'
        links.append(f'<link name="link{i + 1}"><inertial>{body}{square}</inertial></link>')
    return f'<robot name="arm">{"".join(links + joints)}</robot>'


@lru_cache
def arm(folder):
    path = folder / "arm.urdf"
    path.write_text(urdf(), encoding="utf-8")
    return fc.load(path, base="fixed")


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return arm(tmp_path_factory.mktemp("arm"))


def drive(kp, kd):
    """A PD as people write it."""
    return lambda t, state: -kp * state.joints - kd * state.rates


@pytest.mark.parametrize(("kp", "kd"), GAINS)
def test_a_pd_function_runs_as_the_law_does(robot, kp, kd):
    """The default ended after 18 ms, not finite, where the flange is stopped faster than steps resolve."""
    start = robot.state(joints=START)
    run = fc.simulate(robot, start, 0.05, drive(kp, kd))
    assert run.status == "finished"
    law = fc.simulate(robot, start, 0.05, fc.control.Impedance(np.zeros(7), kp, kd), integrator=run.integrator)
    assert len(law) == len(run)
    np.testing.assert_allclose(run.joints, law.joints, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize(("kp", "kd"), [STIFF, (1000.0, 20.0), (10.0, 1.0)])
@pytest.mark.parametrize("dt", [None, 1e-3])
def test_runs_are_right(robot, tmp_path, kp, kd, dt):
    """Against Radau of SciPy on the dynamics of Pinocchio: 0.4 % of the way after 0.2 s, in steps of 1 ms."""
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "arm.urdf").write_text(urdf(), encoding="utf-8")
    other = pin.buildModelFromUrdf(str(tmp_path / "arm.urdf"))
    data, names = other.createData(), [other.names[i] for i in range(1, other.njoints)]
    assert names == list(robot.joint_names)

    def slope(t, y):
        angles, v = y[:7], y[7:]
        q = np.ravel(np.column_stack([np.cos(angles), np.sin(angles)]))  # continuous joints
        return np.concatenate([v, pin.aba(other, data, q, v, -kp * angles - kd * v)])

    begun = np.concatenate([START, np.zeros(7)])
    found = solve_ivp(slope, (0.0, 0.2), begun, method="Radau", rtol=1e-9, atol=1e-10)
    run = fc.simulate(robot, robot.state(joints=START), 0.2, drive(kp, kd), dt=dt)
    assert run.status == "finished"
    way = np.abs(found.y[:7, -1] - START).max()
    assert np.abs(run.joints[-1] - found.y[:7, -1]).max() < 4e-3 * way


@pytest.mark.parametrize("integrator", ["rosenbrock", "rkmk4", None])
def test_a_run_of_no_duration_is_its_start(integrator):
    """Adaptive steps were divided by zero; found by the fuzzer of simulations."""
    arm = fc.robots.planar_arm()
    chosen = {} if integrator is None else {"integrator": integrator}
    run = fc.simulate(arm, arm.neutral(), 0.0, lambda t, state: -state.joints, **chosen)
    assert len(run.times) == 1
    assert run.status == "finished"


def test_a_step_asks_once_but_for_checks(robot):
    calls = []

    def asked(t, state):
        calls.append(t)
        return drive(*STIFF)(t, state)

    run = fc.simulate(robot, robot.state(joints=START), 0.1, asked)
    steps, first = len(run) - 1, 2 * robot.n + 4
    assert run.integrator == "implicit"
    repeated = steps // 2  # for the error estimate
    assert len(calls) <= first + steps + repeated + (steps + repeated) // STEPS_PER_CHECK
    assert sum(t > 0.0 for t in calls) >= steps


def test_gains_that_change_are_followed(robot):
    """Steps that foresaw a damper that is gone would move as if joints were heavy."""
    start = robot.state(joints=START)

    def scheduled(t, state):
        return drive(100.0, 10.0 if t < 0.02 else 0.05)(t, state)

    run = fc.simulate(robot, start, 0.04, scheduled, integrator="implicit", dt=5e-5)
    fine = fc.simulate(robot, start, 0.04, scheduled, integrator="rkmk4", dt=2e-5)
    assert np.abs(run.joints[-1] - fine.joints[-1]).max() < 2e-3
    found = run.problem.feedback.impedance
    np.testing.assert_allclose(found.damping, 0.05 * np.eye(7), atol=1e-6)


def test_a_function_of_all_joints_is_followed_in_short_steps(robot):
    """Implicit steps foresee what a joint does to itself: a spring at the tip, 5 kN/m, moves all of them."""
    start, tip = robot.state(joints=START), "link7"
    places = fc.compile(robot, lambda model, state: fc.link_pose(model, state, tip)[:3, 3])
    goal = fc.link_pose(robot, start, tip)[:3, 3] + np.array([0.05, 0.03, -0.04])

    def jacobian(state):
        return fc.link_pose(robot, state, tip)[:3, :3] @ fc.jacobian(robot, state, tip)[:3]

    def pulled(t, state):
        J = jacobian(state)
        return J.T @ (5e3 * (goal - places(state.joints)) - 2e3 * (J @ state.rates)) - 0.1 * state.rates

    run = fc.simulate(robot, start, 4e-3, pulled)
    assert run.status == "finished"
    fine = fc.simulate(robot, start, 4e-3, pulled, integrator="scipy")
    assert np.abs(run.joints[-1] - fine.joints[-1]).max() < 1e-6


def test_differences_find_springs_and_dampers_and_nothing_in_noise(robot):
    rng = np.random.default_rng(0)
    K, D = rng.normal(size=(2, 7, 7))
    state = robot.state(joints=START, rates=rng.normal(size=7))
    find = lambda ask: Feedback.of(robot, ask, 0.0, state)  # noqa: E731
    found = find(lambda t, s: np.sin(3.0) - K @ s.joints - D @ s.rates)
    np.testing.assert_allclose(found.impedance.stiffness, K, atol=1e-8)
    np.testing.assert_allclose(found.impedance.damping, D, atol=1e-9)
    np.testing.assert_allclose(found.impedance.gains, np.maximum([*np.diag(K), *np.diag(D)], 0.0), atol=1e-8)
    assert find(lambda t, s: rng.normal(size=7)) is None
    assert find(lambda t, s: -5.0 * np.sign(s.rates - state.rates)) is None
    assert find(lambda t, s: np.full(7, 1.0 / (s.rates[0] - state.rates[0]))) is None

    def fragile(t, s):
        if s is not state:
            raise ValueError("a state that it does not know")
        return np.zeros(7)

    assert find(fragile) is None


def damped(t, state):
    return -10.0 * state.rates


def test_runs_under_a_function_are_copied(robot):
    run = fc.simulate(robot, robot.state(joints=START), 5e-3, damped)
    again = pickle.loads(pickle.dumps(run))
    assert again.problem.feedback.impedance.damping[0, 0] == pytest.approx(10.0)
    np.testing.assert_array_equal(again.joints, run.joints)


def test_a_function_on_a_floor_runs_as_the_law_does():
    dog = fc.robots.quadruped()
    feet = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
    floor = fc.contact.CompliantFloor(feet, (2e4, 1e4), (200.0, 200.0), 0.7)
    crouch = np.tile([0.1, 0.6, -1.2], 4)
    pose = np.eye(4)
    pose[2, 3] = -min(fc.link_pose(dog, dog.state(joints=crouch), foot)[2, 3] for foot in feet)
    start = dog.state(pose=pose, joints=crouch)
    run = fc.simulate(dog, start, 0.05, lambda t, s: 300.0 * (crouch - s.joints) - 30.0 * s.rates, floor)
    law = fc.simulate(dog, start, 0.05, fc.control.Impedance(crouch, 300.0, 30.0), floor)
    assert run.integrator == law.integrator == "implicit"
    np.testing.assert_allclose(run.joints, law.joints, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(run.poses, law.poses, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("dt", [None, 1e-3])
def test_flights_keep_their_momentum(dt):
    """Steps that foresee a function on joints would lose some of it."""
    dog = fc.robots.quadruped()
    start = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4), twist=[0.1, 0.0, 0.0, 0.3, 0.2, 0.1])
    run = fc.simulate(dog, start, 0.02, lambda t, s: -300.0 * s.joints - 30.0 * s.rates, dt=dt)
    assert run.integrator == "momentum"
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin - spin[0]).max() < 1e-12
    problem = Problem(dog, (fc.control.Impedance(np.zeros(12), 300.0, 30.0),))
    assert default_method(problem, start, dt).name == "momentum"


# robots of files ------------------------------------------------------------------------------------------------------

FILES = {"xarm7.urdf": "fixed", "z1.urdf": "fixed", "allegro_right_hand.urdf": "fixed", "ur5_robot.urdf": "fixed"}
FILES |= {"panda.urdf": "fixed", "solo12.urdf": "free", "go2.urdf": "free"}
DECADES = [(10.0, 0.1), (10.0, 1.0), (100.0, 0.5), (100.0, 5.0), (1000.0, 5.0), (1000.0, 50.0), (1e4, 100.0)]


def from_file(name):
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    return fc.load(next(f for f in files if f.name == name).locate(), base=FILES[name])


def placed(model):
    """A random state within the limits, and joints near zero to go to."""
    lower, upper = (np.array([getattr(j.limits, end) for j in model.joints if j.nv]) for end in ("lower", "upper"))
    margin = np.minimum(0.05, 0.25 * (upper - lower))  # fingers have less room
    goal = np.clip(0.0, lower + margin, upper - margin)
    return model.state(joints=np.clip(goal + 0.3 * np.random.default_rng(1).normal(size=model.n), lower, upper)), goal


@pytest.mark.filterwarnings("ignore")
def test_default_steps_under_a_function_meet_the_tolerance():
    """An arm of a file with dry friction was 2.4 % of its way off, and said nothing."""
    model = from_file("xarm7.urdf")
    start, goal = placed(model)
    run = fc.simulate(model, start, 0.05, lambda t, s: 100.0 * (goal - s.joints) - 0.5 * s.rates)
    law = fc.control.Impedance(goal, 100.0, 0.5)
    fine = fc.simulate(model, start, 0.05, law, integrator="implicit", dt=2.5e-5)
    assert (run.integrator, run.status) == ("implicit", "finished")
    way = np.abs(fine.joints[-1] - start.joints).max()
    assert np.abs(run.joints[-1] - fine.joints[-1]).max() < 0.015 * way
    assert 0.002 < run.error_estimate.relative < 0.02


@pytest.mark.slow
@pytest.mark.parametrize("passive", [True, False])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore")
def test_robots_of_files_run_under_functions_as_under_laws(name, passive):
    """Over three decades of gains: to rounding by the same method and steps, within 2.5 % of the way by any default."""
    model = from_file(name)
    start, goal = placed(model)
    fastest = np.array([0.99 * joint.limits.velocity for joint in model.joints if joint.nv])
    for kp, kd in DECADES:
        law = fc.control.Impedance(goal, kp, kd)
        run = fc.simulate(
            model, start, 0.05, lambda t, s, kp=kp, kd=kd: kp * (goal - s.joints) - kd * s.rates, passive=passive
        )
        same = fc.simulate(model, start, 0.05, law, integrator=run.integrator, passive=passive)
        best = fc.simulate(model, start, 0.05, law, passive=passive)
        assert all(x.status.startswith("finished") for x in (run, same, best)), (kp, kd)
        way = np.abs(best.joints[-1] - start.joints).max()
        if same.status == run.status == "finished" and np.array_equal(run.times, same.times):
            # functions that implicit steps resolve are held in them; laws may choose other steps by default
            held = run.integrator in ("implicit", "momentum") and run.problem.feedback is None
            # drives at their speed limits switch within explicit steps: rounding grows there, to a part of their error
            switching = run.integrator == "rkmk4" and (np.abs(run.rates) > fastest).any()
            close = 2e-3 * way if held else 0.1 * run.error_estimate.relative * way if switching else 1e-9
            assert np.abs(run.joints[-1] - same.joints[-1]).max() < close, (kp, kd)
        if not run.warnings:  # a panda's last joint goes to and fro, and says so
            assert np.abs(run.joints[-1] - best.joints[-1]).max() < 0.025 * way + 1e-9, (kp, kd)


class PID:
    """Controller with an integral that grows at every call, as users write it."""

    def __init__(self):
        self.last, self.integral, self.calls = 0.0, 0.0, []

    def __call__(self, t, state):
        error = 0.3 - state.joints
        self.integral, self.last = self.integral + 20.0 * error * (t - self.last), t
        self.calls.append(t)
        return 0.05 * error + self.integral - 0.02 * state.rates


FLYING, FIXED = fc.robots.two_cylinder_cat(), fc.robots.planar_arm()


@pytest.mark.parametrize("model", [FLYING, FIXED])
@pytest.mark.parametrize("dt", [None, 2.5e-3])
def test_a_function_with_memory_is_asked_once_a_step_in_order(model, dt):
    """It was asked within steps, at times that went back and forth, until a second of flight took half a minute."""
    step, pid, again = dt or 1e-3, PID(), PID()
    run = fc.simulate(model, model.neutral(), 0.05, pid, dt=dt)
    steps = round(0.05 / step)
    np.testing.assert_allclose(pid.calls[-steps:], step * np.arange(steps), atol=1e-15)
    assert max(pid.calls[:-steps]) < 1e-5  # at the start it is tried out
    for t, state, forces in zip(
        run.times[:-1], map(run.state, range(steps)), run.port_forces["controller"], strict=False
    ):
        np.testing.assert_allclose(forces[model.m :], again(t, state), atol=1e-6)
    assert run.energy_residual < 1e-3
    assert run.error_estimate is not None


@pytest.mark.parametrize("model", [FLYING, FIXED])
def test_forces_of_a_function_with_noise_are_those_that_acted(model):
    """They were drawn anew when they were looked at, and no flight was possible."""
    rng, drawn = np.random.default_rng(0), []

    def noise(t, state):
        drawn.append(0.1 * rng.normal(size=model.n))
        return drawn[-1]

    run = fc.simulate(model, model.neutral(), 0.03, noise, dt=1e-3)
    assert run.code is fc.simulation.StatusCode.FINISHED
    assert np.array_equal(run.port_forces["controller"][:30, model.m :], drawn[-30:])
    assert run.energy_residual < 1e-3


def test_a_function_that_jumps_takes_a_flight_to_its_end():
    """The midpoint equations have no solution where it jumps: its forces are held in that step."""
    model = fc.robots.two_cylinder_cat()
    start = model.state(joints=[0.4, 0.3], rates=[1.0, -0.5])
    run = fc.simulate(model, start, 0.2, lambda t, s: -0.05 * np.sign(s.rates - 0.2), dt=1e-3)
    assert run.code is fc.simulation.StatusCode.FINISHED
    spin = run.momenta("centroidal")[:, 3:]
    assert np.abs(spin - spin[0]).max() < 1e-13
