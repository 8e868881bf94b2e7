"""`fallingcat cache`, `export` and `bench`, as a user meets them."""

import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat.cli.export_file import _exportable_functions, _function_of_name
from fallingcat.compiler import compare
from fallingcat.compiler.cache import files as cache
from fallingcat.compiler.ir.trace import Recipe, trace
from fallingcat.model.shapes import Mesh

KEY = "a" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE", str(tmp_path / "mine"))
    return tmp_path / "mine" / "kernels"


def test_the_command(folder):
    def run(*arguments):
        return CliRunner().invoke(cli.app, ["cache", *arguments])

    assert json.loads(run("info", "--json").stdout)["files"] == 0
    cache.write(KEY, bytes(1000))
    (folder / "notes.txt").write_text("not ours")
    said = json.loads(run("info", "--json").stdout)
    assert (said["files"], said["folder"], said["problem"]) == (1, str(folder), None)
    assert said["bytes"] > 1000
    assert "in use" in run("info").stdout
    assert run("clear").stdout == "1 files deleted\n"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert run("clear").stdout == "0 files deleted\n"


def test_the_command_without_a_cache(monkeypatch):
    monkeypatch.setenv("FALLINGCAT_CACHE", "off")
    assert "not used" in CliRunner().invoke(cli.app, ["cache", "info"]).stdout
    assert CliRunner().invoke(cli.app, ["cache", "clear"]).exit_code == 2


def test_what_export_offers_can_be_exported():
    model = fc.robots.revolute_hopper()
    offered = _exportable_functions()
    assert {"inverse_dynamics", "reduced_equations", "link_pose"} <= set(offered)
    assert not {"integrability", "certify_reduced", "simulate", "mass_condition", "potential_forces"} & set(offered)
    options = dict.fromkeys(("place", "link"), model.link_names[-1])
    refused = {}
    for name in offered:
        function = _function_of_name(name)
        given = {k: v for k, v in options.items() if k in inspect.signature(function).parameters}
        try:
            assert trace(Recipe(model, function, options=given)).outputs
        except fc.ModelError as error:  # says what it needs
            refused[name] = str(error)
    assert refused.keys() == {"internal_external"}, refused


def test_export_and_bench(tmp_path):
    cat = Path(__file__).parents[2] / "examples" / "robots" / "cat.urdf"

    def run(*arguments):
        return CliRunner(env={"COLUMNS": "100"}).invoke(cli.app, [str(a) for a in arguments])

    done = run("export", cat, "--function", "mass_matrix", "--target", "llvm", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "define" in (tmp_path / "out" / "mass_matrix.ll").read_text()
    for target, suffix in (("c", ".c"), ("cuda", ".cu")):
        done = run("export", cat, "--function", "mass_matrix", "--target", target, "--out", tmp_path / target)
        assert done.exit_code == 0, done.output
        written = [Path(line) for line in done.stdout.splitlines()]
        assert suffix in {path.suffix for path in written}
        assert all(path.stat().st_size > 100 for path in written)
    for arguments, message in [
        (["--function", "mass_matrx"], "do you mean 'mass_matrix'?"),
        (["--function", "load"], "there is no function 'load'"),
        (["--function", "integrability"], "integrability takes numbers only: it compares the curvature"),
        (["--function", "certify_reduced"], "certify_reduced takes numbers only: it judges residuals"),
        (["--function", "link_pose", "--option", "link=nowhere"], "there is no link or frame 'nowhere'"),
        (["--function", "mass_matrix", "--target", "fortran"], "target must be one of"),
        (["--function", "mass_matrix", "--option", "nonsense"], "--option must be name=value"),
        (["--function", "mass_matrix", "--out", cat / "below"], "cannot write to"),
    ]:
        full = arguments if "--out" in arguments else [*arguments, "--out", tmp_path]
        done = run("export", cat, *full)
        assert done.exit_code == 2
        assert message in done.output
    done = run("bench", cat, "--rounds", 2, "--batch", 10, "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["functions"]
    assert [row["name"] for row in rows][:2] == ["inverse_dynamics", "mass_matrix"]
    assert all(row["times_s"]["kernel"]["median"] > 0.0 for row in rows)
    assert "inverse_dynamics" in run("bench", cat, "--rounds", 1, "--batch", 10).stdout


def test_a_robot_whose_meshes_are_elsewhere_is_compared_with_the_others_too():
    """It was left out in silence: MuJoCo looked for the meshes."""
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")
    dog = fc.robots.quadruped()
    shape = Mesh("package://nowhere/leg.stl")
    worn = replace(dog, links=tuple(replace(link, visuals=(shape,), collisions=(shape,)) for link in dog.links))
    assert list(compare.peers(worn)) == ["Pinocchio", "MuJoCo"]
    assert "<mesh" not in compare.bare_urdf(worn)


def test_the_bare_robot_has_what_urdf_can_say():
    """Keyframes, actuators and tendons warned, which benchmarks of MJCF robots met."""
    dog = fc.robots.quadruped()
    assert "<link" in compare.bare_urdf(dog.add_keyframes(home=dog.neutral()))  # warnings are errors here
