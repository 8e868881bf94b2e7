"""Pages of studies: what is on them, and that a browser shows it without complaint."""

import json
import re
import shutil

import pytest

from fallingcat.studies import run
from fallingcat.studies.hoppers.panels import chart_samples

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def gait():
    return run("revolute-6", duration=4.0)


def blocks(page):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html(), re.DOTALL)
    return json.loads(data[1])["blocks"]


def test_a_gait_has_animation_table_panels_strip_and_zoom(gait):
    """Figure 4.13-4.17: the whole run, a zoom, and the strip of one cycle."""
    found = blocks(gait.page())
    kinds = [block["kind"] for block in found]
    assert kinds[:4] == ["scene", "chart", "chart", "table"]
    assert kinds.count("scene") == 2  # the motion and the strip of Figure 4.17
    titles = [block["title"] for block in found if block["kind"] == "chart"]
    for title in ("Linear momentum", "Angular momentum", "Energies", "Work", "Force of the floor", "Spring extension"):
        assert titles.count(title) == 2  # the whole run and the zoom
    assert all(line["y"] for block in found if block["kind"] == "chart" for line in block["lines"])
    assert [row[0] for row in found[3]["rows"]] == [row.name for row in gait.rows]
    assert [row[-2] for row in found[3]["rows"]] == [row.verdict for row in gait.rows]  # in color: before the prose
    assert found[3]["good"] == [row.holds for row in gait.rows]


@pytest.mark.parametrize("name", [*(f"prismatic-{i}" for i in (1, 2, 3)), *(f"revolute-{i}" for i in range(1, 6))])
def test_experiments_have_the_panels_of_their_figure(name):
    """Figure 4.3-4.5, Figure 4.8-4.12: way, momenta, energies, radial and polar quantities of the run."""
    shorter = {"basin_hops": 0} if name == "revolute-5" else {}
    result = run(name, duration=0.3, **shorter)
    found = blocks(result.page())
    assert any(
        block.get("title") == f"The panels of [Feurstein] Figure {result.study.table.figures}" for block in found
    )
    charts = {block["title"]: block for block in found if block["kind"] == "chart"}
    for title in (
        "Way of the center of mass",
        "Angular momentum",
        "Energies",
        "Spring extension",
        "Angle of the virtual leg",
    ):
        assert all(len(line["y"]) == len(charts[title]["x"]) > 10 for line in charts[title]["lines"])


def test_charts_keep_the_peaks_of_the_floor(gait):
    whole = next(b for b in blocks(gait.page()) if b.get("title") == "Force of the floor")
    vertical = next(line for line in whole["lines"] if line["name"] == "vertical")
    peak = max(forces[1] for forces in _floor(gait))
    assert max(vertical["y"]) == pytest.approx(peak, rel=1e-4)
    assert len(whole["x"]) <= 1600


def _floor(result):
    seen = result.observed
    p, keep = result.parameters, range(len(result.trajectory))
    touching = [bool(t) for t in result.trajectory.touching]
    push = [-p.K_floor_y * seen["foot_y"][i] - p.D_floor_y * seen["foot_vy"][i] for i in keep]
    return [(0.0, max(0.0, f) if on else 0.0) for f, on in zip(push, touching, strict=True)]


def test_samples_are_chosen_in_order(gait):
    seen = gait.observed
    keep = chart_samples(seen.times, seen["foot_vy"], 10, len(seen.times) - 5)
    assert keep[0] == 10
    assert keep[-1] == len(seen.times) - 5
    assert (keep[1:] > keep[:-1]).all()
    assert {seen["foot_vy"][keep].min(), seen["foot_vy"][keep].max()} == {
        seen["foot_vy"][10:-4].min(),
        seen["foot_vy"][10:-4].max(),
    }
    whole, near = [b for b in blocks(gait.page()) if b.get("title") == "Energies"]
    assert near["x"][-1] - near["x"][0] == pytest.approx(3 * gait.row("hop period").ours, rel=0.02)
    assert whole["x"][0] == 0.0


def test_a_fall_has_no_strip():
    found = blocks(run("revolute-1", duration=0.7).page())
    assert [block["kind"] for block in found].count("scene") == 1
    assert not any(block["title"] == "Zoom" for block in found if block["kind"] == "text")


def test_a_scan_shows_its_curve():
    found = blocks(run("revolute-scan", points=3, duration=0.7).page())
    assert found[0]["xLabel"] == "initial knee angle q1 (degrees)"
    assert found[0]["moves"] is False


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 390])
def test_a_browser_shows_it(gait, tmp_path, width):
    playwright = pytest.importorskip("playwright.sync_api")
    paths = [gait.page().write(tmp_path / "gait.html")]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for path in paths:
            page = browser.new_page(viewport={"width": width, "height": 800})
            heard = []
            page.on("console", lambda message, heard=heard: heard.append(message.text))
            page.on("pageerror", lambda error, heard=heard: heard.append(str(error)))
            page.goto(path.as_uri())
            page.wait_for_timeout(300)
            pictures = [page.evaluate("document.querySelector('.strip canvas').toDataURL()") for _ in range(2)]
            page.wait_for_timeout(300)
            pictures.append(page.evaluate("document.querySelector('.strip canvas').toDataURL()"))
            assert len(set(pictures)) > 1  # it moves
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert [text for text in heard if "GL Driver" not in text] == []  # which minds that we look at pixels
        browser.close()
