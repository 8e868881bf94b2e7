"""[From]'s theorem, proved by test on every group: the Coriolis matrix of one rigid body is -adt(M v)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import sympy
from hypothesis import given
from kinds import KINDS
from laws import GROUPS, algebra, generators, name

from fallingcat.errors import ModelError
from fallingcat.lie import R3, SE2, SE3, SO3, Product, Schoenflies, skew
from fallingcat.lie.rotations import block_diagonal
from fallingcat.single_body import body_coriolis_matrix, body_forces, body_inertia, coriolis_from_series

every_group = pytest.mark.parametrize("G", GROUPS, ids=name)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def points(rng, count=6):
    """A body as point masses: masses (kg), positions (m) in the body frame."""
    return rng.uniform(0.1, 1.0, size=count), rng.normal(size=(count, 3))


def spatial_inertia(masses, positions):
    """Sum of m P' P, where P = [1, -skew(x)] takes the body's twist to the velocity of the point x."""
    maps = [np.hstack([np.eye(3), -skew(x)]) for x in positions]
    return sum(m * P.T @ P for m, P in zip(masses, maps, strict=True))


def random_inertia(G, rng):
    """The inertia of a random body in G; in a product, of one body in each factor."""
    if isinstance(G, Product):
        return block_diagonal([random_inertia(f, rng) for f in G.factors])
    return body_inertia(G, spatial_inertia(*points(rng)))


def velocity_matrix(G, phi):
    """S of [From] (28)-(29) and its derivatives [k, i, j] = dS_ki/dphi_j, by complex steps through dexp_right."""
    steps = [np.imag(G.dexp_right(phi + 1e-30j * e)) / 1e-30 for e in np.eye(G.dim)]
    return np.real(G.dexp_right(phi)), np.reshape(steps, (G.dim,) * 3).transpose(1, 2, 0)


# the theorem


@every_group
@given(rng=generators())
def test_coriolis_matrix_is_minus_adt_of_the_momentum(G, rng):
    """[From] (57), (109): from the series of dexp, from its derivatives, and in closed form."""
    M, v = random_inertia(G, rng), algebra(G, rng)
    C = body_coriolis_matrix(G, M, v)
    _, dS = velocity_matrix(G, np.zeros(G.dim))
    half = np.einsum("kij,k->ij", dS, M @ v)
    close(C, half - half.T)
    close(C, 2.0 * half)  # Lemma 5.3, (101)
    close(C, coriolis_from_series(G, M @ v))
    close(C, -G.adt(M @ v), 0.0)


@every_group
@given(rng=generators())
def test_it_is_the_newton_euler_equation(G, rng):
    """[From] Proposition 5.1: (107) and (108) are the same; C is skew and does no work."""
    M, v, a = random_inertia(G, rng), algebra(G, rng), rng.normal(size=G.dim)
    C = body_coriolis_matrix(G, M, v)
    close(C @ v, -G.ad(v).T @ M @ v)
    close(body_forces(G, M, v, a), M @ a + C @ v)
    close(C, -C.T, 0.0)
    close(v @ C @ v, 0.0)


@every_group
@given(rng=generators())
def test_at_every_point_of_the_chart(G, rng):
    """[From] (54), the sums with S^-1, gives the same away from phi = 0: the chart leaves no trace."""
    M, v = random_inertia(G, rng), algebra(G, rng)
    S, dS = velocity_matrix(G, algebra(G, rng))
    inverse = np.linalg.inv(S)
    curl = np.einsum("slm,s->lm", dS - dS.transpose(0, 2, 1), M @ v)
    close(inverse.T @ curl @ inverse, body_coriolis_matrix(G, M, v), 1e-10)


@every_group
@given(rng=generators())
def test_boltzmann_hamel(G, rng):
    """[From] (26): S^-T (dS'/dt - d'(S phidot)/dphi) M v, at any phi."""
    M, phi, rate = random_inertia(G, rng), algebra(G, rng), rng.normal(size=G.dim)
    S, dS = velocity_matrix(G, phi)
    v = S @ rate
    bracket = np.einsum("kij,j->ki", dS, rate).T - np.einsum("kij,i->kj", dS, rate).T
    close(np.linalg.solve(S.T, bracket @ M @ v), body_coriolis_matrix(G, M, v) @ v, 1e-10)


def lagrange_forces(G):
    """S^-T (d/dt dL/dphidot - dL/dphi) by automatic differentiation of the motion of point masses; also v, dv/dt."""

    def position(phi, masses, positions):
        return positions @ G.exp(phi)[:3, :3].T + G.exp(phi)[:3, 3]

    def energy(phi, rate, masses, positions):
        _, velocities = jax.jvp(lambda p: position(p, masses, positions), (phi,), (rate,))
        return 0.5 * jnp.sum(masses[:, None] * velocities**2)

    def velocity(phi, rate):
        _, dg = jax.jvp(G.exp, (phi,), (rate,))
        return G.vee(G.inverse(G.exp(phi)) @ dg)

    @jax.jit
    def forces(phi, rate, second, masses, positions):
        momentum = jax.grad(energy, argnums=1)
        _, momentum_rate = jax.jvp(lambda p, r: momentum(p, r, masses, positions), (phi, rate), (rate, second))
        v, acceleration = jax.jvp(velocity, (phi, rate), (rate, second))
        S = jax.jacfwd(velocity, argnums=1)(phi, rate)
        raw = momentum_rate - jax.grad(energy)(phi, rate, masses, positions)
        return jnp.linalg.solve(S.T, raw), v, acceleration

    return forces


@pytest.mark.parametrize(
    "G",
    [
        pytest.param(G, marks=pytest.mark.slow if name(G) in ("SE(2)", "X(z)") else ())  # SE(3) holds both
        for G in GROUPS
        if G.dim and not isinstance(G, Product)
    ],
    ids=name,
)
def test_lagrange_equations_of_point_masses(G):
    """An oracle that knows no ad, no dexp and no inertia matrix: only exp, masses and Lagrange's equations."""
    with jax.enable_x64(True):
        oracle = lagrange_forces(G)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            body, phi = points(rng), algebra(G, rng)
            rate, second = rng.normal(size=(2, G.dim))
            forces, v, acceleration = (np.asarray(x) for x in oracle(phi, rate, second, *body))
            close(body_forces(G, body_inertia(G, spatial_inertia(*body)), v, acceleration), forces, 1e-10)


