"""``fallingcat study`` as a user meets it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app

KEYS = ["name", "category", "published", "ours", "unit", "verdict", "holds", "where", "band"]


def call(*arguments):
    return CliRunner().invoke(app, ["study", *(str(a) for a in arguments)])


def test_list_names_every_study():
    result = call("list")
    assert result.exit_code == 0
    for name in fc.studies.names():
        assert name in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    listed = json.loads(call("list", "--json").stdout)["studies"]
    assert [study["name"] for study in listed] == list(fc.studies.names())


def test_json_is_what_is_promised(tmp_path):
    page = tmp_path / "six.html"
    result = call("run", "revolute-6", "--json", "--out", page)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert list(data) == ["study", "seconds", "rows"]
    assert data["study"] == "revolute-6"
    assert all(list(row) == KEYS for row in data["rows"])
    rows = {row["name"]: row for row in data["rows"]}
    wanted = ["external work", "joint work", "floor work", "hop period", "step length", "spring extension at lift-off"]
    assert set(wanted) <= set(rows)
    assert {row["verdict"] for row in data["rows"]} == {"agrees", "differs", "not comparable", "not published"}
    assert (rows["external work"]["published"], rows["external work"]["verdict"]) == (7.15, "differs")
    assert (rows["external work"]["band"], rows["external work"]["holds"]) == ([7.145, 7.155], False)
    assert (rows["work of the radial spring"]["published"], rows["hop period"]["holds"]) == ("zero", True)
    assert rows["hop period"]["published"] is None
    assert rows["hop period"]["ours"] == pytest.approx(0.37199, abs=1e-4)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_settings_are_honoured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("run", "revolute-6", "--set", "K_E=8", "--set", "duration=3", "--json")
    rows = {row["name"]: row for row in json.loads(result.stdout)["rows"]}
    ours = fc.studies.run("revolute-6", K_E=8.0, duration=3.0)
    assert rows["hop period"]["ours"] == ours.row("hop period").ours
    assert Path("revolute-6.html").exists()


def test_table(tmp_path):
    result = call("run", "prismatic-2", "--set", "duration=4", "--no-open", "--out", tmp_path / "p.html")
    assert result.exit_code == 0, result.output
    assert "touchdowns" in result.stdout
    assert "not comparable" in result.stdout
    assert "parameters were changed: duration" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "p.html" not in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "revolute-9"], "there is no study 'revolute-9'"),
        (["run", "revolute-6", "--set", "K_X=3"], "there is no parameter 'K_X'"),
        (["run", "revolute-6", "--set", "K_E=nan"], "finite"),
        (["run", "revolute-6", "--set", "K_E=x\x1b[31m"], "should be a number"),
        (["run", "revolute-6", "--set", "K_E"], "NAME=VALUE"),
        (["run", "revolute-6", "--set", "K_E=1\nx=2"], "K_E"),
        (["run", "nowhere.toml"], "there is no such file"),
        (["run", "revolute-6", "--set", "duration=0.1", "--out", "no/such/folder/p.html"], "cannot be written"),
    ],
)
def test_errors_are_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fallingcat.studies.run_study", interrupted)
    result = call("run", "revolute-6")
    assert result.exit_code in (1, 130)
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []
