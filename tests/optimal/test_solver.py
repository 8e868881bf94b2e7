"""Optimal control: beside closed forms and other solvers, on arms, flights and feet."""

import dataclasses
import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import fallingcat as fc
from fallingcat.arrays import concatenate, cos, sin
from fallingcat.errors import ModelError, NumericsError
from fallingcat.optimal import MPC, Problem, Status, solve
from fallingcat.optimal.evaluation import Evaluation
from fallingcat.optimal.riccati import Implied, Recursion, backward
from fallingcat.optimal.solver import Solver

SLIDE = """  <joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="20" velocity="20"/></joint>"""
CART_POLE = f"""
<robot name="cart_pole">
  <link name="rail"/>
  <link name="cart"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pole"><inertial><origin xyz="0 0 -0.5"/><mass value="0.3"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
{SLIDE}
  <joint name="swing" type="continuous"><parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/></joint>
</robot>
"""


@functools.cache
def cart_pole():
    with tempfile.TemporaryDirectory() as room:
        path = Path(room) / "cart_pole.urdf"
        path.write_text(CART_POLE)
        return fc.load(path, base="fixed")


def effort(model, state, forces, data):
    return 0.1 * forces


def reach(model, state, forces, data):
    return concatenate([10.0 * (state.joints - data), state.rates])


@functools.cache
def reaching(**about):
    arm = fc.robots.planar_arm()
    return Problem(
        fc.simulation.step_derivatives(arm, dt=0.02), arm.neutral(), 30, effort, reach, data=[1.0, -0.5, 0.3]
    )


def total(problem, forces):
    """Cost of a motion, through plain steps and plain NumPy functions."""
    model = problem.model
    step = fc.simulation.step(model, dt=problem.dynamics.dt, target="numpy")
    q, v = model.flatten(problem.start)
    cost = 0.0
    for i, u in enumerate(forces):
        r = problem.cost(model, model.unflatten(q, v), u, problem.node_data[i])
        cost += 0.5 * r @ r
        q, v = (np.asarray(x, dtype=float) for x in step(q, v, u))
    r = problem.final_cost(model, model.unflatten(q, v), np.zeros(model.n), problem.node_data[-1])
    return cost + 0.5 * r @ r


def test_the_minimum_is_a_minimum_for_another_code():
    problem = reaching()
    found = solve(problem, tolerance=1e-8)
    assert found.converged
    assert found.cost == pytest.approx(total(problem, found.forces), rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = rng.normal(size=found.forces.shape)
        costs = [total(problem, found.forces + s * way) for s in (-1e-3, 0.0, 1e-3)]
        assert min(costs) == costs[1]
        assert abs(costs[2] - costs[0]) < 0.02 * (costs[0] + costs[2] - 2 * costs[1])
    assert all(check.passed for check in found.certify())


def test_a_linear_problem_is_that_of_the_riccati_equation(tmp_path):
    """A mass on a rail: gains of the discrete algebraic Riccati equation, in one iteration."""
    (tmp_path / "cart.urdf").write_text(CART_POLE[: CART_POLE.index('<link name="pole"')] + SLIDE + "</robot>")
    cart, dt, w = fc.load(tmp_path / "cart.urdf", base="fixed"), 0.05, 0.3
    step = fc.simulation.step_derivatives(cart, dt=dt)

    def cost(model, state, forces, data):
        return concatenate([state.joints, state.rates, w * forces])

    found = solve(Problem(step, cart.state(joints=[0.4]), 400, cost))
    A, B = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[0.5 * dt**2], [dt]])  # of 1 kg
    X = scipy.linalg.solve_discrete_are(A, B, np.eye(2), w**2 * np.eye(1))
    gain = -np.linalg.solve(w**2 * np.eye(1) + B.T @ X @ B, B.T @ X @ A)
    np.testing.assert_allclose(found.gains[0], gain, rtol=2e-8)
    assert found.cost == pytest.approx(0.5 * 0.4**2 * X[0, 0], rel=1e-9)
    assert found.iterations <= 3


