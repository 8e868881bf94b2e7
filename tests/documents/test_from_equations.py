"""[From], number by number; (49), (50), (79), (90), (103) are misprinted.  Its `ad~_p` is our `-adt(p)`."""

import math

import numpy as np
import pytest
from printed import STEP, Printed, compared, rate, slopes

import fallingcat as fc
from fallingcat.lie import R1, R2, R3, SE2, SE3, SO2, SO3, Helical, Schoenflies, skew
from fallingcat.single_body import (
    body_coriolis_matrix,
    body_forces,
    body_inertia,
    boltzmann_hamel,
    coriolis_from_series,
)

PRINTED = Printed()
RNG = np.random.default_rng(3)
GROUP = SE3()
MASSES, PLACES = RNG.uniform(0.2, 1.0, size=5), RNG.normal(size=(5, 3))
INERTIA = sum(
    m * P.T @ P for m, P in ((m, np.hstack([np.eye(3), -skew(x)])) for m, x in zip(MASSES, PLACES, strict=True))
)
DIAGONAL = np.diag([2.0, 2.0, 2.0, 0.3, 0.5, 0.7])
V, A = RNG.normal(size=(2, 6))
W, W_DOT = V[3:], A[3:]
cross, einsum = np.cross, np.einsum


def tilde(group, p):
    """`ad~_p` of the paper."""
    return -group.adt(p)


@PRINTED
def bodies():
    """Section 2.1: (1)-(11), forces by the library, in the frame of the principal axes and in any."""
    J = INERTIA[3:, 3:]
    torque = body_forces(SO3(), J, W, W_DOT)
    free = body_forces(SO3(), J, W, -np.linalg.solve(J, cross(W, J @ W)))
    (Ix, Iy, Iz), (p, q, r) = np.diag(DIAGONAL)[3:], W
    tau = body_forces(SO3(), DIAGONAL[3:, 3:], W, W_DOT)
    wrench = body_forces(GROUP, INERTIA, V, A)
    h, h_dot = slopes(lambda u: 0.5 * u @ INERTIA @ u, V), INERTIA @ A  # dK/dV and its rate
    v_hat, w_hat = skew(V[:3]), skew(W)
    return {
        "(1)": (J @ -np.linalg.solve(J, cross(W, J @ W)) + free, cross(J @ W, W)),
        "(2)": (Ix * W_DOT[0] - (Iy - Iz) * q * r, tau[0]),
        "(3)": (Iy * W_DOT[1] - (Iz - Ix) * r * p, tau[1]),
        "(4)": (Iz * W_DOT[2] - (Ix - Iy) * p * q, tau[2]),
        "(5)": [(torque, J @ W_DOT + body_coriolis_matrix(SO3(), J, W) @ W), (torque, J @ W_DOT + w_hat @ J @ W)],
        "(6)": (SO3().ad(W), np.array([[0, -r, q], [r, 0, -p], [-q, p, 0]])),
        "(7)": (wrench, h_dot - GROUP.ad(V).T @ h),
        "(8)": (GROUP.ad(V), np.block([[w_hat, v_hat], [np.zeros((3, 3)), w_hat]])),
        "(9)": (wrench[:3], h_dot[:3] + w_hat @ h[:3]),
        "(10)": (wrench[3:], h_dot[3:] + v_hat @ h[:3] + w_hat @ h[3:]),
        "(11)": [
            (wrench, INERTIA @ A + body_coriolis_matrix(GROUP, INERTIA, V) @ V),
            (wrench, INERTIA @ A - GROUP.ad(V).T @ INERTIA @ V),
        ],
    }


X, X_DOT, X_DDOT = RNG.normal(scale=0.5, size=6), *RNG.normal(size=(2, 6))
S = GROUP.dexp_right


def potential(x):
    return np.sin(x) @ np.arange(1.0, 7.0)


