"""Stores of sweeps: several coordinators, missing and damaged files, a full disk."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from fallingcat.errors import FallingCatError, FileError
from fallingcat.studies import Parameters, StudyKind, parse, study_kind, sweep
from fallingcat.studies.sweeps import locks, points
from fallingcat.studies.sweeps.points import Grid
from fallingcat.studies.sweeps.store import Store, create


class SquareParameters(Parameters):
    x: float = 0.0
    stops: str = ""


@study_kind
class Square(StudyKind[SquareParameters, float]):
    """A number; with ``stops`` its process stops itself at x = 3, and is killed at x = 4."""

    name, parameters = "square", SquareParameters
    measures = {"square": lambda seen: seen, "root": lambda seen: seen**0.25}  # noqa: RUF012

    def run(self, parameters, progress):
        if parameters.stops and Path(parameters.stops).exists():
            if parameters.x == 3.0:
                os.kill(os.getpid(), signal.SIGSTOP)
            if parameters.x == 4.0:
                os.kill(os.getpid(), signal.SIGKILL)
        if parameters.x < 0.0:
            raise ValueError("negative")
        return parameters.x**2


STUDY = parse("title = 'square'\nkind = 'square'\n[parameters]\n", "square", "square.toml")
GRID = {"x": np.arange(60.0)}


def whole(out: Path) -> bool:
    with xr.open_dataset(out, engine="zarr") as data:
        return bool(data.done.all()) and np.array_equal(data["square"].values, GRID["x"] ** 2)


@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_coordinator_that_was_stopped_overwrites_nothing(tmp_path):
    """B stops with three runs, A goes on and finishes 60, B wakes, commits its fourth and is killed."""
    out, mine = tmp_path / "out", tmp_path / "stops"
    mine.touch()
    child = os.fork()
    if child == 0:
        sweep(STUDY, GRID, out, workers=0, chunk=60, stops=str(mine))
        os._exit(0)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
    mine.rename(tmp_path / "away")
    sweep(STUDY, GRID, out, workers=0, resume=True, stops=str(mine))
    assert whole(out)
    (tmp_path / "away").rename(mine)
    os.kill(child, signal.SIGCONT)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert whole(out)


def made(path: Path, runs: int = 12, chunk: int = 12) -> Store:
    return create(path, Grid({"x": tuple(map(float, range(runs)))}), chunk, {"y": {}}, {})


def test_a_commit_keeps_what_others_committed_in_any_order(tmp_path):
    """Random interleavings of writers that all know different things; what one has done is never undone."""
    rng, store = np.random.default_rng(0), made(tmp_path / "out")
    parts = [store.read(0) for _ in range(4)]
    for _ in range(60):
        part, run = parts[rng.integers(4)], int(rng.integers(12))
        if rng.random() < 0.3 and not part.done[run]:
            part.failed[run], part.error[run] = True, f"no {run}"
        else:
            part.done[run], part.failed[run], part.error[run], part.numbers["y"][run] = True, False, "", 2.0 * run
        before = store.read(0)
        store.commit(0, part)
        after = store.read(0)
        assert (after.done >= before.done).all()
        assert after.done[run] or after.failed[run]
        assert (after.numbers["y"][after.done] == 2.0 * np.flatnonzero(after.done)).all()
        assert not (after.done & after.failed).any()
        assert [bool(text) for text in after.error] == after.failed.tolist()


@pytest.mark.filterwarnings("ignore:os.fork")
def test_a_lock_that_is_held_is_waited_for_and_then_named(tmp_path, monkeypatch):
    store = made(tmp_path / "out", chunk=6)
    monkeypatch.setattr(locks, "LONGEST_WAIT", 0.1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with locks.lock_part(store._lock, 0):
            os.write(writing, b"x")
            signal.pause()
    os.read(reading, 1)
    try:
        store.commit(1, store.read(1))  # another chunk
        with pytest.raises(FileError, match="chunk 0 is being written by another process"):
            store.commit(0, store.read(0))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    store.commit(0, store.read(0))  # who died holds nothing


def test_resume_believes_no_file_that_is_missing(tmp_path):
    out = tmp_path / "out"
    sweep(STUDY, {"x": [-1.0, 1.0, 2.0, 3.0]}, out, workers=0, chunk=2)
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    for gone in ("square/c/0", "root/c/1", "error/c/0"):
        (out / gone).unlink()
        with pytest.warns(RuntimeWarning, match="files of 2 finished runs are missing: they are run again"):
            sweep(STUDY, {"x": [-1.0, 1.0, 2.0, 3.0]}, out, workers=0, resume=True)
        assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sweep(STUDY, {"x": [-1.0, 1.0, 2.0, 3.0]}, out, workers=0, resume=True)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("square/c/0", b"1234"),
        ("square/c/0", b""),
        ("done/c/0", b"\1"),
        ("failed/c/0", b"\1\1\1"),
        ("error/c/0", b"\2\0\0\0\xff\xff\xff\xff"),
        ("error/c/0", b"\1\0\0\0\0\0\0\0"),
        ("error/c/0", b""),
        ("zarr.json", b""),
        ("zarr.json", b"{}"),
        ("zarr.json", b"[1, 2]"),
        ("zarr.json", b'{"zarr_format": 3, "node_type": "group", "attributes": {"fallingcat_sweep": "x"}}'),
        ("zarr.json", b"\xff\xfe"),
    ],
)
def test_damaged_stores_are_one_line(tmp_path, file, content):
    out, grid = tmp_path / "out", {"x": [-1.0, 1.0, 2.0, 3.0]}
    sweep(STUDY, grid, out, workers=0, chunk=2)
    (out / file).write_bytes(content)
    with pytest.raises(FallingCatError) as told:
        sweep(STUDY, grid, out, workers=0, resume=True)
    assert str(out) in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [None, b"", b"1234", bytes(32), bytes(40)], ids=lambda x: f"{x and len(x)} bytes")
@pytest.mark.parametrize("name", ["x", "stops"])
def test_coordinates_that_are_damaged_are_written_again(tmp_path, name, content):
    """A deleted file of coordinates gave NaN for them, without a word; a truncated one a store that does not open."""
    out, grid = tmp_path / "out", {"x": [-1.0, 1.0, 2.0, 3.0], "stops": ["", "no such file"]}
    sweep(STUDY, grid, out, workers=0, chunk=4)
    before, file = (out / name / "c" / "0").read_bytes(), out / name / "c" / "0"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.warns(RuntimeWarning, match=f"coordinate '{name}' was damaged: it is written again"):
        sweep(STUDY, grid, out, workers=0, resume=True)
    assert file.read_bytes() == before
    with xr.open_dataset(out, engine="zarr") as data:
        assert data[name].values.tolist() == grid[name]
        assert data["square"].values[1:].tolist() == [[x * x] * 2 for x in grid["x"][1:]]


def test_a_folder_in_the_place_of_a_file_is_one_line(tmp_path):
    for name in ("square", "done", "error"):
        out = tmp_path / name
        sweep(STUDY, {"x": [-1.0, 1.0]}, out, workers=0)
        (out / name / "c" / "0").unlink()
        (out / name / "c" / "0").mkdir()
        with pytest.raises(FileError, match="the file cannot be read: Is a directory"):
            sweep(STUDY, {"x": [-1.0, 1.0]}, out, workers=0, resume=True)


FULL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import test_stores as t
def progress(done, failed, total):
    if done >= int(sys.argv[3]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))
try:
    t.sweep(t.STUDY, {"x": t.np.arange(1000.0)}, sys.argv[2], workers=0, chunk=500, progress=progress)
except t.FallingCatError as error:
    print(error)
"""


