"""Errata of [ETH]: charts (2.2-2.5), kinematic control (2.9-2.10), dynamics and its control (3.4-3.11).

The control laws are evaluated here in a few lines of NumPy; nothing of the library's own control is asked.
"""

import numpy as np
import pytest
from misprints import misprint
from oracles.projected_newton_euler import bias_forces, gravity_forces, jacobians, mass_matrix
from residuals import agree, residual
from scipy.spatial.transform import Rotation

import fallingcat as fc
from fallingcat.lie import skew
from fallingcat.lie.charts import AngleAxis, EulerXYZ, EulerZXZ, EulerZYX, EulerZYZ, RotationVector, UnitQuaternion

STEP = 1e-30
pinv = np.linalg.pinv

seeds = pytest.mark.parametrize("seed", range(5))


def null_space(*rows):
    """The orthogonal projector on what none of the matrices moves."""
    stacked = np.vstack(rows)
    return np.eye(stacked.shape[1]) - pinv(stacked, rcond=1e-10) @ stacked


def unit(n):
    return np.asarray(n) / np.linalg.norm(n)


# rotations, 2.2 to 2.5

EULER_CHARTS = [EulerZYX(), EulerXYZ(), EulerZYZ(), EulerZXZ()]
SINGULAR_ANGLE = {"zyx": np.pi / 2, "xyz": -np.pi / 2, "zyz": np.pi, "zxz": 0.0}


@pytest.mark.parametrize("chart", EULER_CHARTS, ids=lambda chart: chart.name)
def test_euler_angles_on_the_singular_set(chart):
    """(2.35), (2.39), (2.42), (2.45): no restriction; there `atan2(0, 0)` appears twice and names another rotation."""
    R = chart.to_matrix([0.0, SINGULAR_ANGLE[chart.sequence], np.pi / 2]).round()  # exact
    c11, c12, c13, c21, _, c23, c31, c32, c33 = R.ravel()
    printed = {
        "zyz": [np.arctan2(c23, c13), np.arctan2(np.hypot(c13, c23), c33), np.arctan2(c32, -c31)],
        "zxz": [np.arctan2(c13, -c23), np.arctan2(np.hypot(c13, c23), c33), np.arctan2(c31, c32)],
        "zyx": [np.arctan2(c21, c11), np.arctan2(-c31, np.hypot(c32, c33)), np.arctan2(c32, c33)],
        "xyz": [np.arctan2(-c23, c33), np.arctan2(c13, np.hypot(c11, c12)), np.arctan2(-c12, c11)],
    }[chart.sequence]
    misprint("Euler angles", chart.to_matrix(printed), chart.to_matrix(chart.from_matrix(R)), R, 1e-15)


def printed_quaternion(c):
    """(2.55), scalar first, with its `sgn(0) = 1`."""
    x, y, z = np.diag(c)
    squares = 1.0 + np.array([x + y + z, x - y - z, y - z - x, z - x - y])
    signs = np.where(np.array([0.0, c[2, 1] - c[1, 2], c[0, 2] - c[2, 0], c[1, 0] - c[0, 1]]) >= 0.0, 1.0, -1.0)
    return 0.5 * signs * np.sqrt(np.maximum(squares, 0.0))


def test_quaternion_of_a_half_turn():
    """(2.55): at half turns all signs come from `sgn(0) = 1`; that about (1, -1, 0) becomes that about (1, 1, 0)."""
    chart, R = UnitQuaternion(), np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    printed = chart.to_matrix(np.roll(printed_quaternion(R), -1))
    misprint("(2.55)", printed, chart.to_matrix(chart.from_matrix(R)), R, 1e-15)
    elsewhere = EulerZYX().to_matrix([0.1, 0.2, 0.3])
    agree("(2.55)", np.roll(printed_quaternion(elsewhere), -1), chart.from_matrix(elsewhere), 1e-14)


