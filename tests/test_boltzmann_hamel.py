"""[From] Proposition 2.1, (26)-(27), (46) and section 5: any quasi-velocity, any Lie group."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from kinds import KINDS
from laws import GROUPS
from random_robots import rng_of, robots
from residuals import agree

import fallingcat as fc
from fallingcat.arrays import sin
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import SE2, SO2, Algebra, Product, Trivial
from fallingcat.lie.charts import EulerXYZ, EulerZYX
from fallingcat.single_body import body_coriolis_matrix, body_forces, boltzmann_hamel, coriolis_from_series

SIMPLE = [group for group in GROUPS if not isinstance(group, (Product, Trivial))]


@settings(max_examples=15)
@given(recipe=robots(largest=3, bases=(SE2(), SO2())))
def test_whole_robots_in_the_bodys_velocity(recipe):
    """The mass matrix as a function of coordinates and `S` of the base's chart give the library's own forces."""
    rng = rng_of(recipe)
    model = fc.robots.random_tree(rng, recipe.joints, ["revolute", "prismatic", "helical"], base=recipe.base, fixed=0.0)
    state = model.random_state(rng)
    q, v = model.flatten(state)

    def S(q):
        E = np.eye(model.nv) + 0.0 * q[0]
        if isinstance(model.base, SE2):  # body-fixed velocity of x, y and the angle
            c, s = np.cos(q[2]), np.sin(q[2])
            E[:2, :2] = [[c, s], [-s, c]]
        return E

    def at(q):
        return model.unflatten(q, v)

    found = boltzmann_hamel(
        S, lambda q: fc.mass_matrix(model, at(q)), q, v, lambda q: fc.potential_energy(model, at(q))
    )
    scale = max(1.0, float(np.abs(found.C).max() * np.abs(v).max()))
    agree("g", found.g, fc.gravity_forces(model, state), 1e-11)
    agree("C v + g", found.C @ v + found.g, fc.bias_forces(model, state), 1e-11, scale)
    a = rng.normal(size=model.nv)
    agree("forces", found.forces(a), fc.inverse_dynamics(model, state, a), 1e-10, scale)
    agree("and back", found.forward(found.forces(a)), a, max(1e-10, 1e-14 * np.linalg.cond(found.M)))


@pytest.mark.parametrize("group", SIMPLE, ids=str)
def test_on_every_group_it_is_minus_ad(group):
    """Proposition 5.1 at any point of the chart: the Coriolis forces do not know the coordinates."""
    rng = np.random.default_rng(1)
    L = rng.normal(size=(group.dim, group.dim))
    M, phi, v = L @ L.T, 0.3 * rng.normal(size=group.dim), rng.normal(size=group.dim)
    found = boltzmann_hamel(group.dexp_right, M, phi, v)
    agree("-ad(v)' M v", found.C @ v, -group.ad(v).T @ M @ v, 1e-11, scale=np.abs(M).max())
    # (46): gamma is made of structure constants
    agree("gamma", found.gamma, np.stack([-group.ad(e).T for e in np.eye(group.dim)]), 1e-11)


def lagrange(S, M, U, q, v, a, step=1e-4):
    """`S^-T (d/dt dL/dx' - dL/dx)` by differences of the Lagrangian in coordinates alone."""

    def energy(x, rate):
        w = S(x) @ rate
        return 0.5 * w @ (M(x) @ w) - U(x)

    one = np.eye(len(q))

    def gradient(f, x):
        return np.array([(f(x + step * e) - f(x - step * e)) / (2 * step) for e in one])

    rate = np.linalg.solve(S(q), v)
    S_dot = (S(q + step * rate) - S(q - step * rate)) / (2 * step)
    second = np.linalg.solve(S(q), a - S_dot @ rate)

    def momentum(t):
        return gradient(lambda r: energy(q + t * rate + 0.5 * t * t * second, r), rate + t * second)

    change = (momentum(step) - momentum(-step)) / (2 * step)
    return np.linalg.solve(S(q).T, change - gradient(lambda x: energy(x, rate), q))


def test_quasi_velocities_of_no_group():
    """A made-up S, inertia and potential, against Lagrange's equations by differences (the second oracle)."""
    rng = np.random.default_rng(5)
    X, Y, L = rng.normal(size=(3, 3, 3))

    def S(q):
        return np.eye(3) + 0.2 * np.array([[np.sin(q[1]), q[2] * q[0], 0], [0, np.cos(q[0]), q[1]], [q[2] ** 2, 0, 1]])

    def M(q):
        return L @ L.T + np.eye(3) * (2.0 + np.cos(q[0]) * q[1])

    def U(q):
        return np.sin(q @ X[0]) + 0.5 * q @ (Y @ Y.T) @ q

    q, v, a = rng.normal(size=(3, 3))
    found = boltzmann_hamel(S, M, q, v, U).forces(a)
    agree("Lagrange", found, lagrange(S, M, U, q, v, a), 1e-6, np.abs(found).max())


def test_coordinates_are_their_own_quasi_velocities():
    found = boltzmann_hamel(
        np.eye(2), lambda q: np.diag([1.0 + q[1] ** 2, 1.0]), np.array([0.3, 0.5]), np.array([2.0, 1.0])
    )
    agree("no gamma", found.gamma, np.zeros((2, 2, 2)), 0.0)
    agree("polar motion", found.C @ found.v, [2 * 0.5 * 2.0 * 1.0, -0.5 * 4.0])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_number(kind):
    M, q, v = np.diag([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5])

    def forces(q, v):
        S = (lambda q: EulerXYZ().rate_matrix(q)) if kind == "sympy" else (lambda q: EulerXYZ().rate_matrix(q, "body"))
        found = boltzmann_hamel(S, M, q, v, lambda q: sin(q[0]) * q[1])
        return found.C @ found.v + found.g

    agree(kind, KINDS[kind](forces, q, v), forces(q, v), 1e-13)


