"""The least time: derivatives, limits between nodes, laws of scale, and times that are known by hand."""

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie.rotations import exp, log
from fallingcat.model import Joint, Limits, Link, Model
from fallingcat.model.joints import Revolute
from fallingcat.planning import Circle, Gait, Planner, Spline, displacement, least_time
from fallingcat.planning.reorientation.collocation import Bounds, Collocation, joint_forces

casadi = pytest.importorskip("casadi")


def limited(model, **limits):
    """With the same limits for all joints."""
    return replace(model, joints=tuple(replace(joint, limits=Limits(**limits)) for joint in model.joints))


REACH = {"lower": -1.2, "upper": 1.2}
CAT = limited(fc.robots.two_cylinder_cat(), **REACH, velocity=12.0, effort=8.0)


@pytest.fixture(scope="module")
def plan():
    return Planner(CAT, "spine_z", "spine_y").plan(np.pi)


@pytest.fixture(scope="module")
def found(plan):
    return least_time(CAT, log(plan.pose[:3, :3]), plan.curve, intervals=(8, 16))


def test_derivatives_are_those_of_casadi(plan):
    problem = Collocation(replace(CAT, gravity=np.zeros(3)), Bounds.from_model(CAT), np.array([1.0, 0.2, 0.0]), 3)
    x, g = problem.problem["x"], problem.problem["g"]
    weights = casadi.MX.sym("weights", g.numel())
    slopes = casadi.Function("slopes", [x], [casadi.jacobian(g, x)])
    bends = casadi.Function("bends", [x, weights], [casadi.triu(casadi.hessian(casadi.dot(weights, g), x)[0])])
    rng = np.random.default_rng(0)
    at, pulls = rng.normal(size=x.numel()), rng.normal(size=g.numel())
    ours, theirs = np.asarray(problem.options["jac_g"](at, [])[1]), np.asarray(slopes(at))
    assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()
    ours, theirs = np.asarray(problem.options["hess_lag"](at, [], 1.0, pulls)), np.asarray(bends(at, pulls))
    assert np.abs(ours - theirs).max() < 1e-12 * np.abs(theirs).max()


def test_it_is_quicker_than_the_plan_and_turns_as_wanted(found, plan):
    assert found.optimal
    assert found.time < 0.9 * plan.shortest
    moved = displacement(CAT, found.gait)
    assert np.linalg.norm(log(plan.pose[:3, :3].T @ moved.pose[:3, :3])) == pytest.approx(found.error, abs=1e-9)
    assert found.error < 1e-4
    assert found.refined[-1] == (16, found.time)
    assert found.refined[1][1] < found.refined[0][1]
    assert found.tried == (found.refined[0][1],)


def test_limits_hold_everywhere_and_one_is_reached(found):
    """Against accelerations of the whole robot: base forces are zero, joint forces within limits."""
    rng = np.random.default_rng(1)
    q, rates, bends = found.gait(np.sort(rng.uniform(0.0, found.time, 60)))
    assert np.abs(q).max() <= 1.2 + 1e-9
    speed = np.abs(found.gait(np.linspace(0.0, found.time, 2001)).dq).max() / 12.0
    assert speed <= 1.0 + 1e-9
    weightless, forces = replace(CAT, gravity=np.zeros(3)), []
    for joints, rate, bend in zip(q, rates, bends, strict=True):
        state = weightless.state(joints=joints, rates=rate)
        state = state._replace(twist=-np.asarray(fc.connection(weightless, state)) @ rate)
        assert np.abs(fc.momentum(weightless, state)).max() < 1e-10
        tau = np.append(np.zeros(6), joint_forces(weightless, joints, rate, bend))
        assert np.allclose(fc.forward_dynamics(weightless, state, tau)[6:], bend, rtol=1e-9, atol=1e-7)
        forces.append(np.abs(tau[6:]).max() / 8.0)
    assert max(forces) <= 1.005  # between the places that are looked at
    assert found.at_limits.shape == (3, 2)
    assert max(max(forces), speed) > 0.98


