"""Pages in a real browser: Chromium through Playwright; skipped where there is none."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nasty_page import NASTY, nasty_page
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.simulation import Ledger

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
JUMP = "() => { const x = document.getElementById('timeline'); x.value = 0.3; x.dispatchEvent(new Event('input')); }"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Opens a file and gives the page and everything that it complained about or asked for."""
    pages = []

    def open_(path):
        page = browser.new_page(viewport={"width": 1280, "height": 860}, color_scheme="dark")
        heard = []
        page.on("console", lambda message: heard.append(message.text) if "GL Driver" not in message.text else None)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
        page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_timeout(200)
        pages.append(page)
        return page, heard

    yield open_
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def drop_file(tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "drop.html"
    result = CliRunner().invoke(app, ["drop", "--json", "--out", str(target)])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["page"] == str(target)
    return target


def pixels(page, selector):
    return page.evaluate("(s) => document.querySelector(s).toDataURL()", selector)


def test_drop_page_plays(opened, drop_file):
    page, heard = opened(drop_file)
    before, t = pixels(page, ".scene canvas"), page.evaluate("window.fallingcat.t")
    page.wait_for_timeout(400)
    assert page.evaluate("window.fallingcat.t") > t
    assert pixels(page, ".scene canvas") != before
    assert page.locator(".chart canvas").count() == 6
    assert page.locator(".map canvas").count() == 1
    assert "180" in page.locator(".fact").first.inner_text()
    assert heard == []


def test_time_line_pause_and_camera(opened, drop_file):
    page, heard = opened(drop_file)
    page.click("#play")
    page.evaluate(JUMP)
    still = pixels(page, ".scene canvas")
    page.wait_for_timeout(250)
    assert page.inner_text("#clock") == "0.300 s"
    assert pixels(page, ".scene canvas") == still
    box = page.locator(".scene canvas").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 180, box["y"] + 230)
    page.mouse.up()
    assert pixels(page, ".scene canvas") != still
    page.click("#play")
    page.wait_for_timeout(250)
    assert page.evaluate("window.fallingcat.t") > 0.3
    assert heard == []


def test_nasty_names_are_text(opened, tmp_path):
    page, heard = opened(nasty_page().write(tmp_path / "nasty.html"))
    assert page.inner_text("#title").split() == NASTY.split()
    assert page.locator("img").count() == 0
    assert heard == []


def test_gait_page_has_maps_and_a_table(opened, tmp_path):
    robot, target = tmp_path / "two.toml", tmp_path / "gait.html"
    fc.save(fc.robots.two_cylinder_cat(), robot)
    arguments = ["gait", str(robot), "--joints", "spine_z", "spine_y", "--plot", "--no-open", "--no-optimize"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(target)])
    assert result.exit_code == 0, result.output
    page, heard = opened(target)
    assert page.locator(".map canvas").count() == 3
    assert page.locator(".scene canvas").count() == 1
    before = pixels(page, ".scene canvas")
    page.wait_for_timeout(300)
    assert pixels(page, ".scene canvas") != before  # the robot moves
    assert page.locator("td").count() == 6 * 9
    assert "zero curvature" in page.locator(".map").nth(1).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert heard == []


def test_pictures_of_the_orbital_gait_are_shown(opened, tmp_path):
    page, heard = opened(fc.studies.run("orbital-gait").page().write(tmp_path / "orbital.html"))
    sizes = page.evaluate("Array.from(document.images, (x) => [x.complete, x.naturalWidth])")
    assert sizes == [[True, 1110], [True, 740]]
    assert [text for text in heard if not text.startswith("data:image/svg+xml")] == []


@pytest.mark.parametrize("count", [60_001, pytest.param(1_000_001, marks=pytest.mark.slow)])
def test_pages_of_long_runs_open(opened, tmp_path, count):
    """A long run with a peak of one sample: the page has a bounded size, the lines are drawn and the peak is seen."""
    run = long_run(count)
    target = run.animate("joints", "rates").write(tmp_path / "long.html")
    assert target.stat().st_size < 1_500_000
    page, heard = opened(target)
    assert heard == []
    assert page.locator(".scene canvas").count() == 1
    assert page.locator(".chart canvas").count() == 2
    colors = page.evaluate(
        """() => Array.from(document.querySelectorAll(".chart canvas"), (canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const lit = [];
          for (let y = 0; y < canvas.height; y++)
            for (let x = 0; x < canvas.width; x++)
              if (data[4 * (y * canvas.width + x)] > 200 && data[4 * (y * canvas.width + x) + 2] < 120)
                lit.push(y / canvas.height);
          return [lit.length, lit[0]];
        })"""
    )
    assert all(lit > 300 for lit, _ in colors)
    assert colors[1][1] < 0.1  # the peak of the rates reaches the top


