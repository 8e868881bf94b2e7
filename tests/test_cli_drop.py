"""``fallingcat drop`` and ``fallingcat gait`` as a user meets them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "two.toml"
    fc.save(fc.robots.two_cylinder_cat(), path)
    return path


def test_drop_json_is_what_the_readme_promises(tmp_path):
    page = tmp_path / "cat.html"
    result = run("drop", "--json", "--out", page)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert list(data) == ["turned_deg", "angular_momentum", "energy_residual", "peak_torque", "seconds", "page"]
    assert data["turned_deg"] == pytest.approx(180.0, abs=2.0)
    assert data["angular_momentum"] < 1e-10
    assert data["energy_residual"] < 1e-3
    assert Path(data["page"]) == page
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_drop_prints_a_table_for_any_robot(robot, tmp_path):
    result = run("drop", "--model", robot, "--tilt", 90, "--seed", 7, "--no-open", "--out", tmp_path / "p.html")
    assert result.exit_code == 0, result.output
    assert "turned by         90.0" in result.stdout
    assert "angular momentum" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "p.html" not in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--height", "0.5"], "m higher, from"),
        (["--height", "nan"], "meters"),
        (["--tilt", "200"], "up to 180"),
        (["--joints", "spine_side", "wing"], "there is no joint 'wing'"),
        (["--model", "nowhere.urdf"], "nowhere.urdf"),
        (["--out", "no/such/folder/p.html"], "cannot be written"),
    ],
)
def test_drop_errors_are_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("drop", "--no-open", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_gait_shows_how_far_bends_turn(robot, tmp_path):
    page = tmp_path / "gait.html"
    result = run("gait", robot, "--joints", "spine_z", "spine_y", "--reach", 40, "--json", "--out", page)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    last = data["circles"][-1]
    assert data["component"] == "rx"
    assert last["radius"] == pytest.approx(0.6981317)
    assert last["exact"][3] == pytest.approx(2.1705, abs=1e-3)  # 124.4 degrees, THEORY.md
    assert last["estimate"][3] == pytest.approx(last["exact"][3], rel=0.05)
    assert "zero curvature" in page.read_text(encoding="utf-8")


def test_gait_prints_a_table(robot, tmp_path):
    result = run("gait", robot, "--joints", "spine_z", "spine_y", "--no-open", "--out", tmp_path / "g.html")
    assert result.exit_code == 0, result.output
    assert "41.89" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "g.html" not in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--joints", "spine_z", "spine_z"], "twice"),
        (["--joints", "spine_z", "tail"], "there is no joint 'tail'"),
        (["--joints", "spine_z", "spine_y", "--reach", "-3"], "positive angle"),
        (["--joints", "spine_z", "spine_y", "--component", "roll"], "component is one of"),
        (["--joints", "spine_z", "spine_y", "--base", "fixed"], "fixed"),
    ],
)
def test_gait_errors_are_one_line(robot, arguments, words):
    result = run("gait", robot, "--no-open", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
