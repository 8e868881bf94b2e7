"""The tables of coverage: nothing of the reference documents is left out, and every item is evaluated by a test."""

import ast
import runpy
from collections import Counter
from functools import cache
from pathlib import Path

import evidence
import pytest
from evidence import cited

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
    """Names of the functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


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


def unproved(row, of=evidence.evidence):
    """What a row names and is not there; its items that none of its tests evaluates; tests that evaluate none."""
    found = {test: of(test) for test in covered.split_list(row.tests)}
    wanted = set(covered.items(row)) if row.state in ("works", "oracle") else set()
    return [
        *(call for call in row.calls if not exists(call)),
        *sorted(wanted - set().union(*found.values())),
        *(test for test, items in found.items() if not items & wanted),
    ]


@EVERY_ROW
def test_every_item_of_a_row_is_evaluated(document, row):
    assert not unproved(row)


@EVERY_ROW
def test_a_row_without_one_of_its_checks_is_found(document, row):
    """Were one of its tests removed, renamed or emptied, or an equation taken out, the test above would fail."""
    for test in covered.split_list(row.tests):
        assert test in unproved(row, lambda each, gone=test: set() if each == gone else evidence.evidence(each))
        for item in evidence.evidence(test) & set(covered.items(row)):
            assert item in unproved(row, lambda each, gone=item: evidence.evidence(each) - {gone})


def test_every_evaluated_equation_has_a_row():
    for name in DOCUMENTS:
        modules = sorted(path.name for path in (ROOT / "tests" / "documents").glob(f"test_{name}_*.py"))
        assert modules
        evaluated = [item for module in modules for item in evidence.evidence(f"documents/{module}::test_equations")]
        assert len(evaluated) == len(set(evaluated))
        claimed = {item for row in covered.rows(name) if row.tests for item in covered.items(row)}
        assert set(evaluated) <= claimed


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assert left == right", {"test_it"}),
        ("agree('law', left, right)", {"test_it"}),
        ("left == right", set()),
        ("print(left, right)", set()),
    ],
)
def test_a_check_that_asserts_nothing_is_none(body, found, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "TESTS", tmp_path)
    (tmp_path / "test_made.py").write_text(f'def test_it():\n    """(2.1)."""\n    {body}\n', encoding="utf-8")
    evidence.checks.cache_clear()
    try:
        assert set(evidence.checks("test_made.py")) == found
        assert evidence.evidence("test_made.py::test_it") == ({"(2.1)"} if found else set())
        assert evidence.evidence("test_made.py::test_renamed") == set()
    finally:
        evidence.checks.cache_clear()


def test_ranges():
    assert covered.expanded("(2.9)-(2.11)") == ["(2.9)", "(2.10)", "(2.11)"]
    assert covered.expanded("Lemma 3.1-3.2") == ["Lemma 3.1", "Lemma 3.2"]
    assert covered.expanded("Proposition 3.3.1-3.3.2") == ["Proposition 3.3.1", "Proposition 3.3.2"]
    assert covered.expanded("EXP revolute IV-VI") == ["EXP revolute IV", "EXP revolute V", "EXP revolute VI"]
    assert covered.expanded("section 5 any Lie group") == ["section 5 any Lie group"]


def test_citations():
    assert cited("(2.9)-(2.11), (3.4a): of Lemma 3.1") == {"(2.9)", "(2.10)", "(2.11)", "(3.4)", "Lemma 3.1"}
    assert cited("Figure 4.3-4.5 and EXP prismatic I-II") == {
        "Figure 4.3", "Figure 4.4", "Figure 4.5", "EXP prismatic I", "EXP prismatic II",
    }  # fmt: skip
    assert cited("Table I, Def. 4 on SE(3), of 2.5 and (x)") == {"Table I", "Def. 4"}


def test_the_page_is_the_one_that_its_script_writes():
    assert MADE["PAGE"].read_text(encoding="utf-8") == MADE["page"]()


def test_names_that_are_not_there_are_found():
    assert not exists("mass_matrixx")
    assert not exists("study run nothing")
    assert not exists("tests/oracles/hamel.py::nothing")
