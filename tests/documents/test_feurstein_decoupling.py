"""[Feurstein] 3.1.3 to 3.3.4 and appendix A.1, A.3, number by number.

(3.62), (3.84), (3.94), the last block of Proposition 3.3.1, (A.4a) are misprinted; (3.51)-(3.54) are not in the text.
"""

from dataclasses import replace

import numpy as np
import pytest
from link_sums import link_jacobians, link_poses
from oracles.projected_newton_euler import mass_matrix_derivative
from printed import STEP, Printed, compared
from printed_robots import case

import fallingcat as fc
from fallingcat.lie import SE2, SE3, skew

PRINTED = Printed()
G = SE3()
Ad, ad, vee = G.Ad, G.ad, G.vee
RNG = np.random.default_rng(6)
MODEL = replace(case().model, gravity=np.zeros(3))
STATE, N = case().state, MODEL.n
C = case()._replace(model=MODEL, forces=fc.inverse_dynamics(MODEL, STATE, case().acceleration))
NU, QD, V = STATE.twist, STATE.rates, STATE.velocity
M, M_DOT = fc.mass_matrix(MODEL, STATE), fc.mass_matrix_derivative(MODEL, STATE)
MBB, MBQ, MQQ = M[:6, :6], M[:6, 6:], M[6:, 6:]
MBB_DOT, MBQ_DOT, MQQ_DOT = M_DOT[:6, :6], M_DOT[:6, 6:], M_DOT[6:, 6:]
PASSIVE, HAMEL = (fc.coriolis_matrix(MODEL, STATE, name) for name in ("passive", "hamel"))
POSES, JACOBIANS = link_poses(MODEL, STATE), link_jacobians(MODEL, STATE)
LINK = C.link
inv, solve, block, eye, zeros = np.linalg.inv, np.linalg.solve, np.block, np.eye, np.zeros
LINKS = []
for each in MODEL.links:
    rates_of = C.rate(lambda s, name=each.name: fc.jacobian(MODEL, s, name))
    own = JACOBIANS[each.name]
    LINKS.append((own[:, :6], own[:, 6:], rates_of[:, :6], rates_of[:, 6:], each.body.spatial_inertia, own @ V))
"""`A_jb`, `J_jq`, their rates, `Lambda_j`, `nu_j` of every link."""


def total(term):
    return sum(term(*link) for link in LINKS)