@PRINTED
def boltzmann_hamel_equations():
    """Section 2.2: (12)-(31), and gamma_k of section 3, (38)-(47)."""
    SX = S(X)
    back = np.linalg.inv(SX)
    v = SX @ X_DOT
    S_dot = rate(S, X, X_DOT)
    v_dot = SX @ X_DDOT + S_dot @ X_DOT
    L = lambda x, u: 0.5 * u @ INERTIA @ u - potential(x)  # noqa: E731
    L_bar = lambda x, x_dot: 0.5 * x_dot @ S(x).T @ INERTIA @ S(x) @ x_dot - potential(x)  # noqa: E731
    dS = slopes(S, X)  # [j, l, m] = dS_jl/dq_m
    by_x = slopes(lambda x: S(x) @ X_DOT, X)  # d(S xdot)/dx
    Mv = INERTIA @ v
    found = boltzmann_hamel(S, INERTIA, X, v, potential)
    tau = found.M @ v_dot + found.C @ v + found.g
    dL_bar_rate = rate(lambda y: S(y[:6]).T @ INERTIA @ S(y[:6]) @ y[6:], np.append(X, X_DOT), np.append(X_DOT, X_DDOT))
    dL_bar_x = slopes(lambda x: L_bar(x, X_DOT), X)
    slope = slopes(potential, X)
    body = np.linalg.solve(GROUP.exp(X), np.imag(GROUP.exp(X + 1j * STEP * X_DOT)) / STEP)
    one, two = einsum("li,jlm,mk->kij", back, dS, back), -einsum("li,jml,mk->kij", back, dS, back)
    bent = back.T @ (S_dot.T - by_x.T)
    series = sum(np.linalg.matrix_power(-GROUP.ad(X), k) / math.factorial(k + 1) for k in range(40))
    lagrange = S_dot.T @ Mv + SX.T @ INERTIA @ v_dot - (by_x.T @ Mv - slope)
    return {
        "(12)": (v, GROUP.vee(body)),
        "(13)": (L(X, v), L_bar(X, X_DOT)),
        "(14)": (slopes(lambda u: L(X, u), v), Mv),
        "(15)": (rate(lambda u: INERTIA @ u, v, v_dot), INERTIA @ v_dot),
        "(16)": (slopes(lambda x: L(x, v), X), -slope),
        "(17)": (L_bar(X, X_DOT), L(X, v)),
        "(18)": (dL_bar_rate - dL_bar_x, SX.T @ tau),
        "(19)": (slopes(lambda u: L_bar(X, u), X_DOT), SX.T @ Mv),
        "(20)": (dL_bar_rate, S_dot.T @ Mv + SX.T @ INERTIA @ v_dot),
        "(21)": (dL_bar_x, -slope + by_x.T @ Mv),
        "(22)": (dL_bar_rate - dL_bar_x, lagrange),
        "(23)": (lagrange, SX.T @ tau),
        "(24)": (v @ tau, X_DOT @ SX.T @ tau),
        "(25)": (L_bar(X, X_DOT), 0.5 * X_DOT @ SX.T @ INERTIA @ SX @ X_DOT - potential(X)),
        "(26)": (INERTIA @ v_dot + back.T @ slope + bent @ Mv, tau),
        "Proposition 2.1": (INERTIA @ v_dot + back.T @ slope + bent @ Mv, tau),
        "(27)": (INERTIA @ v_dot + back.T @ slope + einsum("kij,k->ij", found.gamma, v) @ Mv, tau),
        "(28)": (GROUP.vee(body), SX @ X_DOT),
        "(29)": (SX, series),
        "(34)": (SX, series),
        "(55)": (SX, series),
        "(100)": (SX, series),
        "(30)": (dL_bar_rate, S_dot.T @ Mv + SX.T @ INERTIA @ v_dot),
        "(31)": (dL_bar_x, -slope + by_x.T @ Mv),
        "(38)": (INERTIA @ v_dot + back.T @ slope + einsum("kij,k->ij", found.gamma, v) @ Mv, tau),
        "(39)": (einsum("kij,k->ij", found.gamma, v), back.T @ S_dot.T - back.T @ by_x.T),
        "(41)": (S_dot.T, einsum("jim,m->ij", dS, X_DOT)),
        "(42)": (einsum("kij,k->ij", one, v), back.T @ S_dot.T),
        "(43)": (by_x, einsum("lmi,m->li", dS, X_DOT)),
        "(44)": (by_x.T, einsum("lmi,m->il", dS, X_DOT)),
        "(45)": (einsum("kij,k->ij", two, v), -back.T @ by_x.T),
        "(46)": (found.gamma, one + two),
        "(47)": (found.gamma, einsum("li,jlm,mk->kij", back, dS, back) - einsum("li,jml,mk->kij", back, dS, back)),
    }


