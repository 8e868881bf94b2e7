"""Machine code between runs: private, verified, shared safely, bounded, and dispensable."""

import errno
import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
import types
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.compiler import compilation
from fallingcat.compiler.cache import files as cache
from fallingcat.compiler.cache import index as cache_index
from fallingcat.compiler.cpu import native
from fallingcat.compiler.ir.trace import Recipe
from fallingcat.control.whole_body import plan as whole_body_plan

POSIX = pytest.mark.skipif(not cache._POSIX, reason="needs POSIX permissions")
KEY, OTHER = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "mine"))
    monkeypatch.delenv("FALLINGCAT_CACHE_MIB", raising=False)
    cache._reported.clear()
    return tmp_path / "mine" / "kernels"


@pytest.fixture
def compiled(monkeypatch):
    """Counts how often LLVM is asked for code."""
    texts = []
    original = native.object_code
    monkeypatch.setattr(native, "object_code", lambda text: texts.append(text) or original(text))
    return texts


@functools.cache
def robot():
    return fc.robots.prismatic_hopper()


def file_of(folder, key):
    return folder / f"{key}.fck"


# files --------------------------------------------------------------------------------------------------------------


def test_what_was_written_is_read(folder):
    assert cache.read(KEY) is None
    cache.write(KEY, b"code")
    assert cache.read(KEY) == b"code"
    assert cache.read(OTHER) is None
    cache.write(KEY, b"")
    assert cache.read(KEY) == b""
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.fck"]


@POSIX
def test_it_belongs_to_the_user_alone(folder):
    mask = os.umask(0)
    try:
        cache.write(KEY, b"code")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(folder, KEY).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o750, 0o707, 0o777])
@POSIX
def test_a_folder_open_to_others_is_not_used(folder, mode):
    cache.write(KEY, b"code")
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match=r"kernels are not cached: .* is open to other users \(chmod 700 it\)"):
        assert cache.read(KEY) is None
    cache.write(OTHER, b"code")  # told once
    assert not file_of(folder, OTHER).exists()
    assert "open to other users" in cache.info().problem


@POSIX
def test_a_folder_of_someone_else_is_not_used(folder, monkeypatch):
    cache.write(KEY, b"code")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        assert cache.read(KEY) is None


@POSIX
def test_links_are_not_followed(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    with pytest.warns(RuntimeWarning, match="is a link"):
        cache.write(KEY, b"code")
    assert cache.read(KEY) is None
    assert list(elsewhere.iterdir()) == []
    folder.unlink()
    cache.write(KEY, b"code")
    trap = elsewhere / "trap"
    file_of(folder, KEY).rename(trap)
    file_of(folder, KEY).symlink_to(trap)
    assert cache.read(KEY) is None  # the content is right, the way is not
    cache.write(KEY, b"new")
    assert cache.read(KEY) == b"new"
    assert b"new" not in trap.read_bytes()


@POSIX
def test_files_that_others_could_have_written_are_not_read(folder):
    cache.write(KEY, b"code")
    file_of(folder, KEY).chmod(0o620)
    assert cache.read(KEY) is None
    file_of(folder, KEY).unlink()
    os.mkfifo(file_of(folder, KEY))  # nobody will ever write to it
    assert cache.read(KEY) is None
    cache.write(KEY, b"code")
    assert cache.read(KEY) == b"code"


@pytest.mark.parametrize("damage", ["flip", "cut", "grow", "empty", "renamed", "text"])
def test_damage_is_noticed_and_repaired(folder, damage):
    cache.write(KEY, bytes(range(256)))
    path = file_of(folder, KEY)
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-10] ^= 1
    elif damage == "cut":
        data = data[:-1]
    elif damage == "grow":
        data += b"x"
    elif damage == "empty":
        data = bytearray()
    elif damage == "text":
        data = bytearray(b"hello")
    else:
        path = path.rename(file_of(folder, OTHER))
    path.write_bytes(data)
    key = OTHER if damage == "renamed" else KEY
    assert cache.read(key) is None
    cache.write(key, b"good")
    assert cache.read(key) == b"good"


def test_keys_are_digests():
    for key in ("../../etc/passwd", "a" * 63, "A" * 64, "", "a" * 63 + "/"):
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            cache.read(key)


