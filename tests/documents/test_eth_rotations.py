"""[ETH] 2.2 to 2.6, number by number; what is printed without restrictions that it needs is in the errata."""

import numpy as np
import pytest
from printed import Printed, compared, rate, slopes

from fallingcat.lie import SE3, SO3, quaternions, skew
from fallingcat.lie.charts import (
    AngleAxis,
    Cartesian,
    Cylindrical,
    EulerXYZ,
    EulerZXZ,
    EulerZYX,
    EulerZYZ,
    RotationVector,
    Spherical,
    UnitQuaternion,
)
from fallingcat.lie.rotations import about

PRINTED = Printed()
RNG = np.random.default_rng(8)
sin, cos, arctan2, hypot = np.sin, np.cos, np.arctan2, np.hypot
G = SO3()
X, Y, Z = np.eye(3)


def turn(R):
    """The 3 x 3 block of a rotation."""
    return R[:3, :3]


@PRINTED
def positions():
    """2.2, 2.3: (2.3)-(2.17) but the notation (2.9)."""
    q, q_dot = np.array([0.5, 0.7, 1.1]), RNG.normal(size=3)
    rho, t, z = q
    r, theta, phi = q
    st, ct, sp, cp = sin(theta), cos(theta), sin(phi), cos(phi)
    cartesian, cylindrical, spherical = Cartesian(), Cylindrical(), Spherical()
    charts = (cartesian, cylindrical, spherical)
    E_z = [[cos(t), -rho * sin(t), 0], [sin(t), rho * cos(t), 0], [0, 0, 1]]
    E_z_inverse = [[cos(t), sin(t), 0], [-sin(t) / rho, cos(t) / rho, 0], [0, 0, 1]]
    E_s = [[ct * sp, -r * sp * st, r * cp * ct], [sp * st, r * ct * sp, r * cp * st], [cp, 0, -r * sp]]
    E_s_inverse = [[ct * sp, sp * st, cp], [-st / (r * sp), ct / (r * sp), 0], [cp * ct / r, cp * st / r, -sp / r]]
    moved = cylindrical.to_position
    rates = [q_dot[0] * cos(t) - rho * q_dot[1] * sin(t), q_dot[0] * sin(t) + rho * q_dot[1] * cos(t), q_dot[2]]
    back = [(np.asarray(chart.from_position(chart.to_position(q))), q) for chart in charts]
    return {
        "(2.3)": back[0],
        "(2.4)": (cartesian.to_position(q), q[0] * X + q[1] * Y + q[2] * Z),
        "(2.5)": back[1],
        "(2.6)": (cylindrical.to_position(q), np.array([rho * cos(t), rho * sin(t), z])),
        "(2.7)": back[2],
        "(2.8)": (spherical.to_position(q), np.array([r * ct * sp, r * st * sp, r * cp])),
        "(2.10)": [(rate(c.to_position, q, q_dot), c.rate_matrix(q) @ q_dot) for c in charts],
        "(2.11)": [(c.rate_matrix_inverse(q) @ rate(c.to_position, q, q_dot), q_dot) for c in charts],
        "(2.12)": [(cartesian.rate_matrix(q), np.eye(3)), (cartesian.rate_matrix_inverse(q), np.eye(3))],
        "(2.13)": (rate(moved, q, q_dot), np.array(rates)),
        "(2.14)": (cylindrical.rate_matrix_inverse(q), np.array(E_z_inverse)),
        "(2.15)": [(cylindrical.rate_matrix(q), np.array(E_z)), (slopes(moved, q), np.array(E_z))],
        "(2.16)": (spherical.rate_matrix(q), np.array(E_s)),
        "(2.17)": (spherical.rate_matrix_inverse(q), np.array(E_s_inverse)),
    }


AB, BC = G.random(RNG), G.random(RNG)


