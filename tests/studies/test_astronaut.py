"""Reorientation of an astronaut, and lower bounds of planar reorientation."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.lie.rotations import exp, log
from fallingcat.studies.experiments.astronaut import AXES, AstronautParameters, AstronautTurn, axes
from fallingcat.studies.experiments.turn_bound import BoundParameters, Bounds, TurnBound, ellipse, planar_astronaut


def quiet(*_):
    """No progress."""


@pytest.fixture(scope="module")
def turned():
    return AstronautTurn().run(AstronautParameters(axis=20, angle=30.0), quiet)


def test_axes_are_even_over_the_sphere():
    points = axes()
    assert np.allclose(np.linalg.norm(points, axis=1), 1.0)
    assert np.abs(points.mean(axis=0)).max() < 0.02
    nearest = np.sort(points @ points.T, axis=1)[:, -2]
    assert np.degrees(np.arccos(nearest)).min() > 12.0
    assert len(points) == AXES


def test_the_simulated_astronaut_turns_as_planned(turned):
    """Against the rotation that was asked for, not the plan."""
    flight = turned.flight
    reached = flight.poses[0, :3, :3].T @ flight.poses[-1, :3, :3]
    wanted = exp(np.radians(30.0) * axes()[20])
    assert np.degrees(np.linalg.norm(log(wanted.T @ reached))) < 0.1
    assert turned.attitude_error < 0.1
    assert turned.spin < 1e-12
    assert np.abs(flight.rates[-1]).max() < 1e-2


def test_the_flight_stays_within_the_limits(turned):
    lower, upper = (np.array([getattr(x, side) for x in turned.model.limits]) for side in ("lower", "upper"))
    assert (turned.flight.joints > lower).all()
    assert (turned.flight.joints < upper).all()
    assert max(turned.limit_share("effort"), turned.limit_share("velocity")) <= 1.0
    # the motion is as fast as its limits
    assert max(turned.limit_share("effort"), turned.limit_share("velocity")) > 0.85


@pytest.mark.parametrize("angle", [3.0, 25.0, 60.0])
def test_no_closed_motion_undercuts_the_bounds(angle):
    found = TurnBound().run(BoundParameters(angle=angle), quiet)
    moved = fc.planning.displacement(planar_astronaut(), found.gait)
    assert abs(found.cycles * abs(planar_astronaut().base.log(moved.pose)[2]) - np.radians(angle)) < 1e-9
    for ours, least in (
        (found.effort, found.bounds.effort(found.turn)),
        (found.time, found.bounds.time(found.turn)),
    ):
        assert 1.0 < ours / least < 1.7


@pytest.mark.parametrize("seed", range(20))
def test_random_loops_stay_above_the_bounds(seed):
    """Closed Fourier series within the ranges, of any shape and winding: an oracle that knows no curvature."""
    rng, model = np.random.default_rng(seed), planar_astronaut()
    bounds = Bounds.from_model(model, 100)
    cosines, sines = rng.normal(size=(2, 3, 2)) / np.arange(1, 4)[None, :, None]
    gait = fc.planning.Fourier(np.zeros(2), cosines, sines)
    q = gait(np.linspace(0.0, 1.0, 500)).q
    low, high = (np.array([getattr(x, side) for x in model.limits]) for side in ("lower", "upper"))
    scale = 0.99 * (high - low) / (q.max(axis=0) - q.min(axis=0))
    shift = 0.5 * (low + high) - 0.5 * scale * (q.max(axis=0) + q.min(axis=0))
    gait = fc.planning.Fourier(shift, scale * cosines, scale * sines)
    turn = abs(float(model.base.log(fc.planning.displacement(model, gait).pose)[2]))
    rates = gait((np.arange(4096) + 0.5) / 4096).dq
    assert np.linalg.norm(rates, axis=1).mean() > 0.999 * bounds.length(turn)
    assert (np.abs(rates) / bounds.speeds).max(axis=1).mean() > 0.999 * bounds.time(turn)


def test_the_bound_is_sharp_where_the_curvature_is_even():
    """A circle attains it."""
    flat = Bounds(np.full((200, 200), 0.5), (2.0 / 200) ** 2, (1.0, 1.0))
    turn = 0.5 * np.pi * 0.4**2
    rates = ellipse(np.zeros(2), np.array([0.4, 0.4]))((np.arange(512) + 0.5) / 512).dq
    assert np.isclose(np.linalg.norm(rates, axis=1).mean(), flat.length(turn), rtol=1e-3)
    assert np.isclose(flat.time(0.5 * 2.0 * 0.3**2), 4.0 * 0.3, rtol=1e-3)  # a square on its corner