# the equations that [From] writes out


def explicit(G, letters):
    """The velocities as SymPy symbols, and the forces of a body with diagonal inertia that does not accelerate."""
    v = np.array(sympy.symbols(letters), dtype=object)
    M = body_inertia(G, np.diag(np.array([m, m, m, Ix, Iy, Iz], dtype=object)))
    return *v, body_forces(G, M, v, np.zeros(G.dim))


def same(left, right):
    assert [sympy.simplify(a - b) for a, b in zip(left, right, strict=True)] == [0] * len(left)


m, Ix, Iy, Iz = sympy.symbols("m I_x I_y I_z", positive=True)


def test_explicit_equations_of_so3():
    """[From] (2)-(4)."""
    p, q, r, tau = explicit(SO3(), "p q r")
    same(tau, [-(Iy - Iz) * q * r, -(Iz - Ix) * r * p, -(Ix - Iy) * p * q])


def test_explicit_equations_of_se3():
    """[From], the six after (76); in the last one `I_y r q` is printed where `I_y q p` belongs, as (4) shows."""
    u, v, w, p, q, r, tau = explicit(SE3(), "u v w p q r")
    linear = [-m * r * v + m * q * w, m * r * u - m * p * w, -m * q * u + m * p * v]
    angular = [-Iy * r * q + Iz * q * r, Ix * r * p - Iz * p * r, -Ix * q * p + Iy * q * p]
    same(tau, linear + angular)


def test_explicit_equations_of_se2():
    """[From] (87)."""
    u, v, r, tau = explicit(SE2(), "u v r")
    same(tau, [-m * r * v, m * r * u, 0])


