"""Robots on contacts: supports, inverse dynamics, priorities and virtual models ([ETH] 3.10, 3.11)."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import (
    BaseTask,
    CenterOfMassTask,
    JointsTask,
    PoseTask,
    PositionTask,
    PrioritizedControl,
    VirtualModel,
    floating_inverse_dynamics,
    support_dynamics,
)
from fallingcat.control.laws.support_consistent import prioritised_drives
from fallingcat.errors import FallingCatError, ModelError
from fallingcat.testing import check_law

DOG = fc.robots.quadruped()
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
BASE = BaseTask(acceleration=[0.3, -0.2, 0.5, 0.1, 0.4, -0.3], gain=0.0)


def standing(rng, robot=DOG):
    """Legs bent at random, in any attitude, the feet at rest."""
    state = robot.random_state(rng)
    state = state._replace(joints=np.tile([0.1, 0.6, -1.2], 4) + 0.2 * rng.standard_normal(12))
    J = support_dynamics(robot, state, FEET).J
    v = state.velocity - np.linalg.pinv(J) @ (J @ state.velocity)
    return state._replace(twist=v[:6], rates=v[6:])


def textbook(levels, n):
    """Algorithm 2 as it is printed, with pseudo-inverses and projectors of all levels before."""
    x, N, above = np.zeros(n), np.eye(n), np.zeros((0, n))
    for A, b in levels:
        x = x + N @ (np.linalg.pinv(A @ N, rcond=1e-9) @ (b - A @ x))
        above = np.vstack([above, A])
        N = np.eye(n) - np.linalg.pinv(above, rcond=1e-9) @ above
    return x


def problem(robot, state, tasks, feet):
    """The levels of (3.110), the contact, (3.111), (3.113) in ``x = [a; F_c; tau]``."""
    nv, k, n = robot.nv, 3 * len(feet), robot.n
    J, bias, _, _ = support_dynamics(robot, state, feet)
    zero = lambda rows, size: np.zeros((rows, size))  # noqa: E731
    S = robot.actuation
    levels = [
        (np.hstack([fc.mass_matrix(robot, state), J.T, -S.T]), -fc.bias_forces(robot, state)),
        (np.hstack([J, zero(k, k), zero(k, n)]), -bias),
    ]
    for level in tasks:
        d = [task.demand(robot, state) for task in level]
        A, b = np.concatenate([x.J for x in d]), np.concatenate([x.acceleration - x.bias for x in d])
        levels.append((np.hstack([A, zero(len(A), k), zero(len(A), n)]), b))
    return [*levels, (np.hstack([zero(n, nv), zero(n, k), np.eye(n)]), np.zeros(n))]


@pytest.mark.parametrize(("feet", "rank", "ranks"), [(4, 6, 12), (3, 9, 9), (2, 11, 6), (1, 12, 3), (0, 12, 0)])
def test_ranks_of_a_quadruped_on_its_feet(feet, rank, ranks):
    state = standing(np.random.default_rng(feet))
    found = support_dynamics(DOG, state, FEET[:feet])
    assert np.linalg.matrix_rank(found.N.T @ DOG.actuation.T, 1e-9) == rank
    assert floating_inverse_dynamics(DOG, state, np.zeros(18), FEET[:feet]).rank == rank
    assert np.linalg.matrix_rank(found.J) == ranks


def test_supports_are_those_of_the_formulas_and_stop_impacts():
    rng = np.random.default_rng(0)
    state = DOG.random_state(rng)
    J, bias, L, N = support_dynamics(DOG, state, FEET[:3])
    M = fc.mass_matrix(DOG, state)
    assert np.allclose(L, np.linalg.inv(J @ np.linalg.solve(M, J.T)), rtol=1e-9)
    assert np.allclose(N, np.eye(18) - np.linalg.solve(M, J.T @ L @ J), atol=1e-10)
    assert np.abs(J @ (N @ state.velocity)).max() < 1e-10  # (3.70)
    assert np.allclose(bias, np.concatenate(
        [fc.dynamics.jacobian_derivative(DOG, state, foot, "mixed")[:3] @ state.velocity for foot in FEET[:3]]
    ))  # fmt: skip
    twice = support_dynamics(DOG, state, [*FEET[:3], FEET[0]])
    assert np.allclose(twice.N, N, atol=1e-9)  # the same contact named twice is one


def test_torques_and_forces_give_the_acceleration_and_internal_torques_move_nothing():
    rng = np.random.default_rng(2)
    state = standing(rng)
    J, bias, _, N = support_dynamics(DOG, state, FEET)
    a = N @ rng.standard_normal(18) - np.linalg.pinv(J) @ bias
    a = a - np.linalg.pinv(J) @ (J @ a + bias)
    found = floating_inverse_dynamics(DOG, state, a, FEET)
    held = fc.dynamics.constrained_forward_dynamics(DOG, state, np.append(np.zeros(6), found.torques), J, bias)
    assert held.acceleration == pytest.approx(a, abs=1e-9)
    assert held.multipliers == pytest.approx(found.forces.ravel(), abs=1e-8)
    assert max(np.abs(found.residual).max(), np.abs(found.slip).max()) < 1e-10
    other = floating_inverse_dynamics(DOG, state, a, FEET, torques=rng.standard_normal(12))  # (3.101)
    held = fc.dynamics.constrained_forward_dynamics(DOG, state, np.append(np.zeros(6), other.torques), J, bias)
    assert held.acceleration == pytest.approx(a, abs=1e-9)
    assert np.abs(other.forces - found.forces).max() > 0.1
    assert other.torques @ other.torques > found.torques @ found.torques


def test_on_two_feet_what_is_left_of_a_consistent_acceleration_is_reported():
    rng = np.random.default_rng(3)
    state = standing(rng)
    J, bias, _, N = support_dynamics(DOG, state, FEET[:2])
    a = rng.standard_normal(18)
    a = a - np.linalg.pinv(J) @ (J @ a + bias)
    found = floating_inverse_dynamics(DOG, state, a, FEET[:2])
    f = N.T @ (fc.mass_matrix(DOG, state) @ a + fc.bias_forces(DOG, state))
    A = N.T @ DOG.actuation.T
    u = np.linalg.pinv(A, rcond=1e-9) @ f
    assert found.torques == pytest.approx(u, abs=1e-8)
    assert found.residual == pytest.approx(A @ u - f, abs=1e-9)
    assert np.linalg.norm(found.residual) > 0.1
    assert np.abs(found.slip).max() < 1e-10
    slipping = floating_inverse_dynamics(DOG, state, a + 1.0, FEET[:2])
    assert np.abs(slipping.slip).max() > 0.1


@pytest.mark.parametrize("feet", [4, 3])
def test_algorithm_2_equals_inverse_dynamics_the_sequence_of_problems_and_ours(feet):
    rng = np.random.default_rng(feet)
    state, feet = standing(rng), FEET[:feet]
    x = textbook(problem(DOG, state, [[BASE]], feet), 18 + 3 * len(feet) + 12)
    u = prioritised_drives(DOG, state, [[BASE]], feet)
    size = np.abs(u).max()
    assert np.abs(u - x[-12:]).max() < 1e-10 * size
    consistent = floating_inverse_dynamics(DOG, state, x[:18], feet)
    assert np.abs(u - consistent.torques).max() < 1e-10 * size
    assert -x[18:-12] == pytest.approx(consistent.forces.ravel(), abs=1e-8)  # F_c is what the robot exerts
    y, A, b = np.zeros(len(x)), np.zeros((0, len(x))), np.zeros(0)  # (3.108): each level with those before held
    for own, wanted in problem(DOG, state, [[BASE]], feet):
        kkt = np.block([[own.T @ own, A.T], [A, np.zeros((len(A), len(A)))]])
        y = np.linalg.lstsq(kkt, np.concatenate([own.T @ wanted, b]), rcond=1e-13)[0][: len(x)]
        A = np.vstack([A, own])
        b = A @ y
    assert np.abs(u - y[-12:]).max() < 1e-6 * size


def test_priorities_are_strict_and_below_them_torques_are_least():
    rng = np.random.default_rng(7)
    for feet in (FEET, FEET[:2]):
        state = standing(rng)
        levels = [[CenterOfMassTask([0.1, 0.2, 0.3], gain=2.0)], [BASE, JointsTask(np.zeros(12), gain=3.0, weight=0.5)]]
        u = prioritised_drives(DOG, state, levels, feet)
        x = textbook(problem(DOG, state, [levels[0]], feet), 18 + 3 * len(feet) + 12)
        J, bias, _, _ = support_dynamics(DOG, state, feet)
        a = fc.dynamics.constrained_forward_dynamics(DOG, state, np.append(np.zeros(6), u), J, bias).acceleration
        d = levels[0][0].demand(DOG, state)
        assert np.abs(d.J @ a - d.J @ x[:18]).max() < 1e-9 * max(1.0, np.abs(d.acceleration).max())


def test_the_whole_body_problem_without_limits_has_the_same_torques():
    """Another elimination of the same equations, by pivots and Householder's reflections instead of projectors."""
    state = standing(np.random.default_rng(11))
    tasks = [[CenterOfMassTask([0.0, 0.0, 0.3])], [BASE, JointsTask(np.zeros(12))]]
    whole = fc.control.torques(DOG, state, tasks, contacts=FEET[:3], friction=None, settle="torques")
    found = PrioritizedControl(tasks, FEET[:3]).torques(DOG, state)
    assert np.abs(found - whole.torques).max() < 1e-11 * np.abs(found).max()


