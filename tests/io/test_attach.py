"""Models made of models: ``<attach>``, read by us and by MuJoCo; and models that nobody should trust."""

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FileError
from fallingcat.io import read

mujoco = pytest.importorskip("mujoco")

HAND = """<mujoco model="hand"><compiler angle="radian" meshdir="parts" boundmass="0.01"/>
 <default><geom density="500"/><default class="thin"><geom size=".02"/></default></default>
 <asset><mesh name="m" file="m.obj" scale=".1 .1 .1"/></asset>
 <worldbody>
  <geom name="ground" type="plane" size="1 1 1"/>
  <body name="palm" pos=".1 0 0" euler="0.5 0 0"><joint name="wrist" axis="0 1 0" range="-1 1" ref="0.2"/>
   <geom type="mesh" mesh="m"/>
   <body name="finger" pos="0 0 .2" childclass="thin"><joint name="knuckle"/><geom type="sphere" pos="0 .1 0"/></body>
  </body>
 </worldbody>
 <actuator><motor joint="wrist"/></actuator>
</mujoco>"""
ARM = """<mujoco model="arm"><compiler angle="degree"/><default><geom density="2000"/></default>
 <asset><model name="hand" file="hand/hand.xml"/></asset>
 <worldbody>
  <body name="base" pos="0 0 .5">{top}<geom size=".1"/>
   <frame pos="0 .3 0" euler="0 0 90"><attach model="hand" body="palm" prefix="left_"/></frame>
   <body name="link" euler="30 0 0"><joint name="elbow" range="-90 90"/><geom type="box" size=".1 .1 .2"/>
    <attach model="hand" body="palm" prefix="right_"/>
   </body>
  </body>
 </worldbody>
 <actuator><motor joint="left_wrist"/></actuator>
</mujoco>"""
MESH = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hand" / "parts").mkdir(parents=True)
    (tmp_path / "hand" / "hand.xml").write_text(HAND)
    (tmp_path / "hand" / "parts" / "m.obj").write_text(MESH)
    (tmp_path / "arm.xml").write_text(ARM.format(top="<freejoint/>"))
    return tmp_path


def assert_as_in_mujoco(path, **options):
    ours, theirs = read(path, **options)[0], mujoco.MjModel.from_xml_path(str(path))
    names = [theirs.joint(i).name for i in range(theirs.njnt) if theirs.jnt_type[i]]
    assert list(ours.joint_names) == names
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    mujoco.mj_integratePos(theirs, data.qpos, rng.normal(size=theirs.nv), 1.0)
    mujoco.mj_forward(theirs, data)
    M = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, M)
    state = ours.from_mujoco(data.qpos)
    J = np.eye(theirs.nv)
    if ours.m:
        J[:3, :3] = state.pose[:3, :3]
    scale = np.sqrt(np.diag(M))
    np.testing.assert_allclose((J @ fc.mass_matrix(ours, state) @ J.T - M) / np.outer(scale, scale), 0, atol=1e-7)
    np.testing.assert_allclose(ours.mass, theirs.body_mass.sum(), rtol=1e-12)
    poses = fc.forward_kinematics(ours, state)
    for i in range(1, theirs.nbody):
        np.testing.assert_allclose(poses[theirs.body(i).name][:3, 3], data.xpos[i], atol=1e-12)
    for joint in ours.joints:
        np.testing.assert_allclose(joint.limits.upper, theirs.joint(joint.name).range[1] or np.inf, rtol=1e-12)
    return ours


@pytest.mark.parametrize("top", ["<freejoint/>", "", "<joint name='yaw'/>"])
def test_two_hands_on_an_arm(folder, top):
    (folder / "arm.xml").write_text(ARM.format(top=top))
    model = assert_as_in_mujoco(folder / "arm.xml")
    assert {"left_wrist", "right_knuckle", "elbow"} <= set(model.joint_names)


