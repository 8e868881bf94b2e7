"""Standing with the foot as base: the torques of the whole-body law at the pelvis, and of the other foot as base."""

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc
from fallingcat.contact import WrenchCone
from fallingcat.control import CenterOfMassTask, JointLimits, JointsTask, PoseTask, Stance, TorqueLimits, WholeBody

BENT = {"hip_pitch": -0.5, "knee_pitch": 1.0, "ankle_pitch": -0.5}
LEFT, RIGHT = (WrenchCone(f"{side}_sole", (-0.06, 0.14), (-0.05, 0.05), 0.6) for side in ("left", "right"))


def legs():
    """The legs of the humanoid, 12 joints, the rest of it as one body on them; with corners on both soles."""
    whole = fc.robots.humanoid()
    model = whole.lock([name for name in whole.joint_names if not name.endswith(LEGS)]).merge_fixed()
    points = []
    for foot in (LEFT, RIGHT):
        model, names = fc.contact.corners(model, foot.link, foot.outline)
        points.append(names)
    return model, points


LEGS = ("hip_yaw", "hip_roll", "hip_pitch", "knee_pitch", "ankle_pitch", "ankle_roll")
WALKER, CORNERS = legs()
POSTURE = np.array([BENT.get(name.partition("_")[2], 0.0) for name in WALKER.joint_names])
CENTER = CenterOfMassTask(acceleration=np.zeros(3))
STAY = JointsTask(POSTURE, gain=5.0)
SWING = PoseTask("right_sole", velocity=np.zeros(6), acceleration=np.zeros(6))
LIMITS = [TorqueLimits(), JointLimits()]


def standing(seed, feet):
    """Bent legs, level feet, and rates that move none of ``feet``."""
    state, rng = WALKER.state(joints=POSTURE), np.random.default_rng(seed)
    J = np.vstack([fc.jacobian(WALKER, state, foot.link) for foot in feet])
    _, d, Vt = np.linalg.svd(J)
    v = Vt[int((d > 1e-9 * d[0]).sum()) :].T
    v = 0.2 * v @ rng.normal(size=v.shape[1])
    return WALKER.unflatten(WALKER.flatten(state)[0], v), rng


@pytest.fixture(scope="module")
def loops():
    """The law with the left foot as base, with the right one, and at the pelvis; on both feet, and on the left one."""
    both, one = [[CENTER], [STAY]], [[CENTER], [SWING], [STAY]]
    return {
        "left, right": Stance(WALKER, both, [LEFT, RIGHT], LIMITS).compile(),
        "right, left": Stance(WALKER, both, [RIGHT, LEFT], LIMITS).compile(),
        "left": Stance(WALKER, one, [LEFT], LIMITS).compile(),
        "at the pelvis": WholeBody(WALKER, both, (*CORNERS[0], *CORNERS[1]), 0.6, LIMITS).compile(),
        "at the pelvis, left": WholeBody(WALKER, one, CORNERS[0], 0.6, LIMITS).compile(),
    }


def gathered(foot, state, forces, points):
    return foot.gathered(WALKER, state, forces, points)


@pytest.mark.parametrize("seed", range(5))
def test_on_both_feet_the_base_does_not_matter(loops, seed):
    state, rng = standing(seed, [LEFT, RIGHT])
    q, v = WALKER.flatten(state)
    push = rng.normal(scale=[0.1, 0.4, 0.5])
    found = {}
    for name in ("left, right", "right, left", "at the pelvis"):
        loops[name].change(CENTER, acceleration=push)
        loops[name](q, v)
        found[name] = loops[name].found
    foot, other, pelvis = found.values()
    assert not foot.active  # what settles the rest is the same only inside the cones
    agree("torques, base at either foot", foot.torques, other.torques, 1e-12)
    agree("accelerations, base at either foot", foot.acceleration, other.acceleration, 1e-12)
    agree("wrenches, base at either foot", foot.forces, other.forces[::-1], 1e-12)
    agree("torques, base at the pelvis", foot.torques, pelvis.torques, 1e-12)
    agree("accelerations, base at the pelvis", foot.acceleration[6:], pelvis.acceleration[6:], 1e-12)
    for k, sole in enumerate((LEFT, RIGHT)):
        w = gathered(sole, state, pelvis.forces[4 * k : 4 * k + 4], CORNERS[k])
        agree("wrenches, base at the pelvis", foot.forces[k], w, 1e-12)


@pytest.mark.parametrize("push", [(0.1, -1.0, 0.2), (4.0, -2.0, 0.5), (-3.0, 3.0, -2.0), (0.0, -9.0, 3.0)])
def test_on_one_foot_the_base_does_not_matter_even_at_the_edge_of_the_cone(loops, push):
    """Where the cone holds something back, it is that of forces at the corners: two different sets of limits."""
    state, _ = standing(0, [LEFT])
    q, v = WALKER.flatten(state)
    for name in ("left", "at the pelvis, left"):
        loops[name].change(CENTER, acceleration=np.array(push))
        loops[name](q, v)
    foot, pelvis = loops["left"].found, loops["at the pelvis, left"].found
    assert ("wrench cone of 'left_sole'" in foot.active) == (push != (0.1, -1.0, 0.2))
    assert foot.optimality < 1e-9
    agree("torques on one foot", foot.torques, pelvis.torques, 1e-12)
    agree("wrench on one foot", foot.forces[0], gathered(LEFT, state, pelvis.forces, CORNERS[0]), 1e-12)
    assert (LEFT.cone @ foot.forces[0]).max() < 1e-8


