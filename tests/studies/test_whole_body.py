"""Whole-body control in motion: a quadruped that is pushed, a humanoid that reaches low."""

import numpy as np
import pytest

from fallingcat.studies import run
from fallingcat.studies.experiments.pushed import (
    PUSH_DURATION,
    PUSH_TIME,
    Push,
    PushedDog,
    PushedParameters,
    standing_dog,
)
from fallingcat.studies.experiments.reaching_low import path


@pytest.fixture(scope="module")
def pushed():
    return run("pushed-dog")


def test_the_dog_recovers(pushed):
    assert pushed.holds
    assert 0.05 < pushed.row("largest sway of the center of mass").ours < 0.12
    seen = pushed.observed
    before = seen.run.times < PUSH_TIME
    assert np.abs(seen.sway[before]).max() < 1e-3  # it stands
    assert seen.sway[:, 1].max() > 10.0 * -seen.sway[:, 1].min()  # and does not swing over


def test_the_push_has_its_impulse():
    dog, start = standing_dog()
    push, dt = Push(15.0 / PUSH_DURATION), 0.01
    forces = [push.forces(dog, (k + 0.5) * dt, start, frozenset()) for k in range(50)]
    np.testing.assert_allclose(dt * np.sum(forces, axis=0)[:3], [0.0, 15.0, 0.0], atol=1e-12)


@pytest.mark.slow
def test_beyond_its_capture_point_it_falls():
    seen = PushedDog().run(PushedParameters(impulse=24.0, rate=250.0), lambda what, share: None)
    assert np.abs(seen.sway[-1]).max() > 0.05
    assert seen.capture < 24.0


def test_its_page_shows_the_robot(pushed, tmp_path):
    page = pushed.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Share of the friction" in page


def test_paths_stop_where_they_should():
    stops = [(0.0, np.zeros(2)), (1.0, np.array([1.0, 2.0])), (3.0, np.array([0.0, 4.0]))]
    h = 1e-5
    for t in (0.3, 0.9, 1.7, 2.5):
        p, v, a = path(t, stops)
        ahead, behind = path(t + h, stops)[0], path(t - h, stops)[0]
        np.testing.assert_allclose((ahead - behind) / (2 * h), v, atol=1e-8)
        np.testing.assert_allclose((ahead - 2 * p + behind) / h**2, a, atol=1e-4)
    for t, place in stops:
        p, v, a = path(t, stops)
        np.testing.assert_allclose(p, place, atol=1e-14)
        np.testing.assert_allclose([v, a], 0.0, atol=1e-13)
    np.testing.assert_allclose(path(9.0, stops)[0], [0.0, 4.0])


@pytest.mark.slow
def test_the_humanoid_reaches_low_on_two_feet_and_on_one():
    study = run("reaching-low")
    assert study.holds
    assert study.row("least room of the center of pressure in the foot that it stands on").ours > 0.02
    assert study.row("least height of the other foot").ours > 0.08
    assert study.row("height of the palm on one foot").ours < 0.46
