"""[ETH] 3.8 to 3.11 as a study."""

import pytest

from fallingcat.studies import run


@pytest.fixture(scope="module")
def study():
    return run("eth-dynamics")


def test_printed_gains_are_rounded_and_all_else_holds(study):
    printed = [row for row in study.rows if row.published is not None]
    assert [row.ours for row in printed] == pytest.approx([355.31, 37.70], abs=0.01)
    assert {row.verdict for row in printed} == {"differs"}
    bounded = [row for row in study.rows if row.tolerance is not None]
    assert len(bounded) == 27
    for row in bounded:
        assert abs(row.ours - (row.reference or 0.0)) <= row.tolerance, row.name
    assert all(trajectory.status == "finished" for trajectory in study.observed.runs.values())
    assert study.row("on two feet, what a consistent acceleration leaves").ours > 0.1
    assert study.row("internal torques, change of contact forces").ours > 0.1


def test_its_page_shows_the_arm_and_four_laws(study, tmp_path):
    page = study.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "inverse dynamics without the payload" in page
