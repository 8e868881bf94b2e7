"""[ETH] Examples 2.9.1, 2.9.7 and 2.9.8 as a study."""

import numpy as np
import pytest

from fallingcat.studies import run
from fallingcat.studies.experiments.kinematics import wrist_path


@pytest.fixture(scope="module")
def study():
    return run("eth-kinematics")


def test_every_printed_digit_agrees(study):
    """[ETH] Program A.1: Example 2.9.1, all digits that are printed."""
    printed = [row for row in study.rows if row.published is not None]
    assert len(printed) == 19
    assert sum(row.category == "printed number" for row in printed) == 17  # the others are printed zeros
    assert {row.verdict for row in printed} == {"agrees"}


def test_what_is_not_printed_holds_against_an_independent_computation(study):
    """[ETH] Program A.2: how many updates each parameterization takes."""
    assert study.holds
    assert [int(study.row(f"updates, {name}").ours) for name in study.observed.paths] == [5656, 5866, 5803, 5704]


def test_the_shortest_rotation_is_the_shortest_path(study):
    """[ETH] Example 2.9.7-2.9.8, Figure 2.14: four paths on the sphere."""
    paths = study.observed.paths
    ways = {name: path.angles.sum() for name, path in paths.items()}
    assert min(ways, key=ways.get) == "shortest rotation"
    first, last = (paths["shortest rotation"].rotations[i] for i in (0, -1))
    apart = np.arccos((np.trace(first.T @ last) - 1.0) / 2.0)
    assert ways["shortest rotation"] == pytest.approx(apart, abs=1e-6)  # no way is shorter than the angle between them
    for path in paths.values():
        np.testing.assert_allclose(path.rotations[0], first, atol=1e-12)
        np.testing.assert_allclose(path.rotations[-1], last, atol=0.02)


def test_longer_steps_end_sooner():
    assert wrist_path(None, 0.01, 0.01).updates < 600


def test_its_page_has_the_four_paths(study, tmp_path):
    page = study.page().write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "four paths on the sphere" in page
    sphere = study.study.kind.figures(study.study, study.observed).above[0]
    assert sphere.svg.count("<polyline") >= 12