def test_explicit_equations_of_the_schoenflies_group():
    """[From] (96)."""
    u, v, _, r, tau = explicit(Schoenflies(), "u v w r")
    same(tau, [-m * r * v, m * r * u, 0, 0])


def test_explicit_equations_of_translations():
    """[From] 4.5: nothing is left."""
    *_, tau = explicit(R3(), "u v w")
    same(tau, [0, 0, 0])


# every kind of number


@pytest.mark.parametrize("G", [G for G in GROUPS if G.dim], ids=name)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(G, kind):
    rng, on = np.random.default_rng(2), KINDS[kind]
    M, v, a = random_inertia(G, rng), algebra(G, rng), rng.normal(size=G.dim)
    for f, inputs in (
        (lambda M, v: body_coriolis_matrix(G, M, v), (M, v)),
        (lambda h: coriolis_from_series(G, h), (M @ v,)),
        (lambda M, v, a: body_forces(G, M, v, a), (M, v, a)),
    ):
        close(on(f, *inputs), f(*inputs), 1e-13)
    if not isinstance(G, Product):
        inertia = spatial_inertia(*points(rng))
        close(on(lambda matrix: body_inertia(G, matrix), inertia), body_inertia(G, inertia), 1e-13)


def test_a_product_is_not_one_body():
    with pytest.raises(ModelError, match="each factor has its own inertia"):
        body_inertia(GROUPS[-1], np.eye(6))


# the refutation of [From] 2.3: the formula (33)-(37), C = -ad(M v)', has M in the wrong place


def refuted(G, M, v):
    """[From] (36): -ad(M v)', once published for -ad(v)' M."""
    return -G.ad(M @ v).T


@every_group
@given(rng=generators())
def test_refuted_matrix_is_what_33_gives(G, rng):
    """(33) at phi = 0 is (36), and with M outside, as (52) has it, it is Newton-Euler's -ad(v)' M."""
    M, v = random_inertia(G, rng), algebra(G, rng)
    _, dS = velocity_matrix(G, np.zeros(G.dim))
    close(np.einsum("jik,k->ij", dS, M @ v) - np.einsum("jki,k->ij", dS, M @ v), refuted(G, M, v))
    gamma_v = np.einsum("jik,k->ij", dS, v) - np.einsum("jki,k->ij", dS, v)
    close(gamma_v @ M, -G.ad(v).T @ M)


CENTERED = np.diag([2.0, 2.0, 2.0, 1.0, 2.0, 3.0])
OFFSET = spatial_inertia([1.0, 0.5, 0.7, 0.4], [[0.5, 0.0, 0.1], [-0.1, 0.6, 0.0], [0.2, 0.1, -0.5], [0.3, -0.2, 0.4]])
TWIST = np.array([0.3, -0.5, 0.4, 1.0, 1.0, 1.0])


def test_refuted_formula_on_so3_has_the_wrong_sign():
    """A momentum may pose as an angular velocity there, (M w) x w for w x (M w): only the sign is wrong."""
    G, M, w = SO3(), np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    close(body_coriolis_matrix(G, M, w) @ w, [1.0, -2.0, 1.0], 0.0)
    close(refuted(G, M, w) @ w, [-1.0, 2.0, -1.0], 0.0)
    close(refuted(G, 2.0 * np.eye(3), w) @ w, np.zeros(3), 0.0)  # a ball does not tell them apart


def test_refuted_formula_on_se3_is_no_force():
    """Its linear part is (angular momentum) x (velocity), in N m^2: in millimeters it means another force."""
    G, M, v = SE3(), CENTERED, TWIST
    close((body_coriolis_matrix(G, M, v) @ v)[:3], np.cross(v[3:], 2.0 * v[:3]))
    close((refuted(G, M, v) @ v)[:3], np.cross(M[3:, 3:] @ v[3:], v[:3]))
    to_mm = np.diag([1e3, 1e3, 1e3, 1.0, 1.0, 1.0])  # of twists; inertias and forces go with the inverse, energies stay
    M_mm, v_mm = np.linalg.inv(to_mm) @ M @ np.linalg.inv(to_mm), to_mm @ v
    close(to_mm @ body_coriolis_matrix(G, M_mm, v_mm) @ v_mm, body_coriolis_matrix(G, M, v) @ v)
    assert np.abs(to_mm @ refuted(G, M_mm, v_mm) @ v_mm - refuted(G, M, v) @ v).max() > 1.0


