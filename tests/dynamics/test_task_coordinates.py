"""[ETH] 2.4.5, 2.8, 2.10: quaternions, end-effector parameters, relative Jacobians, E_fb, stacked contacts."""

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from random_robots import BASES, Robot, build, rng_of, robots
from residuals import agree
from scipy.spatial.transform import Rotation

import fallingcat as fc
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import SE2, SE3, SO3, quaternions
from fallingcat.lie.charts import (
    ROTATION_CHARTS,
    Cartesian,
    DirectionCosines,
    EulerZYX,
    PlanarAngle,
    PlanarPosition,
    Spherical,
    UnitQuaternion,
)

STEP = 1e-40
XZ = PlanarPosition("x", "z"), PlanarAngle((0.0, 1.0, 0.0))


def along(function, model, state):
    """The rate of a function of the state along its velocity, by complex step."""
    moved = fc.dynamics.displace(model, state, 1j * STEP * state.velocity)
    return np.imag(function(moved)) / STEP


# quaternions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_quaternions_multiply_as_rotations_do(seed):
    """(2.56)-(2.64), against SciPy and against rotation matrices; of any length."""
    rng = np.random.default_rng(seed)
    a, b, r = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    A, B = Rotation.from_quat(a), Rotation.from_quat(b)
    size = np.linalg.norm(a) * np.linalg.norm(b)
    product = quaternions.product(a, b)
    agree("a b", Rotation.from_quat(product).as_matrix(), (A * B).as_matrix())
    agree("|a b| = |a| |b|", np.linalg.norm(product), size)
    agree("M_l(a) b", quaternions.left_matrix(a) @ b, product)
    agree("M_r(b) a", quaternions.right_matrix(b) @ a, product)
    agree("a a^-1 = 1", quaternions.product(a, quaternions.inverse(a)), [0.0, 0.0, 0.0, 1.0])
    agree("R(a^-1)", Rotation.from_quat(quaternions.inverse(a)).as_matrix(), A.as_matrix().T)
    agree("q p(r) q^-1", quaternions.rotate(a, r), A.apply(r))
    agree("(2.58), scalar first", _first(quaternions.left_matrix(a)), _printed(np.roll(a, 1), 1.0))
    agree("(2.60), scalar first", _first(quaternions.right_matrix(a)), _printed(np.roll(a, 1), -1.0))


def _first(matrix):
    """A matrix of quaternions with the scalar last, for those with the scalar first."""
    return np.roll(matrix, 1, axis=(0, 1))


def _printed(xi, side):
    """(2.58) and (2.60), typed from the page."""
    w, x, y, z = xi
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.block([[np.array([[w]]), -xi[None, 1:]], [xi[1:, None], w * np.eye(3) + side * hat]])


