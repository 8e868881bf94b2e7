"""Derivatives of kernels under JAX: against complex steps, against those written by hand, against each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_robots import Robot, build, build_following

import fallingcat as fc
from fallingcat.arrays import array, concatenate, less, sqrt, where
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.lie import SE2, SE3, SO3, Trivial

ROBOTS = {
    "floating": (build, Robot(SE3(), 5, 1)),
    "one joint": (build, Robot(SE3(), 1, 2)),
    "planar": (build, Robot(SE2(), 4, 3)),
    "turning": (build, Robot(SO3(), 3, 4)),
    "fixed": (build, Robot(Trivial(), 1, 9)),
    "rigid": (build, Robot(Trivial(), 1, 5)),
    "followers": (build_following, Robot(SE3(), 6, 6)),
}
STEP = 1e-40


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def close(found, expected, tolerance=1e-12):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1.0, np.abs(expected).max(initial=0.0))


def point(robot, seed=7):
    """A robot, numbers for ``q``, ``v`` and one more, with a quaternion that is not quite of length 1."""
    make, recipe = ROBOTS[robot]
    model, state = make(recipe)
    rng = np.random.default_rng(seed)
    q, v = model.flatten(state)
    return model, (q * (1.0 + 1e-3 * (model.base.nq == 7)), v, rng.normal(size=model.nv))


def complex_jacobian(model, f, arguments):
    """Of the function's own expressions, one complex step for each input."""
    traced = trace(Recipe(model, f))
    names = [x.args[0] for xs in traced.inputs for x in xs]
    numbers = np.concatenate(arguments)
    columns = []
    for k in range(len(names)):
        moved = [complex(x, STEP * (i == k)) for i, x in enumerate(numbers)]
        out = traced.graph.evaluate(traced.outputs, dict(zip(names, moved, strict=True)))
        columns.append([complex(y).imag / STEP for y in out])
    whole = np.array(columns).reshape(len(names), len(traced.outputs)).T
    return np.split(whole, np.cumsum([len(x) for x in arguments])[:-1], axis=1)


LONG = ("floating", fc.forward_dynamics), ("followers", fc.forward_dynamics)
EACH = [(robot, f) for robot in ROBOTS for f in (fc.inverse_dynamics, fc.forward_dynamics)]


@pytest.mark.parametrize(("robot", "f"), [pytest.param(*x, marks=pytest.mark.slow if x in LONG else ()) for x in EACH])
def test_against_complex_steps(robot, f):
    model, arguments = point(robot)
    made = fc.compile(model, f, target="jax")
    expected = complex_jacobian(model, f, arguments)
    for mode in (jax.jacfwd, jax.jacrev):
        for found, exact in zip(jax.jit(mode(made, argnums=(0, 1, 2)))(*arguments), expected, strict=True):
            close(found, exact)


@pytest.mark.parametrize("robot", ROBOTS)
def test_against_derivatives_written_by_hand(robot):
    """Along the tangent of the configuration, by the chain rule through ``integrate``."""
    model, (q, v, x) = point(robot)
    state = model.unflatten(q, v)
    q = model.integrate(q, np.zeros(model.nv))  # of the two quaternions of each rotation the one that it gives
    basis = np.array([_rate(model, q, e) for e in np.eye(model.nv)]).reshape(model.nv, model.nq).T
    for f, by_hand in (
        (fc.inverse_dynamics, fc.inverse_dynamics_derivatives),
        (fc.forward_dynamics, fc.forward_dynamics_derivatives),
    ):
        d_q, d_v, d_x = jax.jacrev(fc.compile(model, f, target="jax"), argnums=(0, 1, 2))(q, v, x)
        exact = by_hand(model, state, x)
        for found, expected in zip((d_q @ basis, d_v, d_x), exact, strict=True):
            close(found, expected, 1e-10)


def _rate(model, q, x):
    """``d integrate(q, t x) / dt`` at zero, by differences of fourth order."""
    h = 1e-3
    at = [model.integrate(q, k * h * x) for k in (-2, -1, 1, 2)]
    coarse = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h)
    half = [model.integrate(q, k * h / 2 * x) for k in (-2, -1, 1, 2)]
    fine = (half[0] - 8.0 * half[1] + 8.0 * half[2] - half[3]) / (6.0 * h)
    return (16.0 * fine - coarse) / 15.0


