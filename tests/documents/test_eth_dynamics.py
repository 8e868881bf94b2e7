"""[ETH] 3.1 to 3.7, number by number; (3.35)-(3.37) and (3.52) are in the errata."""

import numpy as np
import pytest
from oracles.motion import STEP as COMPLEX_STEP
from oracles.motion import moving_links
from oracles.projected_newton_euler import jacobians
from printed import Printed, compared
from printed_dynamics import (
    ACCELERATION,
    ARM,
    AT,
    B_D,
    BENT,
    BIAS,
    DOG,
    FEET,
    FIXED,
    G_D,
    HAND,
    J_C,
    LAMBDA,
    M_D,
    N_C,
    STAND,
    SUPPORT,
    B,
    G,
    J,
    M,
    N,
    S,
)
from printed_robots import Case

import fallingcat as fc
from fallingcat import control
from fallingcat.contact import CompliantFloor, impact
from fallingcat.lie import skew

PRINTED = Printed()
RNG = np.random.default_rng(11)
inv, pinv, eye, solve, cross = np.linalg.inv, np.linalg.pinv, np.eye, np.linalg.solve, np.cross


@PRINTED
def one_body():
    """3.3.1: (3.15)-(3.25), a body of points that moves about its center of mass S."""
    masses, places = RNG.uniform(0.2, 1.0, size=5), RNG.normal(size=(5, 3))
    places = places - masses @ places / masses.sum()
    body = fc.Body.from_points([(m, tuple(x)) for m, x in zip(masses, places, strict=True)])
    model = fc.Model("points", fc.lie.SE3(), (fc.Link("body", body),), (), gravity=np.zeros(3))
    state = model.random_state(RNG)
    F, T = RNG.normal(size=(2, 3))  # along the world's axes, at S
    H = state.pose
    R = H[:3, :3]
    a = fc.forward_dynamics(model, state, np.kron(eye(2), R.T) @ np.append(F, T))
    moving = Case(model, state, a, np.zeros(6))
    twist = fc.link_twist(model, state, "body", "mixed")
    Theta = R @ body.inertia @ R.T
    rates = fc.dynamics.link_acceleration(model, state, a, "body", "mixed")
    sum_of = lambda f: sum(m * f(R @ x) for m, x in zip(masses, places, strict=True))  # noqa: E731
    omega, psi = twist[3:], rates[3:]
    momentum = fc.momentum(model, state, "centroidal")
    p_dot = moving.rate(lambda s: fc.momentum(model, s, "centroidal"))
    forces = np.append(model.mass * rates[:3], Theta @ psi + cross(omega, Theta @ omega))
    return {
        "(3.15)": (body.mass, masses.sum()),
        "(3.16)": (1.0 + body.center, 1.0 + masses @ places),
        "(3.17)": [(Theta, sum_of(lambda r: -skew(r) @ skew(r))), (Theta, sum_of(lambda r: skew(r) @ skew(r).T))],
        "(3.18)": (forces, np.append(F, T)),
        "(3.19)": (momentum[:3], masses.sum() * twist[:3]),
        "(3.20)": (momentum[3:], Theta @ omega),
        "(3.21)": (p_dot[:3], masses.sum() * rates[:3]),
        "(3.22)": (p_dot[3:], Theta @ psi + cross(omega, Theta @ omega)),
        "(3.23)": (p_dot, np.append(F, T)),
        "(3.24)": (p_dot[:3], F),
        "(3.25)": (p_dot[3:], T),
    }


