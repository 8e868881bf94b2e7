"""Where the digits end: forward dynamics by the condition of the mass matrix, and quaternions of any length."""

import numpy as np
import pytest
from kernel_reference import relative_error

import fallingcat as fc
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.lie import SE3
from fallingcat.model import Joint, Link, Model, Revolute, Spherical

EPS = np.finfo(float).eps


def arm(load: float, joints: int = 6) -> Model:
    """Hinges about x, y, z in turn; the last link is so many times as heavy as the others."""
    inertia = np.diag([0.01, 0.01, 0.005])
    links = [Link("link0", fc.Body(1.0, [0.0, 0.0, 0.05], 10.0 * inertia))]
    for i in range(joints):
        mass = load if i == joints - 1 else 1.0
        links.append(Link(f"link{i + 1}", fc.Body(mass, [0.0, 0.02, 0.1], mass * inertia)))
    place = np.eye(4)
    place[2, 3] = 0.2
    hinges = [
        Joint(f"j{i}", Revolute(tuple(np.eye(3)[i % 3])), f"link{i}", f"link{i + 1}", place) for i in range(joints)
    ]
    return Model("arm", SE3(), tuple(links), tuple(hinges))


def errors(load: float) -> tuple[float, float]:
    """The worst error of forward dynamics against forty digits, and the worst condition number, at five states."""
    model = arm(load)
    kernel, traced = fc.compile(model, fc.forward_dynamics), trace(Recipe(model, fc.forward_dynamics))
    rng, worst, condition = np.random.default_rng(1), 0.0, 0.0
    for _ in range(5):
        state = model.random_state(rng)
        given = [*model.flatten(state), rng.normal(size=model.nv)]
        worst = max(worst, relative_error(traced, given, kernel(*given)))
        condition = max(condition, fc.dynamics.mass_condition(model, state))
    return worst, condition


@pytest.mark.parametrize("load", [1e-6, 1.0, 1e3, 1e6, 1e9])
def test_the_condition_of_the_mass_matrix_bounds_the_error(load):
    error, condition = errors(load)
    assert error <= EPS * condition
    if load <= 1.0:
        assert error <= 1e-12


def test_the_condition_number_tells_a_heavy_tip_from_a_light_one():
    light, even, heavy = (fc.dynamics.mass_condition(arm(load), arm(load).neutral()) for load in (1e-6, 1.0, 1e6))
    assert light < 1e4
    assert even < 1e4
    assert heavy > 1e6
    assert fc.dynamics.mass_condition(fc.robots.free_body(), fc.robots.free_body().neutral()) < 10.0
    massless = arm(1.0).replace_body("link6", fc.Body())
    assert fc.dynamics.mass_condition(massless, massless.neutral()) == np.inf


def ball_robot() -> Model:
    body = fc.Body(1.0, [0.1, 0.0, 0.2], np.diag([0.1, 0.2, 0.25]))
    joint = Joint("ball", Spherical(), "trunk", "arm", np.eye(4))
    return Model("ball", SE3(), (Link("trunk", body), Link("arm", body)), (joint,))


@pytest.mark.parametrize("length", [2.0, 0.5, 1e-3, 1e3])
@pytest.mark.parametrize("function", [fc.inverse_dynamics, fc.forward_dynamics, fc.forward_kinematics])
def test_kernels_take_quaternions_of_any_length(function, length):
    model = ball_robot()
    kernel = fc.compile(model, function)
    rng = np.random.default_rng(3)
    q, v = model.flatten(model.random_state(rng))
    given = [q, v, rng.normal(size=model.nv)][: len(kernel.signature)]
    longer = q.copy()
    longer[3:7] *= length
    longer[7:11] *= -length
    for batch in (lambda x: x, lambda x: np.stack([x, x])):
        expected, got = kernel(*map(batch, given)), kernel(*map(batch, [longer, *given[1:]]))
        if isinstance(expected, dict):
            expected, got = (np.stack(list(x.values())) for x in (expected, got))
        np.testing.assert_allclose(got, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_no_quaternion(bad):
    model = ball_robot()
    q, v = model.flatten(model.neutral())
    q[3:7] = bad
    assert np.isnan(fc.compile(model, fc.forward_dynamics)(q, v, np.zeros(model.nv))).any()
    with pytest.raises(
        fc.ModelError, match=r"^q( \(base\): the quaternion xyzw has length 0| holds a number that is not finite)"
    ):
        model.unflatten(q, v)
    with pytest.raises(fc.ModelError, match=r"the quaternion xyzw has length 2, not 1"):
        model.unflatten(np.where(np.arange(model.nq) == 6, 2.0, np.nan_to_num(q) * 0.0), v)
