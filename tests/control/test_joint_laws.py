"""Impedance and inverse dynamics of joints: closed loops move as their equations say ([ETH] 3.8)."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import Impedance, InverseDynamics, gains
from fallingcat.errors import ModelError
from fallingcat.lie import Trivial
from fallingcat.testing import check_law

ARM = fc.robots.planar_arm()
HERTZ, W = 1.5, 3.0 * np.pi


def critical(e, de, t):
    """The solution of ``e'' + 2 w e' + w^2 e = 0``."""
    t = np.asarray(t)[:, None]
    return (e + (de + W * e) * t) * np.exp(-W * t)


def wave(t):
    return [np.sin(2.0 * t), 0.3 * np.cos(3.0 * t), 0.2 * t]


def test_the_gains_of_3_hertz():
    assert gains(3.0) == pytest.approx((355.3057584, 37.6991118))
    assert 37.0 / (2.0 * np.sqrt(350.0)) == pytest.approx(0.989, abs=5e-4)  # what the rounded ones damp
    assert gains(3.0, 0.5).damping == gains(3.0).damping / 2


def test_errors_of_a_moving_goal_follow_the_linear_equation():
    start = ARM.state(joints=[0.4, 0.1, -0.3], rates=[0.0, 1.0, 0.5])
    run = fc.simulate(ARM, start, 0.8, InverseDynamics(wave, *gains(HERTZ)), dt=1e-3, passive=False)
    goal = np.array([wave(t) for t in run.times])
    e, de = goal[0] - start.joints, np.array([2.0, 0.0, 0.2]) - start.rates
    assert np.abs(goal - run.joints - critical(e, de, run.times)).max() < 1e-8
    late = np.linalg.norm(goal - run.joints, axis=1)[[-200, -1]]  # the measured rate: w - 1/t, as e ~ t exp(-w t)
    rate = -np.log(late[1] / late[0]) / (run.times[-1] - run.times[-200])
    assert rate == pytest.approx(W, rel=0.2)


@pytest.mark.parametrize("base", [None, fc.lie.SE3()])
def test_driven_joints_do_so_on_any_base_and_beside_free_joints(base):
    robot = fc.robots.planar_arm(base).drive(["joint1", "joint3"])
    start = robot.state(joints=[0.4, 0.1, -0.3], rates=[0.0, 1.0, 0.5])
    law = InverseDynamics([0.0, 9.0, 0.2], *gains(HERTZ))
    run = fc.simulate(robot, start, 0.5, law, integrator="rkmk4", dt=1e-3, passive=False)
    e = (np.array([0.0, 9.0, 0.2]) - run.joints)[:, [0, 2]]
    assert np.abs(e - critical(e[0], -start.rates[[0, 2]], run.times)).max() < 1e-8
    forces = law.forces(robot, 0.0, start, frozenset())
    assert (forces[: robot.m] == 0.0).all()
    assert forces[robot.m + 1] == 0.0


def test_one_drive_of_two_joints_moves_their_mix():
    robot = ARM.drive([{"joint1": 1.0, "joint2": 2.0}, "joint3"])
    start = robot.state(joints=[0.4, 0.1, -0.3], rates=[0.0, 1.0, 0.5])
    law = InverseDynamics([0.1, 0.2, 0.3], *gains(HERTZ))
    S = robot.actuation
    forces = law.forces(robot, 0.0, start, frozenset())
    assert forces[1] == pytest.approx(2.0 * forces[0], rel=1e-12)  # what one drive brings about
    k, d = gains(HERTZ)
    wanted = k * (np.array([0.1, 0.2, 0.3]) - start.joints) - d * start.rates
    assert S @ fc.forward_dynamics(robot, start, forces) == pytest.approx(S @ wanted, rel=1e-11)


def later(group, at, a, s):
    """Coordinates and rates after the short time ``s``."""
    return group.moved(at.joints, s * at.rates + 0.5 * s * s * a), at.rates + s * a