def test_thirty_joints():
    model = fc.robots.humanoid()
    rng = np.random.default_rng(0)
    q, v = model.flatten(model.random_state(rng))
    u, w = rng.normal(size=(2, model.nv))
    f = fc.compile(model, fc.forward_dynamics, target="jax")
    gradient = jax.jit(jax.grad(lambda v, u: w @ f(q, v, u), argnums=(0, 1)))(v, u)
    exact = fc.forward_dynamics_derivatives(model, model.unflatten(q, v), u)
    close(gradient[0], w @ exact.velocity, 1e-11)
    close(gradient[1], w @ exact.forces, 1e-11)


def test_every_transformation_of_transformations():
    model, (q, v, u) = point("planar")
    f = fc.compile(model, fc.forward_dynamics, target="jax")

    def cost(q, v, u):
        return jnp.sum(f(q, v, u) ** 2)

    rng = np.random.default_rng(1)
    batch = (q + 0.1 * rng.normal(size=(9, model.nq)), np.tile(v, (9, 1)), np.tile(u, (9, 1)))
    rows = jax.jit(jax.vmap(jax.grad(cost, argnums=(0, 2))))(*batch)
    for k in range(9):
        one = jax.grad(cost, argnums=(0, 2))(*(x[k] for x in batch))
        jax.tree.map(lambda a, b, k=k: close(a[k], b, 1e-13), rows, one)
    total = jax.grad(lambda q: jax.vmap(cost)(q, *batch[1:]).sum())(batch[0])
    close(total, rows[0])
    value, slope = jax.jvp(cost, (q, v, u), (0.3 * q, v, u))
    ahead, push = jax.linearize(cost, q, v, u)
    close(push(0.3 * q, v, u), slope)
    close(value, ahead)
    pull = jax.vjp(cost, q, v, u)[1](1.0)
    close(sum(a @ b for a, b in zip(pull, (0.3 * q, v, u), strict=True)), slope)
    close(jax.grad(jax.checkpoint(cost))(q, v, u), jax.grad(cost)(q, v, u))


@pytest.mark.slow
def test_second_derivatives_whichever_way():
    model, (q, v, u) = point("one joint")
    f = fc.compile(model, fc.forward_dynamics, target="jax")
    w = np.random.default_rng(2).normal(size=model.nv)

    def weighted(q, v):
        return w @ f(q, v, u)

    ways = [
        [jax.jacfwd, jax.jacrev],
        [jax.jacrev, jax.jacfwd],
        [jax.jacfwd, jax.jacfwd],
        [jax.jacrev, jax.jacrev],
    ]
    found = [outer(inner(weighted, argnums=(0, 1)), argnums=(0, 1))(q, v) for outer, inner in ways]
    for other in found[1:]:
        jax.tree.map(lambda a, b: close(a, b, 1e-11), other, found[0])
    h = 1e-5
    slope = jax.jit(jax.grad(weighted))
    for k, e in enumerate(np.eye(model.nq)):
        close((slope(q + h * e, v) - slope(q - h * e, v)) / (2 * h), found[0][0][0][:, k], 1e-6)


def test_third_derivatives_of_one_joint():
    model, (q, v, u) = point("fixed")
    f = fc.compile(model, fc.inverse_dynamics, target="jax")

    def force(x):
        return f(q + x, v, u)[0]

    second, third = jax.grad(jax.grad(force)), jax.grad(jax.grad(jax.grad(force)))
    h = 1e-4
    close(third(0.2), (second(0.2 + h) - second(0.2 - h)) / (2 * h), 1e-6)


