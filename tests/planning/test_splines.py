"""Cubic splines: their derivatives, finer ones, and what is none."""

import numpy as np
import pytest

from fallingcat.errors import ModelError
from fallingcat.planning import Circle, Spline


def test_derivatives_and_finer_intervals():
    rng = np.random.default_rng(0)
    curve, s, step = Spline(rng.normal(size=(5, 3)), rng.normal(size=(5, 3))), rng.uniform(0.01, 0.99, 50), 1e-6
    s = s[np.abs(4.0 * s - np.round(4.0 * s)) > 1e-4]  # the second derivative jumps at nodes
    jet, before, after = curve(s), curve(s - step), curve(s + step)
    assert np.allclose((after.q - before.q) / (2.0 * step), jet.dq, atol=1e-7)
    assert np.allclose((after.dq - before.dq) / (2.0 * step), jet.ddq, atol=1e-6)
    fine = Spline.along(curve, 12)(s)
    assert all(np.allclose(x, y, atol=1e-10) for x, y in zip(fine, jet, strict=True))
    nodes = curve(np.linspace(0.0, 1.0, 5))
    assert np.allclose(nodes.q, curve.points)
    assert np.allclose(nodes.dq, curve.slopes)


def test_it_follows_a_smooth_curve_to_fourth_order():
    s = np.linspace(0.0, 1.0, 301)
    errors = [np.abs(Spline.along(Circle(0.5), n)(s).q - Circle(0.5)(s).q).max() for n in (8, 16)]
    assert errors[1] < errors[0] / 14.0


def test_points_and_slopes_are_as_many():
    with pytest.raises(ModelError, match="must have one shape, of two rows or more"):
        Spline([[0.0], [1.0]], [[0.0]])
    with pytest.raises(ModelError, match="points must be a matrix of finite numbers"):
        Spline([0.0, np.nan], [0.0, 0.0])
