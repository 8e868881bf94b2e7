"""The command `fallingcat`, as a user meets it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat.lie import SE3
from fallingcat.model import Body, Frame, Joint, Limits, Link, Model, Revolute

ROOT = Path(__file__).parents[2]
CAT = ROOT / "examples" / "robots" / "cat.urdf"
COMMAND = Path(sys.executable).with_name("fallingcat")
CORPUS = ROOT / "tests" / "corpus" / "toml"


def run(*arguments, **environment):
    """The installed command in a process of its own, on a terminal 80 columns wide unless said otherwise."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **environment},
        timeout=60,
    )


def inspect(*arguments, width=80):
    """The same in this process, which is faster."""
    return CliRunner(env={"COLUMNS": str(width)}).invoke(cli.app, ["inspect", *map(str, arguments)])


def named(name):
    body = Body(1.0, np.zeros(3), np.eye(3))
    joint = Joint(name, Revolute(), name, "other", limits=Limits(-1.0, 1.0))
    return Model(name, SE3(), (Link(name, body), Link("other", body)), (joint,), frames=(Frame(name + "!", name),))


# tables -------------------------------------------------------------------------------------------------------------


def test_the_output_in_the_documentation_is_what_comes_out(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = iter(inspect("examples/robots/cat.urdf").stdout.splitlines())
    block = (
        (ROOT / "docs" / "reference" / "cli.md")
        .read_text(encoding="utf-8")
        .partition("```text\nrobot ")[2]
        .partition("\n```")[0]
    )
    lines = [line for line in f"robot {block}".splitlines() if line != "..."]
    assert len(lines) > 15
    assert all(line in shown for line in lines)  # in this order: `in` consumes the iterator


def test_the_command_of_the_readme():
    done = run("inspect", CAT)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    for words in ("cat", "SE(3), link front", "16 = 6 of the base + 10 of 10 joints", "4 kg", "0 0 -9.81 m/s^2"):
        assert words in text
    for name in (*fc.robots.cat().link_names, *fc.robots.cat().joint_names):
        assert name in text
    assert "-1.4 to 1.4" in text
    assert text.count("\n  ok ") == 4
    assert "\x1b" not in text  # no colours into a pipe


@pytest.mark.parametrize(
    "robot", ["cat", "humanoid", "quadruped", "orbital_arm", "revolute_hopper", "two_cylinder_cat"]
)
@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(tmp_path, robot, width):
    fc.save(getattr(fc.robots, robot)(), tmp_path / "a.toml")
    done = inspect(tmp_path / "a.toml", width=width)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= width


def test_long_names_are_folded_not_cut(tmp_path):
    name = "a_very_long_name_" * 12
    fc.save(named(name), tmp_path / "a.urdf")
    done = inspect(tmp_path / "a.urdf")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "".join(line.split(" ")[0] for line in done.stdout.splitlines()).count(name) >= 2


def test_wild_numbers_stay_within_the_terminal(tmp_path):
    rng = np.random.default_rng(0)
    model = fc.robots.random_tree(rng, 12)
    wild = [replace(j, limits=Limits(-1e-200 / 3, 1e200 / 3, 1e100 / 3, 1e-100 / 3)) for j in model.joints]
    body = Body(1e20 / 3, -1e8 / 3 * np.ones(3), 1e30 / 3 * np.eye(3))
    model = replace(model, joints=tuple(wild)).replace_body(model.links[0].name, body)
    fc.save(model, tmp_path / "a.toml")
    done = inspect(tmp_path / "a.toml", "--keep-fixed")
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_hundreds_of_links_do_not_flood(tmp_path):
    model = fc.robots.random_tree(np.random.default_rng(0), 200, ["revolute"], branching=0.0)
    fc.save(model, tmp_path / "a.toml")
    short, long = inspect(tmp_path / "a.toml"), inspect(tmp_path / "a.toml", "--all")
    assert len(short.stdout.splitlines()) < 180
    assert "and 141 more links; --all shows them" in short.stdout
    assert "link200" in long.stdout
    assert "link200" not in short.stdout


def test_warnings_are_shown_with_their_lines():
    done = inspect(CORPUS / "47_axis_of_length_2.toml")
    assert done.exit_code == 0
    assert "1 warning\n  line 14: [[joint]] 'spine': the axis has length 2 and was brought to 1" in done.stdout


def test_options():
    assert inspect(CORPUS / "33_triangle.toml").exit_code == 2
    done = inspect(CORPUS / "33_triangle.toml", "--physics", "warn")
    assert done.exit_code == 0
    assert "note  inertias that a body can have" in done.stdout
    assert "base     SE(2), link front" in inspect(CAT, "--base", "planar").stdout
    assert "front_left_paw" in inspect(CAT, "--keep-fixed", "--json").stdout
    assert len(json.loads(inspect(CAT, "--keep-fixed", "--json").stdout)["links"]) == 15


def test_version_and_help():
    assert run("--version").stdout.decode() == f"fallingcat {fc.__version__}\n"
    text = run("--help").stdout.decode()
    assert "inspect" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "--keep-fixed" in run("inspect", "--help").stdout.decode()


def test_help_loads_neither_reader_nor_tables():
    heavy = {"rich", "pydantic", "defusedxml", "scipy", "jax"}
    code = f"import sys, fallingcat.cli; print([m for m in {sorted(heavy)} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# json ---------------------------------------------------------------------------------------------------------------


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def test_json_says_everything():
    done = run("inspect", CAT, "--json")
    data = json.loads(done.stdout, parse_constant=refuse)
    model = fc.load(CAT)
    assert " ".join(data) == (
        "schema file name base dimensions mass kinematic gravity links joints actuators tendons force_elements driven "
        "loops frames checks warnings ignored"
    )
    assert data["schema"] == 1
    assert data["base"] == {"group": "SE(3)", "link": "front"}
    assert data["dimensions"] == {"m": 6, "n": 10, "nv": 16, "nq": 17}
    assert data["driven"] == list(model.joint_names)
    assert data["mass"] == model.mass
    for link, said in zip(model.links, data["links"], strict=True):
        assert list(said) == ["name", "mass", "center", "inertia", "principal_inertia"]
        np.testing.assert_array_equal(said["inertia"], link.body.inertia)
    for joint, said in zip(model.joints, data["joints"], strict=True):
        keys = "name type parent child degrees_of_freedom axis axis2 pitch placement offset limits armature "
        keys += "passive mimic"
        assert " ".join(said) == keys
        assert (said["name"], said["parent"], said["child"]) == (joint.name, joint.parent, joint.child)
        np.testing.assert_array_equal(said["placement"], joint.placement)
    assert {check["rule"]: check["problems"] for check in data["checks"]}
    assert data["warnings"] == []


def test_infinite_limits_are_null():
    data = json.loads(run("inspect", ROOT / "examples/robots/gantry.toml", "--json").stdout, parse_constant=refuse)
    limits = {joint["name"]: joint["limits"] for joint in data["joints"]}
    assert limits["travel"] == {"lower": None, "upper": None, "velocity": None, "effort": None}
    assert limits["screw"] == {"lower": -300.0, "upper": 300.0, "velocity": 60.0, "effort": 8.0}


# errors -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-file.urdf"],
        ["robot.obj"],
        [CORPUS / "02_cut_off.toml"],
        [CORPUS / "37_nested.toml"],
        [CORPUS / "41_control_in_name.toml"],
        [CORPUS / "44_three_mistakes.toml"],
        [CORPUS],
        [CAT, "--base", "flying"],
        [CAT, "--physics", "lax"],
        ["bad\x1b[31m.urdf"],
    ],
    ids=str,
)
def test_a_bad_file_is_one_line_and_exit_code_2(arguments):
    done = inspect(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip("\n").isprintable()
    assert "Traceback" not in done.stderr


def test_the_way_out_is_an_option_of_the_command(tmp_path):
    ball = "<body name='{}'><freejoint/><geom size='.1'/></body>"
    file = tmp_path / "a" / "b" / "c" / "robots" / "two.xml"
    file.parent.mkdir(parents=True)
    (tmp_path / "other.xml").write_text(f"<mujoco>{ball.format('left ball')}</mujoco>")
    far = "<include file='../../../../other.xml'/>"  # three folders above are read without the option
    file.write_text(f"<mujoco><worldbody>{ball.format('a')}{far}</worldbody></mujoco>")
    refused = CliRunner().invoke(cli.app, ["inspect", str(file)])
    assert (refused.exit_code, f"(load with --inside {tmp_path} to" in refused.stderr) == (2, True)
    scene = CliRunner().invoke(cli.app, ["inspect", str(file), "--inside", str(tmp_path)])
    assert (scene.exit_code, "left ball" in scene.stdout) == (0, True)  # both, as one scene
    arguments = ["inspect", str(file), "--inside", str(tmp_path), "--root", "left ball"]
    assert "base     SE(3), link left ball" in CliRunner().invoke(cli.app, arguments).stdout


def test_a_bad_file_in_a_process_of_its_own():
    done = run("inspect", CORPUS / "12_nan.toml", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().endswith("[[link]] 'rear': mass: should be a finite number, not nan\n")


def test_what_should_not_happen_is_one_line_too(monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("two\nlines \x1b[31m")

    monkeypatch.setattr("fallingcat.io.examine", broken)
    done = inspect(CAT)
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "unexpected ZeroDivisionError: two\\nlines \\x1b[31m" in done.stderr
    assert "please report" in done.stderr


def test_a_closed_pipe_is_no_error():
    done = subprocess.run(["bash", "-c", f"'{COMMAND}' inspect '{CAT}' | head -n 1"], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("robot")


# what a file says is not obeyed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["[red]x[/]", "[/]", "[link=file:///etc/passwd]x[/link]", ":cat:", "{x}", "%s", "[bold"]
)
def test_markup_in_names_is_shown_not_obeyed(tmp_path, name):
    fc.save(named(name), tmp_path / "a.urdf")
    done = run("inspect", tmp_path / "a.urdf", FORCE_COLOR="1")
    text = done.stdout.decode()
    assert done.returncode == 0
    assert text.count(name) >= 3
    assert "\x1b[31m" not in text


@pytest.mark.parametrize("name", ["\u202egpj.exe", "x\u2066y", "a\u00a0b\u200b"])
def test_invisible_characters_in_names_are_made_visible(tmp_path, name):
    fc.save(named(name), tmp_path / "a.toml")
    text = inspect(tmp_path / "a.toml").stdout
    assert not set(name) & set(text) - {c for c in name if c.isprintable()}
    assert "\\u20" in text or "\\xa0" in text


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path):
    fc.save(named("猫"), tmp_path / "a.toml")
    done = run("inspect", tmp_path / "a.toml", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert b"\\u732b" in done.stdout


def test_the_way_out_for_massless_joints_works_on_the_command_line(tmp_path):
    body = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    joint = "<joint name='{0}' type='continuous'><parent link='{1}'/><child link='{2}'/><axis xyz='0 0 1'/></joint>"
    links = f"<link name='a'>{body}</link><link name='b'>{body}</link><link name='tip'/>"
    file = tmp_path / "robot.urdf"
    file.write_text(f"<robot name='r'>{links}{joint.format('j', 'a', 'b')}{joint.format('k', 'b', 'tip')}</robot>")
    run = CliRunner().invoke
    shown = run(cli.app, ["inspect", str(file)])
    assert (shown.exit_code, "--massless weld" in shown.stdout) == (0, True)
    assert json.loads(run(cli.app, ["inspect", str(file), "--json"]).stdout)["kinematic"] is True
    refused = run(cli.app, ["certify", str(file), "--states", "1"])
    assert refused.exit_code == 2
    assert "'r' is a kinematic model" in refused.stderr
    assert "'tip' (give them masses; or load the file with --massless weld)" in refused.stderr
    welded = run(cli.app, ["inspect", str(file), "--massless", "weld", "--json"])
    assert json.loads(welded.stdout)["kinematic"] is False


def test_what_acts_and_what_is_ignored_is_reported(tmp_path):
    body = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    shape = "<visual><geometry><sphere radius='1'/></geometry></visual>"
    file = tmp_path / "robot.urdf"
    file.write_text(f"<robot name='r'><link name='a'>{body}{shape}{shape}</link><transmission/></robot>")
    text = CliRunner().invoke(cli.app, ["inspect", str(file)]).stdout
    assert "acts     joints, masses, inertias, gravity" in text
    assert "ignored  1 x <transmission>: drives are not modelled" in text
    assert "shapes   1 links drawn on pages, 0 for fc.contact.collision_points and feet" in text
    assert "visual" not in text  # shapes are read: pages draw them
    assert "limits" not in text
    data = json.loads(CliRunner().invoke(cli.app, ["inspect", str(file), "--json"]).stdout)
    assert data["ignored"] == {"<transmission>: drives are not modelled": 1}
