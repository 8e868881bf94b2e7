"""[ETH] 3.8 to 3.11, dynamic control, number by number; (3.94)-(3.96), (3.99), (3.111) are in the errata."""

import numpy as np
import pytest
from printed import STEP, Printed, compared
from printed_dynamics import (
    ACCELERATION,
    ARM,
    AT,
    B_D,
    BIAS,
    DOG,
    FEET,
    G_D,
    J_C,
    M_D,
    N_C,
    STAND,
    B,
    G,
    M,
    N,
    S,
)
from printed_robots import Case

import fallingcat as fc
from fallingcat import control
from fallingcat.lie import Trivial, skew
from fallingcat.lie.charts import EulerZYX, RotationVector
from fallingcat.qp.least_squares import Level, hierarchical

PRINTED = Printed()
RNG = np.random.default_rng(11)
inv, pinv, eye, solve, cross = np.linalg.inv, np.linalg.pinv, np.eye, np.linalg.solve, np.cross


@PRINTED
def joint_space_control():
    """3.8: (3.73)-(3.80)."""
    goal, k, d = AT.joints + 0.1 * RNG.normal(size=N), 30.0, 4.0
    pull = k * (goal - AT.joints) - d * AT.rates
    impedance = control.Impedance(goal, k, d)
    with_weight = control.Impedance(goal, k, d, gravity=True)
    sagging = control.Impedance(AT.joints + G / k, k, d)
    inverse = control.InverseDynamics(goal, k, d)
    torques = inverse.torques(ARM, AT)
    made = control.gains(3.0, 0.7)
    return {
        "(3.73)": (impedance.torques(ARM, AT), pull),
        "(3.74)": (sagging.torques(ARM, AT._replace(rates=np.zeros(N))), G),
        "(3.75)": (with_weight.torques(ARM, AT), pull + G),
        "(3.76)": (torques, M @ pull + B + G),
        "(3.77)": (fc.forward_dynamics(ARM, AT, torques), pull),
        "(3.78)": (solve(M, torques - B - G), k * (goal - AT.joints) + d * (0.0 - AT.rates)),
        "(3.79)": (2.0 * np.pi * 3.0, np.sqrt(made.stiffness)),
        "(3.80)": (0.7, made.damping / (2.0 * np.sqrt(made.stiffness))),
    }


CHAIN = fc.robots.random_tree(np.random.default_rng(4), 7, ["revolute"], base=Trivial(), branching=0.0)
LONG = Case(CHAIN, CHAIN.random_state(RNG), RNG.normal(size=7), np.zeros(7))


