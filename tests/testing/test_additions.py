"""Additions from outside the library, on every path that they can take: the files of examples/extending."""

import sys

import numpy as np
import pytest
from heun import Heun
from hunt_crossley import HuntCrossley
from integral_law import Integral
from reach_task import ReachTask
from rod_loop import Rod
from saddle_joint import Saddle
from support.registries import restored
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat.cli import app
from fallingcat.control.whole_body.controller_file import KINDS as TASKS
from fallingcat.control.whole_body.controller_file import read_controller
from fallingcat.errors import FileError, ModelError
from fallingcat.model.loops import KINDS as LOOPS
from fallingcat.registry import Registry
from fallingcat.simulation import BatchSimulator
from fallingcat.testing import check_drivers_agree, check_law

ENTRY_POINTS = """
[fallingcat.joints]
saddle = saddle_joint:Saddle
[fallingcat.loops]
rod = rod_loop:Rod
[fallingcat.tasks]
reach = reach_task:ReachTask
[fallingcat.readers]
.sticks = sticks_format:read_sticks
[fallingcat.writers]
.sticks = sticks_format:write_sticks
[fallingcat.targets]
py = python_target:build
[fallingcat.studies]
arm = swinging_arm:SwingingArm
[fallingcat.study_files]
examples = swinging_studies
"""
DOG, ARM = fc.robots.quadruped(), fc.robots.planar_arm()
FEET = [frame.name for frame in DOG.frames]


