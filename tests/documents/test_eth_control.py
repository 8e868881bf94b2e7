"""[ETH] 2.9 and 2.10, kinematic control and floating bases, number by number."""

import numpy as np
import pytest
from printed import Printed, compared
from printed_robots import Case, case

import fallingcat as fc
from fallingcat import control
from fallingcat.lie import SO3, skew
from fallingcat.lie.charts import EulerZYX, RotationVector
from fallingcat.lie.rotations import about

PRINTED = Printed()
RNG = np.random.default_rng(10)
pinv, eye, solve = np.linalg.pinv, np.eye, np.linalg.solve
ARM = fc.robots.planar_arm()
AT = ARM.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
TIP = control.PositionTask("end_effector", velocity=[1.0, 0.0, 1.0], mask=(True, False, True))
STILL = control.JointsTask(joints=("joint1", "joint2"))
J_E, J_J, WANTED = TIP.demand(ARM, AT).J, np.eye(3)[:2], np.ones(2)


@PRINTED
def inverse_differential_kinematics():
    """2.9.1: (2.193)-(2.194), (2.208)-(2.212)."""
    single = control.velocities(ARM, AT, [[TIP]]).rates
    damped = control.velocities(ARM, AT, [[TIP]], damping=0.1).rates
    N = eye(3) - pinv(J_E) @ J_E
    q0 = RNG.normal(size=3)
    posture = control.velocities(ARM, AT, [[TIP], [control.JointsTask(velocity=q0)]]).rates
    return {
        "(2.193)": (TIP.demand(ARM, AT).velocity, J_E @ single),
        "(2.194)": (single, pinv(J_E) @ WANTED),
        "(2.208)": (damped, J_E.T @ solve(J_E @ J_E.T + 0.01 * eye(2), WANTED)),
        "(2.209)": (single, J_E.T @ solve(J_E @ J_E.T, WANTED)),
        "(2.210)": (posture, pinv(J_E) @ WANTED + N @ q0),
        "(2.211)": (J_E @ posture, WANTED),
        "(2.212)": (N @ q0, posture - single),
    }


@PRINTED
def several_tasks():
    """2.9.2: (2.214), (2.216)-(2.219), Example 2.9.1: (2.221)-(2.240), to the digits that are printed."""
    stack = np.vstack([J_E, J_J])
    both = np.append(WANTED, [0.0, 0.0])
    single = control.velocities(ARM, AT, [[TIP]]).rates
    together = control.velocities(ARM, AT, [[TIP, STILL]]).rates
    in_order = control.velocities(ARM, AT, [[TIP], [STILL]]).rates
    N = eye(3) - pinv(J_E) @ J_E
    q0 = pinv(J_J @ N, rcond=1e-9) @ (np.zeros(2) - J_J @ pinv(J_E) @ WANTED)
    prioritised = pinv(J_E) @ WANTED + N @ q0
    root3 = np.sqrt(3.0)
    digits = lambda x, k: np.round(np.asarray(x) + 0.0, k)  # noqa: E731
    error = lambda J, w, q: np.sum((w - J @ q) ** 2)  # noqa: E731
    return {
        "(2.214)": (together, pinv(stack) @ both),
        "(2.216)": (prioritised, pinv(J_E) @ WANTED + N @ q0),
        "(2.217)": (J_J @ in_order, J_J @ (pinv(J_E) @ WANTED + N @ q0)),
        "(2.218)": (N @ q0, in_order - pinv(J_E) @ WANTED),
        "(2.219)": (in_order, prioritised),
        "(2.221)": (TIP.demand(ARM, AT).velocity, WANTED),
        "(2.222)": (single, pinv(J_E) @ WANTED),
        "(2.223)": (TIP.demand(ARM, AT).velocity, np.array([1.0, 1.0])),
        "(2.224)": (J_E, 0.5 * np.array([[0, -root3, -root3], [-4, -3, -1]])),
        "(2.225)": (digits(single, 3), np.array([0.069, -0.560, -0.595])),
        "(2.226)": (J_E @ single, np.array([1.0, 1.0])),
        "(2.227)": (STILL.demand(ARM, AT).J, np.array([[1, 0, 0], [0, 1, 0]])),
        "(2.228)": (together, pinv(np.vstack([J_E, STILL.demand(ARM, AT).J])) @ both),
        "(2.229)": (together, pinv(stack) @ both),
        "(2.230)": (digits(together, 3), np.array([-0.133, -0.067, -1.132])),
        "(2.231)": (digits(stack @ together, 3), np.array([1.039, 0.933, -0.133, -0.067])),
        "(2.232)": (digits(error(J_E, WANTED, together), 4), 0.0059),
        "(2.233)": (digits(error(J_J, np.zeros(2), together), 4), 0.0223),
        "(2.234)": (1.0 + error(J_E, WANTED, single), 1.0),
        "(2.235)": (digits(error(J_J, np.zeros(2), single), 3), 0.319),
        "(2.236)": (in_order, prioritised),
        "(2.237)": (9.0 * N, np.array([[1.0, -2, 2], [-2, 4, -4], [2, -4, 4]])),
        "(2.238)": (digits(in_order, 3), np.array([-0.169, -0.085, -1.070])),
        "(2.239)": (1.0 + error(J_E, WANTED, in_order), 1.0),
        "(2.240)": (digits(error(J_J, np.zeros(2), in_order), 3), 0.036),
        "Example 2.9.1": (digits(together, 3), np.array([-0.133, -0.067, -1.132])),
    }


