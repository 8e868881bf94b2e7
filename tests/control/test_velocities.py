"""Velocities by priority: the lecture notes' numbers, strictness, invariance, limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import control
from fallingcat.control.inverse_kinematics.differential import prioritised_velocity
from fallingcat.control.tasks.packing import count, pack_tasks
from fallingcat.errors import ModelError
from fallingcat.qp.hqp_reference import limited_least_squares
from fallingcat.qp.least_squares import Level, hierarchical

ROOT3 = np.sqrt(3.0)
FEET = ("front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot")


# [ETH] Example 2.9.1 --------------------------------------------------------------------------------------------------


@pytest.fixture
def example():
    arm = fc.robots.planar_arm()
    tip = control.PositionTask("end_effector", velocity=[1.0, 0.0, 1.0], mask=(True, False, True))
    return (
        arm,
        arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3]),
        tip,
        control.JointsTask(joints=("joint1", "joint2")),
    )


def test_the_pseudo_inverse_of_the_lecture_notes(example):
    arm, state, tip, _ = example
    J = tip.demand(arm, state).J
    assert_allclose(J, 0.5 * np.array([[0, -ROOT3, -ROOT3], [-4, -3, -1]]), atol=1e-15)  # (2.224)
    found = control.velocities(arm, state, [[tip]])
    assert_allclose(found.rates, (0.069, -0.560, -0.595), atol=5e-4)  # (2.225), as printed
    assert_allclose(found.rates, (0.068755795, -0.560161320, -0.594539218), atol=5e-10)
    assert (found.status, found.ranks, found.unmet) == ("solved", (2,), ())
    N = np.eye(3) - np.linalg.pinv(J) @ J
    assert_allclose(9.0 * N, [[1, -2, 2], [-2, 4, -4], [2, -4, 4]], atol=1e-14)
    damped = control.velocities(arm, state, [[tip]], damping=0.1)  # (2.208)
    assert_allclose(damped.rates, (0.065021246, -0.557056144, -0.589566767), atol=5e-10)
    assert (damped.status, damped.unmet) == ("compromise", ("PositionTask('end_effector')",))


def test_equal_priorities_share_what_they_miss(example):
    arm, state, tip, still = example
    found = control.velocities(arm, state, [[tip, still]])
    assert_allclose(found.rates, (-0.133, -0.067, -1.132), atol=5e-4)  # (2.230)
    exact = np.array([2 * ROOT3 - 6, ROOT3 - 3, 1 - 13 * ROOT3]) / 19
    assert_allclose(found.rates, exact, atol=1e-14)
    errors = [r @ r for r in found.residuals]
    assert_allclose(errors, (0.0059, 0.0223), atol=5e-5)  # (2.232), (2.233)
    single = control.velocities(arm, state, [[tip]]).rates[:2]
    assert single @ single == pytest.approx(0.319, abs=5e-4)  # (2.235)
    W = [2.0, 1.0, 3.0, 1.0, 1.0]  # (2.215)
    heavy = control.velocities(arm, state, [[tip.replaced(weight=W[:3]), still.replaced(weight=W[3:])]])
    A = np.vstack([d.demand(arm, state).J for d in (tip, still)])
    D = np.diag([2.0, 3.0, 1.0, 1.0])
    assert_allclose(heavy.rates, np.linalg.solve(A.T @ D @ A, A.T @ D @ [1.0, 1.0, 0.0, 0.0]), atol=1e-13)


def test_priorities_of_the_lecture_notes(example):
    arm, state, tip, still = example
    found = control.velocities(arm, state, [[tip], [still]])
    assert_allclose(found.rates, (-0.169, -0.085, -1.070), atol=6e-4)  # (2.238)
    assert_allclose(found.rates, np.array([2 * ROOT3 - 6, ROOT3 - 3, 3 - 11 * ROOT3]) / 15, atol=1e-14)
    assert_allclose([r @ r for r in found.residuals], (0.0, 0.036), atol=5e-4)
    assert found.unmet == ("JointsTask('joint1', 'joint2')",)


# the solver -----------------------------------------------------------------------------------------------------------


def random_levels(rng, n):
    levels = []
    for _ in range(int(rng.integers(1, 4))):
        rows = int(rng.integers(1, 7))
        rank = int(rng.integers(0, min(rows, n) + 1))
        A = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, n))
        levels.append(Level(A, 3.0 * rng.normal(size=rows), rng.uniform(0.1, 2.0, size=rows)))
    return levels


def by_projectors(levels, n):
    """[ETH] (2.220), its index put right, with pseudo-inverses whose rank is judged by the size of the rows."""

    def inverse(A, size):
        U, d, Vt = np.linalg.svd(A, full_matrices=False)
        return (Vt.T * np.where(d > 1e-10 * size, 1.0 / np.maximum(d, 1e-300), 0.0)) @ U.T

    x, N = np.zeros(n), np.eye(n)
    for A, b, w in levels:
        A, b = np.sqrt(w)[:, None] * A, np.sqrt(w) * b
        size = np.linalg.norm(A)
        x = x + N @ inverse(A @ N, size) @ (b - A @ x)
        N = N - inverse(A @ N, size) @ (A @ N)
    return x


@pytest.mark.parametrize("seed", range(40))
def test_hierarchies_of_any_rank(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    levels = random_levels(rng, n)
    want = by_projectors(levels, n)
    found = hierarchical(levels, n)
    eliminated = hierarchical([Level(*(x.astype(object) for x in level)) for level in levels], n)
    assert_allclose(found.x, want, rtol=1e-9, atol=1e-9)
    assert_allclose(eliminated.x.astype(float), want, rtol=1e-9, atol=1e-9)
    assert found.ranks == eliminated.ranks


@pytest.mark.parametrize("seed", range(5))
def test_damping_gives_up_nothing_of_the_levels_before(seed):
    rng = np.random.default_rng(seed)
    first, second = (Level(rng.normal(size=(3, 7)), rng.normal(size=3), np.ones(3)) for _ in range(2))
    one = hierarchical([first], 7, damping=0.3).x
    both = hierarchical([first, second], 7, damping=0.3).x
    assert_allclose(first.A @ one, first.A @ both, atol=1e-13)
    A, b = first.A, first.b
    assert_allclose(one, A.T @ np.linalg.solve(A @ A.T + 0.09 * np.eye(3), b), atol=1e-13)
    eliminated = hierarchical([Level(*(x.astype(object) for x in level)) for level in (first, second)], 7, damping=0.3)
    assert_allclose(eliminated.x.astype(float), both, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_limits_leave_levels_optimal_one_after_the_other(seed):
    """Optimality, by definition: no feasible step that the levels before allow makes a level better."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    levels = random_levels(rng, n)
    G, h = rng.normal(size=(2 * n, n)), rng.normal(size=2 * n) + (1.0 if seed % 2 else 0.3)
    if seed % 3 == 0:
        G, h = np.vstack([np.eye(n), -np.eye(n)]), np.full(2 * n, 0.5)
    found = limited_least_squares(levels, G, h, n)
    assert found.residual < 1e-10
    room = h + found.excess
    assert (G @ found.x <= room + 1e-9).all()
    assert (found.multipliers[G @ found.x < room - 1e-7] == 0.0).all()
    assert (found.multipliers >= 0.0).all()
    before = np.zeros((0, n))
    for A, b, w in levels:
        gradient = A.T @ (w * (A @ found.x - b))
        active = G[G @ found.x > room - 1e-9]
        assert _descent(gradient, active, before) > -1e-7 * (1.0 + np.abs(gradient).max())
        before = np.vstack([before, A])
    free = hierarchical(levels, n).x
    if (G @ free <= h).all():
        assert_allclose(found.x, free, atol=1e-9)


