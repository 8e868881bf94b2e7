"""Core paths on systems without what POSIX has: modules and calls that Windows lacks are taken away in a process.

Nothing here runs on Windows or macOS; it shows that imports and core paths do not ask for what these lack.
"""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat.studies.sweeps import locks

SOURCES = Path(fc.__file__).parent
POSIX_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "readline")
POSIX_CALLS = tuple(
    f"""
    fork forkpty geteuid getuid getgid getegid setsid getpgid killpg nice uname getloadavg sched_getaffinity mkfifo
    sched_setaffinity statvfs chown lchown fchown fchmod chroot sync posix_fallocate pread pwrite readv writev
    register_at_fork {" ".join(f"O_{flag}" for flag in ("TMPFILE", "DIRECTORY", "NOFOLLOW", "NONBLOCK", "CLOEXEC"))}
    """.split()
)
PRELUDE = f"""
import os, shutil, sys, signal, subprocess, tempfile, concurrent.futures.thread, logging, random, ctypes, mmap
import importlib.metadata
import numpy, llvmlite.binding, rich.console, typer, pydantic  # which know these systems by themselves
for name in {POSIX_MODULES!r}:
    sys.modules[name] = None
for name in {POSIX_CALLS!r}:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "setitimer", "alarm"):
    if hasattr(signal, name):
        delattr(signal, name)
os.supports_dir_fd.clear()
shutil._use_fd_functions = False  # which it asked when it was imported
os.process_cpu_count = os.cpu_count  # from Python 3.13 on
found = os.path.isdir
os.path.isdir = lambda path: not str(path).startswith("/proc") and found(path)
for name in [name for name in dir(mmap) if name.startswith(("MAP_", "PROT_", "MADV_"))]:
    delattr(mmap, name)
os.fsync = lambda descriptor: os.write(descriptor, b"") and None  # Windows syncs no file that is open for reading only
"""
WINDOWS = """
import asyncio, ctypes.util, multiprocessing.synchronize, pathlib, platform, uuid, webbrowser, zipfile, scipy.linalg
sys.platform, os.environ["LOCALAPPDATA"] = "win32", os.getcwd()
del os.environ["FALLINGCAT_CACHE"]
"""
"""What asks by the name of the system; others have asked already."""
CORE = """
import numpy as np, fallingcat as fc
model = fc.load(sys.argv[1])
fc.save(model, "again.toml")
state = fc.load("again.toml").random_state(np.random.default_rng(0))
eom = fc.equations(model, state).change(fc.changes.centroidal(model, state))
assert eom.certify().passed
states = model.random_state(np.random.default_rng(0), 4)
first = fc.compile(model, fc.mass_matrix)(states)
from fallingcat.compiler.cache import files as cache
info = cache.info()
assert info.problem is None and info.files > 0, info
run = fc.simulate(model, model.neutral(), 0.02)
assert run.status == "finished"
run.save("run.npz"), run.to_csv("run.csv"), run.animate().write("run.html")
assert "</html>" in open("run.html", encoding="utf-8").read()
assert len(fc.Trajectory.load("run.npz", model)) == len(run)
from fallingcat.cli import app
import typer.testing
shown = typer.testing.CliRunner().invoke(app, ["inspect", sys.argv[1]])
assert shown.exit_code == 0, shown.output
"""
SWEEP = """
found = fc.studies.sweep(lambda a: 2.0 * a, {"a": [1.0, 2.0]}, "sweep.zarr", workers=0)
assert found.data() == {"done": 2, "failed": 0, "total": 2}
assert not hasattr(os, "fork")
"""


def run_without_posix(code, folder, *arguments):
    found = os.environ | {"PYTHONPATH": str(SOURCES.parent), "FALLINGCAT_CACHE": str(folder / "cache")}
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=found, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]


def test_core_paths_need_nothing_of_posix(tmp_path):
    robot = Path(__file__).parents[1] / "examples" / "robots" / "cat.urdf"
    pytest.importorskip("zarr")
    run_without_posix(CORE + SWEEP, tmp_path, robot)


def test_core_paths_of_a_system_that_is_called_windows(tmp_path):
    """Places of caches, limits of mappings: what is asked by the system's name, not by what it has."""
    robot = Path(__file__).parents[1] / "examples" / "robots" / "cat.urdf"
    folder = 'assert cache.info().folder.startswith(os.environ["LOCALAPPDATA"])\n'
    run_without_posix(WINDOWS + CORE + folder, tmp_path, robot)


@cache
def sources():
    """Every file of the library: its path, its text and its syntax tree."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    return [(path, text, ast.parse(text)) for path, text in texts.items()]


def test_what_posix_alone_has_is_asked_for_where_it_is_guarded():
    """A new use has to say here how other systems do without."""
    guarded = {
        ("files.py", "O_DIRECTORY"): "_POSIX",
        ("files.py", "geteuid"): "_POSIX",
        ("threads.py", "register_at_fork"): 'hasattr(os, "register_at_fork")',
        ("sweep.py", "sched_getaffinity"): 'hasattr(os, "sched_getaffinity")',
        ("files.py", "O_TMPFILE"): "suppress(AttributeError",
    }
    names = {
        *POSIX_CALLS,
        "SIGKILL",
        "SIGHUP",
        "SIGUSR1",
        "SIGALRM",
        "SIGCHLD",
        "SIGPROF",
        "setitimer",
        "alarm",
        "waitpid",
    }
    used = set()
    for path, text, tree in sources():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and getattr(node.value, "id", "") in ("os", "signal")
                and node.attr in names
            ):
                used.add((path.name, node.attr))
                assert guarded.get((path.name, node.attr), "no guard") in text, (path, node.lineno, node.attr)
    assert used == set(guarded)


def test_no_module_of_posix_is_imported_at_the_top():
    """Where one is used, it is inside a function, which has another way."""
    for path, _, tree in sources():
        for node in tree.body:
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)]
            assert not set(names) & set(POSIX_MODULES), path


def test_text_files_name_their_encoding():
    """The default of Windows is not UTF-8."""
    for path, _, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("read_text", "write_text"):
                keywords = {word.arg for word in node.keywords}
                owner = getattr(node.func, "value", None)
                digits = path.name == "job.py"  # the number of a run, in ASCII
                assert "encoding" in keywords or digits, (path, ast.dump(owner)[:80] if owner else "")


class Locking:
    """Stands for `msvcrt`: regions of a file that one handle has at a time."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        self.held, self.tries = set(), 0

    def locking(self, file, mode, size):
        place = os.lseek(file, 0, os.SEEK_CUR)
        self.tries += 1
        if mode == self.LK_NBLCK and place in self.held:
            raise PermissionError(13, "Permission denied")
        (self.held.add if mode == self.LK_NBLCK else self.held.discard)(place)


def test_chunks_are_locked_where_there_is_no_fcntl(tmp_path, monkeypatch):
    windows = Locking()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    with locks.lock_part(tmp_path / "lock", 7):
        assert windows.held == {7}
    assert windows.held == set()
    windows.held.add(3)
    monkeypatch.setattr(locks, "LONGEST_WAIT", 0.1)
    with (
        pytest.raises(fc.FileError, match="chunk 3 is being written by another process"),
        locks.lock_part(tmp_path / "lock", 3),
    ):
        pass
    assert windows.tries > 3


def test_without_any_locks_it_goes_on(tmp_path, monkeypatch):
    for name in ("fcntl", "msvcrt"):
        monkeypatch.setitem(sys.modules, name, None)
    with locks.lock_part(tmp_path / "lock", 7):
        pass