@PRINTED
def coriolis_matrix():
    """Section 2.3, the refuted one, and section 3: (32)-(37), (48)-(57), Proposition 3.1."""
    dS, back = slopes(S, np.zeros(6)), np.linalg.inv(S(np.zeros(6)))
    Mv = INERTIA @ V
    C = body_coriolis_matrix(GROUP, INERTIA, V)
    wrench = body_forces(GROUP, INERTIA, V, A)
    wrong = einsum("mi,jms,sk,k->ij", back, dS, back, Mv) - einsum("mi,jsm,sk,k->ij", back, dS, back, Mv)
    simple = einsum("jik,k->ij", dS, Mv) - einsum("jki,k->ij", dS, Mv)
    gamma = einsum("li,jlm,mk->kij", back, dS, back) - einsum("li,jml,mk->kij", back, dS, back)
    whole = einsum("li,slm,mj,s->ij", back, dS, back, Mv) - einsum("li,sml,mj,s->ij", back, dS, back, Mv)
    at_zero = einsum("kij,k->ij", dS, Mv) - einsum("kji,k->ij", dS, Mv)
    return {
        "(32)": (wrench, INERTIA @ A + C @ V),
        "(33)": (wrong, simple),
        "(35)": (simple, -GROUP.ad(Mv).T),
        "(36)": (wrong, -GROUP.ad(Mv).T),
        "(37)": (INERTIA @ A + wrong @ V, INERTIA @ A - GROUP.ad(Mv).T @ V),
        "(48)": (wrench, INERTIA @ A + C @ V),
        "(51)": (C, at_zero),
        "(52)": (einsum("kis,k,sj->ij", gamma, V, INERTIA) @ V, C @ V),
        "(53)": (einsum("kis,k,s->i", gamma, V, Mv), whole @ V),
        "(54)": (C, whole),
        "(56)": (whole, at_zero),
        "(57)": (coriolis_from_series(GROUP, Mv), at_zero),
        "Proposition 3.1": (C, at_zero),
    }


@PRINTED
def transformations():
    """Section 4: (58)-(61), Definitions 4.1, 4.2."""
    H = Schoenflies().selection
    u = RNG.normal(size=4)
    pose = GROUP.random(RNG)
    body = fc.robots.free_body()
    state = body.state(pose=pose, twist=V)
    spatial_inertia = body.links[0].body.spatial_inertia
    back = GROUP.Ad(np.linalg.inv(pose))
    spatial = fc.link_twist(body, state, body.link_names[0], "inertial")
    planar = body_inertia(Schoenflies(), INERTIA)
    return {
        "(58)": (GROUP.hat(H @ u), Schoenflies().hat(u)),
        "Definition 4.1": (np.imag(Schoenflies().exp(1j * STEP * u)) / STEP, GROUP.hat(H @ u)),
        "Definition 4.2": (H.T @ (H @ u), u),
        "(59)": (fc.dynamics.displace(body, state, X).pose, pose @ GROUP.exp(X)),
        "(60)": [
            (fc.kinetic_energy(body, state), 0.5 * V @ spatial_inertia @ V),
            (0.5 * (H @ u) @ INERTIA @ (H @ u), 0.5 * u @ planar @ u),
        ],
        "(61)": (fc.kinetic_energy(body, state), 0.5 * spatial @ back.T @ spatial_inertia @ back @ spatial),
    }