def test_angle_near_zero_and_pi():
    """(2.49)-(2.50): "a problem for 0 and pi"; near both the arccosine already loses half of the digits."""
    for angle in (1e-9, np.pi - 1e-9):
        R = AngleAxis().to_matrix([angle, 0.0, 0.6, 0.8])
        printed = np.arccos(np.clip((np.trace(R) - 1.0) / 2.0, -1.0, 1.0))
        assert abs(printed - angle) > 5e-10
        assert abs(AngleAxis().from_matrix(R)[0] - angle) < 1e-15


def test_rates_of_angle_and_axis_at_full_turns():
    """(2.101), (2.103): "for all theta but 0"; the formula divides by `1 - cos theta`, zero at every full turn."""
    n = unit([1.0, 2.0, -3.0])
    for theta in (2.0 * np.pi, -4.0 * np.pi):
        with np.errstate(divide="ignore", invalid="ignore"):
            assert not abs(-0.5 * np.sin(theta) / (1.0 - np.cos(theta))) < 1e7
        assert np.linalg.matrix_rank(AngleAxis().rate_matrix([theta, *n]), tol=1e-9) == 1  # no inverse of any kind
    assert np.linalg.matrix_rank(AngleAxis().rate_matrix([1.0, *n]), tol=1e-9) == 3


def test_rates_of_the_rotation_vector_at_zero_and_full_turns():
    """(2.104)-(2.107): "for all norms but 0"; both are smooth at 0, and the inverse is lost at full turns."""
    chart, n = RotationVector(), unit([1.0, 2.0, -3.0])
    agree("at 0", chart.rate_matrix(np.zeros(3)), np.eye(3), 0.0)
    agree("at 0", chart.rate_matrix_inverse(np.zeros(3)), np.eye(3), 0.0)
    assert np.linalg.matrix_rank(chart.rate_matrix(2.0 * np.pi * n), tol=1e-9) == 1


@seeds
def test_which_quaternion_rotates_a_vector(seed):
    """Before (2.63): "xi_AB, the orientation of A w.r.t. B"; the formula needs that of B in A, as (2.54) has it."""
    rng = np.random.default_rng(seed)
    R_ab, r_b = Rotation.random(random_state=rng), rng.normal(size=3)

    def rotated(R):
        """(2.63) with (2.57), scalar first."""
        w, v = R.as_quat()[3], R.as_quat()[:3]
        first = np.append(-v @ r_b, w * r_b + np.cross(v, r_b))
        return w * first[1:] - first[0] * v + np.cross(first[1:], -v)

    misprint("(2.63)", rotated(R_ab.inv()), rotated(R_ab), R_ab.as_matrix() @ r_b)


def printed_E_xyz(x, y, _, sign):
    s, c = np.sin, np.cos
    return np.array([[1, 0, s(y)], [0, c(x), sign * c(y) * s(x)], [0, s(x), c(x) * c(y)]])


def joint_matrices(q):
    """`Czyx` and the basic Jacobian `J0` of A.2; the loops call the first one `Cxyz`."""
    (cz, cy, cx), (sz, sy, sx) = np.cos(q), np.sin(q)
    Cz = np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]])
    Cy = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    Cx = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    return Cz @ Cy @ Cx, np.column_stack([[0.0, 0.0, 1.0], Cz[:, 1], (Cz @ Cy)[:, 0]])


def updates_to_the_goal(sign):
    """The second loop of A.2, from `q_0` to `q_goal`; None if it does not arrive."""

    def angles(C):  # rotmat2euleranglesXYZ
        return np.arctan2([-C[1, 2], C[0, 2], -C[0, 1]], [C[2, 2], np.hypot(C[0, 0], C[0, 1]), C[0, 0]])

    q, goal = np.array([-0.7, 0.0, 1.5]), angles(joint_matrices(np.array([0.7, 1.5, -0.5]))[0])
    for i in range(10000):
        C, J0 = joint_matrices(q)
        chi = angles(C)
        error = goal - chi
        if np.linalg.norm(error) < 0.01:
            return i
        q = q + 1e-3 * np.linalg.solve(np.linalg.solve(printed_E_xyz(*chi, sign), J0), error)
    return None


