"""[Mishra] Lemmas 6-8, (80), the linearised Coriolis forces; the frame of the locked velocity ([Feurstein] 3.2.4)."""

import numpy as np
import pytest
from hypothesis import given, settings
from kinds import KINDS
from oracles import reduced_sums
from random_robots import BASES, Robot, build, rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat import planning as gaits
from fallingcat.arrays import concatenate
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import R3, SE2, SE3, Trivial

STEP = 1e-40
MOVING = tuple(base for base in BASES if not isinstance(base, Trivial))


def locked(model, state):
    return fc.mass_matrix(model, state)[: model.m, : model.m]


@settings(max_examples=20)
@given(recipe=robots(largest=6, bases=MOVING))
def test_the_locked_inertia_along_any_shape_velocity(recipe):
    """Lemmas 6, 7, 14 for arguments that are not those of the state, by complex step of the mass matrix; (27)."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    x, y, z = rng.normal(size=model.n), rng.normal(size=model.m), rng.normal(size=model.m)
    moved = fc.dynamics.displace(model, state, 1j * STEP * np.concatenate([np.zeros(model.m), x]))
    P = fc.formulations.locked_inertia_rate(model, state, x)
    scale = np.abs(locked(model, state)).max()
    agree("P(x) = dMb/dt", P, np.imag(locked(model, moved)) / STEP, 1e-11, scale)
    agree("P symmetric", P, P.T, 0.0)
    S, other = (
        fc.formulations.locked_inertia_slope(model, state, y),
        fc.formulations.locked_inertia_slope(model, state, z),
    )
    agree("(27): P(x) y = S(y) x", P @ y, S @ x, 1e-12, scale)
    agree("(27): S(y)' z = S(z)' y", S.T @ z, other.T @ y, 1e-12, scale)
    agree(
        "(28)",
        S.T @ y - other.T @ z,
        (2.0 * S - fc.formulations.locked_inertia_slope(model, state, y - z)).T @ (y - z),
        1e-11,
        scale,
    )


@settings(max_examples=10)
@given(recipe=robots(largest=5, bases=MOVING))
def test_the_sums_over_links_say_the_same(recipe):
    """(15), (16) as printed, for any argument: the second oracle."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    x, y = rng.normal(size=model.n), rng.normal(size=model.m)
    scale = np.abs(locked(model, state)).max()
    agree("(15)", fc.formulations.locked_inertia_rate(model, state, x), reduced_sums.P(model, state, x), 1e-11, scale)
    agree("(16)", fc.formulations.locked_inertia_slope(model, state, y), reduced_sums.S(model, state, y), 1e-11, scale)


@settings(max_examples=15)
@given(recipe=robots(largest=5, bases=MOVING))
def test_the_exterior_derivative_of_the_connection(recipe):
    """(80): `(d_x A) y - (d_y A) x`, by complex step, with the brackets of joints."""
    model, state = build(recipe)
    rng = rng_of(recipe)
    x, y = rng.normal(size=(2, model.n))

    def along(z):
        moved = fc.dynamics.displace(model, state, 1j * STEP * np.concatenate([np.zeros(model.m), z]))
        return np.imag(fc.connection(model, moved)) / STEP

    wanted = along(x) @ y - along(y) @ x - fc.connection(model, state) @ (model.configuration.shape.ad(x) @ y)
    found = fc.formulations.connection_exterior(model, state, x, y)
    size = np.abs(fc.connection(model, state)).max(initial=0.0)
    scale = max(1.0, size**2 * np.abs(x).max(initial=0.0) * np.abs(y).max(initial=0.0))
    agree("(80)", found, wanted, 1e-10, scale)
    tensor = fc.formulations.connection_exterior(model, state)
    agree("(80): tensor", np.einsum("kij,i,j->k", tensor, x, y), found, 1e-10, scale)