@PRINTED
def equivalence():
    """Lemmas 3.1 to 3.3, Proposition 3.1.1: (3.42)-(3.50), (3.55)-(3.59)."""
    H_jb = solve(POSES[LINK], STATE.pose)
    relative = lambda s: inv(fc.link_pose(MODEL, s, LINK)) @ s.pose  # noqa: E731
    H_dot, A = C.rate(relative), Ad(H_jb)
    A_dot = C.rate(lambda s: Ad(relative(s)))
    a_jb, a_bj = ad(vee(solve(H_jb, H_dot))), ad(vee(H_jb @ C.rate(lambda s: inv(relative(s)))))
    back_dot = C.rate(lambda s: inv(Ad(relative(s))))
    nu_j = fc.link_twist(MODEL, STATE, LINK)
    first = total(lambda a, j, da, dj, L, nu: a.T @ (L @ da @ NU + L @ dj @ QD - ad(nu).T @ L @ nu))
    second = total(lambda a, j, da, dj, L, nu: j.T @ (L @ da @ NU + L @ dj @ QD - ad(nu).T @ L @ nu))
    by_q = [mass_matrix_derivative(MODEL, STATE, e) for e in eye(6 + N)[6:]]
    M_b_q = np.array([NU @ D[:6, :6] for D in by_q])
    M_bq_q = np.array([NU @ D[:6, 6:] for D in by_q])
    M_q_q = np.array([QD @ D[6:, 6:] for D in by_q])
    slopes = {k.name: C.slopes(lambda s, name=k.name: fc.jacobian(MODEL, s, name))[..., 6:] for k in MODEL.links}
    A_q = [np.einsum("aci,c->ai", slopes[k.name][:, :6], NU) for k in MODEL.links]
    J_q = [np.einsum("aci,c->ai", slopes[k.name][:, 6:], QD) for k in MODEL.links]
    last = MODEL.link_names.index(LINK)
    a, j, _, dj, _, _ = LINKS[last]
    parts = list(zip(A_q, J_q, LINKS, strict=True))
    third = total(lambda a, j, da, dj, L, nu: j.T @ (L @ da @ NU - ad(nu).T @ L @ a @ NU - ad(a @ NU).T @ L @ j @ QD))
    fourth = total(lambda a, j, da, dj, L, nu: j.T @ (L @ dj @ QD - ad(j @ QD).T @ L @ j @ QD))
    return {
        "(3.42)": [
            (A_dot, A @ a_jb),
            (back_dot, -a_jb @ inv(A)),
            (A @ a_jb, -a_bj @ A),
            (a_jb @ inv(A), -inv(A) @ a_bj),
            (ad(nu_j), A @ (ad(NU) - a_jb) @ inv(A)),
        ],
        "Lemma 3.1": (A_dot.T, a_jb.T @ A.T),
        "(3.43)": (PASSIVE[:6] @ V, first),
        "(3.44)": (HAMEL[:6, :6] @ NU, total(lambda a, j, da, dj, L, nu: a.T @ (L @ da - ad(nu).T @ L @ a) @ NU)),
        "(3.45)": (HAMEL[:6, 6:] @ QD, total(lambda a, j, da, dj, L, nu: a.T @ (L @ dj - ad(nu).T @ L @ j) @ QD)),
        "(3.46)": (HAMEL[:6] @ V, first),
        "(3.47)": [
            (A_q[last], np.stack([s @ NU for s in np.moveaxis(slopes[LINK][:, :6], -1, 0)], axis=1)),
            (J_q[last], np.stack([s @ QD for s in np.moveaxis(slopes[LINK][:, 6:], -1, 0)], axis=1)),
        ],
        "(3.48)": (M_b_q @ NU, sum(2.0 * x.T @ k[4] @ k[0] @ NU for x, _, k in parts)),
        "(3.49)": (M_bq_q @ QD, sum(y.T @ k[4] @ k[0] @ NU + x.T @ k[4] @ k[1] @ QD for x, y, k in parts)),
        "(3.50)": (M_q_q @ QD, sum(2.0 * y.T @ k[4] @ k[1] @ QD for _, y, k in parts)),
        "(3.55)": (J_q[last] - dj, ad(j @ QD) @ j),
        "Lemma 3.2": (J_q[last] - dj, ad(j @ QD) @ j),
        "(3.56)": (A_q[last], ad(a @ NU) @ j),
        "Lemma 3.3": (A_q[last], ad(a @ NU) @ j),
        "(3.57)": (MBQ_DOT.T @ NU - M_bq_q @ QD - 0.5 * M_b_q @ NU, third),
        "(3.58)": (MQQ_DOT @ QD - 0.5 * M_q_q @ QD, fourth),
        "(3.59)": (HAMEL[6:] @ V, second),
        "Proposition 3.1.1": (HAMEL @ V, PASSIVE @ V),
    }


