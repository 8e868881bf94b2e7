"""Inverse kinematics: reached to the tolerance, within limits, or said why not."""

import importlib.metadata
import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import control
from fallingcat.control import inverse_kinematics
from fallingcat.control.inverse_kinematics.damped_step import STEP_MEMORY, numbers_of, step
from fallingcat.control.inverse_kinematics.reach_bound import reach_bound
from fallingcat.errors import ModelError


def arm(seed, n=7, base=None, kinds=("revolute",)):
    rng = np.random.default_rng(seed)
    base = fc.lie.Trivial() if base is None else base
    return fc.robots.random_tree(rng, n, kinds=list(kinds), base=base, branching=0.0, fixed=0.0)


def poses(model, place, count, seed=0):
    q = model.random(np.random.default_rng(seed), count)
    return np.array([fc.link_pose(model, model.unflatten(row), place) for row in q])


def missed(model, state, place, goal):
    """Distance and angle by which a pose is missed, by a way of their own."""
    H = np.linalg.inv(goal) @ fc.link_pose(model, state, place)
    turn = np.linalg.norm(H[:3, :3] - np.eye(3)) / np.sqrt(8.0)
    return np.linalg.norm(H[:3, 3]), 2.0 * np.arcsin(min(turn, 1.0))


def within(model, joints, slack=0.0):
    lower, upper = (np.array([getattr(limit, side) for limit in model.limits]) for side in ("lower", "upper"))
    return bool(((joints >= lower - slack) & (joints <= upper + slack)).all())


@pytest.fixture(scope="module")
def panda():
    path = next(f for f in importlib.metadata.files("example-robot-data") if f.name == "panda.urdf").locate()
    model = fc.load(str(path), base="fixed")
    return model.lock([name for name in model.joint_names if "finger" in name])


def test_every_reachable_pose_of_a_panda_is_reached(panda):
    hand, count = "panda_hand_tcp", 1000
    goals = fc.compile(panda, fc.link_pose, link=hand)(panda.random(np.random.default_rng(0), count))
    found = inverse_kinematics(panda, [control.PoseTask(hand, goals)])
    assert found.converged.all()
    assert set(found.status) == {"converged"}
    assert all(within(panda, joints) for joints in found.state.joints)
    for i in range(0, count, 10):
        far, turned = missed(panda, panda.state(joints=found.state.joints[i]), hand, goals[i])
        assert far < 1e-5
        assert turned < 1e-4


@pytest.mark.filterwarnings("ignore::UserWarning")  # of their files
@pytest.mark.parametrize("name", ["ur5_robot.urdf", "kinova.urdf", "talos_left_arm.urdf", "z1.urdf"])
def test_every_reachable_pose_of_other_arms_is_reached(name):
    path = next(f for f in importlib.metadata.files("example-robot-data") if f.name == name).locate()
    model = fc.load(str(path), base="fixed")
    depth = {model.link_names[0]: 0}
    for joint in model.joints:
        depth[joint.child] = depth[joint.parent] + joint.nv
    tip = max(depth, key=depth.get)
    goals = fc.compile(model, fc.link_pose, link=tip)(model.random(np.random.default_rng(1), 500))
    found = inverse_kinematics(model, [control.PoseTask(tip, goals)])
    assert found.converged.all()
    assert max(max(missed(model, model.state(joints=found.state.joints[i]), tip, goals[i])) for i in range(50)) < 1e-5


def test_goals_have_one_axis_in_front():
    arm = fc.robots.planar_arm()
    with pytest.raises(ModelError, match=r"one batch axis, got 2: \(3, 2\)"):
        inverse_kinematics(arm, [control.PositionTask("end_effector", np.ones((3, 2, 3)))])


def test_one_goal_after_the_other_is_the_same_as_many(panda):
    goals = poses(panda, "panda_hand_tcp", 20)
    many = inverse_kinematics(panda, [control.PoseTask("panda_hand_tcp", goals)], restarts=0)
    for i, goal in enumerate(goals):
        one = inverse_kinematics(panda, [control.PoseTask("panda_hand_tcp", goal)], restarts=0)
        assert (one.status, one.iterations) == (many.status[i], many.iterations[i]) or many.status[i] != "converged"
        if many.converged[i]:
            assert_allclose(one.state.joints, many.state.joints[i], atol=1e-9)
            assert_allclose(one.errors[0], many.errors[0][i], atol=1e-9)


