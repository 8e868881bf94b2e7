"""The tables of coverage: nothing of the five documents is left out, and all that they name exists."""

import ast
import re
import runpy
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import fallingcat as fc
from fallingcat.studies import coverage_table as covered

ROOT = Path(__file__).parents[1]
MADE = runpy.run_path(str(ROOT / "docs" / "make_coverage.py"))
DOCUMENTS = covered.documents()
ROWS = [(name, row) for name in DOCUMENTS for row in covered.rows(name)]
EVERY_ROW = pytest.mark.parametrize(
    ("document", "row"), ROWS, ids=[f"{name}, {row.items[:40]}" for name, row in ROWS]
)  # fmt: skip


@cache
def functions_of(path):
    """Names of the functions of a file, those in classes as `Class::name`."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def exists(call):
    """Whether a name of the library, a command or an oracle is there."""
    if call.startswith("tests/"):
        path, _, function = call.partition("::")
        return function in functions_of(path)
    if call.startswith("study run "):
        return call.removeprefix("study run ") in fc.studies.names()
    if " " in call:
        return False
    thing = fc
    for part in call.split("."):
        thing = getattr(thing, part, None)
    return thing is not None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_is_left_out_and_nothing_stands_twice(document):
    there = Counter(item for row in covered.rows(document) for item in covered.items(row))
    assert there == Counter(DOCUMENTS[document])


@EVERY_ROW
def test_a_row_says_what_its_state_asks_for(document, row):
    assert row.about
    assert row.state in covered.STATES
    if row.state in ("works", "oracle"):
        assert row.calls
        assert row.tests
    else:
        assert not row.code and not row.tests  # noqa: PT018
    assert (row.state == "oracle") == any(call.startswith("tests/") for call in row.calls)


@cache
def checks_of(path):
    """Names of the tests of a file that can fail: those in which something is asserted, there or by a helper."""
    found = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in members:
            if isinstance(each, ast.FunctionDef) and each.name.startswith("test_") and _asserts(each):
                found.add(f"{node.name}::{each.name}" if isinstance(node, ast.ClassDef) else each.name)
    return found


def _asserts(function):
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    names = {ast.unparse(call).rpartition(".")[2] for call in calls}
    words = re.compile(r"agree|misprint|close|assert|check|raises|laws|same|equal|passes", re.IGNORECASE)
    held = any(words.search(name) for name in names)
    return held or any(isinstance(node, ast.Assert) for node in ast.walk(function))


def absent(row, checks=checks_of):
    """What a row names and is not there: functions, commands, and tests that can fail."""
    missing = [call for call in row.calls if not exists(call)]
    for test in covered.listed(row.tests):
        path, _, function = test.partition("::")
        collected = re.fullmatch(r"test_\w+\.py", Path(path).name)
        if not collected or not (ROOT / "tests" / path).exists() or function not in checks(f"tests/{path}"):
            missing.append(test)
    return missing


@EVERY_ROW
def test_what_a_row_names_exists(document, row):
    assert not absent(row)


@EVERY_ROW
def test_a_row_without_its_check_is_found(document, row):
    """Were one of its tests removed, or emptied, the test above would fail."""
    for test in covered.listed(row.tests):
        function = test.partition("::")[2]
        assert test in absent(row, lambda path, gone=function: checks_of(path) - {gone})


def test_ranges():
    assert covered.expanded("(2.9)-(2.11)") == ["(2.9)", "(2.10)", "(2.11)"]
    assert covered.expanded("Lemma 3.1-3.2") == ["Lemma 3.1", "Lemma 3.2"]
    assert covered.expanded("Proposition 3.3.1-3.3.2") == ["Proposition 3.3.1", "Proposition 3.3.2"]
    assert covered.expanded("EXP revolute IV-VI") == ["EXP revolute IV", "EXP revolute V", "EXP revolute VI"]
    assert covered.expanded("section 5 any Lie group") == ["section 5 any Lie group"]


def test_the_page_is_the_one_that_its_script_writes():
    assert MADE["PAGE"].read_text(encoding="utf-8") == MADE["page"]()


def test_names_that_are_not_there_are_found():
    assert not exists("mass_matrixx")
    assert not exists("study run nothing")
    assert not exists("tests/oracles/hamel.py::nothing")
