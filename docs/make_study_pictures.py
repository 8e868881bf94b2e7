"""Take the pictures of docs/hopper*.md from the pages of the studies, in Chromium.

`pip install playwright`, and a Chromium; then `python docs/make_study_pictures.py`.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import fallingcat as fc
from fallingcat.studies.hoppers.slices import slices_svg

FOLDER = Path(__file__).parent / "_static"
STOP = "(t) => { const x = document.getElementById('timeline'); x.value = t; x.dispatchEvent(new Event('input')); }"
WAY, LEAN, SPIN, SPRING = (
    "Way of the center of mass",
    "Angle of the virtual leg",
    "Angular momentum",
    "Spring extension",
)
# picture: study, changed parameters, titles of the charts, and whether they are those of the whole run (0) or zoom (1)
CHARTS: dict[str, tuple[str, dict[str, Any], list[str], int]] = {
    "study_prismatic_2": ("prismatic-2", {}, ["Height", "Energies", "Force of the floor"], 0),
    "study_revolute_1": ("revolute-1", {}, ["Height", LEAN, SPIN], 0),
    "study_revolute_3": ("revolute-3", {}, ["Height", SPIN, SPRING], 0),
    "study_revolute_4": ("revolute-4", {}, [WAY, LEAN, SPIN], 0),
    "study_revolute_5": ("revolute-5", {"basin_hops": 0}, [WAY, LEAN, "Energies"], 0),
    "study_revolute_6": (
        "revolute-6",
        {},
        ["Linear momentum", SPIN, SPRING, "Force of the floor", "Energies", LEAN],
        1,
    ),
    "study_revolute_6_works": ("revolute-6", {}, ["Work", "Work of each law", "Work of the floor"], 0),
    "study_locked": ("revolute-locked", {}, ["Height", LEAN, "Energies"], 0),
    "study_scan": ("revolute-scan", {}, ["Angular momentum after the first lift-off"], 0),
}
BESIDE = ".scene + .chart, .scene + .chart + .chart"
HIDE = """([titles, which, beside]) => {
    const seen = {};
    for (const block of document.querySelectorAll('#blocks > *')) {
        const heading = block.querySelector('h2');
        const title = heading ? heading.textContent.replace(/ \\(.*\\)$/, '') : '';
        const panel = block.classList.contains('chart') && titles.includes(title) && !block.matches(beside);
        if (panel) seen[title] = (seen[title] || 0) + 1;
        if (!panel || seen[title] !== which + 1) { block.style.display = 'none'; continue; }
        block.style.order = titles.indexOf(title);
        if (titles.length > 1) block.style.gridColumn = 'span 4';
    }
    for (const id of ['facts', 'controls']) document.getElementById(id).style.display = 'none';
    document.querySelector('header').style.display = 'none';
    window.dispatchEvent(new Event('resize'));
}"""


def pages(folder: Path) -> dict[str, Path]:
    """The page of every study that is shown."""
    out = {}
    for study, changes, _, _ in CHARTS.values():
        if study not in out:
            out[study] = fc.studies.run(study, **changes).page().write(folder / f"{study}.html")
    return out


def charts(page: Any, titles: list[str], which: int, path: Path) -> None:
    """A picture of some charts alone: everything else is hidden."""
    page.evaluate(HIDE, [titles, which, BESIDE])
    page.wait_for_timeout(200)
    page.locator("#blocks").screenshot(path=path)


def basin(path: Path) -> None:
    """Slices of the basin of the forward gait."""
    found = fc.studies.run("revolute-basin", leans=56, heights=3, joints=3, speeds=45)
    path.write_text(slices_svg(found.observed.curves))


def main() -> None:
    basin(FOLDER / "basin.svg")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        files = pages(Path(name))
        for picture, (study, _, titles, which) in CHARTS.items():
            page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="dark")
            page.goto(files[study].as_uri())
            page.evaluate(STOP, 0.0)
            charts(page, titles, which, FOLDER / f"{picture}.png")
            page.close()
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="dark")
        page.goto(files["revolute-6"].as_uri())
        page.evaluate(STOP, 10.08)
        page.wait_for_timeout(200)
        page.locator(".strip").screenshot(path=FOLDER / "study_strip.png")
        page.close()
        browser.close()


if __name__ == "__main__":
    main()