@pytest.fixture(autouse=True)
def forgotten():
    """The registries of other tests know nothing of this."""
    with restored():
        yield


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with these entry points, as an installer would leave it."""
    about = tmp_path / "own_parts-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: own-parts\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    studies = tmp_path / "swinging_studies"
    studies.mkdir()
    (studies / "__init__.py").write_text("")
    here = next(path for path in sys.path if path.endswith("extending"))
    with open(f"{here}/swinging_arm.toml") as file:
        (studies / "swinging-arm.toml").write_text(file.read())
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def shaken(seed=1):
    """A random robot with saddles, and a rod to the world."""
    tree = fc.robots.random_tree(np.random.default_rng(seed), 4, kinds=[Saddle, "revolute"])
    return tree.close_loops(Rod("rod", tree.link_names[-1], None, 0.7, (0.1, 0.2, 0.3)))


def test_toml_keeps_joints_and_loops_of_other_packages(installed, tmp_path):
    """It saved, and then failed: there is no key 'r'."""
    robot, file = shaken(), tmp_path / "robot.toml"
    fc.save(robot, file)
    again = fc.load(file)
    state = robot.random_state(np.random.default_rng(2))
    np.testing.assert_array_equal(fc.mass_matrix(again, state), fc.mass_matrix(robot, state))
    assert repr(again.loops) == repr(robot.loops)
    assert "saddle" in file.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("length = 0.7", "lenght = 0.7", r"\[\[loop\]\] 'rod': there is no key 'lenght'; do you mean 'length'"),
        ("length = 0.7\n", "", "'length' is missing"),
        ('type = "rod"', 'type = "rob"', "there is no loop type 'rob'; do you mean 'rod'"),
        ('type = "saddle"', 'type = "sadle"', "there is no joint type 'sadle'; do you mean 'saddle'"),
        ("reach = ", "own = ", "there is no key 'own'"),
        ("reach = ", 'reach = "wide" # ', "reach is a number, not 'wide'"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(installed, tmp_path, old, new, said):
    file = tmp_path / "robot.toml"
    fc.save(shaken(), file)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(FileError, match=said):
        fc.load(file)


def test_what_is_not_known_is_not_written(tmp_path):
    with pytest.raises(ModelError, match="no file knows, Saddle: make it known"):
        fc.save(shaken(), tmp_path / "robot.toml")


def test_registries_refuse_what_they_cannot_hold():
    for kinds, what in ((fc.joints.KINDS, "JointKind"), (LOOPS, "Loop"), (TASKS, "Task")):
        with pytest.raises(ModelError, match=f"derived from {what}"):
            kinds.add("mine", int)
    with pytest.raises(ModelError, match="there is a kind of joint 'revolute' already"):
        fc.joints.KINDS.add("revolute", Saddle)
    with pytest.raises(ModelError, match=r"like '\.sdf'"):
        fc.io.READERS.add(".urdf", print)
    with pytest.raises(ModelError, match="one line of text"):
        Registry("part", "nobody.parts", {}).add("", int)
    with pytest.raises(KeyError):
        fc.joints.KINDS["nobody has it"]


def test_files_of_another_format_are_robots(installed, tmp_path):
    file = tmp_path / "three.sticks"
    file.write_text("1.0 2.0\n0.5 1.0\n0.25 0.5\n")
    robot = fc.load(file, gravity=[0.0, 0.0, -1.0])
    assert (robot.n, robot.mass, robot.gravity[2]) == (2, 3.5, -1.0)
    fc.save(robot, tmp_path / "again.sticks")
    assert (tmp_path / "again.sticks").read_text() == file.read_text()
    found = CliRunner().invoke(app, ["inspect", str(file), "--json"])
    assert found.exit_code == 0, found.output
    file.write_text("1.0\n")
    with pytest.raises(FileError, match=r"three.sticks: line 1 is two numbers"):
        fc.load(file)
    with pytest.raises(FileError, match=r"ends in .urdf, .xml, .sticks or .toml"):
        fc.load(tmp_path / "three.stick")


def test_a_target_of_ones_own(installed, tmp_path):
    state = ARM.random_state(np.random.default_rng(3))
    q, v = ARM.flatten(state)
    python = fc.compile(ARM, fc.mass_matrix, target="py")
    np.testing.assert_allclose(np.reshape(python(q, v), (3, 3)), fc.mass_matrix(ARM, state), rtol=1e-13)
    with pytest.raises(ModelError, match=r"target is one of cpu, c, cuda, casadi, jax, javascript, py, not 'fortran'"):
        fc.compile(ARM, fc.mass_matrix, target="fortran")
    fc.save(ARM, tmp_path / "arm.toml")
    asked = [
        "export",
        str(tmp_path / "arm.toml"),
        "--function",
        "mass_matrix",
        "--target",
        "py",
        "--out",
        str(tmp_path),
    ]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    assert (tmp_path / "mass_matrix.py").read_text() == python.source


def test_simulations_name_the_targets_that_they_run_on():
    """It said that it needs cupy."""
    with pytest.raises(ModelError, match=r"run on the target 'cpu' or 'cuda', not on 'c'"):
        fc.rollout(ARM, [ARM.neutral()], 0.1, target="c")
    with pytest.raises(ModelError, match=r"run on the target 'cpu' or 'cuda', not on 'jax'"):
        BatchSimulator(ARM, [ARM.neutral()], target="jax")


def test_studies_of_other_packages_are_listed_and_run(installed):
    found = CliRunner().invoke(app, ["study", "list"])
    assert found.exit_code == 0, found.output
    assert "swinging-arm" in found.output
    assert fc.studies.run("swinging-arm").holds


def test_a_task_of_ones_own_is_reached(installed, tmp_path):
    task = ReachTask(link=FEET[0], other=FEET[3], goal=[0.5])
    reached = fc.control.inverse_kinematics(DOG, [task], DOG.neutral())
    assert reached.converged
    assert task.value(DOG, reached.state) == pytest.approx([0.5], abs=1e-6)
    rates = fc.control.velocities(DOG, DOG.neutral(), [[task]]).velocity
    demand = task.demand(DOG, DOG.neutral())
    np.testing.assert_allclose(demand.J @ rates, demand.velocity, atol=1e-9)
    file = tmp_path / "controller.toml"
    file.write_text(f'[[task]]\ntype = "reach"\nlink = "{FEET[0]}"\nother = "{FEET[3]}"\ngoal = [0.5]\n')
    assert isinstance(read_controller(file).tasks[0][0], ReachTask)


@pytest.mark.parametrize("integrator", ["rkmk4", "implicit", None])
def test_a_loop_of_ones_own_stays_closed(integrator):
    rod = Rod("rod", "end_effector", None, 3.0, (0.5, 0.0, 1.0))
    robot = ARM.close_loops(rod)
    start = fc.constraints.assemble(robot, robot.state(joints=[0.4, 0.5, -0.3], rates=[0.5, 0.1, 0.0]))
    run = fc.simulate(robot, start, 0.2, integrator=integrator, dt=1e-3)
    assert run.status.startswith("finished")
    assert abs(fc.constraints.equations(robot, run.state(-1)).error).max() < 1e-5
    many = fc.rollout(robot, [start] * 2, 0.2, integrator=integrator, dt=1e-3)
    np.testing.assert_allclose(many.joints[-1, 1], run.joints[-1], rtol=0.0, atol=1e-9)


def test_an_integrator_of_ones_own_runs_alone_and_in_batches():
    start = ARM.state(joints=[0.4, 0.5, -0.3])
    one = fc.simulate(ARM, start, 0.1, Integral(2.0), integrator=Heun(), dt=1e-3)
    many = fc.rollout(ARM, [start] * 2, 0.1, Integral(2.0), integrator=Heun(), dt=1e-3)
    np.testing.assert_allclose(many.joints[-1, 1], one.joints[-1], rtol=0.0, atol=1e-12)
    simulator = BatchSimulator(ARM, [start] * 2, Integral(2.0), integrator=Heun(), dt=1e-3)
    simulator.step(100)
    np.testing.assert_allclose(simulator.state.joints[0], one.joints[-1], rtol=0.0, atol=1e-12)
    assert check_law(Integral(2.0), ARM).passed


# a contact and a law with a state, together -------------------------------------------------------------------------

GROUND = HuntCrossley(tuple(FEET), 3e5, 0.3, 0.7)
PLATE = fc.contact.HardContacts(tuple(FEET), friction=0.7)


@pytest.mark.parametrize(
    ("model", "contact"),
    [
        (DOG, GROUND),
        pytest.param(DOG, PLATE, marks=pytest.mark.slow),
        (ARM, None),
        (fc.robots.two_cylinder_cat(), None),
    ],
)
def test_every_entry_point_takes_them(model, contact):
    start = model.standing(contact) if contact else model.state(joints=np.linspace(0.1, 0.3, model.n))
    assert check_drivers_agree(model, [start], [Integral(1.0)], contact).passed


@pytest.mark.parametrize("target", ["cpu", pytest.param("casadi", marks=pytest.mark.slow), "jax"])
def test_the_step_of_every_target_takes_them(target):
    jax = pytest.importorskip("jax")
    floor = HuntCrossley(("end_effector",), 1e4, 0.3, 0.5)
    about = {"laws": [Integral(2.0)], "contact": floor, "dt": 1e-3, "integrator": "implicit", "driven": False}
    start = ARM.state(joints=[1.2, 0.9, 0.4])
    plain, made = (fc.simulation.step(ARM, **about, target=t) for t in ("numpy", target))
    q, v = ARM.flatten(start)
    found = (q, v, plain.begin(start)), (q, v, plain.begin(start))
    with jax.enable_x64(True):
        for _ in range(3):
            found = plain(*found[0]), made(*found[1])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(np.ravel(np.asarray(b)), np.ravel(a), rtol=1e-9, atol=1e-11)
