"""Cached properties: computed once, and nobody waits for another thread's."""

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import fallingcat
from fallingcat.caching import cached_property


class Slow:
    """A property that takes as long as somebody else says."""

    def __init__(self, wait=None):
        self.begun, self.wait, self.count = threading.Event(), wait, 0

    @cached_property
    def value(self):
        """A new object each time."""
        self.count += 1
        self.begun.set()
        if self.wait is not None:
            self.wait.wait(30.0)
        return object()


def test_it_is_computed_once():
    one, other = Slow(), Slow()
    assert one.value is one.value
    assert one.value is not other.value
    assert one.count == 1
    assert Slow.value.func(one) is not one.value
    del one.value
    assert one.value is one.value
    assert one.count == 3


def test_other_instances_do_not_wait():
    release = threading.Event()
    slow, quick = Slow(release), Slow()
    thread = threading.Thread(target=lambda: slow.value, daemon=True)
    thread.start()
    assert slow.begun.wait(10.0)
    found = []
    reader = threading.Thread(target=lambda: found.append(quick.value), daemon=True)
    reader.start()
    reader.join(10.0)
    release.set()
    thread.join(10.0)
    assert found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_forked_meanwhile_does_not_wait():
    release = threading.Event()
    slow = Slow(release)
    thread = threading.Thread(target=lambda: slow.value, daemon=True)
    thread.start()
    assert slow.begun.wait(10.0)
    child = os.fork()
    if child == 0:
        os._exit(0 if Slow().value is not None else 1)
    status, end = None, time.monotonic() + 10.0
    while status is None and time.monotonic() < end:
        done, code = os.waitpid(child, os.WNOHANG)
        status = code if done else None
        time.sleep(0.01)
    if status is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    release.set()
    thread.join(10.0)
    assert status == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_forked_during_an_import_does_not_wait(tmp_path):
    """As when another thread is the first to ask for ``np.random``."""
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.5)\n")
    code = f"""
import faulthandler, os, sys, threading, time
import fallingcat
sys.path.insert(0, {str(tmp_path)!r})
threading.Thread(target=__import__, args=("slowly_imported",), daemon=True).start()
while "slowly_imported" not in sys.modules:
    time.sleep(1e-3)
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(5.0, exit=True)
    import slowly_imported
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60.0)
    assert found.returncode == 0, found.stderr


def test_the_library_uses_no_property_with_a_lock():
    for path in Path(fallingcat.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert "cached_property" not in [name.name for name in node.names], path