def test_a_long_motion_of_an_unstable_robot_converges():
    """A pole upright for 15 s: without feedback a change of the first force grows by 1e29 until the end."""
    robot, steps = cart_pole(), 300

    def cost(model, state, forces, data):
        away = concatenate([state.joints[:1], sin(state.joints[1:]), 1.0 + cos(state.joints[1:])])
        return concatenate([away, 0.1 * state.rates, 0.1 * forces])

    problem = Problem(
        fc.simulation.step_derivatives(robot, dt=0.05), robot.state(joints=[0.3, np.pi - 0.3]), steps, cost
    )
    upright = robot.unflatten(np.tile([0.0, np.pi], (steps + 1, 1)), np.zeros((steps + 1, 2)))
    found = solve(problem, states=upright, tolerance=1e-8)
    assert found.converged, found
    assert found.certify()[0].passed
    run = fc.simulate(robot, problem.start, 15.0, fc.control.SampledController(found.controller(), rate=20.0), dt=0.05)
    np.testing.assert_allclose(run.joints[-1], [0.0, np.pi], atol=1e-3)


def test_the_reported_gradient_is_that_of_the_lagrangian():
    """Multipliers of the dynamics are the value's derivatives; inputs are held at bounds that they push against."""
    rng, (steps, size, n) = np.random.default_rng(3), (5, 4, 3)
    F, slopes = rng.normal(size=(steps, size, size + n)), rng.normal(size=(steps + 1, size + n))
    J, gaps = rng.normal(size=(steps + 1, 2 * size + n, size + n)), np.zeros((steps + 1, size))
    low, high = -rng.uniform(0.0, 1.0, size=(2, steps, n)) * [[[1.0]], [[-1.0]]]
    low[:, 0] = 0.0  # already there
    found = backward(F, gaps, slopes, np.swapaxes(J, 1, 2) @ J, (low, high), 1e-3)
    left = slopes[:-1] + np.einsum("ijk,ij->ik", F, found.adjoint[1:])
    by_x, by_u = left[1:, :size] - found.adjoint[1:-1], left[:, size:]
    by_u = np.where((low >= 0.0) & (by_u > 0.0), 0.0, by_u)
    assert (by_u[:, 0] == 0.0).any()
    assert found.gradient == pytest.approx(max(np.abs(by_x).max(), np.abs(by_u).max()), rel=1e-12)


def test_bounds_are_kept_and_pay():
    free, problem = solve(reaching()), reaching()
    strong = np.abs(free.forces).max()
    bounded = solve(dataclasses.replace(problem, force_limits=(-strong / 2, strong / 2)))
    assert bounded.converged
    assert np.abs(bounded.forces).max() == pytest.approx(strong / 2)
    assert bounded.cost > free.cost
    assert all(check.passed for check in bounded.certify())