def _descent(gradient, active, kept):
    """The steepest slope within |p| <= 1 (each entry) along ``active p <= 0`` and ``kept p = 0``."""
    from scipy.optimize import linprog

    equal = {"A_eq": kept, "b_eq": np.zeros(len(kept))} if len(kept) else {}
    upper = {"A_ub": active, "b_ub": np.zeros(len(active))} if len(active) else {}
    found = linprog(gradient, bounds=(-1.0, 1.0), **equal, **upper)
    assert found.status == 0
    return found.fun


def test_limits_that_contradict_each_other_give_way_by_the_least_squares():
    found = limited_least_squares([], np.array([[1.0], [-1.0]]), np.array([-1.0, -2.0]), 1)  # x <= -1 and x >= 2
    assert_allclose(found.x, 0.5)
    assert_allclose(found.excess, 1.5)
    assert (found.multipliers > 0.0).all()


# robots ---------------------------------------------------------------------------------------------------------------


def robot_and_tasks(seed, base=None):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 6, kinds=["revolute", "prismatic", "spherical"], base=base)
    state = model.random_state(rng)._replace(twist=np.zeros(model.m), rates=np.zeros(model.n))
    last, middle = model.link_names[-1], model.link_names[3]
    levels = [
        [control.PositionTask(last, rng.normal(size=3), gain=2.0)],
        [
            control.RotationTask(middle, fc.lie.SO3().random(rng)[:3, :3], weight=0.5),
            control.CenterOfMassTask(rng.normal(size=3)),
        ],
        [control.RelativeTask(last, middle, fc.lie.SE3().random(rng)), control.CentroidalMomentumTask()],
    ]
    return model, state, levels


