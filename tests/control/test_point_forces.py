"""Springs and actuators between points ([ETH] (3.34), (3.52)); rolling as a constraint of runs ((3.35)-(3.37))."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.control import PointActuator, PointSpring, wrench_between
from fallingcat.errors import ModelError
from fallingcat.lie import SE3
from fallingcat.testing import check_law

STEP = 1e-40
NOTHING: frozenset[str] = frozenset()


@settings(max_examples=20)
@given(recipe=robots(largest=5))
def test_a_spring_lowers_its_energy(recipe):
    """(3.34): `dU/dt = -F . v` along any motion, every base and joint; the damper takes power."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    first, second = rng.choice(model.link_names, size=2)
    spring = PointSpring(
        first, None if rng.random() < 0.3 else second, 30.0, 0.4, 0.0, (0.1, 0.2, -0.1), (0.7, -1.0, 0.3)
    )
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    power = np.imag(spring.energy(model, moved)) / STEP
    agree("dU/dt = -F v", spring.forces(model, 0.0, state, NOTHING) @ state.velocity, -power, 1e-11)
    damper = replace(spring, stiffness=0.0, damping=3.0)
    assert damper.forces(model, 0.0, state, NOTHING) @ state.velocity <= 0.0


@settings(max_examples=20)
@given(recipe=robots(largest=5, bases=(SE3(),)))
def test_actuators_make_no_momentum(recipe):
    """(3.52): a wrench and its opposite at one point: momentum keeps its rate; the force is the wrench's work."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    first, second = rng.choice(model.link_names, size=2)
    F = wrench_between(model, state, first, second, rng.normal(size=6))
    agree("no force on the whole", F[:6], np.zeros(6), 1e-11, max(1.0, np.abs(F).max()))
    push = PointActuator(first, second, 5.0, (0.1, 0.0, 0.0), (0.0, 0.3, 0.0)).forces(model, 0.0, state, NOTHING)
    agree("no force on the whole", push[:6], np.zeros(6), 1e-11, max(1.0, np.abs(push).max()))
    world = wrench_between(model, state, None, second, np.arange(6.0))
    agree("J' f", world, fc.jacobian(model, state, second, "mixed").T @ np.arange(6.0))


def test_a_motor_is_a_torque_pair():
    """(3.52) of a pure torque about a hinge is the joint's own torque."""
    model = fc.robots.random_tree(np.random.default_rng(0), 4, ["revolute"], fixed=0.0)
    state = model.random_state(np.random.default_rng(1))
    for i, joint in enumerate(model.joints):
        axis = fc.link_pose(model, state, joint.child)[:3, :3] @ joint.kind.group.selection[3:, 0]
        F = wrench_between(model, state, joint.parent, joint.child, np.concatenate([np.zeros(3), 2.0 * axis]))
        wanted = np.zeros(model.nv)
        wanted[model.m + model.v_slices[i].start] = 2.0
        agree("tau", F, wanted, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(kind):
    arm = fc.robots.planar_arm()
    spring = PointSpring("link1", "link3", 20.0, 0.3, 2.0, (0.1, 0.0, 0.5), (0.0, 0.2, 0.4))
    q, v = np.array([0.3, -0.5, 0.9]), np.array([1.0, 2.0, -1.0])

    def forces(q, v):
        return spring.forces(arm, 0.0, arm.unflatten(q, v), NOTHING)

    agree(kind, KINDS[kind](forces, q, v), forces(q, v), 1e-13)


def test_it_keeps_the_laws_of_laws_and_the_energy_of_a_run():
    arm = fc.robots.planar_arm()
    spring = PointSpring("end_effector", None, 40.0, 1.0, second_point=(0.5, 0.0, 5.5))
    check_law(spring, arm)
    run = fc.simulate(arm, arm.state(joints=[0.3, 0.2, -0.1]), 0.5, spring, integrator="rkmk4", dt=1e-3)
    ends = [run.state(0), run.state(-1)]
    total = [fc.kinetic_energy(arm, s) + fc.potential_energy(arm, s) + spring.energy(arm, s) for s in ends]
    agree("energy of a run", total[1], total[0], 1e-7)


def test_points_that_meet_have_no_force():
    arm = fc.robots.planar_arm()
    spring = PointSpring("link1", "link1", 10.0, 0.2)
    np.testing.assert_array_equal(spring.forces(arm, 0.0, arm.neutral(), NOTHING), np.zeros(3))


def test_what_is_refused():
    arm = fc.robots.planar_arm()
    with pytest.raises(ModelError, match="moon"):
        fc.simulate(arm, arm.neutral(), 0.01, PointSpring("moon", None, 1.0))
    with pytest.raises(ModelError, match="first of PointSpring must be a text, got 3"):
        PointSpring(3, None, 1.0)
    with pytest.raises(ModelError, match="second of PointActuator must be a text, or None, got 3"):
        PointActuator("link1", 3, 1.0)
    with pytest.raises(ModelError, match=r"stiffness of .* must be a finite number"):
        PointSpring("link1", None, np.nan)
    with pytest.raises(ModelError, match=r"wrench must have shape \(6,\)"):
        wrench_between(arm, arm.neutral(), "link1", "link2", np.zeros(3))


# rolling ------------------------------------------------------------------------------------------------------------


def ball(slope=0.0):
    """A ball of 0.1 m on a plane that slopes down along x; gravity and normal turned instead of the ground."""
    body = fc.robots.free_body()
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    inertia = 0.4 * body.mass * 0.1**2
    solid = replace(body, links=(replace(body.links[0], body=fc.Body(body.mass, np.zeros(3), inertia * np.eye(3))),))
    return solid.close_loops(fc.model.Rolling("ball", solid.link_names[0], 0.1, up)), up


def test_a_ball_rolls_down_a_slope_at_five_sevenths():
    slope = 0.3
    model, up = ball(slope)
    pose = np.eye(4)
    pose[:3, 3] = 0.1 * up
    run = fc.simulate(model, model.state(pose=pose), 1.0, integrator="rkmk4", dt=1e-3)
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    way = (run.state(-1).pose[:3, 3] - pose[:3, 3]) @ down
    agree("5/7 g sin a t^2 / 2", way, 0.5 * 5.0 / 7.0 * 9.81 * np.sin(slope), 1e-7)
    state = run.state(-1)
    v, w = (state.pose[:3, :3] @ part for part in (state.twist[:3], state.twist[3:]))
    agree("no slip", v + 0.1 * np.cross(up, w), np.zeros(3), 1e-7)
    agree("on the plane", up @ state.pose[:3, 3], 0.1, 1e-8)


def test_rolling_turns_without_falling_back():
    """No error of position grows with the way that it has rolled, and its rows are those of the rim."""
    model, up = ball()
    state = model.random_state(np.random.default_rng(0))
    rows = fc.constraints.equations(model, state)
    R = state.pose[:3, :3]
    rim = R @ state.twist[:3] + 0.1 * np.cross(up, R @ state.twist[3:])
    found = rows.jacobian @ state.velocity
    agree("normal", found[0], rim @ up)
    agree("along the plane", np.linalg.norm(found[1:]), np.linalg.norm(rim - (rim @ up) * up))
    assert (rows.error[1:] == 0.0).all()
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    agree("bias", rows.bias, np.imag(fc.constraints.equations(model, moved).jacobian @ state.velocity) / STEP, 1e-11)


def test_a_file_keeps_what_rolls(tmp_path):
    model, _ = ball(0.2)
    fc.save(model, tmp_path / "ball.toml")
    (loop,) = fc.load(tmp_path / "ball.toml").loops
    assert (loop.name, loop.place, loop.radius, loop.height) == ("ball", model.link_names[0], 0.1, 0.0)
    np.testing.assert_array_equal(loop.normal, model.loops[0].normal)


def test_rolling_that_is_none():
    with pytest.raises(ModelError, match="radius of loop 'ball' is a finite number"):
        fc.model.Rolling("ball", "body", -0.1)
    with pytest.raises(ModelError, match="the normal of loop 'ball' is a direction"):
        fc.model.Rolling("ball", "body", 0.1, np.zeros(3))
    with pytest.raises(ModelError, match="nothing"):
        fc.robots.free_body().close_loops(fc.model.Rolling("ball", "nothing", 0.1))
