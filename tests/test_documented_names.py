"""Dotted names of the library in pages, README and docstrings exist, and under their present name."""

import functools
import importlib
import re
import warnings
from pathlib import Path

import pytest

from fallingcat._deprecated import RENAMED

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"docs/_build", "docs/api", "src/fallingcat/_deprecated.py"}  # generated; the table of former names
DOTTED = re.compile(r"(?<![\w./\"-])(?:fc|fallingcat)((?:\.[A-Za-z_]\w*)+)(?![\w/-])")  # no entry points, in quotes
FILE = re.compile(r"\.(?:zarr|toml|py|md|html|json)$")


def dotted_names(text):
    """``model.Body`` of ``fc.model.Body`` and ``fallingcat.model.Body``; names of files are left out."""
    return {name[1:] for name in DOTTED.findall(text) if not FILE.search(name)}


@functools.cache
def resolves(name):
    """Whether ``fallingcat.NAME`` is a module, an attribute or a field, and no former name."""
    thing = importlib.import_module("fallingcat")
    if name.split(".")[0] in RENAMED["fallingcat"]:  # a former module may have been imported before
        return False
    with warnings.catch_warnings(action="error", category=DeprecationWarning):
        for part in name.split("."):
            try:
                thing = getattr(thing, part)
            except AttributeError:
                if part in getattr(thing, "__annotations__", {}):
                    return True
                try:
                    thing = importlib.import_module(f"{thing.__name__}.{part}")
                except (AttributeError, ImportError):
                    return False
            except DeprecationWarning:
                return False
    return True


def texts(place, suffix):
    """Paths below a folder, or the one file, from the root of the repository."""
    for path in [ROOT / place, *(ROOT / place).rglob(f"*{suffix}")]:
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and not any(name.startswith(left_out) for left_out in LEFT_OUT):
            yield name, path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "suffix"), [("README.md", ""), ("CONTRIBUTING.md", ""), ("docs", ".md"), ("src", ".py")]
)
def test_names_exist(place, suffix):
    names = {(where, name) for where, text in texts(place, suffix) for name in dotted_names(text)}
    assert place.endswith(".md") or len(names) > 500
    assert sorted(pair for pair in names if not resolves(pair[1])) == []


FORMER = {f"{module}.{name}".removeprefix("fallingcat.") for module, names in RENAMED.items() for name in names}
NAMED_ANYHOW = {"tests/test_documented_names.py", "tests/testing/test_additions.py"}  # the latter: an entry point


@pytest.mark.parametrize("place", ["tests", "examples", "benchmarks", "tools"])
def test_no_former_name_is_used(place):
    """Slow tests and benchmarks would find it after hours."""
    names = {(where, name) for where, text in texts(place, ".py") for name in dotted_names(text)}
    used = {(where, name) for where, name in names if any(f"{name}.".startswith(f"{old}.") for old in FORMER)}
    assert sorted(pair for pair in used if pair[0] not in NAMED_ANYHOW) == []


def test_wrong_and_former_names_are_found():
    names = dotted_names("`fc.model.Bodi`, {func}`fallingcat.gaits`; fc.State.stack, fallingcat/model, fallingcat.zarr")
    assert names == {"model.Bodi", "gaits", "State.stack"}
    assert [name for name in sorted(names) if not resolves(name)] == ["gaits", "model.Bodi"]