def test_prepared_for_a_loop_it_is_the_same(panda):
    hand, start = "panda_hand_tcp", panda.neutral()
    reach = control.InverseKinematics(panda, [control.PoseTask(hand)])
    for goal in poses(panda, hand, 20):
        loop, plain = reach(start, goal), inverse_kinematics(panda, [control.PoseTask(hand, goal)], start)
        assert (loop.status, loop.iterations) == (plain.status, plain.iterations)
        assert_allclose(loop.state.joints, plain.state.joints, rtol=0.0, atol=0.0)
    kept = loop.state.joints.copy()
    reach(start, np.eye(4))
    assert_allclose(loop.state.joints, kept, rtol=0.0, atol=0.0)  # an answer is not overwritten by the next
    with pytest.raises(ModelError, match="must be a pose"):
        reach(start, 2.0 * np.eye(4))
    with pytest.raises(ModelError, match="one goal for each task"):
        reach(start)
    with pytest.raises(ModelError, match="joints must have shape"):
        reach(fc.robots.planar_arm().neutral(), np.eye(4))
    with pytest.raises(ModelError, match=r"goal of .* must have shape \(3,\)"):
        control.InverseKinematics(panda, [control.PositionTask(hand)])(start, [1.0, 2.0])


def test_restarts_are_seeded(panda):
    task = control.PoseTask("panda_hand_tcp", poses(panda, "panda_hand_tcp", 30))
    a, b = (inverse_kinematics(panda, [task], seed=3) for _ in range(2))
    assert_allclose(a.state.joints, b.state.joints, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("seed", range(3))
def test_joints_of_other_kinds(seed):
    model = arm(seed, 4, kinds=("spherical", "revolute", "prismatic"))
    goal = fc.link_pose(model, model.random_state(np.random.default_rng(9)), model.link_names[-1])
    found = inverse_kinematics(model, [control.PoseTask(model.link_names[-1], goal)])
    assert found.converged
    assert max(missed(model, found.state, model.link_names[-1], goal)) < 1e-5


@pytest.mark.parametrize("base", [fc.lie.SE3(), fc.lie.SE2(), fc.lie.SO3()], ids=str)
def test_bases_that_move(base):
    model = arm(5, 4, base)
    goal = model.random_state(np.random.default_rng(3))
    tasks = [control.PoseTask(name, fc.link_pose(model, goal, name)) for name in (model.link_names[-1], "link1")]
    found = inverse_kinematics(model, tasks, model.state(pose=goal.pose))
    assert found.converged
    for task in tasks:
        assert max(missed(model, found.state, task.link, task.goal)) < 1e-5
    assert model.base.contains(found.state.pose, 1e-9)


def test_a_crouching_quadruped_keeps_its_feet():
    dog = fc.robots.quadruped()
    start = dog.state(joints=np.tile([0.0, 0.6, -1.2], 4))
    lower = start.pose.copy()
    lower[2, 3] -= 0.05
    feet = [control.PositionTask(f"{end}_{side}_foot") for end in ("front", "rear") for side in ("left", "right")]
    found = inverse_kinematics(dog, [control.BaseTask(lower), *feet], start)
    assert found.converged
    for foot in feet:
        here, there = (fc.link_pose(dog, at, foot.link)[:3, 3] for at in (start, found.state))
        assert_allclose(here, there, atol=2e-6)
    assert_allclose(found.state.pose, lower, atol=2e-6)
    assert [len(e) for e in found.errors] == [6, 3, 3, 3, 3]


def test_a_stationary_point_is_reported_and_left():
    """[ETH] 2.9.3: the upright arm, 2 m above its goal: ``J' e = 0``."""
    up = fc.robots.planar_arm()
    task = control.PositionTask("end_effector", [0.0, 0.0, 2.0])
    demand = task.demand(up, up.neutral())
    assert_allclose(demand.J.T @ demand.error, 0.0, atol=1e-15)
    stuck = inverse_kinematics(up, [task], restarts=0)
    assert (stuck.converged, stuck.status, stuck.iterations) == (False, "stationary", 0)
    assert stuck.error == pytest.approx(2.0)
    assert_allclose(stuck.state.joints, 0.0)
    free = inverse_kinematics(up, [task])
    assert (free.converged, free.limits) == (True, ())


def test_out_of_reach_says_by_how_much():
    up = fc.robots.planar_arm()
    goal = np.array([0.0, 0.0, 1.0]) + 4.2 * np.array([0.6, 0.0, 0.8])
    found = inverse_kinematics(up, [control.PositionTask("end_effector", goal)])
    assert found.status == "out of reach"
    assert np.linalg.norm(found.errors[0]) == pytest.approx(1.2, abs=1e-6)
    tip = fc.link_pose(up, found.state, "end_effector")[:3, 3]
    assert_allclose(tip, [1.8, 0.0, 3.4], atol=1e-4)
    beside = inverse_kinematics(up, [control.PositionTask("end_effector", [1.0, 0.5, 2.0])])  # out of its plane
    assert (beside.status, round(beside.error, 9)) == ("out of reach", 0.5)


@pytest.mark.parametrize("far", [3.1, 5.0, 30.0, 3000.0])
def test_far_goals_are_out_of_reach_whatever_holds_the_arm(far):
    """Not unfinished, and not limited: without limits they would be as far."""
    free, held = fc.robots.planar_arm(), fc.robots.planar_arm()
    joints = [replace(joint, limits=fc.model.Limits(-1.2, 1.2)) for joint in held.joints]
    held = replace(held, joints=tuple(joints))
    for model in (free, held):
        for angle in (0.3, 1.0, 2.5):
            along = np.array([np.sin(angle), 0.0, np.cos(angle)])
            task = control.PositionTask("end_effector", [0.0, 0.0, 1.0] + far * along)
            found = inverse_kinematics(model, [task])
            assert found.status == "out of reach"
            if (model is free or angle < 1.2) and far < 100.0:
                assert np.linalg.norm(found.errors[0]) == pytest.approx(far - 3.0, abs=1e-6 * far)
            elif model is held and angle > 1.2:
                assert "joint1" in found.limits
            many = inverse_kinematics(model, [task.replaced(goal=np.tile(task.goal, (3, 1)))])
            assert many.status.tolist() == ["out of reach"] * 3
    near = inverse_kinematics(held, [control.PositionTask("end_effector", [-1.0, 0.0, 0.0])])
    assert near.status == "limited"


def test_the_stretched_arm_is_as_long_as_any_of_its_postures_is():
    rng = np.random.default_rng(3)
    for kinds in (("revolute", "universal", "spherical"), ("revolute", "prismatic", "fixed")):
        model = fc.robots.random_tree(rng, 5, kinds=kinds, base=fc.lie.Trivial(), branching=0.0)
        center, length = reach_bound(model, model.link_names[-1])
        ways = [np.linalg.norm(fc.link_pose(model, s, model.link_names[-1])[:3, 3] - center) for s in
                (model.random_state(rng) for _ in range(200))]  # fmt: skip
        assert max(ways) <= length + 1e-12
        assert length == np.inf or max(ways) > 0.2 * length
    slide = fc.robots.random_tree(rng, 2, kinds=("prismatic",), base=fc.lie.Trivial())
    assert reach_bound(slide, "link2", limited=False)[1] == np.inf


def test_a_base_that_flies_to_the_goal_is_noted():
    arm_, goal = fc.robots.planar_arm(fc.lie.SE3()), np.eye(4)
    goal[:3, 3] = 5.0
    found = inverse_kinematics(arm_, [control.PoseTask("end_effector", goal)])
    assert found.converged
    assert "the base moved by" in found.note
    assert "base='fixed'" in found.note
    held = inverse_kinematics(arm_, [control.PoseTask("end_effector", goal), control.BaseTask(np.eye(4))])
    assert held.note == ""
    assert inverse_kinematics(fc.robots.planar_arm(), [control.PositionTask("link3", np.ones(3))]).note == ""
    reach = control.InverseKinematics(arm_, [control.PoseTask("end_effector")])
    assert "the base moved by" in reach(arm_.neutral(), goal).note
    here = fc.link_pose(arm_, arm_.neutral(), "end_effector")
    assert reach(arm_.neutral(), here).note == ""


def test_limits_that_hold_it_back_are_named():
    model = fc.robots.quadruped()
    model = fc.Model("leg", fc.lie.Trivial(), model.links, model.joints, frames=model.frames)
    start = model.state(joints=np.tile([0.0, 0.6, -1.2], 4))
    goal = fc.link_pose(model, start, "front_left_foot")[:3, 3] + [0.0, 0.35, 0.3]
    task = control.PositionTask("front_left_foot", goal)
    found = inverse_kinematics(model, [task], start)
    assert found.status == "limited"
    assert "front_left_roll" in found.limits
    assert within(model, found.state.joints)
    free = inverse_kinematics(model, [task], start, joint_limits=False)
    assert free.error < found.error
    assert free.limits == ()


def test_weights_decide_what_is_given_up():
    up = fc.robots.planar_arm()
    start = up.state(joints=[0.3, 0.3, 0.3])
    apart = [control.PositionTask("end_effector", [2.0, 0.0, 2.0]), control.PositionTask("link3", [-1.0, 0.0, 2.0])]
    for heavy in (0, 1):
        tasks = [task.replaced(weight=1e4 if i == heavy else 1.0) for i, task in enumerate(apart)]
        found = inverse_kinematics(up, tasks, start)
        assert not found.converged
        assert np.linalg.norm(found.errors[heavy]) < 1e-3 < np.linalg.norm(found.errors[1 - heavy])


def test_a_posture_comes_as_near_as_the_pose_lets_it(panda):
    hand = "panda_hand_tcp"
    liked = np.array([0.5 * (limit.lower + limit.upper) for limit in panda.limits])
    goals = poses(panda, hand, 12, seed=3)
    posture = control.JointsTask(liked)
    many = inverse_kinematics(panda, [[control.PoseTask(hand, goals)], [posture]])
    assert many.converged.all()
    assert many.error.max() < 1e-6
    rests = 0
    for goal in goals:
        alone = inverse_kinematics(panda, [control.PoseTask(hand, goal)])
        found = inverse_kinematics(panda, [[control.PoseTask(hand, goal)], [posture]], alone.state)
        assert found.converged
        assert max(missed(panda, found.state, hand, goal)) < 1e-5
        assert within(panda, found.state.joints)
        assert np.linalg.norm(found.errors[1]) < np.linalg.norm(alone.state.joints - liked) + 1e-6
        # at rest nothing is left along motions that the pose does not feel, unless a limit is in the way
        J = fc.jacobian(panda, found.state, hand, "mixed")
        left = found.errors[1] - np.linalg.pinv(J) @ (J @ found.errors[1])
        pairs = zip(panda.limits, found.state.joints, strict=True)
        if all(limit.lower + 1e-3 < q < limit.upper - 1e-3 for limit, q in pairs):
            assert np.abs(left).max() < 1e-4
            rests += 1
    assert rests >= 6
    start = panda.neutral()
    found = inverse_kinematics(panda, [[control.PoseTask(hand, goal)], [posture]], start)
    reach = control.InverseKinematics(panda, [[control.PoseTask(hand)], [control.JointsTask(liked)]])
    assert_allclose(reach(start, goal, liked).state.joints, found.state.joints, atol=1e-9)


@pytest.mark.parametrize("base", [fc.lie.SE3(), fc.lie.Trivial()])
def test_three_levels_rest_where_none_can_do_better_beside_those_above(base):
    """Of each level nothing is left along motions that no level above feels; one is out of reach, and repeats a row."""
    rng = np.random.default_rng(5)
    robot = fc.robots.random_tree(rng, 6, base=base)
    start = robot.random_state(rng)
    hand, elbow = robot.link_names[-1], robot.link_names[-3]
    near = fc.dynamics.displace(robot, start, 0.1 * rng.normal(size=robot.nv))
    goal, far = (fc.link_pose(robot, near, place)[:3, 3] for place in (hand, elbow))
    tasks = [
        [control.PositionTask(hand, goal)],
        [control.PositionTask(elbow, far + np.array([30.0, 0.0, 0.0])), control.PositionTask(hand, goal)],
        [control.JointsTask(start.joints)],
    ]
    found = inverse_kinematics(robot, tasks, start, joint_limits=False, restarts=0)
    assert (found.status, found.error < 1e-6) == ("converged", True)
    above = np.zeros((0, robot.nv))
    for level in tasks:
        demands = [task.demand(robot, found.state) for task in level]
        J, error = np.vstack([d.J for d in demands]), np.concatenate([d.error for d in demands])
        gradient = J.T @ error
        left = gradient - np.linalg.pinv(above, rcond=1e-8) @ (above @ gradient)
        assert np.abs(left).max() < 1e-4 * max(1.0, np.abs(error).max())
        above = np.vstack([above, J])


def test_a_start_beyond_a_limit_is_brought_back():
    dog = fc.robots.quadruped()
    beyond = dog.state(joints=np.tile([0.0, 0.6, 0.5], 4))
    found = inverse_kinematics(dog, [control.BaseTask(np.eye(4))], beyond)
    assert within(dog, found.state.joints)


def test_no_direction_of_a_step_depends_on_the_base_that_was_chosen():
    model = arm(6, 5, fc.lie.SE3())
    start, goal = (model.random_state(np.random.default_rng(i)) for i in (1, 2))
    place = model.link_names[-1]
    tasks = [control.PoseTask(place, fc.link_pose(model, goal, place)), control.PositionTask("link1", np.zeros(3))]
    numbers, forms = numbers_of(model, tasks), tuple(task.form for task in tasks)

    def moving(robot, state):
        """The state with the step that it takes as its velocity."""
        q = robot.flatten(state)[0]
        x, settings = np.append(q, np.zeros(STEP_MEMORY)), np.array([1e-6, 0.3, np.inf, 0.0, np.inf])
        out = step(robot, x, numbers, settings, forms=(forms,), limited=True)
        return robot.unflatten(q, robot.difference(q, out[: robot.nq]))

    other, seen = model.reroot("link2"), fc.dynamics.reroot_state(model, start, "link2")
    here, there = moving(model, start), moving(other, seen)
    for link in model.link_names:
        assert_allclose(fc.link_twist(model, here, link), fc.link_twist(other, there, link), rtol=1e-7, atol=1e-7)


def test_boundaries():
    rock, body = fc.robots.free_body(fc.lie.Trivial()), fc.robots.free_body()
    with pytest.raises(ModelError, match="has no degrees of freedom"):
        inverse_kinematics(rock, [control.PositionTask(rock.link_names[0], np.ones(3))])
    still = control.velocities(rock, rock.neutral(), [[control.PositionTask(rock.link_names[0], np.ones(3))]])
    assert (still.status, still.velocity.shape, still.ranks) == ("compromise", (0,), (0,))
    half = np.diag([-1.0, 1.0, -1.0, 1.0])
    assert inverse_kinematics(body, [control.BaseTask(half)]).converged
    none = inverse_kinematics(body, [control.PositionTask(body.link_names[0], np.zeros((0, 3)))])
    assert (none.converged.shape, none.state.pose.shape, none.errors[0].shape) == ((0,), (0, 4, 4), (0, 3))
    hinge = arm(0, 1)
    assert inverse_kinematics(hinge, [control.JointsTask([0.3])], joint_limits=False).state.joints == pytest.approx(0.3)
    massless = fc.Model("bare", fc.lie.SE3(), (fc.Link("a"),))
    with pytest.raises(ModelError, match="is a kinematic model"):
        inverse_kinematics(massless, [control.BaseTask(half)])


def test_the_last_steps_converge_quadratically():
    model = arm(1)
    rng = np.random.default_rng(0)
    goal = model.random_state(rng)
    start = model.configuration.displace(goal, 0.05 * rng.normal(size=model.nv))
    task = control.PoseTask(model.link_names[-1], fc.link_pose(model, goal, model.link_names[-1]))
    x, sizes = np.append(model.flatten(start)[0], np.zeros(STEP_MEMORY)), []
    settings = np.array([0.0, 0.3, np.inf, 0.0, np.inf])
    for _ in range(4):
        out = step(model, x, numbers_of(model, [task]), settings, forms=((task.form,),), limited=False)
        sizes.append(np.linalg.norm(out[model.nq + STEP_MEMORY : -1 - model.nv]))
        x = out[: model.nq + STEP_MEMORY]
    assert all(b < 10.0 * a * a + 1e-14 for a, b in itertools.pairwise(sizes))


# bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: inverse_kinematics(m, []), "at least one task"),
        (lambda m: inverse_kinematics(m, control.PoseTask("link3")), "tasks must be a list of at least one task"),
        (lambda m: inverse_kinematics(m, [control.PoseTask("link4")]), "do you mean"),
        (lambda m: inverse_kinematics(m, [control.CentroidalMomentumTask()]), "momentum is linear in the velocity"),
        (lambda m: inverse_kinematics(m, [control.PoseTask("link3")], tolerance=0.0), "tolerance is a positive number"),
        (lambda m: inverse_kinematics(m, [control.PoseTask("link3")], restarts=-1), "integers"),
        (lambda m: inverse_kinematics(m, [control.PoseTask("link3")], [0.0, 0.0, 0.0]), "pass a State"),
        (
            lambda m: inverse_kinematics(
                m, [control.PositionTask("link3", np.zeros((2, 3))), control.PositionTask("link2", np.zeros((3, 3)))]
            ),
            "got 2 and 3",
        ),
        (
            lambda m: inverse_kinematics(m, [control.PoseTask("link3", np.stack([np.eye(4), 2.0 * np.eye(4)]))]),
            "at index 1 must be a pose",
        ),
    ],
)
def test_what_cannot_be_reached_for_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call(fc.robots.planar_arm())