@PRINTED
def task_space_control():
    """3.9: (3.81)-(3.93), (3.97)-(3.98)."""
    arm, at, hand = LONG.model, LONG.state, LONG.link
    mass, gravity = fc.mass_matrix(arm, at), fc.gravity_forces(arm, at)
    b = fc.bias_forces(arm, at) - gravity
    wanted = RNG.normal(size=3)
    task = control.PositionTask(hand, acceleration=wanted, gain=0.0)
    demand = task.demand(arm, at)
    Jt, bias = demand.J, demand.bias
    L = inv(Jt @ solve(mass, Jt.T))
    mu, p = L @ Jt @ solve(mass, b) - L @ bias, L @ Jt @ solve(mass, gravity)
    found = control.task_dynamics(arm, at, task)
    tau, F = RNG.normal(size=arm.n), RNG.normal(size=3)
    pushed = fc.forward_dynamics(arm, at, Jt.T @ F)
    still = control.JointsTask(acceleration=np.zeros(arm.n), gain=0.0)
    rows = eye(arm.n)
    both = control.accelerations(arm, at, [[task, still]]).acceleration
    order = control.accelerations(arm, at, [[task], [still]]).acceleration
    N1 = eye(arm.n) - pinv(Jt) @ Jt
    first = pinv(Jt) @ (wanted - bias)
    law = control.OperationalSpace(task)
    goal, k, ratio = fc.link_pose(arm, at, hand)[:3, 3] + 0.1, 3.0, 0.7
    servo = control.PositionTask(hand, goal, velocity=[0.1, 0.2, 0.3], gain=k, ratio=ratio)
    w = Jt @ at.rates
    chart, chi = EulerZYX(), np.array([0.4, 0.9, 0.7])
    direction, h = RNG.normal(size=3), 1e-3
    vector, back = RotationVector().from_matrix, chart.to_matrix(chi).T
    away = lambda e: np.asarray(vector(chart.to_matrix(chi + e * direction) @ back))  # noqa: E731
    slope = (8.0 * (away(h) - away(-h)) - (away(2 * h) - away(-2 * h))) / (12.0 * h)
    push = np.array([7.0, 8.0, 9.0])
    wall = control.OperationalSpace(task, force=push, pressed=(True, False, False))
    S_M, S_F = np.diag([0.0, 1.0, 1.0]), np.diag([1.0, 0.0, 0.0])
    acceleration = lambda s: fc.dynamics.link_acceleration(arm, s, LONG.acceleration, hand, "mixed")  # noqa: E731
    J6 = fc.jacobian(arm, at, hand, "mixed")
    J6_dot = fc.dynamics.jacobian_derivative(arm, at, hand, "mixed")
    return {
        "(3.81)": [
            (acceleration(at), J6 @ LONG.acceleration + J6_dot @ at.rates),
            (LONG.rate(lambda s: fc.link_twist(arm, s, hand, "mixed")), acceleration(at)),
        ],
        "(3.82)": (both, pinv(np.vstack([Jt, rows])) @ np.append(wanted - bias, np.zeros(arm.n))),
        "(3.83)": (order, first + N1 @ pinv(rows @ N1, rcond=1e-9) @ (np.zeros(arm.n) - first)),
        "(3.84)": (Jt @ fc.forward_dynamics(arm, at, tau) + bias, Jt @ solve(mass, tau - b - gravity) + bias),
        "(3.85)": (mass @ pushed + b + gravity, Jt.T @ F),
        "(3.86)": (L @ (Jt @ pushed + bias) + mu + p, F),
        "(3.87)": (found.Lambda, L),
        "(3.88)": (found.mu, mu),
        "(3.89)": (found.p, p),
        "(3.90)": (law.torques(arm, at), Jt.T @ (L @ wanted + mu + p)),
        "(3.91)": (
            servo.demand(arm, at).acceleration,
            k**2 * np.full(3, 0.1) + 2.0 * ratio * k * (np.array([0.1, 0.2, 0.3]) - w),
        ),
        "(3.92)": (slope, chart.rate_matrix(chi) @ direction),
        "(3.93)": (law.torques(arm, at), Jt.T @ (found.Lambda @ wanted + found.mu + found.p)),
        "(3.97)": (wall.torques(arm, at), Jt.T @ (L @ S_M @ wanted + S_F @ push + mu + p)),
        "(3.98)": (S_M + S_F, eye(3)),
    }


@PRINTED
def inverse_dynamics_of_floating_bases():
    """3.10: (3.100)-(3.110), (3.113)-(3.115), Algorithm 2."""
    a = RNG.normal(size=18)
    a = a - pinv(J_C) @ (J_C @ a + BIAS)
    A = N_C.T @ S.T
    wrench = N_C.T @ (M_D @ a + B_D + G_D)
    tau0 = RNG.normal(size=12)
    found = control.floating_inverse_dynamics(DOG, STAND, a, FEET[:3])
    other = control.floating_inverse_dynamics(DOG, STAND, a, FEET[:3], torques=tau0)
    levels = [(RNG.normal(size=(k, 8)), RNG.normal(size=k)) for k in (3, 3, 4)]
    x = hierarchical([Level(A_i, b_i, np.ones(len(b_i))) for A_i, b_i in levels], 8).x
    N_i, parts, above, total = eye(8), [], np.zeros((0, 8)), np.zeros(8)
    for A_i, b_i in levels:  # Algorithm 2
        part = pinv(A_i @ N_i, rcond=1e-9) @ (b_i - A_i @ total)
        parts.append(N_i @ part)
        total = total + N_i @ part
        above = np.vstack([above, A_i])
        N_i = eye(8) - pinv(above, rcond=1e-9) @ above
    (A1, b1), (A2, b2), (A3, b3) = levels
    N2, N3 = (eye(8) - pinv(stack, rcond=1e-9) @ stack for stack in (A1, np.vstack([A1, A2])))
    one = hierarchical([Level(A3, b3, np.ones(4))], 8).x
    held = np.vstack([A1, A2])
    kkt = np.block([[A3.T @ A3, held.T], [held, np.zeros((6, 6))]])
    constrained = np.linalg.lstsq(kkt, np.concatenate([A3.T @ b3, b1, b2]), rcond=None)[0][:8]
    base = control.BaseTask(acceleration=[0.3, -0.2, 0.5, 0.1, 0.4, -0.3], gain=0.0)
    whole = control.torques(DOG, STAND, [[base]], contacts=FEET[:3], friction=None, settle="torques")
    exerted = -np.asarray(whole.forces).ravel()
    solution = np.concatenate([whole.acceleration, exerted, whole.torques])
    motion = np.hstack([M_D, J_C.T, -S.T])
    freedom = np.vstack(
        [motion, np.hstack([J_C, np.zeros((9, 21))]), np.hstack([base.demand(DOG, STAND).J, np.zeros((6, 21))])]
    )
    null = eye(39) - pinv(freedom, rcond=1e-9) @ freedom
    inverse = control.PrioritizedControl([[control.JointsTask(acceleration=ACCELERATION, gain=0.0)]]).torques(ARM, AT)
    return {
        "(3.100)": (found.torques, pinv(A, rcond=1e-9) @ wrench),
        "(3.101)": (other.torques, pinv(A, rcond=1e-9) @ wrench + (eye(12) - pinv(A, rcond=1e-9) @ A) @ tau0),
        "(3.102)": (A1 @ x, b1),
        "(3.103)": (A3.T @ A3 @ one, A3.T @ b3),
        "(3.104)": (x, sum(parts)),
        "(3.105)": (A1 @ (N2 + eye(8)), A1),
        "(3.106)": (A2 @ x - b2 + 1.0, A2 @ (parts[0] + parts[1]) - b2 + 1.0),
        "(3.107)": (N3 @ pinv(A3 @ N3, rcond=1e-9) @ (b3 - A3 @ (parts[0] + parts[1])), parts[2]),
        "(3.108)": (A3 @ x, A3 @ constrained),
        "Algorithm 2": (x, total),
        "(3.109)": (motion @ solution, -B_D - G_D),
        "(3.110)": (M_D @ whole.acceleration + J_C.T @ exerted - S.T @ whole.torques, -B_D - G_D),
        "(3.113)": (null @ np.append(np.zeros(27), whole.torques) + 1.0, np.ones(39)),
        "(3.114)": (M @ ACCELERATION - inverse, -B - G),
        "(3.115)": (fc.forward_dynamics(ARM, AT, inverse), ACCELERATION),
        "Example 3.10.1": (inverse, M @ ACCELERATION + B + G),
    }