@pytest.mark.parametrize("done", [0, 500])
def test_a_full_disk_loses_nothing(tmp_path, done):
    """Files as large as a chunk can no longer be written: said in one line, and resumed when there is room again."""
    out = tmp_path / "out"
    words = [sys.executable, "-c", FULL, str(Path(__file__).parent), str(out), str(done)]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert said.stderr == ""
    assert said.stdout.count("\n") == 1
    assert "cannot be written: File too large" in said.stdout
    with xr.open_dataset(out, engine="zarr") as data:
        assert int(data.done.sum()) == done
    found = sweep(STUDY, {"x": np.arange(1000.0)}, out, workers=0, resume=True)
    assert found.data() == {"done": 1000, "failed": 0, "total": 1000}
    assert not list(out.rglob("*.tmp"))


def test_impossible_sizes_are_refused_at_once(tmp_path):
    with pytest.raises(FallingCatError, match="at most 2,000,000,000 points; with 'stops' it has"):
        sweep(STUDY, {"x": np.arange(3e5), "stops": [str(k) for k in range(10_000)]}, tmp_path / "out")
    with pytest.raises(FallingCatError, match="more than 1,000,000 chunks"):
        sweep(STUDY, {"x": np.arange(1.1e6)}, tmp_path / "out", chunk=1)
    with pytest.raises(FallingCatError, match="workers=1 or more"):
        sweep(STUDY, {"x": [1.0]}, tmp_path / "out", workers=0, time_limit=1.0)
    for limit in (0.0, -1.0, float("nan")):
        with pytest.raises(FallingCatError, match="time_limit"):
            sweep(STUDY, {"x": [1.0]}, tmp_path / "out", time_limit=limit)
    assert not list(tmp_path.iterdir())


def test_a_configuration_is_kept_exactly(tmp_path):
    out = tmp_path / "out"
    sweep(STUDY, {"x": [0.1]}, out, workers=0)
    about = json.loads(json.loads((out / "zarr.json").read_text())["attributes"]["fallingcat_sweep"])
    assert about["points"] == {"grid": {"x": [0.1]}}


def test_values_without_end_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(points, "MAX_ALONG", 1000)
    for values in (itertools.count(), np.broadcast_to(1.0, (10**12,))):  # took all memory
        with pytest.raises(FallingCatError, match="there are 1 to 1,000 values of 'x', not more"):
            sweep(STUDY, {"x": values}, tmp_path / "out")
        with pytest.raises(FallingCatError, match="there are 1 to 1,000 values of 'x', not more"):
            sweep(abs, {"x": values}, tmp_path / "out")
