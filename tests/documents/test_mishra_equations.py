"""[Mishra], number by number, with the linear part of twists first; in orbit, without gravity.

(13), (26), (34), (40), (56), (83), (89) are misprinted; (42)-(50), (55)-(57) and (81)-(91) stand in
`control/test_orbital_equations.py`, (22)-(25) and (63)-(68) in `formulations/test_lemmas.py`.
"""

from dataclasses import replace

import numpy as np
import pytest
from oracles import reduced_sums as sums
from printed import STEP, Printed, compared
from printed_robots import case

import fallingcat as fc
from fallingcat.control import OutputFeedback
from fallingcat.lie import SE3, SO2, skew
from fallingcat.single_body import body_forces

PRINTED = Printed()
G = SE3()
Ad, ad, adt = G.Ad, G.ad, G.adt
RNG = np.random.default_rng(4)
MODEL = replace(case().model, gravity=np.zeros(3))
STATE, N = case().state, MODEL.n
FORCES = RNG.normal(size=6 + N)
C = case()._replace(model=MODEL, acceleration=fc.forward_dynamics(MODEL, STATE, FORCES), forces=FORCES)
FREE = C._replace(acceleration=fc.forward_dynamics(MODEL, STATE, np.zeros(6 + N)))
LINKS = sums.links(MODEL, STATE)
M, V1, QD, V = fc.mass_matrix(MODEL, STATE), STATE.twist, STATE.rates, STATE.velocity
MB, MBQ, MQ = M[:6, :6], M[:6, 6:], M[6:, 6:]
A = np.linalg.solve(MB, MBQ)
MU = V1 + A @ QD
XI = np.append(MU, QD)
REL = fc.reduced_equations(MODEL, STATE)
L = np.block([[np.eye(6), -A], [np.zeros((N, 6)), np.eye(N)]])
L_DOT = np.zeros((6 + N, 6 + N))
L_DOT[:6, 6:] = -C.rate(lambda s: fc.connection(MODEL, s))
NEWTON = fc.coriolis_matrix(MODEL, STATE, "newton_euler")
x, y = RNG.normal(size=(2, 6))
p, q = RNG.normal(size=(2, N))


def P(z):
    return fc.formulations.locked_inertia_rate(MODEL, STATE, z)


def S(z):
    return fc.formulations.locked_inertia_slope(MODEL, STATE, z)


def curvature(direction):
    """`DA(direction, .)` (m x n)."""
    return np.einsum("kij,i->kj", fc.curvature(MODEL, STATE), direction)


def lamed(state):
    """`Lambda_q`."""
    return fc.reduced_equations(MODEL, state).Lq


def locked(state):
    return fc.reduced_equations(MODEL, state).Mb


