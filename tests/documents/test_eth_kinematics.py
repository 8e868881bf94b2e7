"""[ETH] 2.7 to 2.10, number by number; (2.215), (2.220), (2.262) need the corrections of the errata."""

import numpy as np
import pytest
from printed import STEP, Printed, compared
from printed_robots import Case, case

import fallingcat as fc
from fallingcat.lie import Trivial, skew
from fallingcat.lie.charts import Cartesian, EulerZYX, PlanarAngle, PlanarPosition
from fallingcat.lie.rotations import about

PRINTED = Printed()
RNG = np.random.default_rng(9)
pinv, eye, cross = np.linalg.pinv, np.eye, np.cross
FREE = case()
MODEL, STATE = FREE.model, FREE.state
LINK = FREE.link


def vee(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


@PRINTED
def moving_bodies():
    """2.7: (2.117)-(2.122), (2.124)-(2.129), with a point P fixed to a link B."""
    p = np.array([0.3, -0.2, 0.5])
    H = lambda s: fc.link_pose(MODEL, s, LINK)  # noqa: E731
    P = lambda s: (H(s) @ np.append(p, 1.0))[:3]  # noqa: E731
    J = lambda s: fc.jacobian(MODEL, s, LINK, "mixed", point=p)[:3]  # noqa: E731
    C_AB, r_AB = H(STATE)[:3, :3], H(STATE)[:3, 3]
    C_dot, r_dot = FREE.rate(H)[:3, :3], FREE.rate(H)[:3, 3]
    twist = fc.link_twist(MODEL, STATE, LINK, "mixed")
    w, r = twist[3:], C_AB @ p
    acceleration = fc.dynamics.link_acceleration(MODEL, STATE, FREE.acceleration, LINK, "mixed")
    point = FREE.rate(lambda s: J(s) @ s.velocity)
    formula = acceleration[:3] + cross(acceleration[3:], r) + cross(w, cross(w, r))
    own = lambda s: H(s)[:3, :3].T @ P(s)  # noqa: E731, coordinates of r_AP in the axes of B
    own_dot = FREE.rate(own)
    v_P = FREE.rate(P)
    return {
        "(2.117)": (P(STATE), r_AB + C_AB @ p),
        "(2.118)": (v_P, r_dot + C_dot @ p),
        "(2.119)": (v_P, r_dot + skew(w) @ C_AB @ p),
        "(2.120)": (v_P, r_dot + cross(w, r)),
        "(2.121)": (J(STATE) @ STATE.velocity, twist[:3] + cross(w, r)),
        "(2.122)": (point, formula),
        "(2.124)": (J(STATE) @ STATE.velocity, v_P),
        "(2.125)": (C_AB.T @ v_P, C_AB.T @ FREE.rate(lambda s: H(s)[:3, :3] @ own(s))),
        "(2.126)": (C_AB.T @ v_P, C_AB.T @ (C_AB @ own_dot + C_dot @ own(STATE))),
        "(2.127)": (C_AB.T @ v_P, C_AB.T @ (C_AB @ own_dot + skew(w) @ C_AB @ own(STATE))),
        "(2.128)": (C_AB.T @ v_P, own_dot + C_AB.T @ skew(w) @ C_AB @ own(STATE)),
        "(2.129)": (C_AB.T @ v_P, own_dot + cross(C_AB.T @ w, own(STATE))),
    }


ARM = fc.robots.planar_arm()
AT = ARM.state(joints=[0.3, 0.4, -0.9], rates=[0.3, -1.0, 2.0])
TIP = "end_effector"
XZ = PlanarPosition("x", "z"), PlanarAngle((0.0, 1.0, 0.0))
OF_ARM = Case(ARM, AT, np.zeros(3), np.zeros(3))


def angles(q):
    a = np.cumsum(q)
    return np.sin(a), np.cos(a)


@PRINTED
def parameters_and_analytical_jacobians():
    """2.8.1 to 2.8.4: (2.130)-(2.150) but names of coordinates; (2.189)-(2.192)."""
    chain = fc.robots.random_tree(np.random.default_rng(2), 4, ["revolute"], base=Trivial(), branching=0.0)
    state = chain.random_state(RNG)
    link = chain.link_names[-1]
    product = eye(4)
    for joint, place in zip(chain.joints, chain.q_slices, strict=True):
        product = product @ joint.transform(state.joints[place])
    joint = chain.joints[0]
    q0 = state.joints[:1]
    before = fc.link_pose(chain, state, joint.parent)
    H = fc.link_pose(chain, state, link)
    chart = EulerZYX()
    chi = lambda s: fc.dynamics.end_effector_parameters(chain, s, link, Cartesian(), chart)  # noqa: E731
    of_chain = Case(chain, state, np.zeros(4), np.zeros(4))
    J_A = fc.dynamics.analytical_jacobian(chain, state, link, Cartesian(), chart)
    d, h = RNG.normal(size=4), 1e-4
    difference = (chi(fc.dynamics.displace(chain, state, h * d)) - chi(fc.dynamics.displace(chain, state, -h * d))) / (
        2.0 * h
    )
    third = (
        chi(fc.dynamics.displace(chain, state, 2 * h * d)) - chi(fc.dynamics.displace(chain, state, -2 * h * d))
    ) / (4.0 * h)
    exact = (4.0 * difference - third) / 3.0
    J0 = fc.jacobian(chain, state, link, "mixed")
    E = np.block([[eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), chart.rate_matrix(chi(state)[3:])]])
    s, c = angles(AT.joints)
    x = fc.dynamics.end_effector_parameters(ARM, AT, TIP, *XZ)
    J = fc.dynamics.analytical_jacobian(ARM, AT, TIP, *XZ)
    rows = np.array([[c[i:].sum() for i in range(3)], [-s[i:].sum() for i in range(3)]])
    w = J0 @ state.rates
    scara = fc.robots.scara()
    bent = scara.random_state(RNG)
    a, b, g, zeta = bent.joints
    tip = scara.link_names[-1]
    four = fc.dynamics.end_effector_parameters(scara, bent, tip, Cartesian(), PlanarAngle((0.0, 0.0, 1.0)))
    return {
        "(2.130)": (fc.link_pose(chain, state, joint.child), before @ joint.transform(q0)),
        "(2.133)": (np.append(H[:3, 3], chart.from_matrix(H[:3, :3])), chi(state)),
        "(2.134)": (chi(state), np.append(H[:3, 3], chart.from_matrix(H[:3, :3]))),
        "(2.135)": (x, np.append(fc.link_pose(ARM, AT, TIP)[[0, 2], 3], AT.joints.sum())),
        "(2.136)": (four[:3], fc.link_pose(scara, bent, tip)[:3, 3]),
        "(2.137)": (chi(state), np.append(product[:3, 3], chart.from_matrix(product[:3, :3]))),
        "(2.138)": (H, product),
        "(2.140)": (x, np.concatenate([[s.sum(), 1.0 + c.sum()], [AT.joints.sum()]])),
        "(2.141)": (x[:2], np.array([s.sum(), 1.0 + c.sum()])),
        "(2.142)": (x[2], AT.joints.sum()),
        "(2.143)": (exact, J_A @ d),
        "(2.144)": (np.imag(chi(of_chain.moved(d))) / STEP, J_A @ d),
        "(2.145)": (of_chain.slopes(chi), J_A),
        "(2.146)": (np.imag(chi(of_chain.moved(state.rates))) / STEP, J_A @ state.rates),
        "(2.147)": (of_chain.rate(chi), J_A @ state.rates),
        "(2.148)": [(J_A[:3], of_chain.slopes(chi)[:3]), (J_A[3:], of_chain.slopes(chi)[3:])],
        "(2.149)": (J[:2], rows),
        "(2.150)": (J[2], np.ones(3)),
        "Example 2.8.5": (x[:2], np.array([s.sum(), 1.0 + c.sum()])),
        "Example 2.8.6": (J, np.vstack([rows, np.ones(3)])),
        "Example 2.8.4": (four[3], np.arctan2(np.sin(a + b + g), np.cos(a + b + g))),
        "(2.132)": (
            fc.link_pose(scara, bent, tip)[2, 3]
            - fc.link_pose(scara, bent._replace(joints=np.array([a, b, g, 0.0])), tip)[2, 3],
            _sign(scara) * zeta,
        ),
        "(2.189)": (of_chain.rate(chi), J_A @ state.rates),
        "(2.190)": (fc.link_twist(chain, state, link, "mixed"), w),
        "(2.191)": (w, E @ (J_A @ state.rates)),
        "(2.192)": (J0, E @ J_A),
    }