def long_run(count):
    """Made by hand: ``count`` samples of two joints that swing, one of which is hit once."""
    cat = fc.robots.two_cylinder_cat()
    one = fc.simulate(cat, cat.neutral(), 0.0)
    t = np.linspace(0.0, 60.0, count)
    joints = np.stack([np.sin(t), 0.3 * np.cos(3.0 * t)], axis=1)
    rates = np.stack([np.cos(t), -0.9 * np.sin(3.0 * t)], axis=1)
    rates[count // 3, 0] = 50.0
    return replace(
        one,
        times=t,
        joints=joints,
        rates=rates,
        poses=np.tile(np.eye(4), (count, 1, 1)),
        twists=np.zeros((count, 6)),
        memory=np.zeros((count, 0)),
        modes=((),) * count,
        ledger=Ledger((), np.zeros((count, 0)), np.zeros((count, 0))),
    )


def swinging(links, times=(0.0, 1.0)):
    """A run, made by hand, of a robot of one link that moves from -2 to 2 m along y and turns."""
    model = fc.Model("shown", fc.lie.SE3(), links)
    one = fc.simulate(model, model.neutral(), 0.0)
    t = np.linspace(*times, 30)
    poses = np.tile(np.eye(4), (30, 1, 1))
    poses[:, 1, 3] = np.linspace(-2.0, 2.0, 30)
    poses[:, 2, 3] = 1.0
    still = {"joints": np.zeros((30, 0)), "rates": np.zeros((30, 0)), "memory": np.zeros((30, 0)), "modes": ((),) * 30}
    ledger = Ledger((), np.zeros((30, 0)), np.zeros((30, 0)))
    return replace(one, times=t, poses=poses, twists=np.zeros((30, 6)), ledger=ledger, **still)


LIT = """(t) => {
  const x = document.getElementById("timeline"); x.value = t; x.dispatchEvent(new Event("input"));
  const canvas = document.querySelector(".scene canvas"), copy = document.createElement("canvas");
  copy.width = canvas.width; copy.height = canvas.height;
  const c = copy.getContext("2d");
  c.drawImage(canvas, 0, 0);
  const { data } = c.getImageData(0, 0, copy.width, copy.height);
  let count = 0, low = [1, 1], high = [0, 0];
  for (let y = 0; y < copy.height; y++) for (let x = 0; x < copy.width; x++) {
    const at = 4 * (y * copy.width + x);
    if (data[at] < 90 || data[at + 2] > 0.7 * data[at]) continue;
    count++;
    low = [Math.min(low[0], x / copy.width), Math.min(low[1], y / copy.height)];
    high = [Math.max(high[0], x / copy.width), Math.max(high[1], y / copy.height)];
  }
  return { count, low, high };
}"""


def test_the_whole_robot_is_in_the_picture_over_the_whole_run(opened, tmp_path):
    """What is orange, a long rod, is never cut off, and nearly fills the picture at one of the ends."""
    rod = fc.model.shapes.Capsule(0.05, 1.0, color=(1.0, 0.4, 0.0, 1.0))
    body = fc.Body(1.0, np.zeros(3), np.eye(3))
    page, heard = opened(swinging((fc.Link("rod", body, (rod,)),)).animate("energies").write(tmp_path / "rod.html"))
    page.click("text=center of mass")
    seen = [page.evaluate(LIT, t) for t in (0.0, 0.5, 1.0)]
    assert all(one["count"] > 100 for one in seen)
    low, high = np.min([one["low"] for one in seen], axis=0), np.max([one["high"] for one in seen], axis=0)
    assert (low > 0.01).all()
    assert (high < 0.99).all()
    assert max(high - low) > 0.8
    assert heard == []


def test_meshes_are_drawn_and_what_is_missing_is_said(opened, tmp_path):
    corners = np.array([[0, 0, 0], [0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]])
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "o one\nf 1 3 2\nf 1 2 4\no two\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "a.obj").write_text(text)
    orange = (1.0, 0.4, 0.0, 1.0)
    shapes = [fc.model.shapes.Mesh(name, str(tmp_path), color=orange) for name in ("a.obj", "lost.stl")]
    link = fc.Link("rod", fc.Body(1.0, np.zeros(3), np.eye(3)), tuple(shapes))
    page, heard = opened(swinging((link,)).animate("energies").write(tmp_path / "mesh.html"))
    page.click("text=center of mass")
    assert page.evaluate(LIT, 0.5)["count"] > 100
    assert "not drawn: lost.stl (there is no such file)" in page.inner_text(".scene .hint")
    assert heard == []


def test_forces_center_and_frames_are_switched(opened, tmp_path):
    hopper = fc.robots.revolute_hopper()
    floor = fc.contact.CompliantFloor(("foot",), stiffness=(1e4, 1e4), damping=(1e2, 1e2))
    run = fc.simulate(hopper, hopper.neutral(), 0.05, contact=floor)
    page, heard = opened(run.animate("joints", "rates", "energies", "contacts").write(tmp_path / "hopper.html"))
    page.evaluate(JUMP.replace("0.3", "0.02"))
    names = [button.inner_text() for button in page.locator(".switches button").all()]
    assert names == ["center of mass", "contact forces", "frames"]
    for name in ("frames", "center of mass"):
        before = pixels(page, ".scene canvas")
        page.click(f"text={name}")
        assert pixels(page, ".scene canvas") != before
    widths = {round(chart.bounding_box()["width"]) for chart in page.locator(".chart").all()}
    assert len(widths) == 1
    assert heard == []


def test_the_button_records_the_whole_animation(opened, tmp_path):
    rod = fc.model.shapes.Capsule(0.05, 1.0, color=(1.0, 0.4, 0.0, 1.0))
    link = fc.Link("rod", fc.Body(1.0, np.zeros(3), np.eye(3)), (rod,))
    page, heard = opened(swinging((link,), times=(0.0, 0.5)).animate("energies").write(tmp_path / "rod.html"))
    with page.expect_download(timeout=60_000) as waiting:
        page.click("#record")
        assert page.locator("#record.on").count() == 1
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    (video,) = tmp_path.glob("shown.*")
    assert video.suffix in (".mp4", ".webm")
    assert video.stat().st_size > 1000
    assert page.locator("#record.on").count() == 0
    assert [text for text in heard if not text.startswith("blob:")] == []


REPORTS = {
    "report": lambda robot: fc.studies.report(robot, states=1),
    "reproduction": lambda robot: fc.studies.reproduce(["prismatic-2"]),
}


@pytest.mark.parametrize("kind", ["report", pytest.param("reproduction", marks=pytest.mark.slow)])
def test_report_and_reproduction_pages_fit_a_desk_and_a_phone(opened, tmp_path, kind):
    """Names of links that are markup stay text, in the picture too; tables scroll by themselves."""
    robot = fc.robots.two_cylinder_cat()
    links = [replace(link, name=f"<img src=x onerror=alert({i})>") if i else link for i, link in enumerate(robot.links)]
    names = {old.name: new.name for old, new in zip(robot.links, links, strict=True)}
    joints = [replace(j, parent=names[j.parent], child=names[j.child]) for j in robot.joints]
    nasty = fc.Model("nasty", robot.base, links, joints)
    page, heard = opened(REPORTS[kind](nasty).page().write(tmp_path / "page.html"))
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
    assert page.locator(".table").count() >= 2
    assert kind == "report" or page.locator("tr.good").count() >= 1
    assert heard == []


def test_more_than_eight_series_stay_apart_in_light_and_dark(browser, tmp_path):
    """Every mark of the legend looks different, and is seen against its ground; text is too."""
    lines = [fc.visualization.Line(f"joint {i}", np.sin(np.arange(50.0) + i)) for i in range(24)]
    path = fc.visualization.Page("many", blocks=[fc.visualization.Chart("joints", np.arange(50.0), lines)]).write(
        tmp_path / "many.html"
    )
    looks = "() => [...document.querySelectorAll('.legend i')].map((x) => getComputedStyle(x).background)"
    grounds = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(path.as_uri())
        marks = page.evaluate(looks)
        assert len(set(marks)) == 24
        style = "getComputedStyle(document.querySelector('{}')).{}"
        colors = [page.evaluate(style.format(*x)) for x in ((".block", "backgroundColor"), ("h1", "color"))]
        ground, ink = (luminance([int(x) for x in color[4:-1].split(",")]) for color in colors)
        assert contrast(ground, ink) > 7.0
        first = [[int(x) for x in mark.split("rgb(")[1].split(")")[0].split(",")] for mark in marks[:8]]
        assert min(contrast(ground, luminance(color)) for color in first) > 4.5
        grounds[scheme] = ground
        page.close()
    assert grounds["light"] > 0.9
    assert grounds["dark"] < 0.05


def luminance(color):
    """Relative luminance of sRGB, 0 to 1."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (c / 255 for c in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    """Of two luminances, as WCAG has it: 4.5 for text, 7 for good text."""
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def test_a_policy_walks_in_the_page(opened, tmp_path):
    from fallingcat.learning import Policy, Walk

    policy = Policy.load(Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz")
    page, heard = opened(policy.page(Walk.of(fc.robots.quadruped(), policy.about)).write(tmp_path / "live.html"))
    for _ in range(50):
        page.wait_for_timeout(200)
        if page.evaluate("window.fallingcat.time") > 0.3:
            break
    assert page.evaluate("window.fallingcat.q[0]") > 0.02
    page.locator("input[type=range]").first.fill("-0.5")
    assert page.evaluate("window.fallingcat.command[0]") == -0.5
    assert (
        page.evaluate("() => { document.querySelector('.live button').click(); return window.fallingcat.time; }") == 0
    )
    assert heard == []
