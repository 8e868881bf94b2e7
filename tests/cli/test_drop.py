"""``fallingcat drop`` and ``fallingcat gait`` as a user meets them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.cli.text import open_page


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "two.toml"
    fc.save(fc.robots.two_cylinder_cat(), path)
    return path


def test_drop_json_is_what_the_readme_promises(tmp_path):
    page = tmp_path / "cat.html"
    result = run("drop", "--json", "--out", page)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert list(data) == ["turned_deg", "angular_momentum", "energy_residual", "peak_torque", "seconds", "page"]
    assert data["turned_deg"] == pytest.approx(180.0, abs=2.0)
    assert data["angular_momentum"] < 1e-10
    assert data["energy_residual"] < 1e-3
    assert Path(data["page"]) == page
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_drop_prints_a_table_for_any_robot(robot, tmp_path):
    result = run("drop", "--model", robot, "--tilt", 90, "--seed", 7, "--no-open", "--out", tmp_path / "p.html")
    assert result.exit_code == 0, result.output
    assert "turned by         90.0" in result.stdout
    assert "angular momentum" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "p.html" not in line)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--height", "0.5"], "m higher, from"),
        (["--height", "nan"], "meters"),
        (["--tilt", "200"], "up to 180"),
        (["--joints", "spine_side", "wing"], "there is no joint 'wing'"),
        (["--model", "nowhere.urdf"], "nowhere.urdf"),
        (["--model", "dragon"], "no robot of this name is installed"),
        (["--model", "humanoid"], "'humanoid' cannot turn over by 180 degrees"),
        (["--out", "no/such/folder/p.html"], "cannot be written"),
    ],
)
def test_drop_errors_are_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("drop", "--no-open", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_gait_shows_how_far_bends_turn(robot, tmp_path):
    page = tmp_path / "gait.html"
    result = run("gait", robot, "--joints", "spine_z", "spine_y", "--reach", 40, "--json", "--out", page)
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    last = data["circles"][-1]
    assert data["component"] == "rx"
    assert data["frame"] == "minimum_perturbation"
    assert last["radius"] == pytest.approx(0.6981317)
    assert last["exact"][3] == pytest.approx(2.1705, abs=1e-3)  # 124.4 degrees, THEORY.md
    assert last["estimate"][3] == pytest.approx(last["exact"][3], rel=1e-3)
    assert data["best"]["status"] == "optimal"
    assert data["best"]["exact"][3] > data["best_circle"]["exact"][3] > 0.99 * last["exact"][3]
    assert max(map(abs, data["best"]["mean"])) <= 0.6981318
    assert "zero curvature" in page.read_text(encoding="utf-8")


def test_gait_prints_a_table(robot, tmp_path):
    page = tmp_path / "g.html"
    result = run("gait", robot, "--joints", "spine_z", "spine_y", "--plot", "--no-open", "--no-optimize", "--out", page)
    assert result.exit_code == 0, result.output
    assert "41.89" in result.stdout
    assert "rx 195.45 deg around (0 deg, 0 deg) with radius 60 deg" in result.stdout  # beyond half a turn
    assert "best gait" not in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "g.html" not in line)
    assert page.exists()


@pytest.mark.parametrize("frame", ["base", "center_of_mass", "virtual_chassis"])
def test_gait_takes_a_frame_and_leaves_the_page_out(robot, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["gait", robot, "--joints", "spine_z", "spine_y", "--reach", 20, "--frame", frame, "--no-optimize"]
    result = run(*arguments, "--no-plot", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert (data["frame"], data["page"], data["best"]) == (frame, None, None)
    assert data["circles"][-1]["exact"][3] == pytest.approx(0.731156, abs=1e-5)  # 41.9 degrees: no matter the frame
    assert list(tmp_path.iterdir()) == [robot]


def test_gait_works_without_casadi_and_names_the_extra_when_asked(robot, tmp_path, monkeypatch):
    import importlib.util as util

    real = util.find_spec
    monkeypatch.setattr(
        "fallingcat.planning.gaits.survey.find_spec", lambda name: None if name == "casadi" else real(name)
    )
    monkeypatch.setattr("fallingcat.cli.gait_file.find_spec", lambda name: None if name == "casadi" else real(name))
    monkeypatch.setitem(sys.modules, "casadi", None)  # importing it fails
    arguments = ["gait", robot, "--joints", "spine_z", "spine_y", "--reach", 20, "--no-plot"]
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "of any form: pip install '.[casadi]' in a clone of fallingcat" in result.stdout
    result = run(*arguments, "--optimize")
    assert result.exit_code == 2
    assert "needs casadi: pip install '.[casadi]' in a clone of fallingcat" in result.stderr
    assert result.stderr.count("\n") == 1


def test_joints_that_bend_one_way_are_studied_around_another_shape(tmp_path):
    path = tmp_path / "legs.toml"
    fc.save(fc.robots.humanoid(), path)
    result = run("gait", path, "--joints", "left_knee_pitch", "left_hip_pitch", "--reach", 20, "--json", "--no-plot")
    assert result.exit_code == 0, result.output
    data, knee = json.loads(result.stdout), fc.robots.humanoid().joints[3]
    assert knee.name == "left_knee_pitch"
    radius, center = data["best_circle"]["radius"], data["best_circle"]["center"]
    assert knee.limits.lower <= center[0] - radius
    waves = np.array([data["best"]["cosines"], data["best"]["sines"]])
    s = np.linspace(0.0, 2.0 * np.pi, 500)
    h = np.arange(1, waves.shape[1] + 1)
    q = data["best"]["mean"][0] + np.cos(np.outer(s, h)) @ waves[0, :, 0] + np.sin(np.outer(s, h)) @ waves[1, :, 0]
    assert knee.limits.lower - 1e-8 <= q.min() < q.max() <= knee.limits.upper
    assert np.ptp(q) <= 2 * np.radians(20.0) + 1e-6


def test_sliders_are_shown_in_meters(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "slider.toml"
    fc.save(fc.robots.random_tree(rng, 2, ("prismatic",)), path)
    names = fc.load(path).joint_names
    result = run(
        "gait", path, "--joints", *names, "--reach", 10, "--no-open", "--no-optimize", "--out", tmp_path / "s.html"
    )
    assert result.exit_code == 0, result.output
    assert "bend m " in result.stdout
    assert f"{names[0]} (m)" in (tmp_path / "s.html").read_text(encoding="utf-8")


def test_gait_of_a_planar_robot_on_another_base(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "planar.toml"
    fc.save(fc.robots.random_tree(rng, 2, ("revolute",), base=fc.lie.SE2(), planar=True), path)
    model = fc.load(path)
    result = run("gait", path, "--joints", *model.joint_names, "--reach", 40, "--json", "--no-plot")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["component"] == "rz"
    assert abs(data["best"]["exact"][5]) >= abs(data["best_circle"]["exact"][5])
    for circle in data["circles"]:  # on a plane turns commute: the estimate of the angle is exact
        assert circle["estimate"][5] == pytest.approx(circle["exact"][5], abs=1e-8)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--joints", "spine_z", "spine_z"], "twice"),
        (["--joints", "spine_z", "tail"], "there is no joint 'tail'"),
        (["--joints", "spine_z", "spine_y", "--reach", "-3"], "positive angle"),
        (["--joints", "spine_z", "spine_y", "--component", "roll"], "component must be one of"),
        (["--joints", "spine_z", "spine_y", "--base", "fixed"], "fixed"),
        (["--joints", "spine_z", "spine_y", "--frame", "tail"], "frame is one of"),
    ],
)
def test_gait_errors_are_one_line(robot, arguments, words):
    result = run("gait", robot, "--no-open", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("screen", "opened"), [({}, []), ({"DISPLAY": ":0"}, ["page.html"])])
def test_a_page_is_opened_only_where_there_is_a_screen(monkeypatch, screen, opened):
    asked = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("typer.launch", asked.append)
    open_page("page.html")
    assert asked == opened


def test_oddities_of_a_file_are_counted_in_a_line(tmp_path):
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    odd = tmp_path / "odd.urdf"
    odd.write_text(f"<robot name='odd'><link name='a'>{inertial}<oddity/></link><strange/></robot>")
    done = CliRunner().invoke(app, ["drop", "--model", str(odd), "--no-open"])
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0] == "2 warnings about the file; see fallingcat inspect"
