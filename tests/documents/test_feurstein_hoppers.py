"""[Feurstein] chapter 4, number by number; (4.13), (4.14), (4.24)-(4.26), Tables 4.7 and 4.12 (K_E) are misprinted."""

from functools import cache

import numpy as np
import pytest
from printed import STEP, Printed, compared
from printed_robots import Case

import fallingcat as fc
from fallingcat.contact import CompliantFloor
from fallingcat.lie import SE2
from fallingcat.studies.hoppers import EnergyController, PolarSpring, RadialDamper, RadialSpring, virtual_leg
from fallingcat.studies.hoppers.hopper import floor, robot, start

PRINTED = Printed()
G = SE2()
RNG = np.random.default_rng(7)
S = np.array([[0.0, -1.0], [1.0, 0.0]])
MODEL = fc.robots.revolute_hopper()
STATE = MODEL.state(pose=G.element(np.array([0.1, 0.3, -2.4])), joints=[1.7], twist=[0.3, -0.5, 0.7], rates=[1.1])
C = Case(MODEL, STATE, np.zeros(4), np.zeros(4))
PLANE = np.ix_([0, 1, 3], [0, 1, 3])
TOUCHING, AWAY = frozenset({"foot"}), frozenset()
DOWN = 9.81
inv, solve = np.linalg.inv, np.linalg.solve


def flat(H):
    """The 3 x 3 matrix of a planar pose or of its algebra."""
    return H[PLANE]


def jacobian(link, state=STATE):
    """3 x nv: `[v_x, v_y, omega]` of a link, in its own axes."""
    return fc.jacobian(MODEL, state, link)[[0, 1, 5]]


@PRINTED
def planar_group():
    """4.1.1, 4.1.2: (4.1)-(4.7)."""
    nu, H = RNG.normal(size=3), G.random(RNG)
    H_dot = H @ G.hat(nu)
    R, o_dot = flat(H)[:2, :2], flat(H_dot)[:2, 2]
    seen = lambda s: inv(s.pose) @ fc.link_pose(MODEL, s, "foot")  # noqa: E731
    H_bf = seen(STATE)
    R_bf = H_bf[:2, :2]
    by_q = C.slopes(seen)[..., 3]
    turn = R_bf.T @ by_q[:2, :2]
    theta = 0.8
    rotation = lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])  # noqa: E731
    slope = np.imag(rotation(theta + 1j * STEP)) / STEP
    chained = np.imag(rotation(np.sin(theta + 1j * STEP))) / STEP
    J = jacobian("foot")
    A_jb = np.block([[R_bf.T, (R_bf.T @ S @ H_bf[:2, 3])[:, None]], [np.zeros((1, 2)), np.ones((1, 1))]])
    return {
        "(4.1)": (R.T @ flat(H_dot)[:2, :2], nu[2] * S),
        "(4.2)": (flat(H_dot)[:2], np.hstack([nu[2] * R @ S, o_dot[:, None]])),
        "(4.3)": (J[:, 3], np.append(R_bf.T @ by_q[:2, 3], turn[1, 0])),
        "(4.4)": (rotation(theta).T @ slope, S),
        "(4.5)": (rotation(np.sin(theta)).T @ chained, S * np.cos(theta)),
        "(4.6)": (J[:, 3], np.append(R_bf.T @ by_q[:2, 3], 1.0)),
        "(4.7)": [(J[:, :3], A_jb), (jacobian(MODEL.link_names[0]), np.eye(3, 4))],
    }