@pytest.mark.parametrize("seed", range(5))
def test_box_constrained_quadratic_programs(seed):
    """One step whose state does not matter: the recursion's change of the inputs is the bounded minimum."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    H, g, low, high = A @ A.T + 0.1 * np.eye(6), 3 * rng.normal(size=6), -rng.random(6), rng.random(6)
    hessians, slopes = np.zeros((2, 7, 7)), np.zeros((2, 7))
    hessians[0, 1:, 1:], slopes[0, 1:] = H, g
    found = backward(np.zeros((1, 1, 7)), np.zeros((2, 1)), slopes, hessians, (low[None], high[None]), 0.0)
    x = found.k[0]
    cost, slope = (lambda y: 0.5 * y @ H @ y + g @ y), (lambda y: H @ y + g)
    fine = {"ftol": 1e-15, "gtol": 1e-12}
    best = scipy.optimize.minimize(cost, np.zeros(6), jac=slope, bounds=list(zip(low, high, strict=True)), options=fine)
    np.testing.assert_allclose(x, best.x, atol=1e-6)
    assert ((low <= x) & (x <= high)).all()
    held = (x == low) | (x == high)
    assert np.abs(slope(x)[~held]).max(initial=0.0) < 1e-8


@pytest.mark.parametrize(("steps", "size", "n"), [(4, 5, 3), (3, 4, 1), (6, 8, 6)])
def test_the_recursion_solves_its_quadratic_program(steps, size, n):
    """Beside one dense linear system for all states and inputs, with gaps."""
    rng = np.random.default_rng(size)
    F, gaps, slopes = (rng.normal(size=x) for x in ((steps, size, size + n), (steps + 1, size), (steps + 1, size + n)))
    J = rng.normal(size=(steps + 1, 2 * size + n, size + n))
    hessians, wide, damping = np.swapaxes(J, 1, 2) @ J, np.full((steps, n), np.inf), 1e-3
    found = backward(F, gaps, slopes, hessians, (-wide, wide), damping)
    count = steps * (size + n)  # u of each step and x after it; the first x is 0
    Q, g = np.zeros((count, count)), np.zeros(count)
    E, e = np.zeros((steps * size, count)), np.zeros(steps * size)
    x_at = [None, *((i - 1) * (size + n) + n + np.arange(size) for i in range(1, steps + 1))]
    u_at = [i * (size + n) + np.arange(n) for i in range(steps)]
    for i in range(steps + 1):
        at = [] if i == 0 else [(x_at[i], slice(0, size))]
        at += [] if i == steps else [(u_at[i], slice(size, None))]
        for rows, a in at:
            g[rows] += slopes[i, a]
            for columns, b in at:
                Q[np.ix_(rows, columns)] += hessians[i, a, b]
        if i < steps:
            Q[u_at[i], u_at[i]] += damping
            rows = slice(i * size, (i + 1) * size)
            E[rows, x_at[i + 1]] = -np.eye(size)
            E[rows, u_at[i]] = F[i][:, size:]
            if i:
                E[rows, x_at[i]] = F[i][:, :size]
            e[rows] = -gaps[i + 1]
    kkt = np.block([[Q, E.T], [E, np.zeros((len(E), len(E)))]])
    z = np.linalg.solve(kkt, np.concatenate([-g, e]))[:count]
    x = np.zeros(size)
    for i in range(steps):
        u = found.k[i] + found.K[i] @ x
        np.testing.assert_allclose(u, z[u_at[i]], atol=1e-9)
        x = F[i] @ np.concatenate([x, u]) + gaps[i + 1]
    assert backward(F, gaps, slopes, -hessians, (-wide, wide), damping) is None


@pytest.mark.parametrize(("count", "lead", "n"), [(3, 2, 1), (9, 8, 6), (2, 0, 5)])
def test_implied_rows_of_the_dynamics_change_nothing(count, lead, n):
    """Rows ``start dq + way dv`` of semi-implicit steps are left out, or written out; there are bounds and gaps."""
    rng, steps, size = np.random.default_rng(count), 4, 2 * count
    short = Recursion(steps, size, n, implied=Implied(count, lead))
    for x in short.arrays:
        x[:] = rng.normal(size=x.shape)
    J = rng.normal(size=(steps + 1, 2 * size + n, size + n))
    short.hessians[:], short.low[:], short.high[:] = np.swapaxes(J, 1, 2) @ J, -0.3, 0.3
    start, way = np.zeros((steps, count, size + n)), short.arrays.dt[:, None, None] * np.eye(count)
    start[:, :, :count] = np.eye(count)
    start[:, :lead, :lead], way[:, :lead, :lead] = short.arrays.start, short.arrays.way
    F = np.concatenate([start + way @ short.dynamics, short.dynamics], axis=1)
    found, bounds = short.policy(1e-3), (short.low, short.high)
    other = backward(F, short.gaps, short.slopes, short.hessians, bounds, 1e-3)
    for a, b in zip(found, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-11 * max(1.0, np.abs(b).max()))


def test_swing_up_of_a_cart_pole():
    """Upright at the end, from hanging still; the drive moves the cart alone and has 20 N."""
    model = cart_pole()
    step = fc.simulation.step_derivatives(model, dt=0.05)

    def swing(model, state, forces, data):
        return 0.03 * forces

    def upright(model, state, forces, data):
        angle = state.joints[1]
        return 10.0 * concatenate(
            [np.reshape(cos(angle) + 1.0, 1), np.reshape(sin(angle), 1), state.joints[:1], state.rates]
        )

    guess = np.zeros((50, 2))
    guess[:, 0] = 3.0 * np.sin(np.arange(50) * 0.25)
    limits = ([-20.0, 0.0], [20.0, 0.0])
    found = solve(Problem(step, model.neutral(), 50, swing, upright, force_limits=limits), guess)
    assert found.converged, found.status
    assert np.cos(found.states.joints[-1][1]) < -0.99
    assert np.abs(found.states.rates[-1]).max() < 0.1
    assert (found.forces[:, 1] == 0.0).all()
    # the simulator takes the same motion
    run = fc.Simulator(model, state=model.neutral(), dt=0.05)
    for u in found.forces:
        run.step(u)
    np.testing.assert_allclose(run.state.joints, found.states.joints[-1], atol=1e-9)


def test_constraints_hold_and_a_final_one_is_met():
    """The arm must not bend its elbow beyond a bound on its way, and ends exactly."""
    problem = reaching()
    free = solve(problem)
    bound = 0.5 * free.states.joints[:, 1].min()

    def bent(model, state, forces, data):
        return bound - state.joints[1:2]

    def end(model, state, forces, data):
        return state.joints[:1] - 0.9

    found = solve(dataclasses.replace(problem, inequality=bent, final_equality=end))
    assert found.converged, (found.status, found.violation)
    assert found.states.joints[1:-1, 1].min() >= bound - 1e-6
    assert found.states.joints[-1, 0] == pytest.approx(0.9, abs=1e-6)
    assert found.cost > free.cost


def test_contradictions_are_named():
    problem = reaching()

    def no(model, state, forces, data):
        return concatenate([state.joints[:1] + 1.0, state.joints[:1] - 1.0])

    found = solve(dataclasses.replace(problem, steps=5, final_equality=no))
    assert found.status is Status.INFEASIBLE
    assert found.violation == pytest.approx(1.0, abs=1e-3)
    assert found.violated in ("row 0 of the final equality at node 5", "row 1 of the final equality at node 5")


def test_a_result_that_is_not_converged_says_what_is_violated():
    problem = dataclasses.replace(reaching(), final_equality=lambda m, s, u, d: s.joints - 1.0)
    found = solve(problem, iterations=2)
    assert found.status is Status.MAX_ITERATIONS
    assert "worst: row" in str(found)


def test_a_guess_need_not_be_a_motion():
    """States on a straight line are no motion: the gaps close, and the minimum is the same."""
    problem = reaching()
    model = problem.model
    line = model.unflatten(np.linspace(0.0, 1.0, 31)[:, None] * np.array([1.0, -0.5, 0.3]), np.zeros((31, 3)))
    found, other = solve(problem, states=line), solve(problem)
    assert found.converged
    assert found.gap < 1e-9
    assert found.cost == pytest.approx(other.cost, rel=1e-6)


def test_momentum_of_a_flight_is_kept_by_the_optimum():
    """A cat bends as asked; nothing in the problem says that its momentum stays, the steps do."""
    cat = fc.robots.two_cylinder_cat()
    start = cat.state(twist=[0.1, 0.2, 0.3, 0.5, -0.4, 0.3])
    step = fc.simulation.step_derivatives(cat, dt=0.02)
    found = solve(Problem(step, start, 25, effort, lambda m, s, u, d: 10.0 * (s.joints - d), data=[0.5, 0.2]))
    momenta = [fc.momentum(cat, found.states.at(i), "centroidal")[3:] for i in (0, 12, 25)]
    assert found.converged
    np.testing.assert_allclose(momenta[1:], [momenta[0]] * 2, atol=1e-12)


def test_predictive_control_resists_a_push():
    arm, problem = fc.robots.planar_arm(), reaching()

    def hold(model, state, forces, data):
        return concatenate([30.0 * (state.joints - data), state.rates, 0.02 * forces])

    mpc = MPC(Problem(problem.dynamics, arm.neutral(), 15, hold, hold, data=problem.data))
    run = fc.simulate(arm, arm.state(joints=[0.0, 0.4, 0.0], rates=[0.0, 2.0, 0.0]), 1.5, mpc)
    assert np.abs(run.joints[-1] - [1.0, -0.5, 0.3]).max() < 0.1
    again = fc.simulate(arm, arm.neutral(), 0.1, mpc)  # another run begins anew
    fresh = fc.simulate(arm, arm.neutral(), 0.1, MPC(mpc.problem))
    np.testing.assert_array_equal(again.joints, fresh.joints)


def test_derivatives_of_the_cost_are_those_of_differences():
    """Beside a standing quadruped's contacts, through 10 steps."""
    problem = reaching()
    motion = Evaluation(problem)
    rng = np.random.default_rng(1)
    u, way = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
    penalties = motion.penalties(1.0)
    motion.expanded(motion.rolled_out(u), penalties)
    room = motion.recursion
    costate, slope = room.slopes[-1, : motion.size], 0.0
    for i in reversed(range(30)):
        along = room.slopes[i] + room.dynamics[i].T @ costate
        slope, costate = slope + along[motion.size :] @ way[i], along[: motion.size]
    ends = [motion.cost(motion.rolled_out(u + s * 1e-5 * way), penalties) for s in (1, -1)]
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"steps": 0}, "steps must be a whole number"),
        ({"cost": None, "final_cost": None}, "must have a cost"),
        ({"force_limits": (1.0, -1.0)}, "exclude every force"),
        ({"force_limits": (np.nan, 1.0)}, "must be numbers, got NaN"),
        ({"data": [np.inf]}, "data must be finite"),
        ({"data": np.zeros((3, 3))}, "data must have 31 rows"),
        ({"dynamics": "steps"}, "dynamics must be"),
        ({"start": None}, "pass a State of 'planar_arm', not None"),
        ({"start": fc.robots.quadruped().neutral()}, r"joints must have shape \(3,\)"),
        ({"cost": 3.0}, "cost must be a function"),
        ({"data": "goal"}, "data must be finite numbers, got 'goal'"),
    ],
)
def test_bad_problems_are_named(about, message):
    with pytest.raises(ModelError, match=message):
        dataclasses.replace(reaching(), **about)


def test_forces_are_limited_by_the_drives_where_no_limits_are_given():
    low, high = Problem(fc.simulation.step_derivatives(cart_pole(), dt=0.05), cart_pole().neutral(), 5, effort).limits
    np.testing.assert_array_equal(high, [20.0, np.inf])  # the slide's effort; the hinge's file says none
    np.testing.assert_array_equal(low, -high)


def test_bad_guesses_are_named():
    with pytest.raises(ModelError, match=r"forces must have shape \(30, 3\)"):
        solve(reaching(), np.zeros((4, 4)))
    with pytest.raises(ModelError, match="must be finite"):
        solve(reaching(), np.nan)
    with pytest.raises(ModelError, match="states must be a State whose fields have a first axis, got a list"):
        solve(reaching(), states=[fc.robots.planar_arm().neutral()] * 31)
    with pytest.raises(ModelError, match="31 states"):
        solve(reaching(), states=fc.robots.planar_arm().random_state(np.random.default_rng(0), 3))
    with pytest.raises(ModelError, match="31 states, got one"):
        solve(reaching(), states=fc.robots.planar_arm().neutral())


def test_a_cost_that_is_no_number_names_its_node():
    bad = dataclasses.replace(reaching(), cost=lambda m, s, u, d: fc.arrays.log(s.joints[:1] - 1e3))
    with pytest.raises(NumericsError, match="the cost is not finite at node 0"):
        solve(bad)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (lambda m, s: s.joints, "term <lambda>: .* takes 2 positional arguments but 4 were given"),
        (lambda m, s, u, d: np.sin(s.joints), r"term <lambda>: .* by fallingcat.arrays \(sin"),
        (lambda m, s, u, d: None, "term <lambda> must return a vector of residuals, got None"),
        (lambda m, s, u, d: "far", "term <lambda> must return numbers, got 'far'"),
        (lambda m, s, u, d: s.joints / 0.0, "term <lambda>: float division by zero"),
    ],
)
def test_errors_in_terms_name_the_term(term, message):
    with pytest.raises(ModelError, match=message):
        solve(dataclasses.replace(reaching(), cost=term))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"iterations": 0}, "iterations must be a whole number"), ({"tolerance": -1.0}, "tolerance is a positive number")],
)
def test_bad_options_of_the_solver_are_named(options, message):
    with pytest.raises(ModelError, match=message):
        solve(reaching(), **options)
    with pytest.raises(ModelError, match=r"problem must be a fc\.optimal.Problem, got a Model"):
        solve(fc.robots.planar_arm())


