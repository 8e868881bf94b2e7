"""Charts of rotations and positions: laws, [ETH]'s printed formulas, SciPy as an oracle, every kind of number."""

import warnings

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import KINDS
from scipy.spatial.transform import Rotation

from fallingcat.arrays import Graph, array, from_casadi, to_casadi
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie.charts import (
    POSITION_CHARTS,
    ROTATION_CHARTS,
    AngleAxis,
    ChartWarning,
    Cylindrical,
    EulerXYZ,
    EulerZXZ,
    EulerZYX,
    EulerZYZ,
    RotationVector,
    Spherical,
    UnitQuaternion,
)

pytestmark = pytest.mark.filterwarnings("ignore::fallingcat.lie.charts.ChartWarning")

EULER_CHARTS = ZYX, XYZ, ZYZ, ZXZ = EulerZYX(), EulerXYZ(), EulerZYZ(), EulerZXZ()
SINGULAR_POINTS = {
    ZYX: [0.3, np.pi / 2, -0.4],
    XYZ: [0.3, -np.pi / 2, -0.4],
    ZYZ: [0.3, np.pi, -0.4],
    ZXZ: [0.3, 0.0, -0.4],
    AngleAxis(): [2 * np.pi, 0.6, 0.0, 0.8],
    RotationVector(): [2 * np.pi * 0.6, 0.0, 2 * np.pi * 0.8],
    Cylindrical(): [0.0, 0.3, 1.0],
    Spherical(): [2.0, 0.3, np.pi],
}


def name_of(chart):
    return chart.name


every_rotation_chart = pytest.mark.parametrize("chart", ROTATION_CHARTS, ids=name_of)
every_euler_chart = pytest.mark.parametrize("chart", EULER_CHARTS, ids=name_of)
every_position_chart = pytest.mark.parametrize("chart", POSITION_CHARTS, ids=name_of)

# Angles anywhere, and close to the multiples of pi/2 where charts are singular.
angles = st.floats(-3.1, 3.1) | st.builds(
    lambda quarter, sign, exponent: quarter * np.pi / 2 + sign * 10.0**exponent,
    st.integers(-2, 2),
    st.sampled_from([-1.0, 0.0, 1.0]),
    st.integers(-17, -1),
)
axes = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda n: np.linalg.norm(n) > 1e-3) | st.sampled_from(
    [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (1.0, -1.0, 0.0), (-1.0, 0.0, 1.0), (-1.0, -1.0, -1.0)]
)
rotations = st.builds(lambda n, angle: axis_rotation(unit(n), angle), axes, angles) | st.builds(
    lambda z, y, x: Rotation.from_euler("ZYX", [z, y, x]).as_matrix(),
    angles,
    angles,
    angles,
)


def unit(n):
    return np.asarray(n) / np.linalg.norm(n)


def axis_rotation(n, angle):
    return Rotation.from_rotvec(angle * n).as_matrix()


def unskew(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def derivative(f, x, xdot):
    """d/dt f(x + t xdot) by the complex step: exact to rounding."""
    return np.imag(f(x + 1e-30j * np.asarray(xdot))) / 1e-30


def parameters(chart, rng):
    """Parameters away from the singular set, and a rate that keeps the chart's constraint."""
    while True:
        x = chart.from_matrix(Rotation.random(random_state=rng).as_matrix())
        if chart.singularity(x) > 0.1:
            break
    xdot = rng.normal(size=chart.dimension)
    if chart.dimension == 4:
        constrained = slice(1, 4) if isinstance(chart, AngleAxis) else slice(0, 4)
        n = x[constrained]
        xdot[constrained] -= n * (n @ xdot[constrained])
    if chart.dimension == 9:
        W = rng.normal(size=3)
        xdot = np.cross(W, x.reshape(3, 3)).ravel()
    return x, xdot


# maps


@every_rotation_chart
@given(R=rotations)
def test_every_rotation_survives_the_round_trip(chart, R):
    x = chart.from_matrix(R)
    assert x.shape == (chart.dimension,)
    assert abs(chart.constraint(x)) < (4e-15 if chart.dimension == 9 else 1e-15)  # nine sums of three products
    np.testing.assert_allclose(chart.to_matrix(x), R, rtol=0, atol=4e-15)


@every_euler_chart
@given(x=st.tuples(angles, angles, angles))
def test_euler_angles_survive_the_round_trip_in_the_principal_range(chart, x):
    proper = chart.sequence[0] == chart.sequence[2]
    x = np.array([x[0], abs(x[1]) if proper else x[1] / 2, x[2]])
    distance = chart.singularity(x)
    assume(distance > 1e-6)
    assume(np.all(np.abs(x) < [np.pi, np.pi if proper else np.pi / 2, np.pi]))
    back = chart.from_matrix(chart.to_matrix(x))
    # compared on the circle: an angle next to pi may come back next to -pi
    np.testing.assert_allclose(np.exp(1j * back), np.exp(1j * x), rtol=0, atol=4e-15 / distance)


@given(n=axes, angle=st.floats(1e-12, np.pi - 1e-6))
def test_angle_axis_and_rotation_vector_survive_the_round_trip(n, angle):
    n = unit(n)
    x = AngleAxis().from_matrix(AngleAxis().to_matrix([angle, *n]))
    np.testing.assert_allclose(x[0], angle, rtol=0, atol=4e-15)
    np.testing.assert_allclose(angle * x[1:], angle * n, rtol=0, atol=4e-15)
    vector = RotationVector().from_matrix(RotationVector().to_matrix(angle * n))
    np.testing.assert_allclose(vector, angle * n, rtol=0, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-100, 1e-12, 1e-8, 1e-4])
