"""One body of laws, run on every group."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from kinds import KINDS
from laws import EXTENDED, GROUPS, algebra, generators, name

from fallingcat.arrays import concatenate
from fallingcat.lie import SE3, Product, SEk3, rotations, skew

GROUPS = [*GROUPS, *EXTENDED]
every_group = pytest.mark.parametrize("G", GROUPS, ids=name)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@every_group
@given(rng=generators())
def test_group_axioms(G, rng):
    f, g, h = (G.random(rng) for _ in range(3))
    close(G.compose(f, G.compose(g, h)), G.compose(G.compose(f, g), h))
    close(G.compose(g, G.identity()), g)
    close(G.compose(G.identity(), g), g)
    close(G.compose(g, G.inverse(g)), G.identity())
    assert G.contains(G.compose(g, h))
    assert G.contains(G.inverse(g))


@every_group
@given(rng=generators())
def test_hat_and_vee(G, rng):
    x, y = algebra(G, rng), algebra(G, rng)
    close(G.vee(G.hat(x)), x)
    close(G.hat(2.0 * x + y), 2.0 * G.hat(x) + G.hat(y))
    X, Y = G.hat(x), G.hat(y)
    close(G.hat(G.ad(x) @ y), X @ Y - Y @ X)


@every_group
@given(rng=generators())
def test_exp_is_the_matrix_exponential(G, rng):
    x = algebra(G, rng)
    close(G.exp(x), scipy.linalg.expm(G.hat(x)))
    close(G.compose(G.exp(0.3 * x), G.exp(0.7 * x)), G.exp(x))
    close(G.exp(np.zeros(G.dim)), G.identity(), 0.0)


@every_group
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 0.1, 0.99, 1.0, 1.01, 2.0, 3.0, np.pi - 1e-3, np.pi - 1e-6])
@given(rng=generators())
def test_log_inverts_exp(G, angle, rng):
    x = algebra(G, rng, angle)
    close(G.log(G.exp(x)), x)


@every_group
@pytest.mark.parametrize("gap", [1e-7, 1e-9, 1e-12, 0.0])
@given(rng=generators())
def test_log_at_pi(G, gap, rng):
    x = algebra(G, rng, np.pi - gap)
    found = G.log(G.exp(x))
    close(G.exp(found), G.exp(x), 1e-12)
    if gap >= 1e-12:  # at pi itself x and -x are the same rotation
        close(found, x, 1e-7)


@every_group
@given(rng=generators())
def test_exp_inverts_log(G, rng):
    g = G.random(rng)
    close(G.exp(G.log(g)), g)


@every_group
@given(rng=generators())
def test_adjoints(G, rng):
    g, h = G.random(rng), G.random(rng)
    x, y, z = (algebra(G, rng) for _ in range(3))
    close(G.hat(G.Ad(g) @ x), g @ G.hat(x) @ G.inverse(g))
    close(G.Ad(G.compose(g, h)), G.Ad(g) @ G.Ad(h))
    close(G.Ad(G.exp(x)), scipy.linalg.expm(G.ad(x)))
    close(G.ad(x) @ y, -(G.ad(y) @ x))
    close(G.ad(x) @ (G.ad(y) @ z) + G.ad(y) @ (G.ad(z) @ x) + G.ad(z) @ (G.ad(x) @ y), np.zeros(G.dim), 1e-11)
    close(G.ad(G.Ad(g) @ x), G.Ad(g) @ G.ad(x) @ G.Ad(G.inverse(g)), 1e-11)


@every_group
@given(rng=generators())
def test_adt_reads_the_bracket_the_other_way(G, rng):
    x, h = algebra(G, rng), rng.normal(size=G.dim)
    close(G.ad(x).T @ h, G.adt(h) @ x)
    close(G.adt(h), -G.adt(h).T, 0.0)


@every_group
@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.9, 1.1, 3.0, 5.0])
@given(rng=generators())
def test_dexp_is_the_series(G, angle, rng):
    x = algebra(G, rng, angle)
    left, power = np.zeros((G.dim, G.dim)), np.eye(G.dim)
    for k in range(1, 60):
        left += power
        power = power @ G.ad(x) / (k + 1)
    close(G.dexp_left(x), left, 1e-12)
    close(G.dexp_left(x), G.Ad(G.exp(x)) @ G.dexp_right(x), 1e-12)
    close(G.dexp_left(x) @ G.dexp_left_inverse(x), np.eye(G.dim), 2e-12)
    close(G.dexp_right_inverse(x) @ G.dexp_right(x), np.eye(G.dim), 2e-12)


@every_group
@given(rng=generators())
def test_dexp_is_the_derivative_of_exp(G, rng):
    x, dx, h = algebra(G, rng), rng.normal(size=G.dim), 1e-5
    moved = [G.exp(x + s * h * dx) for s in (-2, -1, 1, 2)]
    dg = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
    g = G.exp(x)
    close(G.hat(G.dexp_right(x) @ dx), G.inverse(g) @ dg, 1e-8)
    close(G.hat(G.dexp_left(x) @ dx), dg @ G.inverse(g), 1e-8)


@every_group
@given(rng=generators())
def test_complex_step_through_exp(G, rng):
    x, dx = algebra(G, rng), rng.normal(size=G.dim)
    dg = np.imag(G.exp(x + 1e-30j * dx)) / 1e-30
    close(G.inverse(G.exp(x)) @ dg, G.hat(G.dexp_right(x) @ dx))


@every_group
@given(rng=generators())
def test_selection_embeds_into_se3(G, rng):
    if isinstance(G, Product) or len(G.identity()) > 4:  # not a subgroup of SE(3)
        assert G.selection.shape == (6, G.dim)
        return
    x, y, g = algebra(G, rng), algebra(G, rng), G.random(rng)
    S, E = G.selection, SE3()
    close(E.exp(S @ x), G.exp(x))
    close(E.ad(S @ x) @ (S @ y), S @ (G.ad(x) @ y))
    close(E.Ad(g) @ S, S @ G.Ad(g))
    close(G.coselection @ S, np.eye(G.dim), 1e-15)
    h = rng.normal(size=6)
    close(G.adt(S.T @ h), S.T @ E.adt(h) @ S)


@given(rng=generators())
def test_one_vector_is_se3_and_every_vector_turns_alike(rng):
    x, h = algebra(SE3(), rng), rng.normal(size=6)
    one, three = SEk3(1), SEk3(3)
    g = one.exp(x)
    close(g, SE3().exp(x), 0.0)
    for f in (one.log, one.Ad, one.inverse, one.coordinates):
        close(f(g), getattr(SE3(), f.__name__)(g), 1e-15)
    for f in (one.ad, one.adt, one.dexp_left, one.dexp_left_inverse, one.hat):
        close(f(h), getattr(SE3(), f.__name__)(h), 1e-15)
    y = np.concatenate([x[:3], x[:3], x[:3], x[3:]])
    for i in (3, 4, 5):
        close(three.exp(y)[:3, i], g[:3, 3], 1e-15)


@every_group
@given(rng=generators())
def test_coordinates(G, rng):
    g = G.random(rng)
    q = G.coordinates(g)
    assert q.shape == (G.nq,)
    close(G.element(q), g)


@every_group
@given(rng=generators())
def test_interpolation(G, rng):
    g, h = G.random(rng), G.random(rng)
    close(G.interpolate(g, h, 0.0), g)
    close(G.interpolate(g, h, 1.0), h)
    half = G.interpolate(g, h, 0.5)
    close(G.compose(half, G.compose(G.inverse(g), half)), h)


@every_group
def test_random_elements_differ_and_repeat(G):
    first, again = (G.random(np.random.default_rng(7)) for _ in range(2))
    close(first, again, 0.0)
    other = G.random(np.random.default_rng(8))
    assert G.dim == 0 or np.abs(first - other).max() > 1e-3


@every_group
def test_contains_refuses_what_is_no_element(G):
    g = G.random(np.random.default_rng(1))
    bad = g.copy()
    bad[0, 0] += 1e-3
    assert not G.contains(bad)
    assert not G.contains(np.where(g == 1.0, np.nan, g))
    assert not G.contains(np.eye(2))
    if len(g) == 4:
        assert not G.contains(np.diag([-1.0, 1.0, 1.0, 1.0]) @ g)


@pytest.mark.parametrize("G", [g for g in GROUPS if g.dim], ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(G, kind):
    def everything(x, h, g):
        of_vectors = [G.exp(x), G.ad(x), G.adt(h), G.dexp_right(x), G.dexp_left_inverse(x)]
        of_elements = [G.Ad(g), G.inverse(g), G.log(g), G.coordinates(g)]
        return concatenate([part.reshape(-1) for part in of_vectors + of_elements])

    for angle in (0.0, 0.7, 2.5):  # one function for all angles: JAX compiles it once
        x, h = algebra(G, np.random.default_rng(3), angle), np.arange(1.0, G.dim + 1)
        g = G.exp(x)
        close(KINDS[kind](everything, x, h, g), everything(x, h, g))
        close(G.log(g), x)


@every_group
def test_no_nan_in_gradients(G):
    """JAX derivatives of exp, log and dexp are finite, and right, at zero too."""

    @jax.jit
    def derivatives(y):
        jacobian = jax.jacfwd(lambda z: G.log(G.exp(z)))(y)
        gradient = jax.grad(lambda z: (jnp.asarray(G.exp(z)) ** 3).sum() + (jnp.asarray(G.dexp_left(z)) ** 2).sum())(y)
        return jacobian, gradient

    for angle in (0.0, 1e-8, 1.0, 3.0):
        x = algebra(G, np.random.default_rng(5), angle)
        with jax.enable_x64(True):
            jacobian, gradient = derivatives(jnp.asarray(x))
            close(jacobian, np.eye(G.dim), 1e-9)
            assert np.isfinite(gradient).all()
        dx = np.eye(G.dim)
        for i in range(G.dim):
            close(np.imag(G.log(G.exp(x + 1e-30j * dx[i]))) / 1e-30, dx[i], 1e-9)


@pytest.mark.parametrize("G", [g for g in GROUPS if 0 < g.dim < 7], ids=name)
def test_no_nan_in_casadi_jacobians(G):
    import casadi

    from fallingcat.arrays import from_casadi, to_casadi

    x = casadi.SX.sym("x", G.dim)
    y = to_casadi(G.log(G.exp(from_casadi(x))))
    jacobian = casadi.Function("J", [x], [casadi.jacobian(y, x)])
    close(np.array(jacobian(np.zeros(G.dim))), np.eye(G.dim))


def test_skew_is_the_cross_product():
    a, b = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])
    close(skew(a) @ b, np.cross(a, b), 0.0)


class Slow(np.ndarray):
    """Array whose numbers are not known to be plain floats."""


@given(rng=generators())
@pytest.mark.parametrize("length", [0.0, 1e-9, 1.0, 3.14159, np.pi])
def test_quaternions_of_plain_floats_have_the_bits_of_those_of_every_kind_of_number(length, rng):
    w = rng.normal(size=3)
    turn = np.asarray(rotations.exp(length * w / np.linalg.norm(w)))
    found, expected = (rotations.quaternion_from_matrix(R) for R in (turn, turn.view(Slow)))
    np.testing.assert_array_equal(found, np.asarray(expected))
