"""Righting atlas: one robot is checked against closed forms and limits, and many files are ranked."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.lie.rotations import log
from fallingcat.model import Limits
from fallingcat.studies import kind_of, righting_atlas
from fallingcat.studies.experiments.righting_robot import EARTH, RobotRightingParameters
from fallingcat.studies.righting_atlas import Atlas, AtlasRow, robot_files

NUMBERS = {"time": 0.5, "missed": 0.1, "overlap": 0.0, "drop_earth": 1.2}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A cat that turns over, a limp one without joints, and a file that is none."""
    folder = tmp_path_factory.mktemp("robots")
    cat = fc.robots.two_cylinder_cat()
    bends = [replace(joint, limits=Limits(-0.8, 0.8, velocity=20.0, effort=20.0)) for joint in cat.joints]
    fc.save(replace(cat, joints=tuple(bends)), folder / "cat.urdf")
    fc.save(fc.robots.free_body(), folder / "brick.urdf")
    (folder / "broken.urdf").write_text("<robot name='x'><link")
    return folder


@pytest.fixture(scope="module")
def seen(files):
    return kind_of("righting-robot").run(
        RobotRightingParameters(file=str(files / "cat.urdf")), lambda what, share: None
    )


def test_the_flight_turns_the_robot_over_within_the_limits_of_its_file(seen):
    run = seen.flight
    turned = log(run.poses[0, :3, :3].T @ run.poses[-1, :3, :3])
    assert np.linalg.norm(turned) == pytest.approx(np.pi, abs=np.radians(0.2))
    assert abs(turned[seen.axis]) == max(abs(turned[:2]))
    assert seen.spin < 1e-12
    assert 0.5 < max(seen.limit_share("effort"), seen.limit_share("velocity")) <= 1.0
    assert np.abs(run.joints).max() <= 0.8
    np.testing.assert_allclose(run.joints[[0, -1]], 0.0, atol=3e-3)  # accelerations of the plan jump at its end
    assert seen.height(EARTH) == pytest.approx(0.5 * 9.81 * run.times[-1] ** 2)


def test_a_circle_turns_as_the_reconstruction_says(seen):
    moved = fc.planning.displacement(seen.model, seen.circles[0])
    assert seen.per_circle(0) == pytest.approx(np.degrees(abs(log(moved.pose[:3, :3])[0])))
    assert seen.per_circle(0) > 30.0


def test_files_are_found_once_each(files, tmp_path):
    copy = tmp_path / "copy.urdf"
    copy.write_bytes((files / "cat.urdf").read_bytes())
    (tmp_path / "notes.xml").write_text("<notes/>")
    assert list(robot_files([copy, files])) == [str(copy), str(files / "brick.urdf"), str(files / "broken.urdf")]
    with pytest.raises(fc.FallingCatError, match="files must be a list of paths"):
        list(robot_files("go2"))


def test_robots_whose_links_stay_clear_come_first():
    rows = [
        AtlasRow("fails", {}, "no joints"),
        AtlasRow("never", NUMBERS | {"time": np.nan, "missed": np.nan, "drop_earth": np.nan}),
        AtlasRow("through itself", NUMBERS | {"overlap": 0.02}),
        AtlasRow("late", NUMBERS | {"drop_earth": 2.0}),
        AtlasRow("unknown overlap", NUMBERS | {"overlap": np.nan}),
        AtlasRow("first", NUMBERS),
        AtlasRow("strays", NUMBERS | {"missed": 20.0}),
    ]
    order = [row.file for row in sorted(rows, key=lambda row: row.rank)]
    assert order[:2] == ["first", "late"]
    assert {"through itself", "unknown overlap"} == set(order[2:4])
    counts = Atlas(tuple(rows), None).data()
    assert counts == {"files": 7, "computed": 6, "turn_over": 4, "clear": 2}


@pytest.mark.slow
def test_the_command_ranks_robots_and_continues(files, tmp_path):
    words = ["atlas", str(files), "--out", str(tmp_path / "out"), "--workers", "1", "--json", "--pages", "1"]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    told = json.loads(first.output)
    assert (told["files"], told["computed"], told["turn_over"]) == (3, 1, 1)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "cat.urdf" in page
    assert (tmp_path / "out" / "01_cat.html").is_file()
    table = (tmp_path / "out" / "atlas.csv").read_text().splitlines()
    assert len(table) == 4
    assert table[0].startswith("file,")
    again = CliRunner().invoke(app, words)  # nothing is computed again
    assert json.loads(again.output) == told
    whole = righting_atlas([files], tmp_path / "out", workers=1, progress=False)
    assert whole.rows[0].file.endswith("cat.urdf")
