"""[Mishra] V-A and Appendices G, H: error dynamics and Lyapunov rate of the output feedback, equation by equation.

Matrices are sums over links (`oracles.reduced_sums`); every equation is held against (18) and the observer's own
definition, not against the equation before it.  Twists are linear first.
"""

from typing import NamedTuple

import numpy as np
import pytest
from oracles import reduced_sums as sums
from oracles.link_matrices import coriolis_matrix
from oracles.projected_newton_euler import mass_matrix, mass_matrix_derivative
from residuals import agree

import fallingcat as fc
from fallingcat.lie import SE3

G = SE3()
ad, adt = G.ad, G.adt

seeds = pytest.mark.parametrize("seed", range(3))


class Case(NamedTuple):
    """A tumbling robot, an observer that is off, and what the paper's formulas are made of."""

    model: fc.Model
    state: fc.State
    A: np.ndarray
    Mb: np.ndarray
    Lambda: np.ndarray
    mu: np.ndarray
    mu_e: np.ndarray
    eps: np.ndarray
    F_o: np.ndarray
    tau_c: np.ndarray
    k: float

    @property
    def qd(self):
        return self.state.rates

    @property
    def mu_o(self):
        """Of the observer, moved to the robot's frame."""
        return self.mu - self.mu_e

    def S(self, x):
        return sums.S(self.model, self.state, x)

    @property
    def P(self):
        return sums.P(self.model, self.state, self.qd)

    def B(self, x):
        return sums.B(self.model, self.state, x)

    @property
    def C(self):
        """Lemma 15."""
        return ad(self.mu).T @ self.Mb + adt(self.Mb @ self.mu) - ad(self.mu_e).T @ self.Mb

    @property
    def Gamma_1(self):
        return -0.5 * self.P + self.C - self.Mb @ ad(self.mu)

    @property
    def S_tilde(self):
        return -(0.5 * self.S(self.mu_e) + adt(self.Mb @ self.mu_e) @ self.A)

    @property
    def Gamma_2(self):
        return self.S(self.mu).T - self.A.T @ (self.C + adt(self.Mb @ self.mu_e))

    def Gamma_q(self, i):
        return sums.Gamma(self.model, self.state) + self.B(self.mu_e if i == 1 else self.mu)

    def locked(self, x):
        """The right side of (18), first row, without forces, at a locked velocity: what (42) inherits."""
        return -(0.5 * self.P - adt(self.Mb @ x)) @ x - (0.5 * self.S(x) + adt(self.Mb @ x) @ self.A) @ self.qd

    def feed(self, x):
        """`(S'/2 - A' ad~) x` of (18) and (45)."""
        return (0.5 * self.S(x).T - self.A.T @ adt(self.Mb @ x)) @ x

    def error_rate(self):
        """`d mu_e/dt` by (41), with `mu` from (18) and the observer (42), at `K = k 1`."""
        moved = np.linalg.solve(self.Mb, self.locked(self.mu_o) + self.F_o) - ad(self.k * self.eps) @ self.mu_o
        truth = np.linalg.solve(self.Mb, self.locked(self.mu))
        return truth - (moved + ad(self.mu) @ self.mu_e + ad(self.k * self.eps) @ self.mu_o)

    def joint_acceleration(self, i):
        """By (18), second row, under the law (45)."""
        compensation = -self.feed(self.mu_o) + (self.B(self.mu_o) @ self.qd if i == 1 else 0.0)
        forces = self.feed(self.mu) - (sums.Gamma(self.model, self.state) + self.B(self.mu)) @ self.qd
        return np.linalg.solve(self.Lambda, forces + self.tau_c + compensation)

    @property
    def H(self):
        return np.linalg.inv(G.dexp_right(self.eps))

    def potential_rate(self, i, slope):
        """`dW/dt` of (53) along (39), (41), (18): nothing of (44), (49) is used."""
        m = self.model.m
        M, M_dot = (
            f(self.model, self.state, *more)
            for f, more in (
                (mass_matrix, ()),
                (mass_matrix_derivative, (np.concatenate([np.zeros(m), self.qd]),)),
            )
        )
        A_dot = sums.connection_rate(self.model, self.state)
        Lambda_dot = M_dot[m:, m:] - M_dot[m:, :m] @ self.A - M[m:, :m] @ A_dot
        out = self.k * self.eps @ self.H @ (self.mu_e - self.k * self.eps)
        out += self.mu_e @ self.Mb @ self.error_rate() + 0.5 * self.mu_e @ M_dot[:m, :m] @ self.mu_e
        out += self.qd @ self.Lambda @ self.joint_acceleration(i) + 0.5 * self.qd @ Lambda_dot @ self.qd
        return out + slope @ self.qd