def test_program_for_euler_xyz():
    """A.2: `+cos y sin x` in `E_eulerXYZ`; (2.88) has the minus, and only with it the program arrives."""
    rng = np.random.default_rng(0)
    chi = rng.uniform(0.2, 1.2, size=3)
    columns = [np.imag(EulerXYZ().to_matrix(chi + 1j * STEP * e)) / STEP for e in np.eye(3)]
    spins = [dR @ EulerXYZ().to_matrix(chi).T for dR in columns]
    truth = np.stack([[W[2, 1], W[0, 2], W[1, 0]] for W in spins], axis=1)
    misprint("A.2", printed_E_xyz(*chi, 1.0), printed_E_xyz(*chi, -1.0), truth)
    assert updates_to_the_goal(-1.0) == 5866
    assert updates_to_the_goal(+1.0) is None


@seeds
def test_which_rate_matrix_example_2_9_7_means(seed):
    """Example 2.9.7, step 3: E of XYZ "given by (2.89)"; that is its inverse, and E is (2.88)."""
    chart = EulerXYZ()
    chi, rates = np.random.default_rng(seed).uniform(0.2, 1.2, size=(2, 3))
    dR = np.imag(chart.to_matrix(chi + 1j * STEP * rates)) / STEP @ chart.to_matrix(chi).T
    truth = np.array([dR[2, 1], dR[0, 2], dR[1, 0]])
    misprint("2.9.7", chart.rate_matrix_inverse(chi) @ rates, printed_E_xyz(*chi, -1.0) @ rates, truth)


# kinematic control, 2.9 and 2.10

ARM = 0.5 * np.array([[0.0, -np.sqrt(3.0), -np.sqrt(3.0)], [-4.0, -3.0, -1.0]])  # (2.224)
WANTED = np.array([1.0, 1.0])
FIRST_TWO = np.eye(3)[:2]


@seeds
def test_weighted_pseudo_inverse(seed):
    """(2.215): `(J' W J)^-1 J' W` exists for full column rank only; `(W^1/2 J)^+ W^1/2` for every J."""
    rng = np.random.default_rng(seed)
    root = np.diag(rng.uniform(0.5, 2.0, size=5))
    W = root @ root
    tall, wide = rng.normal(size=(5, 3)), rng.normal(size=(5, 7))
    agree("tall", np.linalg.solve(tall.T @ W @ tall, tall.T @ W), pinv(root @ tall) @ root)
    assert np.linalg.matrix_rank(wide.T @ W @ wide) == 5 < 7  # nothing to invert
    agree("wide", wide @ pinv(root @ wide) @ root, np.eye(5))


@seeds
def test_null_space_of_the_tasks_before(seed):
    """(2.220): the sums use `N_{i-1}`, defined by tasks 1 ... i-2; (3.83) has the projector of tasks 1 ... i-1."""
    rng = np.random.default_rng(seed)
    tasks = [(rng.normal(size=(2, 6)), rng.normal(size=2)) for _ in range(3)]

    def solved(seen):
        """The recursion, where task i (from 1) may not disturb the tasks `1 ... i - seen`."""
        q = np.zeros(6)
        for i, (J, w) in enumerate(tasks, start=1):
            N = null_space(np.zeros((1, 6)), *(A for A, _ in tasks[: max(i - seen, 0)]))
            q = q + N @ pinv(J @ N, rcond=1e-10) @ (w - J @ q)
        return q

    stacked = np.vstack([J for J, _ in tasks])
    truth = np.linalg.solve(stacked, np.concatenate([w for _, w in tasks]))  # three tasks that fit together
    misprint("(2.220)", solved(seen=2), solved(seen=1), truth)


def test_second_task_of_example_2_9_1():
    """Before (2.227): "keep all joint velocities equal"; `J_j` asks that the first two are zero."""
    stacked = np.vstack([ARM, FIRST_TWO])
    zero = pinv(stacked) @ np.append(WANTED, [0.0, 0.0])
    equal = pinv(np.vstack([ARM, [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]])) @ np.append(WANTED, [0.0, 0.0])
    misprint("(2.230)", equal, zero, np.array([-0.133, -0.067, -1.132]), 5e-4)


