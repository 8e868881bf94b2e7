"""``fallingcat reproduce``: every study that there is, on one page."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import current_process
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fallingcat.studies as fs
from fallingcat.cli import app
from fallingcat.errors import FallingCatError
from fallingcat.studies import reproduction
from fallingcat.studies.reproduction import _selected_studies, reproduce_study
from fallingcat.visualization import Scene


def test_all_studies_are_found_by_themselves_and_by_document():
    assert _selected_studies(()) == list(fs.names())
    assert "orbital-gait" in _selected_studies(["[Mishra]"])
    assert _selected_studies(["prismatic-2", "orbital-gait"]) == ["orbital-gait", "prismatic-2"]
    with pytest.raises(FallingCatError, match="do you mean 'prismatic-2'"):
        _selected_studies(["prismatic-22"])
    with pytest.raises(FallingCatError, match="only is a list"):
        fs.reproduce("orbital-gait")


def test_the_command(tmp_path):
    """Rows and exit code are those of the studies; the page has all of them, and nothing that moves."""
    words = ["reproduce", "--only", "prismatic-2", "--only", "orbital-gait", "--workers", "1", "--json"]
    result = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [study["study"] for study in found] == ["orbital-gait", "prismatic-2"]
    expected = fs.run("prismatic-2")
    assert [row["holds"] for row in found[1]["rows"]] == [row.holds for row in expected.rows]
    assert all({"name", "published", "ours", "holds"} <= set(row) for row in found[1]["rows"])
    page = (tmp_path / "page.html").read_text()
    assert expected.study.table.title in page
    assert '"kind":"scene"' not in page


def test_a_study_that_breaks_is_reported_and_one_that_differs_is_not_passed(monkeypatch):
    kind = fs.kind_of("orbital-gait")

    def broken(self, parameters, tell):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(type(kind), "run", broken)
    found = fs.reproduce(["orbital-gait", "revolute-scan"], fast=True)
    lost, differs = found.studies
    assert lost.error == "RuntimeError: out of luck"
    assert not lost.holds
    assert any(row.verdict == "differs" for row in differs.rows)
    assert not differs.holds
    assert not found.holds
    page = found.page()
    assert page.blocks[0].good == [False, False]
    assert "did not run: RuntimeError" in page.blocks[0].rows[0][-1]
    assert not any(isinstance(block, Scene) for block in page.blocks)


def test_fast_leaves_the_published_experiment():
    """What is published is judged as before: only what says how much is computed may differ."""
    fast = reproduce_study("revolute-5", fast=True)
    assert {row.verdict for row in fast.rows if row.published is not None} == {"agrees", "differs"}
    text = "title = 'a'\nkind = 'orbital-gait'\n[parameters]\n[fast]\nradius = 0.1\n"
    with pytest.raises(FallingCatError, match=r"fast: with another 'radius' it is another experiment"):
        fs.parse(text, "a", "a.toml")


def test_classes_are_counted_apart():
    """Numbers, statements and identities: what a row is decides where it counts, and nothing counts twice."""
    found = fs.reproduce(["prismatic-2", "prismatic-3", "traversaro-identities"])
    counts, rows = found.counts, [row for study in found.studies for row in study.rows]
    assert {c: (n.agreeing, n.comparable) for c, n in counts.items()} == {
        "printed number": (3, 3), "printed statement": (3, 4), "identity": (15, 15),
    }  # fmt: skip
    assert sum(n.comparable + n.incomparable for n in counts.values()) == sum(r.category != "measured" for r in rows)
    facts = {fact.label: fact.value for fact in found.page().facts}
    assert facts["printed numbers"] == "3 of 3"
    assert facts["printed statements"] == "3 of 4"
    assert facts["identities"] == "15 of 15"


@pytest.mark.slow
def test_counts_of_the_readme_are_those_of_a_run():
    found = fs.reproduce(workers=2).counts
    numbers, statements, identities = (found[name] for name in ("printed number", "printed statement", "identity"))
    said = f"{numbers} printed numbers, {statements} printed statements and {identities} identities"
    assert said in " ".join((Path(__file__).parents[2] / "README.md").read_text().split())


def test_workers_that_import_an_unguarded_script_end_in_silence(monkeypatch):
    monkeypatch.setattr(current_process(), "_inheriting", True, raising=False)
    with pytest.raises(SystemExit):
        fs.reproduce(STUDIES, workers=2)


def test_a_worker_that_dies_names_the_guard(monkeypatch):
    def broken(*_, **__):
        raise BrokenProcessPool("A process in the process pool was terminated abruptly")

    monkeypatch.setattr(reproduction, "ProcessPoolExecutor", broken)
    with pytest.raises(FallingCatError, match='call this under `if __name__ == "__main__":`') as caught:
        fs.reproduce(STUDIES, workers=2)
    assert str(caught.value).isprintable()


STUDIES = ["orbital-gait", "prismatic-2"]
SCRIPTS = {
    "library": f"from fallingcat.studies import reproduce\nreproduce({STUDIES}, fast=True, workers=2)",
    "command": "import sys\nfrom fallingcat.cli import main\n"
    f"sys.argv[1:] = 'reproduce --only {' --only '.join(STUDIES)} --fast --workers 2'.split()\nmain()",
}


@pytest.mark.slow
@pytest.mark.parametrize("which", SCRIPTS)
def test_an_unguarded_script(which, tmp_path):
    """The command said "unexpected RuntimeError ...: this is a bug", once a worker."""
    (tmp_path / "script.py").write_text(SCRIPTS[which], encoding="utf-8")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode
    assert "bug" not in done.stderr
    assert done.stderr.count("__main__") == 1
    assert 'call this under `if __name__ == "__main__":`' in done.stderr.splitlines()[-1]