@PRINTED
def three_methods():
    """3.1, 3.4, 3.5: (3.1), (3.26)-(3.34), (3.38)-(3.48), on an arm."""
    c = FIXED
    tau, F = RNG.normal(size=N), RNG.normal(size=6)
    a = fc.forward_dynamics(ARM, AT, tau + J.T @ F)
    links, later = moving_links(ARM, AT), moving_links(ARM, AT, AT.velocity, shift=AT.velocity)
    Js = jacobians(ARM, AT)
    T = sum(0.5 * k.mass * k.velocity @ k.velocity + 0.5 * k.spin @ k.inertia @ k.spin for k in links)
    U = -sum(k.mass * ARM.gravity @ k.position for k in links)
    L = lambda s: fc.kinetic_energy(ARM, s) - fc.potential_energy(ARM, s)  # noqa: E731
    momenta = c.rate(lambda s: fc.mass_matrix(ARM, s) @ s.rates)
    gravity = [k.mass * ARM.gravity for k in links]
    drift = [(np.imag(k.velocity), np.imag(k.spin)) for k in later]
    drift = [(v / COMPLEX_STEP, w / COMPLEX_STEP) for v, w in drift]  # dJ/dt qd
    p_dot = [k.mass * (j.position @ ACCELERATION + d[0]) for k, j, d in zip(links, Js, drift, strict=True)]
    spins = [
        k.inertia @ (j.rotation @ ACCELERATION + d[1]) + cross(k.spin, k.inertia @ k.spin)
        for k, j, d in zip(links, Js, drift, strict=True)
    ]
    projected = sum(j.position.T @ p + j.rotation.T @ s for j, p, s in zip(Js, p_dot, spins, strict=True))
    weight = sum(j.position.T @ f for j, f in zip(Js, gravity, strict=True))
    mass = sum(
        k.mass * j.position.T @ j.position + j.rotation.T @ k.inertia @ j.rotation
        for k, j in zip(links, Js, strict=True)
    )
    bias = sum(
        j.position.T @ (k.mass * d[0]) + j.rotation.T @ (k.inertia @ d[1] + cross(k.spin, k.inertia @ k.spin))
        for k, j, d in zip(links, Js, drift, strict=True)
    )
    world = sum(
        k.mass * j.position.T @ j.position
        + (k.rotation @ j.rotation).T @ (k.rotation @ k.inertia @ k.rotation.T) @ (k.rotation @ j.rotation)
        for k, j in zip(links, Js, strict=True)
    )
    last = links[-1]
    centers = lambda s: (fc.link_pose(ARM, s, HAND) @ np.append(ARM.links[-1].body.center, 1.0))[:3]  # noqa: E731
    point = fc.jacobian(ARM, AT, HAND, "mixed", point=ARM.links[-1].body.center)
    rate = c.rate(lambda s: fc.jacobian(ARM, s, HAND, "mixed", point=ARM.links[-1].body.center)[:3] @ s.velocity)
    spring = control.PointSpring(HAND, None, 70.0, rest=0.4, second_point=(0.3, 0.2, 2.0))
    d = np.linalg.norm(fc.link_pose(ARM, AT, HAND)[:3, 3] - [0.3, 0.2, 2.0])
    forces = fc.inverse_dynamics(ARM, AT, ACCELERATION)
    return {
        "(3.1)": (M @ a + B + G, tau + J.T @ F),
        "(3.26)": (L(AT), T - U),
        "(3.27)": (momenta - c.slopes(L), forces),
        "(3.28)": (fc.kinetic_energy(ARM, AT), T),
        "(3.29)": [(c.rate(centers), point[:3] @ AT.rates), (last.velocity, Js[-1].position @ AT.rates)],
        "(3.30)": (last.spin, Js[-1].rotation @ AT.rates),
        "(3.31)": (fc.kinetic_energy(ARM, AT), 0.5 * AT.rates @ mass @ AT.rates),
        "(3.32)": (sum(gravity), ARM.mass * ARM.gravity),
        "(3.33)": (fc.potential_energy(ARM, AT), -sum(k.position @ f for k, f in zip(links, gravity, strict=True))),
        "(3.34)": (spring.energy(ARM, AT), 0.5 * 70.0 * (d - 0.4) ** 2),
        "(3.38)": (M @ a + B + G, tau + J.T @ F),
        "(3.39)": (p_dot[-1], last.mass * rate),
        "(3.40)": (projected - weight, forces),
        "(3.41)": (projected, forces + weight),
        "(3.42)": (mass @ ACCELERATION + bias, forces + weight),
        "(3.43)": (M, world),
        "(3.44)": (B, bias),
        "(3.45)": (G, -weight),
        "(3.46)": (M, mass),
        "(3.47)": (B, bias),
        "(3.48)": (G, -weight),
    }


@PRINTED
def external_forces():
    """3.5.3, 3.6: (3.49)-(3.51), (3.53)-(3.54)."""
    F, T = RNG.normal(size=(2, 3))
    first, point = ARM.link_names[2], np.array([0.1, -0.2, 0.3])
    J_P = fc.jacobian(ARM, AT, HAND, "mixed", point=point)[:3]
    J_R = fc.jacobian(ARM, AT, first, "mixed")[3:]
    arm = fc.link_pose(ARM, AT, HAND)[:3, :3] @ point
    none = fc.inverse_dynamics(ARM, AT, ACCELERATION)
    push, twist = np.append(F, cross(arm, F)), np.append(np.zeros(3), T)
    felt = lambda **wrenches: none - fc.inverse_dynamics(ARM, AT, ACCELERATION, wrenches, "mixed")  # noqa: E731
    motors = np.array([2.0, -1.0, 0.5, 0.7])
    axes = [fc.jacobian(ARM, AT, j.child, "mixed")[:, ARM.v_slices[k].start] for k, j in enumerate(ARM.joints)]
    pairs = sum(
        control.wrench_between(
            ARM,
            AT,
            joint.parent,
            joint.child,
            tau
            * (np.append(np.zeros(3), axis[3:]) if joint.kind.name == "revolute" else np.append(axis[:3], np.zeros(3))),
        )
        for joint, axis, tau in zip(ARM.joints, axes, motors, strict=True)
    )
    own = np.array(
        [
            tau * (axis[3:] @ axis[3:] if joint.kind.name == "revolute" else 1.0)
            for joint, axis, tau in zip(ARM.joints, axes, motors, strict=True)
        ]
    )
    flight = Case(ARM, AT, fc.forward_dynamics(ARM, AT, np.zeros(N)), np.zeros(N))
    H = lambda s: fc.dynamics.hamiltonian(ARM, s).value  # noqa: E731
    return {
        "(3.49)": (felt(**{HAND: push}), J_P.T @ F),
        "(3.50)": (felt(**{first: twist}), J_R.T @ T),
        "(3.51)": (felt(**{HAND: push, first: twist}), J_P.T @ F + J_R.T @ T),
        "(3.53)": (pairs + J_P.T @ F, own + J_P.T @ F),
        "(3.54)": [
            (H(AT), fc.kinetic_energy(ARM, AT) + fc.potential_energy(ARM, AT)),
            (1.0 + flight.rate(lambda s: fc.kinetic_energy(ARM, s) + fc.potential_energy(ARM, s)), 1.0),
        ],
    }