@PRINTED
def bodies_and_chains():
    """II and III-A: (1)-(10) and the definitions; Appendix A: (60)-(62)."""
    link = C.link
    body = MODEL.links[-1].body.spatial_inertia
    g, pose = fc.link_pose(MODEL, STATE, link), G.random(RNG)
    J = Ad(np.linalg.inv(STATE.pose)).T @ (MB @ V1 + MBQ @ QD)
    spatial = np.linalg.inv(Ad(STATE.pose)).T @ MB @ np.linalg.inv(Ad(STATE.pose))
    T = [np.hstack([k.Ad, k.J]) for k in LINKS]
    T_dot = [np.hstack([k.Ad_dot, k.J_dot]) for k in LINKS]
    horizontal, vertical = np.append(-A @ QD, QD), np.append(MU, np.zeros(N))
    w, v = x[3:], x[:3]
    h = RNG.normal(size=6)
    Lambda = np.block([[MB, np.zeros((6, N))], [np.zeros((N, 6)), MQ - A.T @ MB @ A]])
    xi_dot = C.rate(lambda s: fc.reduced_equations(MODEL, s).xi)
    Gamma = L.T @ (M @ L_DOT + NEWTON @ L)
    forces = np.append(FORCES[:6], FORCES[6:] - A.T @ FORCES[:6])
    changed = fc.equations(MODEL, STATE, "newton_euler").change(fc.changes.locked(MODEL, STATE))
    zero = np.zeros((3, 3))
    return {
        "(1)": (C.rate(lambda s: fc.link_pose(MODEL, s, link)), g @ G.hat(fc.link_twist(MODEL, STATE, link))),
        "(2)": (body_forces(G, body, x, y), body @ y - ad(x).T @ body @ x),
        "(3)": (ad(x).T @ body @ y, adt(body @ y) @ x),
        "Property 1": (adt(body @ x), -adt(body @ x).T),
        "(4)": (M @ C.acceleration + NEWTON @ V, FORCES),
        "(5)": (M, sum(t.T @ k.M @ t for t, k in zip(T, LINKS, strict=True))),
        "(6)": (NEWTON, sum(t.T @ (-ad(t @ V).T @ k.M @ t + k.M @ d) for t, d, k in zip(T, T_dot, LINKS, strict=True))),
        "Lemma 1": (M, sum(t.T @ k.M @ t for t, k in zip(T, LINKS, strict=True))),
        "(7)": [
            (MB, sum(k.Ad.T @ k.M @ k.Ad for k in LINKS)),
            (MBQ, sum(k.Ad.T @ k.M @ k.J for k in LINKS)),
            (MQ, sum(k.J.T @ k.M @ k.J for k in LINKS)),
        ],
        "Def. 2": (fc.momentum(MODEL, STATE, "world"), J),
        "Def. 3": [(fc.locked_velocity(MODEL, STATE), V1 + A @ QD), (MU, np.linalg.solve(MB, Ad(STATE.pose).T @ J))],
        "(8)": [(Lambda @ xi_dot + Gamma @ XI, forces), (changed.C, Gamma), (Lambda, L.T @ M @ L)],
        "Lemma 2": (changed.M, L.T @ M @ L),
        "(9)": (C.rate(lambda s: s.pose), STATE.pose @ G.hat(MU - A @ QD)),
        "(10)": (np.linalg.solve(spatial, J), Ad(STATE.pose) @ np.hstack([np.eye(6), A]) @ V),
        "Def. 4": (fc.connection(MODEL, STATE), A),
        "Lemma 3": [(V, horizontal + vertical), (V @ M @ V, horizontal @ M @ horizontal + vertical @ M @ vertical)],
        "(60)": [
            (Ad(pose), np.block([[pose[:3, :3], skew(pose[:3, 3]) @ pose[:3, :3]], [zero, pose[:3, :3]]])),
            (ad(x), np.block([[skew(w), skew(v)], [zero, skew(w)]])),
            (G.hat(x)[:3], np.hstack([skew(w), v[:, None]])),
        ],
        "(61)": (adt(h), np.block([[zero, skew(h[:3])], [skew(h[:3]), skew(h[3:])]])),
        "(62)": [
            (Ad(pose) @ ad(x) @ np.linalg.inv(Ad(pose)), ad(Ad(pose) @ x)),
            (Ad(pose).T @ adt(body @ x) @ Ad(pose), adt(Ad(pose).T @ body @ x)),
        ],
        "Property 7": (Ad(pose) @ ad(x), ad(Ad(pose) @ x) @ Ad(pose)),
    }


@PRINTED
def geometric_mechanics():
    """III-B.2: Def. 5, (12), and Appendix D, (72)-(74)."""
    dA = fc.formulations.connection_exterior(MODEL, STATE)
    exterior = lambda a, b: np.einsum("kij,i,j->k", dA, a, b)  # noqa: E731
    by_shape = C.slopes(lambda s: fc.connection(MODEL, s))[..., 6:]
    twice = np.einsum("kji,i,j->k", by_shape, p, q) - np.einsum("kji,i,j->k", by_shape, q, p)
    mu_dot, M_dot = FREE.rate(lambda s: fc.locked_velocity(MODEL, s)), C.rate(locked)
    momentum = MB @ MU
    right = ad(MU).T @ momentum - ad(A @ QD).T @ momentum
    rate = FREE.rate(lambda s: locked(s) @ fc.locked_velocity(MODEL, s))
    qdd = FREE.acceleration[6:]
    of_shape = C.slopes(lambda s: QD @ lamed(s) @ QD)[6:]
    N_left = REL.Lq @ qdd + C.rate(lamed) @ QD - 0.5 * of_shape
    of_lock = C.slopes(lambda s: MU @ locked(s) @ MU)[6:]
    velocity = C.slopes(lambda s: np.linalg.solve(locked(s), momentum))[:, 6:]  # d(M_b^-1 p)/dq
    mu = np.linalg.solve(MB, momentum)
    seventy_three = exterior(QD, p) - ad(A @ QD) @ (A @ p) + 0.5 * velocity @ p + ad(mu) @ (A @ p)
    dA_qd = np.einsum("kij,i->kj", dA, QD)
    seventy_four = -(dA_qd.T + -A.T @ ad(A @ QD).T) @ momentum + 0.5 * of_lock - A.T @ ad(MU).T @ momentum
    return {
        "Def. 5": [(fc.curvature(MODEL, STATE, p, q), twice - ad(A @ p) @ (A @ q)), (exterior(p, q), twice)],
        "(12)": (MB @ mu_dot + M_dot @ MU, right),
        "Lemma 4": (N_left, -curvature(QD).T @ momentum + 0.5 * of_lock - A.T @ ad(MU).T @ momentum),
        "(72)": (rate @ x, momentum @ ad(-A @ QD + mu) @ x),
        "(73)": (N_left @ p, -momentum @ seventy_three),
        "(74)": (N_left @ p, p @ seventy_four),
    }


