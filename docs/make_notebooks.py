"""Make docs/notebooks.md of the notebooks in examples/notebooks: `python docs/make_notebooks.py`."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
HEAD = """# Notebooks

The notebooks of `examples/notebooks`, without outputs. A test runs every cell. To run them yourself: `pip install
notebook`, then `jupyter notebook examples/notebooks`.
"""


def text() -> str:
    """The page: text a level below the title of the page, and code."""
    parts = [HEAD]
    for notebook in NOTEBOOKS:
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"]).strip()
            if cell["cell_type"] == "code":
                parts.append(f"```python\n{source}\n```\n")
            else:
                words = re.sub(r"^#", "##", source, flags=re.MULTILINE)
                parts.append(
                    "\n".join(textwrap.fill(line, 118, break_on_hyphens=False) for line in words.split("\n")) + "\n"
                )
    return "\n".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "notebooks.md").write_text(text(), encoding="utf-8")
