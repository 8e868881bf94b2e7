"""The sample robots: can they exist, and do they give the numbers that the seeds print?"""

import numpy as np
import pytest
from hypothesis import given
from laws import GROUPS, generators, name
from link_sums import connection, link_jacobians, link_poses, mass_matrix, potential_energy, whole_body

from fallingcat.errors import ModelError
from fallingcat.lie import SE2, SE3, Product, Trivial
from fallingcat.model import Fixed, Model, Reversed, Revolute, robots
from fallingcat.model.robots import random_tree
from fallingcat.model.robots.random_tree import MOVING

G = SE3()
SOLID = {
    "cat": (robots.cat, 4.0, 10),
    "free_body": (robots.free_body, 2.0, 0),
    "humanoid": (robots.humanoid, 64.0, 30),
    "orbital_arm": (robots.orbital_arm, 19.6, 7),
    "planar_arm": (robots.planar_arm, 8.0, 3),
    "quadruped": (robots.quadruped, 18.0, 12),
    "scara": (robots.scara, 14.0, 4),
    "wrist": (robots.wrist, 3.0, 3),
}
POINTS = {
    "prismatic_hopper": (robots.prismatic_hopper, 1.007, 1),
    "revolute_hopper": (robots.revolute_hopper, 1.007, 1),
    "two_cylinder_cat": (robots.two_cylinder_cat, 4.0, 2),
}


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("robot", SOLID | POINTS)
def test_mass_and_degrees_of_freedom(robot):
    make, mass, n = (SOLID | POINTS)[robot]
    model = make()
    assert model.name == robot
    assert model.mass == pytest.approx(mass, rel=1e-12)
    assert model.n == n


@pytest.mark.parametrize("robot", SOLID)
def test_solid_bodies_can_exist(robot):
    for link in SOLID[robot][0]().links:
        assert link.body.problems() == [], link.name


@pytest.mark.parametrize("robot", SOLID | POINTS)
def test_the_mass_matrix_is_positive(robot):
    model = (SOLID | POINTS)[robot][0]()
    rng = np.random.default_rng(0)
    for _ in range(5):
        M = mass_matrix(model, model.random_state(rng))
        close(M, M.T)
        assert np.linalg.eigvalsh(M).min(initial=1.0) > 0.0


def test_every_robot_is_public_and_tested():
    assert set(robots.__all__) == SOLID.keys() | POINTS.keys() | {"random_tree"}


# the hoppers of [Feurstein] -----------------------------------------------------------------------------------------


def test_prismatic_hopper_of_table_4_7():
    model = robots.prismatic_hopper()
    state = model.state(pose=SE2().element(np.array([0.0, 0.3, -np.pi / 2])), joints=[0.12])
    foot = link_poses(model, state)["foot"][:3, 3]
    close(foot, [0.0, 0.3 - 0.12, 0.0])
    assert potential_energy(model, state) == pytest.approx(2.9047, abs=5e-5)  # E_0, Table 4.8
    assert np.linalg.norm(foot - whole_body(model, state).center) == pytest.approx(0.1140, abs=5e-5)
    # by hand: two points on a line
    close(potential_energy(model, state), 9.81 * (0.957 * 0.3 + 0.050 * 0.18))


def test_prismatic_hopper_mass_matrix_by_hand():
    model, m, M, q = robots.prismatic_hopper(), 0.050, 1.007, 0.2
    mine = mass_matrix(model, model.state(joints=[q]))
    close(mine, [[M, 0, 0, m], [0, M, m * q, 0], [0, m * q, m * q * q, 0], [m, 0, 0, m]])


@pytest.mark.parametrize(
    ("x", "y", "angle", "attack"),
    [(0.0, 0.3, -2.5174, 0.0), (0.0, 0.3, -1.9938, 30.0), (2.7676, 0.2574, -2.5243, -0.4)],
    ids=["EXP I", "EXP V", "EXP VI"],
)
def test_revolute_hopper_of_table_4_13(x, y, angle, attack):
    model = robots.revolute_hopper()
    state = model.state(pose=SE2().element(np.array([x, y, angle])), joints=[1.7802])
    foot = (link_poses(model, state)["shank"] @ model.frame("foot").placement)[:3, 3]
    leg = foot - whole_body(model, state).center
    assert np.linalg.norm(leg) == pytest.approx(0.1411, abs=5e-5)
    assert np.rad2deg(np.arctan2(leg[1], leg[0])) + 90.0 == pytest.approx(attack, abs=0.06)
    if attack == 30.0:
        assert potential_energy(model, state) == pytest.approx(2.8382, abs=5e-5)  # E(0), Table 4.12