def test_small_angles_keep_all_their_digits(angle):
    n = unit([1.0, -2.0, 3.0])
    R = np.eye(3) + angle * np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    R += angle**2 / 2 * (np.outer(n, n) - np.eye(3))
    theta, *axis = AngleAxis().from_matrix(R)
    assert theta == pytest.approx(angle, rel=1e-8, abs=1e-140)
    np.testing.assert_allclose(theta * np.array(axis), angle * n, rtol=1e-7, atol=1e-140)
    np.testing.assert_allclose(RotationVector().from_matrix(R), angle * n, rtol=1e-7, atol=1e-140)


def test_half_turns_name_an_axis_up_to_its_sign():
    for n in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, -1, 0], [0, 1, -1], [-1, 0, 1], [1, -2, 3]):
        n = unit(n)
        R = 2 * np.outer(n, n) - np.eye(3)
        theta, *axis = AngleAxis().from_matrix(R)
        assert theta == pytest.approx(np.pi, abs=1e-15)
        assert abs(n @ axis) == pytest.approx(1.0, abs=1e-15)


def test_the_identity_has_the_documented_axis():
    np.testing.assert_array_equal(AngleAxis().from_matrix(np.eye(3)), [0, 1, 0, 0])


# the oracle: upper case means intrinsic in SciPy


@every_euler_chart
@given(x=st.tuples(angles, angles, angles))
def test_euler_angles_agree_with_scipy(chart, x):
    oracle = Rotation.from_euler(chart.sequence.upper(), x)
    np.testing.assert_allclose(chart.to_matrix(np.array(x)), oracle.as_matrix(), rtol=0, atol=2e-15)
    ours = chart.from_matrix(oracle.as_matrix())
    distance = chart.singularity(ours)
    if distance > 1e-3:
        theirs = oracle.as_euler(chart.sequence.upper())
        np.testing.assert_allclose(np.exp(1j * ours), np.exp(1j * theirs), rtol=0, atol=4e-15 / distance)