def test_both_tasks_are_not_equally_violated():
    """After (2.233): "equally violated"; the printed errors 0.0059 and 0.0223 are right, and differ."""
    q = pinv(np.vstack([ARM, FIRST_TWO])) @ np.append(WANTED, [0.0, 0.0])
    errors = [np.sum((WANTED - ARM @ q) ** 2), np.sum((FIRST_TWO @ q) ** 2)]
    assert [round(e, 4) for e in errors] == [0.0059, 0.0223]


def test_transposed_jacobian_may_stand_still():
    """After (2.244): "convergence can be guaranteed" for small alpha; not where `J' e = 0` with `e != 0`."""

    def tip(q):
        a = np.cumsum(q)
        return np.array([np.sin(a).sum(), np.cos(a).sum()])

    upright, goal = np.zeros(3), np.array([0.0, 1.0])  # straight up; the goal is below, and can be reached
    J = np.array([np.imag(tip(upright + 1j * STEP * e)) / STEP for e in np.eye(3)]).T
    error = goal - tip(upright)
    assert np.linalg.norm(error) == 2.0
    agree("J' e", J.T @ error, np.zeros(3), 0.0)
    assert tip(np.array([0.0, np.pi, np.pi]))[1] == pytest.approx(1.0)


@seeds
def test_generalized_velocity_of_a_floating_base(seed):
    """(2.262): `E_chi` gives the spin in the inertial frame; u of (2.261) has it in the body: `C_BI E_chi`."""
    chart = EulerZYX()
    chi, rates = np.random.default_rng(seed).uniform(0.2, 1.2, size=(2, 3))
    C = chart.to_matrix(chi)
    dC = np.imag(chart.to_matrix(chi + 1j * STEP * rates)) / STEP
    hat = C.T @ dC  # of the body-fixed spin
    E = chart.rate_matrix(chi)
    misprint("(2.262)", E @ rates, C.T @ E @ rates, np.array([hat[2, 1], hat[0, 2], hat[1, 0]]))


# dynamics, 3.4 to 3.7


def robot(seed, joints=5):
    rng = np.random.default_rng(seed)
    model = fc.robots.random_tree(rng, joints, kinds=["revolute", "prismatic"])
    return model, model.random_state(rng), rng


@seeds
def test_jacobian_of_motion_constraints(seed):
    """(3.35)-(3.37): `J_m` of (3.36) has a column per constraint, while (3.37) adds `J_m' lambda`: it needs a row."""
    rng = np.random.default_rng(seed)
    half, a, tau = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), rng.normal(size=4)
    M = half @ half.T + np.eye(4)

    def acceleration(J_m):
        """(3.37) at rest, with the constraints (3.35): `sum_k a_kj qdd_k = 0`, a[k, j] of four coordinates."""
        whole = np.block([[M, J_m.T], [a.T, np.zeros((2, 2))]])
        return np.linalg.solve(whole, np.append(tau, np.zeros(2)))[:4]

    allowed = np.linalg.svd(a.T)[2][2:].T  # motions that the constraints leave
    truth = allowed @ np.linalg.solve(allowed.T @ M @ allowed, allowed.T @ tau)
    agree("(3.37)", acceleration(J_m=a.T), truth)
    with pytest.raises(ValueError, match="dimensions"):
        acceleration(J_m=a)  # as printed: forces on two coordinates for four multipliers


