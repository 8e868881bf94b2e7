"""Stepping in place: its schedule, its goals, and the motion."""

from itertools import pairwise

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.studies import run
from fallingcat.studies.reaching_low import path
from fallingcat.studies.stepping_plan import BEGIN, SteppingParameters, phases


def test_one_foot_after_the_other_and_the_base_changes_on_both():
    p = SteppingParameters(steps=5)
    found = phases(p)
    assert [x.base for x in found if x.lifted] == ["left", "right", "left", "right", "left"]
    assert all(a.begins < b.begins for a, b in pairwise(found))
    for before, after in pairwise(found):
        if before.base != after.base:  # never in the air
            assert not before.lifted
            assert not after.lifted
            assert set(before.feet) == set(after.feet) == {"left", "right"}
    assert sum(a.base != b.base for a, b in pairwise(found)) == 4
    assert found[1].begins == BEGIN + p.shift


@pytest.fixture(scope="module")
def stepped():
    return run("stepping-in-place")


@pytest.mark.slow
def test_it_steps_and_stays_inside_its_cones(stepped):
    assert stepped.holds
    assert stepped.observed.run.status == "finished"
    assert stepped.row("steps").ours == 8
    assert stepped.row("height of a lifted foot, the least of all steps").ours > 0.058
    assert stepped.row("least room of the center of pressure in the sole of the base").ours > 0.01
    assert stepped.row("least normal force on the base").ours > 200.0
    assert len(stepped.observed.switches) == 7


@pytest.mark.slow
def test_what_was_planned_is_48_and_what_the_ground_gives(stepped):
    """At a sample on one foot: the planned wrench beside `fixed_at`, and beside the forces of the ground."""
    seen = stepped.observed
    model, phase = seen.run.model, next(x for x in seen.plan.phases if x.lifted and x.base == "right")
    t = phase.begins + 0.5 * seen.plan.parameters.swing
    i, k = int(np.searchsorted(seen.run.times, t)), int(np.searchsorted(seen.ticks, t))
    held = fc.fixed_at(model, seen.run.state(i), "right_sole").wrench(seen.torques[k])
    size = 9.81 * model.mass
    np.testing.assert_allclose(seen.wrenches[k, 1], held, atol=5e-3 * size)
    np.testing.assert_allclose(seen.felt[i, 1], held, atol=5e-3 * size)
    assert not seen.felt[i, 0].any()
    assert abs(path(t, seen.plan.center)[0] - seen.center[i]).max() < 1e-3


@pytest.mark.slow
def test_its_page_shows_margins(stepped, tmp_path):
    page = stepped.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Room of its center of pressure in the sole" in page