def sums(group, p):
    """`sum_k dS_ki/dphi_j p_k` and `sum_k dS_kj/dphi_i p_k` at zero."""
    dS = slopes(group.dexp_right, np.zeros(group.dim))
    return einsum("kij,k->ij", dS, p), einsum("kji,k->ij", dS, p)


@PRINTED
def rotations():
    """Section 4.1, SO(3): (62)-(71)."""
    group, phi = SO3(), RNG.normal(size=3)
    J = INERTIA[3:, 3:]
    h = J @ W
    a, b, c = phi
    series = sum(np.linalg.matrix_power(-skew(phi), k) / math.factorial(k + 1) for k in range(40))
    first, second = sums(group, h)
    torque = body_forces(group, J, W, W_DOT)
    return {
        "(62)": (group.selection, np.vstack([np.zeros((3, 3)), np.eye(3)])),
        "(63)": (body_inertia(group, DIAGONAL), DIAGONAL[3:, 3:]),
        "(64)": (group.dexp_right(phi), series),
        "(65)": (rate(group.dexp_right, np.zeros(3), phi), -0.5 * np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])),
        "(66)": (first, -0.5 * skew(h)),
        "(67)": (second, 0.5 * skew(h)),
        "(68)": (body_coriolis_matrix(group, J, W), -skew(h)),
        "(69)": (torque, J @ W_DOT - skew(h) @ W),
        "(70)": (torque, J @ W_DOT + skew(W) @ h),
        "(71)": (torque, J @ W_DOT - cross(h, W)),
    }


@PRINTED
def rigid_motions():
    """Section 4.2, SE(3): (72)-(76)."""
    p = RNG.normal(size=6)
    p1, p2, p3, p4, p5, p6 = p
    series = sum(np.linalg.matrix_power(-GROUP.ad(X), k) / math.factorial(k + 1) for k in range(40))
    table = [
        [0, 0, 0, 0, p3, -p2],
        [0, 0, 0, -p3, 0, p1],
        [0, 0, 0, p2, -p1, 0],
        [0, p3, -p2, 0, p6, -p5],
        [-p3, 0, p1, -p6, 0, p4],
        [p2, -p1, 0, p5, -p4, 0],
    ]
    h = INERTIA @ V
    wrench = body_forces(GROUP, INERTIA, V, A)
    return {
        "(72)": (GROUP.dexp_right(X), series),
        "(73)": (tilde(GROUP, p), np.array(table)),
        "(74)": (body_coriolis_matrix(GROUP, INERTIA, V), tilde(GROUP, h)),
        "(75)": (wrench, INERTIA @ A + tilde(GROUP, h) @ V),
        "(76)": (wrench, INERTIA @ A - GROUP.ad(V).T @ h),
    }


@PRINTED
def planar_motions():
    """Section 4.3, SE(2): (77)-(87) but (79)."""
    group = SE2()
    M, D = body_inertia(group, INERTIA), body_inertia(group, DIAGONAL)
    nu, a = RNG.normal(size=(2, 3))
    u, v, r = nu
    h = M @ nu
    first, second = sums(group, h)
    C, forces = body_coriolis_matrix(group, M, nu), body_forces(group, M, nu, a)
    m, Iz = D[0, 0], D[2, 2]
    explicit = D @ a - np.array([[0, r, 0], [-r, 0, 0], [v, -u, 0]]) @ (D @ nu)
    lines = [m * a[0] - m * r * v, m * a[1] + m * r * u, Iz * a[2]]
    selection = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]).T
    half = np.array([[0, 0, h[1]], [0, 0, -h[0]], [-h[1], h[0], 0]])
    hat = group.hat(nu)[np.ix_([0, 1, 3], [0, 1, 3])]
    return {
        "(77)": (group.selection, selection),
        "(78)": [
            (group.ad(nu), np.array([[0, -r, v], [r, 0, -u], [0, 0, 0]])),
            (hat, np.array([[0, -r, u], [r, 0, v], [0, 0, 0]])),
        ],
        "(80)": [(first, -0.5 * half), (first, 0.5 * tilde(group, h))],
        "(81)": [(second, 0.5 * half), (second, -0.5 * tilde(group, h))],
        "(82)": (C, tilde(group, h)),
        "(83)": (tilde(group, h), -half),
        "(84)": (forces, M @ a + tilde(group, h) @ nu),
        "(85)": (forces, M @ a - group.ad(nu).T @ h),
        "(86)": (body_forces(group, D, nu, a), explicit),
        "(87)": (explicit, np.array(lines)),
    }


