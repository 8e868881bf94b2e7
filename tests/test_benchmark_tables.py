"""README's tables and pictures are those that the committed results give."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made():
    sys.path.insert(0, str(HERE / "benchmarks"))
    try:
        import all as everything

        yield everything
    finally:
        sys.path.remove(str(HERE / "benchmarks"))


def test_the_readme_says_what_was_measured(made):
    text = made.tables.README.read_text(encoding="utf-8")
    assert made.readme(text) == text, "run python benchmarks/all.py --tables"
    page = made.tables.PAGE.read_text(encoding="utf-8")
    assert made.page(page) == page, "run python benchmarks/all.py --tables"


def test_the_page_and_the_picture_are_those_of_the_results(made):
    assert made.feature_table.PAGE.read_text(encoding="utf-8") == made.feature_table.page()
    assert made.plots.PICTURE.read_text(encoding="utf-8") == made.plots.picture()


def test_every_library_has_an_answer_for_every_feature(made):
    columns = made.tables.load("features")
    assert set(columns) == set(made.feature_table.LIBRARIES)
    for column in columns.values():
        assert list(column["cells"]) == [feature.what for feature in made.feature_table.FEATURES]


def test_a_readme_without_its_marks_is_reported(made):
    with pytest.raises(ValueError, match="there is no"):
        made.readme("nothing")


def test_every_command_is_a_script(made):
    assert all((HERE / "benchmarks" / script).exists() for script, *_ in made.COMMANDS.values())


def test_the_audit_of_simulators_says_what_was_measured(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE / "benchmarks" / "audit"))
    import page

    text = page.PAGE.read_text(encoding="utf-8")
    assert page.page(text) == text, "run python benchmarks/audit/run.py --table"
    assert page.PICTURE.read_text(encoding="utf-8") == page.picture()
    for name, row in page.load().items():
        assert set(row["laws"]) == {law.name for law in page.LAWS}, name
