"""The live view in a real browser: Chromium through Playwright; skipped where there is none."""

import itertools
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hostile_names import NAMES, SCRIPTS, urdf
from nasty_page import nasty_page

import fallingcat as fc
from fallingcat import studies
from fallingcat.learning import Policy, Walk
from fallingcat.learning.curve_page import curve_page
from fallingcat.planning import righting
from fallingcat.planning.gaits.survey import survey
from fallingcat.planning.gaits.survey_page import survey_page
from fallingcat.planning.righting.page import drop_page
from fallingcat.studies.reproduction import Reproduction, ReproductionResult
from fallingcat.studies.righting_atlas import STUDY, Atlas, AtlasRow
from fallingcat.studies.study import run_study
from fallingcat.studies.sweeps.sweep import Sweep
from fallingcat.viewer.posed_robot import PosedRobot
from fallingcat.visualization.svg import text as words

pytest.importorskip("viser")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WALK = Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz"
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
    viewer._on_slider(None)
    assert posed_robot.state.joints[0] == 0.5
    assert not np.allclose(posed_robot.state.pose, np.eye(4))
    viewer._floating_checkbox.value = False
    viewer._toggle_floating(None)
    before = posed_robot.state.pose
    slider.value = 0.0
    viewer._on_slider(None)
    np.testing.assert_array_equal(posed_robot.state.pose, before)
    viewer._serialize_action(lambda _: posed_robot.bend([np.nan, 0.0]))(None)
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


def renamed(model):
    """The same robot, all of whose names are hostile."""
    new = {name: f"{SCRIPTS[k % len(SCRIPTS)]}{k}" for k, name in enumerate(model.link_names)}
    links = [replace(link, name=new[link.name]) for link in model.links]
    frames = [replace(frame, link=new[frame.link], name=f"{new[frame.link]}_foot") for frame in model.frames]
    joints = [
        replace(joint, name=f"j{SCRIPTS[-1 - k % len(SCRIPTS)]}{k}", parent=new[joint.parent], child=new[joint.child])
        for k, joint in enumerate(model.joints)
    ]
    return replace(model, name=NAMES[0], links=tuple(links), joints=tuple(joints), frames=tuple(frames))


def hostile_study(name):
    """A study whose texts are hostile, and its outcome."""
    study = studies.load(name)
    rows = [
        row.model_copy(update={"name": f"{text} {k}", "unit": text})
        for k, (row, text) in enumerate(zip(study.table.row, itertools.cycle(SCRIPTS), strict=False))
    ]
    texts = {"title": SCRIPTS[0], "about": f"[Mishra] {SCRIPTS[1]}", "row": rows}
    quick = study.with_parameters(study.table.fast)
    return run_study(quick.model_copy(update={"table": study.table.model_copy(update=texts)}))


def hostile_pages(cat):
    """Pages of every kind with hostile names."""
    run = fc.simulate(cat, cat.state(rates=[1.0, 1.0]), 0.02, progress=False)
    posed = PosedRobot(cat)
    posed.frames += [(t, cat.neutral()) for t in (0.0, 0.1)]
    result = hostile_study("orbital-gait")
    broken = ReproductionResult(SCRIPTS[1], SCRIPTS[2], f"[Mishra] {SCRIPTS[3]}", error=SCRIPTS[1])
    good = ReproductionResult(SCRIPTS[4], SCRIPTS[5], f"[Feurstein] {SCRIPTS[6]}", rows=result.rows)
    fall = righting.drop(model=cat)
    task = Walk(renamed(fc.robots.quadruped()), posture=Walk(fc.robots.quadruped()).posture)
    policy = Policy.load(WALK)
    curve = [{"seconds": t, "actions": t, "reward": t} | {f"reward: {x}": t for x in SCRIPTS} for t in (1.0, 2.0)]
    numbers = dict.fromkeys(studies.load(STUDY).kind.measures, 1.0)
    rows = [AtlasRow(f"/{x}/{x}.urdf", numbers) for x in NAMES] + [AtlasRow(f"/{x}.urdf", {}, x) for x in NAMES]
    return {
        "policy": policy.page(task),
        "learning": curve_page(replace(policy, about={"robot": SCRIPTS[1], "task": SCRIPTS[7]}), curve),
        "atlas": Atlas(tuple(rows), Sweep(WALK, done=len(NAMES), failed=len(NAMES), total=len(rows))).page(),
        "played": fc.visualization.play(cat, [cat.neutral()] * 3),
        "animation": run.animate(),
        "plots": run.plot(),
        "gaits": survey_page(survey(cat, cat.joint_names, 0.5, best=False)),
        "report": studies.report(cat, states=1).page(),
        "by hand": posed.page(),
        "study": result.page(),
        "all studies": Reproduction((broken, good), 1.0).page(),
        "drop": drop_page(fall, cat, False),
    }