def test_joints_of_groups_follow_by_the_logarithm():
    """About one axis a ball joint is a hinge; about many, |w|^2 + k |e|^2 falls by 2 d |w|^2."""
    rng = np.random.default_rng(5)
    ball = fc.robots.random_tree(rng, 2, kinds=("spherical",), base=Trivial())
    group, (k, d) = ball.configuration.shape, gains(HERTZ)
    for _ in range(5):
        at, goal = ball.random_state(rng), ball.random_state(rng)
        law = InverseDynamics(goal.joints, k, d, rates=goal.rates, accelerations=np.array([0.3] * 6))
        a = fc.forward_dynamics(ball, at, law.forces(ball, 0.0, at, frozenset()))
        slope, h = [], 1e-6
        for s in (-h, h):
            (q, v), (p, u) = later(group, at, a, s), later(group, goal, np.array([0.3] * 6), s)
            e = group.between(q, p)
            turn = group.Ad(group.compose(group.inverse(group.element(q)), group.element(p)))
            w = turn @ u - v
            slope.append(w @ w + k * (e @ e))
        turn = group.Ad(group.compose(group.inverse(group.element(at.joints)), group.element(goal.joints)))
        w = turn @ goal.rates - at.rates
        assert (slope[1] - slope[0]) / (2 * h) == pytest.approx(-2.0 * d * w @ w, rel=1e-6, abs=1e-6)
    axis = np.array([0.6, 0.0, 0.8])
    start, goal = (group.moved(ball.neutral_joints, angle * np.tile(axis, 2)) for angle in (1.2, -0.3))
    run = fc.simulate(ball, ball.state(joints=start), 0.4, InverseDynamics(goal, k, d), dt=1e-3, passive=False)
    error = np.array([group.between(q, goal)[:3] @ axis for q in run.joints])
    assert np.abs(error - critical(np.array([-1.5]), np.zeros(1), run.times)[:, 0]).max() < 1e-8


def test_impedance_sags_by_its_weight_over_its_stiffness():
    goal, K = np.array([0.5, 0.2, -0.4]), np.array([900.0, 700.0, 300.0])
    sagged = fc.simulate(ARM, ARM.state(joints=goal), 6.0, Impedance(goal, K, 0.25 * K), dt=2e-3, passive=False)
    q, end = sagged.joints[-1], sagged.state(len(sagged) - 1)
    assert np.abs(K * (goal - q) - fc.gravity_forces(ARM, end)).max() < 1e-6  # (3.74)
    assert np.abs(goal - q).max() > 0.01
    held = fc.simulate(ARM, ARM.state(joints=goal), 0.2, Impedance(goal, K, 0.25 * K, gravity=True), passive=False)
    assert np.abs(held.joints[-1] - goal).max() < 1e-12


@pytest.mark.parametrize("kind", [Impedance, InverseDynamics])
def test_a_law_that_does_not_know_the_payload_is_off_by_what_it_weighs(kind):
    tip = ARM.links[3].body
    loaded = ARM.replace_body("link3", fc.Body(tip.mass + 2.0, tip.center, 3.0 * tip.inertia))
    goal, (k, d) = np.array([0.3, 0.2, 0.1]), gains(4.0)
    more = {"gravity": True} if kind is Impedance else {}
    law = kind(goal, 5.0 * k, 5.0 * d, estimate=ARM, **more)
    run = fc.simulate(loaded, loaded.state(joints=goal), 6.0, law, dt=2e-3, passive=False)
    end = run.state(len(run) - 1)
    stiff = 5.0 * k * (np.eye(3) if kind is Impedance else fc.mass_matrix(ARM, end))
    missing = fc.gravity_forces(loaded, end) - fc.gravity_forces(ARM, end)
    assert np.abs(stiff @ (goal - end.joints) - missing).max() < 1e-6 * np.abs(missing).max()
    known = kind(goal, 5.0 * k, 5.0 * d, estimate=loaded, **more)
    run = fc.simulate(loaded, loaded.state(joints=goal), 0.1, known, passive=False)
    assert np.abs(run.joints[-1] - goal).max() < 1e-12


