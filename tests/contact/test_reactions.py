"""Impulses that a step solves for: against the solver of impacts, which looks at numbers, and in closed form."""

import numpy as np
import pytest

from fallingcat.contact.complementarity import Collision
from fallingcat.contact.reactions import Bounded, Closed, Cone, reactions


def solved(G, short, sets, times=60):
    """Attempts, each from what the last one found."""
    x = np.zeros(len(short))
    for attempt in range(times):
        x, left = reactions(G, short, x, sets, 1.0 if attempt < 6 else 1e-4)
        if left < 1e-12:
            break
    return x, left


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
