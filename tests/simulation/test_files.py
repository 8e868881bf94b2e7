"""Trajectories in files: every run comes back whole, a damaged file never, and nothing is left beside it."""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.control import JointDamper
from fallingcat.errors import FallingCatError, FileError, ModelError
from fallingcat.simulation import StatusCode
from fallingcat.simulation.output import files

CAT = fc.robots.two_cylinder_cat()
KINDS = ["npz", "nc"]


@pytest.fixture(scope="module")
def run():
    return fc.simulate(CAT, CAT.state(rates=[1.0, -0.5]), 0.01, JointDamper(0.01))


@pytest.fixture(autouse=True)
def extras(request):
    if "nc" in str(request.node.callspec.params if hasattr(request.node, "callspec") else ""):
        pytest.importorskip("xarray")
        pytest.importorskip("scipy")


def same(one, other):
    for name in files.SERIES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype.isnative
    np.testing.assert_array_equal(one.ledger.works, other.ledger.works)
    assert one.ledger.ports == other.ledger.ports
    assert (one.modes, one.events, one.status) == (other.modes, other.events, other.status)


# every run comes back


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("robot", [fc.robots.free_body, fc.robots.planar_arm, fc.robots.revolute_hopper, fc.robots.cat])
def test_runs_without_memory_joints_base_or_ports_come_back(robot, kind, tmp_path):
    model = robot()
    run = fc.simulate(model, model.neutral(), 0.003)
    run.save(tmp_path / f"run.{kind}")
    same(fc.Trajectory.load(tmp_path / f"run.{kind}", model), run)


def test_xarray_reads_a_run_without_memory(run, tmp_path):
    xarray = pytest.importorskip("xarray")
    run.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as data:
        np.testing.assert_array_equal(data["rates"], run.rates)
        assert "memory" not in data


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_words_of_any_kind_come_back(run, kind, tmp_path):
    odd = replace(
        run,
        code=StatusCode.FAILED,
        reason="gestürzt \N{CAT}\n\0 'x'",
        modes=tuple(("auf", ("a", 1), True, None) for _ in run.modes),
    )
    odd.save(tmp_path / f"räder \N{CAT}.{kind}")
    same(fc.Trajectory.load(tmp_path / f"räder \N{CAT}.{kind}", CAT), odd)


# damage


@pytest.mark.parametrize("kind", KINDS)
def test_no_damaged_file_is_read(run, kind, tmp_path):
    """Bytes changed, cut off, put in, swapped: always the one error that says so."""
    path = tmp_path / f"run.{kind}"
    run.save(path)
    good, rng = path.read_bytes(), np.random.default_rng(0)
    for trial in range(400):
        at, bad = int(rng.integers(len(good))), bytearray(good)
        if trial % 4 == 0:
            bad[at] ^= int(rng.integers(1, 256))
        elif trial % 4 == 1:
            del bad[at:]
        elif trial % 4 == 2:
            bad[at:at] = rng.bytes(int(rng.integers(1, 40)))
        else:
            bad[at : at + 8] = bytes(8) if bad[at : at + 8] != bytes(8) else b"\xff" * 8
        path.write_bytes(bad)
        with pytest.raises(FileError, match="is no trajectory of fallingcat"):
            fc.Trajectory.load(path, CAT)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("content", [b"", b"0", files.EMPTY, b"PK\5\6" + bytes(18), b"CDF\1" + bytes(100)])
def test_what_is_no_file_of_ours_is_refused(content, kind, tmp_path):
    path = tmp_path / f"run.{kind}"
    path.write_bytes(content)
    with pytest.raises(FileError, match="is no trajectory"):
        fc.Trajectory.load(path, CAT)
    with pytest.raises(FileError, match="there is no such file"):
        fc.Trajectory.load(tmp_path / f"none.{kind}", CAT)
    with pytest.raises(FileError, match="there is no such file"):
        fc.Trajectory.load(tmp_path, CAT)


def forged(run, **changes):
    """A file with a checksum that fits, whose content is a lie."""
    content = files.arrays(run)
    text = json.loads(content["text"])
    for name, value in changes.items():
        if name in text:
            text[name] = value
        else:
            content[name] = value
            text["shapes"][name] = np.shape(value)
    content["text"] = changes.get("text", json.dumps(text))
    usual, files.arrays = files.arrays, lambda run: content
    try:
        return files._as_npz(run)
    finally:
        files.arrays = usual


