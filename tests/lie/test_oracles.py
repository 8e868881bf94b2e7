"""Other people's groups agree with ours: jaxlie, SciPy, Pinocchio; and 40 digits where those lose some of theirs."""

import jax
import jaxlie
import mpmath
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import algebra, generators
from scipy.spatial.transform import Rotation

from fallingcat.lie import SE2, SE3, SO2, SO3, Schoenflies

NEAR_PI = np.pi - 1e-9  # beyond it the sign of the axis is a matter of rounding


def angles(low=0.0):
    """From ``low`` (rad) to pi, with a liking for both ends."""
    near_zero, near_pi = st.floats(low, max(low, 1e-3)), st.floats(np.pi - 1e-3, NEAR_PI)
    return st.one_of(st.floats(low, NEAR_PI), near_zero, near_pi, st.sampled_from([low, NEAR_PI]))


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# SciPy: rotations


@given(rng=generators(), angle=angles())
def test_scipy_rotations(rng, angle):
    w = algebra(SO3(), rng, angle)
    rotation = Rotation.from_rotvec(w)
    g = SO3().exp(w)
    close(g[:3, :3], rotation.as_matrix())
    close(SO3().coordinates(g), rotation.as_quat(canonical=True))
    close(SO3().log(g), Rotation.from_matrix(g[:3, :3]).as_rotvec())
    close(SO3().element(rotation.as_quat())[:3, :3], rotation.as_matrix())


# Pinocchio: its Jexp is the body-fixed one, dexp_right, and its Jlog the inverse of that


@given(rng=generators(), angle=angles())
def test_pinocchio_so3(rng, angle):
    G, w = SO3(), algebra(SO3(), rng, angle)
    R = G.exp(w)[:3, :3]
    close(R, pin.exp3(w))
    close(G.log(G.exp(w)), pin.log3(R), 1e-11)  # its arccos loses digits between 3 and pi
    close(G.dexp_right(w), pin.Jexp3(w), 2e-12)
    close(G.Ad(G.exp(w)), R, 0.0)


@given(rng=generators(), angle=angles())
def test_pinocchio_se3(rng, angle):
    G, x = SE3(), algebra(SE3(), rng, angle)
    g = G.exp(x)
    close(g, pin.exp6(pin.Motion(x)).homogeneous, 2e-12)
    close(G.log(g), pin.log6(pin.SE3(g)).vector, 1e-11)
    close(G.Ad(g), pin.SE3(g).action)
    close(G.Ad(G.inverse(g)), pin.SE3(g).actionInverse)
    close(G.inverse(g), pin.SE3(g).inverse().homogeneous)
    close(G.ad(x) @ np.arange(6.0), pin.Motion(x).cross(pin.Motion(np.arange(6.0))).vector)
    close(-G.ad(x).T @ np.arange(6.0), pin.Motion(x).cross(pin.Force(np.arange(6.0))).vector)


@given(rng=generators(), angle=st.one_of(angles(0.2), st.floats(0.0, 1e-5)))
def test_pinocchio_derivatives(rng, angle):
    """Not between 1e-4 rad, where its Taylor series ends, and 0.2: there Pinocchio 4.1 is off by up to 1e-4."""
    G, x = SE3(), algebra(SE3(), rng, angle)
    g = G.exp(x)
    close(G.dexp_right(x), pin.Jexp6(pin.Motion(x)), 1e-12)
    close(G.dexp_right_inverse(x), pin.Jlog6(pin.SE3(g)), 1e-11)
    close(SO3().dexp_right_inverse(x[3:]), pin.Jlog3(g[:3, :3]), 1e-11)


@given(rng=generators(), angle=angles())
def test_pinocchio_interpolation(rng, angle):
    G, x = SE3(), algebra(SE3(), rng, angle)
    g = G.random(rng)
    middle = pin.SE3.Interpolate(pin.SE3(g), pin.SE3(g @ G.exp(x)), 0.3).homogeneous
    close(G.interpolate(g, g @ G.exp(x), 0.3), middle, 1e-11)


# jaxlie: same order [v; w], same frames; at small angles its translations lose up to half of their digits

JAXLIE = [
    pytest.param(SO2(), jaxlie.SO2, (0, 1), id="SO(2)"),
    pytest.param(SE2(), jaxlie.SE2, (0, 1, 3), id="SE(2)"),
    pytest.param(SO3(), jaxlie.SO3, (0, 1, 2), id="SO(3)"),
    pytest.param(SE3(), jaxlie.SE3, (0, 1, 2, 3), id="SE(3)"),
]


@pytest.mark.parametrize(("G", "theirs", "rows"), JAXLIE)
def test_jaxlie(G, theirs, rows):
    exp = jax.jit(lambda x: theirs.exp(x).as_matrix())
    log = jax.jit(lambda g: theirs.from_matrix(g).log())
    adjoint = jax.jit(lambda g: theirs.from_matrix(g).adjoint())

    @given(rng=generators(), angle=angles())
    def agree(rng, angle):
        x = algebra(G, rng, angle)
        g = G.exp(x)
        small = g[np.ix_(rows, rows)]
        with jax.enable_x64(True):
            close(small, exp(x), 1e-12 if angle > 0.1 else 1e-4)
            close(G.log(g), log(small), 1e-12 if angle > 0.1 else 1e-4)
            close(G.Ad(g), np.reshape(adjoint(small), (G.dim, G.dim)))

    agree()


# forty digits


def precise(matrix):
    return mpmath.matrix(np.asarray(matrix).tolist())


def rounded(matrix):
    return np.array(matrix.tolist(), dtype=float)


@pytest.mark.parametrize("G", [SE3(), SE2(), SO3(), Schoenflies()], ids=str)
@settings(max_examples=15)
@given(rng=generators(), angle=st.one_of(angles(), st.floats(1e-4, 0.2)))
def test_forty_digits(G, rng, angle):
    """exp and both dexp with their inverses to a few units of rounding, at every angle."""
    x = algebra(G, rng, angle)
    with mpmath.workdps(40):
        exp = mpmath.expm(precise(G.hat(x)), method="taylor")
        ad, power = precise(G.ad(x)), mpmath.eye(G.dim)
        left, right = mpmath.zeros(G.dim), mpmath.zeros(G.dim)
        for k in range(40):
            left, right = left + power, right + (-1) ** k * power
            power = power * ad / (k + 2)
        close(G.exp(x), rounded(exp), 4e-15)
        close(G.log(rounded(exp)), x, 2e-14)
        close(G.dexp_left(x), rounded(left), 1e-14)
        close(G.dexp_right(x), rounded(right), 1e-14)
        close(G.dexp_left_inverse(x), rounded(left**-1), 1e-14)
        close(G.dexp_right_inverse(x), rounded(right**-1), 1e-14)
