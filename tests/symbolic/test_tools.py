"""Generated texts through the real tools: gcc, pdflatex, Octave, Julia and Python, each where it is installed."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app

from .hostile import HOSTILE, crowd, hostile
from .robots import at, planar, space
from .tools import FILES, run, tool

FUNCTIONS = [tool(format) for format in ("c", "matlab", "julia", "python")]
CORE = {
    "M": fc.mass_matrix,
    "C_newton_euler": lambda m, s: fc.coriolis_matrix(m, s, "newton_euler"),
    "g": fc.gravity_forces,
    "A": fc.connection,
    "F": fc.curvature,
    "theta_bc": lambda m, s: np.array(fc.formulations.locked_angle(m, s.joints, np.zeros(m.n))),
    "tau": lambda m, s: fc.inverse_dynamics(m, s, acceleration(m)),
}


def acceleration(model):
    return np.linspace(0.1, 1.0, model.nv)


def slanted():
    """Axes that lie in no plane of coordinates, and numbers of many digits."""
    turned = at(0.3)
    turned[:3, :3] = fc.lie.rotations.exp(np.array([0.3, -0.4, 0.5]))
    base = space(1)
    hinge = fc.Joint("j0", fc.joints.Revolute((0.6, 0.0, 0.8)), "b0", "b1", turned)
    return fc.Model("slanted", fc.lie.SO3(), base.links, (hinge,))


ROBOTS = {
    "revolute": (fc.robots.revolute_hopper(), "all", ("M", "C_newton_euler", "g", "A", "theta_bc", "tau")),
    "prismatic": (fc.robots.prismatic_hopper(), "all", ("theta_bc", "A")),
    "off axis": (planar(1), "all", ("theta_bc", "g")),  # atan2 and log
    "curved": (planar(2), ["masses", "lengths"], ("F",)),
    "numbers": (slanted(), "none", ("M", "g", "tau")),
    "one": (fc.robots.free_body(), "all", ("M",)),
}


def some(first, *others):
    """Parameters of a test: those after the first are slow."""
    return [first, *(pytest.param(name, marks=pytest.mark.slow) for name in others)]


@pytest.fixture(scope="module")
def derived():
    return {name: fc.symbolic.derive(model, kinds) for name, (model, kinds, _) in ROBOTS.items()}


@pytest.mark.parametrize("format", FUNCTIONS)
@pytest.mark.parametrize("robot", some(*ROBOTS))
def test_functions_give_the_numbers_of_the_core(derived, robot, format, tmp_path):
    d, names = derived[robot], ROBOTS[robot][2]
    state = d.numeric.random_state(np.random.default_rng(0))
    core = [np.asarray(CORE[name](d.numeric, state)) for name in names]
    given = (*d.numeric.flatten(state), acceleration(d.numeric))
    found = run(tmp_path, format, d.write(*names, format=format), given, [x.size for x in core])
    at = 0
    for name, x in zip(names, core, strict=True):
        part = found[at : at + x.size].reshape(x.shape)
        assert np.abs(part - x).max() <= 1e-12 * (1.0 + np.abs(x).max()), name
        at += x.size
    assert at == found.size


@pytest.mark.parametrize("format", [tool("latex")])
@pytest.mark.parametrize("robot", some("revolute", "all of it", "off axis", "curved", "one"))
def test_documents_compile_and_nothing_runs_off_the_page(derived, robot, format, tmp_path):
    d = derived["revolute" if robot == "all of it" else robot]
    names = [name for name in d.names if name != "integrability"] if robot == "all of it" else ROBOTS[robot][2]
    log = run(tmp_path, format, d.write(*names, format=format), ())
    assert "Overfull" not in log
    assert (tmp_path / "robot.pdf").stat().st_size > 10_000


# names of robots --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded():
    return fc.symbolic.derive(crowd(HOSTILE), "gravity")


def check_names(d, folder, format):
    names = ("M", "g")
    state = d.numeric.random_state(np.random.default_rng(0))
    core = [fc.mass_matrix(d.numeric, state), fc.gravity_forces(d.numeric, state)]
    given = (*d.numeric.flatten(state), acceleration(d.numeric))
    found = run(folder, format, d.write(*names, format=format), given, [x.size for x in core])
    if format == "latex":
        assert (folder / "robot.pdf").exists()
    else:
        assert np.abs(found - np.concatenate([x.ravel() for x in core])).max() < 1e-12 * np.abs(found).max()
    made = {"", ".so", ".m", ".py", ".jl", ".c", ".tex", ".pdf", ".aux", ".log"}
    assert {path.suffix for path in folder.iterdir()} <= made
    assert all(path.stem in ("robot", "main", "main_script", "home") for path in folder.iterdir())


@pytest.mark.parametrize("format", [*FUNCTIONS, tool("latex")])
def test_hostile_names_through_every_tool(crowded, format, tmp_path):
    """All names at once; a command in one of them would leave a file."""
    check_names(crowded, tmp_path, format)


@pytest.mark.slow
@pytest.mark.parametrize("format", [*FUNCTIONS, tool("latex")])
def test_every_hostile_name_alone(format, tmp_path):
    for i, name in enumerate(HOSTILE):
        (tmp_path / str(i)).mkdir()
        check_names(fc.symbolic.derive(hostile(name)), tmp_path / str(i), format)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, *attributes))

    def handle_comment(self, data):
        self.seen.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def test_hostile_names_in_a_page(crowded):
    page = Tags()
    page.feed(crowded._repr_html_())
    page.close()
    assert set(page.seen) == {("b",), ("ul",), ("li",), ("p",), ("code",)}


def test_no_file_is_called_by_a_robot(tmp_path, monkeypatch):
    """Of a file with hostile names nothing is written but what was asked for."""
    robot = fc.robots.revolute_hopper()
    links = tuple(fc.Link("../../TOUCHED" if i else "a;touch TOUCHED", x.body) for i, x in enumerate(robot.links))
    knee = fc.Joint("/abs/TOUCHED", fc.joints.Revolute(), links[0].name, links[1].name, robot.joints[0].placement)
    fc.save(fc.Model("../TOUCHED", robot.base, links, (knee,)), tmp_path / "robot.toml")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for format in ("text", "latex", *FILES):
        done = CliRunner().invoke(app, ["derive", "../robot.toml", "--what", "g", "--format", format, "--out", "asked"])
        assert done.exit_code == 0, done.output
        assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["robot.toml", "asked"]


WORDS = (
    "class", "def", "None", "True", "raise", "yield", "print", "lambda", "double", "float", "void",
    "union", "enum", "goto", "short", "long", "struct", "while", "begin", "quote", "local", "macro",
    "global", "catch", "break", "end", "function", "parfor", "spmd", "atan", "sin", "log", "pow",
    "exp", "floor", "reshape", "PARAMETERS", "robot", "np", "nargin", "M_", "M", "C", "pi",
    "NaN", "Inf", "inf", "im", "ans", "eps", "i", "j", "e", "E", "I",
    "y0", "j1", "NAN",
)  # fmt: skip


@pytest.mark.parametrize("format", FUNCTIONS)
def test_symbols_called_like_words_of_a_language(format, tmp_path):
    """What a user calls his symbols may be a keyword, a function or a constant anywhere."""
    symbols = [sympy.Symbol(word, positive=True) for word in WORDS]
    values = {x: 0.5 + 0.01 * i for i, x in enumerate(symbols)}
    body = fc.Body(sympy.Add(*symbols), [sympy.atan2(symbols[0], symbols[1]), 0.0, 0.0])
    d = fc.symbolic.derive(planar(1).replace_body("b0", body), values=values)
    state = d.numeric.random_state(np.random.default_rng(0))
    core = fc.mass_matrix(d.numeric, state)
    found = run(tmp_path, format, d.write("M", format=format), (*d.numeric.flatten(state), 0 * core[0]), [core.size])
    assert np.abs(found.reshape(core.shape) - core).max() < 1e-12 * np.abs(core).max()
