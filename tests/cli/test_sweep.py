"""``fallingcat sweep``: what it prints, what it refuses."""

from __future__ import annotations

import json

import pytest
import xarray as xr
from typer.testing import CliRunner

from fallingcat.cli import app

STUDY = "title = 'w'\nkind = 'kinematic-control'\n[parameters]\nk = 0.5\n"


def ran(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["sweep", *words])
    return found.exit_code, found.output


@pytest.fixture
def study(tmp_path):
    (tmp_path / "wrist.toml").write_text(STUDY)
    return str(tmp_path / "wrist.toml")


def test_json_and_resume(study, tmp_path):
    words = (
        study,
        "--grid",
        "k=0.5:1.5:3",
        "--grid",
        "tolerance=0.01,0.1",
        "--out",
        str(tmp_path / "o"),
        "--workers",
        "1",
    )
    code, out = ran(*words, "--json")
    assert code == 0
    assert json.loads(out) == {"done": 4, "failed": 2, "total": 6}
    assert ran(*words)[0] == 2
    code, out = ran(*words, "--resume")
    assert code == 0
    assert "4 of 6 done" in out
    assert "2 runs, see the variable 'error'; one says: study" in " ".join(out.split())
    data = xr.open_zarr(tmp_path / "o")
    assert data.sizes == {"k": 3, "tolerance": 2}
    assert "should be less than or equal to 1, not 1.5" in str(data.error.values[2, 0])


def test_a_sweep_without_a_run_that_succeeded_has_failed(study, tmp_path):
    code, out = ran(study, "--grid", "k=stiff", "--out", str(tmp_path / "o"), "--workers", "0")
    assert code == 1
    assert "0 of 1 done" in out


def test_a_sample_has_its_size_whatever_the_counts(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = (study, "--grid", "k=0.5:1:30", "--sample", "3", "--set", "tolerance=0.1")
    assert json.loads(ran(*words, "--workers", "1", "--json")[1]) == {"done": 3, "failed": 0, "total": 3}
    assert xr.open_zarr(tmp_path / "wrist.zarr").sizes == {"sample": 3}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grid", "k"), "NAME=START:STOP:COUNT"),
        (("--grid", "k=0:1:x"), "--grid k is start:stop:count"),
        (("--grid", "k=0:inf:3"), "--grid k is start:stop:count"),
        (("--grid", "kk=0:1:3"), "there is no parameter 'kk'; do you mean 'k'?"),
        (("--grid", "k=0.5:1:3", "--target", "tpu"), "take place on cpu, not 'tpu'"),
    ],
)
def test_mistakes_are_one_line(study, tmp_path, words, message):
    code, out = ran(study, *words, "--out", str(tmp_path / "o"))
    assert code == 2
    assert message in out
    assert not (tmp_path / "o").exists()