def test_a_result_prints_its_outcome_in_a_line():
    found = solve(reaching())
    assert str(found).startswith(f"converged after {found.iterations} iterations: cost ")


def test_measurements_that_are_not_finite_are_refused():
    """A NaN in one tick gave forces of the plan before, as if nothing had been."""
    problem = reaching()
    state = problem.start
    bad = state._replace(rates=np.full(3, np.nan))
    mpc = MPC(problem)
    first = mpc(0.0, state)
    with pytest.raises(NumericsError, match="rates of the measured state of 'planar_arm' is not finite"):
        mpc(0.02, bad)
    with pytest.raises(NumericsError, match="the time of a tick must be finite"):
        mpc(np.nan, state)
    with pytest.raises(ModelError, match=r"data must be 3 finite numbers, or 31 x 3, got \[1.0, 2.0\]|got a list"):
        mpc.tick(state, data=[1.0, 2.0])
    np.testing.assert_array_equal(np.isfinite([first, mpc(0.02, state)]), True)
    with pytest.raises(NumericsError, match="rates of the measured state"):
        solve(problem).controller()(0.0, bad)


def test_an_interrupt_ends_the_loop_around_a_predictive_controller(monkeypatch):
    """The solver keeps its best motion; a tick that did so left the run going on."""
    mpc, state = MPC(reaching()), reaching().start
    first = mpc(0.0, state)

    def pressed(self, *about):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Solver, "searched", pressed)
        with pytest.raises(KeyboardInterrupt):
            mpc.tick(state._replace(joints=state.joints + 0.1))
    assert np.isfinite(mpc.tick(state)).all()
    assert mpc.result is not None
    assert first.shape == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "fast"}, "rate of an MPC .* is a positive number, not 'fast'"),
        ({"iterations": 0}, "iterations must be a whole number"),
        ({"penalty": -1.0}, "penalty is a positive number"),
    ],
)
def test_bad_options_of_predictive_control_are_named(options, message):
    with pytest.raises(ModelError, match=message):
        MPC(reaching(), **options)
    with pytest.raises(ModelError, match=r"problem must be a fc\.optimal.Problem, got a Model"):
        MPC(fc.robots.planar_arm())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["compliant", "hard"])