# algebras -----------------------------------------------------------------------------------------------------------


def rotations_of(n):
    """A basis of so(n)."""
    basis = []
    for i in range(n):
        for j in range(i):
            E = np.zeros((n, n))
            E[i, j], E[j, i] = 1.0, -1.0
            basis.append(E)
    return np.array(basis)


def test_a_rigid_body_in_four_dimensions():
    """[From] section 5 any Lie group: so(4), no subgroup of SE(3), `dL/dt = [L, W]`, `L = J W + W J` as matrices."""
    rng = np.random.default_rng(2)
    basis = rotations_of(4)
    so4 = Algebra.of_matrices(basis, "so(4)")
    J = np.diag(rng.uniform(1.0, 3.0, size=4))
    M = np.array([[0.5 * np.trace(a.T @ (J @ b + b @ J)) for b in basis] for a in basis])
    v = rng.normal(size=6)
    acceleration = np.linalg.solve(M, -body_forces(so4, M, v, np.zeros(6)))
    W, W_dot = (np.einsum("k,kij->ij", x, basis) for x in (v, acceleration))
    L, L_dot = (J @ X + X @ J for X in (W, W_dot))
    agree("dL/dt = [L, W]", L_dot, L @ W - W @ L, 1e-12)
    agree("no power", v @ (body_coriolis_matrix(so4, M, v) @ v), 0.0, 1e-12)
    agree("the series", coriolis_from_series(so4, M @ v), body_coriolis_matrix(so4, M, v), 1e-12)
    found = boltzmann_hamel(so4.dexp_right, M, 0.2 * rng.normal(size=6), v)
    agree("Boltzmann-Hamel", found.C @ v, body_coriolis_matrix(so4, M, v) @ v, 1e-10)


@pytest.mark.parametrize("group", SIMPLE, ids=str)
def test_algebras_of_groups_are_the_groups_own(group):
    rng = np.random.default_rng(3)
    own, x, h = Algebra.of(group), rng.normal(size=group.dim), rng.normal(size=group.dim)
    agree("ad", own.ad(x), group.ad(x), 1e-15)
    agree("adt", own.adt(h), group.adt(h), 1e-15)
    agree("ad(x)' h = adt(h) x", own.ad(x).T @ h, own.adt(h) @ x, 1e-14)
    agree("dexp", own.dexp_right(x), group.dexp_right(x), 1e-12)


def test_dexp_of_an_algebra_is_the_derivative_of_exp():
    """On so(4) matrices: `exp(-X) d exp(X)` by the complex step of the matrix exponential."""
    rng = np.random.default_rng(4)
    basis = rotations_of(4)
    so4, x, rate = Algebra.of_matrices(basis), 0.5 * rng.normal(size=6), rng.normal(size=6)
    X, D = (np.einsum("k,kij->ij", y, basis) for y in (x, rate))
    body = scipy.linalg.expm(-X) @ scipy.linalg.expm_frechet(X, D)[1]
    agree("dexp", np.einsum("k,kij->ij", so4.dexp_right(x) @ rate, basis), body, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_algebras_of_every_kind_of_number(kind):
    so4, v = Algebra.of_matrices(rotations_of(4)), np.arange(1.0, 7.0)
    M = np.diag(np.arange(2.0, 8.0))
    agree(
        kind, KINDS[kind](lambda v: body_coriolis_matrix(so4, M, v) @ v, v), body_coriolis_matrix(so4, M, v) @ v, 1e-12
    )


def test_what_is_refused():
    one = np.eye(3)
    with pytest.raises(NumericsError, match="S is singular here"):
        boltzmann_hamel(lambda q: EulerZYX().rate_matrix(q, "body"), one, [0.1, np.pi / 2, 0.3], one[0])
    with pytest.raises(ModelError, match=r"S\(q\) must have shape \(3, 3\)"):
        boltzmann_hamel(lambda q: q, one, one[0], one[0])
    with pytest.raises(ModelError, match=r"M must have shape \(3, 3\)"):
        boltzmann_hamel(one, np.eye(2), one[0], one[0])
    with pytest.raises(NumericsError, match="U is not finite here"):
        boltzmann_hamel(one, one, one[0], one[0], lambda q: np.nan)
    with pytest.raises(ModelError, match="U is a function of q"):
        boltzmann_hamel(one, one, one[0], one[0], 3.0)
    with pytest.raises(ModelError, match="q is a vector of coordinates"):
        boltzmann_hamel(one, one, 3.0, one[0])
    c = np.zeros((3, 3, 3))
    c[0, 1, 2] = 1.0
    with pytest.raises(ModelError, match="is not skew"):
        Algebra(c)
    c[0, 2, 1], c[1, 0, 1], c[1, 1, 0] = -1.0, 1.0, -1.0
    with pytest.raises(ModelError, match="breaks Jacobi's identity"):
        Algebra(c)
    with pytest.raises(ModelError, match="m x m x m"):
        Algebra(np.zeros((2, 3, 3)))
    with pytest.raises(ModelError, match="not closed under commutators"):
        Algebra.of_matrices(rotations_of(3)[:2])
    with pytest.raises(ModelError, match="a body has no inertia in so"):
        fc.single_body.body_inertia(Algebra.of_matrices(rotations_of(3), "so(3)"), np.eye(6))