@pytest.mark.parametrize("seed", range(3))
def test_a_lower_task_does_not_move_a_higher_one(seed):
    model, state, levels = robot_and_tasks(seed)
    less, more = (control.velocities(model, state, levels[:k]) for k in (2, 3))
    for a, b in zip(less.residuals, more.residuals, strict=False):
        assert_allclose(a, b, atol=1e-9)
    assert more.residuals[0] == pytest.approx(0.0, abs=1e-9)


def test_no_task_direction_depends_on_the_base_that_was_chosen():
    model, state, levels = robot_and_tasks(7)
    v = control.velocities(model, state, levels)
    for link in model.link_names[1:4]:
        other, seen = model.reroot(link), fc.dynamics.reroot_state(model, state, link)
        w = control.velocities(other, seen, levels)
        moving, again = state._replace(twist=v.twist, rates=v.rates), seen._replace(twist=w.twist, rates=w.rates)
        for place in model.link_names:
            here, there = fc.link_twist(model, moving, place), fc.link_twist(other, again, place)
            assert_allclose(here, there, rtol=1e-8, atol=1e-8)
        assert v.ranks == w.ranks


def test_no_task_direction_depends_on_the_frame_of_the_base_or_of_the_world():
    model, state, levels = robot_and_tasks(8)
    found = control.velocities(model, state, levels)
    for X in (
        fc.lie.SE3().random(np.random.default_rng(1)),
        fc.lie.SE3().exp(np.array([0.0, 0.0, 0.0, 0.0, 3.0, 0.0])),
    ):
        R = X[:3, :3]
        turned = [
            [levels[0][0].replaced(goal=(X @ [*levels[0][0].goal, 1.0])[:3])],
            [
                levels[1][0].replaced(goal=R @ levels[1][0].goal),
                levels[1][1].replaced(goal=(X @ [*levels[1][1].goal, 1.0])[:3]),
            ],
            levels[2],
        ]
        moved = control.velocities(model, state._replace(pose=X @ state.pose), turned)
        assert_allclose(moved.velocity, found.velocity, rtol=1e-8, atol=1e-8)


def test_the_compiled_controller_is_the_same():
    arm = fc.robots.planar_arm(fc.lie.SE3())
    state = arm.state(joints=[0.3, 0.2, 0.1])
    levels = [[control.PositionTask("end_effector", [0.5, 0.0, 3.0])], [control.JointsTask([0.1, 0.1, 0.1])]]
    flat = [task for level in levels for task in level]
    forms = tuple(tuple(task.form for task in level) for level in levels)
    inputs = {"numbers": count(arm, flat), "damping": ()}
    kernel = fc.compile(
        arm, prioritised_velocity, inputs=inputs, state=("pose", "joints"), forms=forms, metric="energy"
    )
    for damping in (0.0, 0.1):
        want = control.velocities(arm, state, levels, damping=damping).velocity
        assert_allclose(kernel(state.pose[:3], state.joints, pack_tasks(arm, flat), damping), want, atol=1e-11)


def test_the_norm_of_what_is_left_open():
    arm = fc.robots.planar_arm()
    state = arm.state(joints=[0.3, 0.2, 0.1])
    tip = control.PositionTask("end_effector", velocity=[1.0, 0.0, 0.0], mask=(True, False, True))
    J, M = tip.demand(arm, state).J, fc.mass_matrix(arm, state)
    for metric, W in (("rates", np.eye(3)), ("energy", M), (np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, 3.0]))):
        want = np.linalg.solve(W, J.T) @ np.linalg.solve(J @ np.linalg.solve(W, J.T), [1.0, 0.0])
        assert_allclose(control.velocities(arm, state, [[tip]], metric=metric).rates, want, atol=1e-12)