@PRINTED
def conserved_quantities():
    """3.2: (3.60)-(3.69) but (3.62)."""
    free = C._replace(acceleration=fc.forward_dynamics(MODEL, STATE, zeros(6 + N)))
    h_b = MBB @ NU + MBQ @ QD
    to_link = lambda s: inv(fc.link_pose(MODEL, s, LINK)) @ s.pose  # noqa: E731
    A_cb = Ad(to_link(STATE))
    h_c = lambda s: inv(Ad(to_link(s))).T @ fc.momentum(MODEL, s)  # noqa: E731
    a_cb = ad(vee(solve(to_link(STATE), C.rate(to_link))))
    center = sum(k.body.mass * (POSES[k.name] @ np.append(k.body.center, 1.0))[:3] for k in MODEL.links) / MODEL.mass
    in_base = fc.center_of_mass(MODEL, STATE._replace(pose=eye(4)))
    shift = eye(4)
    shift[:3, :3], shift[:3, 3] = STATE.pose[:3, :3], STATE.pose[:3, 3] - center
    h_i = inv(Ad(STATE.pose)).T @ h_b
    return {
        "(3.60)": [
            (free.rate(h_c), inv(A_cb).T @ (ad(NU).T - a_cb.T) @ h_b),
            (fc.formulations.is_conserved(MODEL, STATE, LINK).rate, free.rate(h_c)),
        ],
        "Proposition 3.2.1": (C.rate(h_c), inv(A_cb).T @ (C.forces[:6] + (ad(NU).T - a_cb.T) @ h_b)),
        "(3.61)": (C.rate(lambda s: fc.momentum(MODEL, s, "world")), inv(Ad(STATE.pose)).T @ C.forces[:6]),
        "(3.63)": (fc.center_of_mass(MODEL, STATE), center),
        "(3.64)": (fc.center_of_mass(MODEL, STATE), STATE.pose[:3, 3] + STATE.pose[:3, :3] @ in_base),
        "(3.65)": (fc.momentum(MODEL, STATE), h_b),
        "(3.66)": (fc.locked_velocity(MODEL, STATE), NU + solve(MBB, MBQ @ QD)),
        "(3.67)": (fc.momentum(MODEL, STATE, "world"), h_i),
        "(3.68)": (
            fc.dynamics.average_velocity(MODEL, STATE, "world"),
            Ad(STATE.pose) @ fc.locked_velocity(MODEL, STATE),
        ),
        "(3.69)": (fc.momentum(MODEL, STATE, "centroidal"), inv(Ad(shift)).T @ h_b),
    }


@PRINTED
def orientation_of_the_locked_frame():
    """3.2.4: (3.70)-(3.76)."""
    single = fc.robots.random_tree(np.random.default_rng(3), 1, ["revolute"])
    q, h = 0.7, 1e-3
    T = lambda x: fc.connection(single, single.state(joints=[x]))[:, 0]  # noqa: E731
    frame = lambda x: fc.formulations.locked_frame(single, np.array([x]), np.zeros(1), tolerance=1e-11)  # noqa: E731
    slope = (8.0 * (frame(q + h) - frame(q - h)) - (frame(q + 2.0 * h) - frame(q - 2.0 * h))) / (12.0 * h)
    A = lambda s: fc.connection(MODEL, s)  # noqa: E731
    by_q = C.slopes(A)[..., 6:]
    T_hat = [G.hat(A(STATE)[:, i]) for i in range(N)]
    i, j = 0, 2
    brackets = G.hat(by_q[:, i, j] - by_q[:, j, i]) + T_hat[i] @ T_hat[j] - T_hat[j] @ T_hat[i]
    flat = fc.robots.random_tree(np.random.default_rng(1), 2, ["revolute"], base=SE2(), planar=True)
    there = case()._replace(model=flat, state=flat.random_state(RNG))
    slopes = there.slopes(lambda s: fc.connection(flat, s))[..., 3:]
    B, S = fc.connection(flat, there.state), np.array([[0.0, -1.0], [1.0, 0.0]])
    turn, slide = B[2], B[:2]
    plane = slopes[:2, 0, 1] - slopes[:2, 1, 0] + turn[0] * S @ slide[:, 1] - turn[1] * S @ slide[:, 0]
    F = fc.curvature(flat, there.state)
    hopper = fc.robots.revolute_hopper()
    x, w = np.polynomial.legendre.leggauss(30)
    omega = lambda q: fc.connection(hopper, hopper.state(joints=[q]))[2, 0]  # noqa: E731
    ends = 0.4, 1.9
    times = 0.5 * (x + 1.0)
    path = lambda t: ends[0] + (ends[1] - ends[0]) * t**2  # noqa: E731
    by_time = sum(0.5 * k * omega(path(t)) * (ends[1] - ends[0]) * 2.0 * t for t, k in zip(times, w, strict=True))
    straight = sum(
        0.5 * k * omega(ends[0] + (ends[1] - ends[0]) * t) * (ends[1] - ends[0]) for t, k in zip(times, w, strict=True)
    )
    angle = fc.formulations.locked_angle(hopper, np.array([ends[1]])) - fc.formulations.locked_angle(
        hopper, np.array([ends[0]])
    )
    return {
        "(3.70)": (vee(slope * 1.3 @ inv(frame(q))), T(q) * 1.3),
        "(3.71)": (slope, G.hat(T(q)) @ frame(q)),
        "(3.72)": (brackets, -G.hat(fc.curvature(MODEL, STATE)[:, i, j])),
        "(3.73)": (np.append(plane, slopes[2, 0, 1] - slopes[2, 1, 0]), -F[:, 0, 1]),
        "Lemma 3.4": (plane, -F[:2, 0, 1]),
        "(3.74)": (angle, by_time),
        "(3.75)": (angle, by_time),
        "(3.76)": (angle, straight),
    }


