"""The arm on its circle: the elbow does not disturb the tool, and errors are those of the step."""

import numpy as np
import pytest

from fallingcat.studies import run
from fallingcat.studies.experiments.circling import Circling, CirclingParameters


@pytest.fixture(scope="module")
def study():
    return run("circling-arm")


def test_it_holds(study):
    assert study.holds
    assert study.row("what the elbow changes of the tool's velocity").ours < 1e-12
    assert study.row("way of the elbow, to and fro").ours > 0.05
    assert study.row("least room to a joint limit").ours > 0.1


def test_errors_are_of_first_order_in_the_step(study):
    coarse = Circling().run(CirclingParameters(step=0.02), lambda what, share: None)
    fine, rough = (Circling.measures["tool_error"](seen) for seen in (study.observed, coarse))
    assert rough / fine == pytest.approx(2.0, rel=0.15)


def test_without_its_task_the_elbow_stays_in_its_plane():
    seen = Circling().run(CirclingParameters(elbow=0.0, step=0.05), lambda what, share: None)
    assert np.ptp(seen.elbow[:, 1]) < 1e-12


def test_its_page_shows_the_arm(study, tmp_path):
    page = study.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Error of the tool" in page