def test_revolute_hopper_points_by_hand():
    model = robots.revolute_hopper()
    a, q, half = -0.4, 0.9, 0.06
    state = model.state(pose=SE2().element(np.array([0.0, 0.0, a])), joints=[q])
    thigh = np.array([np.cos(a), np.sin(a), 0.0])
    shank = np.array([np.cos(a + q), np.sin(a + q), 0.0])
    center = half * (0.122 * thigh + 0.05 * (2.0 * thigh + shank)) / 1.007
    close(whole_body(model, state).center, center)


# [ETH] ----------------------------------------------------------------------------------------------------------


def test_planar_arm_of_example_2_9_1():
    arm = robots.planar_arm()
    state = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
    H = link_poses(arm, state)["link3"] @ arm.frame("end_effector").placement
    angles = np.cumsum(state.joints)
    close(H[:3, 3], [np.sin(angles).sum(), 0.0, 1.0 + np.cos(angles).sum()])
    J = H[:3, :3] @ (G.Ad(G.inverse(arm.frame("end_effector").placement)) @ link_jacobians(arm, state)["link3"])[:3]
    close(J[[0, 2]], 0.5 * np.array([[0.0, -np.sqrt(3), -np.sqrt(3)], [-4.0, -3.0, -1.0]]))  # (2.224)
    close((np.linalg.pinv(J[[0, 2]]) @ [1.0, 1.0]).round(3), [0.069, -0.560, -0.595])  # (2.225)


# bases and gaits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [g for g in GROUPS if not isinstance(g, Product)], ids=name)
def test_a_free_body_in_every_group(group):
    model = robots.free_body(group)
    assert (model.base, model.m, model.n) == (group, group.dim, 0)
    body = model.links[0].body.spatial_inertia
    close(mass_matrix(model, model.state()), group.selection.T @ body @ group.selection)


def displacement(model: Model, path, steps: int) -> np.ndarray:
    """The base pose after a path in shape space without momentum: `dg/dt = -g hat(A dq/dt)`, Magnus of order four."""
    g, offset = np.eye(4), np.sqrt(3) / 6

    def velocity(t):
        rates = (path(t + 1e-5) - path(t - 1e-5)) / 2e-5
        return -connection(model, model.state(joints=path(t))) @ rates / steps

    for k in range(steps):
        a, b = velocity((k + 0.5 - offset) / steps), velocity((k + 0.5 + offset) / steps)
        g = g @ G.exp(0.5 * (a + b) + np.sqrt(3) / 12 * G.ad(a) @ b)
    return g


@pytest.mark.parametrize(("degrees", "turned"), [(20.0, 41.9), (40.0, 124.4)])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_two_cylinder_cat_turns(degrees, turned, sense):
    model, bend = robots.two_cylinder_cat(), np.deg2rad(degrees)

    def around(t):
        return bend * np.array([np.cos(2 * np.pi * t), sense * np.sin(2 * np.pi * t)])

    out = displacement(model, lambda t: np.array([bend * t, 0.0]), 10)
    back = displacement(model, lambda t: np.array([bend * (1.0 - t), 0.0]), 10)
    rotation = np.rad2deg(G.log(out @ displacement(model, around, 60) @ back)[3:])
    assert rotation[0] == pytest.approx(sense * turned, abs=0.05)
    close(rotation[1:], [0.0, 0.0], 0.1)


def test_the_orbital_arm_turns_its_spacecraft():
    def gait(t):
        x, y = 0.5 * (1.0 - np.cos(2 * np.pi * t)), 0.5 * np.sin(2 * np.pi * t)
        return np.array([0.0, x / np.sqrt(2), x / np.sqrt(2), y, 0.0, 0.0, 0.0])

    R = displacement(robots.orbital_arm(), gait, 40)[:3, :3]
    xyz = np.rad2deg([np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(R[0, 2]), np.arctan2(-R[0, 1], R[0, 0])])
    close(xyz, [-0.08, 0.19, -13.77], 5e-3)


# postures -------------------------------------------------------------------------------------------------------


def heights(model, frames):
    poses = link_poses(model, model.neutral())
    return [(poses[model.frame(f).link] @ model.frame(f).placement)[2, 3] for f in frames]


def test_postures_at_neutral():
    legs = [f"{end}_{side}" for end in ("front", "rear") for side in ("left", "right")]
    close(heights(robots.quadruped(), [f"{leg}_foot" for leg in legs]), [-0.4] * 4)
    close(heights(robots.cat(), [f"{leg}_paw" for leg in legs]), [-0.23] * 4)
    close(heights(robots.humanoid(), ["left_sole", "right_sole"]), [-0.9] * 2)


