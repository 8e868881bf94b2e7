"""Steps that springs are too fast for: defaults do not take them, and runs that took them say so."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper
from fallingcat.simulation import Problem
from fallingcat.simulation.step_size import MAX_REBOUND_ERROR, MAX_RESOLVED_PHASE, default_step, fastest, stable_step

BALL = fc.robots.free_body()
HOPPER = fc.robots.revolute_hopper()
FLOOR = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(30.0, 30.0), friction=0.8)


def above(model, height):
    pose = np.eye(4)
    pose[1 if model.m == 3 else 2, 3] = height
    return model.state(pose=pose)


@pytest.fixture(scope="module")
def hopping():
    """A hopper that falls onto its floor within a tenth of a second."""
    state = above(HOPPER, 0.3)
    return state, fc.simulate(HOPPER, state, 0.5, JointDamper(1e-3), FLOOR)


@pytest.mark.parametrize(("stiffness", "damping"), [(1e4, 10.0), (1e2, 500.0), (0.0, 3.0)])
def test_the_rate_of_a_single_spring(stiffness, damping):
    floor = fc.contact.CompliantFloor(("body",), (stiffness, 0.0), (damping, 0.0), friction=None)
    rate = fastest(Problem(BALL, contact=floor), BALL.neutral())
    assert rate == pytest.approx(max(damping / BALL.mass, np.sqrt(stiffness / BALL.mass)), rel=1e-12)


def test_the_rate_is_that_of_the_linearised_motion():
    """The field's own Jacobian, by differences, with all feet in the ground, against `M^-1 J' D J`."""
    dog, rng = fc.robots.quadruped(), np.random.default_rng(1)
    feet = tuple(frame.name for frame in dog.frames)
    floor = fc.contact.CompliantFloor(feet, (0.0, 0.0), (200.0, 100.0), friction=None)
    state = dog.state(joints=0.3 * rng.normal(size=dog.n))
    problem, mode, memory = Problem(dog, contact=floor), (True,) * 4, np.zeros(8)
    low = above(dog, -2.0)._replace(joints=state.joints, twist=np.array([0.0, 0.0, -5.0, 0.0, 0.0, 0.0]))

    def push(v):  # the damper alone, far from its clip
        moving = low._replace(twist=low.twist + v[:6], rates=v[6:])
        F = problem.forces(mode, 0.0, moving, memory)
        return sum(F.values())

    columns = [(push(1e-3 * x) - push(-1e-3 * x)) / 2e-3 for x in np.eye(dog.nv)]
    M = np.asarray(fc.mass_matrix(dog, low))
    rates = np.linalg.eigvals(np.linalg.solve(M, -np.array(columns).T)).real
    assert fastest(problem, low) == pytest.approx(rates.max(), rel=1e-6)


def test_a_robot_without_springs_takes_a_millisecond():
    assert fastest(Problem(BALL), BALL.neutral()) == 0.0
    assert default_step(Problem(BALL), BALL.neutral()) == 1e-3


def test_without_a_step_a_stiff_floor_is_resolved(hopping):
    """It took 1 ms, whatever the floor."""
    state, reference = hopping
    problem = reference.problem
    dt = default_step(problem, state)
    assert dt * fastest(problem, state) <= MAX_RESOLVED_PHASE
    assert dt < 1e-3
    run = fc.simulate(HOPPER, state, 0.5, JointDamper(1e-3), FLOOR, integrator="rkmk4")
    assert run.times[1] == pytest.approx(dt)
    assert run.status == "finished"
    assert run.energy_residual < 1e-3
    assert np.abs(run.poses[-1] - reference.poses[-1]).max() < 1e-4


def test_a_step_that_is_too_long_is_named_with_the_rate(hopping):
    state, reference = hopping
    run = fc.simulate(HOPPER, state, 0.5, JointDamper(1e-3), FLOOR, integrator="rkmk4", dt=1e-3)
    assert run.energy_residual > 0.01
    rate = f"up to {fastest(reference.problem, state):.3g} rad/s"
    assert "the energy balance is violated" in run.status
    assert rate in run.status


def test_rollouts_say_it_too(hopping):
    """They had no status, and took 1 ms."""
    state, reference = hopping
    right = fc.rollout(HOPPER, [state, state], 0.5, JointDamper(1e-3), FLOOR)
    assert right.status == "finished"
    assert (right.residual < 1e-3).all()
    away = right.poses[-1, :, :2, 3] - reference.poses[-1, :2, 3]
    assert np.abs(away).max() < 1e-6  # steps of its own, switches located
    far = above(HOPPER, 10.0)
    wrong = fc.rollout(HOPPER, [state, far], 0.5, JointDamper(1e-3), FLOOR, integrator="rkmk4", dt=1e-3)
    assert "in 1 of 2 simulations the energy balance is violated" in wrong.status
    assert "rad/s" in wrong.status
    assert wrong.residual[0] > 0.01 > 1e-6 > wrong.residual[1]


def test_a_rollout_that_breaks_says_so():
    cat = replace(fc.robots.two_cylinder_cat(), gravity=np.zeros(3))
    starts = [cat.state(rates=[1.0, 0.5]), cat.neutral()]
    broken = fc.rollout(cat, starts, 0.2, JointDamper(1e3), dt=1e-3, integrator="rkmk4")
    assert broken.finite.tolist() == [False, True]
    assert "in 1 of 2 simulations the motion is no longer finite; springs and dampers" in broken.status
    assert np.isnan(broken.residual[0])
    assert broken.residual[1] < 1e-9


def test_a_run_that_breaks_names_the_rate():
    cat = fc.robots.two_cylinder_cat()
    run = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.2, JointDamper(1e3), integrator="rkmk4", dt=1e-3)
    assert "the motion is no longer finite: springs and dampers move at up to" in run.status
    right = fc.simulate(cat, cat.state(rates=[1.0, 0.5]), 0.01, JointDamper(10.0), integrator="rkmk4")
    assert right.status == "finished"
    assert right.times[1] < 1e-3
    assert np.abs(right.rates[-1]).max() < 1e-3


def test_energy_balance_of_methods_that_choose_their_steps_is_checked_too():
    """They were not: a tolerance may be anything."""
    loose = fc.simulation.Rosenbrock(tolerance=1e3)
    floor = fc.contact.CompliantFloor(("body",), (1e5, 1e5), (0.0, 0.0), friction=None)
    run = fc.simulate(BALL, above(BALL, 0.05), 0.5, contact=floor, integrator=loose)
    assert run.energy_residual > 0.01
    assert "the energy balance is violated" in run.status


@pytest.mark.parametrize("stiffness", [1e3, pytest.param(2e4, marks=pytest.mark.slow), 1e6])
@pytest.mark.parametrize("damping", [0.0, pytest.param(0.1, marks=pytest.mark.slow), 0.3])
def test_rollouts_on_floors_take_steps_that_let_robots_rebound(stiffness, damping):
    """They took 1 ms whatever the floor, which stopped what should bounce, with books that balanced."""
    box, corners = fc.contact.corners(BALL, "body", (0.3, 0.2))
    D = 2.0 * damping * np.sqrt(stiffness * box.mass / 4.0)
    floor = fc.contact.CompliantFloor(corners, (stiffness, stiffness), (D, D + 1e-3), friction=0.5)
    start = above(box, 0.02)
    duration = np.sqrt(0.04 / 9.81) + np.pi * np.sqrt(box.mass / (4.0 * stiffness)) + 5e-3
    many = fc.rollout(box, [start], duration, contact=floor, every=1)
    assert many.status == "finished"
    landed = np.sqrt(2.0 * 9.81 * 0.02)
    leaves = many.twists[:, 0, 2].max()
    exact = landed if damping == 0.0 else fc.simulate(box, start, duration, contact=floor).twists[:, 2].max()
    assert abs(leaves - exact) < 0.06 * landed
    fixed = fc.rollout(box, [start], duration, contact=floor, every=1, dt=1e-3).twists[:, 0, 2].max()
    assert stiffness < 1e6 or damping == 0.3 or abs(fixed - exact) > 0.2 * landed


def test_floors_that_do_not_rebound_take_a_millisecond():
    dog = fc.robots.quadruped()
    feet = tuple(frame.name for frame in dog.frames)
    for stiffness, damping in ((2e4, 200.0), (1e6, 1e4), (0.0, 10.0)):
        floor = fc.contact.CompliantFloor(feet, (stiffness, stiffness), (damping, damping), friction=0.8)
        assert stable_step(Problem(dog, contact=floor), dog.neutral()) == 1e-3
    assert stable_step(Problem(dog), dog.neutral()) == 1e-3


@pytest.mark.parametrize("limits", [fc.model.Limits(), fc.model.Limits(-1.0, 1.0)], ids=["free", "stops"])
def test_what_nothing_resists_is_named(limits):
    """Point masses on a line do not resist a turn about it; a file of a small arm has no other bodies."""
    links = [fc.Link(name, fc.Body(1.0, (x, 0.0, 0.0), np.zeros((3, 3)))) for name, x in (("a", 0.0), ("b", 0.3))]
    hinge = fc.Joint("hinge", fc.joints.Revolute((0.0, 0.0, 1.0)), "a", "b", limits=limits)
    points = fc.Model("points", fc.lie.SE3(), tuple(links), (hinge,))
    says = "moves nothing that has inertia: the mass matrix is singular"

    def describe(run):
        try:
            return run(points, points.state(rates=[1.0]))
        except fc.NumericsError as error:  # stops are made for inertias, before there is a run
            return str(error)

    for integrator in (None, "rkmk4"):
        assert says in describe(lambda m, s, i=integrator: fc.simulate(m, s, 0.01, integrator=i).status)
    assert says in describe(lambda m, s: fc.rollout(m, [s, s], 0.01).status)


@pytest.mark.parametrize(("rate", "damping"), [(1e3, 0.9), (447.0, 1.0), (1e3, 1.2)])
def test_what_lands_on_damped_corners_leaves_as_it_should_in_default_steps(rate, damping):
    """It was thrown back with up to 0.36 of its speed where 0.13 is right: the step was 1 ms from ``z > 0.8`` on."""
    box, corners = fc.contact.corners(BALL, "body", (0.3, 0.2))
    k, d = 0.25 * box.mass * rate**2, 0.5 * damping * rate * box.mass
    floor = fc.contact.CompliantFloor(corners, (k, k), (d, d))

    def leaves(height, dt=None):
        pose, fall = np.eye(4), np.sqrt(2.0 * height / 9.81)
        pose[2, 3] = height
        run = fc.simulate(box, box.state(pose=pose), fall + 0.05, (), floor, integrator="implicit", dt=dt)
        speeds = np.where(run.poses[:, 2, 3] > 0.0, run.twists[:, 2], 0.0)
        return speeds.max(initial=0.0) / (9.81 * fall)

    exact = leaves(0.05, 1e-5)
    assert max(abs(leaves(height) - exact) for height in np.linspace(0.05, 0.053, 6)) < MAX_REBOUND_ERROR