def test_eth_example_2_4_1_by_quaternions():
    """(2.65)-(2.69): (0, 1, 0) in A is (0, 1/2, -sqrt(3)/2) in B."""
    xi_ab = np.array([0.5, 0.0, 0.0, np.sqrt(3) / 2])
    agree("(2.67)", quaternions.rotate(quaternions.inverse(xi_ab), [0, 1, 0]), [0, 0.5, -np.sqrt(3) / 2], 1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_quaternions_of_every_kind_of_number(kind):
    rng = np.random.default_rng(0)
    a, b, r = rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    for function, arguments in (
        (quaternions.product, (a, b)),
        (quaternions.inverse, (a,)),
        (quaternions.left_matrix, (a,)),
        (quaternions.right_matrix, (a,)),
        (quaternions.rotate, (a, r)),
    ):
        agree(f"{kind}", KINDS[kind](function, *arguments), function(*arguments), 1e-14)


def test_quaternions_that_are_none():
    with pytest.raises(ModelError, match="a quaternion of length 0 has no inverse"):
        quaternions.inverse(np.zeros(4))
    with pytest.raises(ModelError, match=r"a quaternion xyzw must have shape \(4,\), got \(3,\)"):
        quaternions.product([1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="not finite"):
        quaternions.rotate([np.nan, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0])


# end-effector parameters --------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(recipe=robots(largest=6))
def test_parameters_are_those_of_the_charts_and_move_with_the_analytical_jacobian(recipe):
    model, state = build(recipe)
    rng = rng_of(recipe)
    link, rotation = rng.choice(model.link_names), ROTATION_CHARTS[rng.integers(len(ROTATION_CHARTS))]
    H = fc.link_pose(model, state, link)
    x = fc.dynamics.end_effector_parameters(model, state, link, Cartesian(), rotation)
    agree("chi_P", x[:3], H[:3, 3])
    agree("chi_R", rotation.to_matrix(x[3:]), H[:3, :3])
    if rotation.singularity(x[3:]) < 0.05:
        return
    rate = along(lambda s: fc.dynamics.end_effector_parameters(model, s, link, Cartesian(), rotation), model, state)
    J = fc.dynamics.analytical_jacobian(model, state, link, Cartesian(), rotation)
    agree("d chi/dt = J_A v", rate, J @ state.velocity, 1e-10)


def test_twelve_parameters_of_example_2_8_2():
    """Example 2.8.2: three numbers of the position, nine of the rotation."""
    cat = fc.robots.cat()
    state = cat.random_state(np.random.default_rng(0))
    link = cat.link_names[-1]
    x = fc.dynamics.end_effector_parameters(cat, state, link, Spherical(), DirectionCosines())
    assert x.shape == (12,)
    H = fc.link_pose(cat, state, link)
    agree("columns of R", x[3:], H[:3, :3].T.ravel(), 1e-15)
    agree("spherical", Spherical().to_position(x[:3]), H[:3, 3], 1e-14)


@pytest.mark.parametrize("first", [0.3, np.pi / 2, 2.0])
def test_the_planar_arm_has_three_parameters_wherever_it_points(first):
    """(2.140)-(2.142), (2.149)-(2.150); at pitch pi/2 Euler angles are singular and the planar pair is not."""
    arm = fc.robots.planar_arm()
    q = np.array([first, 0.4, -0.9])
    state, c = arm.state(joints=q, rates=[0.3, -1.0, 2.0]), np.cumsum(q)
    s, c_ = np.sin(c), np.cos(c)
    x = fc.dynamics.end_effector_parameters(arm, state, "end_effector", *XZ)
    agree("(2.141)", x[:2], [s.sum(), 1.0 + c_.sum()])
    agree("(2.142)", x[2], c[2])
    J = fc.dynamics.analytical_jacobian(arm, state, "end_effector", *XZ)
    printed = [[c_[i:].sum() for i in range(3)], [-s[i:].sum() for i in range(3)], [1.0, 1.0, 1.0]]
    agree("(2.149)-(2.150)", J, printed)


def test_the_operational_space_of_the_scara_arm():
    """(2.132), (2.136), Example 2.8.1, Example 2.8.4: x, y, z and the angle about the vertical, of four joints."""
    arm = fc.robots.scara()
    rng = np.random.default_rng(1)
    for _ in range(5):
        state = arm.random_state(rng)
        a, b, g, zeta = state.joints
        chart = Cartesian(), PlanarAngle()
        x = fc.dynamics.end_effector_parameters(arm, state, "end_effector", *chart)
        place = [0.4 * np.cos(a) + 0.3 * np.cos(a + b), 0.4 * np.sin(a) + 0.3 * np.sin(a + b), 0.5 + zeta]
        agree("(2.136): place", x[:3], place)
        agree("(2.136): angle", np.exp(1j * x[3]), np.exp(1j * (a + b + g)))
        J = fc.dynamics.analytical_jacobian(arm, state, "end_effector", *chart)
        assert np.linalg.matrix_rank(J) == (4 if abs(np.sin(b)) > 1e-6 else 3)


def test_the_wrist_is_a_chart():
    """(2.245)-(2.247)."""
    robot, rng = fc.robots.wrist(), np.random.default_rng(2)
    for _ in range(5):
        state = robot.random_state(rng)
        agree("C(q)", fc.link_pose(robot, state, "hand")[:3, :3], EulerZYX().to_matrix(state.joints))
        J = fc.jacobian(robot, state, "hand", "mixed")
        agree("(2.247)", J[3:], EulerZYX().rate_matrix(state.joints))


def test_planar_charts_refuse_what_they_cannot_say():
    with pytest.raises(NumericsError, match="no rotation about the axis"):
        PlanarAngle().from_matrix(EulerZYX().to_matrix([0.1, 0.2, 0.0]))
    for bad in ((0.0, 0.0, 0.0), (1.0, 2.0), "z", (np.nan, 0.0, 1.0)):
        with pytest.raises(ModelError, match="the axis of an angle is a vector of 3 numbers"):
            PlanarAngle(bad)
    for bad in (("x", "x"), ("x", "w"), ("x", 1)):
        with pytest.raises(ModelError, match="two of x, y, z"):
            PlanarPosition(*bad)
    with pytest.raises(NumericsError, match="no point of chart direction cosines"):
        DirectionCosines().to_matrix(np.diag([1.0, 1.0, -1.0]).ravel())


@pytest.mark.parametrize("kind", KINDS)
def test_planar_charts_of_every_kind_of_number(kind):
    angle, plane = PlanarAngle((0.0, 3.0, 4.0)), PlanarPosition("z", "x")
    agree(kind, KINDS[kind](lambda x: angle.from_matrix(angle.to_matrix(x)), np.array([0.7])), [0.7], 1e-15)
    agree(kind, KINDS[kind](plane.from_position, np.array([1.0, 2.0, 3.0])), [3.0, 1.0], 1e-15)
    agree(kind, KINDS[kind](plane.to_position, np.array([3.0, 1.0])), [1.0, 0.0, 3.0], 1e-15)


# relative Jacobians -------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(recipe=robots(largest=6))
def test_relative_jacobians_add_up_along_any_axes(recipe):
    """(2.152)-(2.154): `J_C = J_B + J_BC`, and `J_BC v` is the difference of both velocities."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    b, c, axes = rng.choice(model.link_names, size=3)
    whole = fc.dynamics.relative_jacobian(model, state, b, axes=axes) + fc.dynamics.relative_jacobian(
        model, state, c, b, axes
    )
    agree("(2.154)", whole, fc.dynamics.relative_jacobian(model, state, c, axes=axes))
    R = fc.link_pose(model, state, axes)[:3, :3]
    apart = along(lambda s: fc.link_pose(model, s, c)[:3, 3] - fc.link_pose(model, s, b)[:3, 3], model, state)
    found = fc.dynamics.relative_jacobian(model, state, c, b, axes) @ state.velocity
    agree("(2.153): linear", R @ found[:3], apart)
    turned = [fc.link_twist(model, state, link, "mixed")[3:] for link in (c, b)]
    agree("(2.153): angular", R @ found[3:], turned[0] - turned[1])


# E_fb ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES, ids=str)
def test_velocities_of_coordinates(base):
    """(2.261)-(2.262), every base and kind of joint: `E dq/dt = u`, and the inverse gives the rates of coordinates."""
    for seed in range(4):
        model, state = build(Robot(base, 5, seed))
        state = fc.dynamics.displace(model, state, np.zeros(model.nv))  # of q and -q the quaternion that displace gives
        E, inverse = fc.dynamics.floating_base_map(model, state)
        u = fc.changes.world_linear(model, state).T @ state.velocity
        q_dot = along(lambda s, m=model: m.flatten(s)[0], model, state)
        agree("E dq/dt = u", E @ q_dot, u)
        agree("dq/dt = E^+ u", inverse @ u, q_dot)
        agree("E E^+ = 1", E @ inverse, np.eye(model.nv))


@pytest.mark.parametrize("chart", ROTATION_CHARTS, ids=str)
@pytest.mark.parametrize("base", [SE3(), SO3()], ids=str)
def test_velocities_of_charts_of_the_base(base, chart):
    model = fc.robots.random_tree(np.random.default_rng(3), 2, ["revolute"], base=base)
    state = model.random_state(np.random.default_rng(4))
    E, inverse = fc.dynamics.floating_base_map(model, state, chart)

    def coordinates(s):
        place = s.pose[:3, 3] if isinstance(base, SE3) else np.zeros(0)
        return np.concatenate([place, chart.from_matrix(s.pose[:3, :3]), s.joints])

    q_dot = along(coordinates, model, state)
    u = fc.changes.world_linear(model, state).T @ state.velocity
    agree("E_fb", E @ q_dot, u, 1e-11)
    agree("E_fb^-1", inverse @ u, q_dot, 1e-10)
    if isinstance(base, SE3) and isinstance(chart, UnitQuaternion):
        agree("the chart of flatten", E, fc.dynamics.floating_base_map(model, state).E)


def test_a_planar_base_has_no_chart_of_rotations():
    hopper = fc.robots.revolute_hopper()
    with pytest.raises(ModelError, match=r"a base SE\(2\) has no rotation to be written in chart Euler ZYX"):
        fc.dynamics.floating_base_map(hopper, hopper.neutral(), EulerZYX())
    cat = fc.robots.cat()
    with pytest.raises(ModelError, match="rotation is a chart of rotations"):
        fc.dynamics.floating_base_map(cat, cat.neutral(), "zyx")


@pytest.mark.parametrize("kind", ["traced", "casadi", "sympy", "jax"])
def test_the_map_of_every_kind_of_number(kind):
    base, joints = (SE2(), ["revolute"]) if kind == "sympy" else (SE3(), ["spherical", "planar"])
    model = fc.robots.random_tree(np.random.default_rng(5), 2, joints, base=base)
    state = model.random_state(np.random.default_rng(6))
    q, v = model.flatten(state)

    def both(q, v):
        E, inverse = fc.dynamics.floating_base_map(model, model.unflatten(q, v))
        return np.concatenate([E, inverse.T]) if isinstance(E, np.ndarray) else np_of(E, inverse)

    def np_of(E, inverse):
        import jax.numpy as jnp

        return jnp.concatenate([E, inverse.T])

    agree(kind, KINDS[kind](both, q, v), both(q, v), 1e-13)


# stacked contacts ---------------------------------------------------------------------------------------------------


def test_ranks_of_the_quadruped_and_of_one_foot():
    """2.10.4: Figure 2.16 (two and three point feet), Figure 2.18 (points on one foot)."""
    dog = fc.robots.quadruped()
    state = dog.random_state(np.random.default_rng(0))
    feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    found = [fc.contact.contact_jacobian(dog, state, feet[:k]) for k in range(5)]
    assert [x.rank for x in found] == [0, 3, 6, 9, 12]
    assert [x.base_rank for x in found] == [0, 3, 5, 6, 6]
    assert [x.internal for x in found] == [0, 0, 1, 3, 6]
    walker, sole = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.24, 0.1))
    stands = walker.random_state(np.random.default_rng(1))
    on_sole = [fc.contact.contact_jacobian(walker, stands, sole[:k]) for k in (1, 2, 3, 4)]
    assert [(x.rank, x.base_rank) for x in on_sole] == [(3, 3), (5, 5), (6, 6), (6, 6)]


@settings(max_examples=10)
@given(recipe=robots(largest=6))
def test_stacked_rows_are_velocities_of_the_points(recipe):
    model, state = build(recipe)
    points = list(model.link_names[:2])
    found = fc.contact.contact_jacobian(model, state, points)
    agree("(2.272)", np.hstack([found.base, found.joints]), found.J)
    speeds = [along(lambda s, p=p: fc.link_pose(model, s, p)[:3, 3], model, state) for p in points]
    agree("(2.271)", found.J @ state.velocity, np.concatenate(speeds))


def test_ranks_are_of_numbers():
    import casadi

    from fallingcat.arrays import from_casadi

    dog = fc.robots.quadruped()
    state = dog.unflatten(from_casadi(casadi.SX.sym("q", dog.nq)), from_casadi(casadi.SX.sym("v", dog.nv)))
    with pytest.raises(ModelError, match="ranks are those of numbers"):
        fc.contact.contact_jacobian(dog, state, ["front_left_foot"]).rank  # noqa: B018
    with pytest.raises(ModelError, match="points are the names"):
        fc.contact.contact_jacobian(dog, dog.neutral(), "front_left_foot")