@pytest.mark.parametrize("kind", [Impedance, InverseDynamics])
def test_laws_compile_balance_their_energy_and_roll_out(kind):
    rng = np.random.default_rng(2)
    robot = fc.robots.random_tree(rng, 2, kinds=("revolute", "spherical"))
    law = kind(robot.random_state(rng).joints, 20.0, 3.0, rates=rng.standard_normal(robot.n))
    check_law(law, robot)
    alone = kind({"joint2": 0.3}, 20.0, 3.0)
    states = [ARM.state(joints=[0.1 * i, 0.0, 0.0]) for i in range(3)]
    together = fc.rollout(ARM, states, 0.1, alone, dt=1e-3, passive=False)
    one = fc.simulate(ARM, states[2], 0.1, alone, dt=1e-3, integrator="rkmk4", passive=False)
    assert np.abs(together.joints[-1, 2] - one.joints[-1]).max() < 1e-12


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Impedance([0.0, 0.0], 1.0, 1.0).compile(ARM), "goal must have 3 coordinates"),
        (lambda: Impedance([0.0] * 3, [1.0, 2.0], 1.0).compile(ARM), "stiffness of .* must be one number or 3"),
        (lambda: Impedance([0.0] * 3, -1.0, 1.0), "not negative"),
        (lambda: Impedance([0.0] * 3, np.nan, 1.0), "finite"),
        (lambda: Impedance([0.0, np.nan, 0.0], 1.0, 1.0), "finite"),
        (lambda: Impedance("up", 1.0, 1.0), "goal of 'joint impedance'"),
        (lambda: Impedance(None, 1.0, 1.0), "goal of 'joint impedance' is missing"),
        (lambda: Impedance([0.0] * 3, 1.0, 1.0, gravity="yes"), "gravity"),
        (lambda: Impedance({"elbow": 0.1}, 1.0, 1.0).compile(ARM), "elbow"),
        (lambda: InverseDynamics(lambda t: [t], 1.0, 1.0).compile(ARM), "3 numbers"),
        (lambda: InverseDynamics([0.0] * 3, 1.0, 1.0, estimate=fc.robots.cat()).compile(ARM), "other joints"),
        (lambda: InverseDynamics([0.0] * 3, 1.0, 1.0, estimate="arm").compile(ARM), "estimate"),
        (lambda: fc.simulate(ARM, ARM.neutral(), 0.1, Impedance([0.0], 1.0, 1.0)), "goal must have 3 coordinates"),
        (lambda: gains(0.0), "hertz"),
        (lambda: gains(1.0, -1.0), "ratio"),
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused_by_name(made, said):
    with pytest.raises(ModelError, match=said):
        made()


@pytest.mark.parametrize("make", [fc.robots.planar_arm, fc.robots.orbital_arm])
def test_the_impedance_of_inverse_dynamics_is_what_its_torques_fall_by(make):
    """By differences of the torques with the rates; on expressions too, of which steps are made: that raised."""
    model = make()
    law = fc.control.InverseDynamics(np.zeros(model.n), 30.0, 4.0)
    state = model.state(joints=np.linspace(0.1, 0.9, model.n))
    K, D = law.impedance(model, state)
    at = lambda rates: law.torques(model, state._replace(rates=rates))  # noqa: E731
    falls = np.array([at(-0.5 * e) - at(0.5 * e) for e in np.eye(model.n)]).T
    np.testing.assert_allclose(D[model.m :, model.m :], falls, atol=1e-11 * np.abs(falls).max())
    np.testing.assert_allclose(4.0 * K, 30.0 * D, atol=1e-12)
    free = np.linalg.inv(np.linalg.inv(fc.mass_matrix(model, state))[model.m :, model.m :])
    np.testing.assert_allclose(D[model.m :, model.m :], 4.0 * free, atol=1e-9 * np.abs(free).max())
    code = fc.compile(model, impedances, law=law)
    np.testing.assert_allclose(code(*model.flatten(state)[: len(code.signature)]), [K, D], atol=1e-11 * np.abs(K).max())


def impedances(model, state, *, law):
    return np.stack(law.impedance(model, state))