@PRINTED
def floating_bases():
    """3.7: (3.55)-(3.72)."""
    tau, F = RNG.normal(size=12), RNG.normal(size=9)
    u_dot = fc.forward_dynamics(DOG, STAND, S.T @ tau + J_C.T @ F)
    held = fc.dynamics.constrained_forward_dynamics(DOG, STAND, S.T @ tau, J_C, BIAS)
    F_c, a = -held.multipliers, held.acceleration  # what the robot exerts
    moving = Case(DOG, STAND, a, np.zeros(18))
    feet = lambda s: np.concatenate([fc.link_pose(DOG, s, name)[:3, 3] for name in FEET[:3]])  # noqa: E731
    speeds = lambda s: control.support_dynamics(DOG, s, FEET[:3]).J @ s.velocity  # noqa: E731
    hit = impact(DOG, BENT, FEET[:3], pulling=True)
    before, after = BENT.velocity, hit.state.velocity
    support = control.support_dynamics(DOG, BENT, FEET[:3])
    L = inv(support.J @ solve(fc.mass_matrix(DOG, BENT), support.J.T))
    mass = fc.mass_matrix(DOG, BENT)
    impulse, r_dot = -hit.impulses.ravel(), support.J @ before
    change = after - before
    hopper = fc.robots.revolute_hopper()
    low = hopper.state(
        pose=hopper.base.element(np.array([0.1, 0.05, -2.4])), joints=[1.7], twist=[0.3, -0.5, 0.7], rates=[1.1]
    )
    floor = CompliantFloor(("foot",), (2e4, 1e4), (50.0, 40.0))
    felt = floor.forces(hopper, (True,), low, np.array([0.02, 0.0]), np.zeros(4))
    J_f = fc.contact.point_jacobian(hopper, low, "foot")[:2]
    r, v = fc.link_pose(hopper, low, "foot")[:2, 3], J_f @ low.velocity
    soft = np.array([1e4, 2e4]) * (r - np.array([0.02, 0.0])) + np.array([40.0, 50.0]) * v
    return {
        "(3.55)": (M_D @ u_dot + B_D + G_D, S.T @ tau + J_C.T @ F),
        "(3.56)": [(S @ STAND.velocity, STAND.rates), (S, np.hstack([np.zeros((12, 6)), eye(12)]))],
        "(3.57)": (M_D @ a + B_D + G_D + J_C.T @ F_c, S.T @ tau),
        "(3.58)": (felt["floor normal"] + felt["floor tangential"], -J_f.T @ soft),
        "(3.59)": (feet(STAND) + moving.rate(feet), feet(STAND)),
        "(3.60)": (J_C[:, :6] @ STAND.twist, -J_C[:, 6:] @ STAND.rates),
        "(3.61)": [(J_C @ a, -BIAS), (1.0 + moving.rate(speeds), np.ones(9))],
        "(3.62)": (F_c, LAMBDA @ (J_C @ solve(M_D, S.T @ tau - B_D - G_D) + BIAS)),
        "(3.63)": (SUPPORT.N, N_C),
        "(3.64)": (M_D @ a + N_C.T @ (B_D + G_D) + J_C.T @ LAMBDA @ BIAS, N_C.T @ S.T @ tau),
        "(3.65)": (N_C.T @ (M_D @ a + B_D + G_D), N_C.T @ S.T @ tau),
        "(3.66)": (mass @ change, -support.J.T @ impulse),
        "(3.67)": (impulse, L @ r_dot),
        "(3.68)": (SUPPORT.Lambda, LAMBDA),
        "(3.69)": (change, -solve(mass, support.J.T @ L @ r_dot)),
        "(3.70)": (after, support.N @ before),
        "(3.71)": (-hit.loss, -0.5 * change @ mass @ change),
        "(3.72)": (hit.loss, 0.5 * r_dot @ L @ r_dot),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
