"""The page of errata and its tests are one list: no entry without a test or a reason, no test without an entry."""

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "theory" / "errata.md"
MODULES = {path.stem.removeprefix("test_"): path for path in HERE.glob("test_*.py") if path != Path(__file__)}
COLUMNS = ["where", "printed", "right", "how it is known", "test"]


def entries():
    """Rows of the tables, by document: `{"feurstein": [[where, printed, right, how, test], ...], ...}`."""
    found, key = {}, None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## (?:\[(\w+)\])?", line):
            key = heading[1] and heading[1].lower()
        elif line.startswith("|") and key and not set(line) <= set("|-"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if cells != COLUMNS:
                found.setdefault(key, []).append(cells)
    return found


def proofs_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_every_document_has_a_section():
    assert set(entries()) == set(MODULES) == {"feurstein", "mishra", "eth", "from", "traversaro"}


@pytest.mark.parametrize("document", MODULES)
def test_entries_and_tests_are_the_same_list(document):
    named = []
    for row in entries()[document]:
        assert len(row) == len(COLUMNS), row
        where, _, right, how, test = row
        assert where, row
        assert right, row
        if test.startswith("`"):
            assert how, row
            named.append(test.strip("`"))
        else:
            assert re.fullmatch(r"not testable: .+", test), row
    assert len(named) == len(set(named))
    assert set(named) == proofs_of(MODULES[document])


def test_the_page_of_what_is_verified_counts_them():
    rows = [row for table in entries().values() for row in table]
    tested = sum(row[-1].startswith("`") for row in rows)
    page = (HERE.parents[1] / "docs" / "explanation" / "verification.md").read_text(encoding="utf-8")
    assert f"{len(rows)} errata of these documents, {tested} of them by tests" in " ".join(page.split())
