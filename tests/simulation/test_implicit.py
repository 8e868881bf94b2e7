"""The linearly implicit step: against its equation solved densely, closed forms, and the Rosenbrock reference."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import State, robots
from fallingcat.arrays import concatenate
from fallingcat.compiler.ir.instructions import Repeat
from fallingcat.contact.effective_mass import effective_mass
from fallingcat.contact.theta_weights import ThetaWeights
from fallingcat.geometry.contact_points import point_bias, point_jacobian
from fallingcat.model.robots.random_tree import random_tree
from fallingcat.simulation import BatchSimulator, build_problem
from fallingcat.simulation.integrators.implicit.integrator import Implicit, conclusion, prediction, stepped
from fallingcat.simulation.integrators.implicit.step import moving
from fallingcat.simulation.problem.contact_branches import by_contact_branches
from fallingcat.simulation.problem.law_parameters import split_parameters
from fallingcat.simulation.problem.vector_field import layout_of

SIT = tuple(np.tile([0.0, 0.6, -1.2], 4))


def quadruped(height=0.4, **floor):
    model = robots.quadruped()
    feet = tuple(frame.name for frame in model.frames)
    numbers = {"stiffness": (2e4, 2e4), "damping": (2e2, 2e2), "friction": 0.8} | floor
    pose = np.eye(4)
    pose[2, 3] = height
    laws = (fc.control.JointSpring(200.0, SIT), fc.control.JointDamper(5.0))
    return model, model.state(pose=pose, joints=SIT), laws, fc.contact.CompliantFloor(feet, **numbers)


def block(friction=0.5, slope=0.0, **floor):
    """A cube of 1 kg that slides on one of its corners' middle: a point below its center, so that it does not tip."""
    body = robots.free_body()
    normal = (-np.sin(slope), 0.0, np.cos(slope))
    model = fc.Model(body.name, fc.lie.R3(), body.links, gravity=body.gravity)
    numbers = {"stiffness": (1e4, 1e4), "damping": (100.0, 100.0)} | floor
    return model, fc.contact.CompliantFloor((model.link_names[0],), friction=friction, normal=normal, **numbers)


@pytest.mark.parametrize("seed", range(12))
def test_a_step_solves_its_equation(seed):
    """``(M + dt J' G J) a = f - C u - g + J' (f0 - dt G dJ/dt u)`` of points that stick, with dense matrices, at the
    place in its middle, and with the velocity ``u`` that the acceleration of the last step foresees there.
    """
    rng = np.random.default_rng(seed)
    model = random_tree(rng, 1 + seed % 6)
    links = rng.choice(model.link_names, size=min(3, len(model.links)), replace=False).tolist()
    away = [
        fc.model.Frame(f"on {link}", link, fc.lie.SE3().exp([*rng.normal(size=3), 0.0, 0.0, 0.0])) for link in links
    ]
    model = replace(model, frames=(*model.frames, *away))  # away from the axes: their turning counts
    places = tuple(frame.name for frame in away)
    K, D, dt = (3e3, 2e3), (40.0, 30.0), 2e-3
    floor = fc.contact.CompliantFloor(places, K, D, height=1e3, friction=None)  # far above: all points are inside
    state = model.random_state(rng)
    problem = Implicit().suited(build_problem(model, State.stack([state]), (), floor, passive=False))
    _, memory = floor.begin(model, state)
    memory, last = memory + rng.normal(size=len(memory)) * 1e-3, rng.normal(size=model.nv)
    stepper, layout = Implicit().stepper(problem, (), len(memory)), layout_of(problem, len(memory))
    packed = layout.pack(state, memory, np.zeros(layout.works), np.append(last, np.zeros(layout.carried - model.nv)))
    x = stepper.at(0.0, dt, packed)
    after = layout.unpack(stepper.kernel(x, np.array([dt]), stepper.numbers, np.zeros(0))[1:])[0]  # not refined

    ground, middle = fc.contact.plane(model, None, 1e3), model.configuration.displace(state, 0.5 * dt * state.velocity)
    predicted = moving(middle, state.velocity + 0.5 * dt * last)
    left, right = fc.mass_matrix(model, middle), -fc.bias_forces(model, predicted)
    K, D = np.array([K[0], K[1], K[1]]), np.array([D[0], D[1], D[1]])
    spring, damper, *_ = ThetaWeights.of(K, D, effective_mass(model, floor), dt)
    for i, place in enumerate(places):
        J, bias = (ground.axes @ f(model, predicted, place) for f in (point_jacobian, point_bias))
        u, away = J @ state.velocity, ground.axes @ fc.contact.position(model, middle, place)
        away = away - np.array([1e3, *memory[2 * i : 2 * i + 2]])
        G = np.diag(K * dt * (spring + 0.25) + D * damper)
        left = left + dt * J.T @ G @ J
        right = right - J.T @ (K * (away + dt * spring * u) + D * u + dt * G @ bias)
    acceleration = np.linalg.solve(left, right)
    scale = np.abs(acceleration).max()
    np.testing.assert_allclose((after.velocity - state.velocity) / dt, acceleration, atol=1e-11 * scale / dt * 2e-3)
    moved = model.configuration.displace(middle, 0.5 * dt * after.velocity)
    np.testing.assert_allclose(after.pose, moved.pose, atol=1e-13 * max(1.0, np.abs(moved.pose).max()))
    np.testing.assert_allclose(after.joints, moved.joints, atol=1e-12)