def notebook(model, cat):
    """What notebooks show of records with hostile names."""
    run = fc.simulate(model, model.neutral(), 1e-3, progress=False)
    shown = [
        model,
        run,
        fc.equations(cat, cat.neutral()).certify()._replace(formulation=SCRIPTS[1]),
        fc.symbolic.derive(replace(fc.robots.prismatic_hopper(), name=NAMES[0])),
    ]
    shown += [model.neutral(), fc.symbolic.derive(cat)]
    svgs = [block._repr_svg_() for block in nasty_page().blocks if hasattr(block, "_repr_svg_")]
    return [*(x._repr_html_() for x in shown), *svgs, *(f"<svg>{words(0.0, 0.0, name)}</svg>" for name in NAMES)]


@pytest.mark.slow  # tests/test_escaping.py looks at the same sinks without a browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.filterwarnings("ignore")
def test_names_with_markup_run_no_script(tmp_path):
    """Every sink that a browser shows: the live view and what it says, pages, and what notebooks show."""
    (tmp_path / "robot.urdf").write_text(urdf())
    model, cat = fc.load(tmp_path / "robot.urdf"), renamed(fc.robots.two_cylinder_cat())
    pages = hostile_pages(cat)
    texts = {name: page.html() for name, page in pages.items()}
    texts |= {f"{name} in a notebook": page._repr_html_() for name, page in pages.items()}
    texts["notebook"] = "".join(notebook(model, cat))
    (tmp_path / "one.urdf").write_text(urdf(SCRIPTS[:1]))  # a note of its own: two would be no markup
    viewer = fc.viewer.view(fc.load(tmp_path / "one.urdf"), port=18_110)
    try:
        with playwright.sync_playwright() as started:
            browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", LOUD])
            for name, text in texts.items():
                file = tmp_path / f"{name}.html"
                file.write_text(f"<!doctype html><meta charset=utf-8>{text}", encoding="utf-8")
                page = browser.new_page(viewport={"width": 900, "height": 1600})
                page.goto(file.as_uri())
                page.wait_for_timeout(300)
                for canvas in page.locator("canvas").all():  # labels under the pointer
                    canvas.hover(timeout=5_000)
                unharmed(page, file.as_uri(), frames=int(text.startswith("<iframe")))
                page.close()
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


def unharmed(page, url, frames=0):
    """Nothing of the names became an element or ran, in the page and in the frames that it has itself."""
    assert len(page.frames) == 1 + frames
    for frame in page.frames:
        assert frame.evaluate("() => window.hit") is None
        harmful = "img[src=x], [onload], [onerror], [onmouseover], a[href^='javascript']"
        assert frame.locator(harmful).count() == 0
    assert page.locator("iframe").count() == frames
    assert page.url.startswith(url)


def test_wrong_ports_are_refused():
    with pytest.raises(fc.ModelError, match="port is a whole number"):
        fc.viewer.view(fc.robots.two_cylinder_cat(), port=0)