@PRINTED
def planar_dynamics():
    """4.1.3: (4.8)-(4.12)."""
    masses = {0: [(0.835, 0.0), (0.122, 0.06)], 1: [(0.05, 0.06)]}  # Table 4.10
    M, total, rows = np.zeros((4, 4)), 0.0, []
    theta = -2.4
    for j, link in enumerate(MODEL.link_names):
        J, inertia = jacobian(link), np.zeros((3, 3))
        H_bj = inv(STATE.pose) @ fc.link_pose(MODEL, STATE, link)
        for m, x in masses[j]:
            o = np.array([x, 0.0])
            A = np.block([[np.eye(2), (S @ o)[:, None]], [np.zeros((1, 2)), np.ones((1, 1))]])
            block = np.block([[m * np.eye(2), m * (S @ o)[:, None]], [-m * (o @ S)[None], np.array([[m * o @ o]])]])
            inertia += block
            rows.append((A.T @ np.diag([m, m, 0.0]) @ A, block))
            total += m * (H_bj @ np.array([x, 0.0, 0.0, 1.0]))[:2]
        M += J.T @ inertia @ J
    U = MODEL.mass * DOWN * STATE.pose[1, 3] + DOWN * STATE.pose[1, :2] @ total
    slopes = C.slopes(lambda s: fc.potential_energy(MODEL, s))
    weight = MODEL.mass * DOWN
    moved = jacobian("shank") @ STATE.velocity
    center = fc.jacobian(MODEL, STATE, "shank", point=np.array([0.06, 0.0, 0.0]))[[0, 1, 5]] @ STATE.velocity
    shift = np.block([[np.eye(2), (S @ [0.06, 0.0])[:, None]], [np.zeros((1, 2)), np.ones((1, 1))]])
    forces = [weight * np.sin(theta), weight * np.cos(theta), slopes[2], slopes[3]]
    return {
        "(4.8)": (center, shift @ moved),
        "(4.9)": rows[1:],
        "(4.10)": (fc.mass_matrix(MODEL, STATE), M),
        "(4.11)": (fc.potential_energy(MODEL, STATE), U),
        "(4.12)": (fc.gravity_forces(MODEL, STATE), np.array(forces)),
    }


@PRINTED
def controllers():
    """4.1.4, 4.1.5: (4.15)-(4.23)."""
    ground = CompliantFloor(("foot",), (1e4, 1e4), (1e3, 1e3))
    low = STATE._replace(pose=G.element(np.array([0.1, 0.05, -2.4])))
    felt = ground.forces(MODEL, (True,), low, np.array([0.02, 0.0]), np.zeros(4))
    J_foot = fc.contact.point_jacobian(MODEL, low, "foot")[:2]
    at, speed = fc.link_pose(MODEL, low, "foot")[:2, 3], J_foot @ low.velocity
    F = np.array([-1e4 * (at[0] - 0.02) - 1e3 * speed[0], max(-1e4 * at[1] - 1e3 * speed[1], 0.0)])
    leg, spring = virtual_leg(MODEL, STATE, "foot"), RadialSpring(2200.0, 0.14)
    K_E, E_des, D_r, K_p, D_p = 10.0, 2.84, 20.0, 6.0, 0.3
    laws = [spring, EnergyController(K_E, E_des, spring), RadialDamper(D_r, "always"), PolarSpring(K_p, D_p, 0.1)]
    r_dot, a_dot = leg.radial @ STATE.velocity, leg.polar @ STATE.velocity
    E = fc.kinetic_energy(MODEL, STATE) + fc.potential_energy(MODEL, STATE) + 0.5 * 2200.0 * (leg.length - 0.14) ** 2
    tau_r = -2200.0 * (leg.length - 0.14) - D_r * r_dot - K_E * (E - E_des) * r_dot
    tau_p = -K_p * (leg.angle - 0.1) - D_p * a_dot
    stance, flight = (sum(law.forces(MODEL, 0.0, STATE, on) for law in laws) for on in (TOUCHING, AWAY))
    o = lambda s: (fc.link_pose(MODEL, s, "foot")[:3, 3] - fc.center_of_mass(MODEL, s))[:2]  # noqa: E731
    at_home = STATE._replace(pose=np.eye(4))
    R = STATE.pose[:2, :2]
    here = o(STATE)
    r = np.hypot(*here)
    J_o = (fc.contact.point_jacobian(MODEL, STATE, "foot") - fc.center_of_mass_jacobian(MODEL, STATE))[:2]
    free = STATE._replace(twist=-fc.connection(MODEL, STATE) @ STATE.rates)
    o_dot = C._replace(state=free).rate(o)
    R_f = fc.link_pose(MODEL, STATE, "foot")[:2, :2]
    J_r, J_a = here / r, np.array([-here[1], here[0]]) / r**2
    return {
        "(4.15)": (felt["floor normal"] + felt["floor tangential"], J_foot.T @ F),
        "(4.16)": (stance - leg.polar * tau_p, leg.radial * tau_r),
        "(4.17)": (stance - leg.radial * tau_r, leg.polar * tau_p),
        "(4.18)": (sum(law.forces(MODEL, 0.0, STATE, AWAY) for law in laws[:3]), leg.radial * tau_r),
        "(4.19)": (flight, leg.radial * tau_r),
        "(4.20)": (here, R @ o(at_home)),
        "(4.21)": [
            (C.rate(o), J_o @ STATE.velocity),
            (o_dot, R_f @ fc.formulations.internal_jacobian(MODEL, STATE, "foot")[:2] @ STATE.rates),
        ],
        "(4.22)": [(C.rate(lambda s: virtual_leg(MODEL, s, "foot").angle), J_a @ C.rate(o)), (r_dot, J_r @ o_dot)],
        "(4.23)": [
            (J_a @ J_o, leg.polar),
            (J_r @ R_f @ fc.formulations.internal_jacobian(MODEL, STATE, "foot")[:2], leg.radial[3:]),
        ],
    }


