"""The formulas that [ETH] 2.2 to 2.5 prints, typed from the page and held against the library's charts.

That the charts themselves are right is shown by `test_charts.py`, against derivatives and SciPy; what is misprinted is
in `tests/errata/test_eth.py`.
"""

import numpy as np
import pytest

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

EULER_CHARTS = [EulerZYX(), EulerXYZ(), EulerZYZ(), EulerZXZ()]

every_euler_chart = pytest.mark.parametrize("chart", EULER_CHARTS, ids=lambda chart: chart.name)


def unit(n):
    return np.asarray(n) / np.linalg.norm(n)


def close(ours, printed, tolerance=2e-15):
    np.testing.assert_allclose(ours, printed, rtol=0, atol=tolerance)


def printed_rotations():
    """The elementary rotations (2.26)-(2.28) and the products (2.33), (2.37), (2.41), (2.44), entry by entry."""

    def elementary(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        return {
            "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
            "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
            "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        }[axis]

    def zyz(angles):
        (c1, cy, c2), (s1, sy, s2) = np.cos(angles), np.sin(angles)
        return [
            [cy * c1 * c2 - s1 * s2, -c2 * s1 - cy * c1 * s2, c1 * sy],
            [c1 * s2 + cy * c2 * s1, c1 * c2 - cy * s1 * s2, sy * s1],
            [-c2 * sy, sy * s2, cy],
        ]

    def zxz(angles):
        (c1, cx, c2), (s1, sx, s2) = np.cos(angles), np.sin(angles)
        return [
            [c1 * c2 - cx * s1 * s2, -c1 * s2 - cx * c2 * s1, sx * s1],
            [c2 * s1 + cx * c1 * s2, cx * c1 * c2 - s1 * s2, -c1 * sx],
            [sx * s2, c2 * sx, cx],
        ]

    def zyx(angles):
        (cz, cy, cx), (sz, sy, sx) = np.cos(angles), np.sin(angles)
        return [
            [cy * cz, cz * sx * sy - cx * sz, sx * sz + cx * cz * sy],
            [cy * sz, cx * cz + sx * sy * sz, cx * sy * sz - cz * sx],
            [-sy, cy * sx, cx * cy],
        ]

    def xyz(angles):
        (cx, cy, cz), (sx, sy, sz) = np.cos(angles), np.sin(angles)
        return [
            [cy * cz, -cy * sz, sy],
            [cx * sz + cz * sx * sy, cx * cz - sx * sy * sz, -cy * sx],
            [sx * sz - cx * cz * sy, cz * sx + cx * sy * sz, cx * cy],
        ]

    return elementary, {"zyz": zyz, "zxz": zxz, "zyx": zyx, "xyz": xyz}


@every_euler_chart
@pytest.mark.parametrize("seed", range(5))
def test_printed_euler_rotations(chart, seed):
    """(2.26)-(2.28) multiplied, and (2.33), (2.37), (2.41), (2.44), at any angles."""
    x = np.random.default_rng(seed).uniform(-np.pi, np.pi, size=3)
    elementary, products = printed_rotations()
    first, second, third = (elementary(axis, angle) for axis, angle in zip(chart.sequence, x, strict=True))
    close(chart.to_matrix(x), first @ second @ third)
    close(chart.to_matrix(x), products[chart.sequence](x))


def printed_rodrigues(theta, n):
    """(2.48), entry by entry."""
    c, s, (x, y, z) = np.cos(theta), np.sin(theta), n
    return [
        [x * x * (1 - c) + c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
        [x * y * (1 - c) + z * s, y * y * (1 - c) + c, y * z * (1 - c) - x * s],
        [x * z * (1 - c) - y * s, y * z * (1 - c) + x * s, z * z * (1 - c) + c],
    ]


@pytest.mark.parametrize("seed", range(5))
def test_printed_angle_axis_and_rotation_vector(seed):
    """(2.46)-(2.50)."""
    rng = np.random.default_rng(seed)
    theta, n = rng.uniform(0.2, 3.0), unit(rng.normal(size=3))
    C = np.array(printed_rodrigues(theta, n))
    close(AngleAxis().to_matrix([theta, *n]), C)
    close(RotationVector().to_matrix(theta * n), C)  # (2.47)
    angle = np.arccos((np.trace(C) - 1) / 2)  # (2.49)
    axis = np.array([C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]]) / (2 * np.sin(angle))  # (2.50)
    close(AngleAxis().from_matrix(C), [angle, *axis], 1e-13)
    close(RotationVector().from_matrix(C), angle * axis, 1e-13)


def printed_quaternion(theta, n):
    """(2.52), scalar first."""
    return np.array([np.cos(theta / 2), *(np.sin(theta / 2) * n)])


@pytest.mark.parametrize("seed", range(5))
def test_printed_quaternion_rotation(seed):
    """(2.51)-(2.55): the three forms of (2.54), and the way back away from half turns."""
    rng = np.random.default_rng(seed)
    theta, n = rng.uniform(0.2, 3.0), unit(rng.normal(size=3))
    w, x, y, z = xi = printed_quaternion(theta, n)
    v, hat = xi[1:], np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    assert w**2 + x**2 + y**2 + z**2 == pytest.approx(1.0, abs=1e-15)  # (2.53)
    C = UnitQuaternion().to_matrix([x, y, z, w])
    close(C, np.eye(3) + 2 * w * hat + 2 * hat @ hat)
    close(C, (2 * w**2 - 1) * np.eye(3) + 2 * w * hat + 2 * np.outer(v, v))
    entries = [
        [w * w + x * x - y * y - z * z, 2 * x * y - 2 * w * z, 2 * w * y + 2 * x * z],
        [2 * w * z + 2 * x * y, w * w - x * x + y * y - z * z, 2 * y * z - 2 * w * x],
        [2 * x * z - 2 * w * y, 2 * w * x + 2 * y * z, w * w - x * x - y * y + z * z],
    ]
    close(C, entries)
    close(C, printed_rodrigues(theta, n))
    (c11, c12, c13), (c21, c22, c23), (c31, c32, c33) = C
    signs = np.sign([1.0, c32 - c23, c13 - c31, c21 - c12])
    squares = np.array([c11 + c22 + c33, c11 - c22 - c33, c22 - c33 - c11, c33 - c11 - c22]) + 1
    printed = 0.5 * signs * np.sqrt(squares)  # (2.55)
    close(np.roll(printed, -1), UnitQuaternion().from_matrix(C), 1e-13)


def left(q):
    """`M_l` of (2.59)."""
    w, x, y, z = q
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def right(q):
    """`M_r` of (2.61)."""
    w, x, y, z = q
    return np.array([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])


@pytest.mark.parametrize("seed", range(5))
def test_printed_quaternion_algebra(seed):
    """(2.56)-(2.64): inverse, product in its four forms, and the rotation of a vector."""
    rng = np.random.default_rng(seed)
    (a, b), r = (unit(rng.normal(size=4)) for _ in range(2)), rng.normal(size=3)

    def rotation(q):
        return UnitQuaternion().to_matrix(np.roll(q, -1))

    back = a * [1, -1, -1, -1]  # (2.56)
    close(rotation(back), rotation(a).T)
    hat_a, hat_b = (np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) for _, x, y, z in (a, b))
    product = np.append(a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + hat_a @ b[1:])  # (2.57)
    close(rotation(product), rotation(a) @ rotation(b))
    block_left = np.block([[a[:1], -a[None, 1:]], [a[1:, None], a[0] * np.eye(3) + hat_a]])  # (2.58)
    block_right = np.block([[b[:1], -b[None, 1:]], [b[1:, None], b[0] * np.eye(3) - hat_b]])  # (2.60)
    close(block_left, left(a))
    close(block_right, right(b))
    close(left(a) @ b, product)
    close(right(b) @ a, product)
    pure = np.append(0.0, r)  # (2.62)
    close(left(left(a) @ pure) @ back, np.append(0.0, rotation(a) @ r))  # (2.63)
    close(left(a) @ right(back) @ pure, np.append(0.0, rotation(a) @ r))  # (2.64)


def printed_rate_matrices():
    """(2.86)-(2.93) of [ETH], typed from the page."""
    s, c = np.sin, np.cos

    def zyx(z, y, x):
        E = [[0, -s(z), c(y) * c(z)], [0, c(z), c(y) * s(z)], [1, 0, -s(y)]]
        inverse = [[c(z) * s(y) / c(y), s(y) * s(z) / c(y), 1], [-s(z), c(z), 0], [c(z) / c(y), s(z) / c(y), 0]]
        return E, inverse

    def xyz(x, y, z):
        E = [[1, 0, s(y)], [0, c(x), -c(y) * s(x)], [0, s(x), c(x) * c(y)]]
        inverse = [[1, s(x) * s(y) / c(y), -c(x) * s(y) / c(y)], [0, c(x), s(x)], [0, -s(x) / c(y), c(x) / c(y)]]
        return E, inverse

    def zyz(z1, y, z2):
        E = [[0, -s(z1), c(z1) * s(y)], [0, c(z1), s(z1) * s(y)], [1, 0, c(y)]]
        first = [-c(y) * c(z1) / s(y), -c(y) * s(z1) / s(y), 1]
        return E, [first, [-s(z1), c(z1), 0], [c(z1) / s(y), s(z1) / s(y), 0]]

    def zxz(z1, x, z2):
        E = [[0, c(z1), s(z1) * s(x)], [0, s(z1), -c(z1) * s(x)], [1, 0, c(x)]]
        first = [-c(x) * s(z1) / s(x), c(x) * c(z1) / s(x), 1]
        return E, [first, [c(z1), s(z1), 0], [s(z1) / s(x), -c(z1) / s(x), 0]]

    return {"zyx": zyx, "xyz": xyz, "zyz": zyz, "zxz": zxz}


@every_euler_chart
@pytest.mark.parametrize("seed", range(5))
def test_printed_euler_rate_matrices(chart, seed):
    x = np.random.default_rng(seed).uniform(0.2, 1.2, size=3)
    E, inverse = printed_rate_matrices()[chart.sequence](*x)
    np.testing.assert_allclose(chart.rate_matrix(x), E, rtol=0, atol=1e-15)
    np.testing.assert_allclose(chart.rate_matrix_inverse(x), inverse, rtol=0, atol=1e-13)


def test_printed_euler_inverse_maps():
    """(2.35), (2.39), (2.42), (2.45) hold away from the singular set; for what happens on it see the errata."""

    def printed(c):
        c11, c12, c13, _, _, c23, c31, c32, c33 = c.ravel()
        c21 = c[1, 0]
        return {
            "zyz": [np.arctan2(c23, c13), np.arctan2(np.hypot(c13, c23), c33), np.arctan2(c32, -c31)],
            "zxz": [np.arctan2(c13, -c23), np.arctan2(np.hypot(c13, c23), c33), np.arctan2(c31, c32)],
            "zyx": [np.arctan2(c21, c11), np.arctan2(-c31, np.hypot(c32, c33)), np.arctan2(c32, c33)],
            "xyz": [np.arctan2(-c23, c33), np.arctan2(c13, np.hypot(c11, c12)), np.arctan2(-c12, c11)],
        }

    for seed in range(20):
        for chart in EULER_CHARTS:
            x = np.random.default_rng(seed).uniform(0.2, 1.2, size=3)
            np.testing.assert_allclose(printed(chart.to_matrix(x))[chart.sequence], x, rtol=0, atol=1e-13)


def test_quaternion_rates_as_printed():
    """(2.97)-(2.99), scalar first: our columns are [ETH]'s, the first moved to the end."""
    x, y, z, w = q = unit([0.1, -0.2, 0.3, 0.4])
    H = np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
    np.testing.assert_allclose(UnitQuaternion().rate_matrix(q), np.roll(2 * H, -1, axis=1), rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        UnitQuaternion().rate_matrix_inverse(q), np.roll(H, -1, axis=1).T / 2, rtol=0, atol=1e-15
    )


def test_angle_axis_rates_as_printed():
    """(2.102), (2.103)."""
    theta, n = 0.7, unit([1.0, 2.0, -3.0])
    n_hat = np.cross(np.eye(3), n)
    np.testing.assert_allclose(n_hat @ [1, 0, 0], np.cross(n, [1, 0, 0]))
    E = np.column_stack([n, np.sin(theta) * np.eye(3) + (1 - np.cos(theta)) * n_hat])
    lower = -0.5 * np.sin(theta) / (1 - np.cos(theta)) * n_hat @ n_hat - 0.5 * n_hat
    np.testing.assert_allclose(AngleAxis().rate_matrix([theta, *n]), E, rtol=0, atol=1e-15)
    inverse = AngleAxis().rate_matrix_inverse([theta, *n])
    np.testing.assert_allclose(inverse, np.vstack([n, lower]), rtol=0, atol=1e-14)


def test_rotation_vector_rates_as_printed():
    """(2.106), (2.107)."""
    phi = np.array([0.4, -0.5, 0.6])
    angle, hat = np.linalg.norm(phi), np.cross(np.eye(3), phi)
    E = np.eye(3) + hat * (1 - np.cos(angle)) / angle**2 + hat @ hat * (angle - np.sin(angle)) / angle**3
    half = 1 - angle / 2 * np.sin(angle) / (1 - np.cos(angle))
    inverse = np.eye(3) - hat / 2 + hat @ hat / angle**2 * half
    np.testing.assert_allclose(RotationVector().rate_matrix(phi), E, rtol=0, atol=1e-14)
    np.testing.assert_allclose(RotationVector().rate_matrix_inverse(phi), inverse, rtol=0, atol=1e-14)


def test_eth_example_2_4_1():
    """A sixth of a turn about x: (0, 1, 0) in A is (0, 1/2, -sqrt(3)/2) in B."""
    q = [0.5, 0.0, 0.0, np.sqrt(3) / 2]
    R_ab = UnitQuaternion().to_matrix(q)
    np.testing.assert_allclose(R_ab.T @ [0, 1, 0], [0, 0.5, -np.sqrt(3) / 2], rtol=0, atol=1e-15)
    np.testing.assert_allclose(R_ab, AngleAxis().to_matrix([np.pi / 3, 1.0, 0.0, 0.0]), rtol=0, atol=1e-15)


def test_eth_example_2_5_1():
    """(2.81): an elementary rotation about x has the angular velocity (alpha dot, 0, 0)."""
    np.testing.assert_array_equal(EulerXYZ().rate_matrix([0.3, 0.0, 0.0])[:, 0], [1, 0, 0])


def test_positions_and_their_rates_as_printed():
    """(2.4)-(2.8), (2.12), (2.14)-(2.17)."""
    s, c = np.sin, np.cos
    rho, t, z = 0.5, 0.7, 0.3
    close(Cartesian().to_position([rho, t, z]), [rho, t, z], 0.0)
    close(Cartesian().rate_matrix([rho, t, z]), np.eye(3), 0.0)
    close(Cylindrical().to_position([rho, t, z]), [rho * c(t), rho * s(t), z])
    E = [[c(t), -rho * s(t), 0], [s(t), rho * c(t), 0], [0, 0, 1]]
    inverse = [[c(t), s(t), 0], [-s(t) / rho, c(t) / rho, 0], [0, 0, 1]]
    np.testing.assert_allclose(Cylindrical().rate_matrix([rho, t, z]), E, rtol=0, atol=1e-15)
    np.testing.assert_allclose(Cylindrical().rate_matrix_inverse([rho, t, z]), inverse, rtol=0, atol=1e-15)
    r, t, p = 0.5, 0.7, 1.1
    close(Spherical().to_position([r, t, p]), [r * c(t) * s(p), r * s(t) * s(p), r * c(p)])
    E = [
        [c(t) * s(p), -r * s(p) * s(t), r * c(p) * c(t)],
        [s(p) * s(t), r * c(t) * s(p), r * c(p) * s(t)],
        [c(p), 0, -r * s(p)],
    ]
    inverse = [
        [c(t) * s(p), s(p) * s(t), c(p)],
        [-s(t) / (r * s(p)), c(t) / (r * s(p)), 0],
        [c(p) * c(t) / r, c(p) * s(t) / r, -s(p) / r],
    ]
    np.testing.assert_allclose(Spherical().rate_matrix([r, t, p]), E, rtol=0, atol=1e-15)
    np.testing.assert_allclose(Spherical().rate_matrix_inverse([r, t, p]), inverse, rtol=0, atol=1e-14)
