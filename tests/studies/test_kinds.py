"""A kind of study from outside of the library: its file, numbers, verdicts, page and command; and what is refused."""

import json
import math
import sys
from importlib import invalidate_caches

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.errors import FallingCatError, FileError, ModelError
from fallingcat.studies import Figures, Parameters, StudyKind, kind, kind_of, kinds, parse, run_study, study_kind
from fallingcat.visualization import Chart, Line

FILE = """
title = "A pendulum"
kind = "pendulum"
[parameters]
length = 0.5
[[row]]
name = "period"
measure = "period"
unit = "s"
published = "1.419"
[[row]]
name = "against the closed form"
measure = "gap"
unit = "s"
tolerance = 1e-12
[[row]]
name = "of no run"
measure = "nothing"
"""


class PendulumParameters(Parameters):
    length: float
    g: float = 9.81
    steps: int = 40


class Pendulum(StudyKind[PendulumParameters, dict]):
    """Small swings: the period by Gauss' arithmetic-geometric mean at no amplitude, and by its formula."""

    name, parameters, resolution = "pendulum", PendulumParameters, frozenset({"steps"})
    measures = {  # noqa: RUF012
        "period": lambda seen: seen["period"],
        "gap": lambda seen: seen["period"] - 2.0 * math.pi * math.sqrt(seen["length"] / 9.81),
        "nothing": lambda seen: math.nan,
    }

    def run(self, parameters, progress):
        progress("swinging", 0.5)
        period = 2.0 * np.pi * np.sqrt(parameters.length / parameters.g)
        return {"period": period, "length": parameters.length, "steps": parameters.steps}

    def figures(self, study, seen):
        t = np.linspace(0.0, seen["period"], seen["steps"])
        return Figures([Chart("Swing", t, [Line("angle", np.cos(2.0 * np.pi * t / seen["period"]))], "rad")])


@pytest.fixture
def pendulum():
    study_kind(Pendulum)
    yield
    kind._KINDS.pop("pendulum", None)


def test_a_study_of_ones_own_kind(pendulum, tmp_path):
    told = []
    result = run_study(parse(FILE, "swing", "swing.toml"), lambda *said: told.append(said))
    assert told == [("swinging", 0.5)]
    assert [row.verdict for row in result.rows] == ["agrees", "not published", "not published"]
    assert [row.holds for row in result.rows] == [True, True, None]
    assert result.rows[2].ours is None
    text = result.page().html()
    assert "Swing" in text
    assert "against the closed form" in text
    assert "hop" not in text.partition('id="data"')[2]
    with pytest.raises(ModelError, match="the kind 'pendulum' simulates no motion"):
        _ = result.trajectory


def test_a_measure_that_is_no_number_is_said(pendulum, monkeypatch):
    monkeypatch.setitem(Pendulum.measures, "gap", lambda seen: None)
    with pytest.raises(ModelError, match="the measure 'gap' gives a number, not None"):
        run_study(parse(FILE, "swing", "swing.toml"))


def test_what_is_left_aside_does_not_make_another_experiment(pendulum):
    study = parse(FILE, "swing", "swing.toml")
    assert run_study(study.with_parameters({"steps": 7})).rows[0].verdict == "agrees"
    assert run_study(study.with_parameters({"g": 9.8})).rows[0].verdict == "not comparable"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("length = 0.5", "lenght = 0.5"), "there is no parameter 'lenght'; do you mean 'length'?"),
        (("length = 0.5", "length = inf"), "length: should be a finite number"),
        (("length = 0.5", "length = '0.5'"), "length: should be a number, not '0.5'"),
        (('"gap"', '"gab"'), "row.1.measure: there is no measure 'gab' of the kind 'pendulum': it is one of"),
        (('"pendulum"', '"pendulums"'), "kind: there is no kind of study 'pendulums'; do you mean 'pendulum'?"),
    ],
)
def test_files_are_held_to_the_kind(pendulum, change, words):
    with pytest.raises(FileError) as caught:
        parse(FILE.replace(*change), "swing", "swing.toml")
    assert str(caught.value).startswith("swing.toml: ")
    assert words in str(caught.value)


def test_a_kind_is_made_known_once_per_name(pendulum):
    assert study_kind(Pendulum) is Pendulum  # a cell of a notebook that is run again
    assert type(kind_of("pendulum")) is Pendulum

    class Other(Pendulum):
        pass

    with pytest.raises(ModelError, match="there is a kind of study 'pendulum' already: Pendulum"):
        study_kind(Other)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "x", "measures": {}}, "has no parameters"),
        ({"name": "x", "measures": {}, "parameters": Parameters, "run": StudyKind.run}, "has no run"),
        ({"name": "x", "measures": {}, "parameters": dict}, "parameters is a subclass of Parameters, not"),
        ({"name": "x\n", "measures": {}, "parameters": Parameters}, "a name is one line"),
        (
            {"name": "x", "measures": {}, "parameters": Parameters, "resolution": frozenset({"y"})},
            "resolution names a parameter 'y'",
        ),
    ],
)
def test_half_a_kind_is_refused(body, words):
    before = kinds()
    made = type("Half", (StudyKind,), {"run": lambda self, parameters, progress: None, **body})
    with pytest.raises(ModelError, match=words):
        study_kind(made)
    assert kinds() == before


def test_the_kind_of_an_installed_package_is_found(tmp_path, monkeypatch):
    """By its entry point: the command runs a file of a kind that it has never heard of."""
    (tmp_path / "plug.py").write_text(
        "from fallingcat.studies import Parameters, StudyKind\n"
        "class P(Parameters):\n    x: float = 2.0\n"
        "class Double(StudyKind):\n"
        "    name, parameters, measures = 'double', P, {'twice': lambda seen: 2.0 * seen}\n"
        "    def run(self, parameters, progress):\n        return parameters.x\n"
    )
    info = tmp_path / "plug-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fallingcat.studies]\ndouble = plug:Double\n")
    study = tmp_path / "two.toml"
    study.write_text(
        "title = 'Two'\nkind = 'double'\n[parameters]\n[[row]]\nname = 'a'\nmeasure = 'twice'\npublished = '4'"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    try:
        done = CliRunner().invoke(app, ["study", "run", str(study), "--json", "--out", str(tmp_path / "two.html")])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["rows"][0]["verdict"] == "agrees"
    finally:
        kind._KINDS.pop("double", None)
        sys.modules.pop("plug", None)


def test_an_unknown_kind_is_one_line_of_the_command(tmp_path):
    path = tmp_path / "swing.toml"
    path.write_text(FILE.replace("pendulum", "top"), encoding="utf-8")
    done = CliRunner().invoke(app, ["study", "run", str(path)])
    assert done.exit_code == 2
    assert "kind: there is no kind of study 'top': they are " in done.stderr
    assert " circling-arm, " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_kind_that_is_gone_is_said(pendulum):
    study = parse(FILE, "swing", "swing.toml")
    kind._KINDS.pop("pendulum")
    with pytest.raises(FallingCatError, match="there is no kind of study 'pendulum'"):
        fc.studies.run_study(study)


@pytest.mark.parametrize("name", ["MEASURES", "Flight", "Observed", "measure"])
def test_names_of_hoppers_say_where_they_are(name):
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': it is fallingcat\.studies\.hoppers\.{name}$"):
        getattr(fc.studies, name)
    assert getattr(fc.studies.hoppers, name) is not None
