"""Dynamics along tasks, and laws of their motion and force ([ETH] 3.9), against their formulas and forward dynamics."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat import control
from fallingcat.control import (
    Impedance,
    JointsTask,
    OperationalSpace,
    PoseTask,
    PositionTask,
    accelerations,
    task_dynamics,
)
from fallingcat.errors import ModelError, NumericsError
from fallingcat.testing import check_law

ARM = fc.robots.planar_arm()
AT = ARM.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3], rates=[0.1, -0.2, 0.3])
PLANE = (True, False, True)
TIP = PositionTask("end_effector", acceleration=[1.0, 0.0, 1.0], gain=0.0, mask=PLANE)


def on_its_axis():
    """A hand on one hinge whose axis goes through its tip, tilted so that this is true to rounding only."""
    c, s = np.cos(np.pi / 2), np.sin(np.pi / 2)
    placement = np.array([[c, -0.5 * s, 0.8 * s, 0.1], [s, 0.5 * c, -0.8 * c, 0.2], [0.0, 0.8, 0.5, 0.3], [0, 0, 0, 1]])
    placement[:3, :3] = np.linalg.qr(placement[:3, :3])[0]
    placement[:3, 0] *= np.linalg.det(placement[:3, :3])
    axis = placement[:3, :3].T @ np.array([0.3, 0.4, np.sqrt(0.75)])
    tip = np.eye(4)
    tip[:3, 3] = 0.7 * axis
    body = fc.Body(1.0, np.array([0.1, 0.02, 0.03]), np.diag([0.01, 0.02, 0.015]))
    hinge = fc.Joint("turn", fc.joints.Revolute(tuple(axis)), "base", "hand", placement)
    links = (fc.Link("base", body), fc.Link("hand", body))
    return fc.Model("tilted", fc.lie.Trivial(), links, (hinge,), frames=(fc.model.Frame("tip", "hand", tip),))


def moved(robot, state, law):
    """The acceleration under a law alone."""
    return fc.forward_dynamics(robot, state, law.forces(robot, 0.0, state, frozenset()))


def test_the_numbers_of_the_planar_arm():
    found = task_dynamics(ARM, AT, TIP)
    assert found.Lambda == pytest.approx(np.array([[0.555902691, -0.481165301], [-0.481165301, 1.259405861]]), abs=1e-9)
    assert found.p == pytest.approx([-5.663806141, 14.715], abs=1e-9)
    torques = OperationalSpace(TIP).torques(ARM, AT)
    assert torques == pytest.approx([-30.903718761, -18.354360748, -2.902501368], abs=1e-9)
    still = JointsTask(joints=("joint1", "joint2"), gain=0.0)
    prioritised = accelerations(ARM, AT, [[TIP], [still]])
    assert prioritised.acceleration == pytest.approx([-0.150584684, -0.075292342, -1.119822715], abs=1e-9)
    assert prioritised.ranks == (2, 1)
    assert np.abs(prioritised.residuals[0]).max() < 1e-14


def test_task_dynamics_are_those_of_the_formulas_on_any_base():
    rng = np.random.default_rng(1)
    for base in (None, fc.lie.Trivial()):
        robot = fc.robots.random_tree(rng, 6, kinds=("revolute", "prismatic", "spherical"), base=base, branching=0.0)
        state, task = robot.random_state(rng), PoseTask(robot.link_names[-1])
        found = task_dynamics(robot, state, task)
        J = fc.jacobian(robot, state, robot.link_names[-1], "mixed")
        Jdot = fc.dynamics.jacobian_derivative(robot, state, robot.link_names[-1], "mixed")
        Minv = np.linalg.inv(fc.mass_matrix(robot, state))
        g, h = fc.gravity_forces(robot, state), fc.bias_forces(robot, state)
        L = np.linalg.inv(J @ Minv @ J.T)
        assert np.allclose(found.Lambda, L, rtol=1e-9, atol=1e-12)
        assert np.allclose(found.p, L @ J @ Minv @ g, rtol=1e-9, atol=1e-9)
        assert np.allclose(found.mu, L @ (J @ Minv @ (h - g) - Jdot @ state.velocity), rtol=1e-9, atol=1e-9)
        F = rng.standard_normal(6)
        a = fc.forward_dynamics(robot, state, J.T @ F)  # (3.86)
        assert np.allclose(found.Lambda @ (J @ a + Jdot @ state.velocity) + found.mu + found.p, F, atol=1e-8)


def test_rows_that_depend_on_each_other_are_refused_by_the_name_of_the_task():
    with pytest.raises(NumericsError, match=r"PositionTask\('end_effector'\) Jacobian is zero"):
        task_dynamics(ARM, AT, PositionTask("end_effector"))  # y does not move
    with pytest.raises(NumericsError, match=r"2 PositionTask\('end_effector'\) rows depend on each other \(rank 1\)"):
        task_dynamics(ARM, ARM.state(joints=[0.3, 0.0, 0.0]), PositionTask("end_effector", mask=PLANE))


def test_a_point_on_the_axis_that_should_move_it_is_left_alone():
    """Its Jacobian is nothing but rounding, 4e-17 m/rad: no velocity, torque or angle follows from that."""
    robot = on_its_axis()
    state, task = robot.state(joints=[0.4]), PositionTask("tip", [1.0, 1.0, 1.0])
    assert 0.0 < np.abs(task.demand(robot, state).J).max() < 1e-15
    still = control.velocities(robot, state, [[task]])
    assert (still.status, still.ranks, still.velocity.tolist()) == ("compromise", (0,), [0.0])
    held = control.velocities(robot, state, [[task]], limits=[control.SpeedLimit(control.RotationTask("hand"), 1.0)])
    assert held.velocity.tolist() == [0.0]
    q, v = robot.flatten(state)
    for law in (OperationalSpace(task), control.PrioritizedControl([[task]])):
        assert np.abs(law.torques(robot, state)).max() < 1e-12
        assert np.abs(law.compile(robot)(q, v, 0.0)).max() < 1e-12
    assert np.abs(control.torques(robot, state, [[task]]).torques).max() < 1e-12
    far = control.inverse_kinematics(robot, [task], state)
    assert far.status in ("out of reach", "unfinished")
    assert np.abs(far.state.joints).max() < 100.0
    with pytest.raises(NumericsError, match=r"row \d of the PositionTask\('tip'\) Jacobian is zero"):
        task_dynamics(robot, state, task)


@pytest.mark.parametrize("base", [None, fc.lie.SE3()])
@pytest.mark.parametrize("driven", [None, ["joint1", "joint3"], [{"joint1": 1.0, "joint2": -2.0}, "joint3"]])
def test_the_task_accelerates_as_asked_and_the_posture_does_not_disturb_it(base, driven):
    robot, rng = fc.robots.planar_arm(base).drive(driven), np.random.default_rng(3)
    posture = Impedance([0.1, 0.2, 0.3], 20.0, 4.0, gravity=True)
    for _ in range(3):
        state = robot.random_state(rng)
        task = PositionTask("end_effector", [1.0, 0.0, 2.0], velocity=[0.1, 0.0, 0.2], gain=3.0, ratio=0.7, mask=PLANE)
        d = task.demand(robot, state)
        for law in (OperationalSpace(task), OperationalSpace(task, posture=posture)):
            forces = law.forces(robot, 0.0, state, frozenset())
            a = fc.forward_dynamics(robot, state, forces)
            assert np.allclose(d.J @ a + d.bias, d.acceleration, rtol=1e-8, atol=1e-8)
            assert (forces[: robot.m] == 0.0).all()
            assert driven != ["joint1", "joint3"] or forces[robot.m + 1] == 0.0
    e = np.array([1.0, 2.0]) - fc.link_pose(robot, state, "end_effector")[[0, 2], 3]
    w = d.J @ state.velocity
    assert d.acceleration == pytest.approx(9.0 * e + 2 * 0.7 * 3.0 * (np.array([0.1, 0.2]) - w))


def test_on_a_wall_the_force_and_the_motion_along_it_are_those_that_were_asked_for():
    """(3.97), (3.99) with C Sigma C': the wall is turned against the world by 0.4 rad."""
    c, s = np.cos(0.4), np.sin(0.4)
    C = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    robot = fc.robots.random_tree(
        np.random.default_rng(4), 7, kinds=("revolute",), base=fc.lie.Trivial(), branching=0.0
    )
    state, tip = robot.random_state(np.random.default_rng(5)), robot.link_names[-1]
    J, bias = (x[:3] for x in (fc.jacobian(robot, state, tip, "mixed"), np.zeros(6)))
    state = state._replace(rates=(np.eye(7) - np.linalg.pinv(C[:, :1].T @ J) @ (C[:, :1].T @ J)) @ state.rates)
    J, Jdot = (f(robot, state, tip, "mixed")[:3] for f in (fc.jacobian, fc.dynamics.jacobian_derivative))
    bias = Jdot @ state.velocity
    wanted, F = np.array([3.0, -1.0, 0.5]), np.array([7.0, 8.0, 9.0])
    law = OperationalSpace(
        PositionTask(tip, acceleration=wanted, gain=0.0), force=F, pressed=(True, False, False), axes=C
    )
    n = C[:, :1].T
    held = fc.dynamics.constrained_forward_dynamics(
        robot, state, law.forces(robot, 0.0, state, frozenset()), n @ J, n @ bias
    )
    S_M = C @ np.diag([0.0, 1.0, 1.0]) @ C.T
    assert J @ held.acceleration + bias == pytest.approx(S_M @ wanted, abs=1e-9)
    assert -held.multipliers == pytest.approx(n @ F, rel=1e-9)  # the robot presses on the wall