@PRINTED
def schoenflies_motions():
    """Section 4.4: (88)-(96) but (90)."""
    group = Schoenflies()
    M, D = body_inertia(group, INERTIA), body_inertia(group, DIAGONAL)
    nu, a = RNG.normal(size=(2, 4))
    u, v, _, r = nu
    h = M @ nu
    first, second = sums(group, h)
    half = np.zeros((4, 4))
    half[0, 3], half[1, 3], half[3, 0], half[3, 1] = h[1], -h[0], -h[1], h[0]
    forces, m, Iz = body_forces(group, M, nu, a), D[0, 0], D[3, 3]
    ad = np.zeros((4, 4))
    ad[0, 1], ad[0, 3], ad[1, 0], ad[1, 3] = -r, v, r, -u
    lines = [m * a[0] - m * r * v, m * a[1] + m * r * u, m * a[2], Iz * a[3]]
    return {
        "(88)": (group.selection, np.eye(6)[:, [0, 1, 2, 5]]),
        "(89)": (group.ad(nu), ad),
        "(91)": [(first, -0.5 * half), (first, 0.5 * tilde(group, h))],
        "(92)": [(second, 0.5 * half), (second, -0.5 * tilde(group, h))],
        "(93)": (body_coriolis_matrix(group, M, nu), tilde(group, h)),
        "(94)": (forces, M @ a + tilde(group, h) @ nu),
        "(95)": (forces, M @ a - group.ad(nu).T @ h),
        "(96)": (body_forces(group, D, nu, a), np.array(lines)),
    }


def of_translations(p):
    """`V hat` of pure translations."""
    out = np.zeros((4, 4))
    out[: len(p), 3] = p
    return out


@PRINTED
def tables():
    """Tables 1 and 2, with the corrections of the errata; brackets that vanish are compared beside the identity."""
    u, v, w, p, q, r = V
    flat = np.ix_([0, 1, 3], [0, 1, 3])
    se3 = [[0, -r, q, u], [r, 0, -p, v], [-q, p, 0, w], [0, 0, 0, 0]]
    x_z = [[0, -r, 0, u], [r, 0, 0, v], [0, 0, 0, w], [0, 0, 0, 0]]
    groups = (SE3(), Schoenflies(), SE2(), SO3())
    twists = (V, V[[0, 1, 2, 5]], V[[0, 1, 5]], W)
    moments = [body_inertia(group, INERTIA) @ x for group, x in zip(groups, twists, strict=True)]
    abelian = (R3(), R2(), R1(), Helical(pitch=0.3), SO2())
    ones = [(np.eye(g.dim) + g.ad(np.ones(g.dim)), np.eye(g.dim)) for g in abelian]
    h, k, m, _ = moments
    x_tilde = [[0, 0, 0, -k[1]], [0, 0, 0, k[0]], [0, 0, 0, 0], [k[1], -k[0], 0, 0]]
    series = lambda g, x: sum(np.linalg.matrix_power(-g.ad(x), i) / math.factorial(i + 1) for i in range(40))  # noqa: E731
    return {
        "Table 1": [
            (SE3().hat(V), np.array(se3)),
            (Schoenflies().hat(twists[1]), np.array(x_z)),
            (R3().hat(V[:3]), of_translations(V[:3])),
            (SE2().hat(twists[2])[flat], np.array([[0, -r, u], [r, 0, v], [0, 0, 0]])),
            (SO3().hat(W)[:3, :3], skew(W)),
            (R2().hat(V[:2]), of_translations(V[:2])),
            (GROUP.ad(V), np.block([[skew(W), skew(V[:3])], [np.zeros((3, 3)), skew(W)]])),
            (SO3().ad(W), skew(W)),
            (tilde(SE3(), h), np.block([[np.zeros((3, 3)), -skew(h[:3])], [-skew(h[:3]), -skew(h[3:])]])),
            (tilde(Schoenflies(), k), np.array(x_tilde)),
            (tilde(SE2(), m), np.array([[0, 0, -m[1]], [0, 0, m[0]], [m[1], -m[0], 0]])),
            *ones,
        ],
        "Table 2": [
            *((g.dexp_right(x), series(g, x)) for g, x in zip(groups, twists, strict=True)),
            *((g.dexp_right(np.ones(g.dim)), np.eye(g.dim)) for g in abelian),
            *(
                (body_coriolis_matrix(g, body_inertia(g, INERTIA), x), tilde(g, n))
                for g, x, n in zip(groups, twists, moments, strict=True)
            ),
            (tilde(SO3(), moments[3]), -skew(moments[3])),
        ],
    }