def planar(q):
    """Where the tip of the arm is, and its Jacobian."""
    a = np.cumsum(q)
    s, c = np.sin(a), np.cos(a)
    J = np.array([[c[i:].sum() for i in range(3)], [-s[i:].sum() for i in range(3)]])
    return np.array([s.sum(), 1.0 + c.sum()]), J


@PRINTED
def inverse_kinematics():
    """2.9.3: (2.241)-(2.244), Algorithm 1; (2.246)-(2.255)."""
    goal = planar(np.array([0.5, 0.7, -0.4]))[0]
    task = control.PositionTask("end_effector", [goal[0], 0.0, goal[1]], mask=(True, False, True))
    start = ARM.state(joints=[0.2, 0.3, 0.4])
    found = control.inverse_kinematics(ARM, [task], start, tolerance=1e-12).state.joints
    ends = {}
    for name, step in (
        ("(2.242)", lambda J, e: pinv(J) @ e),
        ("(2.243)", lambda J, e: 0.5 * pinv(J) @ e),
        ("(2.244)", lambda J, e: 0.1 * J.T @ e),
    ):
        q = start.joints
        for _ in range(3000):
            x, J = planar(q)
            if np.abs(goal - x).max() < 1e-13:
                break
            q = q + step(J, goal - x)
        ends[name] = planar(q)[0]
    wrist, chart = fc.robots.wrist(), EulerZYX()
    z, y, _ = angles = np.array([0.4, 0.9, 0.7])
    there = wrist.state(joints=angles)
    J = fc.jacobian(wrist, there, wrist.link_names[-1], "mixed")[3:]
    printed = [[0, -np.sin(z), np.cos(y) * np.cos(z)], [0, np.cos(z), np.cos(y) * np.sin(z)], [1, 0, -np.sin(y)]]
    Cz, Cy = about([0, 0, 1], z)[:3, :3], about([0, 1, 0], y)[:3, :3]
    columns = np.stack([[0.0, 0.0, 1.0], Cz @ [0.0, 1.0, 0.0], Cz @ Cy @ [1.0, 0.0, 0.0]], axis=1)
    C_IA, C_IB = (SO3().random(RNG)[:3, :3] for _ in range(2))
    C_AB = C_IA.T @ C_IB
    vector = lambda C: np.asarray(RotationVector().from_matrix(C))  # noqa: E731
    away = vector(C_AB)
    aim = control.RotationTask(wrist.link_names[-1], chart.to_matrix([0.5, 0.8, 0.6]), gain=1.0)
    error = aim.demand(wrist, there).error
    C_now = chart.to_matrix(angles)
    inertial = vector(chart.to_matrix([0.5, 0.8, 0.6]) @ C_now.T)
    stepped = control.velocities(wrist, there, [[aim]]).rates
    q = angles
    for _ in range(200):
        q = q + 0.3 * pinv(_spin(q)) @ vector(chart.to_matrix([0.5, 0.8, 0.6]) @ chart.to_matrix(q).T)
    return {
        "(2.241)": (planar(found)[0], goal),
        "Algorithm 1": (ends["(2.242)"], goal),
        "(2.242)": (ends["(2.242)"], goal),
        "(2.243)": (ends["(2.243)"], goal),
        "(2.244)": (ends["(2.244)"], goal),
        "(2.246)": (J, columns),
        "(2.247)": (J, np.array(printed)),
        "(2.248)": (error, inertial),
        "(2.249)": (C_IA @ _matrix(away), C_IB),
        "(2.250)": (away, C_AB @ away),
        "(2.251)": (vector(C_IB @ C_IA.T), C_IA @ away),
        "(2.252)": (C_IA @ vector(C_AB), vector(C_IB @ C_IA.T)),
        "(2.253)": (vector(C_IA @ C_AB @ C_IA.T), C_IA @ away),
        "(2.254)": (vector(C_IA @ C_AB @ C_IA.T), vector(C_IB @ C_IA.T)),
        "(2.255)": [(stepped, pinv(J) @ inertial), (q, np.array([0.5, 0.8, 0.6]))],
    }