@PRINTED
def rotation_matrices():
    """2.4.1 to 2.4.4: (2.21)-(2.31)."""
    a, b, u, angle = turn(AB), turn(BC), RNG.normal(size=3), 0.7
    c, s = cos(angle), sin(angle)
    n = np.array([1.0, 2.0, -2.0]) / 3.0
    rodrigues = c * u + s * np.cross(n, u) + (1.0 - c) * n * (n @ u)
    return {
        "(2.21)": (a @ u, a[:, 0] * u[0] + a[:, 1] * u[1] + a[:, 2] * u[2]),
        "(2.22)": (a, np.stack([a @ X, a @ Y, a @ Z], axis=1)),
        "(2.23)": (a.T @ a, np.eye(3)),
        "(2.24)": (turn(G.inverse(AB)) @ (a @ u), u),
        "(2.25)": (turn(G.exp(angle * n)) @ u, rodrigues),
        "(2.26)": (turn(about(X, angle)), np.array([[1, 0, 0], [0, c, -s], [0, s, c]])),
        "(2.27)": (turn(about(Y, angle)), np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])),
        "(2.28)": (turn(about(Z, angle)), np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])),
        "(2.29)": (a @ (b @ u), turn(G.compose(AB, BC)) @ u),
        "(2.30)": (b @ u, turn(G.inverse(AB)) @ turn(G.compose(AB, BC)) @ u),
        "(2.31)": (turn(G.compose(AB, BC)), a @ b),
    }


ANGLES = np.array([0.4, 0.9, 0.7])


def angles_of(C):
    """(2.35), (2.39), (2.42), (2.45) of the entries (2.34), (2.38)."""
    (c11, c12, c13), (c21, _, c23), (c31, c32, c33) = C
    return {
        "ZYZ": [arctan2(c23, c13), arctan2(hypot(c13, c23), c33), arctan2(c32, -c31)],
        "ZXZ": [arctan2(c13, -c23), arctan2(hypot(c13, c23), c33), arctan2(c31, c32)],
        "ZYX": [arctan2(c21, c11), arctan2(-c31, hypot(c32, c33)), arctan2(c32, c33)],
        "XYZ": [arctan2(-c23, c33), arctan2(c13, hypot(c11, c12)), arctan2(-c12, c11)],
    }


