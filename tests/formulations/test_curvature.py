"""The connection and its curvature, each number in several ways; and when it can be integrated."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from link_sums import link_jacobians, link_poses
from oracles import composite_curvature
from oracles.motion import bracket
from random_robots import BASES, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.lie import R3, SE2, SE3, Trivial
from fallingcat.model import Universal

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))
some = robots(largest=12, bases=MOVING)


def along(f, model, state, x):
    """The derivative of `f(state)` when the shape moves along `x`, by complex step."""
    d = np.concatenate([np.zeros(model.m), 1j * STEP * x])
    return np.imag(f(fc.dynamics.displace(model, state, d))) / STEP


def contracted(F, x, y):
    return np.einsum("aij,i,j->a", F, x, y)


@settings(max_examples=60)
@given(recipe=some)
def test_the_curvature_by_complex_step(recipe):
    """`DA(x, y) = (d_x A) y - (d_y A) x - ad(A x) A y - A [x, y]`, from the definition."""
    model, state = build(recipe)
    x, y = rng_of(recipe).normal(size=(2, model.n))
    A = fc.connection(model, state)

    def connection(s):
        return fc.connection(model, s)

    flat = along(connection, model, state, x) @ y - along(connection, model, state, y) @ x
    lifted = [np.concatenate([np.zeros(model.m), v]) for v in (x, y)]
    own = bracket(model, *lifted)[model.m :]
    wanted = flat - model.base.ad(A @ x) @ (A @ y) - A @ own
    F = fc.curvature(model, state)
    assert F.shape == (model.m, model.n, model.n)
    scale = max(1.0, np.abs(A).max(initial=0.0)) ** 2
    agree("curvature by complex step", contracted(F, x, y), wanted, 1e-11, scale)
    agree("slice = tensor", fc.curvature(model, state, x, y), contracted(F, x, y), 1e-11, scale)
    agree("curvature is skew", F, -np.swapaxes(F, 1, 2), scale=scale)
    agree(
        "dA/dt",
        fc.formulations.connection_derivative(model, state),
        along(connection, model, state, state.rates),
        1e-11,
        scale,
    )


@settings(max_examples=30)
@given(recipe=some)
def test_the_curvature_from_composite_inertias(recipe):
    model, state = build(recipe)
    if any(isinstance(joint.kind, Universal) for joint in model.joints):
        return  # its axes turn with its own angle: the formula is for constant ones
    wanted = composite_curvature.curvature(model, state)
    A, unit = fc.connection(model, state), np.eye(model.nv)[model.m :]
    for i in range(model.n):
        for j in range(model.n):
            wanted[:, i, j] -= A @ bracket(model, unit[i], unit[j])[model.m :]
    agree("curvature in O(n^2)", fc.curvature(model, state), wanted, 1e-11, max(1.0, np.abs(A).max(initial=0.0)) ** 2)


def of_points(rng, joints, base):
    """A robot of point masses, and the points of every link."""
    model = fc.robots.random_tree(rng, joints, base=base)
    points = [[(rng.uniform(0.1, 1.0), rng.normal(scale=0.3, size=3)) for _ in range(5)] for _ in model.links]
    links = tuple(fc.Link(k.name, fc.Body.from_points(p)) for k, p in zip(model.links, points, strict=True))
    return fc.Model("points", base, links, model.joints), points


@pytest.mark.parametrize("base", MOVING, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_curvature_is_swept_area(base, seed):
    """`Mb DA(x, y) = S' [0; 2 sum m u_x x u_y]`, point by point: no spatial algebra at all."""
    rng = np.random.default_rng(seed)
    model, points = of_points(rng, 4, base)
    if not model.n:
        return
    state = model.random_state(rng)._replace(pose=np.eye(4))
    x, y = rng.normal(size=(2, model.n))
    A, poses, T = fc.connection(model, state), link_poses(model, state), link_jacobians(model, state)
    area = np.zeros(3)
    for link, cloud in zip(model.links, points, strict=True):
        R = poses[link.name][:3, :3]
        twists = [T[link.name] @ np.concatenate([-A @ v, v]) for v in (x, y)]
        for mass, p in cloud:
            u_x, u_y = (R @ (t[:3] + np.cross(t[3:], p)) for t in twists)
            area += 2.0 * mass * np.cross(u_x, u_y)
    Mb = fc.mass_matrix(model, state)[: model.m, : model.m]
    wanted = np.linalg.solve(Mb, base.selection[3:].T @ area)
    agree("curvature = swept area", fc.curvature(model, state, x, y), wanted, 1e-11, np.abs(A).max() ** 2)


def test_a_small_loop_moves_the_robot_by_the_curvature():
    """Around a square of side h: `log(displacement) = -h^2 DA(e_0, e_1) + O(h^3)`; the slope of the error is 3."""
    cat = fc.robots.two_cylinder_cat()
    q, F = np.array([0.4, 0.3]), fc.curvature(cat, cat.state(joints=[0.4, 0.3]))[:, 0, 1]

    def loop(h, steps=40):
        pose, G, here = np.eye(4), SE3(), q.copy()
        for edge in ([1, 0], [0, 1], [-1, 0], [0, -1]):
            dq = h / steps * np.array(edge)
            for _ in range(steps):  # midpoint rule on the group
                A = fc.connection(cat, cat.state(joints=here + 0.5 * dq))
                pose, here = pose @ G.exp(-A @ dq), here + dq
        return G.log(pose)

    errors = [np.abs(loop(h) + h**2 * F).max() for h in (0.04, 0.02, 0.01)]
    slopes = np.diff(np.log(errors)) / np.log(0.5)
    assert (slopes > 2.8).all()
    assert errors[-1] < 0.05 * 0.01**2 * np.abs(F).max()


# flat ones --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", MOVING, ids=str)
def test_one_joint_is_always_flat(base):
    model = fc.robots.random_tree(np.random.default_rng(0), 1, kinds=["revolute"], base=base)
    state = model.random_state(np.random.default_rng(1))
    verdict = fc.formulations.integrability(model, state)
    assert verdict.integrable
    assert not verdict.curvature.any()


@settings(max_examples=30)
@given(recipe=robots(largest=10, bases=(R3(),)))
def test_a_base_that_does_not_turn_is_always_flat(recipe):
    model, state = build(recipe)
    assert not fc.curvature(model, state).any()
    assert fc.formulations.integrability(model, state).integrable


def test_verdicts():
    cat = fc.robots.cat()
    verdict = fc.formulations.integrability(cat, cat.random_state(np.random.default_rng(0)))
    assert not verdict.integrable
    assert verdict.residual > 1e-3
    hopper = fc.robots.revolute_hopper()
    assert fc.formulations.integrability(hopper, hopper.random_state(np.random.default_rng(0))).integrable
    two = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["revolute"], planar=True)
    assert not fc.formulations.integrability(two, two.random_state(np.random.default_rng(0))).integrable


def test_lemma_3_4_in_the_plane():
    """(3.73) of [Feurstein], with its own signs: `T_v`, `T_w` of SE(2)."""
    model = fc.robots.random_tree(np.random.default_rng(2), 2, kinds=["revolute"], planar=True)
    state = model.random_state(np.random.default_rng(3))
    T = fc.connection(model, state)
    d = [along(lambda s: fc.connection(model, s), model, state, e) for e in np.eye(2)]  # d[j][:, i] = dT^i/dq_j
    S = np.array([[0.0, -1.0], [1.0, 0.0]])
    turn = d[1][2, 0] - d[0][2, 1]
    slide = d[1][:2, 0] - d[0][:2, 1] + T[2, 0] * S @ T[:2, 1] - T[2, 1] * S @ T[:2, 0]
    agree("(3.73) = -DA", -np.append(slide, turn), fc.curvature(model, state)[:, 0, 1])


# theta_bc ---------------------------------------------------------------------------------------------------------


def test_locked_angle_of_the_revolute_leg():
    """[Feurstein] sample program, line 230: the closed form for masses m01, m02 on the thigh and m11 on the shank."""
    m01, m02, m11 = 0.835, 0.122, 0.05
    A, B = m01 * m11 + m02 * m11, 2 * m01 * m11 + m02 * m11
    a, b = m01 * m02 + 5 * m01 * m11 + 2 * m02 * m11, 2 * B
    root = np.sqrt(a**2 - b**2)
    hopper = fc.robots.revolute_hopper()
    for q in np.linspace(-3.0, 3.0, 13):
        closed = B * q / b + 2 * np.arctan2(np.tan(q / 2) * root, a + b) * (A * b - B * a) / (b * root)
        agree("theta_bc, closed form", fc.formulations.locked_angle(hopper, [q]), closed)
        agree(
            "theta_bc, elsewhere",
            fc.formulations.locked_angle(hopper, [q], [1.0]),
            closed - fc.formulations.locked_angle(hopper, [1.0]),
        )


def test_locked_angle_turns_with_the_locked_velocity():
    hopper = fc.robots.revolute_hopper()
    state = hopper.random_state(np.random.default_rng(0))
    rate = np.imag(fc.formulations.locked_angle(hopper, state.joints + 1j * STEP * state.rates)) / STEP
    agree("d theta_bc / dt = A_w dq", rate, (fc.connection(hopper, state) @ state.rates)[2])


def test_locked_angle_is_refused_where_the_path_matters():
    two = fc.robots.random_tree(np.random.default_rng(0), 2, kinds=["revolute"], planar=True)
    assert isinstance(two.base, SE2)
    with pytest.raises(fc.NumericsError, match="depends on the path"):
        fc.formulations.locked_angle(two, [0.5, 0.5])
    with pytest.raises(fc.ModelError, match="planar"):
        fc.formulations.locked_angle(fc.robots.cat(), np.zeros(10))


# the cat ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bend", "turn"), [(20.0, 41.9), (40.0, 124.4)])
@pytest.mark.parametrize("way", [1, -1])
def test_the_two_cylinder_cat_turns(bend, turn, way):
    """THEORY's numbers: bend, carry the bend around, straighten; no momentum at any time."""
    cat, b, G = fc.robots.two_cylinder_cat(), np.radians(bend), SE3()
    around = [b * np.array([np.cos(s), way * np.sin(s)]) for s in np.linspace(0.0, 2 * np.pi, 201)]
    straight = [b * np.array([r, 0.0]) for r in np.linspace(0.0, 1.0, 21)]
    path = [*straight, *around[1:], *straight[::-1][1:]]
    pose = np.eye(4)
    for here, there in pairwise(path):
        A = fc.connection(cat, cat.state(joints=0.5 * (here + there)))
        pose = pose @ G.exp(-A @ (there - here))
    turned = np.degrees(np.arctan2(pose[2, 1], pose[1, 1]))
    assert abs(turned - way * turn) < 0.1
    agree("about the long axis", pose[:3, 0], [1.0, 0.0, 0.0], 1e-3)