def test_trajectories_are_followed_as_their_equation_says():
    """[ETH] (2.257), (2.258): feed-forward follows; an error decays by ``1 - k dt`` in each step of a position."""
    arm = fc.robots.random_tree(np.random.default_rng(2), 7, kinds=["revolute"], base=fc.lie.Trivial(), branching=0.0)
    hand, dt, k = arm.link_names[-1], 1e-3, 8.0
    state = arm.state(joints=0.3 * np.arange(7))
    H = fc.link_pose(arm, state, hand)
    twist = np.array([0.2, -0.1, 0.3, 0.5, -0.4, 0.3])  # of the goal, along the world's axes
    goal = H.copy()
    goal[:3, 3] += [0.01, 0.02, -0.01]
    goal[:3, :3] = fc.lie.SO3().exp(np.array([0.05, -0.1, 0.02]))[:3, :3] @ goal[:3, :3]
    errors = []
    for _ in range(200):
        task = control.PoseTask(hand, goal, velocity=twist, gain=k)
        found = control.velocities(arm, state, [[task]])
        errors.append(task.demand(arm, state).error)
        state = arm.configuration.displace(state, dt * found.velocity)
        goal[:3, 3] += dt * twist[:3]
        goal[:3, :3] = fc.lie.SO3().exp(dt * twist[3:])[:3, :3] @ goal[:3, :3]
    for part in (slice(0, 3), slice(3, 6)):
        sizes = np.array([np.linalg.norm(e[part]) for e in errors])
        rates = sizes[1:100] / sizes[:99]
        assert_allclose(rates, 1.0 - k * dt, atol=2e-4)  # the arm's own curvature is of second order in dt


# standing -------------------------------------------------------------------------------------------------------------


def standing():
    dog = fc.robots.quadruped()
    return dog, dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))


def rank(A):
    return np.linalg.matrix_rank(A, tol=1e-9)


@pytest.mark.parametrize(("feet", "ranks"), [(2, (6, 5)), (3, (9, 6)), (4, (12, 6))])
def test_what_feet_hold(feet, ranks):
    """[ETH] 2.10.4: rank of the contact Jacobian, and of its part of the base."""
    dog, state = standing()
    J = np.vstack([control.PositionTask(foot).demand(dog, state).J for foot in FEET[:feet]])
    assert (rank(J), rank(J[:, :6])) == ranks
    found = control.velocities(dog, state, [[control.PositionTask(foot) for foot in FEET[:feet]]])
    assert found.ranks == (ranks[0],)


@pytest.mark.parametrize(("points", "ranks"), [(1, (3, 3)), (2, (5, 5)), (3, (6, 6))])
def test_what_the_points_of_one_foot_hold(points, ranks):
    man = fc.robots.humanoid()
    state = man.random_state(np.random.default_rng(0))
    corners = ([0.1, 0.05, 0.0], [-0.1, 0.05, 0.0], [0.1, -0.05, 0.0])[:points]
    J = np.vstack([control.PointTask(man.link_names[-1], point=c).demand(man, state).J for c in corners])
    assert (rank(J), rank(J[:, :6])) == ranks


def test_a_standing_robot_moves_without_moving_its_feet():
    """[ETH] (2.276): support-consistent motion, there and back."""
    dog, state = standing()
    feet = [control.PositionTask(foot) for foot in FEET]
    start = {foot: fc.link_pose(dog, state, foot)[:3, 3] for foot in FEET}
    goal = fc.lie.SE3().exp(np.array([0.03, 0.02, -0.03, 0.05, 0.1, -0.1])) @ state.pose
    for _ in range(60):
        held = [task.replaced(goal=start[task.link], gain=20.0) for task in feet]
        found = control.velocities(dog, state, [held, [control.BaseTask(goal, gain=10.0)]])
        assert found.status == "solved"
        assert max(np.abs(r).max() for r in found.residuals[:4]) < 1e-12
        state = dog.configuration.displace(state, 0.01 * found.velocity)
    assert np.abs(control.BaseTask(goal).demand(dog, state).error).max() < 1e-3
    for foot in FEET:
        assert_allclose(fc.link_pose(dog, state, foot)[:3, 3], start[foot], atol=1e-4)


