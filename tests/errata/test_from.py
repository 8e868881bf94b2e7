"""Errata of [From]."""

import numpy as np
import pytest
from misprints import misprint

from fallingcat.lie import R1, R3, SE2, SE3, SO2, SO3, Helical, Schoenflies, skew

STEP = 1e-30

seeds = pytest.mark.parametrize("seed", range(5))
GROUPS = [SE3(), SE2(), SO3(), Schoenflies()]
every_group = pytest.mark.parametrize("group", GROUPS, ids=str)


def velocity_matrix(group, phi):
    """`S` of (28) and `[k, i, j] = dS_ki/dphi_j`, by complex steps."""
    steps = [np.imag(group.dexp_right(phi + 1j * STEP * e)) / STEP for e in np.eye(group.dim)]
    return np.real(group.dexp_right(phi)), np.reshape(steps, (group.dim,) * 3).transpose(1, 2, 0)


def forces_of_points(places, masses, v):
    """Wrench `[f; t]` about the origin that a body of points needs to keep its body-fixed twist `v` constant."""
    inward = [m * np.cross(v[3:], v[:3] + np.cross(v[3:], x)) for m, x in zip(masses, places, strict=True)]
    return np.concatenate([sum(inward), sum(np.cross(x, f) for x, f in zip(places, inward, strict=True))])


def principal_body(rng):
    """Two points on each axis: places (m), masses (kg), and the inertia `diag(m, m, m, Ix, Iy, Iz)`."""
    arms, halves = rng.uniform(0.5, 1.5, size=3), rng.uniform(0.5, 1.5, size=3)
    places = np.concatenate([np.diag(arms), -np.diag(arms)])
    masses = np.concatenate([halves, halves])
    inertia = sum(m * skew(x) @ skew(x).T for m, x in zip(masses, places, strict=True))
    return places, masses, np.diag([masses.sum()] * 3 + list(np.diag(inertia)))


@every_group
@seeds
def test_index_in_the_coriolis_sum(group, seed):
    """(49), (50): `S_sj` for `S_sm`, as (54) has it; at phi = 0 both are one, elsewhere only (54) holds."""
    rng = np.random.default_rng(seed)
    phi, v = rng.normal(size=(2, group.dim))
    half = rng.normal(size=(group.dim, group.dim))
    h = half @ half.T @ v  # M v
    S, dS = velocity_matrix(group, phi)
    inverse = np.linalg.inv(S)
    first = np.einsum("li,slm,mj,s->ij", inverse, dS, inverse, h)
    printed = first - np.einsum("li,sjl,mj,s->ij", inverse, dS, inverse, h)
    right = first - np.einsum("li,sml,mj,s->ij", inverse, dS, inverse, h)
    misprint("(49)-(50)", printed, right, -group.adt(h))


@seeds
def test_last_of_the_six_equations(seed):
    """After (76): `I_y r q` in the equation of r, where `I_y q p` belongs, as (4) says."""
    rng = np.random.default_rng(seed)
    places, masses, M = principal_body(rng)
    v = rng.normal(size=6)
    p, q, r = v[3:]
    Ix, Iy, _ = np.diag(M)[3:]
    misprint("after (76)", -Ix * q * p + Iy * r * q, -Ix * q * p + Iy * q * p, forces_of_points(places, masses, v)[5])


@seeds
def test_sign_of_the_reduced_velocity_matrix_of_se2(seed):
    """(79): `S_r = +1/2 ad`; the series (29) begins with `1 - 1/2 ad`."""
    phi = np.random.default_rng(seed).normal(size=3)
    a, b, c = phi
    typed = 0.5 * np.array([[0, -c, b], [c, 0, -a], [0, 0, 0]])
    truth = np.imag(SE2().dexp_right(1j * STEP * phi)) / STEP
    misprint("(79)", typed, -typed, truth)


@seeds
def test_sign_of_the_reduced_velocity_matrix_of_the_schoenflies_group(seed):
    """(90): the same sign."""
    phi = np.random.default_rng(seed).normal(size=4)
    a, b, _, d = phi
    typed = 0.5 * np.array([[0, -d, 0, b], [d, 0, 0, -a], [0, 0, 0, 0], [0, 0, 0, 0]])
    truth = np.imag(Schoenflies().dexp_right(1j * STEP * phi)) / STEP
    misprint("(90)", typed, -typed, truth)


@seeds
def test_coriolis_matrix_of_so3(seed):
    """Table 1, SO(3): `+skew p`; (68) and Table 2 have `-skew(M v)`."""
    rng = np.random.default_rng(seed)
    places, masses, M = principal_body(rng)
    w = rng.normal(size=3)
    torque = forces_of_points(places, masses, np.append(np.zeros(3), w))[3:]
    h = M[3:, 3:] @ w
    misprint("Table 1, SO(3)", skew(h) @ w, -skew(h) @ w, torque)


@seeds
def test_algebra_of_translations(seed):
    """Table 1, R^3: the algebra of the Schoenflies group is printed, with a rotation r about z."""
    rng = np.random.default_rng(seed)
    u, v, w, r = rng.normal(size=4)
    printed = np.array([[0, -r, 0, u], [r, 0, 0, v], [0, 0, 0, w], [0, 0, 0, 0]])
    right = np.array([[0, 0, 0, u], [0, 0, 0, v], [0, 0, 0, w], [0, 0, 0, 0]])
    start = R3().random(rng)
    truth = np.linalg.solve(start, np.imag(start @ R3().exp(1j * STEP * np.array([u, v, w]))) / STEP)
    misprint("Table 1, R^3", printed, right, truth)


@pytest.mark.parametrize("group", [R1(), Helical(pitch=0.3), SO2()], ids=str)
def test_algebra_of_one_dimensional_groups(group):
    """Table 1, R, H, SO(2): `V hat = 0`; they move, and only their adjoint map is zero."""
    twist = {"R": [0, 0, 1, 0, 0, 0], "H": [0, 0, 0.3, 0, 0, 1], "SO(2)": [0, 0, 0, 0, 0, 1]}
    key = next(k for k, kind in (("R", R1), ("H", Helical), ("SO(2)", SO2)) if isinstance(group, kind))
    truth = np.imag(group.exp(np.array([1j * STEP]))) / STEP
    misprint("Table 1", np.zeros((4, 4)), SE3().hat(np.array(twist[key], dtype=float)), truth)


@seeds
def test_first_line_of_the_bracket(seed):
    """(103): `-X3 Y2 + X2 Y3 - X6 Y3 + X5 Y6`; the first line of [X, Y] mixes linear and angular parts."""
    X, Y = np.random.default_rng(seed).normal(size=(2, 6))
    hat = SE3().hat
    truth = (hat(X) @ hat(Y) - hat(Y) @ hat(X))[0, 3]
    _, x2, x3, _, x5, x6 = X
    _, y2, y3, _, y5, y6 = Y
    misprint("(103)", -x3 * y2 + x2 * y3 - x6 * y3 + x5 * y6, -x6 * y2 + x5 * y3 - x3 * y5 + x2 * y6, truth)
