"""Gaits for a wanted rotation: the derivative of a displacement by curvature, plans that do what they say."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError, NumericsError
from fallingcat.lie import SE2, SE3, SO3
from fallingcat.lie.rotations import exp, log
from fallingcat.planning import Fourier, displacement, reorient
from fallingcat.planning.reorientation.closed_gaits import _Search


def arm(base, n, seed):
    return fc.robots.random_tree(np.random.default_rng(seed), n, kinds=["revolute"], base=base, fixed=0.0)


@pytest.mark.parametrize("base", [SE3(), SE2(), SO3()], ids=str)
def test_the_derivative_of_a_displacement_is_an_integral_of_the_curvature(base):
    model = arm(base, 4, 1)
    rng = np.random.default_rng(5)
    search = _Search(model, 0.3 * rng.normal(size=4), 2, np.ones(4))
    x, d = 0.3 * rng.normal(size=16), rng.normal(size=16)
    turn, slopes = search.cycle_rotation(x)
    np.testing.assert_allclose(turn, log(displacement(model, search.gait(x)).pose[:3, :3]), atol=1e-12)
    h = 1e-5
    differences = (search.cycle_rotation(x + h * d)[0] - search.cycle_rotation(x - h * d)[0]) / (2.0 * h)
    np.testing.assert_allclose(slopes @ d, differences, atol=1e-7)


def test_a_small_gait_is_what_the_curvature_says():
    model = arm(SE3(), 5, 3)
    search = _Search(model, 0.5 * np.random.default_rng(0).normal(size=5), 3, np.ones(5))
    for turn in 1e-5 * np.eye(3):
        np.testing.assert_allclose(search.cycle_rotation(search.guess(turn))[0], turn, atol=3e-7)


@pytest.mark.parametrize(("base", "n", "turn"), [(SE3(), 5, [0.2, -0.3, 0.1]), (SO3(), 4, [-0.1, 0.2, 0.2])], ids=str)
def test_a_plan_turns_the_base_as_wanted(base, n, turn):
    model = arm(base, n, 3)
    origin = 0.4 * np.random.default_rng(1).normal(size=n)
    plan = reorient(model, turn, origin=origin, reach=0.8)
    moved = displacement(model, plan.gait)
    whole = np.linalg.matrix_power(moved.pose[:3, :3], plan.cycles)
    assert np.linalg.norm(log(exp(np.array(turn)).T @ whole)) < 1e-8
    q = plan.gait(np.linspace(0.0, 1.0, 333)).q
    assert np.abs(q - origin).max() <= 0.8 + 1e-3
    np.testing.assert_allclose(plan.gait(0.0).q[0], origin, atol=1e-12)
    assert plan.gait.closed


def test_a_known_gait_is_a_start_and_its_turn_costs_no_more():
    model = arm(SE2(), 2, 4)
    circle = Fourier(np.zeros(2), np.array([[0.4, 0.0]]), np.array([[0.0, 0.4]]))
    turn = log(displacement(model, circle).pose[:3, :3])
    plan = reorient(model, turn, origin=circle(0.0).q[0], reach=2.0, start=circle, harmonics=1)
    efforts = [float(np.sum(g(np.arange(64) / 64.0).dq ** 2)) for g in (circle, plan.gait)]
    assert plan.cycles == 1
    assert efforts[1] <= efforts[0] * (1.0 + 1e-9)


def test_what_cannot_be_is_refused():
    planar = arm(SE2(), 2, 4)
    with pytest.raises(ModelError, match="do not turn the base about this axis"):
        reorient(planar, [0.3, 0.0, 0.0], origin=[0.3, 0.3])
    with pytest.raises(ModelError, match="above zero, up to pi"):
        reorient(planar, [0.0, 0.0, 4.0])
    with pytest.raises(NumericsError, match="do not turn the base"):
        reorient(planar, [0.0, 0.0, 3.0], origin=[0.3, 0.3], reach=0.01, most=5)
    with pytest.raises(ModelError, match="start must be a Fourier series"):
        reorient(planar, [0.0, 0.0, 0.3], start=fc.planning.Circle(0.3))
