"""Symbols that a TOML file chooses: ``[symbols]``."""

from pathlib import Path

import numpy as np
import pytest
import sympy
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app

CAT = Path(__file__).parents[2] / "examples" / "robots" / "cat.urdf"
ALL = sorted(map(str, fc.symbolic.symbols(fc.robots.revolute_hopper()).values))


def written(tmp_path, table, robot=None):
    file = tmp_path / "hopper.toml"
    fc.save(fc.robots.revolute_hopper() if robot is None else robot, file)
    file.write_text(file.read_text(encoding="utf-8") + table, encoding="utf-8")
    return file


def test_a_file_chooses_and_calls(tmp_path):
    table = '\n[symbols]\nparameters = ["masses", "gravity"]\nnames = { l = ["l_1x", "f_1x"], c = "c_1x" }\n'
    file = written(tmp_path, table)
    model, values = fc.symbolic.load(file)
    assert {str(x): y for x, y in values.items()} == {
        "m_0": 0.957, "m_1": 0.05, "g": 9.81, "l": 0.12, "c": 0.06,
    }  # fmt: skip
    assert model.joints[0].placement[0, 3] is model.frames[0].placement[0, 3]
    plain = fc.load(file)
    assert plain.is_numeric
    state = plain.random_state(np.random.default_rng(0))
    d = fc.symbolic.derive(fc.symbolic.load(file))
    M = np.array(d["M"].subs({**d.values, **d.at(state)}), dtype=float)
    assert np.abs(M - fc.mass_matrix(plain, state)).max() < 1e-14
    assert sympy.Symbol("l", real=True) in d["M"].free_symbols
    shown = CliRunner().invoke(app, ["derive", str(file), "--what", "M"]).output
    assert "c*l*m_1" in shown
    assert "I_0zz" not in shown
    assert "I_0zz" in CliRunner().invoke(app, ["derive", str(file), "--what", "M", "--symbols", "all"]).output


@pytest.mark.parametrize("table", ["", "\n[symbols]\n", '\n[symbols]\nparameters = "all"\n'])
def test_without_a_choice_all_are_symbols(tmp_path, table):
    assert sorted(map(str, fc.symbolic.load(written(tmp_path, table)).values)) == ALL


def test_none_is_a_choice(tmp_path):
    assert not fc.symbolic.load(written(tmp_path, '\n[symbols]\nparameters = "none"\n')).values


def test_other_formats_have_no_table():
    assert "m_1" in map(str, fc.symbolic.load(CAT, base="fixed").values)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("parameter = 3", r"symbols: there is no key 'parameter'; do you mean 'parameters'\?"),
        ("parameters = 3", r"parameters: should be a list, not 3"),
        ('parameters = ["weights"]', r"\[symbols\]: there is no parameter 'weights'"),
        ('names = { l = "l_9x" }', r"\[symbols\]: there is no parameter 'l_9x'"),
        ('names = { l = ["l_1x", "c_1x"] }', r"symbol 'l' is 0.06 and cannot stand for l_1x = 0.12"),
        ('names = { l = "l_1y" }', r"the symbol 'l' cannot stand for l_1y, which is 0"),
        ('names = { a = "m_0", b = "m_0" }', r"two symbols stand for m_0: 'a' and 'b'"),
        ('names = { l_1x = "f_1x" }', r"the symbol 'l_1x' is the name of another parameter"),
        ('names = { "x); system(" = "m_0" }', r"\[symbols\]: a symbol is called by letters and digits"),
        ('names = { "\\u001b[2J" = "m_0" }', r"\[symbols\]: a symbol is called by letters and digits"),
        ('names = { abcdefghijklmnopqrstuvwxyz = "m_0" }', r"a symbol is called by letters and digits"),
        ('names = { q_1 = "m_0" }', r"\[symbols\]: the symbol 'q_1' of 'revolute_hopper' is a name of derivations"),
        ("names = { l = 3 }", r"symbols\.names\.l: should be a list, not 3"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, table, message):
    with pytest.raises(fc.FileError, match=message) as caught:
        fc.symbolic.load(written(tmp_path, f"\n[symbols]\n{table}\n"))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"parameters": 3}, "parameters: a name or a list of names, not 3"),
        ({"names": 3}, "names are symbols and what they stand for, not 3"),
        ({"names": {3: "m_0"}}, "a symbol is called by letters and digits, with an index: m, l_1, not 3"),
        ({"names": {"l": 3}}, "what 'l' stands for: a name or a list of names, not 3"),
    ],
)
def test_wrong_arguments(given, message):
    with pytest.raises(fc.ModelError, match=message):
        fc.symbolic.symbols(fc.robots.revolute_hopper(), **given)


def test_one_symbol_for_gravity():
    model, values = fc.symbolic.symbols(fc.robots.revolute_hopper(), "none", {"G": "g_y"})
    assert model.gravity[1] == -sympy.Symbol("G", positive=True)
    assert list(values.values()) == [9.81]