LIES = {
    "times go back": lambda run: {"times": run.times[::-1]},
    "times are not numbers": lambda run: {"times": run.times * np.nan},
    "poses are not numbers": lambda run: {"poses": run.poses[:, 0]},
    "poses are no poses": lambda run: {"poses": 2.0 * run.poses},
    "series have different": lambda run: {"rates": run.rates[1:]},
    "series have different lengths": lambda run: {"modes": [[]]},
    "a mode is a list": lambda run: {"modes": [3] * len(run)},
    "works are not of the ports": lambda run: {"ports": []},
    "is no text": lambda run: {"ports": [1]},
    "outside the run": lambda run: {"events": [["late", 9.0, 0.0]]},
    "loss is not finite": lambda run: {"events": [["late", 0.0, float("nan")]]},
    "unpack": lambda run: {"events": [1]},
    "recursion": lambda run: {"text": 10**5 * "["},
    "base_work are not numbers": lambda run: {"base_work": np.zeros(len(run))},
    "no samples": lambda run: {name: getattr(run, name)[:0] for name in files.SERIES},
}  # fmt: skip


@pytest.mark.parametrize("rule", LIES)
def test_a_forged_file_is_refused_by_its_rule(run, rule, tmp_path):
    (tmp_path / "run.npz").write_bytes(forged(run, **LIES[rule](run)))
    with pytest.raises(FileError, match=f"(?i)is no trajectory of fallingcat.*{rule}"):
        fc.Trajectory.load(tmp_path / "run.npz", CAT)


def test_another_robot_is_reported(run, tmp_path):
    run.save(tmp_path / "run.npz")
    with pytest.raises(ModelError, match="another robot"):
        fc.Trajectory.load(tmp_path / "run.npz", fc.robots.cat())


# what is left in the folder


@pytest.mark.parametrize("kind", [*KINDS, "html"])
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_files_have_the_usual_mode(run, kind, mask, tmp_path):
    path, before = tmp_path / f"run.{kind}", os.umask(mask)
    try:
        written(run, path)
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask
        path.chmod(0o640)
        written(run, path)
        assert path.stat().st_mode & 0o777 == 0o640  # what was there keeps its own
    finally:
        os.umask(before)
    assert os.listdir(tmp_path) == [path.name]


def written(run, path):
    return run.plot("joints").write(path) if path.suffix == ".html" else run.save(path)


def test_a_folder_that_is_not_there_is_reported(run, tmp_path):
    for name in ("run.npz", "run.html"):
        with pytest.raises(FallingCatError, match="cannot be written: No such file"):
            written(run, tmp_path / "none" / name)
    (tmp_path / "dir.npz").mkdir()
    with pytest.raises(FileError, match="cannot be written"):
        run.save(tmp_path / "dir.npz")
    assert os.listdir(tmp_path) == ["dir.npz"]


KILLED = """
import os, signal, sys
from fallingcat.io import files
usual = os.fsync
def fsync(descriptor):
    usual(descriptor)
    os.kill(os.getpid(), signal.SIGKILL)
os.fsync = fsync
files.write_bytes(sys.argv[1], bytes(10**6))
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_a_killed_save_leaves_nothing(run, tmp_path):
    path = tmp_path / "run.npz"
    run.save(path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == ["run.npz"]
    same(fc.Trajectory.load(path, CAT), run)


def test_where_files_need_names_they_are_cleaned_up(run, tmp_path, monkeypatch):
    """File systems without nameless files: what fails or is interrupted leaves nothing, either."""
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    run.save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").stat().st_mode & 0o777 == 0o666 & ~_umask()
    for error in (OSError("disk full"), KeyboardInterrupt()):
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", _raising(error))
            with pytest.raises((FileError, KeyboardInterrupt)):
                run.save(tmp_path / "run.npz")
        assert os.listdir(tmp_path) == ["run.npz"]
    same(fc.Trajectory.load(tmp_path / "run.npz", CAT), run)


def _raising(error):
    def replace(*_):
        raise error

    return replace


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_many_savers_of_one_file_leave_one_whole_file(run, tmp_path):
    path = Path(tmp_path / "run.npz")
    savers = [threading.Thread(target=run.save, args=(path,)) for _ in range(8)]
    for saver in savers:
        saver.start()
    for saver in savers:
        saver.join()
    same(fc.Trajectory.load(path, CAT), run)
    assert os.listdir(tmp_path) == ["run.npz"]
