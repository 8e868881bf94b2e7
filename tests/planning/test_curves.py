"""Curves and gaits: derivatives are derivatives, closed is closed, speeds are smooth."""

import numpy as np
import pytest

from fallingcat.errors import ModelError
from fallingcat.planning import Chain, Circle, Fourier, Gait, RightingCurve, Segment, carried_bend, polygon

RNG = np.random.default_rng(3)
FOURIER = Fourier(RNG.normal(size=3), RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3)))
RIGHTING = RightingCurve(np.zeros(3), np.eye(3)[0], np.eye(3)[1], 0.8, tuck=np.array([0.0, 0.0, 0.5]), turns=1.3)
CURVES = {
    "circle": Circle(0.4, center=(0.1, -0.2), start=0.7),
    "ellipse backwards": Circle((0.4, 0.2), turns=-2.0),
    "fourier": FOURIER,
    "polygon": polygon([[0.0, 0.0], [1.0, 0.2], [0.3, 0.9]]),
    "carried bend": carried_bend(0.5),
    "righting": RIGHTING,
    "reversed": carried_bend(0.5, turns=1.5).reversed(),
    "embedded": Circle(0.3).embedded(RNG.normal(size=(5, 2)), RNG.normal(size=5)),
}


def away_from(points, times, distance):
    return np.array([t for t in times if min(abs(t - np.array(points))) > distance])


@pytest.mark.parametrize("profile", [None, "smooth", "constant"])
@pytest.mark.parametrize("name", CURVES)
def test_derivatives_are_derivatives(name, profile):
    curve = CURVES[name]
    motion = curve if profile is None else Gait(curve, 0.7, profile)
    t, step = np.linspace(0.0, motion.duration, 60), 1e-5
    t = away_from(motion.breaks, t, 2 * step)
    jet, before, after = motion(t), motion(t - step), motion(t + step)
    scale = np.abs(jet.ddq).max() + np.abs(jet.dq).max()
    assert np.abs((after.q - before.q) / (2 * step) - jet.dq).max() < 1e-6 * scale
    assert np.abs((after.dq - before.dq) / (2 * step) - jet.ddq).max() < 1e-5 * scale


@pytest.mark.parametrize("name", CURVES)
def test_gaits_are_closed_and_stay_on_the_curve(name):
    curve = CURVES[name]
    assert curve.closed
    ends = Gait(curve, 2.0)([-1.0, 0.0, 2.0, 3.0])
    assert np.abs(ends.q - curve(0.0).q).max() < 1e-12
    assert np.abs(ends.dq).max() < 1e-12
    assert np.abs(ends.ddq).max() < 1e-9


@pytest.mark.parametrize("name", ["carried bend", "polygon", "righting"])
def test_smooth_gaits_have_no_jumps_of_rate_or_acceleration(name):
    gait = Gait(CURVES[name], 1.0, "constant" if name == "righting" else "smooth")
    edges = np.array(gait.breaks[1:-1])
    before, after = gait(edges - 1e-9), gait(edges + 1e-9)
    assert np.abs(before.dq - after.dq).max() < 1e-5
    assert np.abs(before.ddq - after.ddq).max() < 1e-3


def test_samples_lie_on_their_fourier_curve():
    points = RNG.normal(size=(9, 4))
    assert np.abs(Fourier.through(points)(np.arange(9) / 9).q - points).max() < 1e-13
    even = RNG.normal(size=(8, 2))
    assert np.abs(Fourier.through(even)(np.arange(8) / 8).q - even).max() < 1e-13


def test_reversal_runs_through_the_same_points():
    s = np.linspace(0.0, 1.0, 11)
    for curve in CURVES.values():
        assert np.abs(curve.reversed()(s).q - curve(1.0 - s).q).max() < 1e-13


@pytest.mark.parametrize(
    "make",
    [
        lambda: Chain((Segment((0.0, 0.0), (1.0, 0.0)), Segment((2.0, 0.0), (0.0, 0.0)))),
        lambda: Chain(()),
        lambda: Gait(Circle(1.0), 0.0),
        lambda: Gait(Circle(1.0), np.nan),
        lambda: Gait(Circle(1.0), profile="bumpy"),
        lambda: Fourier.through([[0.0, 0.0], [1.0, 1.0]]),
        lambda: Circle(1.0).embedded(np.eye(3)),
        lambda: Circle(1.0).embedded(np.ones((3, 2)), np.zeros(2)),
        lambda: polygon([[0.0, np.nan], [1.0, 1.0], [0.0, 1.0]]),
    ],
)
def test_what_is_no_gait_is_refused(make):
    with pytest.raises(ModelError):
        make()