def test_models_attach_models(folder):
    (folder / "robot.xml").write_text(
        "<mujoco><asset><model name='arm' file='arm.xml'/></asset><worldbody><body name='trunk'><freejoint/>"
        "<geom size='.3'/><attach model='arm' body='link' prefix='a_'/></body></worldbody></mujoco>"
    )
    model = assert_as_in_mujoco(folder / "robot.xml")
    assert model.joint_names == ("a_elbow", "a_right_wrist", "a_right_knuckle")


def test_a_whole_model_in_a_frame(folder):
    (folder / "world.xml").write_text(
        "<mujoco><asset><model name='hand' file='hand/hand.xml'/></asset><worldbody>"
        "<frame pos='1 2 3' euler='0 0 90'><attach model='hand' prefix='h_'/></frame></worldbody></mujoco>"
    )
    assert assert_as_in_mujoco(folder / "world.xml").joint_names == ("h_wrist", "h_knuckle")


def refused(path, text=None, **options):
    if text is not None:
        path.write_text(text)
    with pytest.raises(FileError) as caught:
        read(path, **options)
    return str(caught.value)


def test_what_is_wrong_is_said(folder):
    arm = (folder / "arm.xml").read_text()
    path = folder / "bad.xml"
    assert "there is no model 'foot' to attach" in refused(
        path, arm.replace('attach model="hand"', 'attach model="foot"')
    )
    assert "the model 'hand' has no body 'thumb'" in refused(path, arm.replace('body="palm"', 'body="thumb"'))
    assert "the file 'ghost.xml' does not exist" in refused(path, arm.replace("hand/hand.xml", "ghost.xml"))
    assert "more than one body is called 'left_palm'" in refused(path, arm.replace("right_", "left_"))
    assert "has no frame 'palm'" in refused(path, arm.replace('body="palm"', 'frame="palm"'))
    assert "<frame> has no element <attached>" in refused(path, arm.replace("<attach ", "<attached "))
    (folder / "hand" / "hand.xml").write_text(HAND.replace("density", "densty"))
    words = refused(folder / "arm.xml")
    assert "hand.xml:2" in words
    assert "do you mean 'density'?" in words


def test_models_stay_in_the_robots_folder(folder):
    (folder / "robots").mkdir()
    path = folder / "robots" / "arm.xml"
    path.write_text((folder / "arm.xml").read_text().replace("hand/hand.xml", "../hand/hand.xml"))
    assert f"are read, up to '{folder}': inside=" in read(path)[1][0]
    with pytest.raises(FileError, match="leads out of the robot's folder"):
        read(path, inside=folder / "robots")
    assert read(path, inside=folder)[0].mass == read(folder / "arm.xml")[0].mass


def test_models_that_attach_themselves_or_too_much(tmp_path):
    one = "<mujoco><asset><model name='m' file='{}.xml'/></asset><worldbody><body name='b'>{}<geom size='.1'/></body>"
    attach = "<attach model='m' body='b' prefix='{}'/>"
    path = tmp_path / "0.xml"
    assert "at most 10 deep" in refused(path, one.format(0, attach.format("x")) + "</worldbody></mujoco>")
    for i in range(9):  # each holds the next twelve times
        text = one.format(i + 1, "".join(attach.format(f"{i}_{k}_") for k in range(12))) + "</worldbody></mujoco>"
        (tmp_path / f"{i}.xml").write_text(text)
    (tmp_path / "9.xml").write_text("<mujoco><worldbody><body name='b'><geom size='.1'/></body></worldbody></mujoco>")
    assert "at most 200,000 elements together" in refused(path)


def test_sections_of_attached_models_that_are_left_out_are_named(folder):
    more = """<tendon><fixed name="t"><joint joint="wrist" coef="1"/></fixed></tendon>
    <equality><joint joint1="wrist" joint2="knuckle"/></equality>
    <contact><exclude body1="palm" body2="finger"/></contact><keyframe><key qpos="0 0"/></keyframe></mujoco>"""
    (folder / "hand" / "hand.xml").write_text(HAND.replace("</mujoco>", more))
    said = "\n".join(read(folder / "arm.xml")[1])
    for words in ("actuators", "tendons", "equalities", "<pair> and <exclude>", "keyframes"):
        assert f"the {words} of an attached model are not read" in said