@PRINTED
def virtual_model_control():
    """3.11: (3.116)-(3.121), forces of gravity, contacts and a virtual one on the trunk."""
    state = STAND._replace(twist=np.zeros(6), rates=np.zeros(12))
    F_v = np.array([5.0, -3.0, 20.0, 0.0, 0.0, 0.0])
    law = control.VirtualModel([control.BaseTask()], force=F_v, contacts=FEET)
    tau = law.torques(DOG, state)
    R, b = state.pose[:3, :3], state.pose[:3, 3]
    world = np.block(
        [[np.kron(eye(2), R.T), np.zeros((6, 12))], [np.zeros((12, 6)), eye(12)]]
    )  # from [dr_b; dphi_b; dq]
    point = lambda link, at=None: fc.jacobian(DOG, state, link, "mixed", point=at)[:3] @ world  # noqa: E731
    foot = FEET[0]
    r = fc.link_pose(DOG, state, foot)[:3, 3] - b
    J_b = point(foot)[:, 6:]
    feet = [fc.link_pose(DOG, state, name)[:3, 3] - b for name in FEET]
    masses = [
        (
            k.body.mass,
            (fc.link_pose(DOG, state, k.name) @ np.append(k.body.center, 1.0))[:3] - b,
            point(k.name, k.body.center),
        )
        for k in DOG.links
    ]
    gravity = [(m * DOG.gravity, at, P) for m, at, P in masses]
    lift = np.block([[eye(3)] * 4, [skew(at) for at in feet]])
    load = np.append(sum(f for f, _, _ in gravity) - F_v[:3], sum(cross(at, f) for f, at, _ in gravity))
    exerted = pinv(lift) @ load
    shares = exerted.reshape(4, 3)
    joints = -sum(P[:, 6:].T @ f for f, _, P in gravity) + sum(
        point(name)[:, 6:].T @ f for name, f in zip(FEET, shares, strict=True)
    )
    moved = RNG.normal(size=18)
    displaced = fc.dynamics.displace(DOG, state, 1j * STEP * world @ moved)
    return {
        "(3.116)": (
            np.imag(fc.link_pose(DOG, displaced, foot)[:3, 3]) / STEP,
            np.hstack([eye(3), -skew(r), J_b]) @ moved,
        ),
        "(3.117)": (sum(shares), load[:3]),
        "(3.118)": (sum(cross(at, f) for at, f in zip(feet, shares, strict=True)), load[3:]),
        "(3.119)": (tau, joints),
        "(3.120)": (lift @ exerted, load),
        "(3.121)": (tau, joints),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
