"""Tasks: errors, Jacobians and biases on every robot and every kind of number; what is no task is refused."""

import numpy as np
import pytest
from kinds import KINDS
from random_robots import BASES

import fallingcat as fc
from fallingcat import control
from fallingcat.errors import ModelError

STEP = 1e-30


def every_task(model, state):
    """One of each kind, at its goal."""
    link, other = model.link_names[-1], model.link_names[0]
    H, H_o = fc.link_pose(model, state, link), fc.link_pose(model, state, other)
    return [
        control.PoseTask(link, H),
        control.PositionTask(link, H[:3, 3]),
        control.RotationTask(link, H[:3, :3]),
        control.PointTask(link, (H @ [0.1, -0.2, 0.3, 1.0])[:3], point=[0.1, -0.2, 0.3]),
        control.CenterOfMassTask(fc.center_of_mass(model, state)),
        control.CentroidalMomentumTask(),
        control.JointsTask(state.joints),
        control.BaseTask(state.pose),
        control.RelativeTask(link, other, np.linalg.inv(H_o) @ H),
    ]


def robot(base, seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 5, base=base)
    return model, model.random_state(rng), rng


@pytest.mark.parametrize("base", BASES, ids=str)
def test_jacobian_and_bias_are_the_derivatives_of_error_and_velocity(base):
    model, state, _ = robot(base, 3)
    x = STEP * 1j * state.velocity
    ahead = model.configuration.displace(state, x)
    for task in every_task(model, state):
        here, there = task.motion(model, state), task.motion(model, ahead)
        if task.aim is not None:
            np.testing.assert_allclose(here.error, 0.0, atol=1e-12)
            rate = -np.imag(there.error) / STEP
            np.testing.assert_allclose(rate, here.J @ state.velocity, atol=1e-11, err_msg=task.name)
        bias = np.imag(there.J @ state.velocity) / STEP
        np.testing.assert_allclose(bias, here.bias, atol=1e-10, err_msg=task.name)


def test_rotations_far_from_their_goal_turn_about_the_shortest_axis():
    model, state, rng = robot(fc.lie.SE3(), 4)
    goal = fc.lie.SO3().random(rng)[:3, :3]
    task = control.RotationTask(model.link_names[-1], goal)
    ahead = model.configuration.displace(state, 1e-6 * state.velocity)
    before, after = (task.motion(model, at) for at in (state, ahead))
    fall = (after.error @ after.error - before.error @ before.error) / 2e-6
    assert fall == pytest.approx(-before.error @ before.J @ state.velocity, rel=1e-4)
    R = fc.link_pose(model, state, task.link)[:3, :3]
    np.testing.assert_allclose(fc.lie.SO3().exp(before.error)[:3, :3] @ R, goal, atol=1e-12)


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.slow] * (k == "sympy")) for k in KINDS])
def test_every_kind_of_number(kind):
    model = fc.robots.random_tree(np.random.default_rng(5), 1, kinds=["revolute"])
    state = model.random_state(np.random.default_rng(6))
    tasks = [
        *every_task(model, state)[1:-2],
        control.RelativeTask("link0", "link1", np.eye(4), velocity=np.arange(6.0)),
    ]
    q, v = model.flatten(state)

    def rows(q, v):
        found = [task.demand(model, model.unflatten(q, v)) for task in tasks]
        parts = [x for d in found for x in (d.error, d.J.reshape(-1), d.bias, d.velocity, d.acceleration)]
        return fc.control.tasks.demand.stack_parts(parts, (0,))

    np.testing.assert_allclose(KINDS[kind](rows, q, v), rows(q, v), rtol=1e-9, atol=1e-9)


def test_a_gain_means_the_same_for_velocities_and_accelerations():
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    task = control.CenterOfMassTask([1.0, 2.0, 3.0], velocity=[0.1, 0.0, 0.0], acceleration=[0.0, 0.5, 0.0], gain=3.0)
    d = task.demand(cat, state)
    np.testing.assert_allclose(d.velocity, task.velocity + 3.0 * d.error)
    away = np.array(task.velocity) - d.J @ state.velocity
    np.testing.assert_allclose(d.acceleration, task.acceleration + 6.0 * away + 9.0 * d.error)