def test_example_3_10_1_is_inverse_dynamics_and_singular_tasks_are_met_as_far_as_they_can_be():
    arm, rng = fc.robots.planar_arm(), np.random.default_rng(1)
    state, wanted = arm.random_state(rng), rng.standard_normal(3)
    u = prioritised_drives(arm, state, [[JointsTask(acceleration=wanted, gain=0.0)]], [])
    assert u == pytest.approx(fc.inverse_dynamics(arm, state, wanted), rel=1e-12)
    straight = arm.state(joints=[0.3, 0.0, 0.0])
    tip = PositionTask("end_effector", acceleration=[1.0, 0.0, 1.0], gain=0.0)
    law = PrioritizedControl([[tip]])
    assert np.abs(law.torques(arm, straight)).max() < 100.0
    J = fc.jacobian(arm, straight, "end_effector", "mixed")[:3]
    a = fc.forward_dynamics(arm, straight, law.torques(arm, straight))
    assert np.abs(J.T @ (J @ a - tip.acceleration)).max() < 1e-9  # the best that it can do


def test_no_torque_depends_on_the_base_that_was_chosen():
    rng = np.random.default_rng(9)
    robot = fc.robots.random_tree(rng, 5, kinds=("revolute",))
    state, place = robot.random_state(rng), robot.link_names[3]
    tasks = [[CenterOfMassTask([0.1, 0.2, 0.3], gain=2.0)], [PoseTask(robot.link_names[5], np.eye(4))]]
    other = robot.reroot(place)
    turned = fc.dynamics.reroot_state(robot, state, place)
    order = [robot.rate_joints.index(name) for name in other.rate_joints]
    for contacts in ([], [robot.link_names[1], robot.link_names[2]]):
        u = prioritised_drives(robot, state, tasks, contacts)
        assert prioritised_drives(other, turned, tasks, contacts) == pytest.approx(u[order], rel=1e-8, abs=1e-8)