def pose(x, y, theta):
    """A planar pose, by its numbers."""
    c, s = np.cos(theta), np.sin(theta)
    return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])


GAINS = ("K_r", "D_r", "K_p", "D_p", "K_E")
START = ("x", "y", "theta", "q1", "vx", "vy", "omega", "q1_dot")


@cache
def parameters(study):
    return fc.studies.load(study).parameters


def gains(study, names=GAINS):
    p = parameters(study)
    return [getattr(p, name) for name in names]


def leg_at_start(study):
    p = parameters(study)
    model = robot(p)
    return virtual_leg(model, start(model, p), "foot")


@PRINTED
def tables():
    """(4.27) and Tables 4.2, 4.4-4.13, but q1 of 4.7 and K_E of 4.12."""
    slide, knee = fc.robots.prismatic_hopper(), MODEL.joints[0]
    points = lambda model: [(k.body.mass, *k.body.center[:2]) for k in model.links]  # noqa: E731
    thigh = np.array([0.835 + 0.122, 0.122 * 0.06 / (0.835 + 0.122), 0.0])
    revolute = [f"revolute-{i}" for i in range(1, 7)]
    prismatic = [f"prismatic-{i}" for i in range(1, 4)]
    ground = ("K_floor_x", "D_floor_x", "K_floor_y", "D_floor_y")
    floors = lambda names: np.array([gains(name, ground) for name in names])  # noqa: E731
    printed_floor = [1e4, 1e3, 1e4, 1e3]
    both = (slide.joints[0].transform(np.array([0.3])), pose(0.3, 0.0, 0.0))
    turned = (knee.transform(np.array([0.3])), pose(0.12, 0.0, 0.3))
    rows = [[0.0, 0.3, -2.5174, 1.7802, 0, 0, 0, 0]] * 4
    rows += [[0.0, 0.3, -1.9938, 1.7802, 0, 0, 0, 0], [2.7676, 0.2574, -2.5243, 1.7802, -0.1919, 0.1263, 0.3301, 0]]
    three, six = gains("prismatic-3", ["E_des"]), gains("revolute-6", ["E_des"])
    foot = fc.link_pose(MODEL, MODEL.neutral(), "foot")
    leans = [np.degrees(float(leg_at_start(name).angle)) for name in revolute]
    made = floor(parameters("revolute-6"))
    return {
        "(4.27)": [turned, both],
        "Table 4.2": [turned, both],
        "Table 4.4": both,
        "Table 4.5": (np.array(points(slide)), np.array([[0.957, 0, 0], [0.050, 0, 0]])),
        "Table 4.6": (floors(prismatic), np.array([printed_floor] * 3)),
        "Table 4.8": [
            (
                np.array([gains(name) for name in prismatic]),
                np.array([[2200, 0, k, 0, e] for k, e in ((0, 0), (6, 0), (6, 20))]),
            ),
            (round(float(leg_at_start("prismatic-1").length), 3), 0.114),
            (np.array(three), np.array([2.9047])),
        ],
        "Table 4.9": [turned, (foot[:2, 3], np.array([0.24, 0.0]))],
        "Table 4.10": (np.array(points(MODEL)), np.array([thigh, [0.05, 0.06, 0.0]])),
        "Table 4.11": [
            (floors(revolute), np.array([printed_floor] * 6)),
            (np.array(made.stiffness), np.array([1e4, 1e4])),
        ],
        "Table 4.12": [
            (
                np.array([gains(name, GAINS[:4]) for name in revolute]),
                np.array([[2200, 20 * (i > 3), 6 * (i > 1), 0] for i in range(1, 7)]),
            ),
            (round(float(leg_at_start("revolute-1").length), 4), 0.1411),
            (np.array(six), np.array([2.8382])),
        ],
        "Table 4.13": [
            (np.array([gains(name, START) for name in revolute]), np.array(rows)),
            (np.round(leans, 1), np.array([0.0, 0.0, 0.0, 0.0, 30.0, -0.4]) + 0.0),
        ],
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