@pytest.mark.parametrize("robot", ["humanoid", "quadruped", "cat"])
def test_left_and_right_are_mirror_images(robot):
    model = SOLID[robot][0]()
    whole = whole_body(model, model.neutral())
    close([whole.center[1], whole.inertia[0, 1], whole.inertia[1, 2]], 0.0, 1e-14)
    for joint in model.joints:
        if "left" in joint.name:
            other = model.joints[model.joint_index(joint.name.replace("left", "right"))]
            assert isinstance(other.kind, Revolute)
            assert other.kind.axis == joint.kind.axis
            close(other.placement[:3, 3], joint.placement[:3, 3] * [1.0, -1.0, 1.0], 0.0)
            span = joint.limits.upper - joint.limits.lower
            assert other.limits.upper - other.limits.lower == pytest.approx(span)


@pytest.mark.parametrize("robot", ["humanoid", "quadruped", "cat", "orbital_arm"])
def test_neutral_is_within_the_limits(robot):
    for joint in SOLID[robot][0]().joints:
        assert joint.limits.lower <= 0.0 <= joint.limits.upper
        assert np.isfinite([joint.limits.lower, joint.limits.upper]).all()


# random robots --------------------------------------------------------------------------------------------------


@given(rng=generators())
def test_random_robots_can_exist(rng):
    model = random_tree(rng, int(rng.integers(0, 12)))
    assert all(link.body.problems() == [] for link in model.links)
    M = mass_matrix(model, model.random_state(rng))
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_random_robots_are_reproducible():
    a, b = (random_tree(np.random.default_rng(5), 20) for _ in range(2))
    assert [j.kind for j in a.joints] == [j.kind for j in b.joints]
    assert a.parents == b.parents
    for x, y in zip(a.joints, b.joints, strict=True):
        close(x.placement, y.placement, 0.0)
    for p, q in zip(a.links, b.links, strict=True):
        close(p.body.spatial_inertia, q.body.spatial_inertia, 0.0)


def test_random_robots_have_joints_of_every_kind():
    model = random_tree(np.random.default_rng(0), 200)
    assert {type(j.kind) for j in model.joints} == {*MOVING, Fixed}
    assert len(model.joints) == 200


@pytest.mark.parametrize("kind", MOVING, ids=lambda kind: kind.name)
def test_random_robots_of_one_kind(kind):
    for given_as in (kind, kind.name):
        model = random_tree(np.random.default_rng(0), 5, kinds=[given_as])
        assert {type(j.kind) for j in model.joints} == {kind}


def test_chains_and_stars():
    chain = random_tree(np.random.default_rng(0), 10, branching=0.0)
    assert chain.parents == tuple(range(10))
    bushy = random_tree(np.random.default_rng(0), 50, branching=1.0)
    assert len(set(bushy.parents)) < 50


@given(rng=generators())
def test_planar_robots_stay_in_the_plane(rng):
    model = random_tree(rng, 6, planar=True)
    assert model.base == SE2()
    state = model.random_state(rng)
    for pose in link_poses(model, state).values():
        assert SE2().contains(pose)
    for T in link_jacobians(model, state).values():
        close(T[2:5], 0.0 * T[2:5], 1e-14)  # no velocity out of the plane
    for link in model.links:
        assert link.body.center[2] == 0.0
        close(link.body.inertia[2, :2], [0.0, 0.0], 1e-16)


@pytest.mark.parametrize("robot", [robots.prismatic_hopper, robots.revolute_hopper])
def test_the_hoppers_stay_in_the_plane(robot):
    model = robot()
    for T in link_jacobians(model, model.random_state(np.random.default_rng(0))).values():
        close(T[2:5], 0.0 * T[2:5], 1e-15)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": -1}, "-1 joints"),
        ({"n": 2, "kinds": []}, "kinds is empty"),
        ({"n": 2, "kinds": ["hinge"]}, "no kind of joint 'hinge'; the kinds are revolute"),
        ({"n": 2, "kinds": ["spherical"], "planar": True}, "planar"),
    ],
)
def test_robots_that_cannot_be_drawn(arguments, words):
    with pytest.raises(ModelError, match=words):
        random_tree(np.random.default_rng(0), **arguments)


def test_no_robot_is_turned_around_inside():
    for make, _, _ in (SOLID | POINTS).values():
        assert not any(isinstance(j.kind, Reversed) for j in make().joints)
    assert robots.planar_arm().base == Trivial()
    assert Fixed.sample(np.random.default_rng(0)) == Fixed()
