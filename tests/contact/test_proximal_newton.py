"""Impulses that a step solves for: against the solver of impacts, which looks at numbers, and in closed form."""

import numpy as np
import pytest

from fallingcat.contact.rigid.event_driven.complementarity import Collision
from fallingcat.contact.rigid.solvers.cone_projection import JAMMED_FRICTION, STICKING_FRICTION, Bounded, Closed, Cone
from fallingcat.contact.rigid.solvers.proximal_newton import Lever, reactions


def solved(G, short, sets):
    found = reactions(G, short, np.zeros(len(short)), sets)
    return found.impulses, found.left


@pytest.mark.parametrize("friction", [0.0, 0.4, 1.2])
def test_points_react_as_in_an_impact(friction):
    """Where ``G`` is regular velocities after are those of :class:`Collision`, by another method."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        B = rng.normal(size=(9, 12))
        G, short = B @ B.T, rng.normal(size=9)
        x, left = solved(G, short, [Cone(3, friction)] * 3)
        rows = ([0, 1, 2], [3, 4, 5], [6, 7, 8])
        other = Collision(G, short, rows, np.zeros(3), friction).solve().impulse
        assert left < 1e-9
        assert np.abs(G @ (x - other)).max() < 1e-7


def test_redundant_points_share_a_load():
    """Four rows along one direction: any shares will do, if none pulls."""
    G = np.ones((4, 4))
    x, left = solved(G, np.full(4, -2.0), [Cone(1, 0.0)] * 4)
    assert left < 1e-12
    assert x.min() >= 0.0
    assert abs(x.sum() - 2.0) < 1e-12


def test_friction_within_bounds_and_rows_that_are_held():
    """A row with dry friction beside one that is held whatever it takes."""
    G, short = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([3.0, -4.0])
    (held, rubs), left = solved(G, short, [Closed(), Bounded(0.25)])
    assert left < 1e-12
    assert abs(rubs - 0.25) < 1e-15
    assert abs(held + (3.0 + 0.5 * 0.25) / 2.0) < 1e-12
    (held, rubs), left = solved(G, short, [Closed(), Bounded(50.0)])
    assert np.abs(G @ [held, rubs] + short).max() < 1e-12


def test_no_impulse_where_nothing_falls():
    x, left = solved(np.eye(3), np.array([0.1, 5.0, -5.0]), [Cone(3, 0.7)])
    assert (x == 0.0).all()
    assert left == 0.0


def assert_lawful(impulses, velocities, friction, hair=1e-7):
    """Each point pushes or leaves, and holds or drags against its slip: there may be several such answers."""
    for x, u in zip(impulses.reshape(-1, 3), velocities.reshape(-1, 3), strict=True):
        slip, drag = np.linalg.norm(u[1:]), np.linalg.norm(x[1:])
        assert x[0] >= 0.0
        assert u[0] > -hair
        assert x[0] * u[0] < hair
        assert drag <= friction * x[0] + 1e-12
        assert abs(x[1:] @ u[1:] + friction * x[0] * slip) < hair


def turned(p):
    """``w -> w x p`` and a velocity, as rows along normal and tangents of a floor."""
    x, y, z = p
    return np.array([[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]], dtype=float)


@pytest.mark.parametrize("friction", [0.3, 1.2])
def test_points_of_a_sole_react_through_its_twist(friction):
    """Two soles with four corners each, named in turn: 24 rows of rank 12 obey Moreau and Coulomb."""
    rng = np.random.default_rng(3)
    corners = [(a, b, 0.0) for a in (0.1, -0.1) for b in (0.05, -0.05)]
    levers = [Lever(slice(6 * k, 6 * k + 6), turned(p)) for p in corners for k in (0, 1)]
    X = np.zeros((24, 12))
    for i, lever in enumerate(levers):
        X[3 * i : 3 * i + 3, lever.span] = lever.X
    cones = [Cone(3, friction)] * 8
    for _ in range(5):
        B = rng.normal(size=(12, 16)) * np.tile([1.0, 1.0, 1.0, 4.0, 4.0, 4.0], 2)[:, None]
        G, short = B @ B.T, X @ (rng.normal(size=12) - np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 2))
        soles = reactions(G, short, np.zeros(24), cones, levers)
        assert soles.left < 1e-8
        assert_lawful(soles.impulses, X @ G @ X.T @ soles.impulses + short, friction)
        assert np.abs(X.T @ soles.impulses - soles.along).max() < 1e-12 * np.abs(soles.impulses).max()
        assert soles.impulses.any()


def test_loads_that_sweeps_would_take_thousands_of_rounds_to_shift():
    """Four points in a line on a bar, whose heights do not fit a line: two of them carry it, the others are free."""
    J = np.array([[1.0, x] for x in (-1.0, -0.3, 0.4, 1.0)])
    G, wanted = J @ np.diag([1.0, 3.0]) @ J.T, np.array([0.0, -1e-4, 0.0, -1e-4])
    found = reactions(G, J @ [-1.0, 0.2] - wanted, np.full(4, 0.5), [Cone(1, 0.0)] * 4)
    u = G @ found.impulses + J @ [-1.0, 0.2] - wanted
    assert found.left < 1e-10
    assert found.impulses.min() >= 0.0
    assert u.min() > -1e-9
    assert np.abs(u * found.impulses).max() < 1e-10
    assert (found.impulses > 0.0).sum() == 2


@pytest.mark.parametrize("slip", [1.0, 5.0, 200.0])
def test_a_point_that_can_neither_stick_nor_leave_slides_at_a_large_friction(slip):
    """Held along the ground it would be thrown off it, and let go it comes through it: it was missed by ``short``."""
    G, short = np.array([[1.0, -0.6, 0.0], [-0.6, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([-0.1, slip, 0.0])
    x, left = solved(G, short, [Cone(3, STICKING_FRICTION)])
    mu = -x[1] / x[0]
    assert left < 1e-8
    assert min(abs(mu - one) for one in JAMMED_FRICTION) < 1e-6
    assert x[0] == pytest.approx(0.1 / (1.0 + 0.6 * mu), rel=1e-6)


def test_points_that_stick_do_so_beside_those_that_jam_before():
    """A point that slides slowly enough is held, without any slip, whatever its load along the ground is."""
    G, short = np.array([[1.0, -0.6, 0.0], [-0.6, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([-0.1, 0.16, 3.0])
    x, left = solved(G, short, [Cone(3, STICKING_FRICTION)])
    assert left < 1e-12
    assert np.abs(G @ x + short).max() < 1e-12
    assert abs(x[2]) > 30.0 * x[0]