@PRINTED
def euler_angles():
    """2.4.5: (2.32)-(2.45); rates: (2.82)-(2.93)."""
    (ca, cb, cc), (sa, sb, sc) = cos(ANGLES), sin(ANGLES)
    matrices = {
        "ZYZ": [
            [cb * ca * cc - sa * sc, -cc * sa - cb * ca * sc, ca * sb],
            [ca * sc + cb * cc * sa, ca * cc - cb * sa * sc, sb * sa],
            [-cc * sb, sb * sc, cb],
        ],
        "ZXZ": [
            [ca * cc - cb * sa * sc, -ca * sc - cb * cc * sa, sb * sa],
            [cc * sa + cb * ca * sc, cb * ca * cc - sa * sc, -ca * sb],
            [sb * sc, cc * sb, cb],
        ],
        "ZYX": [
            [cb * ca, ca * sc * sb - cc * sa, sc * sa + cc * ca * sb],
            [cb * sa, cc * ca + sc * sb * sa, cc * sb * sa - ca * sc],
            [-sb, cb * sc, cc * cb],
        ],
        "XYZ": [
            [cb * cc, -cb * sc, sb],
            [ca * sc + cc * sa * sb, ca * cc - sa * sb * sc, -cb * sa],
            [sa * sc - ca * cc * sb, cc * sa + ca * sb * sc, ca * cb],
        ],
    }
    charts = {"ZYZ": EulerZYZ(), "ZXZ": EulerZXZ(), "ZYX": EulerZYX(), "XYZ": EulerXYZ()}
    there = {k: (np.asarray(c.to_matrix(ANGLES)), np.array(matrices[k])) for k, c in charts.items()}
    back = {
        k: (np.asarray(c.from_matrix(c.to_matrix(ANGLES))), np.array(angles_of(c.to_matrix(ANGLES))[k]))
        for k, c in charts.items()
    }
    vectors = {k: (np.asarray(c.from_matrix(c.to_matrix(ANGLES))), ANGLES) for k, c in charts.items()}
    product = lambda *axes: np.linalg.multi_dot([turn(about(axis, a)) for axis, a in zip(axes, ANGLES, strict=True)])  # noqa: E731
    rates = {
        "ZYX": (
            [[0, -sa, cb * ca], [0, ca, cb * sa], [1, 0, -sb]],
            [[ca * sb / cb, sb * sa / cb, 1], [-sa, ca, 0], [ca / cb, sa / cb, 0]],
        ),
        "XYZ": (
            [[1, 0, sb], [0, ca, -cb * sa], [0, sa, ca * cb]],
            [[1, sa * sb / cb, -ca * sb / cb], [0, ca, sa], [0, -sa / cb, ca / cb]],
        ),
        "ZYZ": (
            [[0, -sa, ca * sb], [0, ca, sa * sb], [1, 0, cb]],
            [[-cb * ca / sb, -cb * sa / sb, 1], [-sa, ca, 0], [ca / sb, sa / sb, 0]],
        ),
        "ZXZ": (
            [[0, ca, sa * sb], [0, sa, -ca * sb], [1, 0, cb]],
            [[-cb * sa / sb, cb * ca / sb, 1], [ca, sa, 0], [sa / sb, -ca / sb, 0]],
        ),
    }
    E = {k: (charts[k].rate_matrix(ANGLES), np.array(m)) for k, (m, _) in rates.items()}
    E_inverse = {k: (charts[k].rate_matrix_inverse(ANGLES), np.array(m)) for k, (_, m) in rates.items()}
    x_dot = RNG.normal(size=3)
    spin = rate(lambda x: turn(EulerZYX().to_matrix(x)), ANGLES, x_dot) @ turn(EulerZYX().to_matrix(ANGLES)).T
    Rz, Ry = turn(about(Z, ANGLES[0])), turn(about(Y, ANGLES[1]))
    columns = EulerZYX().rate_matrix(ANGLES)
    return {
        "(2.32)": vectors["ZYZ"],
        "(2.33)": [there["ZYZ"], (there["ZYZ"][0], product(Z, Y, Z))],
        "(2.35)": back["ZYZ"],
        "(2.36)": vectors["ZXZ"],
        "(2.37)": [there["ZXZ"], (there["ZXZ"][0], product(Z, X, Z))],
        "(2.39)": back["ZXZ"],
        "(2.40)": vectors["ZYX"],
        "(2.41)": [there["ZYX"], (there["ZYX"][0], product(Z, Y, X))],
        "(2.42)": back["ZYX"],
        "(2.43)": vectors["XYZ"],
        "(2.44)": [there["XYZ"], (there["XYZ"][0], product(X, Y, Z))],
        "(2.45)": back["XYZ"],
        "Program B.1": list(there.values()),
        "Program B.2": list(back.values()),
        "(2.82)": (np.array([spin[2, 1], spin[0, 2], spin[1, 0]]), EulerZYX().rate_matrix(ANGLES) @ x_dot),
        "(2.83)": (columns[:, 0], np.array([0.0, 0.0, 1.0])),
        "(2.84)": [(columns[:, 1], Rz @ Y), (columns[:, 1], np.array([-sa, ca, 0.0]))],
        "(2.85)": [(columns[:, 2], Rz @ Ry @ X), (columns[:, 2], np.array([cb * ca, cb * sa, -sb]))],
        "(2.86)": E["ZYX"],
        "(2.87)": E_inverse["ZYX"],
        "(2.88)": E["XYZ"],
        "(2.89)": E_inverse["XYZ"],
        "(2.90)": E["ZYZ"],
        "(2.91)": E_inverse["ZYZ"],
        "(2.92)": E["ZXZ"],
        "(2.93)": E_inverse["ZXZ"],
    }


def first(x):
    """A quaternion with its scalar first, as the notes have it."""
    return np.roll(np.asarray(x), 1)