@seeds
def test_where_an_actuator_acts(seed):
    """(3.52): Jacobians of the centers of mass; a force between two links needs those of its points of application."""
    model, state, rng = robot(seed)
    a, b = 1, len(model.links) - 1
    force, at_a, at_b = rng.normal(size=3), *rng.normal(size=(2, 3))  # points in link axes, from the centers
    J = jacobians(model, state)
    poses = [fc.link_pose(model, state, name) for name in model.link_names]

    def of_point(i, place):
        return J[i].position - poses[i][:3, :3] @ skew(place) @ J[i].rotation

    v = state.velocity
    speeds = [
        J[i].position @ v + poses[i][:3, :3] @ np.cross(J[i].rotation @ v, place) for i, place in ((a, at_a), (b, at_b))
    ]
    printed = (J[b].position - J[a].position).T @ force
    right = (of_point(b, at_b) - of_point(a, at_a)).T @ force
    misprint("(3.52)", printed @ v, right @ v, (speeds[1] - speeds[0]) @ force)


# control, 3.8 to 3.11


def test_gains_for_three_hertz():
    """3.8.1: 350 and 37 for 3 Hz and critical damping; by (3.79)-(3.80) 355.3 and 37.7, and 37 / 350 damps 0.989."""
    k_p = (2.0 * np.pi * 3.0) ** 2
    assert (round(k_p, 1), round(2.0 * np.sqrt(k_p), 1)) == (355.3, 37.7)
    assert round(37.0 / (2.0 * np.sqrt(350.0)), 3) == 0.989


def arm_equations(rng, joints, tasks):
    """A made-up arm: `M`, `b`, `g`, a task Jacobian and its bias `dJ/dt qd`."""
    half = rng.normal(size=(joints, joints))
    return (
        half @ half.T + np.eye(joints),
        *rng.normal(size=(2, joints)),
        rng.normal(size=(tasks, joints)) + 3.0 * np.eye(tasks, joints),
        rng.normal(size=tasks),
    )


@seeds
def test_simplified_end_effector_control(seed):
    """(3.94)-(3.96): the same as (3.90) for square J only; on a redundant arm another torque, with the same task."""
    rng = np.random.default_rng(seed)
    for joints in (3, 5):
        M, b, g, J, bias = arm_equations(rng, joints, 3)
        inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
        wanted = rng.normal(size=3)
        simple = J.T @ inertia @ (wanted - bias) + b + g
        whole = J.T @ (inertia @ wanted + inertia @ (J @ np.linalg.solve(M, b + g) - bias))
        for torque in (simple, whole):
            agree("the task", J @ np.linalg.solve(M, torque - b - g) + bias, wanted)
        if joints == 3:
            agree("(3.96), square", simple, whole)
        else:
            assert residual(simple, whole) > 1e-3


@seeds
def test_selection_in_a_rotated_frame(seed):
    """(3.99): `C' Sigma C` is right if C maps into the contact frame; its orientation `C_IF` needs `C Sigma C'`."""
    rng = np.random.default_rng(seed)
    C, Sigma = Rotation.random(random_state=rng).as_matrix(), np.diag([1.0, 1.0, 0.0])
    normal = C[:, 2]  # the blocked axis of the contact frame, in the inertial one
    motion = rng.normal(size=3)
    truth = motion - normal * (normal @ motion)
    misprint("(3.99)", C.T @ Sigma @ C @ motion, C @ Sigma @ C.T @ motion, truth)
    into = C.T  # C_FI
    agree("(3.99) with C_FI", into.T @ Sigma @ into @ motion, truth)


@seeds
def test_rank_for_which_the_cost_vanishes(seed):
    """Note to (3.108): "full column rank"; the tasks before can all be met when they have full row rank."""
    rng = np.random.default_rng(seed)
    columns, rows = rng.normal(size=(7, 4)), rng.normal(size=(4, 7))
    for A, cost_is_zero in ((columns, False), (rows, True)):
        b = rng.normal(size=len(A))
        assert bool(np.linalg.norm(A @ pinv(A) @ b - b) < 1e-10) is cost_is_zero


@seeds
def test_which_tasks_may_not_change(seed):
    """3.10.3: "tasks of lower priority are not allowed to change"; the constraints of (3.108) are the higher ones."""
    rng = np.random.default_rng(seed)
    (A1, b1), (A2, b2) = ((rng.normal(size=(3, 4)), rng.normal(size=3)) for _ in range(2))
    first = pinv(A1) @ b1
    N = null_space(A1)
    x = first + N @ pinv(A2 @ N, rcond=1e-10) @ (b2 - A2 @ first)
    agree("the higher one is kept", A1 @ x, b1)
    assert residual(A2 @ x, A2 @ first) > 1e-3  # the lower one has moved


