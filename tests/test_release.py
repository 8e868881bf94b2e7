"""What a release is checked for; `python tools/check_release.py` does it, which takes minutes and an index."""

import re
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_each_extra_is_tried_or_said_to_be_untried():
    tool = runpy.run_path(str(ROOT / "tools" / "check_release.py"))
    assert EXTRAS.keys() == tool["SMOKES"].keys() | tool["UNTRIED"].keys()
    for code in tool["SMOKES"].values():
        compile(code, "smoke", "exec")


def test_every_extra_that_a_message_names_exists():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"(?:ExtraMissingError|how_to_get)\(\s*[\"'](\w+)", sources))
    assert len(named) > 8
    assert named <= EXTRAS.keys()


def test_the_page_on_installing_lists_every_extra():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert not [extra for extra in EXTRAS if f"| `{extra}` |" not in page]
