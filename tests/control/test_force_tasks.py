"""Tasks of contact forces, [ETH] (3.112), in every controller that knows of contacts, beside the formula."""

import dataclasses

import numpy as np
import pytest
from oracles.projected_newton_euler import bias_forces, gravity_forces, mass_matrix

import fallingcat as fc
from fallingcat.control import (
    BaseTask,
    ForceTask,
    JointsTask,
    PrioritizedControl,
    TorqueLimits,
    WholeBody,
    WrenchTask,
    inverse_kinematics,
    torques,
    velocities,
)
from fallingcat.geometry.contact_points import point_motions

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)


def state(seed):
    rng = np.random.default_rng(seed)
    pose = DOG.base.exp(0.3 * rng.normal(size=6))
    joints = np.tile([0.1, 0.6, -1.2], 4) + 0.1 * rng.normal(size=12)
    return DOG.state(pose=pose, joints=joints, twist=0.3 * rng.normal(size=6), rates=0.3 * rng.normal(size=12))


def by_the_formula(s, levels, contacts=FEET):
    """Algorithm 2 on `x = [a; F; tau]`, (3.109): each level in the null space of those before, by pseudo-inverses.

    (3.110) with forces on the robot, contacts that stay, tasks as `(A, b)`, then the least forces and torques.
    """
    n, m = DOG.nv, DOG.m
    points = point_motions(DOG, s, contacts)
    J, rest = np.vstack([p.J for p in points]), np.concatenate([p.bias for p in points])
    nf = len(J)
    S = np.eye(n)[m:]
    motion = np.hstack([mass_matrix(DOG, s), -J.T, -S.T])
    first = [
        (motion, -bias_forces(DOG, s) - gravity_forces(DOG, s)),
        (np.hstack([J, np.zeros((nf, nf + n - m))]), -rest),
    ]
    last = [np.eye(n + nf + n - m)[n : n + nf], np.eye(n + nf + n - m)[n + nf :]]
    x, N = np.zeros(n + nf + n - m), np.eye(n + nf + n - m)
    stack = [tuple(map(np.concatenate, zip(*first, strict=True))), *levels, *((A, np.zeros(len(A))) for A in last)]
    for A, b in stack:
        inverse = np.linalg.pinv(A @ N, rcond=1e-9 / max(1e-9, np.linalg.norm(A @ N, 2)))  # absolute: N may be zero
        x = x + N @ inverse @ (b - A @ x)
        N = N @ (np.eye(len(x)) - inverse @ (A @ N))
    return x[:n], x[n : n + nf].reshape(-1, 3), x[n + nf :]


def motion_rows(s, task):
    d = task.demand(DOG, s)
    return np.hstack([d.J, np.zeros((len(d.J), 3 * len(FEET) + DOG.n))]), d.acceleration - d.bias


def force_rows(rows, force):
    """(3.112): `A = [0 1 0]`, `b = F*`."""
    return np.hstack([np.zeros((len(rows), DOG.nv)), rows, np.zeros((len(rows), DOG.n))]), np.asarray(force)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("first", ["motion", "force"])
def test_torques_are_those_of_the_formula(seed, first):
    s, wanted = state(seed), [3.0, -2.0, 40.0]
    task = ForceTask(FEET[1], wanted)
    turn = BaseTask(acceleration=np.zeros(6), gain=0.0)
    levels, rows = [[turn], [task]], [motion_rows(s, turn), force_rows(np.eye(12)[3:6], wanted)]
    if first == "force":
        levels, rows = levels[::-1], rows[::-1]
    found = torques(DOG, s, levels, contacts=FEET, friction=None)
    a, forces, tau = by_the_formula(s, rows)
    np.testing.assert_allclose(found.forces, forces, atol=1e-7)
    np.testing.assert_allclose(found.torques, tau, atol=1e-7)
    np.testing.assert_allclose(found.acceleration, a, atol=1e-7)
    np.testing.assert_allclose(
        found.forces[1], wanted, atol=1e-8
    )  # internal forces are free: it is met on either level
    assert found.status == "solved"
    loop = WholeBody(DOG, levels, FEET, None).compile()
    np.testing.assert_allclose(loop(*DOG.flatten(s)), found.torques, atol=1e-9)
    loop.change(task, goal=[0.0, 0.0, 10.0])
    loop(*DOG.flatten(s))
    np.testing.assert_allclose(loop.found.forces[1], [0.0, 0.0, 10.0], atol=1e-8)


