"""Robots by name, from packages that are installed; nothing is fetched."""

import sys

import pytest

import fallingcat as fc
from fallingcat.errors import ExtraMissingError, FileError

BRICK = "<robot name='brick'><link name='brick'><inertial><mass value='1'/>\
<inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"

CLONING = """
from ._cache import clone_to_cache as _clone_to_cache
URDF_PATH = _clone_to_cache(
    "brick-data",
) + "/brick.urdf"
"""
CACHE = """
import os
def clone_to_cache(name):
    assert os.environ["GIT_ALLOW_PROTOCOL"] == "file"
    return os.path.join(os.environ["ROBOT_DESCRIPTIONS_CACHE"], "brick")
"""
REPOSITORIES = """
from types import SimpleNamespace
REPOSITORIES = {"brick-data": SimpleNamespace(cache_path="brick")}
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A stand-in for robot_descriptions, with one robot, and a package of its own for another."""
    whole = tmp_path / "packages" / "robot_descriptions"
    whole.mkdir(parents=True)
    files = {
        "__init__": "",
        "_cache": CACHE,
        "_repositories": REPOSITORIES,
        "brick_description": CLONING,
        "ball_description": "XACRO_PATH = 'ball.xacro'",
        "broken_description": "raise RuntimeError('no such commit')",
    }
    for name, text in files.items():
        (whole / f"{name}.py").write_text(text)
    (tmp_path / "brick.urdf").write_text(BRICK)
    (whole.parent / "wall_description.py").write_text(f"URDF_PATH = {str(tmp_path / 'brick.urdf')!r}")
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:  # of a test before
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(whole.parent))
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GIT_ALLOW_PROTOCOL", raising=False)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("robot_descriptions") or name == "wall_description"]:
        del sys.modules[name]


def test_a_robot_by_its_name(packages):
    with pytest.raises(FileError, match=r'brick_description: its files are not on this machine; .* python -c "import'):
        fc.load("brick_description")
    folder = packages / "cache" / "brick"
    folder.mkdir(parents=True)
    (folder / "brick.urdf").write_text(BRICK)
    assert fc.load("brick_description").name == "brick"
    assert fc.load("brick_description", base="fixed").m == 0


def test_a_robot_without_the_ending_of_its_name(packages, monkeypatch):
    assert fc.load("wall").mass == 1.0
    with pytest.raises(FileError, match=r"brick: its files are not on this machine"):
        fc.load("brick")
    with pytest.raises(FileError, match="unknown: there is no such file, and no robot of this name is installed"):
        fc.load("unknown")
    with pytest.raises(FileError, match=r"no robot of this name is installed; do you mean 'brick'\?"):
        fc.load("bric")
    monkeypatch.chdir(packages)
    (packages / "wall").write_text("a file of this name")
    with pytest.raises(FileError, match="no robot is read from"):
        fc.load("wall")


def test_a_package_of_its_own(packages):
    assert fc.load("wall_description").mass == 1.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ball_description", "has no URDF_PATH and no MJCF_PATH"),
        ("broken_description", "cannot be imported: no such commit"),
        ("unknown_description", "no robot of this name is installed"),
        ("os", "no robot of this name is installed"),
    ],
)
def test_what_is_not_there(packages, name, words):
    with pytest.raises(FileError, match=words):
        fc.load(name)


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("fallingcat.io.robot_descriptions.robots_folder", lambda: None)
    with pytest.raises(
        ExtraMissingError, match=r"'talos_description' is no file, and by its name it needs example-robot-data"
    ):
        fc.load("talos_description")


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """A stand-in for the folder of example-robot-data."""
    folder = tmp_path / "robots"
    for name in ("go9/go9", "ant_b/ant", "ant_b/ant-arm", "ant_c/ant", "g9/g9_29dof", "g9/g9_hands", "tall_data/tall"):
        place, file = name.split("/")
        path = folder / (place if place.endswith("_data") else f"{place}_description") / "urdf" / f"{file}.urdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BRICK.replace("brick'", f"{place} {file}'", 1))
    monkeypatch.setattr("fallingcat.io.robot_descriptions.robots_folder", lambda: folder)


@pytest.mark.parametrize(
    ("name", "robot"),
    [
        ("go9", "go9 go9"),
        ("Go9", "go9 go9"),
        ("go9_description", "go9 go9"),
        ("g9_hands", "g9 g9_hands"),
        ("ant_b", "ant_b ant"),
        ("ant-arm", "ant_b ant-arm"),
        ("ant_c", "ant_c ant"),
        ("tall", "tall_data tall"),
    ],
)
def test_robots_of_example_robot_data(examples, name, robot):
    assert fc.load(name).name == robot


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("g9", "^g9: several robots have this name: load one of g9_29dof, g9_hands$"),
        ("ant", "^ant: several robots have this name: load one of ant_b, ant_c$"),
        ("go8", "no robot of this name is installed; do you mean 'go9'?"),
    ],
)
def test_names_that_are_several_robots_or_none(examples, name, words):
    with pytest.raises(FileError, match=words):
        fc.load(name)


def test_example_robot_data_is_found_where_it_is_installed():
    pytest.importorskip("pinocchio")
    assert fc.load("panda", base="fixed").n == 8
