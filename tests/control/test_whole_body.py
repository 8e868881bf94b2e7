"""Whole-body torques: the equations of motion, priorities, limits, the lecture notes, invariance; and the loop."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import control
from fallingcat.control.limits.joint_limits import Limit, Rows
from fallingcat.control.whole_body import solver as whole_body_solver
from fallingcat.errors import ModelError, NumericsError
from fallingcat.qp import compiled_hqp as lexicographic
from fallingcat.qp.least_squares import Level, hierarchical

DOG = fc.robots.quadruped()
FEET = ("front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot")
BENT = np.tile([0.0, 0.7, -1.4], 4)
WEIGHT = 9.81 * DOG.mass


def moving(rng, speed=0.5):
    return DOG.state(
        joints=BENT + 0.1 * rng.normal(size=12),
        twist=0.5 * speed * rng.normal(size=6),
        rates=speed * rng.normal(size=12),
        pose=fc.lie.SE3().exp(0.3 * rng.normal(size=6)),
    )


def jacobians(model, state, contacts):
    """``J`` (3 k x nv) and ``dJ/dt v`` of points."""
    J = [np.zeros((0, model.nv)), *(fc.jacobian(model, state, place, "mixed")[:3] for place in contacts)]
    rate = [
        np.zeros((0, model.nv)),
        *(fc.dynamics.jacobian_derivative(model, state, place, "mixed")[:3] for place in contacts),
    ]
    return np.vstack(J), np.vstack(rate) @ state.velocity


def stack(push=1.0, rng=None):
    """Center of mass, trunk, joints: three levels whose kinds never change."""
    rng = np.random.default_rng(0) if rng is None else rng
    return [
        [control.CenterOfMassTask(acceleration=push * rng.normal(size=3))],
        [control.RotationTask("trunk", acceleration=push * rng.normal(size=3))],
        [control.JointsTask(BENT, gain=5.0)],
    ]


def moves_as_planned(model, state, found, contacts):
    J, bias = jacobians(model, state, contacts)
    forces = np.concatenate([np.zeros(model.m), found.torques]) + J.T @ found.forces.reshape(-1)
    a = fc.forward_dynamics(model, state, forces)
    size = 1.0 + np.abs(a).max()
    assert_allclose(found.acceleration, a, rtol=0.0, atol=1e-9 * size)
    return np.abs(J @ found.acceleration + bias).max(initial=0.0) / size


def inside_cones(forces, friction, normal=(0.0, 0.0, 1.0)):
    up = forces @ np.array(normal)
    across = forces - up[:, None] * np.array(normal)
    return (np.linalg.norm(across, axis=1) <= friction * up + 1e-7).all()


# equations of motion --------------------------------------------------------------------------------------------------


def test_torques_and_forces_give_the_planned_acceleration():
    rng = np.random.default_rng(1)
    limits = [control.TorqueLimits(0.6), control.JointLimits(), control.RateLimits()]
    kinds = set()
    for push in (0.1, 1.0, 5.0, 20.0):
        state = moving(rng)
        found = control.torques(DOG, state, stack(push, rng), contacts=FEET, limits=limits)
        assert moves_as_planned(DOG, state, found, FEET) < 1e-9
        assert inside_cones(found.forces, 0.6)
        assert np.abs(found.torques).max() <= 0.6 * 30.0 * (1.0 + 1e-9)
        assert found.optimality <= 1e-8
        kinds.add(found.status)
    assert "compromise" in kinds


@pytest.mark.parametrize("base", ["SE3", "SE2", "fixed"])
def test_any_base_and_joint(base):
    rng = np.random.default_rng(2)
    group = {"SE3": fc.lie.SE3(), "SE2": fc.lie.SE2(), "fixed": fc.lie.Trivial()}[base]
    robot = fc.robots.random_tree(rng, 5, base=group)
    state = robot.random_state(rng)
    place = robot.link_names[-1]
    contacts = [] if base == "fixed" else [place]
    tasks = [
        [control.CenterOfMassTask(acceleration=rng.normal(size=3))],
        [control.JointsTask(acceleration=np.ones(robot.n))],
    ]
    found = control.torques(robot, state, tasks, contacts=contacts, friction=None)
    assert moves_as_planned(robot, state, found, contacts) < 1e-9
    assert found.optimality <= 1e-8


def test_a_flat_foot_is_six_rows():
    walker, soles = fc.robots.humanoid(), ()
    for side in ("left", "right"):
        walker, sole = fc.contact.corners(walker, f"{side}_sole", (0.2, 0.1))
        soles += sole
    state = walker.neutral()
    tasks = [[control.CenterOfMassTask(acceleration=[0.3, 0.2, 0.5])], [control.JointsTask(state.joints)]]
    found = control.torques(walker, state, tasks, contacts=soles, limits=[control.TorqueLimits()])
    assert moves_as_planned(walker, state, found, soles) < 1e-9
    assert inside_cones(found.forces, 0.6)
    assert found.status == "compromise"
    assert found.unmet == ("JointsTask",)


@pytest.mark.parametrize(
    "drives", [list(DOG.joint_names[1:]), [{"front_left_roll": 1.0, "front_left_knee": -0.5}, *DOG.joint_names[3:]]]
)
def test_only_drives_pull(drives):
    state = moving(np.random.default_rng(13))
    dog = DOG.drive(drives)
    found = control.torques(dog, state, stack(), contacts=FEET, settle="torques")
    assert moves_as_planned(dog, state, found, FEET) < 1e-9
    S = dog.actuation[:, 6:]
    assert_allclose(S.T @ np.linalg.lstsq(S.T, found.torques, rcond=None)[0], found.torques, atol=1e-9)
    assert found.status == "compromise"


# [ETH] 3.10 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("feet", "rank"), [(4, 6), (3, 9), (2, 11), (1, 12), (0, 12)])
def test_how_much_motion_torques_decide(feet, rank):
    """rank (N_c' S') of CONTROL.md, seen as the freedom that a task of all velocities finds."""
    everything = [control.BaseTask(acceleration=np.zeros(6)), control.JointsTask(acceleration=np.zeros(12))]
    found = control.torques(DOG, moving(np.random.default_rng(3)), [everything], contacts=FEET[:feet], friction=None)
    assert found.ranks == (rank,)


def test_least_torques_are_floating_inverse_dynamics():
    """Algorithm 2 with least torque is (3.100): (N_c' S')^+ N_c' (M a + h)."""
    state = moving(np.random.default_rng(4))
    J, _ = jacobians(DOG, state, FEET)
    base = control.BaseTask(acceleration=[0.3, -0.2, 0.5, 0.1, 0.2, -0.3])
    found = control.torques(DOG, state, [[base]], contacts=FEET, friction=None, settle="torques")
    N = np.eye(18) - np.linalg.pinv(J) @ J
    S = np.eye(18)[6:]
    expected = np.linalg.pinv(N.T @ S.T, rcond=1e-10) @ N.T @ fc.inverse_dynamics(DOG, state, found.acceleration)
    assert_allclose(found.torques, expected, atol=1e-11)
    assert found.status == "solved"