def abelian():
    """An arm on an axle, whose group is abelian, its closed gait, and `A dq` along it."""
    axle = fc.robots.random_tree(np.random.default_rng(1), 2, ("revolute",), base=SO2())
    gait = fc.planning.Circle(0.4, center=(0.5, -0.3))
    return axle, gait


@PRINTED
def stokes():
    """(11), (69)-(71): with an abelian group the area integral is exact."""
    axle, gait = abelian()
    found, guess = fc.planning.displacement(axle, gait), fc.planning.estimate(axle, gait)
    s = np.arange(128) / 128.0
    q, dq = (np.asarray(gait(s).q), np.asarray(gait(s).dq))
    along = np.array([fc.connection(axle, axle.state(joints=a)) @ b for a, b in zip(q, dq, strict=True)]).mean(axis=0)
    r, weights = np.polynomial.legendre.leggauss(12)
    r, weights = 0.2 * (r + 1.0), 0.2 * weights
    angles = 2.0 * np.pi * np.arange(24) / 24
    center = np.array([0.5, -0.3])
    area = sum(
        w
        * a
        * 2.0
        * np.pi
        / 24
        * fc.curvature(axle, axle.state(joints=center + a * np.array([np.cos(t), np.sin(t)])), [1.0, 0.0], [0.0, 1.0])
        for a, w in zip(r, weights, strict=True)
        for t in angles
    )
    spins = axle.state(joints=q[3], rates=dq[3])
    still = spins._replace(twist=-fc.connection(axle, spins) @ spins.rates)
    moved = fc.dynamics.displace(axle, still, 1j * STEP * still.velocity)
    return {
        "(11)": (guess.zeta, -area),
        "(69)": (np.imag(moved.pose) / STEP, still.pose @ axle.base.hat(-fc.connection(axle, still) @ still.rates)),
        "(70)": (found.pose, axle.base.exp(-along)),
        "(71)": (found.pose, axle.base.exp(-area)),
    }