def _sign(scara):
    """Which way the slide moves."""
    neutral = scara.neutral()
    pushed = neutral._replace(joints=np.array([0.0, 0.0, 0.0, 1.0]))
    return (
        fc.link_pose(scara, pushed, scara.link_names[-1])[2, 3]
        - fc.link_pose(scara, neutral, scara.link_names[-1])[2, 3]
    )


@PRINTED
def geometric_jacobians():
    """2.8.5: (2.151)-(2.167), on a chain of hinges."""
    chain = fc.robots.random_tree(np.random.default_rng(2), 4, ["revolute"], base=Trivial(), branching=0.0)
    state = chain.random_state(RNG)
    qd, links = state.rates, chain.link_names
    hand = links[-1]
    poses = [fc.link_pose(chain, state, name) for name in links[1:]]
    spins = [fc.link_twist(chain, state, name, "mixed") for name in links[1:]]
    # the frame of each hinge is that of its child; its axis in the world
    axes = [fc.jacobian(chain, state, name, "mixed")[3:, k] for k, name in enumerate(links[1:])]
    # a point on each axis: the joint's own frame before the child's offset
    points = [(p @ np.linalg.inv(j.offset))[:3, 3] for p, j in zip(poses, chain.joints, strict=True)]
    end = poses[-1][:3, 3]
    J = fc.jacobian(chain, state, hand, "mixed")
    arms = [end - point for point in points]
    P = np.stack([cross(n, r) for n, r in zip(axes, arms, strict=True)], axis=1)
    R = np.stack(axes, axis=1)
    to_next = [b - a for a, b in zip(points, [*points[1:], end], strict=True)]
    ends = [*points[1:], end]
    inside = [np.linalg.solve(p, np.append(x, 1.0))[:3] for p, x in zip(poses, ends, strict=True)]  # ends of links
    speed = lambda k: fc.jacobian(chain, state, links[k + 1], "mixed", point=inside[k])[:3] @ qd  # noqa: E731
    before = speed(0)
    local = [j.placement[:3, :3] @ j.kind.group.selection[3:, 0] for j in chain.joints]  # in the frame before
    other = fc.link_pose(chain, state, links[1])[:3, :3].T
    turned = fc.dynamics.relative_jacobian(chain, state, hand, axes=links[1])
    middle = fc.dynamics.relative_jacobian(chain, state, links[2], axes=links[1])
    between = fc.dynamics.relative_jacobian(chain, state, hand, links[2], axes=links[1])
    w = [s[3:] for s in spins]
    return {
        "(2.151)": (fc.link_twist(chain, state, hand, "mixed"), J @ qd),
        "(2.152)": (np.kron(eye(2), other) @ fc.link_twist(chain, state, hand, "mixed"), turned @ qd),
        "(2.153)": (turned @ qd, middle @ qd + between @ qd),
        "(2.154)": (turned, middle + between),
        "(2.155)": (speed(1), before + cross(w[1], to_next[1])),
        "(2.156)": (J[:3] @ qd, sum(cross(w[k], to_next[k]) for k in range(4))),
        "(2.157)": (w[1] - w[0], axes[1] * qd[1]),
        "(2.158)": (w[2], w[1] + axes[2] * qd[2]),
        "(2.159)": (w[3], sum(n * rate for n, rate in zip(axes, qd, strict=True))),
        "(2.160)": (J[:3] @ qd, sum(cross(sum(axes[i] * qd[i] for i in range(k + 1)), to_next[k]) for k in range(4))),
        "(2.161)": (J[:3] @ qd, sum(cross(axes[k] * qd[k], sum(to_next[k:])) for k in range(4))),
        "(2.162)": (J[:3] @ qd, sum(cross(axes[k] * qd[k], arms[k]) for k in range(4))),
        "(2.163)": (J[:3], P),
        "(2.164)": (J[3:], R),
        "(2.165)": (J, np.vstack([P, R])),
        "(2.166)": (fc.jacobian(chain, state, hand, "mixed"), np.vstack([P, R])),
        "(2.167)": (
            np.array(axes),
            np.array(
                [fc.link_pose(chain, state, j.parent)[:3, :3] @ n for j, n in zip(chain.joints, local, strict=True)]
            ),
        ),
    }


