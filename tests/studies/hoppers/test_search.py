"""Whether controller III has a gait: the gait that was found, and the search."""

import numpy as np
import pytest

from fallingcat.model import State
from fallingcat.simulation import Rosenbrock, simulate
from fallingcat.studies import run
from fallingcat.studies.hoppers.hopper import floor, laws, robot, start
from fallingcat.studies.hoppers.observed import Observed
from fallingcat.studies.hoppers.parameters import SearchParameters
from fallingcat.studies.hoppers.search import (
    CHECK_PERIOD,
    FELL,
    RANGES,
    STAYED,
    THROWN_LIMITS,
    about_search,
    draw_runs,
    pace,
    search,
)
from fallingcat.studies.tables import load


def drawn(samples, **changes):
    p = load("revolute-locked-gait").parameters.model_copy(update={"samples": samples, **changes})
    assert isinstance(p, SearchParameters)
    return p


@pytest.fixture(scope="module")
def found():
    p = drawn(24, again=1, trial=1.0, longer=1.0)
    return search(robot(p), p, lambda what, share: None)


def test_a_search_says_what_became_of_every_run(found):
    assert all(
        low <= x.min() <= x.max() <= high
        for x, (low, high) in zip(found.parameters.values(), RANGES.values(), strict=True)
    )
    assert set(found.verdicts.tolist()) <= {FELL, STAYED}
    assert (np.isfinite(found.speed) == (found.verdicts == STAYED)).all()
    assert (found.durations[found.verdicts == STAYED] == 1.0).all()
    assert (found.durations[~found.chatters] > 0.0).all()
    assert len(found.pace) <= min(1, int((found.forward & ~found.chatters).sum()))
    numbers = about_search(found)
    assert numbers["runs"] == 24.0
    assert numbers["gaits"] == len(found.gaits) == len(found.region["speed"])
    assert THROWN_LIMITS[0] > 0.52  # what the largest wanted energy lifts a kilogram to


@pytest.mark.slow
def test_runs_of_a_search_are_single_runs(found):
    """Each alone, with events and a tighter tolerance: it falls between the last two looks, or is where it was."""
    p = drawn(24)
    model = robot(p)
    begun, each = draw_runs(model, p)
    some = [i for i in range(24) if not found.chatters[i] and found.durations[i] < 0.6][:4]
    some += np.flatnonzero((found.verdicts == STAYED) & ~found.chatters)[:2].tolist()
    assert {FELL, STAYED} == set(found.verdicts[some].tolist())
    for i in some:
        own, state = laws(model, start(model, p), each[i]), State(*(x[i] for x in begun))
        how = {"integrator": Rosenbrock(1e-8), "dt": 5e-3, "progress": False}
        run = simulate(model, state, float(found.durations[i]), own, floor(p), **how)
        base = run.poses[:, 1, 3]
        if found.verdicts[i] == STAYED:
            middle = run.at(0.5).pose[0, 3]
            assert (run.poses[-1, 0, 3] - middle) / 0.5 == pytest.approx(found.speed[i], abs=2e-3)
        else:
            thrown = base[-1] > THROWN_LIMITS[0] or abs(run.twists[-1, 2]) > THROWN_LIMITS[1]
            assert thrown or base[-1] < 1e-3
            assert (base[run.times < run.times[-1] - CHECK_PERIOD] > -0.1).all()


@pytest.mark.slow
def test_controller_III_has_a_stable_forward_gait():
    result = run("revolute-locked-gait", samples=60, again=2)
    assert result.holds
    assert result.row("step").ours > 0.1
    pushed = run("revolute-locked-gait", samples=2, again=1, theta=-2.6174)  # from elsewhere, the frame turned with it
    assert pushed.row("stationarity").ours < 1e-3


@pytest.mark.slow
def test_gaits_of_the_search_are_gaits_of_single_runs():
    """The two fastest gaits among those looked at again, from their own gains and starts, to a tighter tolerance."""
    p = drawn(10_000, duration=30.0)
    model = robot(p)
    begun, each = draw_runs(model, p)
    for i, speed in ((575, 0.7277), (1094, 0.6393)):
        own, state = laws(model, start(model, p), each[i]), State(*(x[i] for x in begun))
        run = simulate(model, state, 30.0, own, floor(p), integrator=Rosenbrock(1e-8), dt=5e-3, progress=False)
        assert pace(Observed(run, each[i])) == pytest.approx(speed, abs=1e-4)
