"""Make docs/gallery.md and its pictures: the pages of examples/gallery, in Chromium.

`pip install playwright`, and a Chromium; then `python docs/make_gallery.py [NAME ...]`; `--text` takes no pictures.
"""

from __future__ import annotations

import ast
import runpy
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
PICTURES = ROOT / "docs" / "_static" / "gallery"
HALFWAY = """() => {
    const x = document.getElementById('timeline');
    if (x) { x.value = 0.45 * x.max; x.dispatchEvent(new Event('input')); }
}"""


def said(script: Path) -> tuple[str, str]:
    """The first line of a script's docstring, and the rest."""
    title, _, rest = (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").partition("\n")
    return title.rstrip("."), " ".join(rest.split())


def text() -> str:
    """docs/gallery.md"""
    parts = ["# Gallery", "", "Each picture is a page that a short script of `examples/gallery` writes.", ""]
    for script in SCRIPTS:
        (title, rest), name = said(script), script.stem
        heading, _, more = title.partition(": ")
        words = f"{more[:1].upper()}{more[1:]}{'' if more.endswith('?') else '.'} {rest}" if more else rest
        parts += [f"## {heading}", "", f"![{heading}](_static/gallery/{name}.jpg)", ""]
        parts += [textwrap.fill(words.strip(), 118, break_on_hyphens=False), ""]
        parts += [f"```{{literalinclude}} ../examples/gallery/{name}.py", ":language: python"]
        parts += [f":caption: python examples/gallery/{name}.py", "```", ""]
    return "\n".join(parts)


def take_pictures(names: list[str]) -> None:
    """Run the scripts, and photograph their pages."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for script in SCRIPTS:
            if names and script.stem not in names:
                continue
            made = runpy.run_path(str(script))["page"]().write(Path(folder) / f"{script.stem}.html")
            page = browser.new_page(viewport={"width": 1100, "height": 640}, color_scheme="dark")
            page.goto(made.as_uri())
            page.wait_for_timeout(1500)
            page.evaluate(HALFWAY)
            page.wait_for_timeout(1500)
            page.screenshot(path=str(PICTURES / f"{script.stem}.jpg"), type="jpeg", quality=72)
            page.close()


if __name__ == "__main__":
    if "--text" not in sys.argv:
        take_pictures(sys.argv[1:])
    (ROOT / "docs" / "gallery.md").write_text(text(), encoding="utf-8")