def test_an_arm_gets_inverse_dynamics():
    """Example 3.10.1."""
    arm, rng = fc.robots.planar_arm(), np.random.default_rng(5)
    state, a = arm.random_state(rng), rng.normal(size=3)
    found = control.torques(arm, state, [[control.JointsTask(acceleration=a)]])
    expected = fc.inverse_dynamics(arm, state, found.acceleration)
    assert_allclose(found.torques, expected, atol=1e-12)
    assert_allclose(found.acceleration, a - 2.0 * state.rates, atol=1e-12)  # critically damped with gain 1


# the solver -----------------------------------------------------------------------------------------------------------


def test_without_limits_it_is_hierarchical_least_squares():
    rng = np.random.default_rng(6)
    for settle in ("forces", "torques"):
        state, tasks = moving(rng), stack(2.0, rng)
        found = control.torques(DOG, state, tasks, contacts=FEET, friction=None, settle=settle)
        J, bias = jacobians(DOG, state, FEET)
        M, h = fc.mass_matrix(DOG, state), fc.bias_forces(DOG, state)
        dynamics, wide = np.hstack([M, -J.T]), np.zeros((12, 12))
        levels = [Level(np.vstack([dynamics[:6], np.hstack([J, wide])]), np.append(-h[:6], -bias), np.ones(18))]
        for (task,) in tasks:
            d = task.demand(DOG, state)
            A = np.hstack([d.J, np.zeros((len(d.J), 12))])
            levels.append(Level(A, d.acceleration - d.bias, d.weight))
        rest = {"torques": Level(dynamics[6:], -h[6:], np.ones(12))}
        rest["forces"] = Level(np.hstack([np.zeros((12, 18)), np.eye(12)]), np.zeros(12), np.ones(12))
        last = ["forces", "torques"] if settle == "forces" else ["torques", "forces"]
        x = hierarchical([*levels, *(rest[what] for what in last)], 30).x
        assert_allclose(found.acceleration, x[:18], atol=1e-9)
        assert_allclose(found.forces.reshape(-1), x[18:], atol=1e-8)