@seeds
def test_acceleration_task(seed):
    """(3.111): `w* - J u`, with a velocity where the bias `dJ/dt u` belongs."""
    rng = np.random.default_rng(seed)
    _, _, _, J, bias = arm_equations(rng, 6, 3)
    u, wanted = rng.normal(size=6), rng.normal(size=3)
    printed, right = (J @ pinv(J) @ (wanted - x) + bias for x in (J @ u, bias))
    misprint("(3.111)", printed, right, wanted)


def solve_in_order(tasks):
    """Algorithm 2."""
    size = tasks[0][0].shape[1]
    x, N, rows = np.zeros(size), np.eye(size), np.zeros((0, size))
    for A, b in tasks:
        x = x + N @ pinv(A @ N, rcond=1e-10) @ (b - A @ x)
        rows = np.vstack([rows, A])
        N = null_space(rows)
    return x


def test_contact_task_of_the_whole_body_problem():
    """3.10.4: tasks for the equation of motion, motions, forces and torques, none for the contact: the feet slip."""
    model, state, rng = robot(3, joints=8)
    M, nv, n = mass_matrix(model, state), model.nv, model.n
    bias = bias_forces(model, state) + gravity_forces(model, state)
    J = np.vstack([jacobians(model, state)[i].position for i in (3, 8)])
    moving = rng.normal(size=6)  # dJ/dt u
    S = np.eye(nv)[6:]
    motion = (np.hstack([M, J.T, -S.T]), -bias)  # (3.110)
    base = (np.hstack([np.eye(nv)[:3], np.zeros((3, 6 + n))]), rng.normal(size=3))
    effort = (np.hstack([np.zeros((n, nv + 6)), np.eye(n)]), np.zeros(n))
    contact = (np.hstack([J, np.zeros((6, 6 + n))]), -moving)  # (3.61)
    printed, right = (
        J @ solve_in_order(tasks)[:nv] + moving for tasks in ([motion, base, effort], [motion, contact, base, effort])
    )
    misprint("3.10.4", printed, right, np.zeros(6))


@seeds
def test_intersecting_axes_are_not_necessary(seed):
    """2.9.3: three intersecting axes are "the necessary condition" of six joints; three slides and a wrist whose
    hinges do not meet have a closed form, too.
    """
    rng = np.random.default_rng(seed)
    offsets, slides, angles = rng.normal(size=(2, 3)), rng.normal(size=3), rng.uniform([-2, 0.3, -2], [2, 2.5, 2])

    def wrist(q):
        """Rotation of the hand, and where it is from the last slide: hinges z, y, z, apart by the offsets."""
        first = Rotation.from_euler("z", q[0]).as_matrix()
        second = first @ Rotation.from_euler("y", q[1]).as_matrix()
        return second @ Rotation.from_euler("z", q[2]).as_matrix(), first @ offsets[0] + second @ offsets[1]

    R, way = wrist(angles)
    place = slides + way
    found = np.asarray(EulerZYZ().from_matrix(R))  # closed form: hinges by the rotation, then slides by the position
    agree("hinges", found, angles)
    agree("slides", place - wrist(found)[1], slides)


@seeds
def test_rotation_vectors_are_minimal_too(seed):
    """Example 2.8.3: "only Euler angles are a valid parameterization" of a rotation by three numbers."""
    rng = np.random.default_rng(seed)
    chart, R = RotationVector(), Rotation.random(random_state=rng).as_matrix()
    parameters = np.asarray(chart.from_matrix(R))
    assert parameters.shape == (3,)
    agree("Example 2.8.3", chart.to_matrix(parameters), R)
    assert np.linalg.matrix_rank(chart.rate_matrix(parameters)) == 3
