"""Bodies: laws of mass, center and inertia."""

import numpy as np
import pytest
from hypothesis import given
from laws import generators

from fallingcat.errors import ModelError
from fallingcat.lie import SE3, skew
from fallingcat.model import Body
from fallingcat.model.body import TRIANGLE_TOLERANCE, sum_bodies
from fallingcat.model.robots.random_tree import random_body

G = SE3()


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@given(rng=generators())
def test_point_masses_give_the_energy_of_their_points(rng):
    points = [(rng.uniform(0.1, 1.0), rng.normal(size=3)) for _ in range(5)]
    twist = rng.normal(size=6)
    energy = sum(0.5 * m * np.sum((twist[:3] + skew(twist[3:]) @ x) ** 2) for m, x in points)
    body = Body.from_points(points)
    close(0.5 * twist @ body.spatial_inertia @ twist, energy)
    close(body.mass, sum(m for m, _ in points))
    close(body.mass * body.center, sum(m * x for m, x in points))
    assert body.problems() == []


@given(rng=generators())
def test_the_spatial_inertia_of_a_moved_body_is_moved_by_the_adjoint(rng):
    body, H = random_body(rng), G.random(rng)
    A = G.Ad(G.inverse(H))
    close(body.moved(H).spatial_inertia, A.T @ body.spatial_inertia @ A)
    back = body.moved(H).moved(G.inverse(H))
    close(back.spatial_inertia, body.spatial_inertia)
    close(body.moved(H).principal_inertia, body.principal_inertia)


@given(rng=generators())
def test_spatial_inertias_add_up(rng):
    bodies = [random_body(rng) for _ in range(4)]
    close(sum_bodies(bodies).spatial_inertia, sum(b.spatial_inertia for b in bodies))


@given(rng=generators())
def test_the_spatial_inertia_is_symmetric_and_positive(rng):
    L = random_body(rng).spatial_inertia
    close(L, L.T, 1e-15)
    assert np.linalg.eigvalsh(L).min() > 0.0


def test_one_body_is_its_own_sum():
    body = Body(2.0, [0.1, 0.2, 0.3], np.diag([0.3, 0.2, 0.2]))
    close(sum_bodies([body]).spatial_inertia, body.spatial_inertia, 1e-15)


def test_nothing_weighs_nothing():
    assert sum_bodies([]).mass == 0.0
    assert sum_bodies([Body(), Body()]).mass == 0.0
    assert Body().problems() == ["the mass is zero"]


@pytest.mark.parametrize(
    ("moments", "words"),
    [
        ([0.0, 0.0, 0.0], "not all positive"),
        ([-1.0, 1.0, 1.0], "not all positive"),
        ([1.0, 2.0, 3.001], "triangle inequality"),
        ([1.0, 1.0, 2.0 * (1.0 + 2.0 * TRIANGLE_TOLERANCE)], "triangle inequality"),
    ],
)
def test_problems_in_words(moments, words):
    (problem,) = Body(1.0, np.zeros(3), np.diag(moments)).problems()
    assert words in problem


def test_a_flat_plate_with_rounded_digits_is_no_problem():
    assert Body(1.0, np.zeros(3), np.diag([1.0, 1.0, 2.000001])).problems() == []


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"mass": -1.0}, "mass"),
        ({"mass": np.nan}, "mass"),
        ({"mass": np.inf}, "mass"),
        ({"mass": 1.0, "center": [0.0, 0.0]}, "center"),
        ({"mass": 1.0, "center": [0.0, 0.0, np.nan]}, "center"),
        ({"mass": 1.0, "center": "here"}, "center"),
        ({"mass": 1.0, "inertia": np.eye(2)}, "inertia"),
        ({"mass": 1.0, "inertia": np.full((3, 3), np.inf)}, "inertia"),
        ({"mass": 1.0, "inertia": np.triu(np.ones((3, 3)))}, "symmetric"),
    ],
)
def test_what_is_no_body_is_refused_by_name(arguments, word):
    with pytest.raises(ModelError, match=word):
        Body(**arguments)


def test_a_body_is_frozen():
    body = Body(1.0, np.zeros(3), np.eye(3))
    with pytest.raises(AttributeError):
        body.mass = 2.0
    with pytest.raises(ValueError, match="read-only"):
        body.center[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        body.spatial_inertia[0, 0] = 1.0


def test_a_body_does_not_keep_the_array_it_was_given():
    center = np.zeros(3)
    body = Body(1.0, center, np.eye(3))
    center[0] = 1.0
    assert body.center[0] == 0.0
