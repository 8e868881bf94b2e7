"""Errata of [Traversaro], in its mixed velocities: origin and axes of the world, at the origin of a frame."""

from typing import NamedTuple

import numpy as np
import pytest
from link_sums import link_jacobians, link_poses
from misprints import misprint
from oracles.link_matrices import coriolis_matrix
from oracles.projected_newton_euler import bias_forces, gravity_forces, mass_matrix, mass_matrix_derivative
from residuals import agree, residual

import fallingcat as fc
from fallingcat.lie import SE3, skew

G = SE3()
STEP = 1e-30

seeds = pytest.mark.parametrize("seed", range(5))


class Robot(NamedTuple):
    """A random robot in motion: its equations in body-fixed velocities, and frames B and D in mixed ones."""

    model: fc.Model
    state: fc.State
    rng: np.random.Generator
    link: str

    @property
    def n(self):
        return self.model.n


def robot(seed):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, 4, kinds=["revolute", "prismatic"], branching=0.0)
    return Robot(model, model.random_state(rng), rng, model.link_names[-1])


def turned(R):
    """`diag(R, R)`."""
    return np.kron(np.eye(2), R)


def mixed_jacobian(r, link):
    """`J_{L,B}` of (9): mixed twist of a link from the mixed twist of the base and the rates."""
    body = link_jacobians(r.model, r.state)[link]
    body = body @ np.block([[turned(r.state.pose[:3, :3].T), np.zeros((6, r.n))], [np.zeros((r.n, 6)), np.eye(r.n)]])
    return turned(link_poses(r.model, r.state)[link][:3, :3]) @ body


def base_change(r):
    """`X` and `S` of (18)."""
    J = mixed_jacobian(r, r.link)
    return J[:, :6], J[:, 6:]


def mixed_mass(r):
    """`M_B` of (13)."""
    T = np.block([[turned(r.state.pose[:3, :3]), np.zeros((6, r.n))], [np.zeros((r.n, 6)), np.eye(r.n)]])
    return T @ mass_matrix(r.model, r.state) @ T.T


# section 2


@seeds
def test_names_of_the_trivializations(seed):
    """2.4: the inertial twist is called left-trivialized, `H^-1 dH/dt`; that one is the body-fixed twist."""
    rng = np.random.default_rng(seed)
    H, twist = G.random(rng), rng.normal(size=6)
    rate = H @ G.hat(twist)
    left, right = G.vee(np.linalg.solve(H, rate)), G.vee(rate @ np.linalg.inv(H))
    spin, speed = H[:3, :3] @ twist[3:], H[:3, :3] @ twist[:3]
    inertial = np.concatenate([speed - np.cross(spin, H[:3, 3]), spin])  # the three formulas of 2.4
    misprint("2.4", left, right, inertial)
    agree("body-fixed", left, turned(H[:3, :3].T) @ np.concatenate([speed, spin]))


@seeds
def test_velocity_and_force_transformations(seed):
    """2.2: `o_B` in the off-diagonal blocks of `X`, where `skew(o_B) R` belongs."""
    rng = np.random.default_rng(seed)
    H, twist, wrench = G.random(rng), *rng.normal(size=(2, 6))
    R, o = H[:3, :3], H[:3, 3]
    printed = np.block([[R, skew(o)], [np.zeros((3, 3)), R]])  # as well as a vector can be read in a block
    right = np.block([[R, skew(o) @ R], [np.zeros((3, 3)), R]])
    truth = G.vee(H @ G.hat(twist) @ np.linalg.inv(H))
    misprint("2.2, velocities", printed @ twist, right @ twist, truth)
    moved = np.block([[R, np.zeros((3, 3))], [skew(o) @ R, R]])
    agree("2.2, forces", (moved @ wrench) @ truth, wrench @ twist)


