"""Steps with given contacts, free times, IPOPT, interruptions."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest
from odd_arguments import changes, tried

import fallingcat as fc
from fallingcat.arrays import concatenate
from fallingcat.dynamics import constrained_forward_dynamics, jacobian, jacobian_derivative, link_pose
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import Trivial
from fallingcat.model.joints import Prismatic
from fallingcat.model.robots.shapes import box_link
from fallingcat.optimal import MPC, ContactPhases, Horizon, Phase, Problem, Status, ipopt, solve, task_residual
from fallingcat.optimal.phase_step import friction_cone, linear_phase_step, phase_step
from fallingcat.optimal.solver import Solver
from fallingcat.studies.experiments.pushed import BENT_LEGS, PUSH_DURATION, Push, standing_dog

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
TWO_TOED = dataclasses.replace(DOG, frames=(*DOG.frames, fc.model.Frame("toe", DOG.frames[0].link)))


@functools.cache
def cart():
    """A mass of 1 kg on a rail, driven by at most 2 N."""
    slide = fc.model.Joint("slide", Prismatic((1.0, 0.0, 0.0)), "rail", "cart", limits=fc.model.Limits(effort=2.0))
    links = (box_link("rail", 1.0, (1.0, 0.1, 0.1)), box_link("cart", 1.0, (0.1, 0.1, 0.1)))
    return fc.model.Model("cart", Trivial(), links, (slide,))


def at(data, held, rng):
    """A state, forces and a row of a node in which some feet are held."""
    state = DOG.random_state(rng)
    row = np.concatenate([[0.01], held, rng.normal(size=12)])
    return state, rng.normal(size=DOG.n), row


@pytest.mark.parametrize("held", [(1, 1, 1, 1), (1, 0, 0, 1), (0, 0, 0, 0)])
def test_a_step_is_that_of_constrained_dynamics(held):
    """Held points of ``constrained_forward_dynamics``, by Jacobians in the world."""
    rng = np.random.default_rng(sum(held))
    state, u, row = at(None, held, rng)
    phases = ContactPhases(DOG, [Phase(1, FEET)], 0.01, damping=20.0, stiffness=5.0, places=row[5:].reshape(4, 3))
    q, v = DOG.flatten(state)
    found = phase_step(DOG, q, v, u, row, **phases.options)
    names = [name for name, h in zip(FEET, held, strict=True) if h]
    J = np.array([jacobian(DOG, state, f, "mixed")[:3] for f in names]).reshape(-1, DOG.nv)
    Jdot = np.array([jacobian_derivative(DOG, state, f, "mixed")[:3] for f in names]).reshape(-1, DOG.nv)
    off = [link_pose(DOG, state, f)[:3, 3] - p for f, p, h in zip(FEET, row[5:].reshape(4, 3), held, strict=True) if h]
    bias = Jdot @ v + 20.0 * (J @ v) + 5.0 * np.array(off).reshape(-1)
    other = constrained_forward_dynamics(DOG, state, np.concatenate([np.zeros(6), u]), J, bias)
    np.testing.assert_allclose(found.v, v + 0.01 * other.acceleration, rtol=1e-9, atol=1e-9)
    ours = found.contact[np.array(held, dtype=bool)].ravel()
    np.testing.assert_allclose(ours, other.multipliers, rtol=1e-8, atol=1e-8)
    assert not found.contact[~np.array(held, dtype=bool)].any()
    np.testing.assert_allclose(found.q, DOG.integrate(q, 0.01 * found.v), atol=1e-14)


def derivatives(found):
    """``[A B]`` of a step, with the rows of the configuration."""
    nv, lead = len(found.rate), len(found.start)
    start, way = np.eye(nv, found.rate.shape[1]), found.dt * np.eye(nv)
    start[:lead, :lead], way[:lead, :lead] = found.start, found.way
    return np.concatenate([start + way @ found.rate, found.rate])


def test_derivatives_of_steps_and_cones_are_those_of_differences():
    rng = np.random.default_rng(5)
    state, u, row = at(None, (1, 0, 1, 1), rng)
    phases = ContactPhases(DOG, [Phase(1, FEET)], 0.01, damping=20.0, stiffness=5.0, places=row[5:].reshape(4, 3))
    q, v = DOG.flatten(state)
    about = phases.options
    found = linear_phase_step(DOG, q, v, u, row, friction=0.7, **about)
    nv, h = DOG.nv, 1e-6

    def moved(d):
        after = phase_step(DOG, DOG.integrate(q, d[:nv]), v + d[nv : 2 * nv], u + d[2 * nv :], row, **about)
        cones = [w * friction_cone(f / (18.0 * 9.81), 0.7) for f, w in zip(after.contact, row[1:5], strict=True)]
        return np.concatenate([DOG.difference(found.q, after.q), after.v, *cones])

    ways = np.eye(2 * nv + DOG.n)
    slopes = np.array([(moved(h * d) - moved(-h * d)) / (2 * h) for d in ways]).T
    scale = np.abs(slopes).max()
    np.testing.assert_allclose(derivatives(found), slopes[: 2 * nv], atol=1e-8 * scale)
    np.testing.assert_allclose(found.cones[:, 1:], slopes[2 * nv :], atol=1e-7 * scale)
    np.testing.assert_allclose(found.cones[:, 0], moved(np.zeros(len(ways)))[2 * nv :], atol=1e-12)


def test_a_held_point_may_lie_on_the_base():
    """Its Jacobian has no traced entries; the legs move, the base stays where it is held."""
    seated = dataclasses.replace(DOG, frames=(*DOG.frames, fc.model.Frame("seat", DOG.links[0].name)))
    start = seated.state(position=(0.0, 0.0, 1.0), joints=(0.1, 0.7, -1.4) * 4)
    problem = Problem(ContactPhases(seated, [Phase(3, ("seat",))], 0.01), start, cost=lambda m, s, u, d: u)
    found = solve(problem)
    assert found.converged
    np.testing.assert_allclose([H[:3, 3] for H in found.states.pose], 4 * [[0.0, 0.0, 1.0]], atol=1e-9)
    assert abs(found.states.rates[-1]).max() > 0.01
    assert all(check.passed for check in found.certify())


def rest(model, state, forces, data):
    return concatenate([state.joints - data, state.rates])


def test_least_time_of_a_mass_is_bang_bang():
    """``T = 2 sqrt(d / a)``, to the last digit also in these steps: they reach ``a h^2 (N / 2)^2``."""
    phases = ContactPhases(cart(), [Phase(20, (), (0.005, 0.2))], 0.05)
    problem = Problem(phases, cart().neutral(), final_equality=rest, data=[1.5], time_weight=1.0)
    found = solve(problem, method="ipopt", tolerance=1e-9)
    assert found.converged
    assert found.times[-1] == pytest.approx(2.0 * np.sqrt(1.5 / 2.0), rel=1e-6)
    np.testing.assert_allclose(found.forces[:10], 2.0, atol=1e-5)
    np.testing.assert_allclose(found.forces[11:], -2.0, atol=1e-5)
    assert all(check.passed for check in found.certify())
    with pytest.raises(ModelError, match="free times of phases are found by method='ipopt'"):
        solve(problem)


def test_two_solvers_find_the_same_motion_and_the_same_gains():
    arm = fc.robots.planar_arm()

    def effort(model, state, forces, data):
        return 0.1 * forces

    def reach(model, state, forces, data):
        return concatenate([10.0 * (state.joints - data), state.rates])

    step = fc.simulation.step_derivatives(arm, dt=0.02)
    problem = Problem(step, arm.neutral(), 30, effort, reach, data=[1.0, -0.5, 0.3])
    ours, other = solve(problem, tolerance=1e-9), solve(problem, method="ipopt", tolerance=1e-9)
    assert other.converged
    assert ours.cost == pytest.approx(other.cost, rel=1e-12)
    np.testing.assert_allclose(ours.forces, other.forces, atol=1e-6)
    np.testing.assert_allclose(ours.gains, other.gains, atol=1e-5)  # not those of a damped last iteration
    # the motion with its feedback, in the simulator
    start = arm.state(joints=[0.1, -0.1, 0.0])
    left = []
    for plan in (ours, dataclasses.replace(ours, gains=0.0 * ours.gains)):
        run = fc.simulate(arm, start, 0.6, fc.control.SampledController(plan.controller(), rate=500.0), dt=2e-3)
        left.append(np.abs(run.joints[-1] - ours.states.joints[-1]).max())
    assert left[0] < 0.2 * left[1]


def test_tasks_are_terms():
    state = DOG.random_state(np.random.default_rng(3))
    reach = fc.control.PositionTask("trunk", [0.1, 0.2, 0.3], gain=3.0, weight=4.0)
    bend = fc.control.JointsTask(np.zeros(12), gain=2.0)
    error = task_residual(reach, bend)(DOG, state, None, None)
    np.testing.assert_allclose(error[:3], 2.0 * (np.array([0.1, 0.2, 0.3]) - state.pose[:3, 3]), atol=1e-12)
    np.testing.assert_allclose(error[3:], -state.joints)
    speed = task_residual(bend, of="velocity")(DOG, state, None, None)
    np.testing.assert_allclose(speed, -2.0 * state.joints - state.rates)
    with pytest.raises(ModelError, match="ask for motion"):
        task_residual(fc.control.ForceTask(FEET[0], [0.0, 0.0, 1.0]))
    with pytest.raises(ModelError, match="one task or more"):
        task_residual()


def test_an_interrupted_solver_keeps_its_best_motion(monkeypatch):
    phases = ContactPhases(cart(), [Phase(30)], 0.05)

    def effort(model, state, forces, data):
        return 0.1 * forces + 0.05 * forces * forces  # more than one iteration

    problem = Problem(phases, cart().neutral(), cost=effort, final_cost=rest, data=[1.0])
    calls, searched, seen = itertools.count(), Solver.searched, []

    def pressed(self, *about):
        if next(calls) == 2:
            raise KeyboardInterrupt
        seen.append(about[1].cost)
        return searched(self, *about)

    monkeypatch.setattr(Solver, "searched", pressed)
    found = solve(problem)
    assert found.status is Status.INTERRUPTED
    assert found.cost < seen[-1] < seen[0]
    assert found.certify()[0].passed


def test_an_interrupted_ipopt_keeps_its_last_motion(monkeypatch):
    own = ipopt.recorder

    def pressed(*about):
        made = own(*about)
        keep = made.eval

        def then(given):
            if made.count == 3:
                raise KeyboardInterrupt  # as Ctrl-C does here; a signal would depend on handlers of other tests
            return keep(given)

        made.eval = then
        return made

    def effort(model, state, forces, data):
        return 0.1 * forces + 0.05 * forces * forces  # more than one iteration

    monkeypatch.setattr(ipopt, "recorder", pressed)
    phases = ContactPhases(cart(), [Phase(30)], 0.05)
    problem = Problem(phases, cart().neutral(), cost=effort, final_cost=rest, data=[1.0])
    found = solve(problem, method="ipopt", tolerance=1e-30)
    assert found.status is Status.INTERRUPTED
    assert found.iterations == 3
    assert np.abs(found.forces).max() > 0.1  # not the guess


def test_terms_that_are_no_numbers_name_node_and_row():
    def bad(model, state, forces, data):
        return concatenate([state.joints, fc.arrays.log(data - 1.0)])

    data = np.full((11, 1), 2.0)
    data[4] = 0.5
    phases = ContactPhases(cart(), [Phase(10)], 0.05)
    problem = Problem(phases, cart().neutral(), cost=rest, inequality=bad, data=data)
    with pytest.raises(NumericsError, match="constraint is not finite at node 4: row 1 is nan"):
        solve(problem)
    problem = Problem(phases, cart().neutral(), cost=rest, final_equality=bad, data=data - 1.5)
    with pytest.raises(NumericsError, match="final constraint is not finite at node 10: row 1 is nan"):
        solve(problem)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"phases": []}, "at least one phase"),
        ({"phases": [Phase(0, FEET)]}, "steps of phase 0 must be a whole number"),
        ({"phases": [Phase(5, ("paw",))]}, "paw"),
        ({"dt": -0.01}, "dt of phase 0 .* is a positive number, not -0.01"),
        ({"phases": [5]}, "phases must be fc.optimal.Phase"),
        ({"phases": [Phase(5, "foot")]}, "points of phase 0 must be a list of frames, got 'foot'"),
        ({"phases": [Phase(5, FEET, (0.02, 0.01))]}, "dt of phase 0 must be positive"),
        ({"friction": 0.0}, "friction of ContactPhases is a positive number"),
        ({"model": fc.robots.revolute_hopper(), "phases": [Phase(5, ("foot",))]}, "has 3 freedoms, not 6"),
        ({"model": TWO_TOED, "phases": [Phase(5, ("toe", FEET[0]))]}, "'toe' and 'front_left_foot' of phase 0 are on"),
        ({"stiffness": 10.0}, "needs their places"),
        ({"places": np.zeros((3, 3))}, r"places must have shape \(4, 3\)"),
    ],
)
def test_bad_phases_are_named(about, message):
    good = {"model": DOG, "phases": [Phase(5, FEET)], "dt": 0.01}
    with pytest.raises(fc.FallingCatError, match=message):
        ContactPhases(**(good | about))


def test_phases_and_their_problem_have_the_same_steps():
    phases = ContactPhases(cart(), [Phase(10)], 0.05)
    with pytest.raises(ModelError, match="the phases have 10 steps, not 7"):
        Problem(phases, cart().neutral(), 7, rest, data=[1.0])
    two = dataclasses.replace(phases, phases=[Phase(5), Phase(5)])
    problem = Problem(two, cart().neutral(), cost=rest, data=[1.0])
    with pytest.raises(ModelError, match="would have to move on"):
        MPC(problem)


def reach_up(model, state, forces, data):
    return concatenate([0.02 * forces, 0.05 * state.rates, 10.0 * (state.pose[:3, 3] - data)])


def test_contacts_of_a_tick_are_those_of_phases():
    """A controller that is told contacts plans as a problem with these phases; the problem stays as it is."""
    start = DOG.state(position=[0.0, 0.0, 0.3], joints=np.array([0.0, 0.6, -1.2] * 4))
    goal, pair = [0.02, 0.0, 0.31], FEET[::3]
    phases = ContactPhases(DOG, [Phase(6, FEET)], 0.02)
    problem = Problem(phases, start, cost=reach_up, final_cost=reach_up, data=goal)
    contacts = np.ones((6, 4))
    contacts[3:, 1:3] = 0.0
    mpc = MPC(problem, first=100, horizon=lambda t, state: Horizon(contacts))
    other, tau = MPC(problem), mpc(0.0, start)
    told = dataclasses.replace(phases, phases=[Phase(3, FEET), Phase(3, pair)])
    wanted = solve(dataclasses.replace(problem, dynamics=told))
    np.testing.assert_allclose(tau, wanted.forces[0], atol=1e-3)  # N m, of 8
    np.testing.assert_allclose(mpc.result.cost, wanted.cost, rtol=1e-8)
    assert not mpc.result.contact_forces[3:, 1:3].any()
    assert (other.problem.stepping.rows[:, 1:5] == 1.0).all()
    assert (problem.stepping.rows[:, 1:5] == 1.0).all()


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        (np.ones((5, 4)), r"contacts must be zeros and ones of shape \(6, 4\)"),
        (np.full((6, 4), 0.5), "contacts must be zeros and ones"),
        (np.full((6, 4), np.nan), "contacts must be zeros and ones"),
        ("all", "contacts must be zeros and ones of shape"),
    ],
)
def test_bad_contacts_of_a_tick_are_named(contacts, message):
    problem = Problem(ContactPhases(DOG, [Phase(6, FEET)], 0.02), DOG.neutral(), cost=reach_up, data=np.zeros(3))
    with pytest.raises(ModelError, match=message):
        MPC(problem).tick(DOG.neutral(), contacts=contacts)


def test_a_bad_horizon_is_named():
    problem = Problem(ContactPhases(cart(), [Phase(5)], 0.05), cart().neutral(), cost=rest, data=[1.0])
    with pytest.raises(ModelError, match="the problem has none"):
        MPC(problem).tick(cart().neutral(), contacts=np.ones((5, 0)))
    with pytest.raises(ModelError, match=r"horizon must be a function \(t, state\) -> Horizon"):
        MPC(problem, horizon=3.0)
    with pytest.raises(ModelError, match=r"horizon at t = 0 s must be a fc.optimal.Horizon"):
        MPC(problem, horizon=lambda t, state: [1.0])(0.0, cart().neutral())


@pytest.mark.slow
def test_a_quadruped_stays_within_its_friction_cones():
    """It shall move its trunk further than low friction lets it: cones bind, and the physics holds."""
    start = DOG.standing(fc.contact.HardContacts(FEET, friction=0.8), np.array([0.0, 0.6, -1.2] * 4))
    goal = start.pose[:3, 3] + np.array([0.05, 0.0, -0.02])

    def moving(model, state, forces, data):
        return concatenate([0.02 * forces, 0.05 * state.rates, 10.0 * (state.pose[:3, 3] - data)])

    def problem(friction):
        phases = ContactPhases(DOG, [Phase(20, FEET)], 0.01, friction=friction)
        return Problem(phases, start, cost=moving, final_cost=moving, data=goal)

    free, held = solve(problem(None)), solve(problem(0.3), iterations=400)
    assert held.converged, (held.status, held.kkt)
    assert free.converged

    def beyond(found):
        f = found.contact_forces / (18.0 * 9.81)
        return (np.linalg.norm(f[..., :2], axis=-1) - 0.3 * f[..., 2]).max()

    assert beyond(free) > 0.01
    assert beyond(held) < 1.1e-4  # the rounding of the tip
    assert held.contact_forces[..., 2].min() > -1e-3
    assert held.cost > free.cost
    for found in (free, held):
        checks = {check.name: check for check in found.certify()}
        assert {"center of mass", "momentum balance", "defect"} <= set(checks)
        assert all(check.passed for check in checks.values()), checks


@pytest.mark.slow
def test_a_predictive_controller_recovers_from_a_push():
    """12 N s sideways within 0.1 s on 18 kg, one iteration in each tick, on ground that gives way."""
    dog, start = standing_dog()
    place = start.pose[:3, 3]

    def hold(model, state, forces, data):
        away, turned = state.pose[:3, 3] - place, (state.pose[:3, :3] - np.eye(3)).reshape(-1)
        bent = 0.3 * (state.joints - BENT_LEGS)
        moving = [2.0 * state.twist, 0.1 * state.rates, 0.02 * forces]
        return concatenate([20.0 * away, 10.0 * turned, bent, *moving])

    def last(model, state, forces, data):
        return 3.0 * hold(model, state, 0.0 * forces, data)

    phases = ContactPhases(dog, [Phase(20, FEET)], 0.02, friction=0.5)
    mpc = MPC(Problem(phases, start, cost=hold, final_cost=last), rate=250.0)
    floor = fc.contact.CompliantFloor(FEET, (5e4, 5e4), (5e2, 5e2), friction=0.6)
    laws = [fc.control.SampledController(mpc, rate=250.0), Push(12.0 / PUSH_DURATION)]
    run = fc.simulate(dog, start, 2.0, laws, floor, dt=1e-3, every=5)
    assert run.status == "finished"
    assert np.abs(run.poses[:, 1, 3]).max() > 0.02
    assert np.abs(run.poses[-1, :3, 3] - place).max() < 0.01
    assert run.poses[-1, 2, 2] > 0.999
    assert mpc.result.contact_forces.shape == (20, 4, 3)


# odd arguments --------------------------------------------------------------------------------------------------------


@functools.cache
def odd_calls():
    arm = fc.robots.planar_arm()
    step = fc.simulation.step_derivatives(arm, dt=0.02)

    def effort(model, state, forces, data):
        return 0.1 * forces

    def reach(model, state, forces, data):
        return concatenate([10.0 * (state.joints - data), state.rates])

    about = {"dynamics": step, "start": arm.neutral(), "steps": 4, "cost": effort, "final_cost": reach}
    about |= {"force_limits": None, "data": [1.0, -0.5, 0.3], "time_weight": 0.0}
    numbers = {name: x for name, x in about.items() if "cost" not in name}
    problem = Problem(**about)
    mpc, feedback = MPC(problem, first=2), solve(problem, iterations=2).controller()
    phases = {"model": DOG, "phases": [Phase(3, FEET)], "dt": 0.01, "friction": None, "stiffness": 0.0}
    return {
        "problem": (lambda **given: Problem(cost=effort, final_cost=reach, **given), numbers),
        "solve": (
            lambda **given: solve(**{"iterations": 1} | given).status,
            {"problem": problem, "forces": None, "states": None, "method": "ddp", "tolerance": 1e-6},
        ),
        "mpc": (MPC, {"problem": problem, "rate": None, "iterations": 1, "first": 2, "penalty": 1e5}),
        "call": (mpc, {"t": 0.0, "state": arm.neutral()}),
        "tick": (mpc.tick, {"state": arm.neutral(), "data": None}),
        "feedback": (feedback, {"t": 0.0, "state": arm.neutral()}),
        "phases": (ContactPhases, phases | {"damping": None, "places": None}),
        "phase": (lambda **given: ContactPhases(DOG, [Phase(**given)], 0.01), {"steps": 3, "points": FEET, "dt": None}),
    }


@pytest.mark.parametrize("name", ["problem", "solve", "mpc", "call", "tick", "feedback", "phases", "phase"])
def test_odd_arguments(name):
    call = odd_calls()[name]
    for changed, odd in changes(call):
        tried(call, changed, odd)