def test_masks_weights_and_gains_by_row():
    arm = fc.robots.planar_arm()
    state = arm.state(joints=[0.3, 0.2, 0.1])
    whole = control.PoseTask("end_effector", np.eye(4), gain=[1, 1, 2, 1, 3, 1], weight=[1, 2, 3, 4, 5, 6])
    kept = control.PoseTask(
        "end_effector", np.eye(4), gain=[1, 1, 2, 1, 3, 1], weight=[1, 2, 3, 4, 5, 6], mask=[1, 0, 1, 0, 1, 0]
    )
    for all_rows, some in zip(whole.demand(arm, state), kept.demand(arm, state), strict=True):
        np.testing.assert_array_equal(all_rows[[0, 2, 4]], some)
    assert kept.rows(arm) == 3
    assert list(kept.demand(arm, state).weight) == [1, 3, 5]


def test_forms_say_what_code_is_compiled_for():
    arm = fc.robots.planar_arm()
    a, b = (control.PositionTask("link3", p, gain=k) for p, k in (([1.0, 2.0, 3.0], 1.0), ([0.0, 0.0, 0.0], [1, 2, 3])))
    assert a.form == b.form
    assert hash(a.form) == hash(b.form)
    assert a != b
    assert a == control.PositionTask("link3", [1.0, 2.0, 3.0])
    others = (control.PositionTask("link2", [1.0, 2.0, 3.0]), control.PositionTask("link3"), control.PointTask("link3"))
    assert all(a.form != other.form for other in others)
    again = b.form.filled(arm, b.packed(arm))
    for x, y in zip(again.demand(arm, arm.neutral()), b.demand(arm, arm.neutral()), strict=True):
        np.testing.assert_array_equal(x, y)


def test_spherical_joints_go_by_the_shortest_way():
    model = fc.robots.random_tree(np.random.default_rng(0), 3, kinds=["spherical"])
    start, end = (model.random_state(np.random.default_rng(i)) for i in (1, 2))
    error = control.JointsTask(end.joints).demand(model, start).error
    moved = model.configuration.displace(start, np.concatenate([np.zeros(model.m), error]))
    there = model.configuration.difference(moved, end)[model.m :]
    np.testing.assert_allclose(there, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: control.PoseTask("end_effector", 2.0 * np.eye(4)), "goal of PoseTask.'end_effector'. must be a pose"),
        (lambda: control.PoseTask("end_effector", np.diag([1.0, 1.0, -1.0, 1.0])), "must be a pose"),
        (lambda: control.PoseTask("end_effector", np.eye(3)), "must be a pose .4 x 4."),
        (lambda: control.PoseTask("end_effector", np.full((4, 4), np.nan)), "must be real, finite"),
        (lambda: control.RotationTask("end_effector", np.ones((3, 3))), "must be a pose"),
        (lambda: control.PoseTask("end_efector", np.eye(4)), "do you mean 'end_effector'"),
        (lambda: control.PositionTask("end_effector", [0.0, 1.0]), r"goal of .* must have shape \(3,\), got \(2,\)"),
        (lambda: control.PositionTask("end_effector", "there"), "must be made of numbers, got 'there'"),
        (lambda: control.PositionTask("end_effector", weight=-1.0), "weight of .* must not be negative"),
        (lambda: control.PositionTask("end_effector", gain=[1.0, 1.0]), r"gain of .* must have shape \(3,\)"),
        (lambda: control.PositionTask("end_effector", mask=(False,) * 3), "True at least once"),
        (lambda: control.PositionTask("end_effector", mask=(True,)), "mask of .* must have 3 entries, got 1"),
        (lambda: control.PointTask("end_effector", point=[0.0, np.inf, 0.0]), "must be real, finite"),
        (lambda: control.JointsTask({"joint4": 0.0}), "no joint 'joint4'; do you mean 'joint3'"),
        (lambda: control.JointsTask(joints="joint1"), "joints of a JointsTask must be names"),
        (lambda: control.RelativeTask("end_effector", "pots", np.eye(4)), "do you mean 'post'"),
        (lambda: control.BaseTask(np.diag([-1.0, -1.0, 1.0, 1.0])), "must be an element of the base group"),
    ],
)
def test_what_is_no_task_is_refused_by_name(make, message):
    arm = fc.robots.planar_arm()
    with pytest.raises(ModelError, match=message):
        make().demand(arm, arm.neutral())