@PRINTED
def reduced_equations():
    """IV: (14)-(36) but (22)-(26) and (34); Appendix E: (75)-(80)."""
    tilde = [(k, k.J - k.Ad @ A, k.J_dot - k.Ad_dot @ A + k.Ad @ L_DOT[:6, 6:]) for k in LINKS]
    xi_dot = C.rate(lambda s: fc.reduced_equations(MODEL, s).xi)
    forces = np.append(FORCES[:6], FORCES[6:] - A.T @ FORCES[:6])
    turn = adt(MB @ MU)
    D_q = np.block([[0.5 * P(QD), np.zeros((6, N))], [np.zeros((N, 6)), REL.Gamma]])
    D_mu = np.block([[turn, -0.5 * S(MU) - turn @ A], [0.5 * S(MU).T - A.T @ turn, -REL.B]])
    Gamma = sum(
        np.hstack([k.Ad, J]).T
        @ (-ad(k.Ad @ MU + J @ QD).T @ k.M @ np.hstack([k.Ad, J]) + k.M @ np.hstack([k.Ad_dot, J_dot]))
        for k, J, J_dot in tilde
    )
    changed = fc.equations(MODEL, STATE, "newton_euler").change(fc.changes.locked(MODEL, STATE))
    printed_P = -sum(k.Ad.T @ (ad(k.J @ p).T @ k.M + k.M @ ad(k.J @ p)) @ k.Ad for k in LINKS)
    printed_S = sum(k.J.T @ (ad(k.Ad @ x).T @ k.M + adt(k.M @ k.Ad @ x)) @ k.Ad for k in LINKS).T
    coupling = lambda mu, qd: S(mu) @ qd  # noqa: E731
    linear = np.stack([np.imag(coupling(MU + 1j * STEP * e, QD)) / STEP for e in np.eye(6)], axis=1)
    momentum = MB @ MU
    z_dot = C.rate(lambda s: locked(s) @ fc.locked_velocity(MODEL, s))
    world = C.rate(lambda s: np.linalg.inv(Ad(s.pose)).T @ locked(s) @ fc.locked_velocity(MODEL, s))
    nabla = [np.linalg.solve(k.M, sums.M_nabla(k.M, k.Ad @ MU)) for k in LINKS]
    big_B = sum(k.J.T @ (sums.M_nabla(k.M, k.J @ p) + 2.0 * k.M @ ad(k.J @ p)) @ k.Ad for k in LINKS)
    bare = big_B - S(A @ p).T + A.T @ P(p)
    whole = bare + A.T @ ad(A @ p).T @ MB
    by_shape = C.slopes(lambda s: x @ locked(s) @ y)[6:]
    one = sum(k.J.T @ ad(k.Ad @ x).T @ k.M @ k.Ad for k in LINKS)
    two = sum(k.J.T @ adt(k.M @ k.Ad @ x) @ k.Ad for k in LINKS)
    exchanged = sum(k.J.T @ ad(k.Ad @ y).T @ k.M @ k.Ad for k in LINKS) @ x
    last = fc.link_pose(MODEL, STATE, C.link)
    seen = C.slopes(lambda s: Ad(np.linalg.inv(fc.link_pose(MODEL, s, C.link)) @ s.pose) @ x)[:, 6:]
    J_last = fc.jacobian(MODEL, STATE, C.link)[:, 6:]
    there = Ad(np.linalg.inv(last) @ STATE.pose) @ x
    formula_B = -A.T @ turn @ A + S(MU).T @ A - A.T @ S(MU)
    return {
        "(14)": (
            fc.link_twist(MODEL, STATE, C.link),
            Ad(np.linalg.inv(last) @ STATE.pose) @ MU + fc.formulations.internal_jacobian(MODEL, STATE, C.link) @ QD,
        ),
        "(15)": [(P(p), printed_P), (P(QD), C.rate(locked))],
        "Lemma 6": (P(QD), C.rate(locked)),
        "(16)": [(S(x), printed_S), (S(MU).T @ MU, C.slopes(lambda s: MU @ locked(s) @ MU)[6:])],
        "Lemma 7": (S(x).T @ y, by_shape),
        "(17)": [
            (Ad(STATE.pose).T @ world, z_dot - ad(V1).T @ momentum),
            (z_dot - ad(V1).T @ momentum, z_dot - ad(MU).T @ momentum + ad(A @ QD).T @ momentum),
        ],
        "Lemma 8": (ad(A @ QD).T @ momentum, adt(momentum) @ A @ QD),
        "(18)": [(REL.D_q, D_q), (REL.D_mu, D_mu), (REL.Lambda @ xi_dot + D_q @ XI, D_mu @ XI + forces)],
        "Theorem 1": (REL.Lambda @ xi_dot + D_q @ XI, D_mu @ XI + forces),
        "(19)": [
            (REL.Lq, sum(k.J.T @ k.M @ k.J for k in LINKS) - A.T @ MB @ A),
            (REL.P, P(QD)),
            (REL.S, S(MU)),
            (REL.Gamma, sum(J.T @ (-adt(k.M @ J @ QD) @ J + k.M @ J_dot) for k, J, J_dot in tilde)),
            (REL.B, formula_B - sum(k.J.T @ k.M @ n @ k.J for k, n in zip(LINKS, nabla, strict=True))),
        ],
        "(20)": (
            np.array(nabla),
            np.array(
                [np.linalg.solve(k.M, ad(k.Ad @ MU).T @ k.M + adt(k.M @ k.Ad @ MU)) - ad(k.Ad @ MU) for k in LINKS]
            ),
        ),
        "(21)": (changed.C, Gamma),
        "(27)": [(S(x).T @ y, S(y).T @ x), (P(p) @ y, S(y) @ p)],
        "Property 2": [(S(x).T @ y, S(y).T @ x), (P(p) @ y, S(y) @ p)],
        "Corollary 1": (P(QD) @ MU, 0.5 * P(QD) @ MU + 0.5 * S(MU) @ QD),
        "(28)": (S(x).T @ x - S(y).T @ y, (2.0 * S(x).T - S(x - y).T) @ (x - y)),
        "(29)": [(linear, P(QD)), (REL.linearized_coupling(), np.hstack([P(QD), S(MU)]))],
        "(30)": [
            (C.rate(locked), P(QD)),
            (C.rate(lamed), REL.Gamma + REL.Gamma.T),
            (turn, -turn.T),
            (REL.B, -REL.B.T),
            (REL.D_mu, -REL.D_mu.T),
        ],
        "Property 3": (C.rate(lamed), REL.Gamma + REL.Gamma.T),
        "(35)": (fc.curvature(MODEL, STATE, p, q), -np.linalg.solve(MB, whole.T @ q)),
        "(36)": (-curvature(p).T @ MB, whole),
        "Theorem 2": (fc.curvature(MODEL, STATE, p, q), -np.linalg.solve(MB, whole.T @ q)),
        "Corollary 2": (fc.curvature(MODEL, STATE, p, q), -fc.curvature(MODEL, STATE, q, p)),
        "(75)": (seen, np.stack([-ad(J_last[:, j]) @ there for j in range(N)], axis=1)),
        "Lemma 13": (seen, ad(there) @ J_last),
        "(76)": (by_shape, (one + two) @ y),
        "(77)": (one @ y, by_shape - exchanged),
        "(78)": (two @ y, exchanged),
        "(79)": (by_shape, one @ y + exchanged),
        "Lemma 14": (S(x).T, one + two),
        "(80)": (fc.formulations.connection_exterior(MODEL, STATE, p, q), -np.linalg.solve(MB, bare.T @ q)),
        "(66)": [
            (M @ FREE.acceleration, -NEWTON @ V),
            (FREE.rate(lambda s: 1.0 + fc.kinetic_energy(MODEL, s)) + 1.0, 1.0),
        ],
        "Lemma 5": (changed.C, L.T @ (M @ L_DOT + NEWTON @ L)),
    }