@PRINTED
def jacobian_of_the_planar_arm():
    """Example 2.8.7: (2.169)-(2.188)."""
    s, c = angles(AT.joints)
    y = np.array([0.0, 1.0, 0.0])
    names = ARM.link_names
    poses = [fc.link_pose(ARM, AT, name)[:3, :3] for name in names[1:4]]
    printed = [np.array([[c[k], 0, s[k]], [0, 1, 0], [-s[k], 0, c[k]]]) for k in range(3)]
    J = fc.jacobian(ARM, AT, TIP, "mixed")
    tip = fc.link_pose(ARM, AT, TIP)[:3, 3]
    joints = [fc.link_pose(ARM, AT, name)[:3, 3] for name in names[1:4]]
    rods = [np.array([s[k], 0.0, c[k]]) for k in range(3)]
    local = np.array([0.0, 0.0, 1.0])
    ways = [tip - joint for joint in joints]
    table = np.array([[c[i:].sum() for i in range(3)], [0.0] * 3, [-s[i:].sum() for i in range(3)]])
    columns = np.stack([cross(y, way) for way in ways], axis=1)
    return {
        "(2.169)": (poses[0], printed[0]),
        "(2.170)": [(poses[1], printed[1]), (poses[1], poses[0] @ about(y, AT.joints[1])[:3, :3])],
        "(2.171)": [(poses[2], printed[2]), (poses[2], poses[1] @ about(y, AT.joints[2])[:3, :3])],
        "(2.172)": (np.array([j.kind.group.selection[3:, 0] for j in ARM.joints]), np.array([y] * 3)),
        "(2.173)": (J[3:, 0], y),
        "(2.174)": (J[3:, 1], poses[0] @ y),
        "(2.175)": (J[3:, 2], poses[1] @ y),
        "(2.176)": (ways[0], (joints[1] - joints[0]) + (joints[2] - joints[1]) + ways[2]),
        "(2.177)": (ways[0], poses[0] @ local + poses[1] @ local + poses[2] @ local),
        "(2.178)": (ways[0], rods[0] + rods[1] + rods[2]),
        "(2.179)": (ways[1], (joints[2] - joints[1]) + ways[2]),
        "(2.180)": (ways[1], poses[1] @ local + poses[2] @ local),
        "(2.181)": (ways[1], rods[1] + rods[2]),
        "(2.183)": (ways[2], poses[2] @ local),
        "(2.184)": (ways[2], rods[2]),
        "(2.185)": (J[:3], columns),
        "(2.186)": (J[:3], table),
        "(2.187)": (J[3:], np.stack([y, y, y], axis=1)),
        "(2.188)": (J[3:], np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]])),
        "Example 2.8.7": (J, np.vstack([table, np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]])])),
    }