@given(n=axes, angle=st.floats(0.0, np.pi - 1e-6))
def test_quaternion_and_rotation_vector_agree_with_scipy(n, angle):
    oracle = Rotation.from_rotvec(angle * unit(n))
    R = oracle.as_matrix()
    q, theirs = UnitQuaternion().from_matrix(R), oracle.as_quat()
    np.testing.assert_allclose(q * np.sign(q @ theirs), theirs, rtol=0, atol=2e-15)
    np.testing.assert_allclose(UnitQuaternion().to_matrix(theirs), R, rtol=0, atol=2e-15)
    np.testing.assert_allclose(RotationVector().from_matrix(R), oracle.as_rotvec(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(RotationVector().to_matrix(oracle.as_rotvec()), R, rtol=0, atol=4e-15)


# rates


@every_rotation_chart
@pytest.mark.parametrize("seed", range(20))
def test_rate_matrix_is_the_derivative_of_the_map(chart, seed):
    x, xdot = parameters(chart, np.random.default_rng(seed))
    R = chart.to_matrix(x)
    Rdot = derivative(chart.to_matrix, x, xdot)
    np.testing.assert_allclose(chart.rate_matrix(x) @ xdot, unskew(Rdot @ R.T), rtol=0, atol=1e-13)
    np.testing.assert_allclose(chart.rate_matrix(x, frame="body") @ xdot, unskew(R.T @ Rdot), rtol=0, atol=1e-13)


@every_rotation_chart
@pytest.mark.parametrize("seed", range(20))
def test_rate_matrix_inverse(chart, seed):
    x, xdot = parameters(chart, np.random.default_rng(seed))
    for frame in ("world", "body"):
        E, inverse = chart.rate_matrix(x, frame), chart.rate_matrix_inverse(x, frame)
        np.testing.assert_allclose(E @ inverse, np.eye(3), rtol=0, atol=1e-13)
        # on rates that keep the constraint it is a left inverse too
        np.testing.assert_allclose(inverse @ E @ xdot, xdot, rtol=0, atol=1e-12)


@every_position_chart
@pytest.mark.parametrize("seed", range(20))
def test_position_charts(chart, seed):
    rng = np.random.default_rng(seed)
    r, xdot = rng.normal(size=3), rng.normal(size=3)
    x = chart.from_position(r)
    np.testing.assert_allclose(chart.to_position(x), r, rtol=0, atol=1e-14)
    rdot = derivative(chart.to_position, x, xdot)
    np.testing.assert_allclose(chart.rate_matrix(x) @ xdot, rdot, rtol=0, atol=1e-13)
    np.testing.assert_allclose(chart.rate_matrix(x) @ chart.rate_matrix_inverse(x), np.eye(3), rtol=0, atol=1e-12)


# singularities


@pytest.mark.parametrize("chart", SINGULAR_POINTS, ids=name_of)
def test_a_chart_says_that_it_is_singular(chart):
    x = SINGULAR_POINTS[chart]
    assert chart.singularity(np.array(x)) == pytest.approx(0.0, abs=1e-15)
    assert abs(np.linalg.svd(chart.rate_matrix(x))[1][-1]) < 1e-15
    with pytest.raises(NumericsError, match=f"chart {chart.name} is singular at {chart.symbols[0]} = ") as caught:
        chart.rate_matrix_inverse(x)
    assert caught.value.value < 1e-8


@pytest.mark.parametrize("chart", SINGULAR_POINTS, ids=name_of)
def test_a_chart_says_that_it_is_nearly_singular(chart):
    x = np.array(SINGULAR_POINTS[chart])
    step = {"cylindrical": [1e-5, 0, 0], "spherical": [0, 0, 1e-5], "angle-axis": [1e-5, 0, 0, 0]}
    x = x * (1 - 1e-5) if isinstance(chart, RotationVector) else x + step.get(chart.name, [0.0, 1e-5, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ChartWarning, match=f"chart {chart.name} is near its singularity at"):
            chart.check(x)
        chart.check(chart.from_position([1.0, 2.0, 3.0]) if hasattr(chart, "from_position") else GOOD[chart.name])
    E_inverse = chart.rate_matrix_inverse(x)
    np.testing.assert_allclose(chart.rate_matrix(x) @ E_inverse, np.eye(3), rtol=0, atol=1e-10)


GOOD = {
    "Euler ZYX": [0.1, 0.2, 0.3],
    "Euler XYZ": [0.1, 0.2, 0.3],
    "Euler ZYZ": [0.1, 0.2, 0.3],
    "Euler ZXZ": [0.1, 0.2, 0.3],
    "angle-axis": [0.1, 1.0, 0.0, 0.0],
    "rotation vector": [0.0, 0.0, 0.0],
}


@every_rotation_chart
def test_singularity_measures_the_lost_rank(chart):
    """The smallest singular value of E vanishes with singularity(x), and not faster than linearly."""
    for seed in range(20):
        x = chart.from_matrix(Rotation.random(random_state=seed).as_matrix())
        smallest = np.linalg.svd(chart.rate_matrix(x))[1][-1]
        assert 0.5 < smallest / chart.singularity(x) < 2.1


def test_half_turns_are_regular_for_angle_axis_and_rotation_vector():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AngleAxis().check([np.pi, 0.0, 1.0, 0.0])
        RotationVector().check([0.0, np.pi, 0.0])


# every kind of number


def operations(chart):
    if chart in ROTATION_CHARTS:
        yield from (chart.to_matrix, chart.rate_matrix, chart.rate_matrix_inverse)
        yield lambda x: chart.rate_matrix(x, frame="body")
        yield lambda x: chart.rate_matrix_inverse(x, frame="body")
    else:
        yield from (chart.to_position, chart.rate_matrix, chart.rate_matrix_inverse)
    yield lambda x: array([chart.singularity(x)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chart", [*ROTATION_CHARTS, *POSITION_CHARTS], ids=name_of)
def test_every_kind_of_number_gives_the_same(kind, chart):
    point = [0.6, 0.0, 0.48, 0.64] if isinstance(chart, UnitQuaternion) else [0.7, 0.6, 0.64, 0.48]
    x = np.array(point[: chart.dimension])
    if chart.dimension == 9:
        x = chart.from_matrix(RotationVector().to_matrix(point[:3]))
    for operation in operations(chart):
        np.testing.assert_allclose(KINDS[kind](operation, x), operation(x), rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chart", [*ROTATION_CHARTS, *POSITION_CHARTS], ids=name_of)
def test_every_kind_of_number_gives_the_same_parameters(kind, chart):
    if chart in POSITION_CHARTS:
        given_points, inverse = [np.array([0.3, -0.4, 1.2])], chart.from_position
    else:
        small, large = RotationVector().to_matrix([0.1, -0.2, 0.3]), RotationVector().to_matrix([-1.5, 2.0, 1.5])
        given_points, inverse = [small, large], chart.from_matrix
    for given_point in given_points:
        ours = KINDS[kind](inverse, given_point)
        np.testing.assert_allclose(ours, inverse(given_point), rtol=0, atol=1e-14)


@pytest.mark.parametrize("chart", [AngleAxis(), RotationVector(), UnitQuaternion()], ids=name_of)
def test_no_nan_in_derivatives_at_the_identity(chart):
    """Neither in the values, nor in the gradients of JAX and CasADi, of what is smooth there."""
    with jax.enable_x64(True):
        jacobian = jax.jacobian(chart.from_matrix)(jnp.eye(3))
    assert np.isfinite(np.asarray(jacobian)).all()
    matrix = casadi.SX.sym("R", 9)
    flat = to_casadi(chart.from_matrix(from_casadi(matrix).reshape(3, 3)))
    function = casadi.Function("f", [matrix], [casadi.jacobian(flat, matrix)])
    assert np.isfinite(np.array(function(np.eye(3).ravel()))).all()


def test_rotation_vector_is_smooth_at_zero():
    with jax.enable_x64(True):
        for f in (RotationVector().to_matrix, RotationVector().rate_matrix, RotationVector().rate_matrix_inverse):
            assert np.isfinite(np.asarray(jax.jacobian(f)(jnp.zeros(3)))).all()
    np.testing.assert_array_equal(RotationVector().rate_matrix_inverse(np.zeros(3)), np.eye(3))


def test_the_trace_of_euler_angles_is_sparse():
    """As few operations as the closed form of [ETH] (2.86), (2.87) needs: zeros and ones leave no trace."""
    graph = Graph()
    x = graph.inputs("x", 3)
    assert graph.count([EulerZYX().rate_matrix(x)]) == {"sin": 2, "cos": 2, "neg": 2, "mul": 2}
    counted = graph.count([EulerZYX().rate_matrix_inverse(x)])
    assert sum(counted.values()) <= 14


# what is refused


def test_wrong_input_is_refused():
    with pytest.raises(ModelError, match=r"\(z, y, x\) of chart Euler ZYX must have shape \(3,\), got \(4,\)"):
        EulerZYX().to_matrix([0.0, 0.0, 0.0, 1.0])
    with pytest.raises(ModelError, match='frame is "world" or "body", not \'inertial\''):
        EulerZYX().rate_matrix([0.0, 0.0, 0.0], frame="inertial")
    with pytest.raises(NumericsError, match="no point of chart unit quaternion"):
        UnitQuaternion().rate_matrix([0.0, 0.0, 0.0, 0.0])
    with pytest.raises(NumericsError, match="no point of chart angle-axis"):
        AngleAxis().to_matrix([0.5, 1.0, 1.0, 0.0])
    with pytest.raises(NumericsError, match="no point of chart Euler XYZ"):
        EulerXYZ().to_matrix([0.0, np.nan, 0.0])
    for bad in (np.diag([1.0, 1.0, -1.0]), 2 * np.eye(3), np.full((3, 3), np.nan)):
        with pytest.raises(NumericsError, match="not a rotation matrix"):
            EulerXYZ().from_matrix(bad)
    with pytest.raises(ModelError, match="a rotation matrix must have shape"):
        EulerXYZ().from_matrix(np.eye(4))
    with pytest.raises(ModelError, match="a position must have shape"):
        Spherical().from_position([1.0, 2.0])