@PRINTED
def another_frame():
    """IV-D.3: (31)-(33), Properties 4 to 6."""
    g_1c, V_1c = G.random(RNG), RNG.normal(size=6)
    X = Ad(g_1c)
    back = np.linalg.inv(X)
    there = REL.in_frame(g_1c, V_1c)
    mu_c, A_c, M_c = back @ MU, back @ A, X.T @ MB @ X
    P_c = X.T @ (0.5 * P(QD)) @ X + M_c @ ad(V_1c)
    turn, S_c = adt(M_c @ mu_c), X.T @ S(X @ mu_c)
    mu_dot = C.rate(lambda s: fc.locked_velocity(MODEL, s))
    mu_c_dot = back @ mu_dot - ad(V_1c) @ mu_c
    left = M_c @ mu_c_dot + P_c @ mu_c
    right = turn @ mu_c - (0.5 * S_c + turn @ A_c) @ QD + X.T @ FORCES[:6]
    return {
        "(31)": [(left, right), (there.D_q[:6, :6], P_c), (there.Mb, M_c), (there.A, A_c), (there.mu, mu_c)],
        "Property 4": [
            (turn, X.T @ adt(MB @ MU) @ X),
            (turn @ A_c, X.T @ adt(MB @ MU) @ A),
            (there.D_mu[:6, 6:], -0.5 * S_c - turn @ A_c),
        ],
        "(32)": [(A_c.T @ M_c @ A_c, A.T @ MB @ A), (A_c.T @ X.T @ FORCES[:6], A.T @ FORCES[:6])],
        "(33)": [
            (S_c.T @ mu_c, S(MU).T @ MU),
            (A_c.T @ turn @ mu_c, A.T @ adt(MB @ MU) @ MU),
            (there.B, REL.B),
        ],
        "Property 5": [
            (there.D_q[6:, 6:], REL.D_q[6:, 6:]),
            (there.D_mu[6:] @ there.xi, REL.D_mu[6:] @ REL.xi),
        ],
        "Property 6": (back @ curvature(p), -np.linalg.solve(M_c, (-curvature(p).T @ MB @ X).T)),
    }


