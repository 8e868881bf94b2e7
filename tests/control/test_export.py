"""Controllers as C: written by `fallingcat export`, compiled by a C compiler, equal to Python."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat.cli.export_file import controller_exported
from fallingcat.control import BaseTask, JointsTask, PrioritizedControl
from fallingcat.control.whole_body.controller_file import read_controller
from fallingcat.errors import FileError, ModelError

CC = shutil.which("gcc") or shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None or sys.platform == "win32", reason="needs a C compiler")
REACH = """damping = 0.01
[[task]]
type = "position"
link = "end_effector"
goal = [1.0, 0.0, 3.0]
gain = 10.0
mask = [true, false, true]
[[task]]
priority = 2
type = "joints"
goal = { joint1 = 0.1, joint3 = 0.4 }
ratio = 0.7
"""


def compiled(folder, source):
    """The function of a C file, as Python calls it."""
    library = folder / "control.so"
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([CC, *strict, str(source), "-o", str(library), "-lm"], check=True, capture_output=True, text=True)
    function = ctypes.CDLL(str(library)).fc_control_torques

    def call(q, v, numbers, n):
        out, work = np.zeros(n), np.zeros(1_000_000)
        given = [np.ascontiguousarray(x, dtype=float) for x in (q, v, numbers)]
        function(*(x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (*given, out, work)))
        return out

    return call


@needs_cc
def test_a_controller_in_c_is_the_law(tmp_path):
    arm, file = fc.robots.planar_arm(), tmp_path / "reach.toml"
    file.write_text(REACH)
    fc.save(arm, tmp_path / "arm.toml")
    out = tmp_path / "c"
    given = ["export", tmp_path / "arm.toml", "--controller", file, "--out", out]
    done = CliRunner().invoke(cli.app, [str(x) for x in given])
    assert done.exit_code == 0, done.output
    header, source, _ = (out / f"fc_control_torques{end}" for end in (".h", ".c", "_test.c"))
    both = CliRunner().invoke(cli.app, [*(str(x) for x in given), "--function", "mass_matrix"])
    assert both.exit_code == 2
    assert "either a --function" in both.output
    law, rng = read_controller(file), np.random.default_rng(1)
    assert [len(level) for level in law.tasks] == [1, 1]
    call = compiled(tmp_path, source)
    for _ in range(5):
        state = arm.random_state(rng)
        found = call(*arm.flatten(state), law.numbers(arm), 3)
        assert found == pytest.approx(law.torques(arm, state), rel=1e-10, abs=1e-10)
    elsewhere = PrioritizedControl([[law.tasks[0][0].replaced(goal=[0.5, 0.0, 2.0])], law.tasks[1]], damping=0.01)
    assert call(*arm.flatten(state), elsewhere.numbers(arm), 3) == pytest.approx(
        elsewhere.torques(arm, state), rel=1e-10
    )
    said = header.read_text()
    assert "a2[0], 3: goal of PositionTask  end_effector" in said
    assert f"fc_control_numbers[{len(law.numbers(arm))}] = {{1.0, 0.0, 3.0, " in said


@needs_cc
@pytest.mark.slow
def test_a_quadruped_on_its_feet_in_c_is_the_law(tmp_path):
    dog, rng = fc.robots.quadruped(), np.random.default_rng(2)
    feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
    law = PrioritizedControl([[BaseTask(np.eye(4), gain=5.0)], [JointsTask(np.zeros(12))]], feet)
    _, source, _ = law.steered(dog, "c").write(tmp_path)
    call = compiled(tmp_path, source)
    for _ in range(5):
        state = dog.random_state(rng)
        found, expected = call(*dog.flatten(state), law.numbers(dog), 12), law.torques(dog, state)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contacts = []", "at least one"),
        ('[[task]]\ntype = "posture"', "there is no type of task 'posture'"),
        ("[[task]]\ngain = 1.0", "'type' is missing"),
        ('[[task]]\ntype = "base"\ngian = 1.0', "there is no key 'gian'; do you mean 'gain'"),
        ('[[task]]\ntype = "base"\npriority = 0', "integer of at least 1"),
        ('[[task]]\ntype = "base"\ngoal = [1.0]', "must be a pose"),
        ('[[task]]\ntype = "position"', "link"),
        ('contact = ["a"]\n[[task]]\ntype = "base"', "there is no key 'contact'; do you mean 'contacts'"),
        ('contacts = "a"\n[[task]]\ntype = "base"', "contacts"),
        ('damping = "much"\n[[task]]\ntype = "base"', "damping"),
        ('[[task]\ntype = "base"', "not TOML"),
    ],
)
def test_a_file_that_is_no_controller_is_refused_by_name(tmp_path, text, said):
    file = tmp_path / "odd.toml"
    file.write_text(text)
    with pytest.raises(FileError, match=said):
        read_controller(file)


def test_a_former_key_of_a_task_is_read_with_a_warning(tmp_path):
    file = tmp_path / "reach.toml"
    file.write_text('[[task]]\ntype = "position"\nplace = "hand"\ngoal = [0, 0, 1]')
    with pytest.warns(DeprecationWarning, match="place of PositionTask is now link"):
        assert read_controller(file).tasks[0][0].link == "hand"


def test_what_does_not_fit_the_robot_is_refused(tmp_path):
    file = tmp_path / "reach.toml"
    file.write_text(REACH)
    with pytest.raises(ModelError, match="end_effector"):
        controller_exported(fc.robots.cat(), str(file), str(tmp_path / "out"), "float64")
    with pytest.raises(ModelError, match="functions of time"):
        PrioritizedControl([[lambda t: BaseTask()]]).steered(fc.robots.cat())