def test_a_wrench_is_the_sum_of_the_forces_on_a_link():
    """Three points of one sole: force and moment about the origin of the link."""
    corners = np.array([[0.1, 0.05, 0.0], [0.1, -0.05, 0.0], [-0.1, 0.0, 0.0]])
    body = fc.robots.humanoid()
    link = body.links[-1].name
    for k, corner in enumerate(corners):
        placement = np.eye(4)
        placement[:3, 3] = corner
        body = dataclasses.replace(body, frames=(*body.frames, fc.model.Frame(f"corner{k}", link, placement)))
    s, sole = body.neutral(), [f"corner{k}" for k in range(3)]
    wanted = np.array([5.0, -3.0, 9.81 * body.mass, 1.0, 2.0, 0.5])
    found = torques(body, s, [[WrenchTask(link, wanted)]], contacts=sole, friction=None)
    about = fc.link_pose(body, s, link)[:3, 3]
    arms = [fc.link_pose(body, s, place)[:3, 3] - about for place in sole]
    total = np.concatenate([found.forces.sum(axis=0), np.cross(arms, found.forces).sum(axis=0)])
    np.testing.assert_allclose(total, wanted, atol=1e-7)
    one = torques(body, s, [[ForceTask(link, wanted[:3])]], contacts=sole, friction=None)
    np.testing.assert_allclose(one.forces.sum(axis=0), wanted[:3], atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_weights_share_what_cannot_be_met(seed):
    """A foot that should carry nothing and twice the weight, side by side: the weighted mean."""
    s = state(seed)
    low, high = ForceTask(FEET[0], [0.0, 0.0, 10.0], weight=1.0), ForceTask(FEET[0], [0.0, 0.0, 40.0], weight=3.0)
    found = torques(DOG, s, [[low, high]], contacts=FEET, friction=None)
    np.testing.assert_allclose(found.forces[0], [0.0, 0.0, 32.5], atol=1e-7)
    assert found.unmet == (low.name, high.name)
    np.testing.assert_allclose(found.residuals[0], [0.0, 0.0, 22.5], atol=1e-7)  # N


def test_friction_and_drives_stand_above_force_tasks():
    s = state(0)
    pull = ForceTask(FEET[0], [0.0, 0.0, -50.0])
    found = torques(DOG, s, [[pull]], contacts=FEET, limits=[TorqueLimits()])
    assert found.status == "compromise"
    assert found.unmet == (pull.name,)
    assert found.forces[0][2] >= -1e-9


@pytest.mark.parametrize("seed", range(3))
def test_prioritised_is_the_formula_too(seed):
    """Three feet, whose forces are determined by motion and torques: (3.112) below (3.111), least torques last."""
    s = state(seed)
    three = FEET[:3]
    turn, task = BaseTask(acceleration=np.zeros(6), gain=0.0), ForceTask(three[0], [0.0, 0.0, 30.0], mask=(0, 0, 1))
    law = PrioritizedControl([[turn], [task]], three)
    tau = law.torques(DOG, s)
    J = np.vstack([p.J for p in point_motions(DOG, s, three)])
    rest = np.concatenate([p.bias for p in point_motions(DOG, s, three)])
    M, h = mass_matrix(DOG, s), bias_forces(DOG, s) + gravity_forces(DOG, s)
    KKT = np.block([[M, -J.T], [J, np.zeros((9, 9))]])
    x = np.linalg.solve(KKT, np.concatenate([np.concatenate([np.zeros(6), tau]) - h, -rest]))
    d = turn.demand(DOG, s)
    np.testing.assert_allclose(d.J @ x[: DOG.nv] + d.bias, 0.0, atol=1e-8)
    assert x[DOG.nv + 2] == pytest.approx(30.0, abs=1e-7)
    fast = law.compile(DOG)
    np.testing.assert_allclose(fast(*DOG.flatten(s), 0.0), tau, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torques(DOG, state(0), [[ForceTask("trunk")]], contacts=FEET), "'trunk' is not a contact"),
        (lambda: torques(DOG, state(0), [[ForceTask(FEET[0])]]), "is not a contact; contacts: none"),
        (lambda: torques(DOG, state(0), [[ForceTask(FEET[0], [0.0, 1.0])]], contacts=FEET), "goal of ForceTask"),
        (lambda: ForceTask(3), "link of ForceTask must be the name"),
        (lambda: ForceTask(FEET[0], "much"), "must be made of numbers"),
        (lambda: velocities(DOG, state(0), [[ForceTask(FEET[0])]]), "asks for a contact force, not for motion"),
        (lambda: inverse_kinematics(DOG, [ForceTask(FEET[0])]), "asks for a contact force"),
        (lambda: PrioritizedControl([[ForceTask(FEET[0])]]).check(DOG), "is not a contact"),
        (lambda: PrioritizedControl([[ForceTask(FEET[0])]], FEET + FEET[:1]).check(DOG), "are not unique"),
        (
            lambda: PrioritizedControl([[ForceTask(FEET[0])]], (fc.control.PoseTask(FEET[0]),)).check(DOG),
            "given by their names, not by tasks",
        ),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises(fc.ModelError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_base_tasks_with_a_goal_are_taken():
    """Failed before: the numbers that code was made with were no pose."""
    s = DOG.state(joints=np.tile([0.1, 0.6, -1.2], 4))
    found = torques(DOG, s, [[BaseTask(s.pose)], [JointsTask(s.joints)]], contacts=FEET)
    np.testing.assert_allclose(found.forces.sum(axis=0), [0.0, 0.0, 9.81 * DOG.mass], atol=1e-7)