def test_twice_the_speed_and_four_times_the_effort_is_half_the_time(found, plan):
    strong = limited(CAT, **REACH, velocity=24.0, effort=32.0)
    other = least_time(strong, log(plan.pose[:3, :3]), found.curve, intervals=(16,))
    assert other.time == pytest.approx(0.5 * found.time, rel=2e-3)


def wheel(speed, effort):
    """A disc of 2 kg m^2 in the plane that carries a wheel of 0.5 kg m^2 at its center."""
    bodies = [fc.Body(1.0, (0.0, 0.0, 0.0), inertia * np.eye(3)) for inertia in (2.0, 0.5)]
    links = tuple(Link(name, body) for name, body in zip(("disc", "wheel"), bodies, strict=True))
    joint = Joint("hub", Revolute((0.0, 0.0, 1.0)), "disc", "wheel", limits=Limits(-9.0, 9.0, speed, effort))
    return Model("reaction wheel", fc.lie.SE2(), links, (joint,), np.zeros(3))


@pytest.mark.parametrize(
    ("speed", "effort", "share"), [(np.inf, 1.6, 1e-5), (2.0, 1.6, 2e-4), (2.0, np.inf, 1.1e-2)], ids=str
)
def test_a_reaction_wheel_takes_the_time_that_is_known(speed, effort, share):
    """Full torque, full speed, full torque back: the wheel turns against 0.4 kg m^2, the disc follows."""
    angle, a = 6.0, effort / 0.4
    top = min(speed, np.sqrt(angle * a))
    least = angle / top + top / a
    start = Spline(np.linspace(0.0, angle, 9)[:, None], np.zeros((9, 1)))
    found = least_time(wheel(speed, effort), None, start, intervals=64)
    assert 0.0 <= found.time / least - 1.0 < share
    assert log(found.displacement.pose[:3, :3]) == pytest.approx([0.0, 0.0, -angle * 0.5 / 2.5], abs=1e-9)


def test_what_only_seems_solved_is_no_optimum():
    """The turn of a wheel is that of its ends: multipliers of a constraint that says so again grow beyond bounds."""
    start = Spline(np.linspace(0.0, 6.0, 9)[:, None], np.zeros((9, 1)))
    found = least_time(wheel(np.inf, 1.6), [0.0, 0.0, -1.2], start, intervals=64, strict=False)
    assert found.time < 1.01 * np.sqrt(6.0) or not found.optimal


def test_what_cannot_be_says_so(plan):
    turn = log(plan.pose[:3, :3])
    with pytest.raises(ModelError, match="nothing bounds the time"):
        least_time(limited(CAT, **REACH), turn, plan.curve)
    with pytest.raises(ModelError, match="a start must move 10 joints of 'cat', got 2"):
        least_time(fc.robots.cat(), turn, Gait(Circle(0.3)))
    with pytest.raises(ModelError, match="intervals must be integers above one"):
        least_time(CAT, turn, plan.curve, intervals=(16, 8))
    with pytest.raises(ModelError, match="starts must be one motion or more"):
        least_time(CAT, turn, [])
    with pytest.raises(ModelError, match="motion must be a gait or a curve"):
        least_time(CAT, turn, ["plan"])
    pinned = limited(replace(CAT, base=fc.lie.SO3()), velocity=1.0)
    with pytest.raises(ModelError, match="cannot fall"):
        least_time(pinned, turn, plan.curve)
    with pytest.raises(ModelError, match="joint 'spine_z' has a speed or effort of 0"):
        least_time(limited(CAT, **REACH, velocity=0.0), turn, plan.curve)
    with pytest.raises(ModelError, match="begins or ends beyond the limits of joint 'spine_z'"):
        least_time(CAT, turn, Gait(Circle(1.3)))
    with pytest.raises(NumericsError, match="maximum iterations exceeded"):
        least_time(CAT, turn, plan.curve, intervals=(4,), iterations=2)
    assert least_time(CAT, turn, plan.curve, intervals=4, iterations=2, strict=False).status == "unfinished"
    assert np.allclose(exp(turn), plan.pose[:3, :3])