def test_a_quadruped_crouches_on_its_feet(kind):
    dog = fc.robots.quadruped()
    feet = [frame.name for frame in dog.frames]
    make = fc.contact.CompliantFloor if kind == "compliant" else fc.contact.HardContacts
    ground, posture = make(feet, friction=0.8), np.array([0.0, 0.6, -1.2] * 4)
    start = dog.standing(ground, posture)
    goal = start.pose[:3, 3] + np.array([0.02, 0.0, -0.05])

    def moving(model, state, forces, data):
        place = state.pose[:3, 3] - data
        return concatenate([0.02 * forces, 0.1 * state.rates, state.joints - posture, 10.0 * place, 0.3 * state.twist])

    def there(model, state, forces, data):
        return concatenate(
            [30.0 * (state.pose[:3, 3] - data), state.twist, 10.0 * (state.pose[:3, :3] - np.eye(3)).reshape(-1)]
        )

    step = fc.simulation.step_derivatives(dog, contact=ground, dt=0.01, state=start)
    problem = Problem(step, start, 20, moving, there, data=goal)
    first, found = solve(problem, iterations=1), solve(problem, iterations=60)
    assert found.cost < 0.5 * first.cost
    assert found.cost < 4.5
    assert np.abs(found.states.pose[-1][:3, 3] - goal).max() < 0.04
    checks = {check.name: check for check in found.certify()}
    assert checks["defect"].passed
    assert checks["force limits"].passed
