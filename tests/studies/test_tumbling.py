"""The study of [Mishra] V-A: parts that are cheap; the whole, in its fast setting, is slow."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fallingcat.cli import app
from fallingcat.studies import load, run
from fallingcat.studies.tumbling.drawings import blocks
from fallingcat.studies.tumbling.experiment import Experiment
from fallingcat.studies.tumbling.surveys import Bandwidth, GainSurvey, StartSurvey, jitter

FAST = {"samples": 40, "gains": 3, "frequencies": 2, "noises": 2}


def test_it_starts_with_the_paper_s_locked_velocity_and_the_observer_in_the_truth():
    here = Experiment.from_parameters(load("orbital-control").parameters)
    law = here.law("locked")
    x = law.with_memory(law.begin(here.model, here.start)).errors(here.model, here.start)
    np.testing.assert_allclose(np.degrees(here.start.twist[3:]), [10.0, 1.14, 0.0])
    assert not np.abs(x.pose).max() > 1e-15
    assert not np.abs(x.locked).max() > 1e-15
    assert (law.pose_gain, law.locked_gain) == (100.0, 100.0)
    assert jitter(here, "locked") < 1e-15 < 1e-6 < jitter(here, "curvature")


def test_bandwidth_is_interpolated_between_frequencies():
    found = Bandwidth(np.array([1.0, 2.0, 4.0]), {"none": np.array([1.6, 0.4, 0.1]), "locked": np.array([0.01] * 3)})
    assert found.required_frequency("none") == 4.0
    assert found.required_frequency("locked") == 1.0
    off = found._replace(errors={"none": np.array([0.2, 0.05, 0.01]), "locked": np.ones(3)})
    assert off.required_frequency("none") == pytest.approx(np.sqrt(2.0))
    assert off.required_frequency("locked") == np.inf


def test_the_best_gain_settles_and_bins_hold_every_start():
    assert GainSurvey(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.2, np.inf]), np.zeros(3)).best_gain == 2.0
    rng = np.random.default_rng(0)
    starts = StartSurvey(rng.uniform(0, 180, 500), rng.uniform(0, 45, 500), rng.random(500) < 0.5, np.ones(500, bool))
    share = starts.share_by_bin()[2]
    assert np.nanmax(share) <= 100.0
    assert 40.0 < starts.share() < 60.0
    assert blocks().startswith("<svg")


@pytest.mark.slow
def test_the_study_holds(tmp_path):
    """[Mishra] Fig. 6: W falls at every sample under either compensation, which differ while joints move."""
    result = run("orbital-control", **FAST)
    assert result.holds
    assert all(row.verdict in ("agrees", "not published", "not comparable") for row in result.rows)
    assert result.row("samples at which W rises, i = 1").ours == result.row("samples at which W rises, i = 2").ours == 0
    assert result.row("error that springs alone keep").ours > 1.0
    assert result.page().write(tmp_path / "page.html")
    asked = [x for pair in FAST.items() for x in ("--set", f"{pair[0]}={pair[1]}")]
    out = CliRunner().invoke(
        app, ["study", "run", "orbital-control", "--json", "--out", str(tmp_path / "p.html"), *asked]
    )
    assert {row["name"] for row in json.loads(out.stdout)["rows"]} == {row.name for row in result.rows}