def test_what_drives_cannot_move_is_not_asked_of_them():
    """In flight no torque moves the center of mass: rows of nothing but rounding have no rank."""
    state, com = standing(np.random.default_rng(3)), CenterOfMassTask([0.0, 0.0, 0.3])
    for law in (PrioritizedControl([[com]]), fc.control.OperationalSpace(com)):
        assert np.abs(law.torques(DOG, state)).max() < 1e-9
        fast = law.compile(fc.robots.planar_arm(fc.lie.SE3()))
        assert np.abs(fast(np.array([0, 0, 0, 0, 0, 0, 1, 0.3, 0.4, 0.5]), np.full(9, 0.1), 0.0)).max() < 1e-9


def test_virtual_models_balance_what_they_should():
    rng = np.random.default_rng(4)
    state = standing(rng)._replace(twist=np.zeros(6), rates=np.zeros(12))
    F = np.array([5.0, -3.0, 20.0, 0.5, 0.2, -0.4])
    law = VirtualModel([BaseTask()], force=F, contacts=FEET)
    tau, J, g = law.torques(DOG, state), support_dynamics(DOG, state, FEET).J, fc.gravity_forces(DOG, state)
    onto = J[:, :6].T
    pull = law.virtual_force(DOG, 0.0, state)
    forces = -np.linalg.pinv(onto) @ (g + pull)[:6]  # (3.120): what the robot exerts
    rows = g + J.T @ forces - np.append(np.zeros(6), tau)
    assert np.abs(rows[6:]).max() < 1e-12  # (3.121): nothing is left in the joints
    assert rows[:6] == pytest.approx(-pull[:6], abs=1e-10)
    turn = np.kron(np.eye(2), state.pose[:3, :3])
    assert turn @ pull[:6] == pytest.approx(F)  # of the base, along the world's axes
    arm = fc.robots.planar_arm()  # a fixed base is no special case
    at, tip = arm.state(joints=[0.3, 0.4, 0.5], rates=[0.1, 0.2, 0.3]), PositionTask("end_effector", [1.0, 0.0, 2.0])
    Jt = fc.jacobian(arm, at, "end_effector", "mixed")[:3]
    pull = 30.0 * ([1.0, 0.0, 2.0] - fc.link_pose(arm, at, "end_effector")[:3, 3]) - 4.0 * Jt @ at.rates
    assert VirtualModel([tip], 30.0, 4.0).torques(arm, at) == pytest.approx(Jt.T @ pull + fc.gravity_forces(arm, at))


