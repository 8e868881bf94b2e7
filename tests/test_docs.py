"""The examples of README.md and of the pages under docs/ say what really happens."""

import doctest
import re
import runpy
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from support.registries import restored

from fallingcat.studies import kind as study_kinds

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GENERATED = {ROOT / "docs" / "_build", ROOT / "docs" / "api"}
OPENING = re.compile(r"\s*(`{3,}|~{3,})(python|pycon|\{doctest\})\s*$")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def only_code(markdown: str) -> str:
    """`markdown` with every line outside of a Python block left blank, so that line numbers stay right."""
    kept, closing = [], None
    for line in markdown.splitlines():
        if closing is None:
            opening = OPENING.match(line)
            closing = opening[1] if opening else None
            kept.append("")
        elif line.strip() == closing:
            closing = None
            kept.append("")
        else:
            kept.append(line)
    return "\n".join(kept) + "\n"


def report_of(markdown: str, name: str) -> tuple[doctest.TestResults, str]:
    test = doctest.DocTestParser().get_doctest(only_code(markdown), {}, name, name, 0)
    report: list[str] = []
    return doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append), "".join(report)


@pytest.fixture
def own_kinds():
    """Kinds of studies and parts that a page makes known are forgotten after it; who imports an example makes its kind
    known again.
    """
    kinds, examples = study_kinds._KINDS, {path.stem for path in (ROOT / "examples" / "extending").glob("*.py")}
    before = set(kinds)
    with restored():
        yield
    for name in kinds.keys() - before:
        if (module := type(kinds.pop(name)).__module__) in examples:
            del sys.modules[module]


@pytest.mark.usefixtures("own_kinds")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not GENERATED & set(page.parents)],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_examples_of_the_page(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    if "examples" in text:
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)  # an example may write files
    results, report = report_of(text, page.name)
    assert results.failed == 0, report


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "theory").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_theory_begins_with_when_it_is_used(page):
    assert "*When would I use this?*" in "".join(page.read_text(encoding="utf-8").splitlines()[:6])


def test_the_changelog_has_no_links_of_its_own_folder():
    """It is a page of the documentation too, where paths begin in another folder."""
    links = re.findall(r"\]\(([^)]*)\)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_changelog_has_one_line_for_an_entry():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()[4:]
    assert not [line for line in lines if line and not re.match(r"- \S|\*\*|#", line)]
    assert max(map(len, lines)) <= 300
    headings = [line for line in lines[lines.index("### Added") :] if line.startswith("**")]
    assert len(headings) == len(set(headings)) > 10


def test_lines_of_pages_are_short():
    """Tables, captions of pictures and pages of formulas that SymPy writes are left out."""
    pages = [page for page in PAGES[1:] if page.stem not in ("from_tables", "mishra_table")]
    long = [
        (page.relative_to(ROOT).as_posix(), number)
        for page in pages
        if not GENERATED & set(page.parents)
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120 and not line.startswith(("|", ":alt:"))
    ]
    assert not long


def test_a_wrong_example_is_found():
    page = "# Page\n\n```python\n>>> 1 + 1\n2\n```\ntext\n```python\n>>> 1 + 2\n4\n```\n```text\n>>> 1 / 0\n```\n"
    results, report = report_of(page, "page")
    assert (results.attempted, results.failed) == (2, 1)
    assert "line 9" in report


def test_files_that_pages_name_exist():
    named = {
        (page.relative_to(ROOT).as_posix(), name)
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        if not GENERATED & set(page.parents)
        for name in re.findall(r"`([\w./]+/[\w.]+\.(?:py|md|toml|svg|json))`", page.read_text(encoding="utf-8"))
        if "NAME" not in name
    }
    places = ROOT, ROOT / "src/fallingcat", ROOT / "tests"
    assert len(named) > 50
    assert not sorted((page, name) for page, name in named if not any((at / name).exists() for at in places))


def test_the_picture_of_the_architecture_is_the_one_that_its_script_draws():
    drawn = runpy.run_path(str(ROOT / "docs" / "make_architecture.py"))["picture"]()
    assert (ROOT / "docs" / "_static" / "architecture.svg").read_text(encoding="utf-8") == drawn


def layers(package):
    """Layers of the import contract of a package, without brackets, each a set of modules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    found = next(c["layers"] for c in contracts if c.get("containers") == [package])
    return [set(re.findall(r"\w+", layer)) for layer in found]


@pytest.mark.parametrize(("heading", "package", "up"), [("Packages", "fallingcat", True), ("Rooms", "", False)])
def test_the_page_of_the_architecture_has_the_order_of_the_import_contracts(heading, package, up):
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split(f"\n## {heading}")[1].split("\n## ")[0]
    rows = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in text.splitlines() if line.startswith("| `")]
    order = layers(package or "fallingcat.simulation")[:: -1 if up else 1]
    places = [{k for k, layer in enumerate(order) for name in row if name in layer} for row in rows]
    assert all(places)
    assert [min(at) for at in places] == sorted(min(at) for at in places)
    named, known = {name for row in rows for name in row}, set().union(*order)
    packages = {path.name for path in (ROOT / "src" / "fallingcat").iterdir() if (path / "__init__.py").exists()}
    assert named <= known
    assert (packages if up else known) <= named


def test_readme_is_short():
    """120 lines of 120 characters."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 120
