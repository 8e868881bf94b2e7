"""Loops of files: equalities of MJCF, mimic joints of URDF, tables of TOML."""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given
from laws import generators
from typer.testing import CliRunner

import fallingcat as fc
from fallingcat import cli
from fallingcat import constraints as loops
from fallingcat.errors import FileError

LEG = """
<mujoco model="leg">
  <compiler angle="radian"/>
  <default><geom mass="1"/></default>
  <worldbody>
    <site name="hook" pos="0.2 0.2 0.5" quat="0.6 0 0 0.8"/>
    <body name="base" pos="0.1 0.2 1">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05"/>
      <body name="thigh" pos="0 0 -0.05">
        <joint name="hip" axis="0 1 0" ref="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.02"/>
        <site name="knee site" pos="0.1 0 -0.4"/>
        <body name="shank" pos="0.1 0 -0.4">
          <joint name="knee" axis="0 1 0" ref="-0.3"/>
          <geom type="capsule" fromto="0 0 0 -0.1 0 -0.4" size="0.02"/>
        </body>
      </body>
      <body name="rod" pos="-0.1 0 -0.05">
        <joint name="rod x" type="slide" axis="1 0 0"/><joint name="rod y" type="slide" axis="0 1 0"/>
        <joint name="rod z" type="slide" axis="0 0 1"/><joint name="rod" type="ball"/>
        <geom type="capsule" fromto="0 0 0 0.1 0 -0.4" size="0.01"/>
        <site name="rod site" pos="0.1 0 -0.4" quat="0.8 0 0.6 0"/>
      </body>
      <body name="slider" pos="0 0.2 0">
        <joint name="slide" type="slide" axis="1 0 0"/>
        <geom type="box" size="0.02 0.02 0.02"/>
      </body>
    </body>
  </worldbody>
  <equality>{equality}</equality>
</mujoco>
"""
EQUALITIES = {
    "connect": '<connect name="c" body1="shank" body2="rod" anchor="0.02 0 -0.1"/>',
    "connect to the world": '<connect name="c" body1="shank" anchor="0.02 0 -0.1"/>',
    "connect sites": '<connect name="c" site1="knee site" site2="rod site"/>',
    "connect a site of the world": '<connect name="c" site1="knee site" site2="hook"/>',
    "connect to a site of the world": '<connect name="c" site1="hook" site2="rod site"/>',
    "weld a site of the world": '<weld name="c" site1="hook" site2="rod site"/>',
    "weld": '<weld name="c" body1="rod" body2="shank"/>',
    "weld at a pose": '<weld name="c" body1="rod" body2="shank" relpose="0.1 0 0.2 0.8 0 0.6 0"/>',
    "weld sites": '<weld name="c" site1="knee site" site2="rod site"/>',
    "joint": '<joint name="c" joint1="knee" joint2="hip" polycoef="0.1 -2 0.3 0.1 0.05"/>',
    "joint and slider": '<joint name="c" joint1="slide" joint2="hip"/>',
    "one joint": '<joint name="c" joint1="knee" polycoef="0.25 0 0 0 0"/>',
}


def file_with(tmp_path, equality):
    path = tmp_path / "leg.xml"
    path.write_text(LEG.format(equality=equality))
    return path


@pytest.mark.parametrize("equality", EQUALITIES.values(), ids=EQUALITIES)
def test_errors_are_those_of_mujoco(tmp_path, equality):
    """The same rows are zero where MuJoCo's are, and their Jacobians span the same space."""
    path = file_with(tmp_path, equality)
    model, peer = fc.load(path, loops="close"), mujoco.MjModel.from_xml_path(str(path))
    peer.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    peer.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, rng = mujoco.MjData(peer), np.random.default_rng(0)
    near = model.from_mujoco(data.qpos)
    state = loops.assemble(model, fc.dynamics.displace(model, near, 0.05 * rng.normal(size=model.nv)), base=True)
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(peer, data)
    rows = loops.equations(model, state)
    assert data.nefc == len(rows.error)
    assert np.abs(data.efc_pos).max() < 1e-9
    T = fc.exchange.mujoco(model).velocity_map(model.flatten(state)[0])
    both = np.concatenate([data.efc_J.reshape(data.nefc, -1) @ T, rows.jacobian])
    assert np.linalg.matrix_rank(both, tol=1e-7) == np.linalg.matrix_rank(rows.jacobian, tol=1e-7)


def test_loops_stay_open_unless_asked_for(tmp_path):
    path = file_with(tmp_path, EQUALITIES["connect"])
    with pytest.warns(fc.FileWarning, match='loops="close"'):
        assert not fc.load(path).loops
    off = file_with(tmp_path, '<joint joint1="knee" joint2="hip" active="false"/>')
    assert not fc.load(off, loops="close").loops
    with pytest.raises(fc.FallingCatError, match="loops is"):
        fc.load(path, loops="shut")


URDF = """<robot name="gripper">
<link name="palm">{mass}</link><link name="left">{mass}</link><link name="right">{mass}</link>
<joint name="a" type="revolute"><parent link="palm"/><child link="left"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="b" type="revolute"><parent link="palm"/><child link="right"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/>{mimic}</joint></robot>"""
MASS = "<inertial><mass value='1'/><inertia ixx='.1' iyy='.1' izz='.1' ixy='0' ixz='0' iyz='0'/></inertial>"