def test_a_joint_without_a_drive_gets_no_torque_in_any_law():
    lame, rng = DOG.drive([name for name in DOG.joint_names if name != "front_left_knee"]), np.random.default_rng(8)
    state, i = standing(rng), DOG.rate_joints.index("front_left_knee")
    for law in (
        PrioritizedControl([[BASE]], FEET),
        VirtualModel([BaseTask(state.pose)], 100.0, contacts=FEET),
        fc.control.OperationalSpace(PositionTask("rear_left_foot", [0.0, 0.0, 0.3])),
        fc.control.Impedance(np.zeros(12), 10.0, 1.0, gravity=True),
        fc.control.InverseDynamics(np.zeros(12), 10.0, 1.0),
    ):
        torques = law.torques(lame, state)
        assert torques[i] == 0.0
        assert np.abs(torques).max() > 0.1
    u = floating_inverse_dynamics(lame, state, np.zeros(18), FEET)
    assert u.torques[i] == 0.0
    d = BASE.demand(lame, state)
    J, bias, _, _ = support_dynamics(lame, state, FEET)
    a = fc.dynamics.constrained_forward_dynamics(
        lame, state, PrioritizedControl([[BASE]], FEET).forces(lame, 0, state, frozenset()), J, bias
    )
    assert d.J @ a.acceleration + d.bias == pytest.approx(BASE.acceleration, abs=1e-8)  # eleven drives are enough