@PRINTED
def output_feedback():
    """V-A: (37)-(39), (42), (45), (51)-(53), (58), with `K = k` and the library's `l = k`; V-B: (59)."""
    k = 3.0
    target = RNG.normal(size=N)
    law = OutputFeedback(7.0, 2.0, target=tuple(target), pose_gain=k, locked_gain=k)
    pose_hat, mu_hat = STATE.pose @ G.exp(0.4 * RNG.normal(size=6)), RNG.normal(size=6)
    memory = np.concatenate([pose_hat[:3].ravel(), mu_hat])
    law = law.with_memory(memory)
    rates = law.memory_rate(MODEL, 0.0, STATE)
    pose_dot, mu_hat_dot = np.vstack([rates[:12].reshape(3, 4), np.zeros(4)]), rates[12:18]
    eta = np.linalg.solve(pose_hat, STATE.pose)
    eps = G.log(eta)
    mu_o = np.linalg.solve(Ad(eta), mu_hat)
    mu_e = MU - mu_o
    later = np.linalg.inv(pose_hat + 1j * STEP * pose_dot) @ (STATE.pose @ (np.eye(4) + 1j * STEP * G.hat(V1)))
    H = np.linalg.inv(G.dexp_right(eps))
    F_o = k * H.T @ eps + P(QD) @ mu_o + ad(A @ QD).T @ MB @ mu_o + MB @ ad(A @ QD) @ mu_o
    drift = -(0.5 * P(QD) - adt(MB @ mu_o)) @ mu_o - (0.5 * S(mu_o) + adt(MB @ mu_o) @ A) @ QD
    moved = MB @ np.linalg.solve(Ad(eta), mu_hat_dot)
    plain, first, second = (
        replace(law, compensation=kind).with_memory(memory).forces(MODEL, 0.0, STATE, frozenset())[6:]
        for kind in ("none", "curvature", "locked")
    )
    feed = -(0.5 * S(mu_o).T - A.T @ adt(MB @ mu_o)) @ mu_o
    B_o = fc.reduced_equations(MODEL, STATE._replace(twist=mu_o - A @ QD)).B
    away = STATE.joints - target
    W = 0.5 * k * eps @ eps + 0.5 * mu_e @ MB @ mu_e + 0.5 * QD @ REL.Lq @ QD + 0.5 * 7.0 * away @ away
    errors = law.errors(MODEL, STATE)
    plane = fc.planning.Plane(RNG.normal(size=(N, 2)), RNG.normal(size=N))
    curve = fc.planning.Circle(0.5).embedded(plane.directions, plane.origin)
    return {
        "(37)": (pose_dot, pose_hat @ G.hat(mu_hat - Ad(eta) @ A @ QD + Ad(eta) @ (k * eps))),
        "(38)": (G.vee(np.linalg.solve(eta, np.imag(later) / STEP)), MU - np.linalg.solve(Ad(eta), mu_hat) - k * eps),
        "(39)": (np.imag(G.log(later)) / STEP, H @ (mu_e - k * eps)),
        "(42)": (moved, drift + F_o - MB @ ad(k * eps) @ mu_o),
        "(45)": [(first - plain, feed + B_o @ QD), (second - plain, feed)],
        "(51)": (moved - drift + MB @ ad(k * eps) @ mu_o, F_o),
        "(52)": (plain, -7.0 * away - 2.0 * QD),
        "(53)": (errors.W, W),
        "(58)": (errors.rate, -(k**2) * eps @ eps - QD @ (2.0 * QD)),
        "Lemma 11": [(errors.pose, eps), (errors.locked, mu_e)],
        "(59)": (
            np.asarray(curve(np.array([0.1])).q)[0],
            plane.origin + plane.directions @ (0.5 * np.array([np.cos(0.2 * np.pi), np.sin(0.2 * np.pi)])),
        ),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
