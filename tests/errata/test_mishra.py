"""Errata of [Mishra], whose twists are read here with the linear part first."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg
from misprints import misprint
from oracles import reduced_sums as sums
from oracles.link_matrices import coriolis_matrix
from oracles.projected_newton_euler import mass_matrix, mass_matrix_derivative
from residuals import agree, residual

import fallingcat as fc
from fallingcat.lie import SE3

G = SE3()
ad, adt, Ad = G.ad, G.adt, G.Ad
STEP = 1e-30

seeds = pytest.mark.parametrize("seed", range(5))


class Robot(NamedTuple):
    """A random robot in motion, and what the paper's formulas are made of."""

    model: fc.Model
    state: fc.State
    rng: np.random.Generator
    A: np.ndarray
    Mb: np.ndarray
    mu: np.ndarray
    rates: np.ndarray

    def S(self, mu):
        return sums.S(self.model, self.state, mu)

    def P(self, rates):
        return sums.P(self.model, self.state, rates)

    def B(self, mu):
        return sums.B(self.model, self.state, mu)


def robot(seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 4, kinds=["revolute", "prismatic"])
    state = model.random_state(rng)
    A, Mb = sums.connection(model, state), sums.locked_inertia(model, state)
    return Robot(model, state, rng, A, Mb, state.twist + A @ state.rates, state.rates)


def shape_forces(r):
    """Rows of the joints of `Gamma xi`, (8), from the change of velocity itself: `L' (M dL/dt xi + C V)`."""
    m, n, M = r.model.m, r.model.n, mass_matrix(r.model, r.state)
    A_dot = sums.connection_rate(r.model, r.state)
    L = np.block([[np.eye(m), -r.A], [np.zeros((n, m)), np.eye(n)]])
    L_dot = np.block([[np.zeros((m, m)), -A_dot], [np.zeros((n, m + n))]])
    C = coriolis_matrix(r.model, r.state, "newton_euler")
    xi = np.concatenate([r.mu, r.rates])
    return (L.T @ (M @ L_dot @ xi + C @ r.state.velocity))[m:]


@seeds
def test_factors_one_half_of_the_shape_equation(seed):
    """(13): both `d<.,.>/dq` lack the 1/2 that (74) has."""
    r = robot(seed)
    m, n = r.model.m, r.model.n

    def blocks(direction):
        """Derivatives of `M_b` and `Lambda_q` along a displacement of the configuration."""
        M, dM = mass_matrix(r.model, r.state), mass_matrix_derivative(r.model, r.state, direction)
        dA = np.linalg.solve(r.Mb, dM[:m, m:] - dM[:m, :m] @ r.A)
        return dM[:m, :m], dM[m:, m:] - dM[m:, :m] @ r.A - M[m:, :m] @ dA

    slopes = [blocks(e) for e in np.eye(m + n)[m:]]
    of_shape = np.array([r.rates @ d @ r.rates for _, d in slopes])
    of_lock = np.array([r.mu @ d @ r.mu for d, _ in slopes])
    DA = sums.curvature(r.model, r.state, r.rates)
    rest = blocks(np.concatenate([np.zeros(m), r.rates]))[1] @ r.rates + DA.T @ r.Mb @ r.mu
    rest = rest + r.A.T @ ad(r.mu).T @ r.Mb @ r.mu
    misprint("(13)", rest - of_shape - of_lock, rest - 0.5 * of_shape - 0.5 * of_lock, shape_forces(r))


@seeds
def test_bracket_in_the_shape_forces(seed):
    """(74): `-A' ad(A qd)'` beside `-dA'`; the bracket of (73) and of Def. 5 has the other sign."""
    r = robot(seed)
    momentum = r.Mb @ r.mu
    plain = -np.einsum("kij,i->kj", fc.formulations.connection_exterior(r.model, r.state), r.rates).T @ momentum
    bracket = r.A.T @ ad(r.A @ r.rates).T @ momentum
    truth = -sums.curvature(r.model, r.state, r.rates).T @ momentum
    misprint("(74)", plain - bracket, plain + bracket, truth)


@seeds
def test_momentum_term_of_the_shape_forces(seed):
    """(26), Lemma 10: `A' ad(A qd)' M_b mu` where `A' ad(mu)' M_b mu` belongs, as in (24) and (13)."""
    r = robot(seed)
    rest = -0.5 * r.S(r.mu).T @ r.mu + (r.B(r.mu) + sums.Gamma(r.model, r.state)) @ r.rates
    printed, right = (rest + r.A.T @ ad(x).T @ r.Mb @ r.mu for x in (r.A @ r.rates, r.mu))
    misprint("(26)", printed, right, shape_forces(r))


