"""The formulas that [ETH] 2.2 to 2.5 prints, typed from the page: what holds, and what is misprinted.

That the charts themselves are right is shown by `test_charts.py`, against derivatives and SciPy.
"""

import numpy as np
import pytest

from fallingcat.lie.charts import (
    AngleAxis,
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
SINGULAR_ANGLE = {"zyx": np.pi / 2, "xyz": -np.pi / 2, "zyz": np.pi, "zxz": 0.0}

every_euler_chart = pytest.mark.parametrize("chart", EULER_CHARTS, ids=lambda chart: chart.name)


def unit(n):
    return np.asarray(n) / np.linalg.norm(n)


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
    """(2.35), (2.39), (2.42), (2.45) hold away from the singular set ..."""

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
    # ... and name another rotation on it: exact matrices of the angles (0, singular, pi/2)
    for chart in EULER_CHARTS:
        R = chart.to_matrix([0.0, SINGULAR_ANGLE[chart.sequence], np.pi / 2]).round()
        assert np.abs(chart.to_matrix(printed(R)[chart.sequence]) - R).max() > 0.5
        np.testing.assert_allclose(chart.to_matrix(chart.from_matrix(R)), R, rtol=0, atol=1e-15)


def test_the_sign_in_the_program_of_eth_appendix_a2_is_wrong():
    """Its E for XYZ has +cos(y) sin(x) in row 2, column 3; (2.88) has the minus that the derivative wants."""
    x, y, z = 0.4, 0.3, 0.2
    assert EulerXYZ().rate_matrix([x, y, z])[1, 2] == pytest.approx(-np.cos(y) * np.sin(x), abs=1e-15)


def printed_quaternion(c):
    """(2.55) of [ETH], scalar first, with its sgn(0) = 1."""
    sgn = lambda a: 1.0 if a >= 0 else -1.0  # noqa: E731
    root = lambda a: np.sqrt(max(a, 0.0))  # noqa: E731
    return 0.5 * np.array(
        [
            root(c[0, 0] + c[1, 1] + c[2, 2] + 1),
            sgn(c[2, 1] - c[1, 2]) * root(c[0, 0] - c[1, 1] - c[2, 2] + 1),
            sgn(c[0, 2] - c[2, 0]) * root(c[1, 1] - c[2, 2] - c[0, 0] + 1),
            sgn(c[1, 0] - c[0, 1]) * root(c[2, 2] - c[0, 0] - c[1, 1] + 1),
        ]
    )


def test_printed_quaternion_map_fails_at_half_turns():
    R = EulerZYX().to_matrix([0.1, 0.2, 0.3])
    np.testing.assert_allclose(np.roll(printed_quaternion(R), -1), UnitQuaternion().from_matrix(R), rtol=0, atol=1e-14)
    half_turn = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])  # about (1, -1, 0)
    printed = UnitQuaternion().to_matrix(np.roll(printed_quaternion(half_turn), -1))
    assert np.abs(printed - half_turn).max() > 1.0
    ours = UnitQuaternion().to_matrix(UnitQuaternion().from_matrix(half_turn))
    np.testing.assert_allclose(ours, half_turn, rtol=0, atol=1e-15)


def test_printed_angle_loses_half_of_the_digits_near_zero():
    R = AngleAxis().to_matrix([1e-9, 0.0, 0.6, 0.8])
    assert np.arccos((np.trace(R) - 1) / 2) == 0.0  # (2.49)
    assert AngleAxis().from_matrix(R)[0] == pytest.approx(1e-9, rel=1e-15)


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


def test_position_rates_as_printed():
    """(2.14)-(2.17)."""
    s, c = np.sin, np.cos
    rho, t, z = 0.5, 0.7, 0.3
    E = [[c(t), -rho * s(t), 0], [s(t), rho * c(t), 0], [0, 0, 1]]
    inverse = [[c(t), s(t), 0], [-s(t) / rho, c(t) / rho, 0], [0, 0, 1]]
    np.testing.assert_allclose(Cylindrical().rate_matrix([rho, t, z]), E, rtol=0, atol=1e-15)
    np.testing.assert_allclose(Cylindrical().rate_matrix_inverse([rho, t, z]), inverse, rtol=0, atol=1e-15)
    r, t, p = 0.5, 0.7, 1.1
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