def case(seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 4, kinds=["revolute", "prismatic"])
    state = model.random_state(rng)
    A, Mb = sums.connection(model, state), sums.locked_inertia(model, state)
    draws = rng.normal(size=(3, 6))
    Lambda = sums.shape_inertia(model, state)
    return Case(model, state, A, Mb, Lambda, state.twist + A @ state.rates, *draws, rng.normal(size=model.n), 3.0)


@seeds
def test_velocity_error_dynamics(seed):
    """(42)-(44): the bracket of (43) is `C~ mu_e`, and (44) is the rate of the error."""
    c = case(seed)
    bracket = adt(c.Mb @ c.mu) @ c.mu - adt(c.Mb @ c.mu_o) @ c.mu_o - c.Mb @ ad(c.mu) @ c.mu_e
    agree("(43)", bracket, (c.C - c.Mb @ ad(c.mu)) @ c.mu_e, 1e-11)
    right = np.linalg.solve(c.Mb, c.Gamma_1 @ c.mu_e + c.S_tilde @ c.qd - c.F_o)
    agree("(44)", right, c.error_rate(), 1e-10)


@seeds
@pytest.mark.parametrize("i", [1, 2])
def test_shape_velocity_dynamics(seed, i):
    """(45)-(49): joint accelerations under either compensation."""
    c = case(seed)
    truth = c.joint_acceleration(i)
    quadratic = c.S(c.mu).T @ c.mu - c.S(c.mu_o).T @ c.mu_o
    gyroscopic = adt(c.Mb @ c.mu) @ c.mu - adt(c.Mb @ c.mu_o) @ c.mu_o
    rest = c.tau_c - c.Gamma_q(i) @ c.qd
    agree("(46)", np.linalg.solve(c.Lambda, rest + 0.5 * quadratic - c.A.T @ gyroscopic), truth, 1e-10)
    agree("(47)", (2.0 * c.S(c.mu).T - c.S(c.mu_e).T) @ c.mu_e, quadratic, 1e-10)
    agree("(48)", c.A.T @ c.C @ c.mu_e, c.A.T @ gyroscopic, 1e-10)
    agree("(49)", np.linalg.solve(c.Lambda, rest + (c.S_tilde.T + c.Gamma_2) @ c.mu_e), truth, 1e-10)


@seeds
@pytest.mark.parametrize("i", [1, 2])
def test_error_dynamics_as_one_system(seed, i):
    """(50): `dx/dt = A(x, mu) x + G(q) u`, block by block."""
    c = case(seed)
    n = c.model.n
    dq = np.linspace(-1.0, 1.0, n)
    x, u = np.concatenate([c.eps, c.mu_e, c.qd, dq]), np.concatenate([c.F_o, c.tau_c])
    Mi, Li, wide = np.linalg.inv(c.Mb), np.linalg.inv(c.Lambda), np.zeros((6, n))
    tall, square = wide.T, np.zeros((n, n))
    A = np.block(
        [
            [-c.k * c.H, c.H, wide, wide],
            [np.zeros((6, 6)), Mi @ c.Gamma_1, Mi @ c.S_tilde, wide],
            [tall, Li @ (c.S_tilde.T + c.Gamma_2), -Li @ c.Gamma_q(i), square],
            [tall, tall, np.eye(n), square],
        ]
    )
    inputs = np.block([[np.zeros((6, 6)), wide], [-Mi, wide], [tall, Li], [tall, square]])
    truth = np.concatenate([c.H @ (c.mu_e - c.k * c.eps), c.error_rate(), c.joint_acceleration(i), c.qd])
    agree("(50)", A @ x + inputs @ u, truth, 1e-10)