@seeds
def test_coriolis_matrix_of_a_body(seed):
    """(3): `m skew(c) skew(w)` and `skew(w) skew(c)`; a body of points needs `m w x (w x c)` and `w x I w`."""
    rng = np.random.default_rng(seed)
    masses, places = rng.uniform(0.1, 1.0, size=6), rng.normal(size=(6, 3))  # world axes, from the origin of L
    m, w = masses.sum(), rng.normal(size=3)
    c = masses @ places / m
    inertia = sum(k * skew(x) @ skew(x).T for k, x in zip(masses, places, strict=True))
    inward = masses[:, None] * np.cross(w, np.cross(w, places))
    truth = np.concatenate([inward.sum(axis=0), np.cross(places, inward).sum(axis=0)])
    printed = np.concatenate([m * skew(c) @ skew(w) @ w, skew(w) @ skew(c) @ w])
    right = np.concatenate([-m * skew(w) @ skew(c) @ w, skew(w) @ inertia @ w])
    misprint("(3), linear block", printed[:3], right[:3], truth[:3])
    misprint("(3), angular block", printed[3:], right[3:], truth[3:])


# section 4


@seeds
def test_external_joint_torques(seed):
    """Remark 3: `+S' X f` below the wrench; (20) has the minus, and powers agree only with it."""
    r = robot(seed)
    X, S = base_change(r)
    f, v, rates = r.rng.normal(size=6), r.rng.normal(size=6), r.rng.normal(size=r.n)
    moved = np.linalg.solve(X.T, f)
    power = (X @ v + S @ rates) @ moved
    misprint("Remark 3", power + rates @ S.T @ moved, power - rates @ S.T @ moved, f @ v)


@seeds
def test_forces_move_with_the_inverse_transpose(seed):
    """(20), (40) and Lemma 3's proof: `X_B` of velocities in the blocks where `X^B = X_B^-T` of forces belongs."""
    r = robot(seed)
    X, S = base_change(r)
    T = np.block([[X, S], [np.zeros((r.n, 6)), np.eye(r.n)]])
    printed, right = (np.block([[Y, np.zeros((6, r.n))], [-S.T @ Y, np.eye(r.n)]]) for Y in (X, np.linalg.inv(X).T))
    misprint("(20)", printed, right, np.linalg.inv(T).T)


# section 5


def centroidal(r, factorization):
    """`M_G`, `C_G`, `nu_G` from body-fixed equations: `v_G = X (v_b + A qd)`, `X = Ad_Gb`, G aligned with the world."""
    M, M_dot = mass_matrix(r.model, r.state), mass_matrix_derivative(r.model, r.state, r.state.velocity)
    A = np.linalg.solve(M[:6, :6], M[:6, 6:])
    A_dot = np.linalg.solve(M[:6, :6], M_dot[:6, 6:] - M_dot[:6, :6] @ A)
    H = r.state.pose
    weight = M[0, 0]
    arm = np.array([M[5, 1], M[3, 2], M[4, 0]]) / weight  # base to center, read off m skew(c) below the mass
    arm_dot = np.array([M_dot[5, 1], M_dot[3, 2], M_dot[4, 0]]) / weight
    to_center = np.block([[np.eye(3), -skew(arm)], [np.zeros((3, 3)), np.eye(3)]])
    rate = np.block([[np.zeros((3, 3)), -skew(arm_dot)], [np.zeros((3, 6))]])
    X = turned(H[:3, :3]) @ to_center
    X_dot = turned(H[:3, :3]) @ (turned(skew(r.state.twist[3:])) @ to_center + rate)
    T = np.block([[X, X @ A], [np.zeros((r.n, 6)), np.eye(r.n)]])
    T_dot = np.block([[X_dot, X_dot @ A + X @ A_dot], [np.zeros((r.n, 6 + r.n))]])
    back = np.linalg.inv(T)
    M_G = back.T @ M @ back
    C = coriolis_matrix(r.model, r.state, factorization)
    return M_G, back.T @ C @ back - M_G @ T_dot @ back, T @ r.state.velocity