@PRINTED
def theorem():
    """Section 5: (97)-(112) but (103), on a group of the user's dimension."""
    x, y = RNG.normal(size=(2, 6))
    h = INERTIA @ V
    first, second = sums(GROUP, x)
    dad = np.stack([GROUP.ad(e) for e in np.eye(6)], axis=-1)  # [i, k, j] = d(ad_v)_ik/dv_j
    mixed = 0.3 * dad + 0.7 * np.eye(6)[:, :, None] * np.ones(6)  # (99): an affine combination
    swapped = einsum("ikj,k->ij", dad, y)
    wrench, C = body_forces(GROUP, INERTIA, V, A), body_coriolis_matrix(GROUP, INERTIA, V)
    one, two = sums(GROUP, h)
    bracket = GROUP.hat(x) @ GROUP.hat(y) - GROUP.hat(y) @ GROUP.hat(x)
    return {
        "(97)": (einsum("ikj,j->ik", dad, x), GROUP.ad(x)),
        "Definition 5.1": (einsum("ikj,j->ik", dad, x), GROUP.ad(x)),
        "(98)": (GROUP.ad(x) @ y, swapped @ x),
        "Lemma 5.1": (GROUP.ad(x) @ y, swapped @ x),
        "(99)": (einsum("ikj,j->ik", mixed, x) @ y, einsum("ikj,k->ij", mixed, y) @ x),
        "Lemma 5.2": (einsum("ikj,j->ik", mixed, x) @ y, einsum("ikj,k->ij", mixed, y) @ x),
        "(101)": (first - second, 2.0 * first),
        "Lemma 5.3": (first - second, 2.0 * first),
        "(102)": (GROUP.ad(x) @ y, GROUP.vee(bracket)),
        "(104)": (wrench, INERTIA @ A + C @ V),
        "(105)": (C, one - two),
        "(106)": (wrench, INERTIA @ A + tilde(GROUP, h) @ V),
        "(107)": (wrench, INERTIA @ A - GROUP.ad(V).T @ INERTIA @ V),
        "(108)": (wrench, INERTIA @ A + tilde(GROUP, h) @ V),
        "Proposition 5.1": (GROUP.ad(V).T @ h, -tilde(GROUP, h) @ V),
        "(109)": (tilde(GROUP, h), one - two),
        "(110)": (GROUP.ad(V) @ h, einsum("ikj,k->ij", dad, h) @ V),
        "(111)": (GROUP.ad(V).T @ h, einsum("kij,k->ij", dad, h) @ V),
        "(112)": (rate(GROUP.dexp_right, np.zeros(6), x), -0.5 * GROUP.ad(x)),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
