"""Print docs/technical_report.md as a PDF: `pip install -e '.[docs,video]'`, then `python docs/make_report.py [FILE]`.

The page is the one that Sphinx builds; Chromium prints it, offline.  `python docs/make_report.py FILE FOLDER` takes the
documentation that is built in a folder already.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

from fallingcat.visualization.video import _browser

DOCS = Path(__file__).parent
HIDDEN = ".skip-to-content, .sidebar-drawer, .toc-drawer, .related-pages, .content-icon-container { display: none }"
"""What a reader on paper cannot use."""


def print_report(file: Path, built: Path | None = None) -> None:
    """Print the technical report of the documentation in a folder; without one, build it in a temporary one."""
    if built is None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), folder], check=True)
            print_report(file, Path(folder))
        return
    with sync_playwright() as play:
        browser = _browser(play.chromium, Error)
        page = browser.new_page()
        page.goto((built.resolve() / "technical_report.html").as_uri())
        page.wait_for_function("document.querySelectorAll('mjx-container').length > 20")
        page.add_style_tag(content=HIDDEN)
        margin = dict.fromkeys(("top", "bottom", "left", "right"), "18mm")
        page.pdf(path=str(file), format="A4", scale=0.8, margin=margin)
        browser.close()


if __name__ == "__main__":
    given = [Path(x) for x in sys.argv[1:3]] or [Path("technical_report.pdf")]
    print_report(*given)