@pytest.fixture(scope="module")
def solver():
    """Of the loop whose kinds are those of `stack`, under all limits."""
    limits = [control.TorqueLimits(0.5), control.JointLimits(), control.RateLimits()]
    return control.WholeBody(DOG, stack(), FEET, limits=limits).compile()._solver


def posed(solver, rng, push):
    numbers = control.tasks.packing.pack_tasks(DOG, [task for level in stack(push, rng) for task in level])
    return (*DOG.flatten(moving(rng)), numbers)


def test_it_finds_what_the_careful_way_finds(solver):
    rng, held = np.random.default_rng(7), []
    for push in np.geomspace(0.5, 30.0, 30):
        solver.solution.active_sides[:] = 0
        fast = solver.solve(*posed(solver, rng, push)).x.copy()
        slow = solver._reference_solution()
        assert_allclose(fast, slow.x, rtol=0.0, atol=1e-10 * np.abs(slow.x).max())
        held.append(int((slow.multipliers != 0.0).sum()))
    assert min(held) == 0
    assert max(held) >= 8


def test_the_first_level_is_optimal(solver):
    """From the rows alone: its gradient is a sum of equations and of limits where it stands, each pushing inwards."""
    nnls = pytest.importorskip("scipy.optimize").nnls
    shape, rng, seen = solver.plan.shape, np.random.default_rng(8), 0
    for _ in range(20):
        x = solver.solve(*posed(solver, rng, 20.0)).x
        A, E = solver.rows(shape.equations, shape.equations + 3), solver.rows(0, shape.equations)
        G, upper = solver.rows(shape.first_limit, len(solver.value)), solver.value[shape.first_limit :]
        gradient = A.T @ (A @ x - solver.value[shape.equations : shape.equations + 3])
        over, under = G @ x - upper, solver.lower - G @ x
        assert over.max() < 1e-8
        assert under.max() < 1e-8
        pushing = np.vstack([E, -E, G[over > -1e-8], -G[under > -1e-8]])
        _, left = nnls(pushing.T, -gradient, maxiter=10000)
        size = np.abs(gradient).max()
        assert left < 1e-8 * max(1.0, size)
        seen += bool(size > 1.0)
    assert seen >= 5


def test_python_and_machine_code_do_the_same(monkeypatch):
    arm = fc.robots.planar_arm()
    loop = control.WholeBody(
        arm, [[control.PositionTask("end_effector", acceleration=[9.0, 0.0, 3.0])], [control.JointsTask(np.zeros(3))]],
        limits=[OneWay("joint1", 0.05)],
    )  # fmt: skip
    state = arm.flatten(arm.state(joints=[0.3, 0.4, 0.5], rates=[0.1, 0.2, 0.3]))
    fast = loop.compile()
    tau = fast(*state)
    monkeypatch.setattr(lexicographic.LoopSource, "bound", lambda self, *given: lambda: int(self.last(*given)))
    slow = loop.compile()
    assert_allclose(slow(*state), tau, atol=1e-10)
    assert slow.found.active.keys() == fast.found.active.keys() == {"one way of 'joint1'"}
    assert whole_body_solver.SOLVER is lexicographic.SOLVER


