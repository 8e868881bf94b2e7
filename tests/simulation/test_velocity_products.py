"""Products of velocities in steps of fixed size: momentum of flights, and steps in which joints turn far."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import robots
from fallingcat.model.robots.random_tree import random_tree
from fallingcat.simulation import BatchSimulator, Implicit
from fallingcat.simulation.build_problem import build_problem
from fallingcat.simulation.integrators.implicit import step as implicit_step
from fallingcat.simulation.integrators.implicit.end import end_step
from fallingcat.simulation.integrators.implicit.step import begin_step, converged
from fallingcat.simulation.integrators.refinement import turning_rates
from fallingcat.simulation.integrators.step_arguments import StepArguments
from fallingcat.simulation.problem.vector_field import layout_of


def world_momentum(model, state):
    return np.asarray(fc.momentum(model, state, frame="world"))


@pytest.mark.parametrize("seed", range(6))
def test_momentum_of_flights_is_kept_to_order_two(seed):
    """Linear and angular momentum of tumbling robots without weight, relative to what of it moves."""
    rng = np.random.default_rng(seed)
    model = replace(random_tree(rng, 1 + seed), base=fc.lie.SE3(), gravity=np.zeros(3))
    start = model.random_state(rng)
    start = start._replace(twist=rng.normal(size=6), rates=rng.normal(size=model.n))
    before, drifts = world_momentum(model, start), []
    for dt in (2e-3, 1e-3):
        run = fc.simulate(model, start, 0.1, integrator=Implicit(), dt=dt, passive=False)
        drifts.append(np.abs(world_momentum(model, run.state(-1)) - before).max() / np.abs(before).max())
    assert drifts[1] < 1e-4  # 1e-2 if products of velocities were those of the start
    assert drifts[1] < 0.35 * drifts[0] or drifts[1] < 1e-9, drifts


def momentum_error(model, floor, start, dt, steps):
    """Momentum after some steps, less that before, less what gravity and contact forces gave; relative to these."""
    problem = Implicit().suited(build_problem(model, fc.State.stack([start]), (), floor, passive=False))
    _, memory = floor.begin(model, start)
    layout = layout_of(problem, len(memory))
    x = np.append(0.0, layout.pack(start, memory, np.zeros(layout.works)))
    given, size = np.zeros(6), 0.0
    for _ in range(steps):
        none = np.zeros(0)
        step, signs = begin_step(StepArguments(model, x, np.array([dt]), none, none, (), floor, len(memory)))
        last = converged(step, signs)
        poses = fc.forward_kinematics(model, step.state)
        for point, force in zip(step.points, last.contact_forces, strict=True):
            H = poses[model.link_names[point.link]]
            f = H[:3, :3] @ point.axes.T @ force
            given += dt * np.append(f, np.cross(H[:3] @ np.append(point.place, 1.0), f))
            size += dt * np.linalg.norm(f)
        weight = model.mass * model.gravity
        given += dt * np.append(weight, np.cross(fc.center_of_mass(model, step.state), weight))
        x = end_step(step, last)
    after = layout.unpack(x[1:])[0]
    return np.abs(world_momentum(model, after) - world_momentum(model, start) - given).max() / size


@pytest.mark.parametrize("seed", range(3))
def test_momentum_changes_by_the_impulses_of_the_ground(seed):
    """On springs and dampers, of robots that tumble: all but what falls with the square of the step."""
    rng = np.random.default_rng(seed)
    model = replace(random_tree(rng, 2 + seed), base=fc.lie.SE3())
    away = fc.model.Frame("point", model.link_names[-1], fc.lie.SE3().exp([*rng.normal(size=3), 0.0, 0.0, 0.0]))
    model = replace(model, frames=(*model.frames, away))
    start = model.random_state(rng)
    start = start._replace(twist=rng.normal(size=6), rates=rng.normal(size=model.n))
    height = float(fc.contact.position(model, start, "point")[2]) + 0.1  # it stays inside
    floor = fc.contact.CompliantFloor(("point",), (300.0, 300.0), (3.0, 3.0), height=height)
    errors = [momentum_error(model, floor, start, 2e-3 / k, 20 * k) for k in (1, 2)]
    assert errors[0] < 2e-2, errors
    assert errors[1] < 0.4 * errors[0], errors


# steps in which joints turn far -------------------------------------------------------------------------------------


def fast_quadruped():
    """Whose legs turn by more than 0.3 rad in some of the steps of 4 ms."""
    model = robots.quadruped()
    rates = np.random.default_rng(0).normal(size=model.n) * 60.0
    pose = np.eye(4)
    pose[2, 3] = 0.5
    state = model.state(pose=pose, joints=np.tile([0.0, 0.6, -1.2], 4), twist=[0, 0, 0, 1.0, 2.0, 3.0], rates=rates)
    return model, state, tuple(frame.name for frame in model.frames)


CONTACTS = {
    "implicit": lambda feet: fc.contact.CompliantFloor(feet, (2e4, 2e4), (200.0, 200.0), friction=0.8),
    "moreau": lambda feet: fc.contact.HardContacts(feet, friction=0.8),
}


@pytest.mark.parametrize("name", CONTACTS)
def test_refined_steps_do_not_depend_on_calls_and_neighbours(name):
    """One robot or many, one step a call or all: bit for bit the same motion."""
    model, fast, feet = fast_quadruped()
    contact, still = CONTACTS[name](feet), fast._replace(rates=np.zeros(model.n))
    alone, many = (
        BatchSimulator(model, [fast], (), contact, dt=4e-3),
        BatchSimulator(model, [still, fast, still], (), contact, dt=4e-3),
    )
    sim = fc.Simulator(model, contact, dt=4e-3, state=fast)
    many.step(10)
    sim.step(steps=10)
    for _ in range(10):
        alone.step()
    run = fc.simulate(model, fast, 0.04, (), contact, integrator=name, dt=4e-3)
    counts = alone.stepper.counts(alone.packed())
    assert counts["refined"][0] >= 2.0
    assert counts["coarse"][0] == 0.0
    np.testing.assert_array_equal(many.packed()[1], alone.packed()[0])
    np.testing.assert_array_equal(alone.state.joints[0], run.joints[-1])
    np.testing.assert_array_equal(alone.state.pose[0], run.poses[-1])
    np.testing.assert_allclose(sim.state.joints, run.joints[-1], atol=1e-13)  # its steps take forces, too
    assert alone.times[0] == 0.04
    assert not many.stepper.counts(many.packed())["refined"][[0, 2]].any()


@pytest.mark.parametrize("name", CONTACTS)
def test_refined_steps_are_the_quarters(name):
    """A step in which joints turn far is four of a quarter, if these are short enough."""
    model, fast, feet = fast_quadruped()
    contact = CONTACTS[name](feet)
    whole, quarters = (BatchSimulator(model, [fast], (), contact, dt=dt) for dt in (4e-3, 1e-3))
    whole.step(1)
    quarters.step(4)
    found, expected = whole.state, quarters.state
    np.testing.assert_array_equal(found.pose, expected.pose)
    np.testing.assert_array_equal(found.velocity[0], expected.velocity[0])


def test_wheels_may_turn_by_any_angle():
    """Continuous joints are not looked at, nor are those along a line."""
    model = robots.quadruped()
    assert turning_rates(model) == tuple(range(12))
    wheel = replace(model.joints[1], limits=fc.model.Limits())
    slide = replace(model.joints[2], kind=fc.model.joints.Prismatic((0.0, 0.0, 1.0)))
    edited = replace(model, joints=(model.joints[0], wheel, slide, *model.joints[3:]))
    assert turning_rates(edited) == (0, *range(3, 12))


def test_steps_that_do_not_converge_are_counted(monkeypatch):
    """Beside a tolerance that no sweep meets, each of them."""
    model, state, feet = fast_quadruped()
    state = state._replace(rates=np.zeros(model.n))
    floor = CONTACTS["implicit"](feet)
    problem = Implicit().suited(build_problem(model, fc.State.stack([state]), (), floor, passive=False))
    _, memory = floor.begin(model, state)
    layout = layout_of(problem, len(memory))
    x = np.append(0.0, layout.pack(state, memory, np.zeros(layout.works)))
    about = (np.array([1e-3]), np.zeros(0), np.zeros(0), (), floor, len(memory))
    for tolerance, count in ((1e-3, 0.0), (0.0, 1.0)):
        monkeypatch.setattr(implicit_step, "FORCE_TOLERANCE", tolerance)
        start, signs = begin_step(StepArguments(model, x, *about))
        after = end_step(start, converged(start, signs))
        assert layout.carried_of(after[1:])[model.nv] == count


def test_parts_of_a_step_do_not_throw_what_lies_below_the_ground():
    """A quadruped whose feet a step has left 5 mm deep, while a knee turns so fast that the next one is refined."""
    dog, feet = robots.quadruped(), tuple(frame.name for frame in robots.quadruped().frames)
    ground, rates = fc.contact.HardContacts(feet), np.zeros(12)
    start, rates[2] = dog.standing(ground, joints=np.tile([0.0, 0.6, -1.2], 4)), -100.0
    simulator = BatchSimulator(dog, [start._replace(rates=rates)], (), ground, dt=4e-3)
    simulator._x[0, 1 + 11] -= 5e-3  # the height in the packed pose
    simulator.step(1)
    assert simulator.stepper.counts(simulator.packed())["refined"].sum() == 1
    # 11 rad/s bring the legs back by 5 mm within 4 ms; within a quarter of the step it took 42
    assert np.abs(simulator.state.rates[0, 3:]).max() < 12.0


def stress(model, points, contact, count, seconds):
    """Speed of the fastest joint of robots under random torques at 4 ms, in units of its limit."""
    limits = [joint.limits for joint in model.joints]
    effort, speed = (np.array([getattr(limit, what) for limit in limits]) for what in ("effort", "velocity"))
    pose = np.eye(4)
    pose[2, 3] = 0.92
    simulator = BatchSimulator(model, [model.state(pose=pose)] * count, (), contact(points), dt=4e-3, driven=True)
    rng, fastest = np.random.default_rng(0), 0.0
    for _ in range(round(seconds / 0.02)):
        simulator.step(5, forces=rng.uniform(-1.0, 1.0, (count, model.n)) * effort)
        assert np.isfinite(simulator.packed()).all()
        fastest = max(fastest, float((np.abs(simulator.state.rates) / speed).max()))
    assert not simulator.stepper.counts(simulator.packed())["coarse"].any()
    return fastest


@pytest.mark.parametrize(("count", "seconds"), [(16, 2.0), pytest.param(512, 10.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CONTACTS)
def test_humanoids_under_random_torques_stay_finite(name, count, seconds):
    """No joint is faster than 36 times its speed limit: 128 of them in steps of 0.25 ms pass 24 times."""
    model, left = fc.contact.corners(robots.humanoid(), "left_sole", (0.2, 0.1))
    model, right = fc.contact.corners(model, "right_sole", (0.2, 0.1))
    assert stress(model, (*left, *right), CONTACTS[name], count, seconds) < 36.0