@settings(max_examples=8)
@given(recipe=robots(largest=4, bases=MOVING))
def test_linearised_coriolis_forces(recipe):
    """`d(D_q xi)/dxi`, `d(D_mu xi)/dxi` of Theorem 1: its forces are squares, whose differences are exact."""
    model, state = build(recipe)
    m = model.m
    rel, found = fc.reduced_equations(model, state), fc.formulations.reduced_derivatives(model, state)

    def forces(xi):
        s = state._replace(twist=xi[:m] - rel.A @ xi[m:], rates=xi[m:])
        at = fc.reduced_equations(model, s)
        return at.D_q @ xi, at.D_mu @ xi

    by_q, by_mu = np.zeros((2, model.nv, model.nv))
    for j, e in enumerate(np.eye(model.nv)):
        ahead, back, own = forces(rel.xi + e), forces(rel.xi), forces(e)  # quadratic: this difference is exact
        by_q[:, j], by_mu[:, j] = ahead[0] - back[0] - own[0], ahead[1] - back[1] - own[1]
    scale = max(1.0, np.abs(by_q).max(), np.abs(by_mu).max())
    agree("d(D_q xi)/dxi", found.D_q, by_q, 1e-10, scale)
    agree("d(D_mu xi)/dxi", found.D_mu, by_mu, 1e-10, scale)
    agree("Euler", found.D_q @ rel.xi, 2.0 * rel.D_q @ rel.xi, 1e-10, scale * max(1.0, np.abs(rel.xi).max()))
    agree("Euler", found.D_mu @ rel.xi, 2.0 * rel.D_mu @ rel.xi, 1e-10, scale * max(1.0, np.abs(rel.xi).max()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(kind):
    slow = kind in ("sympy", "jax")  # to work out, or to compile
    model = fc.robots.random_tree(
        np.random.default_rng(1), 1 if slow else 2, ["revolute"], base=SE2() if slow else SE3()
    )
    q, v = model.flatten(model.random_state(np.random.default_rng(2)))
    x, y = np.ones(model.n), np.arange(1.0, model.m + 1.0)

    def answers(q, v):
        state = model.unflatten(q, v)
        found = [
            fc.formulations.locked_inertia_rate(model, state, x),
            fc.formulations.locked_inertia_slope(model, state, y),
        ]
        found += [] if kind == "sympy" else [fc.formulations.connection_exterior(model, state, x, x)]
        found += [] if slow else list(fc.formulations.reduced_derivatives(model, state))
        return concatenate([part.reshape(-1) for part in found])

    agree(kind, KINDS[kind](answers, q, v), answers(q, v), 1e-11)


@pytest.mark.slow
def test_linearised_forces_under_jax():
    model = fc.robots.random_tree(np.random.default_rng(1), 2, ["revolute"])
    q, v = model.flatten(model.random_state(np.random.default_rng(2)))
    function = lambda q, v: concatenate(list(fc.formulations.reduced_derivatives(model, model.unflatten(q, v))))  # noqa: E731
    agree("jax", KINDS["jax"](function, q, v), function(q, v), 1e-11)


def test_wrong_arguments_are_named():
    cat = fc.robots.cat()
    state = cat.neutral()
    with pytest.raises(ModelError, match="x must have shape"):
        fc.formulations.locked_inertia_rate(cat, state, np.zeros(3))
    with pytest.raises(ModelError, match="y must have shape"):
        fc.formulations.locked_inertia_slope(cat, state, np.zeros(3))
    with pytest.raises(ModelError, match="takes two shape directions, or none"):
        fc.formulations.connection_exterior(cat, state, np.zeros(cat.n))


# the frame of the locked velocity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", MOVING, ids=str)
def test_one_joint_is_integrable_on_every_base(base):
    """(3.70): the spatial velocity of `H_bc` is `A rates`, by complex step of the end; the frame is a function of q."""
    model = fc.robots.random_tree(np.random.default_rng(2), 1, ["revolute"], base=base, fixed=0.0)
    q, r = np.array([0.8]), np.array([-0.3])
    H = fc.formulations.locked_frame(model, q, r)
    rate = np.imag(fc.formulations.locked_frame(model, q + 1j * STEP, r)) / STEP
    found = base.vee(rate @ base.inverse(H))
    agree("(3.70)", found, fc.connection(model, model.state(joints=q))[:, 0], 1e-10)
    via = fc.formulations.locked_frame(model, q, [0.2], start=fc.formulations.locked_frame(model, [0.2], r))
    agree("a function of the shape", via, H, 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_frame_that_starts_at_the_center_of_mass_stays_there(seed):
    """The locked velocity moves the center of mass: an oracle that knows no integration."""
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 1, ["revolute", "prismatic", "helical"], base=SE3(), fixed=0.0)
    q, r = (model.random_state(rng).joints for _ in range(2))
    start = np.eye(4)
    start[:3, 3] = fc.center_of_mass(model, model.state(joints=r))
    H = fc.formulations.locked_frame(model, q, r, start)
    agree("H_bc at the center", H[:3, 3], fc.center_of_mass(model, model.state(joints=q)), 1e-11)


def test_where_the_path_matters_it_is_refused_and_followed():
    cat = fc.robots.two_cylinder_cat()
    with pytest.raises(NumericsError, match="the frame of the locked velocity depends on the path"):
        fc.formulations.locked_frame(cat, [0.3, 0.2])
    curve = gaits.Circle(0.4)
    found = gaits.locked_frame_along(cat, curve)
    moved = gaits.displacement(cat, curve)
    agree("holonomy", found.holonomy @ moved.pose, np.eye(4), 1e-12)
    agree("(3.70) along the path", found.poses[0], np.eye(4), 1e-15)
    start = np.eye(4)
    start[:3, 3] = fc.center_of_mass(cat, cat.state(joints=curve([0.0]).q[0]))
    path = gaits.locked_frame_along(cat, curve, start)
    shapes = curve(path.times).q
    centers = [fc.center_of_mass(cat, cat.state(joints=q)) for q in shapes]
    agree("it stays at the center", path.poses[:, :3, 3], np.array(centers), 1e-10)


def test_a_base_that_does_not_turn_is_integrable_with_many_joints():
    model = fc.robots.random_tree(np.random.default_rng(3), 4, ["revolute", "prismatic"], base=R3())
    q = model.random_state(np.random.default_rng(4)).joints
    H = fc.formulations.locked_frame(model, q)
    shift = fc.center_of_mass(model, model.state(joints=q)) - fc.center_of_mass(model, model.state())
    agree("H_bc = shift of the center", H[:3, 3], shift, 1e-11)
    agree("no turn", H[:3, :3], np.eye(3), 1e-15)
    closed = gaits.locked_frame_along(
        model, gaits.Plane.of_joints(model, *model.joint_names[:2]).curve(gaits.Circle(0.3))
    )
    agree("no holonomy", closed.holonomy, np.eye(4), 1e-11)


def test_bad_paths_are_named():
    model, _ = build(Robot(SE3(), 1, 0))
    with pytest.raises(ModelError, match="joints must have shape"):
        fc.formulations.locked_frame(fc.robots.revolute_hopper(), [0.1, 0.2])
    with pytest.raises(ModelError, match="steps is a whole number above zero, not 0"):
        fc.formulations.locked_frame(fc.robots.revolute_hopper(), [0.1], steps=0)
    with pytest.raises(ModelError, match=r"the base of .* is fixed"):
        fc.formulations.locked_frame(fc.robots.planar_arm(), np.zeros(3))
    assert model.m == 6