def test_the_metric_of_support_consistent_motion():
    """[ETH] (2.276): `u = N (J_t N)^+ w`, the whole of it, is what `metric=` the identity gives; the default is the
    same formula in the norm of kinetic energy, which is another motion where feet leave some open.
    """
    dog, state = standing()
    feet, task = (
        [control.PositionTask(foot) for foot in FEET[:3]],
        control.BaseTask(velocity=[0.3, 0.2, -0.1, 0.5, 1, 0]),
    )
    J_c = np.vstack([foot.demand(dog, state).J for foot in feet])
    J_t, w = (getattr(task.demand(dog, state), name) for name in ("J", "velocity"))
    motions = {}
    for name, W in (("formula", np.eye(dog.nv)), ("default", fc.mass_matrix(dog, state))):
        root = np.linalg.inv(np.linalg.cholesky(W)).T  # u = root y, |y| is the norm
        N = np.eye(dog.nv) - np.linalg.pinv(J_c @ root, rcond=1e-10) @ (J_c @ root)
        motions[name] = root @ (N @ np.linalg.pinv(J_t @ root @ N, rcond=1e-10) @ w)
    found = control.velocities(dog, state, [feet, [task]], metric=np.eye(dog.nv)).velocity
    assert_allclose(found, motions["formula"], atol=1e-10)
    own = control.velocities(dog, state, [feet, [task]]).velocity
    assert_allclose(own, motions["default"], atol=1e-10)
    assert_allclose(J_t @ own, J_t @ found, atol=1e-10)  # the task is met by both
    assert np.abs(own - found).max() > 0.1


def test_on_two_feet_no_joint_turns_the_base_about_their_line():
    """[ETH] 2.10.4: it turns with all joints at rest, so that none can hold it."""
    dog, state = standing()
    line = fc.link_pose(dog, state, FEET[1])[:3, 3] - fc.link_pose(dog, state, FEET[2])[:3, 3]
    feet, turn = [control.PositionTask(foot) for foot in FEET[1:3]], control.RotationTask("trunk", velocity=line)
    found = control.velocities(dog, state, [feet, [control.JointsTask()], [turn]])
    assert (found.status, found.ranks) == ("solved", (6, 11, 1))
    assert_allclose(found.rates, 0.0, atol=1e-12)
    across = turn.replaced(velocity=np.cross(line, [0.0, 0.0, 1.0]))
    assert control.velocities(dog, state, [feet, [control.JointsTask()], [across]]).status == "compromise"


# limits ---------------------------------------------------------------------------------------------------------------


def test_limits_hold_and_say_which():
    dog, state = standing()
    down = control.BaseTask(velocity=[0.0, 0.0, -8.0, 0.0, 0.0, 0.0])
    feet = [control.PositionTask(foot) for foot in FEET]
    free = control.velocities(dog, state, [feet, [down]])
    assert np.abs(free.rates).max() > 20.0
    found = control.velocities(dog, state, [feet, [down]], limits=[control.RateLimits()])
    assert np.abs(found.rates).max() == pytest.approx(20.0)
    assert (found.status, found.unmet) == ("compromise", ("BaseTask",))
    assert all("rate limit of" in name and "knee" in name for name in found.active)
    assert min(found.active.values()) > 0.0
    assert found.optimality < 1e-10
    assert max(np.abs(r).max() for r in found.residuals[:4]) < 1e-9  # feet come first
    slow = control.velocities(
        dog, state, [feet, [down.replaced(velocity=[0, 0, -0.1, 0, 0, 0])]], limits=[control.RateLimits()]
    )
    assert (slow.status, slow.active) == ("solved", {})


def test_joints_do_not_cross_their_limits():
    dog, state = standing()
    bend = control.JointsTask({"front_left_knee": -3.0}, gain=5.0)
    for _ in range(100):
        found = control.velocities(dog, state, [[bend]], limits=[control.JointLimits(gain=20.0)])
        state = dog.configuration.displace(state, 0.02 * found.velocity)
        assert dict(zip(dog.joint_names, state.joints, strict=True))["front_left_knee"] >= -2.6 - 1e-12
    assert list(found.active) == ["lower limit of 'front_left_knee'"]


