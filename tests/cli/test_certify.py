"""`fallingcat certify FILE`: certificates as a user meets them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat.formulations import survey as surveys
from fallingcat.formulations.survey import formulations, survey
from fallingcat.lie import SE3
from fallingcat.model import Revolute

ROOT = Path(__file__).parents[2]
HOPPER, CAT = ROOT / "examples/robots/hopper.toml", ROOT / "examples/robots/cat.urdf"


def certify(*arguments, width=80):
    return CliRunner(env={"COLUMNS": str(width)}).invoke(cli.app, ["certify", *map(str, arguments)])


@pytest.fixture(scope="module")
def cat():
    return certify(CAT, "--states", 1)


def test_the_cat_is_certified(cat):
    lines = cat.stdout.splitlines()
    assert (cat.exit_code, cat.stderr) == (0, "")
    assert lines[0].split() == ["robot", "cat"]
    assert lines[-1].startswith("all 480 claims hold; worst residual ")
    for name in formulations(fc.robots.cat()):
        assert any(line.startswith(name.split(" at ")[0]) for line in lines)
    for name in (*fc.dynamics.FACTORIZATIONS, "two-part", "commutativity", "curvature", "linear blocks"):
        assert name in cat.stdout


def test_the_table_says_which_matrix_has_which_property(cat):
    """The first table: rows of the body-fixed equations."""
    rows = {line.split()[0]: line.split()[1:] for line in cat.stdout.split("\n\n")[1].splitlines()[2:]}
    assert [x.startswith("(") for x in rows["passivity"]] == [False, False, False, True, True]
    assert [x.startswith("(") for x in rows["torsion"]] == [False, True, True, True, True]
    assert float(rows["torsion"][1].strip("()")) > 1e-3


def test_no_line_is_wider_than_the_terminal(cat):
    assert max(map(len, cat.stdout.splitlines())) <= 80


def test_long_names_fit_too(tmp_path):
    body = fc.Body(1.0, np.zeros(3), np.eye(3))
    name = "a_very_long_name_" * 9
    joint = fc.Joint("j", Revolute(), "base", name, np.eye(4))
    fc.save(fc.Model("long", SE3(), (fc.Link("base", body), fc.Link(name, body)), (joint,)), tmp_path / "a.toml")
    done = certify(tmp_path / "a.toml", "--states", 1)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def test_json_says_everything():
    done = certify(HOPPER, "--states", 3, "--seed", 7, "--json")
    data = json.loads(done.stdout, parse_constant=refuse)
    assert " ".join(data) == "schema file name states seed tolerance passed certificates"
    assert (data["schema"], data["states"], data["seed"], data["tolerance"]) == (1, 3, 7, 1e-9)
    assert data["passed"]
    first = data["certificates"][0]
    assert (first["formulation"], first["factorization"], first["passed"]) == ("body", "christoffel", True)
    assert list(first["checks"][0]) == ["name", "meaning", "claimed", "holds", "residual", "verdict", "reason"]
    assert data["certificates"][-1]["formulation"] == "reduced"
    assert all(c["holds"] for e in data["certificates"] for c in e["checks"] if c["claimed"])


def test_the_same_seed_gives_the_same_residuals():
    once, again = (certify(HOPPER, "--states", 1, "--seed", 3, "--json").stdout for _ in range(2))
    other = certify(HOPPER, "--states", 1, "--seed", 4, "--json").stdout
    assert once == again
    assert once != other


def test_more_states_are_never_better():
    few, many = (survey(fc.robots.revolute_hopper(), states) for states in (1, 5))
    for a, b in zip(few, many, strict=True):
        assert all(x.residual <= y.residual for x, y in zip(a.checks, b.checks, strict=True))


# broken ones --------------------------------------------------------------------------------------------------------


@pytest.fixture
def wrong_equations(monkeypatch):
    """A library with a wrong sign: the coadjoint matrix is transposed."""
    right = surveys.equations

    def wrong(model, state, factorization):
        eom = right(model, state, factorization)
        return replace(eom, C=eom.C.T) if factorization == "coadjoint" else eom

    monkeypatch.setattr(surveys, "equations", wrong)


def test_a_broken_claim_is_exit_code_1(wrong_equations):
    done = certify(HOPPER, "--states", 1)
    assert done.exit_code == 1
    assert "BROKEN" in done.stdout
    assert "  body, coadjoint: forces, " in done.stdout
    assert "christoffel: forces" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = json.loads(certify(HOPPER, "--states", 1, "--json").stdout)
    assert not data["passed"]
    assert {c["factorization"] for c in data["certificates"] if not c["passed"]} == {"coadjoint"}


def test_a_residual_that_is_no_number_is_broken(monkeypatch):
    right = surveys.equations
    monkeypatch.setattr(surveys, "equations", lambda *a: (lambda eom: replace(eom, Mdot=eom.Mdot * np.nan))(right(*a)))
    done = certify(HOPPER, "--states", 2, "--json")
    assert done.exit_code == 1
    checks = json.loads(done.stdout, parse_constant=refuse)["certificates"][0]["checks"]
    rate = next(c for c in checks if c["name"] == "mass rate")
    assert rate == {**rate, "holds": False, "residual": None}


def test_an_unproved_claim_is_exit_code_1(monkeypatch):
    """A change that does not know its own clock: nothing is broken, and nothing about rates is proved."""
    right = surveys.formulations
    blind = lambda model, state: replace(fc.changes.mixed(model, state), at=None)  # noqa: E731
    monkeypatch.setattr(surveys, "formulations", lambda model: right(model) | {"mixed": blind})
    done = certify(HOPPER, "--states", 2)
    assert done.exit_code == 1
    assert "BROKEN" not in done.stdout
    assert " UNPROVED" in done.stdout
    assert "the change gives no `at`" in " ".join(done.stdout.split())
    assert "all " not in done.stdout.splitlines()[-1]
    assert max(map(len, done.stdout.splitlines())) <= 80
    data = json.loads(certify(HOPPER, "--states", 1, "--json").stdout, parse_constant=refuse)
    mixed = next(c for c in data["certificates"] if c["formulation"] == "mixed")
    assert (data["passed"], mixed["passed"], mixed["verdict"]) == (False, False, "unproved")
    rate = next(c for c in mixed["checks"] if c["name"] == "mass rate")
    assert (rate["verdict"], rate["residual"], rate["holds"]) == ("unproved", None, False)
    assert "`at`" in rate["reason"]


def test_a_tolerance_that_nothing_meets():
    assert certify(HOPPER, "--states", 1, "--tolerance", "1e-30").exit_code == 1


# options and bad input ------------------------------------------------------------------------------------------------


def test_other_bases():
    fixed = certify(HOPPER, "--states", 1, "--base", "fixed")
    assert fixed.exit_code == 0
    assert "centroidal" not in fixed.stdout  # there is no connection on a fixed base
    free = certify(HOPPER, "--states", 1, "--base", "free")
    assert "G[B]" in free.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-file.urdf"],
        [ROOT / "tests/corpus/toml/12_nan.toml"],
        [HOPPER, "--base", "flying"],
        ["a\x1b[31m.urdf"],
    ],
    ids=str,
)
def test_a_bad_file_is_one_line_and_exit_code_2(arguments):
    done = certify(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip("\n").isprintable()


@pytest.mark.parametrize("option", [["--states", "0"], ["--states", "many"], ["--seed", "-1"]], ids=" ".join)
def test_a_bad_option_is_exit_code_2(option):
    assert certify(HOPPER, *option).exit_code == 2


@pytest.mark.parametrize("name", ["[red]x[/]", "\u202ex", "a\u00a0b"])
def test_names_are_shown_not_obeyed(tmp_path, name):
    body = fc.Body(1.0, np.zeros(3), np.eye(3))
    joint = fc.Joint("j", Revolute(), "base", name, np.eye(4))
    fc.save(fc.Model(name, SE3(), (fc.Link("base", body), fc.Link(name, body)), (joint,)), tmp_path / "a.toml")
    text = certify(tmp_path / "a.toml", "--states", 1).stdout
    assert not {c for c in name if not c.isprintable()} & set(text)
    assert name in text if name.isprintable() else "\\" in text