# priorities and limits ------------------------------------------------------------------------------------------------


def test_a_lower_level_does_not_move_a_higher_one(solver):
    rng = np.random.default_rng(9)
    state, tasks = moving(rng), stack(15.0, rng)
    limits = [control.TorqueLimits(0.5), control.JointLimits(), control.RateLimits()]
    found = [control.torques(DOG, state, tasks[:k], contacts=FEET, limits=limits) for k in (1, 2, 3)]
    assert found[2].active
    assert_allclose(found[1].residuals[0], found[0].residuals[0], atol=1e-9)
    assert_allclose(found[2].residuals[0], found[0].residuals[0], atol=1e-9)
    assert_allclose(found[2].residuals[1], found[1].residuals[1], atol=1e-9)


def test_weights_share_one_level():
    state = moving(np.random.default_rng(10))
    heavy = control.CenterOfMassTask(acceleration=[1.0, 0.0, 0.0], weight=1e6)
    light = control.CenterOfMassTask(acceleration=[-1.0, 0.0, 0.0])
    found = control.torques(DOG, state, [[heavy, light]], contacts=FEET)
    assert_allclose(found.residuals[0], -1e-6 * found.residuals[1], rtol=1e-6, atol=1e-12)
    assert found.unmet == ("CenterOfMassTask", "CenterOfMassTask")


@dataclass(frozen=True)
class OneWay(Limit):
    """A joint is not faster than ``most``."""

    joint: str
    most: float
    sign: float = 1.0

    def rows(self, model, state):
        i = model.m + model.v_slices[model.joint_index(self.joint)].start
        name = f"{'one way' if self.sign > 0 else 'other way'} of {self.joint!r}"
        return Rows(self.sign * np.eye(model.nv)[[i]], np.array([self.most]), (name,))


def test_limits_that_contradict_are_named():
    arm = fc.robots.planar_arm()
    both = [OneWay("joint1", -1.0), OneWay("joint1", -2.0, -1.0), OneWay("joint2", 5.0)]
    found = control.torques(arm, arm.neutral(), [[control.JointsTask(np.zeros(3))]], limits=both)
    assert found.status == "infeasible"
    assert set(found.conflicts) == {"one way of 'joint1'", "other way of 'joint1'"}
    after = 0.02 * found.acceleration[0]
    assert after == pytest.approx(0.5, abs=1e-9)  # half way between -1 and 2
    assert_allclose(found.acceleration[1:], 0.0, atol=1e-8)


def test_limits_of_velocities_give_way_before_drives():
    state = DOG.state(joints=BENT, rates=np.full(12, 30.0))  # too fast to be braked within the horizon
    limits = [control.RateLimits(), control.TorqueLimits(0.1)]
    found = control.torques(DOG, state, [[control.JointsTask(BENT)]], limits=limits)
    assert found.status == "infeasible"
    assert any("rate limit" in name for name in found.conflicts)
    assert np.abs(found.torques).max() == pytest.approx(3.0, abs=1e-7)
    assert moves_as_planned(DOG, state, found, ()) < 1e-9


def test_a_held_limit_is_met_exactly():
    arm = fc.robots.planar_arm()
    task = control.JointsTask(acceleration=[500.0, 0.0, 0.0])
    found = control.torques(arm, arm.neutral(), [[task]], limits=[OneWay("joint1", 1.0)])
    assert 0.02 * found.acceleration[0] == pytest.approx(1.0, abs=1e-12)
    assert found.active["one way of 'joint1'"] == pytest.approx(450.0 / 0.02)