@PRINTED
def vectors_and_quaternions():
    """2.4.5: (2.46)-(2.69)."""
    theta, n = 0.7, np.array([1.0, 2.0, -2.0]) / 3.0
    nx, ny, nz = n
    c, s = cos(theta), sin(theta)
    d = 1.0 - c
    matrix = [
        [nx * nx * d + c, nx * ny * d - nz * s, nx * nz * d + ny * s],
        [nx * ny * d + nz * s, ny * ny * d + c, ny * nz * d - nx * s],
        [nx * nz * d - ny * s, ny * nz * d + nx * s, nz * nz * d + c],
    ]
    C = np.asarray(AngleAxis().to_matrix(np.append(theta, n)))
    angle = np.arccos((np.trace(C) - 1.0) / 2.0)
    axis = np.array([C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]]) / (2.0 * sin(angle))
    xi = first(UnitQuaternion().from_matrix(C))
    w, v = xi[0], xi[1:]
    x, y, z = v
    entries = [
        [w * w + x * x - y * y - z * z, 2 * x * y - 2 * w * z, 2 * w * y + 2 * x * z],
        [2 * w * z + 2 * x * y, w * w - x * x + y * y - z * z, 2 * y * z - 2 * w * x],
        [2 * x * z - 2 * w * y, 2 * w * x + 2 * y * z, w * w - x * x - y * y + z * z],
    ]
    signs = np.array([1.0, *np.sign(axis)])
    roots = np.sqrt(
        1.0
        + np.array([np.trace(C), C[0, 0] - C[1, 1] - C[2, 2], C[1, 1] - C[2, 2] - C[0, 0], C[2, 2] - C[0, 0] - C[1, 1]])
    )
    q, p = RNG.normal(size=(2, 4))
    q, p = q / np.linalg.norm(q), p / np.linalg.norm(p)
    qw, qv, pw, pv = q[3], q[:3], p[3], p[:3]
    product = first(quaternions.product(q, p))
    a, b = first(q), first(p)
    left = np.block([[np.array([[a[0]]]), -a[None, 1:]], [a[1:, None], a[0] * np.eye(3) + skew(a[1:])]])
    right = np.block([[np.array([[b[0]]]), -b[None, 1:]], [b[1:, None], b[0] * np.eye(3) - skew(b[1:])]])
    left_entries = [
        [a[0], -a[1], -a[2], -a[3]],
        [a[1], a[0], -a[3], a[2]],
        [a[2], a[3], a[0], -a[1]],
        [a[3], -a[2], a[1], a[0]],
    ]
    right_entries = [
        [b[0], -b[1], -b[2], -b[3]],
        [b[1], b[0], b[3], -b[2]],
        [b[2], -b[3], b[0], b[1]],
        [b[3], b[2], -b[1], b[0]],
    ]
    r = RNG.normal(size=3)
    turned = quaternions.rotate(q, r)
    conjugate = first(quaternions.inverse(q))
    M_l, M_r = (
        np.roll(f(x), 1, axis=(0, 1))
        for f, x in ((quaternions.left_matrix, q), (quaternions.right_matrix, quaternions.inverse(q)))
    )
    root3 = np.sqrt(3.0)
    ab = np.array([0.5, 0.0, 0.0, 0.5 * root3])  # scalar last
    ba = quaternions.inverse(ab)
    L = 0.5 * np.array([[root3, 1, 0, 0], [-1, root3, 0, 0], [0, 0, root3, 1], [0, 0, -1, root3]])
    R = 0.5 * np.array([[root3, -1, 0, 0], [1, root3, 0, 0], [0, 0, root3, 1], [0, 0, -1, root3]])
    answer = np.array([0.0, 0.0, 0.5, -0.5 * root3])
    pure = np.append(0.0, quaternions.rotate(ba, [0.0, 1.0, 0.0]))
    small = 1e-3
    return {
        "(2.46)": (np.asarray(AngleAxis().from_matrix(C)), np.append(theta, n)),
        "(2.47)": (np.asarray(RotationVector().from_matrix(C)), theta * n),
        "(2.48)": (C, np.array(matrix)),
        "(2.49)": (np.asarray(AngleAxis().from_matrix(C))[0], angle),
        "(2.50)": (np.asarray(AngleAxis().from_matrix(C))[1:], axis),
        "(2.51)": (np.asarray(UnitQuaternion().to_matrix(np.append(v, w))), C),
        "(2.52)": (xi, np.append(cos(0.5 * theta), sin(0.5 * theta) * n)),
        "(2.53)": (np.sum(xi**2), 1.0),
        "(2.54)": [
            (C, np.eye(3) + 2.0 * w * skew(v) + 2.0 * skew(v) @ skew(v)),
            (C, (2.0 * w * w - 1.0) * np.eye(3) + 2.0 * w * skew(v) + 2.0 * np.outer(v, v)),
            (C, np.array(entries)),
        ],
        "(2.55)": (xi, 0.5 * signs * roots),
        "(2.56)": (conjugate, np.append(qw, -qv)),
        "(2.57)": (product, np.append(qw * pw - qv @ pv, qw * pv + pw * qv + np.cross(qv, pv))),
        "(2.58)": (product, left @ b),
        "(2.59)": (np.roll(quaternions.left_matrix(q), 1, axis=(0, 1)), np.array(left_entries)),
        "(2.60)": (product, right @ a),
        "(2.61)": (np.roll(quaternions.right_matrix(p), 1, axis=(0, 1)), np.array(right_entries)),
        "(2.62)": (
            first(quaternions.product(q, quaternions.product(np.append(r, 0.0), quaternions.inverse(q)))),
            np.append(0.0, turned),
        ),
        "(2.63)": (turned, np.asarray(UnitQuaternion().to_matrix(q)) @ r),
        "(2.64)": (np.append(0.0, turned), M_l @ M_r @ np.append(0.0, r)),
        "(2.65)": (first(ab), 0.5 * np.array([root3, 1.0, 0.0, 0.0])),
        "(2.66)": (first(ba), 0.5 * np.array([root3, -1.0, 0.0, 0.0])),
        "(2.67)": (first(quaternions.product(quaternions.product(ba, [0, 1, 0, 0.0]), ab)), answer),
        "(2.68)": (
            np.roll(quaternions.left_matrix(ba), 1, axis=(0, 1))
            @ np.roll(quaternions.right_matrix(ab), 1, axis=(0, 1))
            @ np.array([0.0, 0, 1, 0]),
            pure,
        ),
        "(2.69)": [(L @ R @ np.array([0.0, 0, 1, 0]), answer), (pure, answer)],
        "Example 2.4.1": (pure, answer),
        "(2.70)": (np.asarray(RotationVector().from_matrix(turn(G.exp(small * n)) @ C @ C.T)) / small, n),
    }


