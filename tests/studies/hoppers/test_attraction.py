"""From which starts a gait is found: what many runs together say is what single runs say."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.geometry.contact_points import position
from fallingcat.studies import load
from fallingcat.studies.hoppers import Observed, virtual_leg
from fallingcat.studies.hoppers.attraction import (
    BROKE,
    FELL,
    GAIT,
    UNDECIDED,
    Gait,
    Grid,
    attraction,
    classify_runs,
    gait_of,
    grid_of,
    initial_states,
)
from fallingcat.studies.hoppers.basin import FALL_EVENT
from fallingcat.studies.hoppers.hopper import robot, simulate_hopper, start
from fallingcat.studies.hoppers.measures import hop_period, step_length
from fallingcat.studies.hoppers.slices import NAMES, categories, slices_svg

SMALL = {"leans": 3, "heights": 2, "joints": 2, "speeds": 3}
P = load("revolute-basin").with_parameters(SMALL).parameters
MODEL = robot(P)
GRID = grid_of(P)
KNOWN = Gait(0.371994204, 0.087857252)


def test_starts_are_what_they_say():
    values = GRID.values(np.array([0, 7, 35]))
    many = initial_states(MODEL, values)
    for i, (lean, height, joint, speed) in enumerate(values):
        state = fc.State(*(x[i] for x in many))
        assert virtual_leg(MODEL, state, "foot").angle == pytest.approx(lean, abs=1e-12)
        assert position(MODEL, state, "foot")[1] == pytest.approx(height, abs=1e-12)
        assert state.joints[0] == joint
        np.testing.assert_allclose(state.pose[:2, :2] @ state.twist[:2], [speed, 0.0], atol=1e-12)
    assert values.tolist()[0] == [axis[0] for axis in GRID]
    assert values.tolist()[-1] == [axis[-1] for axis in GRID]
    assert Grid(*GRID).shape == (3, 2, 2, 3)


def test_the_gait_is_that_of_the_study():
    seen = Observed(simulate_hopper(MODEL, start(MODEL, P), P), P)
    found = gait_of(seen)
    assert found == pytest.approx(KNOWN, rel=1e-5)
    early = Observed(simulate_hopper(MODEL, start(MODEL, P), P, 2.0), P)
    assert gait_of(early) is None
    numbers, curves = attraction(MODEL, early, P, lambda what, share: None)
    assert np.isnan(list(numbers.values())).all()
    assert curves == {}


def single(state):
    """Judged by its hops, after the whole duration."""
    run = simulate_hopper(MODEL, state, P, tolerance=1e-7, events=(FALL_EVENT,), largest=1.0)
    if run.status == f"stopped by the event {FALL_EVENT.name!r}":
        return FELL
    seen = Observed(run, P)
    same = abs(hop_period(seen) / KNOWN.period - 1.0), abs(step_length(seen) / KNOWN.step - 1.0)
    return GAIT if run.status == "finished" and max(same) < 0.02 else UNDECIDED


def test_verdicts_are_those_of_single_runs():
    pairs = [(-30.0, -0.5), (0.0, 0.25), (40.0, 1.0), (20.0, 1.5)]
    values = np.array([[np.radians(lean), 0.1, np.radians(100.0), speed] for lean, speed in pairs])
    many = initial_states(MODEL, values)
    told = []
    found = classify_runs(MODEL, many, P, KNOWN, progress=told.append)
    alone = [single(fc.State(*(x[i] for x in many))) for i in range(len(values))]
    assert found.verdicts.tolist() == alone
    assert {GAIT, FELL} <= set(alone)
    assert (found.periods[found.verdicts == GAIT] >= 5.0).all()
    assert (found.periods > 0.0).all()
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_what_is_not_decided_says_so(monkeypatch):
    many = initial_states(MODEL, np.array([[0.0, 0.1, np.radians(100.0), 0.25]]))
    short = P.model_copy(update={"duration": 1.0})
    assert classify_runs(MODEL, many, short, KNOWN).verdicts.tolist() == [UNDECIDED]
    monkeypatch.setattr("fallingcat.studies.hoppers.batch_runs.BatchRuns.rounds_per_check", 0)
    assert classify_runs(MODEL, many, short, KNOWN).verdicts.tolist() == [BROKE]
    with pytest.raises(fc.ModelError, match="r_des and E_des"):
        classify_runs(MODEL, many, P.model_copy(update={"E_des": "initial"}), KNOWN)


def test_the_figure_shows_every_kind():
    grid = GRID._asdict()
    verdicts = np.resize([GAIT, GAIT, GAIT, GAIT, FELL, UNDECIDED, BROKE], GRID.shape)
    periods = np.resize([8.0, 12.0, 18.0, 30.0, 2.0, 54.0, 1.0], GRID.shape)
    kinds = categories(verdicts, periods)
    assert set(kinds.ravel().tolist()) == set(range(len(NAMES)))
    svg = slices_svg(grid | {"verdicts": verdicts, "periods": periods})
    for words in (*NAMES, "degrees", "m/s", "foot at", "knee at"):
        assert words in svg
    one = slices_svg(grid | {"verdicts": np.full(GRID.shape, FELL), "periods": periods})
    assert "undecided" not in one
    assert one.count("<rect") < svg.count("<rect")


@pytest.mark.slow
def test_the_study():
    found = fc.studies.run("revolute-basin")
    assert found.holds
    assert found.row("runs").ours == 5184
    assert found.row("end in the gait").ours == pytest.approx(14.8, abs=0.2)
    assert "From which starts" in found.page().html()