def test_limits_that_contradict_each_other_are_named():
    dog = fc.robots.quadruped()
    joints = np.tile([0.1, 0.6, -1.2], 4)
    joints[2] = 1.0  # a knee a radian beyond its limit: back with 50 rad/s, which it cannot do
    found = control.velocities(
        dog,
        dog.state(joints=joints),
        [[control.JointsTask(joints)]],
        limits=[control.JointLimits(50.0), control.RateLimits()],
    )
    assert found.status == "infeasible"
    assert set(found.conflicts) == {"upper limit of 'front_left_knee'", "lower rate limit of 'front_left_knee'"}
    assert found.rates[2] == pytest.approx(-20.0)  # what standing still breaks gives way


def test_speed_limits_of_a_place(example):
    arm, state, tip, _ = example
    found = control.velocities(arm, state, [[tip]], limits=[control.SpeedLimit(tip, 0.4)])
    assert_allclose(tip.demand(arm, state).J @ found.rates, 0.4, atol=1e-12)


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda arm, s, t: control.velocities(arm, s, [t]), "a list of priorities, each a list"),
        (lambda arm, s, t: control.velocities(arm, s, [["hand"]]), "a list of priorities, each a list"),
        (lambda arm, s, t: control.velocities(arm, s, [[t]], damping=-1.0), "damping must be a number from 0"),
        (
            lambda arm, s, t: control.velocities(arm, s, [[t]], metric="speed"),
            "metric must be energy or rates or a matrix",
        ),
        (
            lambda arm, s, t: control.velocities(arm, s, [[t]], metric=-np.eye(3)),
            "must be a symmetric positive definite",
        ),
        (
            lambda arm, s, t: control.velocities(arm, s, [[t]], limits=[3.0]),
            "limits must be a list of limits.*3.0 in it",
        ),
        (
            lambda arm, s, t: control.velocities(arm, s, [[t]], limits=[control.JointLimits]),
            "the class JointLimits in it",
        ),
        (lambda arm, s, t: control.velocities(arm, s._replace(joints=np.full(3, np.nan)), [[t]]), "not finite"),
        (lambda arm, s, t: control.velocities(arm, s, [[control.PositionTask("hand")]]), "no link or frame 'hand'"),
        (
            lambda arm, s, t: control.velocities(arm, s, [[control.PositionTask("link3", np.zeros((2, 3)))]]),
            "must have one goal, got 2",
        ),
        (lambda arm, s, t: control.JointLimits(gain=0.0), "gain of JointLimits is a positive number"),
        (lambda arm, s, t: control.SpeedLimit("hand", 1.0), "task of a SpeedLimit must be a Task"),
    ],
)
def test_what_cannot_be_solved_is_refused(example, call, message):
    arm, state, tip, _ = example
    with pytest.raises(ModelError, match=message):
        call(arm, state, tip)


def test_the_rates_of_a_moving_base_are_no_norm():
    dog, state = standing()
    with pytest.raises(ModelError, match="leaves out the floating base"):
        control.velocities(dog, state, [[]], metric="rates")
    found = control.velocities(dog, state, [])
    assert (found.status, np.abs(found.velocity).max()) == ("solved", 0.0)


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_eigenvalues_of_the_digital_trajectory_controller(damping):
    """[ETH] (2.257) with a fixed step: `1 - k dt s^2 / (s^2 + damping^2)` for each singular value, 1 for the rest."""
    arm = fc.robots.planar_arm()
    q0, step, gain = np.array([0.5, 1.0, 1.0]), 0.01, 150.0
    goal = fc.link_pose(arm, arm.state(joints=q0), "end_effector")[:3, 3]
    task = control.PositionTask("end_effector", goal, gain=gain, mask=(True, False, True))

    def advanced(q):
        return q + step * control.velocities(arm, arm.state(joints=q), [[task]], damping=damping).rates

    h = 1e-6
    slope = np.array([(advanced(q0 + h * e) - advanced(q0 - h * e)) / (2.0 * h) for e in np.eye(3)]).T
    s = np.linalg.svd(task.demand(arm, arm.state(joints=q0)).J, compute_uv=False)
    wanted = [1.0, *(1.0 - gain * step * s**2 / (s**2 + damping**2))]
    assert_allclose(np.sort(np.linalg.eigvals(slope).real), np.sort(wanted), atol=1e-5)
    assert max(abs(1.0 - k * step) for k in (1.0, 199.0)) < 1.0 < abs(1.0 - 201.0 * step)