def test_what_it_plans_is_what_happens(loops):
    """Its torques and wrenches in the equations of motion; and (48) gives the wrench of the foot that is the base."""
    state, _ = standing(3, [LEFT, RIGHT])
    loops["left, right"](*WALKER.flatten(state))
    found = loops["left, right"].found
    wrenches = dict(zip(("left_sole", "right_sole"), found.forces, strict=True))
    a = fc.forward_dynamics(WALKER, state, np.r_[np.zeros(6), found.torques], wrenches)
    agree("planned accelerations", a[6:], found.acceleration[6:], 1e-11)
    for foot in (LEFT, RIGHT):
        agree("feet rest", fc.dynamics.link_acceleration(WALKER, state, a, foot.link, "mixed"), np.zeros(6), 1e-10)
    held = LEFT.wrench(WALKER, state, found.torques, wrenches={"right_sole": found.forces[1]})
    agree("(48)", held, found.forces[0], 1e-12)
    assert max((foot.cone @ w).max() for foot, w in zip((LEFT, RIGHT), found.forces, strict=True)) < 1e-9


def test_many_robots_at_once(loops):
    """As rollouts ask it: each state has the torques that it has alone."""
    loop, states = loops["left"], [standing(seed, [LEFT])[0] for seed in range(3)]
    alone = [loop(*WALKER.flatten(state)) for state in states]
    batch_forces = loop.batch_forces(0.0, fc.State(*(np.stack(field) for field in zip(*states, strict=True))))
    agree("together", batch_forces, np.array(alone))


@pytest.mark.parametrize("seed", range(2))
def test_random_robots_on_a_random_link(seed):
    """(46)-(48) of any tree: planned motion happens, whatever the cone lets it plan; limp joints get no torque."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 5, kinds=["revolute", "prismatic"])
    model = model.drive(model.joint_names[1:])
    state, sole = model.random_state(rng), WrenchCone(model.link_names[2], (-1.0, 2.0), (-1.0, 1.5), 1.0)
    J = fc.jacobian(model, state, sole.link)
    state = state._replace(twist=-np.linalg.solve(J[:, :6], J[:, 6:] @ state.rates))
    loop = Stance(model, [[JointsTask(np.zeros(5), gain=0.1)]], [sole]).compile()
    loop(*model.flatten(state))
    found = loop.found
    limp = 0
    assert abs(found.torques[limp]) < 1e-9 * np.abs(found.torques).max()
    a = fc.forward_dynamics(model, state, np.r_[np.zeros(6), found.torques], {sole.link: found.forces[0]})
    size = 1e-14 * np.linalg.cond(fc.mass_matrix(model, state))
    agree("planned accelerations of random robots", a[6:], found.acceleration[6:], max(1e-12, size))
    rest = fc.dynamics.link_acceleration(model, state, a, sole.link, "mixed")
    agree("the foot of random robots rests", rest, np.zeros(6), max(1e-12, size))
    agree("(48) of random robots", sole.wrench(model, state, found.torques), found.forces[0], max(1e-12, size))


@pytest.mark.slow
def test_it_stands_in_a_simulation():
    pose = np.eye(4)
    pose[2, 3] = -fc.link_pose(WALKER, WALKER.state(joints=POSTURE), "left_sole")[2, 3]
    start = WALKER.state(joints=POSTURE, pose=pose)
    points = (*CORNERS[0], *CORNERS[1])
    floor = fc.contact.CompliantFloor(points, (5e4, 5e4), (5e2, 5e2), friction=0.7)
    over = fc.center_of_mass(WALKER, start) + np.array([0.02, 0.0, 0.0])
    center = CenterOfMassTask(over, gain=6.0)
    loop = Stance(WALKER, [[center], [STAY]], [LEFT, RIGHT], LIMITS).compile()
    run = fc.simulate(WALKER, start, 0.6, fc.control.SampledController(loop, rate=250.0), floor, dt=2e-3, every=20)
    end = run.state(len(run) - 1)
    assert np.abs(fc.center_of_mass(WALKER, end)[:2] - over[:2]).max() < 5e-3
    assert np.abs(end.rates).max() < 0.2
    felt = [
        gathered(foot, end, run.contact_forces[-1][4 * k : 4 * k + 4], CORNERS[k])
        for k, foot in enumerate((LEFT, RIGHT))
    ]
    agree("the ground gives what was planned", np.array(felt)[:, 2], loop.found.forces[:, 2], 5e-2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Stance(WALKER, [[STAY]], []).compile(), "feet must be soles, the stance foot first"),
        (lambda: Stance(WALKER, [[STAY]], LEFT).compile(), "feet must be soles"),
        (lambda: Stance(WALKER, [[STAY]], ["left_sole"]).compile(), "feet must be soles"),
        (lambda: Stance(WALKER, [[STAY]], [LEFT, LEFT]).compile(), "named twice: left_sole, left_sole"),
        (lambda: Stance(WALKER, [[STAY]], [WrenchCone("hand", (0, 1), (0, 1))]).compile(), "no link or frame 'hand'"),
        (lambda: Stance(WALKER, [[STAY]], [LEFT], [0.6]).compile(), "limits must be a list of limits"),
        (lambda: Stance(WALKER, [[STAY]], [LEFT], horizon=0.0).compile(), "horizon"),
        (lambda: Stance(WALKER, [STAY], [LEFT]).compile(), "tasks"),
        (lambda: Stance(None, [[STAY]], [LEFT]).compile(), "the first argument is a Model"),
        (
            lambda: Stance(fc.robots.revolute_hopper(), [], [WrenchCone("foot", (0, 1), (0, 1))]).compile(),
            "a robot with a free base .*, got SE",
        ),
    ],
)
def test_what_cannot_stand(call, says):
    with pytest.raises(fc.ModelError, match=says):
        call()
