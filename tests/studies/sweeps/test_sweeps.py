"""Sweeps: the right numbers at the right places, whatever stops them."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from fallingcat.errors import FallingCatError
from fallingcat.studies import Parameters, StudyKind, load, parse, study_kind, sweep
from fallingcat.studies.sweeps.points import Sample
from fallingcat.studies.sweeps.store import Store, chunk_shape

SUPPORT = Path(__file__).parents[2] / "support"


class PowerParameters(Parameters):
    x: float = 2.0
    n: int = 1
    how: str = "power"


@study_kind
class Power(StudyKind[PowerParameters, float]):
    name, parameters, chunk_sizes = "power", PowerParameters, {"cpu": 4}
    measures = {"power": lambda seen: seen, "work of ../up": lambda seen: -seen}  # noqa: RUF012

    def run(self, parameters, progress):
        if parameters.how == "sum":
            return parameters.x * parameters.n
        if parameters.n == 3:
            raise ZeroDivisionError(f"no cube\nof {parameters.x}")
        return parameters.x**parameters.n


def study(rows: str = ""):
    return parse(f"title = 'a power'\nkind = 'power'\n[parameters]\n{rows}", "power", "power.toml")


def test_every_point_of_a_grid_is_there_and_failures_are_reported(tmp_path):
    """Also in chunks that the grid does not fill, over words and whole numbers; xarray opens it without a warning."""
    told = []
    grid = {"how": ["power", "sum"], "n": [1.0, 2.0, 3.0, 4.0, 5.0], "x": np.linspace(0.5, 2.0, 7)}
    found = sweep(study(), grid, tmp_path / "out", chunk=10, workers=0, progress=lambda *x: told.append(x))
    assert found.data() == {"done": 63, "failed": 7, "total": 70}
    assert told[0] == (0, 0, 70)
    assert told[-1] == (63, 7, 70)
    data = xr.open_zarr(tmp_path / "out")
    assert data["power"].dims == ("how", "n", "x")
    assert set(data.data_vars) == {"power", "work_of_up", "done", "failed", "error"}
    for how, n, x in [("power", 5, 0.75), ("sum", 3, 2.0), ("power", 1, 0.5)]:
        at = data.sel(how=how, n=n, x=x)
        assert at["power"] == (x**n if how == "power" else x * n)
        assert at["work_of_up"] == -at["power"]
    lost = data.sel(how="power", n=3)
    assert lost.failed.all()
    assert not lost.done.any()
    assert np.isnan(lost["power"]).all()
    assert str(lost.error[0].values) == r"ZeroDivisionError: no cube\nof 0.5"
    assert (data.error.values[~data.failed.values] == "").all()


def test_the_store_knows_what_it_was_made_with_and_resume_refuses_anything_else(tmp_path):
    grid = {"x": np.linspace(0.1, 0.7, 5)}
    sweep(study(), grid, tmp_path / "out", workers=0, n=2)
    about = json.loads(xr.open_zarr(tmp_path / "out").attrs["fallingcat_sweep"])
    assert about["parameters"] == {"x": 2.0, "n": 2, "how": "power"}
    assert about["points"] == {"grid": {"x": grid["x"].tolist()}}  # every bit of every float
    assert {"fallingcat", "python", "numpy", "llvmlite"} <= set(about["versions"])
    with pytest.raises(FallingCatError, match="is not empty"):
        sweep(study(), grid, tmp_path / "out")
    with pytest.raises(FallingCatError, match=r"begun otherwise: parameters\.n was 2, is 1"):
        sweep(study(), grid, tmp_path / "out", resume=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(FallingCatError, match="is not empty"):
        sweep(study(), grid, tmp_path / "other", resume=True)
    assert (tmp_path / "other" / "mine.txt").read_text() == "x"


def test_resume_runs_only_what_is_missing(tmp_path):
    grid, out = {"x": np.linspace(0.0, 1.0, 30)}, tmp_path / "out"
    sweep(study(), grid, out, chunk=7, workers=0)
    whole = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    for name in ("power", "work_of_up", "done"):
        (out / name / "c" / "2").unlink()
    kept = (out / "power" / "c" / "1").stat().st_mtime_ns
    assert sweep(study(), grid, out, workers=0, resume=True).done == 30
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == whole
    assert (out / "power" / "c" / "1").stat().st_mtime_ns == kept
    (out / "done" / "c" / "1").write_bytes(b"abc")  # not by us: told, not guessed at
    with pytest.raises(FallingCatError, match=r"done/c/1.*no chunk"):
        sweep(study(), grid, out, workers=0, resume=True)


def test_processes_give_the_same_bytes_as_one(tmp_path):
    """And a Latin hypercube: one value in each of N parts of each range, the same for the same seed."""
    grid = {"x": [0.0, 4.0]}
    rows = "".join(f"[[row]]\nname = '{m}'\nmeasure = '{m}'\n" for m in ("updates_Euler_ZYX", "single_1"))
    wrist = parse(f"title = 'w'\nkind = 'kinematic-control'\n[parameters]\n{rows}", "w", "w.toml")
    for workers in (0, 2):
        sweep(wrist, {"k": (0.2, 0.9)}, tmp_path / str(workers), sample=6, workers=workers, seed=3)
    one, two = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in "02"
    )
    assert one == two
    ks = np.sort(xr.open_zarr(tmp_path / "0").k.values)
    assert (np.floor((ks - 0.2) / 0.7 * 6) == np.arange(6)).all()
    assert Sample({"x": (0.0, 4.0)}, 9, 1).parameters_of(5) != Sample({"x": (0.0, 4.0)}, 9, 2).parameters_of(5)
    with pytest.raises(FallingCatError, match="real numbers, not 'n'"):
        sweep(study(), grid | {"n": [1, 2]}, tmp_path / "n", sample=6)


def test_wrong_calls_are_named(tmp_path):
    wrong = {
        "do you mean 'how'": {"hows": ["sum"]},
        "differ from each other": {"x": [1.0, 1.0]},
        "finite": {"x": [1.0, float("nan")]},
        "grid has no values of 'x'": {"x": []},
        "list of them": {"how": "sum"},
        "at least one": {},
    }
    for message, grid in wrong.items():
        with pytest.raises(FallingCatError, match=message):
            sweep(study(), grid, tmp_path / "out")
    for message, how in {
        "whole number": {"workers": -1},
        "take place on cpu": {"target": "cuda"},
        "chunk": {"chunk": 0},
    }.items():
        with pytest.raises(FallingCatError, match=message):
            sweep(study(), {"x": [1.0]}, tmp_path / "out", **how)
    row = "[[row]]\nname = 'a'\nmeasure = 'work of {}'\n"
    parameters = load("revolute-6").table.parameters.items()
    values = "".join(f"{k} = {json.dumps(v)}\n" for k, v in parameters)
    text = f"title='a'\nrobot='revolute_hopper'\n[parameters]\n{values}"
    hopper = parse(text + row.format("a b") + row.format("a-b"), "a", "a.toml")
    with pytest.raises(FallingCatError, match="would both be the variable"):
        sweep(hopper, {"q1": [1.7]}, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_neighbours_of_a_run_that_breaks_its_batch_are_not_to_blame(tmp_path, monkeypatch):
    def fragile(self, many, target):
        if any(p.n == 3 for p in many):
            raise RuntimeError("the whole batch")
        return [self.run(p, None) for p in many]

    monkeypatch.setattr(Power, "run_many", fragile)
    found = sweep(study(), {"n": [1, 2, 3, 4], "x": [2.0]}, tmp_path / "out", workers=0, chunk=4)
    assert found.data() == {"done": 3, "failed": 1, "total": 4}
    assert xr.open_zarr(tmp_path / "out").error.values.ravel().tolist() == ["", "", "RuntimeError: the whole batch", ""]
    monkeypatch.setattr(Power, "run_many", lambda self, many, target: [1.0])
    with pytest.raises(FallingCatError, match="saw 1 of 4 runs"):
        sweep(study(), {"n": [1, 2, 3, 4], "x": [2.0]}, tmp_path / "few", workers=0, chunk=4)


@pytest.mark.parametrize(("shape", "most"), [((7,), 3), ((5, 4), 3), ((5, 4), 9), ((2, 3, 4), 24), ((1, 1), 1)])
def test_chunks_cover_all_runs_once_in_their_order(shape, most):
    store = Store(Path(), shape, chunk_shape(shape, most), ())
    runs = np.concatenate([store.runs(k).ravel() for k in range(store.chunks)])
    assert np.array_equal(runs, np.arange(np.prod(shape)))
    assert [store.runs(k).size for k in range(store.chunks)] == [store.size(k) for k in range(store.chunks)]
    assert max(map(store.size, range(store.chunks))) <= most


def killed(folder: Path, kills: int, seed: int, workers: int = 0) -> None:
    program = [sys.executable, str(SUPPORT / "killed_sweeps.py"), str(folder), str(kills), str(seed), str(workers)]
    said = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    found = json.loads(said.splitlines()[-1])  # after what workers print that lost their coordinator
    assert found["kills"] == kills
    assert all(wrong == 0 for _, wrong in found["history"])
    counts = [done for done, _ in found["history"]]
    assert all(later >= done or later == 0 for done, later in pairwise(counts)), "runs were lost"
    assert found["last"] == {"done": 599, "failed": 1, "total": 600}
    assert found["computed_after"] == 599 - counts[-1] or workers > 1
    assert found["same"], "not bitwise what an uninterrupted sweep gives"
    assert found["left"] == []


@pytest.mark.slow
def test_a_run_that_kills_its_process_is_recorded(tmp_path):
    """And the others are there, those of its batch too."""
    program = [sys.executable, str(SUPPORT / "killed_sweeps.py"), str(tmp_path)]
    found = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    assert found == {"done": 11, "failed": 3, "total": 14}
    data = xr.open_zarr(tmp_path / "out")
    assert data.failed.sel(a=5.0).all()
    assert set(data.error.sel(a=5.0).values.tolist()) == {"the process that ran it died"}
    assert str(data.error.sel(a=6.0, b=1.0).values) == "took longer than 3 s"
    assert not list((tmp_path / "out").rglob("*.part"))


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_lose_nothing(tmp_path, kills):
    killed(tmp_path, kills, 0)


@pytest.mark.slow
def test_two_hundred_kills_lose_nothing(tmp_path):
    (tmp_path / "two").mkdir()
    killed(tmp_path, 200, 1)
    killed(tmp_path / "two", 20, 2, workers=2)