def test_a_push_beyond_friction_is_a_compromise():
    state = DOG.state(joints=BENT)
    hard = control.CenterOfMassTask(acceleration=[9.0, 0.0, 0.0])
    found = control.torques(DOG, state, [[hard]], contacts=FEET, friction=0.5)
    assert found.status == "compromise"
    assert any(name.startswith("friction cone of") for name in found.active)
    assert inside_cones(found.forces, 0.5)
    held = control.torques(DOG, state, [[hard]], contacts=FEET, friction=None)
    assert held.status == "solved"


def test_without_friction_forces_are_upright():
    found = control.torques(DOG, DOG.state(joints=BENT), [], contacts=FEET, friction=0.0)
    assert_allclose(found.forces[:, :2], 0.0, atol=1e-9)
    assert (found.forces[:, 2] >= -1e-9).all()


def test_no_answer_depends_on_the_base():
    rng = np.random.default_rng(11)
    state, place = moving(rng), "front_left_thigh"
    other = DOG.reroot(place)
    seen = fc.dynamics.reroot_state(DOG, state, place)
    tasks = [[control.CenterOfMassTask(acceleration=[2.0, 1.0, 3.0])], [control.RotationTask("trunk")]]
    for settle in ("forces", "torques"):
        asked = {"contacts": FEET, "limits": [control.TorqueLimits(0.3)], "settle": settle}
        one, two = control.torques(DOG, state, tasks, **asked), control.torques(other, seen, tasks, **asked)
        torque = dict(zip(other.rate_joints, two.torques, strict=True))
        assert_allclose([torque[name] for name in DOG.rate_joints], one.torques, atol=1e-8)
        assert_allclose(two.forces, one.forces, atol=1e-8)
        assert one.active.keys() == two.active.keys()


# the loop -------------------------------------------------------------------------------------------------------------


def test_the_loop_says_what_torques_says_and_starts_warm():
    rng = np.random.default_rng(12)
    limits = [control.TorqueLimits(0.5), control.JointLimits(), control.RateLimits()]
    tasks = stack(12.0, rng)
    loop = control.WholeBody(DOG, tasks, FEET, limits=limits).compile()
    with pytest.raises(ModelError, match="not been called yet"):
        _ = loop.found
    state = moving(rng)
    tau = loop(*DOG.flatten(state), 0.0)
    found = control.torques(DOG, state, tasks, contacts=FEET, limits=limits)
    assert_allclose(tau, found.torques, atol=1e-9)
    assert found.active
    assert found.rounds != 1
    assert_allclose(loop(0.001, state), tau, atol=1e-9)
    assert loop.found.rounds == 1


def test_goals_change_without_new_code():
    arm = fc.robots.planar_arm()
    task, rest = control.PositionTask("end_effector", [1.0, 0.0, 2.0], gain=3.0), control.JointsTask(np.zeros(3))
    loop = control.WholeBody(arm, [[task], [rest]]).compile()
    state = arm.state(joints=[0.3, 0.4, 0.5])
    loop.change(task, goal=[1.5, 0.0, 1.5], gain=4.0)
    expected = control.torques(arm, state, [[task.replaced(goal=[1.5, 0.0, 1.5], gain=4.0)], [rest]])
    assert_allclose(loop(*arm.flatten(state)), expected.torques, atol=1e-10)
    with pytest.raises(ModelError, match=r"PositionTask\('end_effector'\) has no velocity"):
        loop.change(task, velocity=np.zeros(3))
    with pytest.raises(ModelError, match=r"goal of PositionTask\('end_effector'\) must have shape \(3,\)"):
        loop.change(task, goal=[1.0, 2.0])
    with pytest.raises(ModelError, match="not a task of this loop"):
        loop.change(task.replaced(goal=np.zeros(3)), goal=np.zeros(3))


def test_measurements_that_are_not_finite_or_late():
    arm = fc.robots.planar_arm()
    loop = control.WholeBody(arm, [[control.JointsTask(np.zeros(3))]], late=0.01).compile()
    q, v = arm.flatten(arm.neutral())
    loop(q, v, 1.0)
    with pytest.raises(NumericsError, match=r"v\[1\] of 'planar_arm' is not finite"):
        loop(q, np.array([0.0, np.nan, 0.0]), 1.001)
    with pytest.raises(NumericsError, match=r"t = 1.1 s must be at most 0.01 s after the last tick, got 0.099 s"):
        loop(q, v, 1.1)
    with pytest.raises(NumericsError, match="time of a tick"):
        loop(q, v, np.nan)


def test_coordinates_that_are_no_numbers_do_not_reach_machine_code():
    """Once they made more pivots than there are columns, and the loop wrote past the end of its memory."""
    loop = control.WholeBody(DOG, stack(8.0), FEET, limits=[control.TorqueLimits()]).compile()
    q, v = DOG.flatten(DOG.neutral())
    with pytest.raises(NumericsError, match=r"q\[0\] of 'quadruped' is not finite"):
        loop(np.full_like(q, np.nan), v)
    pivots = lexicographic.memory(2, 0, 0, 0, 0)
    pivots.S[0] = np.nan
    assert not lexicographic.accept_pivot(2, 0, 0, 0, pivots)


def test_what_is_sampled_is_compiled():
    with pytest.raises(ModelError, match=r"got a WholeBody; compile it first: \.compile\(\)"):
        control.SampledController(control.WholeBody(DOG, stack(8.0), FEET), rate=250.0)


def test_errors_decay_as_their_equation_says():
    """Critically damped: e(t) = (1 + g t) exp(-g t) e(0), of the tip of an arm that starts at rest."""
    arm, g = fc.robots.planar_arm(), 8.0
    start = arm.state(joints=[0.3, 0.6, 0.5])
    place = fc.link_pose(arm, start, "end_effector")[:3, 3]
    away = np.array([0.1, 0.0, -0.05])
    tip = control.PositionTask("end_effector", place + away, gain=g)
    loop = control.WholeBody(arm, [[tip], [control.JointsTask(start.joints, gain=g)]]).compile()
    run = fc.simulate(arm, start, 0.5, loop, integrator="rkmk4", dt=2e-3)
    for i in (50, 125, 250):
        t, at = run.times[i], fc.link_pose(arm, run.state(i), "end_effector")[:3, 3]
        assert_allclose(place + away - at, (1.0 + g * t) * np.exp(-g * t) * away, atol=1e-7)


def test_one_state_at_a_time():
    arm = fc.robots.planar_arm()
    loop = control.WholeBody(arm, [[control.JointsTask(np.zeros(3))]]).compile()
    with pytest.raises(ModelError, match=r"q must have shape \(3,\), got \(2, 3\)"):
        loop(np.zeros((2, 3)), np.zeros((2, 3)))


def test_a_dog_stands_on_hard_and_on_soft_ground():
    state = DOG.state(joints=BENT)
    height = -fc.link_pose(DOG, state, FEET[0])[2, 3]
    pose = np.eye(4)
    pose[2, 3] = height
    state = DOG.state(pose=pose, joints=BENT)
    com = fc.center_of_mass(DOG, state)
    tasks = [[control.CenterOfMassTask(com, gain=8.0)], [control.RotationTask("trunk", np.eye(3), gain=8.0)]]
    loop = control.WholeBody(DOG, tasks, FEET, limits=[control.TorqueLimits()]).compile()
    for contact in (
        fc.contact.HardContacts(FEET, friction=0.8),
        fc.contact.CompliantFloor(FEET, (2e4, 2e4), (2e2, 2e2)),
    ):
        run = fc.simulate(DOG, state, 0.1, control.SampledController(loop, rate=250.0), contact)
        assert run.status.startswith("finished")
        assert np.abs(fc.center_of_mass(DOG, run.state(-1)) - com).max() < 2e-3