def test_the_gradient_of_a_thousand_steps():
    """Of where a cat is after a second, against one complex step through all of its steps."""
    model = fc.robots.two_cylinder_cat()

    def step(model, q, v, u):
        v = v + 1e-3 * fc.forward_dynamics(model, model.unflatten(q, v), u)
        return model.integrate(q, 1e-3 * v), v

    sizes = {"q": model.nq, "v": model.nv, "u": model.nv}
    f = fc.compile(model, step, target="jax", inputs=sizes)
    q, v = model.flatten(model.random_state(np.random.default_rng(1)))
    u = 1e-3 * np.random.default_rng(2).normal(size=model.nv)

    def end(v):
        return jax.lax.scan(lambda x, _: (f(*x, u), None), (q, v), None, length=1000)[0][0]

    backward, forward = jax.jit(jax.jacrev(end))(v), jax.jit(jax.jacfwd(end))(v)
    close(forward, backward, 1e-10)
    traced = trace(Recipe(model, step, sizes, None))
    names = [x.args[0] for xs in traced.inputs for x in xs]
    at = [*q, *v[:3], v[3] + 1j * STEP, *v[4:]]
    for _ in range(1000):
        at = traced.graph.evaluate(traced.outputs, dict(zip(names, [*at, *u], strict=True)))
    close(backward[:, 3], [x.imag / STEP for x in at[: model.nq]], 1e-9)


def test_the_gradient_through_a_landing():
    """Of where a hopper is after it lands on a compliant floor with friction, against differences."""
    model = fc.robots.revolute_hopper()
    foot = model.link_names[-1]

    def step(model, q, v):
        state = model.unflatten(q, v)
        pose, velocity = fc.forward_kinematics(model, state)[foot], fc.jacobian(model, state, foot) @ v
        slip, sink, depth = *(pose[:2, :3] @ velocity[:3]), -pose[1, 3]
        normal = where(less(0.0, depth), 2e3 * depth - 20.0 * sink, 0.0)
        normal = where(less(0.0, normal), normal, 0.0)
        force = array([-0.5 * normal * slip / sqrt(slip * slip + 1e-4), normal, 0.0])
        wrench = concatenate([pose[:3, :3].T @ force, np.zeros(3)])
        v = v + 2e-4 * fc.forward_dynamics(model, state, np.zeros(model.nv), wrenches={foot: wrench})
        return model.integrate(q, 2e-4 * v), v

    f = fc.compile(model, step, target="jax", inputs={"q": model.nq, "v": model.nv})
    q, v = (np.array(x) for x in model.flatten(model.neutral()))
    q[1] += 0.05 - fc.forward_kinematics(model, model.unflatten(q, v))[foot][1, 3]
    v[:] = [0.3, -0.5, 0.1, 0.2]

    def end(v):
        (q_end, _), heights = jax.lax.scan(lambda x, _: (f(*x), x[0][1]), (jnp.asarray(q), v), None, length=700)
        return q_end[0] + 2.0 * q_end[1], heights

    gradient, heights = jax.jit(jax.grad(end, has_aux=True))(v)
    assert jnp.diff(heights, n=2).max() > 0.0  # something pushed it up
    value = jax.jit(lambda v: end(v)[0])
    h = 1e-6
    close(gradient, [(value(v + h * e) - value(v - h * e)) / (2 * h) for e in np.eye(model.nv)], 1e-7)


def test_cases_have_the_slope_of_the_case_that_holds():
    model = fc.robots.revolute_hopper()

    def law(model, x):
        return where(less(x, 0.0), x * x, 3.0 * x)

    f = fc.compile(model, law, target="jax", inputs={"x": 2})
    x = np.array([-2.0, 5.0])
    for mode in (jax.jacfwd, jax.jacrev):
        close(mode(f)(x), np.diag([-4.0, 3.0]))


def test_what_does_not_matter_has_no_slope():
    model = fc.robots.revolute_hopper()

    def law(model, x, y, none):
        return y * y

    f = fc.compile(model, law, target="jax", inputs={"x": 2, "y": 3, "none": 0})
    x, y, none = np.ones(2), np.arange(3.0), np.zeros(0)
    for mode in (jax.jacfwd, jax.jacrev):
        d_x, d_y, d_none = mode(f, argnums=(0, 1, 2))(x, y, none)
        close(d_x, np.zeros((3, 2)))
        close(d_y, np.diag(2.0 * y))
        assert d_none.shape == (3, 0)
