"""[Feurstein] 1 to 3.1, number by number; (2.16), (2.43)-(2.45), (2.53), (3.11) are misprinted."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from link_sums import link_jacobians, link_poses
from oracles.projected_newton_euler import mass_matrix_derivative
from printed import STEP, Printed, compared, rate
from printed_robots import case

import fallingcat as fc
from fallingcat.lie import SE3, SO3, skew

PRINTED = Printed()
G = SE3()
Ad, ad, hat, vee = G.Ad, G.ad, G.hat, G.vee
RNG = np.random.default_rng(5)
DOWN = 9.81
MODEL = replace(case().model, gravity=np.array([0.0, -DOWN, 0.0]))
STATE, N = case().state, MODEL.n
C = case()._replace(model=MODEL, forces=fc.inverse_dynamics(MODEL, STATE, case().acceleration))
A_DOT = C.acceleration
NU, QD, V = STATE.twist, STATE.rates, STATE.velocity
M, M_DOT = fc.mass_matrix(MODEL, STATE), fc.mass_matrix_derivative(MODEL, STATE)
MBB, MBQ, MQQ = M[:6, :6], M[:6, 6:], M[6:, 6:]
MBB_DOT, MBQ_DOT, MQQ_DOT = M_DOT[:6, :6], M_DOT[:6, 6:], M_DOT[6:, 6:]
CONNECTION = np.linalg.solve(MBB, MBQ)
PASSIVE, HAMEL = (fc.coriolis_matrix(MODEL, STATE, name) for name in ("passive", "hamel"))
GRAVITY = fc.gravity_forces(MODEL, STATE)
inv, solve, block, eye = np.linalg.inv, np.linalg.solve, np.block, np.eye


@PRINTED
def statement():
    """Chapter 1: (1.1)-(1.6)."""
    Tx, Ty = eye(6) + 0.1 * RNG.normal(size=(6, 6)), eye(N) + 0.1 * RNG.normal(size=(N, N))
    change = fc.changes.decoupling(MODEL, STATE, Tx=Tx, Ty=Ty)
    there = fc.equations(MODEL, STATE, "hamel").change(change)
    T = block([[Tx, Tx @ CONNECTION], [np.zeros((N, 6)), Ty]])
    diagonal = block([[there.M[:6, :6], np.zeros((6, N))], [np.zeros((N, 6)), there.M[6:, 6:]]])
    v_dot = change.acceleration(A_DOT, V)
    return {
        "(1.1)": (M_DOT, PASSIVE + PASSIVE.T),
        "(1.2)": (fc.kinetic_energy(MODEL, STATE), 0.5 * V @ M @ V),
        "(1.3)": (M @ A_DOT + HAMEL @ V, C.forces - GRAVITY),
        "(1.4)": (there.v, T @ V),
        "(1.5)": (diagonal @ v_dot + there.C @ there.v, change.forces(C.forces - GRAVITY)),
        "(1.6)": (C.rate(lambda s: fc.mass_matrix(MODEL, s)), PASSIVE + PASSIVE.T),
    }


def moving(H, nu):
    """A pose a moment later, with body velocity `nu`."""
    return H @ (eye(4) + 1j * STEP * hat(nu))


def dot(X):
    return np.imag(X) / STEP


XY, YZ = G.random(RNG), G.random(RNG)
NU_XY, NU_YZ, N1, N2 = RNG.normal(size=(4, 6))


@PRINTED
def groups_and_algebras():
    """2.1.1, 2.1.2, 2.1.4, 2.2.1: (2.1)-(2.18), (2.31)-(2.37) but (2.16)."""
    R, o, y = XY[:3, :3], XY[:3, 3], RNG.normal(size=3)
    later, next_ = moving(XY, NU_XY), moving(YZ, NU_YZ)
    XZ = XY @ YZ
    YX, ZY = inv(XY), inv(YZ)
    R_dot, o_dot, H_dot = dot(later)[:3, :3], dot(later)[:3, 3], dot(later)
    w, v = NU_XY[3:], NU_XY[:3]
    nu_xz = vee(solve(XZ, dot(later @ next_)))
    lie = hat(N2) @ hat(N1) - hat(N1) @ hat(N2)
    w1, v1, w2, v2 = skew(N1[3:]), N1[:3], skew(N2[3:]), N2[:3]
    top = np.hstack([R @ w1 @ R.T, (R @ v1 - R @ w1 @ R.T @ o)[:, None]])
    t = 0.3
    screw = np.zeros((4, 4))
    screw[:3, :3], screw[:3, 3] = skew(w), v
    inverse = eye(4)
    inverse[:3, :3], inverse[:3, 3] = R.T, -R.T @ o
    back_dot = dot(inv(later))
    block_ad = block([[skew(w), skew(v)], [np.zeros((3, 3)), skew(w)]])
    block_Ad = block([[R, skew(o) @ R], [np.zeros((3, 3)), R]])
    xz = Ad(ZY) @ NU_XY + NU_YZ
    return {
        "(2.1)": ((XY @ np.append(y, 1.0))[:3], R @ y + o),
        "(2.2)": [
            (inv(R), R.T),
            (inv(XY)[:3, :3], R.T),
            (XZ[:3, :3], R @ YZ[:3, :3]),
            (R_dot.T @ R, -R.T @ R_dot),
        ],
        "(2.3)": (G.inverse(XY), inverse),
        "(2.4)": [(YX @ XY + XY, eye(4) + XY), (G.compose(XY, YZ), XY @ YZ), (back_dot @ XY, -YX @ H_dot)],
        "(2.5)": (v, R.T @ o_dot),
        "(2.6)": (skew(w), R.T @ R_dot),
        "(2.7)": (hat(NU_XY), YX @ H_dot),
        "(2.8)": (H_dot[:3], np.hstack([R @ skew(w), o_dot[:, None]])),
        "(2.9)": (vee(hat(NU_XY)), np.append(v, w)),
        "(2.10)": [(hat(Ad(XY) @ N1), XY @ hat(N1) @ YX), (hat(Ad(XY) @ N1)[:3], top)],
        "Definition 2.1": (hat(Ad(XY) @ N1), XY @ hat(N1) @ YX),
        "(2.11)": [
            (hat(ad(N2) @ N1), lie),
            (hat(ad(N2) @ N1)[:3], np.hstack([w2 @ w1 - w1 @ w2, (w2 @ v1 - w1 @ v2)[:, None]])),
        ],
        "Definition 2.2": (hat(ad(N2) @ N1), lie),
        "(2.12)": (Ad(XZ), Ad(XY) @ Ad(YZ)),
        "Lemma 2.3": (Ad(XZ), Ad(XY) @ Ad(YZ)),
        "(2.13)": (nu_xz, xz),
        "Lemma 2.4": (nu_xz, Ad(ZY) @ NU_XY + NU_YZ),
        "(2.14)": (dot(Ad(later)), Ad(XY) @ ad(NU_XY)),
        "Lemma 2.5": (dot(Ad(later)), Ad(XY) @ ad(NU_XY)),
        "(2.15)": (inv(Ad(XY)), Ad(YX)),
        "Lemma 2.6": (inv(Ad(XY)), Ad(YX)),
        "(2.17)": (ad(N1) @ (N1 + N2), ad(N1) @ N2),
        "Lemma 2.8": (ad(N1) @ (N1 + N2), ad(N1) @ N2),
        "(2.18)": (ad(nu_xz), Ad(ZY) @ ad(NU_XY) @ inv(Ad(ZY)) + ad(NU_YZ)),
        "Lemma 2.9": (ad(nu_xz), Ad(ZY) @ ad(NU_XY) @ inv(Ad(ZY)) + ad(NU_YZ)),
        "(2.31)": (G.exp(t * NU_XY), scipy.linalg.expm(t * screw)),
        "(2.32)": (
            fc.dynamics.displace(MODEL, STATE, np.append(t * NU_XY, np.zeros(N))).pose,
            STATE.pose @ scipy.linalg.expm(t * screw),
        ),
        "(2.33)": (SO3().ad(w), np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])),
        "(2.34)": (Ad(XY), block_Ad),
        "Lemma 2.10": (Ad(XY) @ N1, vee(XY @ hat(N1) @ YX)),
        "(2.35)": (ad(NU_XY), block_ad),
        "Lemma 2.11": (ad(N2) @ N1, vee(lie)),
        "(2.36)": [
            (inv(Ad(XY)), Ad(YX)),
            (dot(Ad(later)), Ad(XY) @ ad(NU_XY)),
            (ad(NU_XY) @ (NU_XY + N1), ad(NU_XY) @ N1),
            (ad(NU_XY) @ N1, -ad(N1) @ NU_XY),
        ],
        "(2.37)": [
            (Ad(XZ), Ad(XY) @ Ad(YZ)),
            (nu_xz, xz),
            (ad(nu_xz), Ad(ZY) @ ad(NU_XY) @ inv(Ad(ZY)) + ad(NU_YZ)),
        ],
    }


POSES, JACOBIANS = link_poses(MODEL, STATE), link_jacobians(MODEL, STATE)
LINK = C.link
H_BJ = solve(STATE.pose, POSES[LINK])


def seen(state, link=LINK):
    """`H_bj`."""
    return inv(state.pose) @ fc.link_pose(MODEL, state, link)


@PRINTED
def link_twists():
    """2.1.3, 2.2.2: (2.19)-(2.30), (2.38)-(2.40), (2.47)-(2.48)."""
    A_jb = Ad(inv(H_BJ))
    nu_j, J = fc.link_twist(MODEL, STATE, LINK), fc.jacobian(MODEL, STATE, LINK)
    J_q = J[:, 6:]
    H_dot = C.rate(seen)
    by_q = C.slopes(seen)[..., 6:]
    hats = np.stack([solve(H_BJ, by_q[..., i]) for i in range(N)])
    R = H_BJ[:3, :3]
    columns = [np.append(R.T @ by_q[:3, 3, i], _vee3(R.T @ by_q[:3, :3, i])) for i in range(N)]
    product, chain = eye(4), []
    for joint, place in zip(MODEL.joints, MODEL.q_slices, strict=True):
        if joint.child in _path(LINK):
            chain.append((joint, STATE.joints[place], product))
            product = product @ joint.transform(STATE.joints[place])
    screws = {}
    for joint, q, before in chain:
        own = solve(joint.transform(q), rate(joint.transform, q, [1.0]))
        H_ji = inv(H_BJ) @ before @ joint.transform(q)
        screws[joint.name] = joint, own, H_ji, _column(joint), rate(joint.transform, q, [1.0]), joint.transform(q)
    turning = next(s for s in screws.values() if s[0].kind.name == "revolute")
    sliding = slider()
    R_ji, o_ji = turning[2][:3, :3], turning[2][:3, 3]
    spin = _vee3(turning[5][:3, :3].T @ turning[4][:3, :3])
    joint, pose, pose_dot, H_ji, column = sliding
    return {
        "(2.19)": (hat(nu_j), hat(A_jb @ NU) + solve(H_BJ, H_dot)),
        "(2.20)": (hat(J_q @ QD), solve(H_BJ, H_dot)),
        "(2.21)": (hat(J_q @ QD), inv(H_BJ) @ H_dot),
        "(2.22)": (hat(J_q @ QD), np.einsum("iab,i->ab", hats, QD)),
        "(2.23)": (np.stack([hat(J_q[:, i]) for i in range(N)]), hats),
        "(2.24)": (hat(nu_j), hat(A_jb @ NU) + np.einsum("iab,i->ab", hats, QD)),
        "(2.25)": (seen(STATE), product),
        "(2.26)": (vee(turning[1]), np.append(np.zeros(3), spin)),
        "(2.27)": (vee(solve(pose, pose_dot)), np.append(pose[:3, :3].T @ pose_dot[:3, 3], np.zeros(3))),
        "(2.28)": (
            np.stack([s[3] for s in screws.values()]),
            np.stack([Ad(s[2]) @ vee(s[1]) for s in screws.values()]),
        ),
        "(2.29)": (turning[3], np.append(skew(o_ji) @ R_ji @ spin, R_ji @ spin)),
        "(2.30)": (column, np.append(H_ji[:3, :3] @ pose[:3, :3].T @ pose_dot[:3, 3], np.zeros(3))),
        "(2.38)": (J_q, np.stack(columns, axis=1)),
        "(2.39)": (nu_j, A_jb @ NU + J_q @ QD),
        "(2.40)": (J_q, np.stack([vee(h) for h in hats], axis=1)),
        "(2.47)": [
            (J, np.hstack([A_jb, J_q])),
            (fc.jacobian(MODEL, STATE, MODEL.link_names[0]), np.hstack([eye(6), np.zeros((6, N))])),
        ],
        "(2.48)": (nu_j, J @ V),
    }


def _vee3(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def _path(link):
    parents = {joint.child: joint.parent for joint in MODEL.joints}
    found = {link}
    while link in parents:
        link = parents[link]
        found.add(link)
    return found


def _column(joint):
    i = MODEL.joint_names.index(joint.name)
    return fc.jacobian(MODEL, STATE, LINK)[:, 6 + MODEL.v_slices[i].start]


def slider():
    """A prismatic joint, its pose and the rate of that, and what its own link sees of it."""
    joint, place = next((j, q) for j, q in zip(MODEL.joints, MODEL.q_slices, strict=True) if j.kind.name == "prismatic")
    q = STATE.joints[place]
    i = MODEL.joint_names.index(joint.name)
    column = fc.jacobian(MODEL, STATE, joint.child)[:, 6 + MODEL.v_slices[i].start]
    return joint, joint.transform(q), rate(joint.transform, q, [1.0]), eye(4), column


@PRINTED
def energies():
    """2.2.3: (2.41)-(2.52) but (2.43)-(2.45)."""
    T, U = fc.kinetic_energy(MODEL, STATE), fc.potential_energy(MODEL, STATE)
    at_centers, at_frames, blocks = 0.0, 0.0, np.zeros((6 + N, 6 + N))
    below = np.zeros(3)
    for link in MODEL.links:
        J, body = JACOBIANS[link.name], link.body
        nu = J @ V
        center = Ad(inv(_at(body.center))) @ nu
        at_centers += 0.5 * center @ scipy.linalg.block_diag(body.mass * eye(3), body.inertia) @ center
        at_frames += 0.5 * nu @ body.spatial_inertia @ nu
        blocks += J.T @ body.spatial_inertia @ J
        below += body.mass * (solve(STATE.pose, POSES[link.name]) @ np.append(body.center, 1.0))[:3]
    L = T - U
    A = {k.name: (JACOBIANS[k.name][:, :6], JACOBIANS[k.name][:, 6:], k.body.spatial_inertia) for k in MODEL.links}
    potential = MODEL.mass * DOWN * STATE.pose[1, 3] + DOWN * STATE.pose[1, :3] @ below
    return {
        "(2.41)": (fc.dynamics.hamiltonian(MODEL, STATE).value - 2.0 * U, L),
        "(2.42)": (T, at_centers),
        "(2.46)": (T, at_frames),
        "(2.49)": (L, 0.5 * V @ M @ V - U),
        "(2.50)": (M, blocks),
        "(2.51)": [
            (MBB, sum(a.T @ i @ a for a, _, i in A.values())),
            (MBQ, sum(a.T @ i @ j for a, j, i in A.values())),
            (MQQ, sum(j.T @ i @ j for _, j, i in A.values())),
        ],
        "(2.52)": (U, potential),
    }


def _at(place):
    H = eye(4)
    H[:3, 3] = place
    return H


@PRINTED
def hamel_equations():
    """3.1: (3.9)-(3.10), (3.19), (3.29)-(3.41) but (3.31)."""
    arm = fc.robots.planar_arm()
    here, a = arm.state(joints=[0.3, 0.4, -0.9], rates=[1.0, -2.0, 0.5]), np.array([0.3, -1.0, 2.0])
    of_arm = case()._replace(model=arm, state=here, acceleration=a)
    L_arm = lambda s: fc.kinetic_energy(arm, s) - fc.potential_energy(arm, s)  # noqa: E731
    lagrange = of_arm.rate(lambda s: fc.mass_matrix(arm, s) @ s.rates) - of_arm.slopes(L_arm)
    h = M @ V
    h_dot = C.rate(lambda s: fc.mass_matrix(MODEL, s) @ s.velocity)
    kinetic = C.slopes(lambda s: fc.kinetic_energy(MODEL, s))
    U = lambda s: fc.potential_energy(MODEL, s)  # noqa: E731
    dU = C.slopes(U)
    flat = C.forces - GRAVITY
    found = fc.dynamics.hamiltonian(MODEL, STATE)
    turned = _free_body()
    M_b_q, M_bq_q, M_q_q = _gradients()
    hamel = block(
        [
            [MBB_DOT - ad(NU).T @ MBB, MBQ_DOT - ad(NU).T @ MBQ],
            [MBQ_DOT.T - 0.5 * M_b_q, MQQ_DOT - M_bq_q - 0.5 * M_q_q],
        ]
    )
    euler = _euler_newton()
    slope_o = np.array([0.0, MODEL.mass * DOWN, 0.0])  # dU/do
    weights = sum(
        k.body.mass * (solve(STATE.pose, POSES[k.name]) @ np.append(k.body.center, 1.0))[:3] for k in MODEL.links
    )
    slope_r = np.outer([0.0, DOWN, 0.0], weights)  # dU/dr_i
    potential = np.append(
        STATE.pose[:3, :3].T @ slope_o, -sum(np.cross(r, d) for r, d in zip(STATE.pose[:3, :3], slope_r, strict=True))
    )
    other = fc.dynamics.hamiltonian(MODEL, STATE, h + 1.0)
    directions = np.stack(
        [
            (
                fc.dynamics.hamiltonian(MODEL, STATE, h + 1e-4 * e).value
                - fc.dynamics.hamiltonian(MODEL, STATE, h - 1e-4 * e).value
            )
            / 2e-4
            for e in eye(6 + N)
        ]
    )
    return {
        "(3.9)": (fc.inverse_dynamics(arm, here, a), lagrange),
        "(3.10)": (
            fc.dynamics.hamiltonian(arm, here).value,
            fc.mass_matrix(arm, here) @ here.rates @ here.rates - L_arm(here),
        ),
        "(3.19)": turned,
        "(3.29)": (np.append(h_dot[:6] - ad(NU).T @ h[:6], h_dot[6:] - kinetic[6:]), flat),
        "(3.30)": [(h_dot[:6] - ad(NU).T @ h[:6], flat[:6]), (h_dot[6:] - kinetic[6:], flat[6:])],
        "(3.32)": [
            (h_dot[:6] - ad(NU).T @ h[:6] + potential, C.forces[:6]),
            (h_dot[6:] - kinetic[6:] + dU[6:], C.forces[6:]),
        ],
        "(3.33)": (fc.momentum(MODEL, STATE), rows_of_energy()[:6]),
        "(3.34)": (found.momenta[6:], rows_of_energy()[6:]),
        "(3.35)": (found.value, h[:6] @ NU + h[6:] @ QD - (fc.kinetic_energy(MODEL, STATE) - U(STATE))),
        "(3.36)": [
            (found.by_configuration, dU - kinetic),
            (found.by_momenta, V),
            (directions, V),
            (other.by_momenta, solve(M, h + 1.0)),
        ],
        "(3.37)": [
            (M_b_q @ NU, C.slopes(lambda s: NU @ fc.mass_matrix(MODEL, s)[:6, :6] @ NU)[6:]),
            (M_bq_q @ QD, C.slopes(lambda s: NU @ fc.mass_matrix(MODEL, s)[:6, 6:] @ QD)[6:]),
            (M_q_q @ QD, C.slopes(lambda s: QD @ fc.mass_matrix(MODEL, s)[6:, 6:] @ QD)[6:]),
        ],
        "(3.38)": (M @ A_DOT + HAMEL @ V, flat),
        "(3.39)": (HAMEL, hamel),
        "(3.40)": (M @ A_DOT + euler @ V, flat),
        "(3.41)": (PASSIVE, euler),
    }


def rows_of_energy():
    """`dL/dv`, by complex step of the kinetic energy."""
    return np.stack(
        [
            np.imag(
                fc.kinetic_energy(MODEL, STATE._replace(twist=NU + 1j * STEP * e[:6], rates=QD + 1j * STEP * e[6:]))
            )
            / STEP
            for e in eye(6 + N)
        ]
    )


def _gradients():
    """(3.37), from the oracle's mass matrix."""
    by_q = [mass_matrix_derivative(MODEL, STATE, e) for e in eye(6 + N)[6:]]
    return (
        np.array([NU @ D[:6, :6] for D in by_q]),
        np.array([NU @ D[:6, 6:] for D in by_q]),
        np.array([QD @ D[6:, 6:] for D in by_q]),
    )


def _euler_newton():
    """(3.41a)-(3.41d), as one sum over links."""
    out = np.zeros((6 + N, 6 + N))
    for link in MODEL.links:
        J, L = JACOBIANS[link.name], link.body.spatial_inertia
        J_dot = C.rate(lambda s, name=link.name: fc.jacobian(MODEL, s, name))
        a_j = ad(J @ V)
        out += J.T @ (L @ a_j - a_j.T @ L) @ J + J.T @ L @ J_dot
    return out


def _free_body():
    """A body that turns about a point under `U(R) = sum B_ij R_ij`."""
    B = RNG.normal(size=(3, 3))
    model = replace(fc.robots.free_body(), base=SO3(), gravity=np.zeros(3))
    state = model.random_state(RNG)
    U = lambda s: np.sum(B * s.pose[:3, :3])  # noqa: E731
    inertia, w, R = fc.mass_matrix(model, state), state.twist, state.pose[:3, :3]
    torque = fc.dynamics.potential_forces(model, state, U)
    a = fc.forward_dynamics(model, state, -torque)
    return inertia @ a + np.cross(w, inertia @ w), sum(np.cross(r, b) for r, b in zip(R, B, strict=True))


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
