"""The live view in a real browser: Chromium through Playwright; skipped where there is none."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from hostile_names import NAMES, SCRIPTS, urdf

import fallingcat as fc
from fallingcat.visualization.svg import text as words

pytest.importorskip("viser")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LOUD = "--enable-unsafe-swiftshader"


@pytest.fixture
def viewer():
    started = fc.viewer.view(fc.robots.two_cylinder_cat(), port=18_080)
    yield started
    started.stop()


def test_it_listens_to_this_computer_only(viewer):
    assert viewer.url.startswith("http://127.0.0.1:")
    assert viewer.server.get_host() == "127.0.0.1"
    assert viewer.url in viewer._repr_html_()


def test_sliders_and_boxes_do_what_they_say(viewer, tmp_path):
    posed_robot = viewer.posed_robot
    _, slider = viewer._sliders[0]
    slider.value = 0.5
    viewer._bent(None)
    assert posed_robot.state.joints[0] == 0.5
    assert not np.allclose(posed_robot.state.pose, np.eye(4))
    viewer._free.value = False
    viewer._floating(None)
    before = posed_robot.state.pose
    slider.value = 0.0
    viewer._bent(None)
    np.testing.assert_array_equal(posed_robot.state.pose, before)
    viewer._guarded(lambda _: posed_robot.bend([np.nan, 0.0]))(None)
    assert "joints" in viewer._say.content
    assert viewer.save(tmp_path / "done.html").stat().st_size > 10_000
    viewer._reset(None)
    np.testing.assert_array_equal(posed_robot.state.pose, np.eye(4))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.filterwarnings("ignore")
def test_a_browser_shows_it_and_asks_nobody_else(viewer):
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", LOUD])
        page = browser.new_page(viewport={"width": 640, "height": 480})
        heard, asked = [], []
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(viewer.url)
        page.get_by_text("free float").wait_for(timeout=60_000)
        page.get_by_text("simulate").first.wait_for()
        for name in viewer.posed_robot.model.joint_names:
            page.get_by_text(name).first.wait_for()
        browser.close()
    assert heard == []
    own = (viewer.url, viewer.url.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []


@pytest.mark.slow  # tests/test_escaping.py looks at the same sinks without a browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.filterwarnings("ignore")
def test_names_with_markup_run_no_script(tmp_path):
    """Every sink that a browser shows: the live view and what it says, pages, and what notebooks show."""
    (tmp_path / "robot.urdf").write_text(urdf())
    model = fc.load(tmp_path / "robot.urdf")
    run = fc.simulate(model, model.neutral(), 1e-3, progress=False)
    parts = [run._repr_html_(), fc.symbolic.derive(replace(fc.robots.prismatic_hopper(), name=NAMES[0]))._repr_html_()]
    parts += [f"<svg>{words(0.0, 0.0, name)}</svg>" for name in NAMES]
    (tmp_path / "notebook.html").write_text("<!doctype html><meta charset=utf-8>" + "".join(parts))
    run.animate().write(tmp_path / "page.html")
    (tmp_path / "one.urdf").write_text(urdf(SCRIPTS[:1]))  # a note of its own: two would be no markup
    viewer = fc.viewer.view(fc.load(tmp_path / "one.urdf"), port=18_110)
    try:
        with playwright.sync_playwright() as started:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", LOUD])
            for name in ("notebook.html", "page.html"):
                page = browser.new_page()
                page.goto((tmp_path / name).as_uri())
                page.wait_for_timeout(300)
                unharmed(page, (tmp_path / name).as_uri())
            page = browser.new_page(viewport={"width": 640, "height": 480})
            page.goto(viewer.url)
            page.get_by_text("free float").wait_for(timeout=60_000)
            page.wait_for_timeout(500)
            unharmed(page, viewer.url)
            assert SCRIPTS[0] in page.inner_text("body")
            for text in SCRIPTS:
                viewer.say(text)
                page.get_by_text(text, exact=True).first.wait_for()
                unharmed(page, viewer.url)
            browser.close()
    finally:
        viewer.stop()


def unharmed(page, url):
    """Nothing of the names became an element or ran."""
    assert page.evaluate("() => window.hit") is None
    assert page.locator("iframe, img[src=x], [onload], [onerror], [onmouseover], a[href^='javascript']").count() == 0
    assert page.url.startswith(url)


def test_wrong_ports_are_refused():
    with pytest.raises(fc.ModelError, match="port is a whole number"):
        fc.viewer.view(fc.robots.two_cylinder_cat(), port=0)