@given(rng=generators())
def test_refuted_formula_depends_on_the_body_frame(rng):
    """Forces go with Ad^-T into another frame of the same body; those of (36) do not."""
    G = SE3()
    M, v, X = random_inertia(G, rng), algebra(G, rng), G.Ad(G.inverse(G.random(rng)))
    moved, velocity = X.T @ M @ X, np.linalg.solve(X, v)
    close(body_coriolis_matrix(G, moved, velocity) @ velocity, X.T @ body_coriolis_matrix(G, M, v) @ v, 1e-10)
    assert np.abs(refuted(G, moved, velocity) @ velocity - X.T @ refuted(G, M, v) @ v).max() > 1e-6


def drift(G, M, v, coriolis):
    """How much the energy and the world's momentum Ad(g)^-T M v of a free body change (relative) in two seconds."""

    def rate(_, state):
        g, v = state[:16].reshape(4, 4), state[16:]
        return np.concatenate([(g @ G.hat(v)).ravel(), -np.linalg.solve(M, coriolis(G, M, v) @ v)])

    start = np.concatenate([np.eye(4).ravel(), v])
    flight = scipy.integrate.solve_ivp(rate, (0.0, 2.0), start, method="DOP853", rtol=1e-12, atol=1e-12)
    g, v_end = flight.y[:16, -1].reshape(4, 4), flight.y[16:, -1]
    momentum = np.linalg.solve(G.Ad(g).T, M @ v_end) - M @ v
    return abs(v_end @ M @ v_end / (v @ M @ v) - 1.0), np.linalg.norm(momentum) / np.linalg.norm(M @ v)


FREE_BODIES = {
    "SO(3)": (SO3(), CENTERED[3:, 3:], TWIST[3:]),
    "SE(2)": (SE2(), body_inertia(SE2(), OFFSET), TWIST[[0, 1, 5]]),
    "SE(3)": (SE3(), CENTERED, TWIST),
    "SE(3), center of mass elsewhere": (SE3(), OFFSET, TWIST),
}


@pytest.mark.parametrize("body", FREE_BODIES)
def test_a_free_body_keeps_its_energy_and_momentum(body):
    energy, momentum = drift(*FREE_BODIES[body], body_coriolis_matrix)
    assert max(energy, momentum) < 1e-9


@pytest.mark.parametrize("body", FREE_BODIES)
def test_refuted_formula_does_not_keep_them(body):
    """The momentum is never kept; the energy only where the center of mass is the origin, and so hides the mistake."""
    energy, momentum = drift(*FREE_BODIES[body], refuted)
    assert momentum > 0.1
    if body in ("SO(3)", "SE(3)"):
        assert energy < 1e-9
    else:
        assert energy > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_matrices_of_vectors_swap(seed):
    """[From] Definition 5.1, Lemmas 5.1-5.2, (97)-(99): `x_bar y = y_bar x`, `y_bar_ij = sum dx_bar_ik/dx_j y_k`."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 6))
    ad = SE3().ad
    slopes = np.stack([ad(e) for e in np.eye(6)], axis=-1)  # d x_bar_ik / d x_j, of the adjoint map and of others
    parts = [slopes, np.where(rng.random((4, 6, 6)) < 0.3, 1.0, 0.0)]
    for slope in (*parts, 2.0 * slopes - 0.7 * np.where(rng.random((6, 6, 6)) < 0.3, 1.0, 0.0)):  # (99)
        x_bar = np.einsum("ikj,j->ik", slope, x)
        y_bar = np.einsum("ikj,k->ij", slope, y)
        np.testing.assert_allclose(x_bar @ y, y_bar @ x, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ikj,k->ij", slopes, y), -ad(y), atol=1e-12)  # of the adjoint map