@PRINTED
def pseudo_inverses():
    """2.9.1: (2.195)-(2.207), facts about matrices."""
    tall, wide = RNG.normal(size=(5, 3)), RNG.normal(size=(3, 5))
    b, c, x0, t = RNG.normal(size=5), RNG.normal(size=3), RNG.normal(size=5), 0.3
    B = wide.T @ np.linalg.inv(wide @ wide.T) + (eye(5) - pinv(wide) @ wide) @ RNG.normal(size=(5, 3))
    x = pinv(tall) @ b
    gradient = np.stack(
        [np.imag((tall @ (x + 1j * STEP * e) - b) @ (tall @ (x + 1j * STEP * e) - b)) / STEP for e in eye(3)]
    )
    off = x + np.array([0.1, -0.2, 0.3])
    least = np.linalg.lstsq(tall, b, rcond=None)[0]
    damped = wide.T @ np.linalg.inv(wide @ wide.T + t**2 * eye(3))
    ridge = np.linalg.lstsq(np.vstack([wide, t * eye(5)]), np.append(c, np.zeros(5)), rcond=None)[0]
    return {
        "(2.195)": (wide @ B @ wide, wide),
        "(2.196)": (wide @ pinv(wide) @ wide, wide),
        "(2.197)": (pinv(wide) @ wide @ pinv(wide), pinv(wide)),
        "(2.198)": ((pinv(wide) @ wide).T, pinv(wide) @ wide),
        "(2.199)": ((wide @ pinv(wide)).T, wide @ pinv(wide)),
        "(2.200)": (pinv(tall), np.linalg.inv(tall.T @ tall) @ tall.T),
        "(2.201)": (np.sum((tall @ off - b) ** 2), (tall @ off - b) @ (tall @ off - b)),
        "(2.202)": (x, least),
        "(2.203)": (gradient + 2.0 * tall.T @ b, 2.0 * tall.T @ tall @ x),
        "(2.204)": (np.linalg.solve(tall.T @ tall, tall.T @ b), x),
        "(2.205)": (pinv(wide), wide.T @ np.linalg.inv(wide @ wide.T)),
        "(2.206)": (wide @ (pinv(wide) @ c + (eye(5) - pinv(wide) @ wide) @ x0), c),
        "(2.207)": (damped @ c, ridge),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
