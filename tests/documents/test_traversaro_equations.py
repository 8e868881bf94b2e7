"""[Traversaro], number by number, in its mixed velocities; (3), (20), (48) of Corollary 1 and (61) are misprinted."""

import numpy as np
import pytest
from link_sums import link_jacobians, link_poses
from printed import Printed, compared
from printed_robots import case

import fallingcat as fc
from fallingcat.lie import SE3, skew
from fallingcat.lie.charts import UnitQuaternion

PRINTED = Printed()
G = SE3()
C = case()
MODEL, STATE, N = C.model, C.state, C.model.n
D = C.link
E_LINK = MODEL.link_names[-2]
BODIES = {link.name: link.body for link in MODEL.links}
POSES, JACOBIANS = link_poses(MODEL, STATE), link_jacobians(MODEL, STATE)
RNG = np.random.default_rng(1)
WRENCHES = dict(zip(MODEL.link_names, RNG.normal(size=(N + 1, 6)), strict=True))  # mixed, one on each link
TAU = RNG.normal(size=N)
zero = np.zeros


def turned(R):
    return np.kron(np.eye(2), R)


def below(top):
    """`[top; 0 1]`."""
    return np.block([[top], [zero((N, 6)), np.eye(N)]])


def mixed_base(state=STATE):
    """`nu_B = T [twist; rates]`."""
    return below(np.hstack([turned(state.pose[:3, :3]), zero((6, N))]))


def jacobian(link, state=STATE):
    """`J_{L,B}` of (9): per mixed velocity of the base."""
    return fc.jacobian(MODEL, state, link, "mixed") @ np.linalg.inv(mixed_base(state))


def crossing(to, origin):
    """`X` of (9c) between points of the world: from velocities at `origin` to those at `to`."""
    return np.block([[np.eye(3), skew(origin - to)], [zero((3, 3)), np.eye(3)]])


B_ORIGIN, CENTER = STATE.pose[:3, 3], fc.center_of_mass(MODEL, STATE)
NU = mixed_base() @ STATE.velocity
NU_DOT = C.rate(lambda s: mixed_base(s) @ s.velocity)
EOM = fc.equations(MODEL, STATE).change(fc.changes.mixed(MODEL, STATE))
IC, F, H = EOM.M[:6, :6], EOM.M[:6, 6:], EOM.M[6:, 6:]
GRAVITY = np.append(MODEL.gravity, zero(3 + N))


def inertia(link):
    """The 6 x 6 inertia of a link at its own origin, along the world's axes."""
    R = turned(POSES[link][:3, :3])
    return R @ BODIES[link].spatial_inertia @ R.T


@PRINTED
def frames_and_velocities():
    """Sections 2.4, 3.1, 3.2."""
    H_dot = C.rate(lambda s: fc.link_pose(MODEL, s, D))
    pose = POSES[D]
    R, o, o_dot = pose[:3, :3], pose[:3, 3], H_dot[:3, 3]
    hat = H_dot[:3, :3] @ R.T
    w = np.array([hat[2, 1], hat[0, 2], hat[1, 0]])
    inertial, body = np.append(o_dot - np.cross(w, o), w), np.append(R.T @ o_dot, R.T @ w)
    names = ("inertial", "body", "mixed")
    formulas = [
        (fc.link_twist(MODEL, STATE, D, name), right)
        for name, right in zip(names, (inertial, body, np.append(o_dot, w)), strict=True)
    ]
    flat = MODEL.flatten(STATE)[0]
    base_dot = C.rate(lambda s: s.pose)
    spin = base_dot[:3, :3] @ STATE.pose[:3, :3].T
    in_base = fc.link_pose(MODEL, STATE._replace(pose=np.eye(4)), D)
    S = fc.jacobian(MODEL, STATE, D, "mixed")[:, 6:]
    J = np.hstack([crossing(o, B_ORIGIN), S])
    return {
        "(1)": (pose[:3, 3], STATE.pose[:3, :3] @ in_base[:3, 3] + B_ORIGIN),
        "section 2.4": formulas,
        "(2)": (fc.link_twist(MODEL, STATE, D, "mixed"), np.append(o_dot, w)),
        "(4)": (BODIES[D].spatial_inertia, spatial(BODIES[D])),
        "(6)": [
            (flat[:3], B_ORIGIN),
            (UnitQuaternion().to_matrix(flat[3:7]), STATE.pose[:3, :3]),
            (flat[7:], STATE.joints),
        ],
        "(7)": (NU, np.concatenate([base_dot[:3, 3], vee(spin), STATE.rates])),
        "(8)": (fc.link_pose(MODEL, STATE, D), STATE.pose @ in_base),
        "(9)": [
            (fc.link_twist(MODEL, STATE, D, "mixed"), jacobian(D) @ NU),
            (jacobian(D), J),
            (crossing(o, B_ORIGIN)[:3, 3:], skew(R @ (np.linalg.inv(pose) @ np.append(B_ORIGIN, 1.0))[:3])),
        ],
    }


