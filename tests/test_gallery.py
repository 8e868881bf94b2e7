"""Every script of the gallery writes a page, and docs/gallery.md shows all of them."""

import runpy
from pathlib import Path

import pytest

from fallingcat.visualization import Page

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
QUICK = {"cat_maps", "frames_of_mass", "optimal_turn", "satellite_turns"}


@pytest.mark.parametrize(
    "script",
    [pytest.param(s, marks=() if s.stem in QUICK else pytest.mark.slow) for s in SCRIPTS],
    ids=lambda script: script.stem,
)
def test_it_makes_a_page(script, tmp_path):
    made = runpy.run_path(str(script))["page"]()
    assert isinstance(made, Page)
    assert made.write(tmp_path / "page.html").stat().st_size > 10_000


def test_the_gallery_is_the_one_that_its_script_writes():
    text = runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))["text"]()
    assert (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8") == text
    assert len(SCRIPTS) >= 10
    for script in SCRIPTS:
        assert (ROOT / "docs" / "_static" / "gallery" / f"{script.stem}.jpg").exists()
