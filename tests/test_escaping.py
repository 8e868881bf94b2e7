"""What a file says is shown, never obeyed: every sink, without a browser (tests/live has the browser)."""

import io
import re
import time
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hostile_names import NAMES, urdf
from rich import console as rich_console
from rich.console import Console

import fallingcat as fc
from fallingcat import escaping, progress
from fallingcat.cli import text as cli_text
from fallingcat.cli.sweep_run import sweep_bar
from fallingcat.visualization.svg import text as svg_text


class Tags(HTMLParser):
    """All elements and what is between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, sorted(name for name, _ in attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    file = tmp_path_factory.mktemp("hostile") / "robot.urdf"
    file.write_text(urdf())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fc.load(file)


@pytest.mark.parametrize("name", NAMES)
def test_html_and_svg_are_text(name):
    for page in (escaping.html(name), f'<p title="{escaping.html(name)}">'):
        assert Tags(page).tags in ([], [("p", ["title"])])
    assert Tags(escaping.html(name)).text == name
    found = Tags(svg_text(0.0, 0.0, name))
    assert [tag for tag, _ in found.tags] == ["text"]
    assert found.text == name


@pytest.mark.parametrize("name", NAMES)
def test_comments_and_latex_have_no_commands(name):
    assert re.fullmatch(r"[A-Za-z0-9_.%-]*", escaping.comment(name))
    assert re.fullmatch(r"([A-Za-z0-9.-]|\\[%_])*", escaping.latex(name))
    assert re.fullmatch(r"[A-Za-z0-9_.% (),:+=\[\]-]*", escaping.comment(name, escaping.READABLE))


def test_control_characters_reach_no_sink():
    steering = "a\x1b[31m\x9b2J\u202e\r\n\x00"
    for sink in (escaping.terminal, escaping.comment, escaping.latex, escaping.page_json):
        assert sink(steering).isprintable(), sink
    assert str(fc.FallingCatError(steering)).isprintable()
    assert ElementTree.fromstring(f"<p>{escaping.html(steering)}</p>").text.startswith("a\\x1b[31m\\x9b")


@pytest.mark.parametrize("name", NAMES)
def test_bars_show_names_as_they_are(name, monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(progress, "BAR_DELAY", 0.0)
    monkeypatch.setattr(rich_console, "Console", lambda **_: Console(file=out, force_terminal=True, width=300))
    with progress.report_progress(name, True) as tell:
        for _ in range(200):
            if name in out.getvalue():
                break
            tell(0.5)
            time.sleep(0.01)
    assert name in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())


def test_every_sink_of_a_hostile_robot(robot):
    run = fc.simulate(robot, robot.neutral(), 1e-3, progress=False)
    table = Tags(run._repr_html_())
    assert {tag for tag, _ in table.tags} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert robot.name in table.text
    page = Tags(run.animate().html())
    known = {"html", "head", "meta", "title", "link", "style", "body", "header", "h1", "p", "section", "main", "footer"}
    assert {tag for tag, _ in page.tags} <= known | {"button", "input", "output", "select", "script"}
    assert [tag for tag, _ in page.tags].count("script") == 2
    source = fc.compile(robot, fc.center_of_mass, target="c").source
    assert "exit" not in re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    console = Console(file=io.StringIO(), force_terminal=False, markup=False, width=1000)
    for name in NAMES:
        console.print(cli_text.escape_markup(name))
    assert all(name in console.file.getvalue() for name in NAMES)


def test_progress_of_sweeps_shows_names(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", type("Screen", (io.StringIO,), {"isatty": lambda self: True})())
    monkeypatch.setattr(rich_console, "Console", lambda **_: Console(file=out, force_terminal=True, width=300))
    for name in NAMES:
        with sweep_bar(name, False) as tell:
            tell(1, 0, 2)
        assert name in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