def test_order_two_towards_the_reference():
    """But for products of velocities, which are small where a robot lands softly."""
    model, state, laws, floor = quadruped(0.33)
    reference = fc.simulate(model, state, 0.2, laws, floor, integrator="rosenbrock")
    errors = []
    for dt in (4e-4, 2e-4, 1e-4):
        run = fc.simulate(model, state, 0.2, laws, floor, integrator="implicit", dt=dt)
        assert run.status == "finished"
        errors.append(np.abs(run.joints[-1] - reference.joints[-1]).max())
    assert errors[-1] < 1e-6
    slope = np.log(errors[0] / errors[-1]) / np.log(4.0)
    assert 1.5 < slope < 2.5, errors


def test_long_steps_on_stiff_floors():
    """It comes to rest where its weight is carried, on floors that shake a hundred times within a step."""
    model, state, laws, _ = quadruped(0.35)
    feet = tuple(frame.name for frame in model.frames)
    for stiffness, dt in ((1e4, 1e-2), (1e6, 1e-2), (1e8, 1e-3)):
        floor = fc.contact.CompliantFloor(feet, (stiffness, stiffness), (0.01 * stiffness,) * 2, friction=1.0)
        run = fc.simulate(model, state, 8.0, laws, floor, integrator="implicit", dt=dt)
        assert np.abs(run.rates[-1]).max() < 1e-6
        heights = [fc.contact.position(model, run.state(-1), foot)[2] for foot in feet]
        sunk = model.mass * 9.81 / (4.0 * stiffness)
        np.testing.assert_allclose(np.mean(heights), -sunk, rtol=1e-6)


def test_stiff_joints_at_any_step():
    """Springs and dampers in joints that an explicit step of this size would blow up."""
    arm = robots.planar_arm()
    laws = (fc.control.JointSpring(1e6), fc.control.JointDamper(1e4))
    run = fc.simulate(arm, arm.state(joints=[0.1, -0.1, 0.2]), 1.0, laws, integrator="implicit", dt=1e-2)
    assert np.abs(run.joints[-1]).max() < 1e-3
    other = fc.simulate(arm, arm.state(joints=[0.1, -0.1, 0.2]), 0.1, laws, integrator="semi_implicit", dt=1e-2)
    assert other.status != "finished"


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_sliding_follows_coulomb(slope):
    """``a = g (sin - mu cos)`` down the slope while it slides; at rest no creep where friction holds."""
    model, floor = block(friction=0.2, slope=slope)
    t, n = np.array([np.cos(slope), 0.0, np.sin(slope)]), np.array([-np.sin(slope), 0.0, np.cos(slope)])
    pose = np.eye(4)
    pose[:3, 3] = -n * model.mass * 9.81 * np.cos(slope) / 1e4
    run = fc.simulate(model, model.state(pose=pose, twist=-3.0 * t), 0.4, (), floor, integrator="implicit", dt=1e-4)
    v = (run.twists @ t)[-1]
    np.testing.assert_allclose(v, -3.0 - 9.81 * (np.sin(slope) - 0.2 * np.cos(slope)) * 0.4, rtol=2e-3)
    model, floor = block(friction=0.4, slope=slope)
    run = fc.simulate(model, model.state(pose=pose), 2.0, (), floor, integrator="implicit", dt=1e-3)
    assert np.abs(run.twists[-1]).max() < 1e-9