def test_a_task_error_decays_as_its_equation_says():
    goal, gain = np.array([1.6, 0.0, 2.4]), 6.0
    law = OperationalSpace(
        PositionTask("end_effector", goal, gain=gain, mask=PLANE), posture=Impedance(AT.joints, 0, 3)
    )
    start = AT._replace(rates=np.zeros(3))
    run = fc.simulate(ARM, start, 0.6, law, dt=1e-3, integrator="rkmk4", passive=False)
    e = np.array([goal - fc.link_pose(ARM, state, "end_effector")[:3, 3] for state in run.states])[:, [0, 2]]
    t = run.times[:, None]
    assert np.abs(e - e[0] * (1.0 + gain * t) * np.exp(-gain * t)).max() < 1e-8


def test_a_goal_that_moves_is_followed():
    def circle(t):
        return PositionTask(
            "end_effector",
            [1.2 + 0.3 * np.cos(t), 0.0, 2.2 + 0.3 * np.sin(t)],
            velocity=[-0.3 * np.sin(t), 0.0, 0.3 * np.cos(t)],
            acceleration=[-0.3 * np.cos(t), 0.0, -0.3 * np.sin(t)],
            gain=8.0,
            mask=PLANE,
        )

    law = OperationalSpace(circle, posture=Impedance(AT.joints, 5.0, 3.0))
    run = fc.simulate(ARM, AT, 1.6, law, dt=2e-3, integrator="rkmk4", passive=False)
    t, tip = run.times[-1], fc.link_pose(ARM, run.state(len(run) - 1), "end_effector")[:3, 3]
    assert tip == pytest.approx([1.2 + 0.3 * np.cos(t), 0.0, 2.2 + 0.3 * np.sin(t)], abs=1e-4)