def standing(rng):
    """A dog on its feet, a little off."""
    joints = BENT + 0.05 * rng.normal(size=12)
    pose = np.eye(4)
    pose[2, 3] = -min(fc.link_pose(DOG, DOG.state(joints=joints), foot)[2, 3] for foot in FEET)
    return DOG.state(pose=pose, joints=joints, twist=0.05 * rng.normal(size=6), rates=0.1 * rng.normal(size=12))


def is_the_single_runs(body, starts, **how):
    """Each robot with its own warm start: held limits of one do not disturb another."""
    robot, how = body.model, how | {"every": 2}
    all_ = fc.rollout(robot, starts, 0.04, control.SampledController(body.compile(), rate=250.0, latency=4e-3), **how)
    assert all_.finite.all()
    for i, start in enumerate(starts):
        run = fc.simulate(
            robot, start, 0.04, control.SampledController(body.compile(), rate=250.0, latency=4e-3), **how
        )
        assert_allclose(all_.joints[:, i], run.joints, rtol=0.0, atol=1e-11)
        assert_allclose(all_.rates[:, i], run.rates, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("contact", "integrator"),
    [
        (fc.contact.CompliantFloor(FEET, (2e4, 2e4), (2e2, 2e2)), "implicit"),
        pytest.param(fc.contact.HardContacts(FEET, friction=0.8), "moreau", marks=pytest.mark.slow),
    ],
)
def test_a_rollout_of_dogs_is_the_single_runs(contact, integrator):
    rng = np.random.default_rng(14)
    tasks = [[control.CenterOfMassTask([0.03, 0.0, 0.25], gain=10.0)], [control.RotationTask("trunk", np.eye(3))]]
    body = control.WholeBody(DOG, tasks, FEET, limits=[control.TorqueLimits(0.3), control.JointLimits()])
    is_the_single_runs(body, [standing(rng) for _ in range(3)], contact=contact, integrator=integrator, dt=2e-3)


def test_a_rollout_of_arms_is_the_single_runs():
    arm, rng = fc.robots.planar_arm(), np.random.default_rng(16)
    tasks = [[control.PositionTask("end_effector", [1.0, 0.0, 2.0], gain=20.0)], [control.JointsTask(np.zeros(3))]]
    body = control.WholeBody(arm, tasks, limits=[OneWay("joint1", 0.2)])
    is_the_single_runs(body, [arm.random_state(rng) for _ in range(5)], integrator="rkmk4", dt=1e-3)


def test_robots_of_a_rollout_may_differ_from_the_one_that_the_loop_knows():
    arm, start = fc.robots.planar_arm(), fc.robots.planar_arm().state(joints=[0.3, 0.6, 0.5])
    body, masses = control.WholeBody(arm, [[control.JointsTask(np.zeros(3), gain=10.0)]]), [1.0, 1.5]
    how = {"integrator": "implicit", "dt": 1e-3}
    servo = control.SampledController(body.compile(), rate=250.0)
    both = fc.rollout(arm, [start] * 2, 0.02, servo, parameters={"link3.mass": masses}, **how)
    for i, mass in enumerate(masses):
        link = arm.links[arm.link_index("link3")]
        other = arm.replace_body("link3", replace(link.body, mass=mass))
        run = fc.simulate(other, start, 0.02, control.SampledController(body.compile(), rate=250.0), **how)
        assert_allclose(both.joints[-1, i], run.joints[-1], rtol=0.0, atol=1e-11)
    assert np.abs(both.joints[-1, 0] - both.joints[-1, 1]).max() > 1e-6


def test_many_robots_at_once():
    rng, tasks, limits = np.random.default_rng(15), stack(8.0), [control.TorqueLimits(0.5)]
    loop = control.WholeBody(DOG, tasks, FEET, limits=limits, late=0.01).compile()
    some = [moving(rng) for _ in range(3)]
    many = fc.State(*map(np.array, zip(*some, strict=True)))
    for t in (0.0, 0.005):
        found = loop.batch_forces(t, many)
        for tau, state in zip(found, some, strict=True):
            assert_allclose(tau, control.torques(DOG, state, tasks, contacts=FEET, limits=limits).torques, atol=1e-9)
    many.joints[1, 4] = np.nan
    found = loop.batch_forces(0.01, many)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()
    with pytest.raises(NumericsError, match=r"t = 0.03 s must be at most 0.01 s after the last tick, got 0.02 s"):
        loop.batch_forces(0.03, many)
    with pytest.raises(ModelError, match="pass a State of 'quadruped', not a list"):
        loop.batch_forces(0.03, some)
    with pytest.raises(ModelError, match="one batch axis, got 0"):
        loop.batch_forces(0.03, some[0])