def test_the_oldest_goes_first(folder, monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE_MIB", "1")
    keys = [f"{i:064x}" for i in range(6)]
    for age, key in enumerate(keys[:4]):
        cache.write(key, bytes(220_000))
        os.utime(file_of(folder, key), (1000.0 + age, 1000.0 + age))
    assert cache.read(keys[0]) is not None  # used again: now it is the youngest
    cache.write(keys[4], bytes(220_000))
    kept = {key for key in keys if file_of(folder, key).exists()}
    assert kept == {keys[0], keys[3], keys[4]}
    assert cache.info().bytes < 0.9 * 2**20
    cache.write(keys[5], bytes(2 * 2**20))  # more than all there is room for
    assert cache.read(keys[5]) is None


def test_what_was_abandoned_is_swept_away(folder):
    cache.write(KEY, b"code")
    old, young, future = (folder / f".{KEY}.fck.{end}" for end in ("1.aa", "2.bb", "3.cc"))
    for path in (old, young, future):
        path.write_bytes(b"half")
    os.utime(old, (1000.0, 1000.0))
    os.utime(future, (time.time() + 1e6,) * 2)  # of a clock that was set back since
    (folder / "notes.txt").write_text("not ours")
    cache.write("0" * 64, b"code")  # a key after which the folder is looked at
    assert not old.exists()
    assert not future.exists()
    assert young.exists()
    assert (folder / "notes.txt").exists()


def test_the_folder_is_looked_at_now_and_then(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(cache, "_evict", looks.append)
    for i in range(300):
        cache.write(cache_index.digest(i), b"code")
    assert len(looks) <= 3
    cache.write("f" * 64, bytes(cache.MAX_CACHE_BYTES // 50))
    assert len(looks) >= 1


def test_small_files_take_whole_blocks(folder, monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE_MIB", "1")
    for i in range(600):
        cache.write(cache_index.digest(i), b"code")
    used = sum(512 * path.stat().st_blocks for path in folder.iterdir()) if cache._POSIX else 0
    assert used <= 2**20
    assert cache.info().bytes >= used


def test_an_interrupted_write_leaves_nothing(folder, monkeypatch):
    cache.write(KEY, b"code")

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.write(OTHER, b"code")
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.fck"]


def test_without_a_place_everything_works(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for said in ("off", str(blocked), str(blocked / "below")):
        monkeypatch.setenv("FALLINGCAT_CACHE", said)
        cache.write(KEY, b"code")
        assert cache.read(KEY) is None
        assert cache.info().files == 0
    kernel = fc.compile(robot(), fc.inverse_dynamics)
    assert kernel(*(np.zeros(a.size) for a in kernel.signature)).shape == (robot().nv,)


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    monkeypatch.delenv("FALLINGCAT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    cache.write(KEY, b"code")
    assert cache.read(KEY) is None


def test_a_disk_that_takes_nothing(monkeypatch, folder):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        cache.write(KEY, b"code")
        assert cache.read(KEY) is None
    cache.write(KEY, b"code")
    monkeypatch.setattr(os, "replace", refuse)
    cache.write(OTHER, b"code")
    assert cache.read(KEY) == b"code"
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.fck"]  # nothing is left behind


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("FALLINGCAT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache._path() == tmp_path / "fallingcat" / "kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache._path() == tmp_path / ".cache" / "fallingcat" / "kernels"
    monkeypatch.setenv("HOME", "")
    assert cache._path() is None or cache._path().is_absolute()


def test_threads_share_it(folder):
    def work(i):
        for j in range(40):
            key = f"{j % 7:064x}"
            cache.write(key, key.encode() * 500)
            got = cache.read(key)
            if got is not None and got != key.encode() * 500:
                wrong.append((i, j))

    wrong: list[tuple[int, int]] = []
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert cache.info().files == 7


def test_processes_that_compile_at_once(folder):
    script = (
        "import numpy as np, fallingcat as fc\n"
        "m = fc.robots.revolute_hopper()\n"
        "k = fc.compile(m, fc.forward_dynamics)\n"
        "print(k(*(np.full(a.size, 0.1) for a in k.signature)).tolist())\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outs = {run.communicate(timeout=120)[0] for run in runs}
    assert all(run.returncode == 0 for run in runs)
    assert len(outs) == 1
    model = fc.robots.revolute_hopper()
    kernel = fc.compile(model, fc.forward_dynamics)
    assert kernel(*(np.full(a.size, 0.1) for a in kernel.signature)).tolist() == json.loads(outs.pop())
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


# kernels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [fc.inverse_dynamics, fc.reduced_equations, fc.equations, fc.forward_kinematics])
def test_a_kernel_that_is_known_is_neither_traced_nor_compiled(function, compiled, monkeypatch):
    model, again = fc.robots.prismatic_hopper(), fc.robots.prismatic_hopper()
    first = fc.compile(model, function)
    arguments = [np.stack([x] * 3) for x in model.flatten(model.random_state(np.random.default_rng(0)))]
    arguments = [*arguments, arguments[1]][: len(first.signature)]
    expected = first(*arguments)
    count = len(compiled)
    assert count > 0
    monkeypatch.setattr(fc.compiler.compilation, "trace", pytest.fail)
    second = fc.compile(again, function)
    got = second(*arguments)
    assert len(compiled) == count
    assert second.signature == first.signature
    assert second.operations == first.operations
    assert type(got) is type(expected)
    assert repr(got).replace(repr(again), repr(model)) == repr(expected)
    if function is fc.equations:
        assert got.model is again


def test_what_leads_to_another_kernel(compiled):
    model = fc.robots.prismatic_hopper()
    q, v = (np.stack([x] * 2) for x in model.flatten(model.random_state(np.random.default_rng(0))))
    heavier = model.replace_body(model.link_names[0], fc.Body(9.0, np.zeros(3), np.eye(3)))
    cases = [
        (model, fc.coriolis_matrix, {}),
        (heavier, fc.coriolis_matrix, {}),
        (replace(model, gravity=np.array([0.0, -1.6, 0.0])), fc.gravity_forces, {}),
        (model, fc.gravity_forces, {}),
        (model, fc.coriolis_matrix, {"factorization": "passive"}),
        (model, fc.mass_matrix_derivative, {}),
    ]
    for _ in range(2):
        for robot, function, options in cases:
            kernel = fc.compile(robot, function, **options)
            expected = function(robot, robot.unflatten(q[0], v[0]), **options)
            np.testing.assert_allclose(kernel(*[q, v][: len(kernel.signature)])[1], expected, atol=1e-11)


def test_functions_of_the_user_are_traced_each_time(compiled):
    for factor in (2.0, 3.0):
        kernel = fc.compile(robot(), lambda model, state, factor=factor: factor * state.velocity)
        np.testing.assert_array_equal(kernel(np.zeros(4), np.ones(4)), factor * np.ones(4))
    count = len(compiled)
    fc.compile(robot(), lambda model, state: 3.0 * state.velocity)  # the same text: the same code
    assert len(compiled) == count


def test_an_interrupted_compile_leaves_nothing(folder, monkeypatch):
    kernel = fc.compile(robot(), fc.inverse_dynamics)
    before = sorted(folder.iterdir())
    original, arguments = native.object_code, [np.full((3, 4), 0.1)] * 3

    def interrupted(text):
        raise KeyboardInterrupt

    monkeypatch.setattr(native, "object_code", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kernel(*arguments)
    with pytest.raises(KeyboardInterrupt):
        fc.compile(robot(), fc.coriolis_matrix)
    monkeypatch.setattr(native, "object_code", original)
    assert set(before) <= set(folder.iterdir())
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    results: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: results.append(kernel(*arguments)))  # no lock is held
    thread.start()
    thread.join(60)
    np.testing.assert_array_equal(results[0][1], kernel(*(x[1] for x in arguments)))
    assert fc.compile(robot(), fc.coriolis_matrix)(*[np.zeros(4)] * 2).shape == (4, 4)


def test_sources_are_known_by_their_content(tmp_path, monkeypatch):
    """An edit of the same size whose time is set back is an edit."""
    monkeypatch.setattr(fc, "__path__", [str(tmp_path)])
    monkeypatch.setattr(cache_index, "_IMPORT_TIME", 2**63)
    path = tmp_path / "kernels" / "store" / "dynamics.py"
    path.parent.mkdir(parents=True)
    said = []
    for text in ("x = 1\n", "x = 2\n", "x = 1\n"):
        path.write_text(text)
        os.utime(path, (1e9, 1e9))
        said.append(cache_index.sources.__wrapped__())
    assert said[0] == said[2] != said[1]
    monkeypatch.setattr(cache_index, "_IMPORT_TIME", 0)
    with pytest.raises(cache_index.Unknown, match=r"dynamics.py is not what was imported"):
        cache_index.sources.__wrapped__()


def test_sources_are_unknown_when_the_clock_was_set_back(tmp_path, monkeypatch):
    """An edit after the import looked older than it: code of the old text was kept for the new one."""
    monkeypatch.setattr(fc, "__path__", [str(tmp_path)])
    (tmp_path / "dynamics.py").write_text("x = 1\n")
    # the clock was an hour ahead
    monkeypatch.setattr(cache_index, "_IMPORT_TIME", cache_index._IMPORT_TIME + 3600 * 10**9)
    monkeypatch.setattr(cache_index, "_CLOCK", cache_index._CLOCK + 3600 * 10**9)
    with pytest.raises(cache_index.Unknown, match="clock was set back"):
        cache_index.sources.__wrapped__()


def test_every_folder_of_the_library_is_a_source(tmp_path, monkeypatch):
    """However deep a file lies, an edit of it leads to another kernel."""
    copy = tmp_path / "copy"
    shutil.copytree(fc.__path__[0], copy, ignore=shutil.ignore_patterns("__pycache__"))
    original = cache_index.sources()
    monkeypatch.setattr(fc, "__path__", [str(copy)])
    monkeypatch.setattr(cache_index, "_IMPORT_TIME", 2**63)
    assert cache_index.sources.__wrapped__() == original
    folders = {path.parent for path in copy.rglob("*.py")}
    assert {copy, copy / "compiler" / "ir", copy / "model" / "robots"} <= folders
    for folder in folders:
        path = next(folder.glob("*.py"))
        before = path.read_bytes()
        path.write_bytes(before + b"#")
        assert cache_index.sources.__wrapped__() != original, folder
        path.write_bytes(before)


def test_what_a_digest_cannot_speak_for():
    def memory(model, function, inputs=(), state=("q", "v"), **options):
        return cache_index.Memory(Recipe(model, function, dict(inputs), state, options))._key

    model = robot()
    assert memory(model, fc.mass_matrix) == memory(fc.robots.prismatic_hopper(), fc.mass_matrix)
    assert memory(model, fc.mass_matrix) != memory(model, fc.bias_forces)
    assert len({memory(model, fc.bias_forces, state=s) for s in (("q", "v"), ("joints",), (), None)}) == 4
    assert len({memory(model, fc.bias_forces, inputs={"x": s}) for s in (3, (3,), (3, 1))}) == 3
    assert memory(model, fc.coriolis_matrix, factorization="passive") is not None
    assert memory(model, fc.coriolis_matrix, factorization=object()) is None
    assert memory(model, lambda model, state: 1.0) is None
    assert memory(model, functools.partial(fc.mass_matrix)) is None
    impostor = types.FunctionType(fc.mass_matrix.__code__, {}, "mass_matrix")
    impostor.__module__, impostor.__qualname__ = fc.mass_matrix.__module__, "mass_matrix"
    assert memory(model, impostor) is None

    @dataclass(frozen=True, eq=False)
    class Ball(fc.Body):
        """A class of the user's may compute what it likes."""

    custom = replace(model, links=(replace(model.links[0], body=Ball(1.0)), *model.links[1:]))
    assert memory(custom, fc.mass_matrix) is None


@pytest.mark.parametrize("damage", [b"", b"rubbish", None])
def test_code_that_was_damaged_is_made_again(folder, compiled, damage):
    zero = [np.zeros(4)] * 3
    expected = fc.compile(robot(), fc.inverse_dynamics)(*zero)
    for path in folder.iterdir():
        if damage is None:
            data = bytearray(path.read_bytes())
            data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
            path.write_bytes(data)
        else:
            path.write_bytes(damage)
    count = len(compiled)
    np.testing.assert_array_equal(fc.compile(robot(), fc.inverse_dynamics)(*zero), expected)
    assert len(compiled) > count
    count = len(compiled)
    fc.compile(robot(), fc.inverse_dynamics)
    assert len(compiled) == count


def test_only_the_code_was_deleted(folder, compiled):
    fc.compile(robot(), fc.inverse_dynamics)
    largest = max(folder.iterdir(), key=lambda path: path.stat().st_size)
    largest.unlink()
    kernel = fc.compile(robot(), fc.inverse_dynamics)
    assert len(compiled) == 2
    assert kernel(*[np.zeros(4)] * 3).shape == (4,)


def test_records_of_this_library_have_digests():
    """Named tuples count by their class and their fields; those of the user's own are not spoken for."""
    state = fc.State(np.eye(4), np.zeros(2), np.zeros(6), np.zeros(2))
    known = {cache_index.digest(x) for x in (state, state._replace(rates=np.ones(2)), tuple(state))}
    assert len(known) == 3
    assert cache_index.digest(state) == cache_index.digest(fc.State(*state))

    class Own(NamedTuple):
        x: float

    with pytest.raises(cache_index.Unknown):
        cache_index.digest(Own(1.0))


def test_whole_body_torques_are_not_traced_again(compiled, monkeypatch):
    """The second process finds the code of the first."""
    cat = fc.robots.cat()
    tasks = [[fc.control.CenterOfMassTask(np.zeros(3))], [fc.control.JointsTask(np.zeros(cat.n))]]
    traced, trace = [], compilation.trace

    def counted(recipe, **options):
        traced.append(recipe)
        return trace(recipe, **options)

    monkeypatch.setattr(compilation, "trace", counted)
    found = []
    for count in (1, 0):
        whole_body_plan.plan_of.cache_clear()  # as a new process begins
        traced.clear()
        found.append(fc.control.torques(cat, cat.neutral(), tasks).torques)
        assert len(traced) == count
    np.testing.assert_array_equal(*found)