CONNECTION = solve(MBB, MBQ)
CONNECTION_DOT = C.rate(lambda s: fc.connection(MODEL, s))
TX, TY = eye(6) + 0.2 * RNG.normal(size=(6, 6)), eye(N) + 0.2 * RNG.normal(size=(N, N))
TX_DOT, TY_DOT = RNG.normal(size=(6, 6)), RNG.normal(size=(N, N))
CHANGE = fc.changes.decoupling(MODEL, STATE, Tx=TX, Ty=TY, Tx_dot=TX_DOT, Ty_dot=TY_DOT)
T = block([[TX, TX @ CONNECTION], [zeros((N, 6)), TY]])
T_DOT = block([[TX_DOT, TX_DOT @ CONNECTION + TX @ CONNECTION_DOT], [zeros((N, 6)), TY_DOT]])
BACK = block([[inv(TX), -CONNECTION @ inv(TY)], [zeros((N, 6)), inv(TY)]])


def changed(K):
    """(3.77) of a Coriolis matrix."""
    return inv(T).T @ K @ inv(T) - inv(T).T @ M @ inv(T) @ T_DOT @ inv(T)


@PRINTED
def decoupling():
    """3.3.1 to 3.3.3: (3.77)-(3.86) but (3.84); appendix A.1: (A.1)-(A.5) but (A.4a)."""
    hamel, passive = (fc.equations(MODEL, STATE, name).change(CHANGE) for name in ("hamel", "passive"))
    Txi, Tyi = inv(TX), inv(TY)
    K = HAMEL
    Cb, Cbq, Cqb, Cq = K[:6, :6], K[:6, 6:], K[6:, :6], K[6:, 6:]
    M_x, M_y = Txi.T @ MBB @ Txi, Tyi.T @ (MQQ - MBQ.T @ CONNECTION) @ Tyi
    diagonal = block([[M_x, zeros((6, N))], [zeros((N, 6)), M_y]])
    forces = inv(T).T @ C.forces
    C_x = Txi.T @ (MBB_DOT - ad(NU).T @ MBB - MBB @ Txi @ TX_DOT) @ Txi
    turn = total(lambda a, j, da, dj, L, nu: a.T @ L @ ad(nu) @ a)
    across = total(lambda a, j, da, dj, L, nu: a.T @ L @ ad(nu) @ j)
    terms = {
        "b": total(lambda a, j, da, dj, L, nu: a.T @ (L @ da - ad(nu).T @ L @ a + L @ ad(nu) @ a)),
        "bq": total(lambda a, j, da, dj, L, nu: a.T @ (L @ dj - ad(nu).T @ L @ j + L @ ad(nu) @ j)),
        "qb": total(lambda a, j, da, dj, L, nu: j.T @ (L @ da - ad(nu).T @ L @ a + L @ ad(nu) @ a)),
        "q": total(lambda a, j, da, dj, L, nu: j.T @ (L @ dj - ad(nu).T @ L @ j + L @ ad(nu) @ j)),
    }
    map_ = fc.changes.momentum_map(MODEL, STATE)
    kept = fc.equations(MODEL, STATE, "passive").change(map_)
    Mbb_inverse_dot = -solve(MBB, MBB_DOT) @ inv(MBB)
    A_5b = Txi.T @ (Cbq - Cb @ CONNECTION - MBB @ Mbb_inverse_dot @ MBQ - MBQ_DOT) @ Tyi
    for_A5b = PASSIVE  # of the Hamel matrix the block is zero
    Pb, Pbq = for_A5b[:6, :6], for_A5b[:6, 6:]
    A_5b_passive = Txi.T @ (Pbq - Pb @ CONNECTION - MBB @ Mbb_inverse_dot @ MBQ - MBQ_DOT) @ Tyi
    C_yx = Tyi.T @ (Cqb - CONNECTION.T @ Cb) @ Txi
    C_y = Tyi.T @ (Cq - Cqb @ CONNECTION + CONNECTION.T @ (Cb @ CONNECTION - Cbq)) @ Tyi - M_y @ TY_DOT @ Tyi
    return {
        "(3.77)": [(hamel.M, inv(T).T @ M @ inv(T)), (hamel.C, changed(HAMEL))],
        "(3.78)": (C.forces, T.T @ CHANGE.forces(C.forces)),
        "(3.79)": (inv(T).T @ M @ inv(T), diagonal),
        "(3.80)": [(CHANGE.T, T), (CHANGE.inverse, BACK)],
        "(3.81)": [
            (diagonal @ CHANGE.acceleration(C.acceleration, V) + hamel.C @ hamel.v, forces),
            (hamel.C[:6], np.hstack([C_x, zeros((6, N))])),
            (hamel.C[6:, :6], C_yx),
        ],
        "Proposition 3.3.1": [(hamel.M[:6, :6], M_x), (hamel.M[6:, 6:], M_y), (hamel.C[:6, :6], C_x)],
        "(3.82)": (PASSIVE, block([[terms["b"], terms["bq"]], [terms["qb"], terms["q"]]])),
        "(3.83)": [
            (PASSIVE[:6, :6], MBB_DOT - ad(NU).T @ MBB + turn),
            (PASSIVE[:6, :6], terms["b"]),
            (PASSIVE[:6, 6:], MBQ_DOT - ad(NU).T @ MBQ + across),
            (PASSIVE[6:, :6], terms["qb"]),
            (PASSIVE[6:, 6:], terms["q"]),
        ],
        "(3.85)": (kept.C[:6, :6] @ kept.v[:6], -kept.C[:6, 6:] @ kept.v[6:]),
        "(3.86)": (passive.C[:6, 6:], Txi.T @ (across - turn @ CONNECTION) @ Tyi),
        "Proposition 3.3.2": [
            (passive.C[:6, :6], Txi.T @ (MBB_DOT - ad(NU).T @ MBB - MBB @ Txi @ TX_DOT + turn) @ Txi),
            (passive.C[:6, 6:], Txi.T @ (across - turn @ CONNECTION) @ Tyi),
        ],
        "(A.1)": (M @ V, block([[MBB, MBQ], [MBQ.T, MQQ]]) @ V),
        "(A.2)": [
            (CHANGE.T, T),
            (CHANGE.T.T, block([[TX.T, zeros((6, N))], [CONNECTION.T @ TX.T, TY.T]])),
            (CHANGE.inverse, BACK),
        ],
        "(A.3)": (CHANGE.T_dot[:6, 6:], TX_DOT @ CONNECTION + TX @ (Mbb_inverse_dot @ MBQ + solve(MBB, MBQ_DOT))),
        "(A.4)": [(hamel.M[6:, 6:], M_y), (hamel.M[:6, :6], M_x)],
        "(A.5)": [
            (hamel.C[:6, :6], Txi.T @ (Cb - MBB @ Txi @ TX_DOT) @ Txi),
            (passive.C[:6, 6:], A_5b_passive),
            (eye(6) @ hamel.C[:6, 6:] + hamel.C[6:, :6].T, A_5b + C_yx.T),
            (hamel.C[6:, :6], C_yx),
            (hamel.C[6:, 6:], C_y),
        ],
    }


