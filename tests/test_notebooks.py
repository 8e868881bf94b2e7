"""The notebooks of examples/notebooks run in Jupyter, hold no outputs, and docs/notebooks.md is made of them."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fallingcat as fc

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


EXECUTE = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
print(nbformat.writes(notebook))
"""


def executed(notebook, folder):
    """The cells of a notebook with their outputs, as a Jupyter kernel makes them."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    shutil.copytree(ROOT / "examples", folder / "examples")
    command = [sys.executable, "-c", EXECUTE, notebook.name]  # a process of its own: kernels leave threads behind
    place = folder / "examples" / "notebooks"
    found = os.environ | {"PYTHONPATH": str(Path(fc.__file__).parents[1])}
    done = subprocess.run(command, cwd=place, env=found, capture_output=True, text=True, encoding="utf-8", check=False)
    assert not done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout)["cells"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_in_jupyter_and_its_outputs_are_short(notebook, tmp_path):
    outputs = [output for cell in executed(notebook, tmp_path) for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get("text/plain", output.get("text", "")) for output in outputs]
    assert len(texts) > 3
    assert max(len("".join(text)) for text in texts) <= 1000
    rich = [kind for output in outputs for kind in output.get("data", {}) if kind != "text/plain"]
    assert len(rich) >= 2
    pages = ["".join(output["data"].get("text/html", "")) for output in outputs if "data" in output]
    assert any("<iframe srcdoc=" in page for page in pages) == ("animate()" in notebook.read_text(encoding="utf-8"))


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
