"""The gait of [Mishra] V-B as a study: honest verdicts, and the claims of the paper that any arm obeys."""

import json
import re

import pytest
from typer.testing import CliRunner

from fallingcat.cli import app
from fallingcat.errors import FallingCatError, ModelError
from fallingcat.studies import run


@pytest.fixture(scope="module")
def gait():
    return run("orbital-gait")


def test_digits_of_another_arm_are_not_comparable(gait):
    apart = [row for row in gait.rows if row.verdict == "not comparable"]
    numbers = [-0.4228, 0.1682, -13.73, -0.9623, 0.9873, -13.25, 0.017, 1.045]
    assert [row.published for row in apart] == [*numbers, "maximal, negative"]
    assert all("inertias are not in the paper" in row.remark for row in apart)
    assert not any(row.verdict == "agrees" for row in gait.rows)  # all rows of the paper's arm, or none
    assert gait.row("way in the estimate").holds  # of every arm
    assert gait.holds  # the independent integration of this arm among them
    assert not any(row.verdict == "differs" for row in gait.rows)


def test_every_number_is_its_own(gait):
    """[Mishra] Fig. 8-9: exact turns, and estimates from curvature maps in three frames."""
    seen = gait.observed
    assert [gait.row(f"turn about {axis}").ours for axis in "xyz"] == list(seen.angles(seen.integrated.pose))
    assert (
        gait.row("its angle").ours
        == gait.row("off, in the virtual chassis").ours
        == seen.error_angle("virtual_chassis")
    )
    off = [gait.row(name).ours for name in ("off, in minimum perturbation", "its angle", "off, in the base")]
    assert off == sorted(off)


def test_a_smaller_circle_is_another_experiment():
    small = run("orbital-gait", radius=0.05, points=5)
    assert small.row("share of z in the estimated turn").verdict == "not comparable"
    # the estimate is right to leading order: a tenth of the radius, a thousandth of the error
    assert small.row("its angle").ours < 2e-3 * 0.18948
    assert small.holds


def test_in_the_base_the_estimate_moves_the_center_of_mass():
    other = run("orbital-gait", frame="base", points=5)
    assert other.row("its angle").ours == other.row("off, in the base").ours
    assert other.row("way in the estimate").ours > 1e-3


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"radius": 0.0}, "radius"), ({"radius": 9.0}, "radius"), ({"frame": "moon"}, "frame"), ({"points": 2}, "points")],
)
def test_what_is_refused(changes, words):
    with pytest.raises(FallingCatError, match=f"study 'orbital-gait': {words}"):
        run("orbital-gait", **changes)


def test_page_and_command(gait, tmp_path):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', gait.page().html(), re.DOTALL)
    kinds = [block["kind"] for block in json.loads(data[1])["blocks"]]
    assert kinds[:5] == ["map", "table", "table", "map", "map"]
    assert kinds.count("picture") == 2
    with pytest.raises(ModelError, match="simulates no motion"):
        _ = gait.trajectory
    page = tmp_path / "o.html"
    done = CliRunner().invoke(app, ["study", "run", "orbital-gait", "--out", str(page), "--set", "points=5"])
    assert done.exit_code == 0, done.output
    assert done.stdout.count("inertias are not in the paper") == 2  # eight numbers, one note; a statement with its rule
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "o.html" not in line)
    assert page.exists()
