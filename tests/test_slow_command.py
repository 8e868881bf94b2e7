"""``python tests/slow.py``: it can be killed at any time, resumed, and says what is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import slow

SCRIPT = Path(__file__).with_name("slow.py")
CONFTEST = """
from hypothesis import settings
settings.register_profile("slow", max_examples=1)
"""
TESTS = """
import time
from pathlib import Path
import pytest

pytestmark = pytest.mark.slow

def test_first():
    Path("first_runs").open("a").write("x")

def test_broken():
    assert Path("mended").exists(), "a falsifying example"

def test_long():
    Path("long_began").touch()
    if not Path("mended").exists():
        time.sleep(600)
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: minutes\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)
    return tmp_path


def call(suite, *options):
    found = subprocess.run([sys.executable, SCRIPT, *options], cwd=suite, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout.splitlines()


@pytest.mark.parametrize("how", [pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGKILL, signal.SIGTERM)])
def test_killed_and_resumed(suite, how):
    first = subprocess.Popen([sys.executable, SCRIPT, "--workers", "1"], cwd=suite, start_new_session=True)
    while not (suite / "long_began").exists():
        assert first.poll() is None
        time.sleep(0.05)
    first.send_signal(how)
    first.wait()
    if how == signal.SIGKILL:
        os.killpg(first.pid, signal.SIGKILL)  # its test, too
    code, said = call(suite, "--status")
    assert code == 1
    assert said == [
        "failed: test_some.py::test_broken",
        "left: test_some.py::test_long",
        "3 slow tests: 1 passed, 1 failed, 1 left",
    ]
    kept = slow.read(suite / "slow_results.json")  # and in the lines of a recorder whose command was killed
    assert "a falsifying example" in kept["test_some.py::test_broken"]["output"]
    (suite / "mended").touch()
    code, said = call(suite, "--resume")
    assert (code, said[-1]) == (0, "3 slow tests: 3 passed, 0 failed, 0 left")
    assert (suite / "first_runs").read_text() == "x"  # what passed is not run again


def test_from_the_beginning_runs_again_what_passed(tmp_path, monkeypatch, capsys):
    runs = []
    monkeypatch.setattr(slow, "collected", lambda places: list(places) or ["a", "b"])

    def ran(tests, alive, report, path):
        for test in tests:
            runs.append(test)
            report(test, {"outcome": "passed", "seconds": 1.0})

    monkeypatch.setattr(slow, "ran", ran)
    slow.STOPPED.clear()
    results = str(tmp_path / "results.json")
    assert slow.main(["--results", results]) == 0
    assert slow.main(["--results", results, "--resume"]) == 0
    assert sorted(runs) == ["a", "b"]
    assert slow.main(["--results", results, "b"]) == 0
    assert sorted(runs) == ["a", "b", "b"]
    assert set(slow.read(tmp_path / "results.json")) == {"a", "b"}  # the other keeps its result


@pytest.mark.slow
def test_one_that_ends_its_process_ends_no_other(suite):
    (suite / "test_some.py").write_text(
        TESTS.replace('Path("first_runs").open("a").write("x")', "os._exit(3)").replace(
            "import time\n", "import os, time\n"
        )
    )
    (suite / "mended").touch()
    code, said = call(suite)
    assert code == 1
    assert said[-2:] == ["failed: test_some.py::test_first", "3 slow tests: 2 passed, 1 failed, 0 left"]


def test_what_cannot_be_collected_is_said(suite, monkeypatch):
    monkeypatch.chdir(suite)
    (suite / "test_bad.py").write_text("import nothing_of_this_name")
    with pytest.raises(SystemExit, match="nothing_of_this_name"):
        slow.collected([])


def test_the_long_tests_are_where_the_list_says():
    """The list of long tests kept the names of files that had moved, so that they ran with the fast ones."""
    for name in SCRIPT.with_name("long.txt").read_text(encoding="utf-8").split("\n"):
        path, _, test = name.partition("::")
        if test:
            assert f"def {test.partition('[')[0]}(" in (SCRIPT.parents[1] / path).read_text(encoding="utf-8"), name