@pytest.mark.parametrize(("sweeps", "stiffness"), [(1, 1e5), (2, 1e5), (2, 1e6), (3, 1e6)])
def test_what_slides_is_braked_by_friction_times_weight(sweeps, stiffness):
    """Four points: the second sweep once took the velocity of what sticks for that of what slides, and braked 1.8
    times as hard."""
    at, body, friction = fc.lie.SE3().exp, robots.free_body(), 0.2
    sides = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    name = body.link_names[0]
    frames = tuple(fc.model.Frame(f"c{i}", name, at([*side, 0.0, 0.0, 0.0, 0.0])) for i, side in enumerate(sides))
    model = replace(body, frames=frames)
    floor = fc.contact.CompliantFloor(tuple(f.name for f in frames), (stiffness,) * 2, (300.0, 300.0), friction)
    rest = model.state(pose=at([0.0, 0.0, -model.mass * 9.81 / (4 * stiffness), 0, 0, 0]), twist=[2.0, 0, 0, 0, 0, 0])
    run = fc.simulate(model, rest, 0.2, contact=floor, integrator=Implicit(sweeps), dt=1e-3)
    slowed = run.twists[100, 0] - run.twists[200, 0]  # springs along the ground are stretched by then
    assert slowed == pytest.approx(friction * 9.81 * 0.1, rel=5e-3)


def test_a_point_in_the_air_falls_freely():
    """Anchors follow: what was touched before is forgotten, and landing begins without tangential load."""
    model, floor = block(friction=None)
    pose = np.eye(4)
    pose[2, 3] = 1.0
    run = fc.simulate(model, model.state(pose=pose, twist=[1.0, 0.0, 0.0]), 0.4, (), floor, integrator="implicit")
    np.testing.assert_allclose(run.twists[-1], [1.0, 0.0, -9.81 * 0.4], rtol=1e-12)
    assert run.modes[-1] == (False,)
    np.testing.assert_allclose(run.memory[-1], [0.4, 0.0], atol=1e-12)


def test_ledger_and_modes():
    model, state, laws, floor = quadruped(0.34)
    run = fc.simulate(model, state, 0.5, laws, floor, integrator="implicit", dt=1e-4)
    assert run.energy_residual < 2e-3
    coarse = fc.simulate(model, state, 0.5, laws, floor, integrator="implicit", dt=4e-4)
    assert 2.0 < coarse.energy_residual / run.energy_residual < 8.0
    for k in (0, 100, -1):
        expected = tuple(bool(fc.contact.position(model, run.state(k), p)[2] < 0.0) for p in floor.points)
        assert run.modes[k] == expected