@seeds
@pytest.mark.parametrize("factorization", ["passive", "coadjoint"])
def test_zero_blocks_of_the_centroidal_coriolis_matrix(seed, factorization):
    """Lemma 4.3, (44), (55): claimed for every C with `dM/dt - 2 C` skew; only `(C_G nu)_lin = 0` follows."""
    r = robot(seed)
    _, C, nu = centroidal(r, factorization)
    agree("(C_G nu)_lin = 0", (C @ nu)[:3], np.zeros(3))
    assert residual(C[:3], np.zeros((3, 6 + r.n))) > 1e-3
    _, C, _ = centroidal(r, "christoffel")
    agree("(44)", C[:3], np.zeros((3, 6 + r.n)))
    agree("(44)", C[:, :3], np.zeros((6 + r.n, 3)))


@seeds
def test_rate_of_the_centroidal_mass_matrix(seed):
    """(56): `C + C' = dM/dt / 2`; Property 2 says `dM/dt`."""
    r = robot(seed)
    _, C, _ = centroidal(r, "passive")
    M, M_dot = mass_matrix(r.model, r.state), mass_matrix_derivative(r.model, r.state, r.state.velocity)
    A = np.linalg.solve(M[:6, :6], M[:6, 6:])
    A_dot = np.linalg.solve(M[:6, :6], M_dot[:6, 6:] - M_dot[:6, :6] @ A)
    of_shape = M_dot[6:, 6:] - M_dot[6:, :6] @ A - M[6:, :6] @ A_dot  # dH_G/dt, the block of the joints
    total = (C + C.T)[6:, 6:]
    misprint("(56)", 0.5 * of_shape, of_shape, total)


@seeds
def test_coupling_block_before_it_vanishes(seed):
    """(52b): `X (S + F)`; a product of matrices has `X (I^C S + F)`."""
    r = robot(seed)
    M, X = mixed_mass(r), base_change(r)[0]
    locked, F = M[:6, :6], M[:6, 6:]
    S_BG = -np.linalg.solve(locked, F)  # (54)
    up = np.linalg.inv(X).T  # any X does: the block has to vanish
    misprint("(52b)", up @ (S_BG + F), up @ (locked @ S_BG + F), np.zeros((6, r.n)))


# section 6


@seeds
def test_jacobian_with_a_fixed_foot(seed):
    """(47e): `J_{L,F} F_T_B P'`; (21) gives `J_{L,B} B_T_F P'`."""
    r = robot(seed)
    X, S = base_change(r)  # F is the last link
    other = r.model.link_names[1]
    J_B = mixed_jacobian(r, other)
    T = np.block([[X, S], [np.zeros((r.n, 6)), np.eye(r.n)]])  # F_T_B
    J_F = J_B @ np.linalg.inv(T)
    rates = r.rng.normal(size=r.n)
    standing = np.concatenate([-np.linalg.solve(X, S @ rates), rates])  # the foot does not move
    misprint("(47e)", (J_F @ T)[:, 6:] @ rates, (J_B @ np.linalg.inv(T))[:, 6:] @ rates, J_B @ standing)


@seeds
def test_what_the_contact_wrench_inverts(seed):
    """Corollary 1: (48) inverts `J M^-1 J'`, not `J M J' = I^C`; its inverse is `I^C - F H^-1 F'`, regular too."""
    r = robot(seed)
    M = mixed_mass(r)
    locked, F, H = M[:6, :6], M[:6, 6:], M[6:, 6:]
    truth = np.linalg.inv(np.linalg.inv(M)[:6, :6])
    right = locked - F @ np.linalg.solve(H, F.T)
    misprint("Corollary 1", locked, right, truth)
    assert np.linalg.eigvalsh(right).min() > 0.0


@seeds
def test_acceleration_with_a_fixed_foot(seed):
    """(61): `M^-1 (C nu + G - ...)`; (10b) solved for the acceleration has the opposite sign, and (48) needs that."""
    r = robot(seed)
    M, bias = mass_matrix(r.model, r.state), bias_forces(r.model, r.state) + gravity_forces(r.model, r.state)
    f, tau = r.rng.normal(size=6), r.rng.normal(size=r.n)
    known = bias - np.concatenate([f, tau])
    truth = fc.forward_dynamics(r.model, r.state, np.concatenate([f, tau]))
    misprint("(61)", np.linalg.solve(M, known), -np.linalg.solve(M, known), truth)
