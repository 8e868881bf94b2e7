"""Wrong options, files that are none, outputs that nobody takes: one line on stderr, never a traceback."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fallingcat import cli

CAT = Path(__file__).parents[2] / "examples" / "robots" / "cat.urdf"
COMMAND = Path(sys.executable).with_name("fallingcat")
OWN = 'title = "a"\nrobot = "revolute_hopper"\n'


def invoke(*arguments, **environment):
    return CliRunner(env={"COLUMNS": "80", **environment}).invoke(cli.app, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["inspect"], "Missing argument 'FILE'"),
        (["ghost"], "No such command 'ghost'"),
        (["inspect", CAT, "--flying"], "No such option: --flying"),
        (["inspect", "ghost.urdf"], "ghost.urdf: there is no such file"),
        (["inspect", "folder.urdf"], "folder.urdf: this is not a plain file"),
        (["inspect", "."], ".: this is a folder, and no robot file (name the .urdf, .xml or .toml file in it)"),
        (["inspect", "pipe.toml"], "pipe.toml: this is not a plain file"),
        (["inspect", "a\nmass 5 kg.urdf"], r"a\nmass 5 kg.urdf: there is no such file"),
        (["inspect", CAT, "--physics", "quantum"], 'physics is "strict" or "warn"'),
        (["inspect", CAT, "--base", "moon"], "base is a group or one of"),
        (["inspect", "forged.toml"], "the robot's name holds a control character"),
        (["certify", CAT, "--states", "0"], "Invalid value for '--states'"),
        (["certify", CAT, "--states", "1", "--tolerance", "-1"], "tolerance is a positive number, not -1.0"),
        (["certify", CAT, "--states", "1", "--tolerance", "nan", "--json"], "tolerance is a positive number, not nan"),
        (["export", CAT, "--function", "mass_matrx", "--out", "o"], "do you mean 'mass_matrix'?"),
        (["export", CAT, "--function", "jacobian", "--out", "o"], "needs --option link=..., one of front, vertebra1"),
        (["export", CAT, "--function", "potential_forces", "--out", "o"], "potential, which no option can be"),
        (["export", CAT, "--function", "constrained_forward_dynamics", "--out", "o"], "jacobian and bias, which no"),
        (["export", CAT, "--function", "is_conserved", "--out", "o"], "is_conserved takes numbers only"),
        (["export", CAT, "--function", "mass_matrix", "--out", "plain"], "cannot write to 'plain'"),
        (["export", CAT, "--function", "mass_matrix", "--out", "o", "--dtype", "int8"], "dtype is one of"),
        (["export", CAT, "--function", "mass_matrix", "--out", "o", "--option", "x=1"], "mass_matrix has no argument"),
        (["gait", CAT, "--joints", "a", "b", "--no-plot"], "there is no joint 'a'"),
        (
            ["gait", CAT, "--joints", "neck", "--no-open"],
            "--joints must be two different names, A B, got neck --no-open",
        ),
        (["gait", CAT, "--joints", "a", "b", "--reach", "nan"], "--reach must be a positive angle"),
        (["drop", "--height", "nan"], "the height is a number of meters, not nan"),
        (["drop", "--tilt", "720"], "--tilt must be above 0 and up to 180 degrees"),
        (["drop", "--model", "ghost.urdf"], "there is no such file"),
        (["bench", "--batch", "0"], "Invalid value for '--batch'"),
        (["study", "run", "ghost"], "there is no study 'ghost'"),
        (["study", "run", "folder.toml"], "folder.toml: this is not a plain file"),
        (["study", "run", "pipe.toml"], "pipe.toml: this is not a plain file"),
        (["study", "run", "dots.toml"], "dots.toml:3: there is a key with many dots"),
        (["study", "run", "revolute-6", "--set", "K_E"], "--set must be NAME=VALUE"),
        (["study", "run", "revolute-6", "--set", "duration=" + "[" * 3000], "duration: should be a number"),
        (["study", "run", "revolute-6", "--set", "duration={a" + ".a" * 9999 + "=1}"], "duration: should be a number"),
        (["study", "run", "revolute-6", "--set", "duration=0.1", "--out", "/proc/x.html"], "cannot be written"),
        (["cache", "clear", "everything"], "Got unexpected extra argument"),
    ],
)
def test_bad_options_and_files(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder.urdf", "folder.toml"):
        Path(folder).mkdir()
    os.mkfifo("pipe.toml")
    Path("plain").touch()
    Path("dots.toml").write_text(OWN + ".".join("a" * 100_000) + " = 1", encoding="utf-8")
    Path("forged.toml").write_text('base = "free"\nname = "a\\nmass 5 kg"\nlink = [{name = "a", mass = 1}]')
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "this is a bug" not in done.stderr
    assert done.stdout == ""


def run(command):
    """A shell command with `$F` for ours; exit code and what it says on stderr."""
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, env={**os.environ, "F": str(COMMAND), "CAT": str(CAT)}
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize("command", ["inspect $CAT", "inspect $CAT --json", "study list", "--help", "--version"])
def test_readers_that_leave(command):
    code, _, said = run(f"$F {command} | true; exit ${{PIPESTATUS[0]}}")
    assert code in (0, 1)  # done before the pipe broke, or after
    assert said == ""


@pytest.mark.parametrize("command", ["inspect $CAT", "inspect $CAT --json", "study list", "--help", "--version"])
def test_full_disks(command):
    code, _, said = run(f"$F {command} > /dev/full")
    assert code == 2
    assert said == "fallingcat: the output cannot be written: No space left on device\n"


def test_streams_that_are_closed():
    assert run("$F inspect $CAT >&-")[2] == ""
    assert run("$F inspect ghost.urdf 2>&-")[0] == 2
    assert run("$F inspect $CAT <&-")[0] == 0


@pytest.mark.parametrize("columns", ["-5", "0", "1", "10", "many"])
def test_narrow_terminals_still_say_something(columns):
    for arguments in (("inspect", CAT), ("study", "list"), ("certify", CAT, "--states", 1)):
        done = invoke(*arguments, COLUMNS=columns)
        assert done.exit_code == 0
        assert "cat" in done.stdout or "revolute-6" in done.stdout


def test_json_is_json_whatever_the_terminal():
    for arguments in (("inspect", CAT), ("study", "list"), ("certify", CAT, "--states", 1), ("cache", "info")):
        done = invoke(*arguments, "--json", COLUMNS="3", TERM="dumb", LC_ALL="C")
        assert json.loads(done.stdout)
        assert done.exit_code == 0


def test_no_line_of_the_list_of_commands_is_cut():
    listed = invoke("--help", COLUMNS="79").stdout.partition("Commands:")[2]
    assert "..." not in listed
    assert len(listed.strip().splitlines()) == len(cli.app.registered_commands) + len(cli.app.registered_groups)


def test_functions_are_exported_without_any_extra(monkeypatch, tmp_path):
    """A room that needs a package is not opened to find a function by name."""
    for package in ("sympy", "scipy", "casadi", "jax", "zarr", "viser"):
        monkeypatch.setitem(sys.modules, package, None)
    for name in [name for name in sys.modules if name.startswith("fallingcat.symbolic")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(sys.modules["fallingcat"]), "symbolic", raising=False)
    done = invoke("export", CAT, "--function", "mass_matrix", "--target", "c", "--out", tmp_path / "o")
    assert done.exit_code == 0, done.output


def test_a_warning_is_a_line(monkeypatch):
    def odd(*_):
        warnings.warn("the ground\nis 'odd'", RuntimeWarning, stacklevel=1)
        return []

    monkeypatch.setattr("fallingcat.compiler.compare.compare", odd)
    with warnings.catch_warnings(action="always"):
        done = invoke("bench")
    assert done.exit_code == 0
    assert done.stderr == r"warning: the ground\nis 'odd'" + "\n"