@dataclass(frozen=True)
class Push(fc.control.Law):
    """Pushes by what touches."""

    name = "push"

    def forces(self, model: fc.Model, t: Any, state: fc.State, touching: frozenset[str]) -> Any:
        size = 1.0 * ("front_left_foot" in touching) + 10.0 * len(touching & {"rear_left_foot", "rear_right_foot"})
        return concatenate([np.array([size, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(model.n)])


def test_laws_may_ask_what_touches():
    model, state, laws, floor = quadruped(0.326)
    run = fc.simulate(model, state, 0.3, (*laws, Push()), floor, integrator="implicit", dt=1e-3)
    reference = fc.simulate(model, state, 0.3, (*laws, Push()), floor)
    np.testing.assert_allclose(run.poses[-1, 0, 3], reference.poses[-1, 0, 3], atol=2e-4)
    without = fc.simulate(model, state, 0.3, laws, floor, integrator="implicit", dt=1e-3)
    assert abs(run.poses[-1, 0, 3] - without.poses[-1, 0, 3]) > 1e-3


def test_every_case_is_found():
    """By ``in``, by size, by iteration, by operations between sets."""
    asked = {"a": True, "b": False, "c": True}
    for function in (
        lambda s: np.array([1.0 * ("a" in s) + 2.0 * ("b" in s) + 4.0 * ("c" in s)]),
        lambda s: np.array([sum({"a": 1.0, "b": 2.0, "c": 4.0}[name] for name in s)]),
        lambda s: np.array([1.0 * bool(s & {"a"}) + 4.0 * (s >= {"c"})]),
    ):
        assert by_contact_branches(function, asked) == [5.0]
    assert by_contact_branches(lambda s: np.array([float(len(s))]), asked) == [2.0]


def test_whole_runs():
    """What is kept, the last step, events, and numbers that are not finite."""
    model, state, laws, floor = quadruped(0.34)
    run = fc.simulate(model, state, 0.0105, laws, floor, integrator="implicit", every=3)
    np.testing.assert_allclose(run.times, [0.0, 0.003, 0.006, 0.009, 0.0105], atol=1e-15)
    low = fc.simulation.Event("low", lambda t, s: s.pose[2, 3] - 0.338, terminal=True)
    stopped = fc.simulate(model, state, 0.5, laws, floor, integrator="implicit", events=[low])
    assert "low" in stopped.status
    assert abs(stopped.poses[-1, 2, 3] - 0.338) < 1e-9
    one_by_one = fc.simulate(model, state, 0.01, laws, floor, integrator="implicit", events=[low])
    at_once = fc.simulate(model, state, 0.01, laws, floor, integrator="implicit")
    np.testing.assert_allclose(one_by_one.joints, at_once.joints, atol=1e-14)  # steps end on a grid, up to rounding
    wild = (fc.control.JointSpring(-1e9),)  # which limits of drives would tame
    burst = fc.simulate(model, state, 0.1, wild, floor, integrator="implicit", passive=False)
    assert burst.status.startswith("stopped after")
    assert "no longer finite" in burst.status
    assert np.isfinite(burst.joints).all()


@pytest.mark.parametrize("rub", [0.0, 0.5])
def test_what_is_foreseen_and_concluded_is_the_step(rub):
    """As GPUs compute it, in two kernels: lifting, sliding and sticking feet, and joints that dry friction holds."""
    model, state, laws, floor = quadruped(0.33)
    joints = tuple(replace(joint, passive=fc.model.Passive(friction=rub)) for joint in model.joints)
    model = replace(model, joints=joints)
    rng, matters = np.random.default_rng(1), []
    for height in (0.2, 0.30, 0.33, 0.5):
        state.pose[2, 3] = height
        start = state._replace(twist=rng.normal(size=6), rates=0.1 * rng.normal(size=model.n))
        problem = Implicit().suited(build_problem(model, State.stack([start]), laws, floor))
        _, memory = floor.begin(model, start)
        layout = layout_of(problem, len(memory))
        x = np.concatenate([[0.1], layout.pack(start, memory, rng.normal(size=layout.works))])
        laws_alone, numbers = split_parameters(problem.laws, model)
        given = (model, x, np.array([2e-3]), numbers, np.zeros(0))
        about = {"laws": laws_alone, "contact": floor, "memory": len(memory)}
        signs = prediction(*given, **about, sweeps=2)
        limited = model.n  # drives with speed limits
        assert len(signs) == 3 * len(floor.points) + (2 * model.n if rub else 0) + limited
        found, expected = conclusion(*given, signs, **about), stepped(*given, **about, sweeps=2)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
        matters.append(np.abs(stepped(*given, **about, sweeps=1) - expected).max() > 1e-9)
    assert any(matters)


@pytest.mark.parametrize(("stiffness", "dt"), [(1e4, 1e-3), (3e4, 2e-3), (1e6, 2e-3)])
def test_sweeps_go_on_until_forces_are_those_of_the_law(stiffness, dt):
    """As far as eight of them would, in every step of a landing; one where nothing changes."""
    model, state, laws, _ = quadruped(0.33)
    points = tuple(frame.name for frame in model.frames)
    floor = fc.contact.CompliantFloor(points, (stiffness, stiffness), (300.0, 300.0), friction=0.6)

    def end(sweeps):
        return fc.simulate(model, state, 0.2, laws, floor, integrator=Implicit(sweeps), dt=dt).poses[-1, :3, 3]

    assert np.abs(end(None) - end(8)).max() < 2e-5
    assert np.abs(end(1) - end(8)).max() > 1e-4 or stiffness < 1e5


def test_a_light_arm_rests_on_a_stiff_floor():
    """With one sweep the force at the tip flickers by a quarter of its weight; its post of a ton changes nothing."""

    def at(x, z=0.0):
        H = np.eye(4)
        H[0, 3], H[2, 3] = x, z
        return H

    bodies = {"post": (1000.0, 0.0), "upper": (0.5, 0.25), "lower": (0.3, 0.2)}
    links = tuple(
        fc.Link(name, fc.Body(m, np.array([x, 0.0, 0.0]), 0.01 * m * np.eye(3))) for name, (m, x) in bodies.items()
    )
    hinge = fc.model.Revolute((0.0, 1.0, 0.0))
    joints = (
        fc.Joint("shoulder", hinge, "post", "upper", at(0.0, 0.3)),
        fc.Joint("elbow", hinge, "upper", "lower", at(0.5)),
    )
    arm = fc.Model("arm", fc.lie.Trivial(), links, joints, frames=(fc.model.Frame("tip", "lower", at(0.4)),))
    start, law = arm.state(joints=[0.1, 0.2]), fc.control.JointDamper(0.05)

    def run(sweeps, stiffness, dt=1e-3):
        floor = fc.contact.CompliantFloor(("tip",), (stiffness, stiffness), (300.0, 300.0), friction=0.6)
        return fc.simulate(arm, start, 1.0, law, floor, integrator=Implicit(sweeps), dt=dt)

    def flicker(sweeps):
        found = run(sweeps, 1e6)
        return found.contact_forces[found.times > 0.8, 0, 2].std() / (0.8 * 9.81)

    assert flicker(1) > 0.2
    assert flicker(None) < 0.01
    soft, fine = run(None, 1e4), run(2, 1e4, 1e-3 / 64.0)
    assert np.abs(soft.joints[-1] - fine.joints[-1]).max() < 0.05


def test_refusals():
    model, state, laws, floor = quadruped()
    hard = fc.contact.HardContacts(floor.points)
    with pytest.raises(fc.ModelError, match="needs linearised forces, which HardContacts does not offer"):
        fc.simulate(model, state, 0.01, laws, hard, integrator="implicit")
    with pytest.raises(fc.ModelError, match="sweeps is a whole number above zero, not 0"):
        Implicit(sweeps=0)
    twice = fc.contact.CompliantFloor(floor.points[:1] * 2, (1e4, 1e4), (1e2, 1e2))
    with pytest.raises(fc.ModelError, match="named twice"):
        fc.rollout(model, [state], 0.01, laws, twice)


def test_many_runs():
    """A list of states, one state of arrays: the same bits, and those of a run alone but for where it starts to touch;
    on a floor, ``implicit`` is the default.
    """
    model, state, laws, floor = quadruped(0.33)
    rng = np.random.default_rng(0)
    states = [state._replace(rates=rng.normal(size=12)) for _ in range(19)]
    many = fc.State(*(np.array(x) for x in zip(*states, strict=True)))
    a = fc.rollout(model, states, 0.05, laws, floor, dt=1e-3, every=10)
    b = fc.rollout(model, many, 0.05, laws, floor, dt=1e-3, every=10, threads=2)
    for x, y in zip(vars(a).values(), vars(b).values(), strict=True):
        np.testing.assert_array_equal(x, y)
    alone = fc.simulate(model, states[7], 0.05, laws, floor, integrator="implicit", dt=1e-3, every=10)
    np.testing.assert_allclose(a.poses[:, 7], alone.poses, atol=1e-14)
    np.testing.assert_allclose(a.rates[:, 7], alone.rates, atol=1e-12)
    np.testing.assert_allclose(a.works[:, 7], alone.ledger.works, atol=1e-12)


def test_states_of_arrays_are_looked_at():
    model, state, laws, floor = quadruped()
    many = fc.State(*(np.array([x, x]) for x in state))
    with pytest.raises(fc.ModelError, match=r"joints must have shape \(2, 12\), got \(2, 11\)"):
        fc.rollout(model, many._replace(joints=many.joints[:, :11]), 0.01, laws, floor)
    with pytest.raises(fc.ModelError, match="state 1: pose is no element"):
        fc.rollout(model, many._replace(pose=many.pose * np.array([1.0, 2.0])[:, None, None]), 0.01, laws, floor)
    with pytest.raises(fc.ModelError, match="no state to start from"):
        fc.rollout(model, fc.State(*(x[:0] for x in many)), 0.01, laws, floor)
    with pytest.raises(fc.ModelError, match="many runs start from a list of states"):
        fc.rollout(model, state, 0.01, laws, floor)


def test_the_default_on_compliant_floors():
    """Steps that locate no events, but for a hopper on its foot and laws that ask what touches."""
    model, state, laws, floor = quadruped()
    for points in (1, 2, 3, 4):
        run = fc.simulate(model, state, 1e-3, laws, replace(floor, points=floor.points[:points]))
        assert run.integrator == "implicit"
    two = replace(floor, points=floor.points[:2])
    assert fc.simulate(model, state, 1e-3, (*laws, Push()), two).integrator == "rosenbrock"
    hopper = robots.revolute_hopper()
    ground = fc.contact.CompliantFloor(("foot",), (1e4, 1e4), (100.0, 100.0))
    assert fc.simulate(hopper, hopper.neutral(), 1e-3, contact=ground).integrator == "rosenbrock"


def test_landing_in_long_steps_is_reported():
    """Undamped corners throw a box back; steps of 1 ms keep it on the floor, with books that balance."""
    at = fc.lie.SE3().exp
    body = fc.Link("box", fc.Body(2.0, (0.0, 0.0, 0.0), 0.01 * np.eye(3)))
    sides = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    corners = tuple(fc.model.Frame(f"c{i}", "box", at([*side, 0.0, 0.0, 0.0, 0.0])) for i, side in enumerate(sides))
    model = fc.Model("box", fc.lie.SE3(), (body,), frames=corners)
    floor = fc.contact.CompliantFloor(
        tuple(f.name for f in corners), stiffness=(1e6, 1e6), damping=(0.0, 0.0), friction=None
    )
    start = model.state(pose=at([0.0, 0.0, 0.01, 0.0, 0.0, 0.0]))
    long, default = (fc.simulate(model, start, 0.1, contact=floor, dt=dt) for dt in (1e-3, None))
    told = "steps of 0.001 s are too long for the rebound from this floor; take at most 0.0002 s"
    assert long.status == f"finished, but {told}"
    assert default.status == "finished"
    assert long.poses[60:, 2, 3].max() < 0.002 < 0.008 < default.poses[len(default) // 2 :, 2, 3].max()
    standing = fc.simulate(model, model.neutral(), 0.05, contact=floor, dt=1e-3)
    assert "damp" not in standing.status  # it is put on the floor: nothing lands


def test_controllers_are_asked_at_each_step():
    """A plain function is held over a step that resolves it, else foreseen: as a law of the same forces it gives the
    same.
    """
    model, state, laws, floor = quadruped(0.33)
    asked = []

    def controller(t, now):
        asked.append(t)
        return -200.0 * (now.joints - np.array(SIT)) - 5.0 * now.rates

    run = fc.simulate(model, state, 0.1, controller, floor, integrator="implicit", dt=1e-3)
    estimated = 50 + 5  # steps of twice the size, for the estimate of the error
    # four times to see what it gives and whether it remembers, and now and then how stiff it is
    assert len(asked) <= 101 + 2 * model.n + 4 + 10 + estimated
    by_laws = fc.simulate(model, state, 0.1, laws, floor, integrator="implicit", dt=1e-3)
    np.testing.assert_allclose(run.joints[-1], by_laws.joints[-1], atol=1e-10)
    assert "controller" in run.ledger.ports
    assert run.energy_residual < 0.02


def test_what_a_step_costs():
    """The quadruped of the benchmark, with stops and drive limits: what batches on a GPU do a step with."""
    model = robots.quadruped()
    rest = tuple(np.tile([0.0, 0.6, -1.2], 4).tolist())
    laws = fc.control.JointSpring(200.0, rest), fc.control.JointDamper(5.0)
    points = tuple(frame.name for frame in model.frames)
    floor = fc.contact.CompliantFloor(points, (3e4, 3e4), (300.0, 300.0), friction=0.8)
    start = fc.State(*(x[None] for x in model.standing(floor, rest)))
    program = BatchSimulator(model, start, laws, floor, dt=2e-3).stepper.kernel.program
    (sweeps,) = (chunk for chunk in program.chunks if isinstance(chunk, Repeat))
    lines = [*program.instructions, *(line for chunk in sweeps.parts[0] for line in chunk.instructions)]
    assert len(lines) <= 6700  # of one sweep, as where nothing begins to slide; a product and a sum count once
    assert sum(line.op in ("div", "sqrt") for line in lines) <= 103