@seeds
def test_curvature_block_in_another_frame(seed):
    """(34): `+B~` in the lower right block of `D_mu`; (18) has the minus."""
    r = robot(seed)
    X = Ad(G.random(r.rng))  # Ad_1c
    mu_c, A_c, M_c = np.linalg.solve(X, r.mu), np.linalg.solve(X, r.A), X.T @ r.Mb @ X
    row = 0.5 * (X.T @ r.S(X @ mu_c)).T @ mu_c - A_c.T @ adt(M_c @ mu_c) @ mu_c
    turn, left = r.B(X @ mu_c) @ r.rates, sums.Gamma(r.model, r.state) @ r.rates
    misprint("(34)", left - row - turn, left - row + turn, shape_forces(r))


@seeds
def test_transformed_gyroscopic_matrix(seed):
    """Prop. 4 and (33): `ad~` of `M_b mu_c`; a momentum is moved as `Ad' M_b mu`, so `M_b mu` (62b)."""
    r = robot(seed)
    X = Ad(G.random(r.rng))
    mu_c = np.linalg.solve(X, r.mu)
    truth = adt(X.T @ r.Mb @ X @ mu_c)
    misprint("Prop. 4", X.T @ adt(r.Mb @ mu_c) @ X, X.T @ adt(r.Mb @ r.mu) @ X, truth)


@seeds
def test_spatial_locked_inertia(seed):
    """Def. 4: `Ad' M_b Ad^-1`; (10) has `Ad^-T M_b Ad^-1`, the one whose energy is that of the body's twist."""
    r = robot(seed)
    X = Ad(r.state.pose)
    back = np.linalg.inv(X)
    spatial, other = X @ r.mu, r.rng.normal(size=6)
    truth = (back @ other) @ r.Mb @ r.mu
    misprint("Def. 4", other @ X.T @ r.Mb @ back @ spatial, other @ back.T @ r.Mb @ back @ spatial, truth)


@seeds
def test_curvature_in_another_frame(seed):
    """Appendix F5: `D A^c = M_c^-1 B_c'` lacks the minus of (35)."""
    r = robot(seed)
    X = Ad(G.random(r.rng))
    x = r.rng.normal(size=r.model.n)
    B_c, M_c = -sums.curvature(r.model, r.state, x).T @ r.Mb @ X, X.T @ r.Mb @ X
    truth = np.linalg.solve(X, np.einsum("aij,i->aj", fc.curvature(r.model, r.state), x))
    misprint("F5", np.linalg.solve(M_c, B_c.T), -np.linalg.solve(M_c, B_c.T), truth)


@seeds
def test_velocity_error_of_the_observer(seed):
    """(40): `+ad(mu_e - K eps) mu_o`; `d/dt Ad(eta^-1)` has the minus, and (41) is right."""
    rng = np.random.default_rng(seed)
    eta, mu, mu_dot, hat_mu, hat_mu_dot, K_eps = G.random(rng), *rng.normal(size=(5, 6))
    moved = np.linalg.inv(Ad(eta))
    mu_o = moved @ hat_mu
    mu_e = mu - mu_o
    X = mu_e - K_eps  # eta^-1 d eta/dt, (38)
    turned = np.imag(scipy.linalg.expm(-1j * STEP * ad(X))) / STEP  # d/dt of Ad(exp(-X t)), apart from eta
    truth = mu_dot - (turned @ mu_o + moved @ hat_mu_dot)
    printed, right = (mu_dot - (moved @ hat_mu_dot + s * ad(X) @ mu_o) for s in (1.0, -1.0))
    misprint("(40)", printed, right, truth)
    agree("(41)", mu_dot - (moved @ hat_mu_dot + ad(mu) @ mu_e + ad(K_eps) @ mu_o), truth)