def vee(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def spatial(body):
    m, c = body.mass, body.center
    about_origin = body.inertia - m * skew(c) @ skew(c)
    return np.block([[m * np.eye(3), -m * skew(c)], [m * skew(c), about_origin]])


@PRINTED
def equations_of_motion():
    """Section 3.3: (10)-(16)."""
    forces = np.append(zero(6), TAU) + sum(jacobian(link).T @ f for link, f in WRENCHES.items())
    a = fc.forward_dynamics(MODEL, STATE, mixed_base().T @ forces)
    nu_dot = C._replace(acceleration=a).rate(lambda s: mixed_base(s) @ s.velocity)
    base_dot = C.rate(lambda s: s.pose)
    twists = {link: T @ STATE.velocity for link, T in JACOBIANS.items()}
    energy = 0.5 * sum(twists[k.name] @ k.body.spatial_inertia @ twists[k.name] for k in MODEL.links)
    back = {link: crossing(B_ORIGIN, POSES[link][:3, 3]) for link in MODEL.link_names}  # X of velocities, link to B
    composite = sum(np.linalg.inv(X).T @ inertia(link) @ np.linalg.inv(X) for link, X in back.items())
    momentum = sum(
        np.linalg.inv(X).T @ inertia(link) @ fc.link_twist(MODEL, STATE, link, "mixed") for link, X in back.items()
    )
    both = lambda s: fc.kinetic_energy(MODEL, s) + fc.potential_energy(MODEL, s)  # noqa: E731
    return {
        "(10)": [
            (base_dot[:3, 3], NU[:3]),
            (base_dot[:3, :3], skew(NU[3:6]) @ STATE.pose[:3, :3]),
            (EOM.M @ nu_dot + EOM.C @ NU + EOM.g, forces),
        ],
        "(11)": [(fc.kinetic_energy(MODEL, STATE), energy), (energy, 0.5 * NU @ EOM.M @ NU)],
        "Lemma 1": (fc.kinetic_energy(MODEL, STATE), 0.5 * NU @ EOM.M @ NU),
        "(12)": (EOM.g, -EOM.M @ GRAVITY),
        "Lemma 2": (mixed_base().T @ EOM.g, fc.gravity_forces(MODEL, STATE)),
        "(13)": (EOM.M, np.block([[composite, F], [F.T, H]])),
        "(14)": (IC, composite),
        "(15)": [
            (np.hstack([IC, F]) @ NU, momentum),
            (turned(STATE.pose[:3, :3]) @ fc.momentum(MODEL, STATE), momentum),
        ],
        "Theorem 1": (np.hstack([IC, F]) @ NU, momentum),
        "Property 1": (EOM.M, EOM.M.T),
        "Property 2": (C.rate(lambda s: mixed_mass(s)), EOM.C + EOM.C.T),
        "(16)": (C.rate(both), C.forces @ STATE.velocity),
    }


def mixed_mass(state):
    back = np.linalg.inv(mixed_base(state))
    return back.T @ fc.mass_matrix(MODEL, state) @ back


def of_base(link, state=STATE, orientation=None):
    """`[D]T_B`: the library's change to the base `link`, from mixed velocities of B."""
    return fc.changes.base_at(MODEL, state, link, orientation, "mixed").T @ np.linalg.inv(mixed_base(state))


@PRINTED
def another_base():
    """Section 4: (17)-(28), and (50)."""
    T = of_base(D)
    T_dot = C.rate(lambda s: of_base(D, s))
    X, S = crossing(POSES[D][:3, 3], B_ORIGIN), jacobian(D)[:, 6:]
    nu_D = np.append(fc.link_twist(MODEL, STATE, D, "mixed"), STATE.rates)
    change = fc.changes.base_at(MODEL, STATE, D, None, "mixed")
    there, back = fc.equations(MODEL, STATE).change(change), np.linalg.inv(T)
    phi = RNG.normal(size=6 + N)
    forces = np.append(zero(6), TAU) + sum(jacobian(link).T @ f for link, f in WRENCHES.items())
    a = fc.forward_dynamics(MODEL, STATE, mixed_base().T @ forces)
    nu_D_dot = change.acceleration(a, STATE.velocity)
    J_L_D = jacobian(E_LINK) @ back
    back_dot = -back @ T_dot @ back
    two = of_base(E_LINK, orientation=D)
    J_two = np.vstack([jacobian(E_LINK)[:3], jacobian(D)[3:]])
    nu_two = fc.changes.base_at(MODEL, STATE, E_LINK, D, "mixed").T @ STATE.velocity
    E_dot, F_dot = (C.rate(lambda s, link=link: fc.link_pose(MODEL, s, link)) for link in (E_LINK, D))
    external = np.linalg.inv(X).T @ phi[:6]
    return {
        "(17)": [
            (
                fc.dynamics.reroot_state(MODEL, STATE, D).pose,
                STATE.pose @ fc.link_pose(MODEL, STATE._replace(pose=np.eye(4)), D),
            ),
            (nu_D, T @ NU),
        ],
        "(18)": (T, below(np.hstack([X, S]))),
        "(19)": (change.forces(mixed_base().T @ phi), np.linalg.inv(T).T @ phi),
        "(20)": (
            np.linalg.inv(T).T,
            np.block([[np.linalg.inv(X).T, zero((6, N))], [-S.T @ np.linalg.inv(X).T, np.eye(N)]]),
        ),
        "(21)": (fc.jacobian(MODEL, STATE, E_LINK, "mixed") @ np.linalg.inv(change.T), J_L_D),
        "Lemma 3": (nu_D, T @ NU),
        "Remark 2": (np.linalg.inv(T).T @ np.append(zero(6), TAU), np.append(zero(6), TAU)),
        "Remark 3": (np.linalg.inv(T).T @ np.append(phi[:6], zero(N)), np.append(external, -S.T @ external)),
        "(22)": [
            (C.rate(lambda s: fc.link_pose(MODEL, s, D))[:3, :3], skew(nu_D[3:6]) @ POSES[D][:3, :3]),
            (there.M @ nu_D_dot + there.C @ nu_D + there.g, np.linalg.inv(T).T @ forces),
        ],
        "(23)": [
            (there.M, back.T @ EOM.M @ back),
            (there.C, back.T @ (EOM.M @ back_dot + EOM.C @ back)),
            (there.g, back.T @ EOM.g),
        ],
        "(24)": (fc.kinetic_energy(MODEL, STATE), 0.5 * nu_D @ there.M @ nu_D),
        "Theorem 2": (there.Mdot, there.C + there.C.T),
        "(26)": (nu_two, np.concatenate([E_dot[:3, 3], vee(F_dot[:3, :3] @ POSES[D][:3, :3].T), STATE.rates])),
        "(27)": (two[:6], J_two),
        "(28)": (two, below(J_two)),
        "(50)": (C.rate(lambda s: of_base(D, s) @ mixed_base(s) @ s.velocity), T @ NU_DOT + T_dot @ NU),
    }


@PRINTED
def centroidal_dynamics():
    """Section 5: (29)-(44), and its proof, (51)-(55); (56) is misprinted."""
    X = crossing(CENTER, B_ORIGIN)
    X_force = np.linalg.inv(X).T
    h, m = fc.momentum(MODEL, STATE, "centroidal"), MODEL.mass
    IG = fc.dynamics.locked_inertia(MODEL, STATE, "centroidal")
    center_dot = C.rate(lambda s: fc.center_of_mass(MODEL, s))
    A = fc.centroidal_momentum_matrix(MODEL, STATE) @ np.linalg.inv(mixed_base())
    v_G = fc.dynamics.average_velocity(MODEL, STATE, "centroidal")
    S = np.linalg.inv(IG) @ X_force @ F
    J_G = np.hstack([X, S])
    change = fc.changes.centroidal(MODEL, STATE)
    T = change.T @ np.linalg.inv(mixed_base())
    there = fc.equations(MODEL, STATE).change(change)
    com = fc.changes.center_of_mass_base(MODEL, STATE)
    nu_com = com.T @ STATE.velocity
    to_com = com.T @ np.linalg.inv(mixed_base())
    forces = np.append(zero(6), TAU) + sum(jacobian(link).T @ f for link, f in WRENCHES.items())
    a = fc.forward_dynamics(MODEL, STATE, mixed_base().T @ forces)
    nu_G_dot = change.acceleration(a, STATE.velocity)
    S_BG = -np.linalg.solve(IC, F)
    back = np.linalg.inv(T)
    H_G = S_BG.T @ IC @ S_BG + S_BG.T @ F + F.T @ S_BG + H
    L = IG[3:, 3:]
    diagonal = np.block([[m * np.eye(3), zero((3, 3))], [zero((3, 3)), L]])
    whole = np.block([[diagonal, zero((6, N))], [zero((N, 6)), H_G]])
    return {
        "(29)": [(h, X_force @ (np.hstack([IC, F]) @ NU)), (IG, X_force @ IC @ np.linalg.inv(X))],
        "(30)": [(h[:3], m * center_dot), (IG, diagonal)],
        "(31)": [(h, A @ NU), (A, X_force @ np.hstack([IC, F]))],
        "(32)": [(v_G, np.linalg.solve(IG, h)), (v_G, np.append(center_dot, np.linalg.solve(L, h[3:])))],
        "(33)": (v_G, J_G @ NU),
        "(34)": (T[:6], J_G),
        "(35)": (fc.center_of_mass(MODEL, STATE), center_by_sum()),
        "(36)": (nu_com, np.concatenate([center_dot, NU[3:6], STATE.rates])),
        "(37)": (
            to_com,
            np.block(
                [
                    [fc.center_of_mass_jacobian(MODEL, STATE) @ np.linalg.inv(mixed_base())],
                    [zero((3 + N, 3)), np.eye(3 + N)],
                ]
            ),
        ),
        "(38)": (change.T @ STATE.velocity, np.append(v_G, STATE.rates)),
        "(39)": (T, below(J_G)),
        "(40)": (back.T, np.block([[X_force, zero((6, N))], [-S.T @ X_force, np.eye(N)]])),
        "(41)": [
            (C.rate(lambda s: fc.center_of_mass(MODEL, s)), v_G[:3]),
            (there.M @ nu_G_dot + there.C @ there.v + there.g, back.T @ forces),
        ],
        "(42)": (there.M, whole),
        "(43)": (there.g, np.append(-m * MODEL.gravity, zero(3 + N))),
        "(44)": (there.C, np.block([[zero((3, 6 + N))], [zero((3 + N, 3)), there.C[3:, 3:]]])),
        "Lemma 4": [(there.M, whole), (there.g, np.append(-m * MODEL.gravity, zero(3 + N)))],
        "(51)": (there.M, back.T @ EOM.M @ back),
        "(52)": [(back[:6, 6:], S_BG), (there.M[6:, 6:], H_G)],
        "(53)": (X_force @ IC @ np.linalg.inv(X), diagonal),
        "(54)": [(back[:6, 6:], -np.linalg.inv(X) @ S), (back[:6, 6:], -np.linalg.solve(IC, F))],
        "(55)": (there.C[3:], np.hstack([zero((3 + N, 3)), there.C[3:, 3:]])),
    }


def center_by_sum():
    return sum(k.body.mass * (POSES[k.name] @ np.append(k.body.center, 1.0))[:3] for k in MODEL.links) / MODEL.mass


@PRINTED
def held_at_a_link():
    """Section 6: (45)-(49), (57)-(60)."""
    held_twist = -np.linalg.solve(
        fc.jacobian(MODEL, STATE, D)[:, :6], fc.jacobian(MODEL, STATE, D)[:, 6:] @ STATE.rates
    )
    still = STATE._replace(twist=held_twist)
    outside = {link: f for link, f in WRENCHES.items() if link != D}
    held = fc.formulations.fixed_at(MODEL, still, D, wrenches=outside, representation="mixed")
    whole = fc.equations(MODEL, still).change(fc.changes.base_at(MODEL, still, D))
    P = np.hstack([zero((N, 6)), np.eye(N)])
    change = fc.changes.base_at(MODEL, still, D)
    forces = sum(fc.jacobian(MODEL, still, link, "mixed").T @ f for link, f in outside.items())  # body-fixed base
    acceleration = np.linalg.solve(held.M, TAU + P @ change.forces(forces) - held.C @ still.rates - held.g)
    nu_dot = np.append(zero(6), acceleration)
    a = np.linalg.solve(change.T, nu_dot - change.T_dot @ still.velocity)
    wrench = held.wrench(TAU)  # body-fixed, of D
    J_DD = np.hstack([np.eye(6), zero((6, N))])
    rest = whole.C @ whole.v + whole.g - np.append(zero(6), TAU) - change.forces(forces)
    inverse = np.linalg.inv(whole.M)
    moving = C._replace(state=still, acceleration=a)
    link_rate = moving.rate(lambda s: fc.link_pose(MODEL, s, E_LINK))
    J_B = fc.jacobian(MODEL, still, D)
    joint_part = J_B[:, 6:] @ still.rates
    return {
        "(45)": (np.eye(4) + moving.rate(lambda s: fc.link_pose(MODEL, s, D)), np.eye(4)),
        "(46)": (held.forward(TAU), acceleration),
        "(47)": [
            (held.M, P @ whole.M @ P.T),
            (held.C, P @ whole.C @ P.T),
            (held.g, P @ whole.g),
            (held.jacobian(E_LINK), fc.jacobian(MODEL, still, E_LINK) @ np.linalg.inv(change.T) @ P.T),
        ],
        "Lemma 5": (link_rate, fc.link_pose(MODEL, still, E_LINK) @ G.hat(held.jacobian(E_LINK) @ still.rates)),
        "(48)": (wrench, np.linalg.solve(J_DD @ inverse @ J_DD.T, J_DD @ inverse @ rest)),
        "(49)": (fc.jacobian(MODEL, still, D) @ np.linalg.inv(change.T), J_DD),
        "(57)": (J_B[:, :6] @ still.twist, -joint_part),
        "(58)": (-(J_B[:, :6] @ still.twist), joint_part),
        "(59)": (whole.v, np.append(zero(6), still.rates)),
        "(60)": (change.acceleration(a, still.velocity), nu_dot),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
