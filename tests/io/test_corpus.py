"""Every bad or odd file gets the answer that its manifest asks for: in process, and under limits of time and memory."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fallingcat.errors import FileError
from fallingcat.io import read

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "corpus"
SUFFIXES = {".urdf", ".xml", ".toml"}
SECONDS, BYTES = 5, 2**30


def entries(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [(folder / entry["file"], entry["expected"], entry.get("message", "")) for entry in manifest]


OWN = [
    entry
    for manifest in sorted((ROOT / "tests" / "corpus").rglob("manifest.json"))
    for entry in entries(manifest.parent)
]
GIVEN = entries(SHARED) if SHARED.is_dir() else []


def answer(path):
    """What came out, and in which words; any other exception is a failure of the test that calls."""
    try:
        model, warnings = read(path)
    except FileError as error:
        return "reject", str(error)
    assert model.links
    return ("warn" if warnings else "accept"), "\n".join(warnings)


def check(path, expected, message):
    got, words = answer(path)
    assert got == expected, words
    assert re.search(message, words), words
    for line in words.splitlines():
        assert line.startswith(str(path.parent))  # the message names the file, or the one that it includes ...
        assert line.isprintable()  # ... and nothing in the file can forge or repaint a line


@pytest.mark.parametrize(("path", "expected", "message"), OWN, ids=lambda x: x.name if isinstance(x, Path) else "")
def test_own_corpus(path, expected, message):
    check(path, expected, message)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/corpus is not here")
@pytest.mark.parametrize(("path", "expected", "message"), GIVEN, ids=lambda x: x.name if isinstance(x, Path) else "")
def test_shared_corpus(path, expected, message):
    check(path, expected, message)


def test_the_manifests_name_every_file():
    for manifest in (ROOT / "tests" / "corpus").rglob("manifest.json"):
        named = {path.name for path, _, _ in entries(manifest.parent)}
        # files that others include, and notes, are no robots of their own
        there = {p.name for p in manifest.parent.iterdir() if p.suffix in SUFFIXES and not p.name.startswith("_")}
        assert named == there


def test_there_are_as_many_bad_files_as_promised():
    assert len(OWN) >= 45
    assert sum(expected == "reject" for _, expected, _ in OWN) >= 45


LIMITED = """
import json, resource, sys
seconds, size = int(sys.argv[1]), int(sys.argv[2])
from fallingcat.errors import FileError
from fallingcat.io import read
resource.setrlimit(resource.RLIMIT_AS, (size, size))
for path in sys.stdin.read().splitlines():
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    resource.setrlimit(resource.RLIMIT_CPU, (int(used) + seconds, resource.RLIM_INFINITY))
    try:
        print("warn" if read(path)[1] else "accept")
    except FileError:
        print("reject")
"""


def limited(paths):
    """The answers of a fresh process that may use 5 s of processor time for each file, and 1 GB of memory."""
    pytest.importorskip("resource")  # not on Windows
    command = [sys.executable, "-c", LIMITED, str(SECONDS), str(BYTES)]
    # threads of linear algebra libraries reserve address space each; one is enough here
    environment = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)  # the same code as here
    lines = "\n".join(map(str, paths))
    run = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.split()


def test_limits_of_time_and_memory_hold_for_the_corpus():
    files = OWN + GIVEN
    assert limited([path for path, _, _ in files]) == [expected for _, expected, _ in files]


INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
LINK = "<link name='l{0}'>" + INERTIAL + "</link>"
JOINT = "<joint name='j{0}' type='continuous'><parent link='l{0}'/><child link='l{1}'/></joint>"
HUGE = {
    "17 MiB of spaces": "<robot>" + " " * (17 * 2**20) + "</robot>",
    "a deep nest": "<a>" * 200_000 + "</a>" * 200_000,
    "a million elements": "<robot>" + "<a/>" * 10**6 + "</robot>",
    "a million attributes": "<robot " + " ".join(f"a{i}=''" for i in range(10**6)) + "/>",
    "1,000 attributes": "<robot " + " ".join(f"a{i}=''" for i in range(1000)) + "/>",
    "a long attribute": "<robot name='" + "a" * 100_000 + "'/>",
    "a long name of a tag": "<" + "r" * 4 * 2**20 + "/>",
    "an endless comment": "<robot><!-- " + "a" * 8 * 2**20 + " --></robot>",
    "an endless text": "<robot>" + "a " * 4 * 2**20 + "</robot>",
    "angle brackets": "<" * 10**6,
    "10,001 links": "<robot>" + "".join(LINK.format(i) for i in range(10_001)) + "</robot>",
    "a ring of 5,000": "<robot>"
    + "".join(LINK.format(i) for i in range(5000))
    + "".join(JOINT.format(i, (i + 1) % 5000) for i in range(5000))
    + "</robot>",
    "mimics in a row": "<robot>"
    + "".join(LINK.format(i) for i in range(3001))
    + "".join(
        JOINT.format(i, i + 1).replace("</joint>", f"<mimic joint='j{(i + 1) % 3000}'/></joint>") for i in range(3000)
    )
    + "</robot>",
}


def test_limits_of_time_and_memory_hold_for_huge_files(tmp_path):
    paths = []
    for i, text in enumerate(HUGE.values()):
        paths.append(tmp_path / f"{i}.urdf")
        paths[-1].write_text(text)
    assert limited(paths) == ["reject"] * len(HUGE)


@pytest.mark.parametrize(
    ("name", "rule"), [("none.urdf", "no such file"), ("a\0b.urdf", "cannot be read"), ("b.stl", "ends in")]
)
def test_what_is_no_robot_file(tmp_path, name, rule):
    with pytest.raises(FileError, match=rule):
        read(tmp_path / name)


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(FileError, match="plain file"):
        read(tmp_path / "folder.urdf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(FileError, match="plain file"):
        read(tmp_path / "pipe.urdf")
