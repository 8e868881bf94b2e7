"""What a release is checked for; `python tools/check_release.py` does it, which takes minutes and an index."""

import re
import runpy
import sys
import tomllib
import types
from pathlib import Path

import pytest

import fallingcat as fc

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_each_extra_is_tried_or_said_to_be_untried():
    tool = runpy.run_path(str(ROOT / "tools" / "check_release.py"))
    assert EXTRAS.keys() == tool["SMOKES"].keys() | tool["UNTRIED"].keys()
    for code in tool["SMOKES"].values():
        compile(code, "smoke", "exec")


def test_every_extra_that_a_message_names_exists():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"(?:ExtraMissingError|how_to_get)\(\s*[\"'](\w+)", sources))
    assert len(named) > 8
    assert named <= EXTRAS.keys()


def test_the_page_on_installing_lists_every_extra():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert not [extra for extra in EXTRAS if f"| `{extra}` |" not in page]


def test_the_version_is_the_same_everywhere():
    tool = runpy.run_path(str(ROOT / "tools" / "check_release.py"))
    assert tool["versions"]() == {tool["__version__"]()} == {fc.__version__}


def test_only_pythons_that_were_tried_are_named():
    """3.12 and 3.13: the wheel, and tests of models, contacts, identification and sweeps, on 2026-11-17.  3.14.10: the
    wheel and its commands with minimum and newest versions on 2026-11-19, 1,900 tests of kernels, files and errors.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {name.rpartition(" :: ")[2] for name in project["classifiers"] if "Python :: 3." in name}
    assert named == {"3.11", "3.12", "3.13", "3.14"}


def test_workflows_try_the_pythons_that_are_declared_and_publish_without_a_token():
    """They run elsewhere: here only what they say is read."""
    yaml = pytest.importorskip("yaml")
    folder = ROOT / ".github" / "workflows"
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("tests.yml", "release.yml")]
    tests, release = map(yaml.safe_load, texts)
    for job in (tests["jobs"]["smoke"], release["jobs"]["install"]):
        assert job["strategy"]["matrix"]["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
        assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    publish = release["jobs"]["publish"]
    assert set(publish["needs"]) == {"build", "tests", "install"}
    assert publish["permissions"] == {"id-token": "write"}
    assert release["permissions"] == tests["permissions"] == {"contents": "read"}
    assert "secrets." not in str(release)
    needs_pin = re.compile("^(?:import|from) (?:pinocchio|coal|example_robot_data)", re.MULTILINE)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):  # Windows has no wheels of these
        own = path.relative_to(ROOT).as_posix()
        ignored = own.startswith("tests/engines") or f"--ignore={own}" in texts[0]
        assert ignored or not needs_pin.search(path.read_text(encoding="utf-8")), own
    for path in re.findall(r"(?:--ignore=|python )((?:tests|tools)/[\w/.]+)", "".join(texts)):
        assert (ROOT / path).exists(), path


def test_the_long_description_needs_nothing_of_a_clone(monkeypatch):
    interface = types.SimpleNamespace(MetadataHookInterface=object)
    for name in ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["LongDescription"]()
    hook.root, made = str(ROOT), {}
    hook.update(made)
    text = made["readme"]["text"]
    assert "pip install fallingcat" in text
    assert not re.search(r"\]\((?!https?:)", text)
    assert "<!--" not in text
    assert ".venv" not in text
    assert [line for line in text.splitlines() if line.startswith("## ")][:2] == ["## Install", "## Quick start"]
    assert len(text) > 4000