def _spin(q):
    return EulerZYX().rate_matrix(q)


def _matrix(vector):
    return np.asarray(RotationVector().to_matrix(vector))


@PRINTED
def trajectories():
    """2.9.4: (2.256)-(2.258)."""
    goal, speed, k = np.array([1.2, 0.0, 2.1]), np.array([0.3, 0.0, -0.2]), 4.0
    task = control.PositionTask("end_effector", goal, velocity=speed, gain=k, mask=(True, False, True))
    at = fc.link_pose(ARM, AT, "end_effector")[:3, 3]
    error = (goal - at)[[0, 2]]
    wrist = fc.robots.wrist()
    there, w = wrist.state(joints=[0.4, 0.9, 0.7]), np.array([0.1, -0.2, 0.3])
    target = EulerZYX().to_matrix([0.5, 0.8, 0.6])
    turning = control.RotationTask(wrist.link_names[-1], target, velocity=w, gain=k)
    J_R = fc.jacobian(wrist, there, wrist.link_names[-1], "mixed")[3:]
    away = np.asarray(RotationVector().from_matrix(target @ EulerZYX().to_matrix([0.4, 0.9, 0.7]).T))
    return {
        "(2.256)": (task.demand(ARM, AT).error, error),
        "(2.257)": (control.velocities(ARM, AT, [[task]]).rates, pinv(J_E) @ (speed[[0, 2]] + k * error)),
        "(2.258)": (control.velocities(wrist, there, [[turning]]).rates, pinv(J_R) @ (w + k * away)),
    }


DOG = fc.robots.quadruped()
FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]