def test_mimic_joints_follow(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(URDF.format(mass=MASS, mimic='<mimic joint="a" multiplier="-2" offset="0.1"/>'))
    assert not fc.load(path).loops
    model = fc.load(path, loops="close")
    state = loops.assemble(model, model.state(joints={"a": 0.3}, rates={"a": 1.0}), held=["a"])
    np.testing.assert_allclose(state.joints, [0.3, -0.5], atol=1e-14)
    np.testing.assert_allclose(state.rates, [1.0, -2.0], atol=1e-14)
    path.write_text(URDF.format(mass=MASS, mimic='<mimic joint="c"/>'))
    with pytest.raises(FileError, match="'c', which is to be mimicked, does not exist"):
        fc.load(path, loops="close")


# TOML ---------------------------------------------------------------------------------------------------------------


def looped(rng):
    """A robot with a loop of every kind, between links, frames and the world."""
    tree = fc.robots.random_tree(rng, 5, kinds=["revolute", "prismatic"])
    (a, b, *_), (i, j, *_) = tree.link_names, tree.joint_names
    frame, H = fc.model.Frame("tip", b, fc.lie.SE3().random(rng)), fc.lie.SE3().random(rng)
    return replace(tree, frames=(frame,)).close_loops(
        fc.model.Pin("ball", a, "tip", rng.normal(size=3), rng.normal(size=3)),
        fc.model.Pin("hook", b),
        fc.model.Weld("glue", "tip", a, H),
        fc.model.Weld("screw", b),
        fc.model.Couple("gear", i, j, tuple(rng.normal(size=4))),
        fc.model.Couple("lock", j, None, (0.2,)),
    )


@given(rng=generators())
def test_toml_keeps_loops_to_the_last_digit(tmp_path_factory, rng):
    model, path = looped(rng), tmp_path_factory.mktemp("loops") / "robot.toml"
    fc.save(model, path)
    again, state = fc.load(path), model.random_state(rng)
    assert [loop.name for loop in again.loops] == [loop.name for loop in model.loops]
    for ours, theirs in zip(loops.equations(model, state), loops.equations(again, state), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not fc.load(path, loops="open").loops


def test_a_loop_of_ones_own_is_not_written(tmp_path):
    class Own(fc.model.Couple):
        pass

    tree = fc.robots.cat()
    model = tree.close_loops(Own("mine", *tree.joint_names[:2]))
    with pytest.raises(fc.ModelError, match="loop 'mine' is of a kind that no file knows, Own: make it known"):
        fc.save(model, tmp_path / "cat.toml")


TREE = """base = "fixed"
link = [{ name = "wall" }, { name = "arm", mass = 1 }]
joint = [{ name = "hinge", type = "revolute", parent = "wall", child = "arm", position = [1, 0, 0] }]
"""


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("type = 'pin'", r"'x': 'first' is missing"),
        ("type = 'pn'\nfirst = 'arm'", r"'x': there is no loop type 'pn'; do you mean 'pin'"),
        ("type = 'pin'\nfirst = 'amr'", r"\[\[loop\]\] 'x': the first link 'amr' does not exist; do you mean 'arm'"),
        ("type = 'weld'\nfirst = 'arm'\nsecond = 'tip'", r"'x': the second link 'tip' does not exist"),
        ("type = 'pin'\nfirst = 'arm'\nangle = 1", r"'x': a loop of type 'pin' has no angle"),
        ("type = 'couple'\njoint = 'ghost'", r"loop 'x' couples the joint 'ghost', which does not exist"),
        ("type = 'couple'\njoint = 'hinge'\ncoefficients = []", r"'x': coefficients"),
        ("type = 'weld'\nfirst = 'arm'\nangle = 1\nrpy = [0, 0, 1]", r"'x': only one of angle, rpy"),
        ("type = 'pin'\nfirst = 'arm'\n[[loop]]\nname = 'x'\ntype = 'pin'\nfirst = 'wall'", "two loops are called 'x'"),
    ],
)
def test_wrong_loops_are_named(tmp_path, loop, message):
    path = tmp_path / "robot.toml"
    path.write_text(f"{TREE}[[loop]]\nname = 'x'\n{loop}\n")
    with pytest.raises(FileError, match=message):
        fc.load(path)


def test_loops_are_an_option_of_the_command(tmp_path):
    path = tmp_path / "gripper.urdf"
    path.write_text(URDF.format(mass=MASS, mimic='<mimic joint="a"/>'))
    run = CliRunner().invoke
    opened = ["inspect", str(path), "--loops", "open"]
    assert "as --loops open asks: both are independent" in " ".join(run(cli.app, opened).stdout.split())
    closed = ["inspect", str(path), "--loops", "close"]
    assert "1: b mimics a; fallingcat.constraints and runs close them" in " ".join(run(cli.app, closed).stdout.split())
    (loop,) = json.loads(run(cli.app, [*closed, "--json"]).stdout)["loops"]
    assert (loop["type"], loop["joints"], loop["equations"]) == ("couple", ["b", "a"], 1)
    wrong = run(cli.app, ["inspect", str(path), "--loops", "shut"])
    assert (wrong.exit_code, "loops is" in wrong.stderr) == (2, True)