@seeds
def test_virtual_force_in_the_lyapunov_rate(seed):
    """(56): `+mu_e' F_o`; (55) and (57) have the minus, which comes from (44)."""
    r = robot(seed)
    n, k = r.model.n, 3.0
    eps, mu_e, F_o = r.rng.normal(size=(3, 6))
    tau, slope = r.rng.normal(size=(2, n))
    H = np.linalg.inv(G.dexp_right(eps))
    rate = np.concatenate([np.zeros(r.model.m), r.rates])
    M_dot = mass_matrix_derivative(r.model, r.state, rate)
    A_dot = sums.connection_rate(r.model, r.state)
    m = r.model.m
    M_qb = mass_matrix(r.model, r.state)[m:, :m]
    Lambda_dot = M_dot[m:, m:] - M_dot[m:, :m] @ r.A - M_qb @ A_dot
    C = ad(r.mu).T @ r.Mb + adt(r.Mb @ r.mu) - ad(mu_e).T @ r.Mb  # Lemma 15
    Gamma_1 = -0.5 * r.P(r.rates) + C - r.Mb @ ad(r.mu)
    S_tilde = -(0.5 * r.S(mu_e) + adt(r.Mb @ mu_e) @ r.A)
    Gamma_2 = r.S(r.mu).T - r.A.T @ (C + adt(r.Mb @ mu_e))
    Gamma_q = sums.Gamma(r.model, r.state) + r.B(mu_e)
    truth = k * eps @ H @ (mu_e - k * eps)  # (53) with K = k 1, along (39), (44) and (49)
    truth += mu_e @ (Gamma_1 @ mu_e + S_tilde @ r.rates - F_o) + 0.5 * mu_e @ M_dot[:m, :m] @ mu_e
    truth += r.rates @ (tau - Gamma_q @ r.rates + (S_tilde.T + Gamma_2) @ mu_e + slope)
    truth += 0.5 * r.rates @ Lambda_dot @ r.rates
    rest = -(k**2) * eps @ eps + k * eps @ H @ mu_e + r.rates @ ((Gamma_2 + 2.0 * S_tilde.T) @ mu_e + tau + slope)
    misprint("(56)", rest + mu_e @ F_o, rest - mu_e @ F_o, truth)


@seeds
def test_base_block_of_the_changed_matrix(seed):
    """(83): `ad'` of `J~_k qd` beside `mu - A qd`, which subtracts `A qd` twice; `J_k qd`, as (82) says."""
    r = robot(seed)
    m = r.model.m
    truth = coriolis_matrix(r.model, r.state, "newton_euler")[:m, :m]  # L leaves the block of the base as it is

    def summed(rate_of):
        out = np.zeros((m, m))
        for k in sums.links(r.model, r.state):
            X = k.Ad @ (r.mu - r.A @ r.rates)
            out += k.Ad.T @ (-(ad(X) + ad(rate_of(k))).T @ k.M - k.M @ ad(k.J @ r.rates)) @ k.Ad
        return out

    misprint("(83)", summed(lambda k: (k.J - k.Ad @ r.A) @ r.rates), summed(lambda k: k.J @ r.rates), truth)
    agree("(22)", -ad(r.mu).T @ r.Mb + ad(r.A @ r.rates).T @ r.Mb + r.P(r.rates), truth)


@seeds
def test_skew_operator_of_lemma_15(seed):
    """(89): with `C` of Lemma 15 it is not skew; with `ad~` of `M V_e` in place of `ad(V_e)' M` it is."""
    rng = np.random.default_rng(seed)
    V, W = rng.normal(size=(2, 6))
    half = rng.normal(size=(6, 6))
    M = half @ half.T
    error = V - W
    rest = ad(V).T @ M + adt(M @ V)
    as_printed, as_meant = rest - ad(error).T @ M, rest - adt(M @ error)
    for C in (as_printed, as_meant):  # Lemma 15 itself holds with either
        agree("Lemma 15", C @ error, ad(V).T @ M @ V - ad(W).T @ M @ W)
    printed, right = (C - M @ ad(V) for C in (as_printed, as_meant))
    agree("(89)", right.T, -right)
    assert residual(printed.T, -printed) > 1e-3


@seeds
def test_skew_symmetry_of_lemma_2(seed):
    """Table I: a tick for Lemma 2; with `C` of (6), which the paper says is not skew, neither is `Gamma` of (8)."""
    r = robot(seed)
    m, n = r.model.m, r.model.n
    M, M_dot = mass_matrix(r.model, r.state), mass_matrix_derivative(r.model, r.state, r.state.velocity)
    L = np.block([[np.eye(m), -r.A], [np.zeros((n, m)), np.eye(n)]])
    L_dot = np.zeros((m + n, m + n))
    L_dot[:m, m:] = -sums.connection_rate(r.model, r.state)
    Lambda_dot = L_dot.T @ M @ L + L.T @ M_dot @ L + L.T @ M @ L_dot
    of_lemma_1, skew_one = (
        L.T @ (M @ L_dot + coriolis_matrix(r.model, r.state, name) @ L) for name in ("newton_euler", "coadjoint")
    )
    misprint("Table I", of_lemma_1 + of_lemma_1.T, skew_one + skew_one.T, Lambda_dot)