@PRINTED
def angular_velocities():
    """2.5: (2.71)-(2.81), (2.94)-(2.107); 2.6: (2.108)-(2.114)."""
    w, u = RNG.normal(size=(2, 3))
    C_dot = turn(AB @ G.hat(w))  # body-fixed spin w
    C, B = turn(AB), turn(BC)
    spatial = C @ w
    back_dot = -C.T @ C_dot @ C.T
    hat_back = back_dot @ C
    total = (C_dot @ B + C @ B @ skew(u)) @ (C @ B).T  # C turns with w, B with u
    alpha, alpha_dot = 0.6, 1.7
    ca, sa = cos(alpha), sin(alpha)
    Cx = turn(about(X, alpha))
    Cx_dot = rate(lambda a: turn(about(X, a[0])), [alpha], [alpha_dot])
    first_factor = np.array([[0, 0, 0], [0, -alpha_dot * sa, -alpha_dot * ca], [0, alpha_dot * ca, -alpha_dot * sa]])
    result = np.array([[0, 0, 0], [0, 0, -alpha_dot], [0, alpha_dot, 0]])
    chart, q = UnitQuaternion(), RNG.normal(size=4)
    q = q / np.linalg.norm(q)
    x, y, z, s = q
    H = np.array([[-x, s, -z, y], [-y, z, s, -x], [-z, -y, x, s]])
    E, E_inverse = (np.roll(m, 1, axis=k) for m, k in ((chart.rate_matrix(q), 1), (chart.rate_matrix_inverse(q), 0)))
    xi_dot = 0.5 * H.T @ w
    moved = rate(lambda p: turn(chart.to_matrix(p)), q, np.roll(xi_dot, -1)) @ turn(chart.to_matrix(q)).T
    theta, n = 0.7, np.array([1.0, 2.0, -2.0]) / 3.0
    N = skew(n)
    n_dot, theta_dot = np.cross(n, u), 0.9
    of_axis = lambda p: turn(AngleAxis().to_matrix(p))  # noqa: E731
    spin = rate(of_axis, np.append(theta, n), np.append(theta_dot, n_dot)) @ of_axis(np.append(theta, n)).T
    omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    lower = -0.5 * sin(theta) / (1.0 - cos(theta)) * N @ N - 0.5 * N
    phi = np.array([0.4, -0.5, 0.6])
    a, P = np.linalg.norm(phi), skew(phi)
    V = np.eye(3) + P * (1 - cos(a)) / a**2 + P @ P * (a - sin(a)) / a**3
    V_inverse = np.eye(3) - P / 2 + P @ P / a**2 * (1 - a / 2 * sin(a) / (1 - cos(a)))
    of_vector = lambda p: turn(RotationVector().to_matrix(p))  # noqa: E731
    about_it = rate(of_vector, phi, u) @ of_vector(phi).T
    turned = np.array([about_it[2, 1], about_it[0, 2], about_it[1, 0]])
    E3 = SE3()
    T_AB, T_BC = E3.random(RNG), E3.random(RNG)
    p_B = RNG.normal(size=3)
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = T_AB[:3, :3].T, -T_AB[:3, :3].T @ T_AB[:3, 3]
    example = np.eye(4)
    example[:3, :3], example[:3, 3] = turn(about(X, 0.5 * np.pi)), [0.0, 3.0, 1.0]
    printed = np.array([[1.0, 0, 0, 0], [0, 0, -1, 3], [0, 1, 0, 1], [0, 0, 0, 1]])
    unskewed = lambda W: np.array([W[2, 1], W[0, 2], W[1, 0]])  # noqa: E731
    return {
        "(2.71)": (unskewed(C @ hat_back @ C.T), -spatial),
        "(2.72)": (skew(spatial), C_dot @ C.T),
        "(2.73)": (G.ad(w), np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])),
        "(2.74)": (w, C.T @ unskewed(C_dot @ C.T)),
        "(2.75)": (skew(w), C.T @ (C_dot @ C.T) @ C),
        "(2.76)": (unskewed(total), spatial + C @ B @ u),
        "(2.77)": (Cx, np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])),
        "(2.78)": (G.ad(np.array([alpha_dot, 0.0, 0.0])), Cx_dot @ Cx.T),
        "(2.79)": (Cx_dot @ Cx.T, first_factor @ np.array([[1, 0, 0], [0, ca, sa], [0, -sa, ca]])),
        "(2.80)": (Cx_dot @ Cx.T, result),
        "(2.81)": (EulerXYZ().rate_matrix([alpha, 0.0, 0.0])[:, 0] * alpha_dot, np.array([alpha_dot, 0.0, 0.0])),
        "Example 2.5.1": (unskewed(Cx_dot @ Cx.T), np.array([alpha_dot, 0.0, 0.0])),
        "(2.94)": (unskewed(moved), 2.0 * H @ xi_dot),
        "(2.95)": (E_inverse @ w, xi_dot),
        "(2.96)": (0.5 * E, np.hstack([-q[:3, None], skew(q[:3]) + s * np.eye(3)])),
        "(2.97)": (0.5 * E, H),
        "(2.98)": (E, 2.0 * H),
        "(2.99)": (E_inverse, 0.5 * H.T),
        "(2.100)": (omega, n * theta_dot + n_dot * sin(theta) + N @ n_dot * (1.0 - cos(theta))),
        "(2.101)": [(theta_dot, n @ omega), (n_dot, lower @ omega)],
        "(2.102)": (
            AngleAxis().rate_matrix(np.append(theta, n)),
            np.column_stack([n, sin(theta) * np.eye(3) + (1.0 - cos(theta)) * N]),
        ),
        "(2.103)": (AngleAxis().rate_matrix_inverse(np.append(theta, n)), np.vstack([n, lower])),
        "(2.104)": (turned, V @ u),
        "(2.105)": (u, V_inverse @ turned),
        "(2.106)": (RotationVector().rate_matrix(phi), V),
        "(2.107)": (RotationVector().rate_matrix_inverse(phi), V_inverse),
        "(2.108)": ((T_AB @ np.append(p_B, 1.0))[:3], T_AB[:3, 3] + T_AB[:3, :3] @ p_B),
        "(2.109)": (
            (E3.compose(T_AB, E3.inverse(T_AB) @ T_AB) @ np.append(p_B, 1.0))[:3],
            T_AB[:3, 3] + T_AB[:3, :3] @ p_B,
        ),
        "(2.110)": (T_AB @ np.append(p_B, 1.0), np.append(T_AB[:3, 3] + T_AB[:3, :3] @ p_B, 1.0)),
        "(2.111)": (E3.inverse(T_AB), inverse),
        "(2.112)": (E3.compose(T_AB, T_BC), T_AB @ T_BC),
        "(2.113)": (example, printed),
        "(2.114)": (example @ np.array([0.0, 1.0, 1.0, 1.0]), np.array([0.0, 2.0, 2.0, 1.0])),
        "Example 2.6.1": (example @ np.array([0.0, 1.0, 1.0, 1.0]), printed @ np.array([0.0, 1.0, 1.0, 1.0])),
    }


@pytest.mark.parametrize("section", PRINTED.sections, ids=lambda section: section.__name__)
def test_equations(section):
    compared(section)
