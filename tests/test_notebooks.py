"""The notebooks of examples/notebooks run, hold no outputs, and docs/notebooks.md is made of them."""

import json
import re
import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples" / "notebooks")  # as Jupyter does
    names = {"__name__": "__main__"}
    for k, cell in enumerate(json.loads(notebook.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {k}", "exec"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs_and_places(notebook):
    text = notebook.read_text(encoding="utf-8")
    data = json.loads(text)
    assert (data["nbformat"], data["metadata"]["kernelspec"]["name"]) == (4, "python3")
    code = [cell for cell in data["cells"] if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert len({cell["id"] for cell in data["cells"]}) == len(data["cells"])
    assert not re.search(r'["\s(](/|~|[A-Z]:)[\w/\\]', text)


def test_the_page_is_the_one_that_its_script_writes():
    text = runpy.run_path(str(ROOT / "docs" / "make_notebooks.py"))["text"]()
    assert (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8") == text
    assert len(NOTEBOOKS) >= 2