def test_the_law_compiles_and_balances_its_energy():
    law = OperationalSpace(
        TIP, force=(1.0, 2.0), pressed=(True, False), damping=0.1, posture=Impedance([0.1] * 3, 3, 1)
    )
    check_law(law, ARM, states=[AT, ARM.state(joints=[0.3, -0.4, 1.0], rates=[0.3, 0.2, 0.1])])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: OperationalSpace("tip"), "task of 'operational space' must be a Task"),
        (lambda: OperationalSpace(PositionTask), "task of 'operational space' must be a Task"),
        (lambda: OperationalSpace(lambda t: 3).compile(ARM), "a task as a function of time must return a Task"),
        (lambda: OperationalSpace(TIP, pressed=(True,)).compile(ARM), "must have 2 entries"),
        (lambda: OperationalSpace(TIP, pressed=(2, 0)), "True or False"),
        (lambda: OperationalSpace(TIP, axes=np.eye(3)).compile(ARM), "need a task of 3 or 6 rows"),
        (lambda: OperationalSpace(TIP, axes=2.0 * np.eye(3)), "axes"),
        (lambda: OperationalSpace(TIP, force=[np.nan, 1.0]), "force"),
        (lambda: OperationalSpace(TIP, force=[1.0]).torques(ARM, AT), "2 numbers"),
        (lambda: OperationalSpace(TIP, posture="up"), "posture"),
        (lambda: OperationalSpace(TIP, damping=-1.0), "damping"),
        (lambda: OperationalSpace(PositionTask("hand")).compile(ARM), "there is no link or frame 'hand'"),
        (lambda: OperationalSpace(PositionTask("link3", np.zeros((5, 3)))).compile(ARM), "goal"),
        (lambda: PositionTask("link3", ratio=-1.0), "ratio"),
        (lambda: accelerations(ARM, AT, [TIP]), "list of priorities"),
    ],
)
def test_what_is_no_such_law_is_refused_by_name(made, said):
    with pytest.raises(ModelError, match=said):
        made()