LARGE = case(5, 8)


@PRINTED
def internal_and_external():
    """3.3.4: (3.87)-(3.96)."""
    model, state = replace(LARGE.model, gravity=zeros(3)), LARGE.state
    c = LARGE._replace(model=model, forces=fc.inverse_dynamics(model, state, LARGE.acceleration))
    n, link = model.n, model.link_names[-1]
    MM = fc.mass_matrix(model, state)
    Mb, Mbq, Mq = MM[:6, :6], MM[:6, 6:], MM[6:, 6:]
    con = solve(Mb, Mbq)
    change = fc.changes.internal_external(model, state, link)
    there = fc.equations(model, state).change(change)
    A, B, D = change.T[:6, :6], change.T[:6, 6:], change.T[6:, 6:]
    a, b, low, d = RNG.normal(size=(6, 6)), RNG.normal(size=(6, n)), RNG.normal(size=(6, 6)), RNG.normal(size=(6, n))
    right = np.linalg.pinv
    S = d - low @ solve(a, b)
    upper = inv(a - b @ right(d) @ low)
    inverse = block([[upper, -solve(a, b) @ right(S)], [-right(d) @ low @ upper, right(S)]])
    simple = block([[inv(a), -solve(a, b) @ right(d)], [zeros((n, 6)), right(d)]])
    J_int = fc.formulations.internal_jacobian(model, state, link)
    shape = Mq - Mbq.T @ con
    passive = fc.equations(model, state, "passive").change(change)
    P, rates = fc.coriolis_matrix(model, state, "passive"), fc.mass_matrix_derivative(model, state)
    coupled = P[:6, 6:] + (rates[:6, :6] - P[:6, :6]) @ con - rates[:6, 6:]
    mine = (P[:6, :6] - Mb @ solve(A, change.T_dot[:6, :6])) @ (state.twist + con @ state.rates)
    tilted = fc.changes.internal_external(model, state, link, orientation="base")
    center = eye(4)
    center[:3, :3], center[:3, 3] = state.pose[:3, :3], state.pose[:3, 3] - fc.center_of_mass(model, state)
    v_dot = change.acceleration(c.acceleration, state.velocity)
    turned = np.kron(eye(2), state.pose[:3, :3].T)
    return {
        "(3.87)": (np.append(change.T[:6] @ state.velocity, J_int @ state.rates), change.T[:12] @ state.velocity),
        "(3.88)": (block([[a, b], [low, d]]) @ inverse + 1.0, eye(12) + 1.0),
        "(3.89)": (there.M @ v_dot + there.C @ there.v, change.forces(c.forces)),
        "(3.90)": (block([[a, b], [zeros((6, 6)), d]]) @ simple + 1.0, eye(12) + 1.0),
        "(3.91)": ((simple.T @ MM @ simple)[:6, 6:], inv(a).T @ (Mbq - Mb @ solve(a, b)) @ right(d)),
        "(3.92)": [(B, A @ con), (change.inverse, block([[inv(A), -con @ inv(D)], [zeros((n, 6)), inv(D)]]))],
        "(3.93)": (
            there.M,
            block([[inv(A).T @ Mb @ inv(A), zeros((6, n))], [zeros((n, 6)), inv(D).T @ shape @ inv(D)]]),
        ),
        "(3.94)": [
            (passive.C[:6, 6:] @ passive.v[6:], inv(A).T @ coupled @ state.rates),
            (inv(A).T @ (mine + coupled @ state.rates), passive.Mdot[:6, :6] @ passive.v[:6]),
        ],
        "(3.95)": (change.T[:6], np.hstack([Ad(center), Ad(center) @ con])),
        "(3.96)": [
            (change.T[:12], block([[Ad(center), Ad(center) @ con], [zeros((6, 6)), J_int]])),
            (change.inverse[:6, 6:12], -con @ change.inverse[6:, 6:12]),
            (J_int, fc.jacobian(model, state, link)[:, 6:] - fc.jacobian(model, state, link)[:, :6] @ con),
        ],
        "3.3.4 oriented frames": (tilted.T[:6], turned @ change.T[:6]),
    }


@PRINTED
def cross_products():
    """A.3: (A.6)."""
    x, y, z = RNG.normal(size=(3, 3))
    R = G.random(RNG)[:3, :3]
    K, K_dot = RNG.normal(size=(2, 4, 4))
    back_dot = np.imag(inv(K + 1j * STEP * K_dot)) / STEP
    return {
        "(A.6)": [
            (skew(x) @ y, np.cross(x, y)),
            (skew(x) @ y, -skew(y) @ x),
            (skew(x) @ skew(y) - skew(y) @ skew(x), skew(np.cross(x, y))),
            (np.cross(x, y) @ z, x @ np.cross(y, z)),
            (R @ np.cross(x, y), np.cross(R @ x, R @ y)),
            (R @ skew(x) @ R.T, skew(R @ x)),
            (back_dot @ K, -inv(K) @ K_dot),
        ]
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