@seeds
@pytest.mark.parametrize("i", [1, 2])
def test_rate_of_the_lyapunov_function(seed, i):
    """(55)-(57), with (56) corrected, and on the way Lemma 16, (90), and Lemma 17, (91)."""
    c = case(seed)
    slope = np.linspace(0.5, -0.3, c.model.n)
    truth = c.potential_rate(i, slope)
    own = c.qd @ (c.tau_c + slope) - c.mu_e @ c.F_o
    pose = -(c.k**2) * c.eps @ c.H @ c.eps + c.k * c.eps @ c.H @ c.mu_e
    m = c.model.m
    M_dot = mass_matrix_derivative(c.model, c.state, np.concatenate([np.zeros(m), c.qd]))
    A_dot, M = sums.connection_rate(c.model, c.state), mass_matrix(c.model, c.state)
    Lambda_dot = M_dot[m:, m:] - M_dot[m:, :m] @ c.A - M[m:, :m] @ A_dot
    blocks = c.mu_e @ ((c.Gamma_1 + 0.5 * M_dot[:m, :m]) @ c.mu_e + c.S_tilde @ c.qd)
    blocks += c.qd @ ((c.S_tilde.T + c.Gamma_2) @ c.mu_e + (-c.Gamma_q(i) + 0.5 * Lambda_dot) @ c.qd)
    agree("(55)", pose + blocks + own, truth, 1e-10)
    agree("H eps = eps", c.H @ c.eps, c.eps, 1e-12)
    coupled = -(c.k**2) * c.eps @ c.eps + c.k * c.eps @ c.H @ c.mu_e
    agree("(56)", coupled + c.qd @ (c.Gamma_2 + 2.0 * c.S_tilde.T) @ c.mu_e + own, truth, 1e-10)
    turn = c.A @ c.qd
    sixteen = c.mu_e @ (c.P + c.Mb @ ad(turn) + ad(turn).T @ c.Mb) @ c.mu
    agree("(90)", sixteen, c.qd @ c.Gamma_2 @ c.mu_e, 1e-10)
    seventeen = c.mu_e @ (-c.P - 2.0 * ad(turn).T @ c.Mb) @ c.mu_e
    agree("(91)", seventeen, 2.0 * c.qd @ c.S_tilde.T @ c.mu_e, 1e-10)
    agree("(57)", coupled + sixteen + seventeen + own, truth, 1e-10)


@seeds
def test_expansions_of_the_changed_matrix(seed):
    """(81)-(88) but (83), which is misprinted: blocks of `L' (M dL/dt + C L)`, link by link."""
    c = case(seed)
    m, n, qd, mu = c.model.m, c.model.n, c.qd, c.mu
    M, A_dot = mass_matrix(c.model, c.state), sums.connection_rate(c.model, c.state)
    L = np.block([[np.eye(m), -c.A], [np.zeros((n, m)), np.eye(n)]])
    L_dot = np.zeros((m + n, m + n))
    L_dot[:m, m:] = -A_dot
    truth = L.T @ (M @ L_dot + coriolis_matrix(c.model, c.state, "newton_euler") @ L)
    found = dict.fromkeys(("81a", "81b", "81b'", "81c", "81d", "84", "85", "86", "86'", "87", "87'", "88"), 0.0)
    for k in sums.links(c.model, c.state):
        J, J_dot = k.J - k.Ad @ c.A, k.J_dot - k.Ad_dot @ c.A - k.Ad @ A_dot
        X, V, own = k.Ad @ mu, k.Ad @ mu + J @ qd, k.M @ ad(k.J @ qd)
        agree("(82)", ad(V).T @ k.M, (ad(X) + ad(J @ qd)).T @ k.M, 1e-11)
        found["81a"] += k.Ad.T @ (-ad(V).T @ k.M - own) @ k.Ad
        found["81b"] += k.Ad.T @ (-ad(V).T @ k.M @ J + k.M @ J_dot)
        found["81b'"] += k.Ad.T @ (-ad(V).T @ k.M + ad(J @ qd).T @ k.M) @ J
        found["81c"] += J.T @ (-ad(V).T @ k.M - own) @ k.Ad
        found["81d"] += J.T @ (-ad(V).T @ k.M @ J + k.M @ J_dot)
        found["84"] -= k.Ad.T @ (ad(X) + ad(J @ qd - k.J @ qd)).T @ k.M @ J
        front = -k.J.T @ ad(X).T + c.A.T @ k.Ad.T @ ad(X).T - J.T @ ad(J @ qd).T
        found["85"] += (front @ k.M - J.T @ own) @ k.Ad
        found["86"] += J.T @ (ad(J @ qd).T @ k.M + own) @ k.Ad @ mu  # B_1 of (24)
        found["86'"] += J.T @ (adt(k.M @ X) @ J - k.M @ ad(X) @ k.J) @ qd
        found["87"] += J.T @ (-ad(J @ qd).T @ k.M @ J + k.M @ J_dot) @ qd
        found["87'"] += J.T @ (-adt(k.M @ J @ qd) @ J + k.M @ J_dot) @ qd
        found["88"] += k.J.T @ ad(X).T @ k.M @ k.Ad @ mu
    parts = {"81a": truth[:m, :m], "81b": truth[:m, m:], "81b'": truth[:m, m:], "81c": truth[m:, :m]}
    parts |= {"81d": truth[m:, m:], "84": truth[:m, m:], "85": truth[m:, :m]}
    parts |= {"86": found["86'"], "87": found["87'"], "88": 0.5 * c.S(mu).T @ mu}
    size = float(np.abs(truth).max())
    for name, right in parts.items():
        agree(f"({name})", found[name], right, 1e-10, size)
