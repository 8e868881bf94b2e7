"""Stepping in place: its schedule, its goals, and the motion."""

from itertools import pairwise

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.studies import run
from fallingcat.studies.experiments.stepping_plan import BEGIN, SteppingParameters, center_path, phases


def test_one_foot_after_the_other_and_the_base_changes_on_both():
    p = SteppingParameters(steps=5)
    found = phases(p)
    assert [x.base for x in found if x.is_lifted] == ["left", "right", "left", "right", "left"]
    assert all(a.begin < b.begin for a, b in pairwise(found))
    for before, after in pairwise(found):
        if before.base != after.base:  # never in the air
            assert not before.is_lifted
            assert not after.is_lifted
            assert set(before.feet) == set(after.feet) == {"left", "right"}
    assert sum(a.base != b.base for a, b in pairwise(found)) == 4
    assert found[1].begin == BEGIN + p.shift


def test_the_center_of_mass_follows_from_where_the_ground_pushes():
    """`c'' = w^2 (c - p)`, velocity and acceleration are those of the path, and it begins and ends at rest."""
    t = np.linspace(0.0, 8.0, 8001)
    p = np.stack([np.where(np.abs(t - 4.0) < 1.0, 0.1 * np.cos(0.5 * np.pi * (t - 4.0)) ** 2, 0.0)] * 3, axis=1)
    found, w2 = center_path(t, p, 0.8, 9.81), 9.81 / 0.8
    dt = t[1] - t[0]
    np.testing.assert_allclose(np.gradient(found.place, dt, axis=0)[1:-1], found.velocity[1:-1], atol=1e-6)
    np.testing.assert_allclose(np.gradient(found.velocity, dt, axis=0)[1:-1], found.acceleration[1:-1], atol=1e-5)
    np.testing.assert_allclose(found.acceleration, w2 * (found.place - p), atol=1e-12)
    np.testing.assert_allclose(found.place, found.place[::-1], atol=1e-12)  # the future counts as the past does
    assert np.abs(found.place[[0, -1]]).max() < 1e-5
    place, _, _ = found.evaluate(np.array([1.0, 4.0]))
    np.testing.assert_allclose(place, found.place[[1000, 4000]], atol=1e-12)


@pytest.fixture(scope="module")
def stepped():
    return run("stepping-in-place")


@pytest.mark.slow
def test_it_steps_and_stays_inside_its_cones(stepped):
    assert stepped.holds
    assert stepped.observed.run.status == "finished"
    assert stepped.row("steps").ours == 8
    assert stepped.row("height of a lifted foot, the least of all steps").ours > 0.058
    assert stepped.row("least room of the center of pressure in the sole of the base").ours > 0.02
    assert stepped.row("least normal force on the base").ours > 200.0
    assert len(stepped.observed.switches) == 7


@pytest.mark.slow
def test_what_was_planned_is_48_and_what_the_ground_gives(stepped):
    """At a sample on one foot: the planned wrench beside `fixed_at`, and beside the forces of the ground."""
    seen = stepped.observed
    model, phase = seen.run.model, next(x for x in seen.plan.phases if x.is_lifted and x.base == "right")
    t = phase.begin + 0.5 * seen.plan.parameters.swing
    i, k = int(np.searchsorted(seen.run.times, t)), int(np.searchsorted(seen.ticks, t))
    held = fc.formulations.fixed_at(model, seen.run.state(i), "right_sole").wrench(seen.torques[k])
    size = 9.81 * model.mass
    np.testing.assert_allclose(seen.wrenches[k, 1], held, atol=5e-3 * size)
    np.testing.assert_allclose(seen.foot_wrenches[i, 1], held, atol=5e-3 * size)
    assert not seen.foot_wrenches[i, 0].any()
    assert abs(seen.plan.center.evaluate(t)[0] - seen.center[i]).max() < 1e-3


@pytest.mark.slow
def test_its_page_shows_margins(stepped, tmp_path):
    page = stepped.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Room of its center of pressure in the sole" in page