def test_the_laws_compile_and_balance_their_energy():
    robot = fc.robots.planar_arm(fc.lie.SE3())
    states = [robot.random_state(np.random.default_rng(i)) for i in range(3)]
    tip = PositionTask("end_effector", [0.1, 0.2, 0.3], gain=3.0)
    check_law(PrioritizedControl([[tip], [JointsTask([0.1, 0.2, 0.3])]]), robot, states=states)
    for law in (PrioritizedControl([[tip]], ["post"]), VirtualModel([tip], 20.0, 2.0, contacts=["post"])):
        fast = law.compile(robot)
        for state in states:
            assert fast(*robot.flatten(state), 0.0) == pytest.approx(law.torques(robot, state), rel=1e-11, abs=1e-11)


def test_measurements_that_are_no_numbers_are_named():
    state = standing(np.random.default_rng(1))
    for law in (PrioritizedControl([[BASE]], FEET), fc.control.Impedance(np.zeros(12), 1.0, 1.0)):
        for part in ("joints", "rates"):
            odd = state._replace(**{part: np.where(np.arange(12) == 3, np.nan, getattr(state, part))})
            with pytest.raises(FallingCatError, match=f"{part}.* not finite"):
                law.torques(DOG, odd)


def test_code_of_a_run_has_no_damping_where_there_is_none():
    from fallingcat.simulation.problem.law_parameters import split_parameters

    assert len(split_parameters([PrioritizedControl([[BASE]], FEET)], DOG)[1]) == 0
    assert split_parameters([PrioritizedControl([[BASE]], FEET, damping=0.1)], DOG)[1].tolist() == [0.1]


@pytest.mark.slow
def test_a_quadruped_stands_on_a_floor_under_both_laws():
    stand = DOG.state(joints=np.tile([0.0, 0.6, -1.2], 4))
    low = min(fc.link_pose(DOG, stand, foot)[2, 3] for foot in FEET)
    pose, goal = stand.pose.copy(), stand.pose.copy()
    pose[2, 3], goal[2, 3] = -low - 1e-3, 0.03 - low
    stand, floor = stand._replace(pose=pose), fc.contact.CompliantFloor(tuple(FEET), (1e4, 1e4), (100.0, 100.0))
    for law in (
        PrioritizedControl([[BaseTask(goal, gain=8.0)]], FEET),
        VirtualModel([BaseTask(goal)], (2e3,) * 3 + (200.0,) * 3, (200.0,) * 3 + (20.0,) * 3, contacts=FEET),
    ):
        run = fc.simulate(DOG, stand, 1.5, law, floor, integrator="implicit", dt=1e-3)
        assert run.status == "finished"
        assert run.poses[-1][:3, 3] == pytest.approx(goal[:3, 3], abs=0.01)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: PrioritizedControl([BASE]), "list of priorities"),
        (lambda: PrioritizedControl([[BASE]], damping=-1.0), "damping of 'priorities' must not be negative"),
        (lambda: PrioritizedControl(3), "tasks of 'priorities' must be a list"),
        (lambda: PrioritizedControl([["stand"]]), "task of 'priorities' must be a Task"),
        (lambda: PrioritizedControl([[BASE]], ["paw"]).compile(DOG), "there is no link or frame 'paw'"),
        (lambda: PrioritizedControl([[BASE]], "paw"), "contacts of 'priorities' must be a list"),
        (lambda: PrioritizedControl([[BASE]], [3]).compile(DOG), "a contact must be the name"),
        (lambda: VirtualModel([BASE], [1.0, 2.0]).compile(DOG), "stiffness of 'virtual model' must be one number or 6"),
        (lambda: VirtualModel([BASE], force=[1.0]).compile(DOG), "force of 'virtual model' must be one number or 6"),
        (lambda: support_dynamics(DOG, DOG.neutral(), "paw"), "contacts must be names"),
        (lambda: floating_inverse_dynamics(DOG, DOG.neutral(), np.zeros(3), FEET), "acceleration"),
    ],
)
def test_what_is_no_such_law_is_refused_by_name(made, said):
    with pytest.raises(ModelError, match=said):
        made()