@PRINTED
def floating_bases():
    """2.10: (2.259)-(2.276) but (2.262), with u = [velocity in the world; spin in the body; rates]."""
    c = case()
    model, state, link, n = c.model, c.state, c.link, c.model.n
    q, v = model.flatten(state)
    C_IB, r_IB = state.pose[:3, :3], state.pose[:3, 3]
    inside = np.linalg.solve(state.pose, fc.link_pose(model, state, link))
    C_BQ, r_BQ = inside[:3, :3], inside[:3, 3]
    u = fc.changes.world_linear(model, state).T @ v
    J = fc.jacobian(model, state, link, "mixed") @ np.linalg.inv(fc.changes.world_linear(model, state).T)
    relative = lambda s: np.linalg.solve(s.pose, fc.link_pose(model, s, link))  # noqa: E731
    joints_only = Case(model, state._replace(twist=np.zeros(6)), np.zeros(6 + n), np.zeros(6 + n))
    slopes = joints_only.slopes(relative)[..., 6:]
    J_P = slopes[:3, 3]
    J_R = np.stack([_unskew(slopes[:3, :3, k] @ C_BQ.T) for k in range(n)], axis=1)
    H_dot = c.rate(lambda s: fc.link_pose(model, s, link))
    P = np.hstack([eye(3), -C_IB @ skew(r_BQ), C_IB @ J_P])
    R = np.hstack([np.zeros((3, 3)), C_IB, C_IB @ J_R])
    spin = _unskew(H_dot[:3, :3] @ (C_IB @ C_BQ).T)
    base_spin = C_IB @ u[3:6]
    local = _unskew(c.rate(relative)[:3, :3] @ C_BQ.T)
    dog = DOG.random_state(RNG)
    dog = dog._replace(joints=np.tile([0.1, 0.6, -1.2], 4) + 0.1 * RNG.normal(size=12))
    support = control.support_dynamics(DOG, dog, FEET[:3])
    N = eye(18) - pinv(support.J) @ support.J
    held = N @ RNG.normal(size=18)
    still = Case(DOG, dog._replace(twist=held[:6], rates=held[6:]), np.zeros(18), np.zeros(18))
    bias = control.support_dynamics(DOG, still.state, FEET[:3]).bias
    a = -pinv(support.J) @ bias + N @ RNG.normal(size=18)
    foot = lambda s: np.concatenate([fc.link_pose(DOG, s, name)[:3, 3] for name in FEET[:3]])  # noqa: E731
    speed = lambda s: fc.contact.contact_jacobian(DOG, s, FEET[:3]).J @ s.velocity  # noqa: E731
    task = control.BaseTask(velocity=[0.3, 0.2, -0.1, 0.5, 1, 0])
    J_t, w = task.demand(DOG, dog).J, task.demand(DOG, dog).velocity
    feet = [control.PositionTask(name) for name in FEET[:3]]
    found = control.velocities(DOG, dog, [feet, [task]], metric=eye(18)).velocity
    free = N @ RNG.normal(size=18)
    stacked = fc.contact.contact_jacobian(DOG, dog, FEET[:3])
    J_c = stacked.J
    each = [fc.contact.point_jacobian(DOG, dog, name) for name in FEET[:3]]
    base_dot = c.rate(lambda s: s.pose)
    return {
        "(2.259)": (q[7:], state.joints),
        "(2.260)": [(q[:3], r_IB), (SO3().element(q[3:7])[:3, :3], C_IB)],
        "(2.261)": (u, np.concatenate([base_dot[:3, 3], _unskew(C_IB.T @ base_dot[:3, :3]), state.rates])),
        "(2.263)": (fc.link_pose(model, state, link)[:3, 3], r_IB + C_IB @ r_BQ),
        "(2.264)": [(H_dot[:3, 3], P @ u), (J[:3], P)],
        "(2.265)": (fc.link_pose(model, state, link)[:3, :3], C_IB @ C_BQ),
        "(2.266)": (skew(spin) @ C_IB @ C_BQ, skew(base_spin) @ C_IB @ C_BQ + C_IB @ skew(local) @ C_BQ),
        "(2.267)": [(spin, base_spin + C_IB @ local), (J[3:], R)],
        "(2.268)": (J, np.vstack([P, R])),
        "(2.269)": (foot(dog) + still.rate(foot), foot(dog)),
        "(2.270)": [(speed(still.state) + 1.0, np.ones(9)), (support.J @ a, -bias)],
        "(2.271)": (J_c, np.vstack(each)),
        "(2.272)": (J_c, np.hstack([stacked.base, stacked.joints])),
        "(2.273)": (J_c[:, :6] @ free[:6], -J_c[:, 6:] @ free[6:]),
        "(2.274)": (N @ free, free),
        "(2.275)": (w, J_t @ found),
        "(2.276)": (found, N @ pinv(J_t @ N, rcond=1e-9) @ w),
    }


def _unskew(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