def test_a_rollout_says_which_controllers_it_takes():
    arm = fc.robots.planar_arm()
    loop = control.WholeBody(arm, [[control.JointsTask(np.zeros(3))]]).compile()
    with pytest.raises(ModelError, match="a SampledController of many robots, such as a loop of WholeBody"):
        fc.rollout(arm, [arm.neutral()], 0.01, loop)

    class Odd:
        def __init__(self, answer):
            self.answer = answer

        def __call__(self, t, state):
            return np.zeros(3)

        def batch_forces(self, t, states):
            return self.answer(t)

    def rolled(answer):
        fc.rollout(arm, [arm.neutral()] * 2, 0.02, control.SampledController(Odd(answer), rate=100.0))

    for wrong, told in ((np.zeros((1, 3)), r"an array of shape \(1, 3\)"), ("torque", "'torque'"), (None, "None")):
        with pytest.raises(ModelError, match=rf"a controller of 2 robots gives forces of shape \(2, 3\), not {told}"):
            rolled(lambda t, wrong=wrong: wrong)
    with pytest.raises(ZeroDivisionError) as error:
        rolled(lambda t: np.full((2, 3), 1.0 / (0 if t > 0.0 else 1)))
    assert error.value.__notes__[0] == "in the controller, at t = 0.01 s"


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contacts": ["hoof"]}, "hoof"),
        ({"contacts": "foot"}, r"contacts must be a list of names of links and frames, such as \['foot'\], got 'foot'"),
        ({"contacts": [FEET[0], FEET[0]]}, "named twice"),
        ({"contacts": [FEET[0], 3]}, r"names of links and frames, such as \['foot'\], got 3 in it"),
        ({"contacts": [control.PoseTask(FEET[0])]}, r"such as \['foot'\], got PoseTask\('front_left_foot'\) in it"),
        ({"friction": -0.1}, "friction must be None, .* not negative"),
        ({"friction": [0.5, 0.5]}, "one number or 4 numbers"),
        ({"limits": ["torque"]}, r"such as \[TorqueLimits\(\), JointLimits\(\)\]"),
        ({"settle": "best"}, "settle is one of forces, torques"),
        ({"horizon": 0.0}, "horizon"),
        ({"normal": [0.0, 0.0, 0.0]}, "normal of the ground"),
        ({"tasks": [control.JointsTask(BENT)]}, r"\[\[task, ...\], ...\], got \[task, ...\]"),
        ({"tasks": [[control.PositionTask("hoof")]]}, "hoof"),
    ],
)
def test_bad_calls_say_what_is_wrong(change, message):
    asked = {"tasks": [[control.JointsTask(BENT)]], "contacts": FEET} | change
    with pytest.raises(ModelError, match=message):
        control.torques(DOG, DOG.neutral(), **asked)


def test_contacts_that_contradict_each_other_are_named():
    arm = fc.robots.planar_arm()
    state = arm.state(joints=[0.3, 0.4, 0.5], rates=[1.0, 2.0, -1.0])
    with pytest.raises(NumericsError, match="link2, link3, end_effector cannot all be without acceleration"):
        control.torques(arm, state, [], contacts=["link2", "link3", "end_effector"], friction=None)


def test_velocities_know_no_torque_limits():
    with pytest.raises(ModelError, match="limits must be a list of limits"):
        control.velocities(DOG, DOG.neutral(), [[control.JointsTask(BENT)]], limits=[control.TorqueLimits()])
