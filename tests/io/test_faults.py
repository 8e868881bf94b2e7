"""Faults of URDF files: refused strictly, with the option that reads them; with it each is a warning."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.errors import FileError
from fallingcat.io import read
from fallingcat.lie import SE3, Trivial
from fallingcat.model import Spherical

MOMENTS = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
INERTIAL = f"<inertial><mass value='1'/>{MOMENTS}</inertial>"
ENDS = "<parent link='a'/><child link='b'/>"
STRAY = "<parent link='c'/><child link='d'/>"
HINGE = f"<joint name='j' type='continuous'>{ENDS}<axis xyz='0 0 1'/></joint>"


def robot(arm=INERTIAL, joint=HINGE, base=INERTIAL, more=""):
    return f"<robot name='r'>\n<link name='a'>{base}</link>\n<link name='b'>{arm}</link>\n{joint}\n{more}</robot>"


FAULTS = {
    "mass": (robot(f"<inertial>{MOMENTS}</inertial>"), "the mass is missing"),
    "value": (robot(f"<inertial><mass/>{MOMENTS}</inertial>"), "the mass is missing"),
    "inertia": (robot("<inertial><mass value='1'/></inertial>"), "<inertia> is missing"),
    "moment": (robot(INERTIAL.replace(" ixy='0'", "")), "'ixy'"),
    "two inertials": (robot(INERTIAL + INERTIAL.replace("'1'", "'2'")), "only one <inertial>"),
    "two inertias": (robot(f"<inertial><mass value='1'/>{MOMENTS}{MOMENTS}</inertial>"), "only one <inertia>"),
    "two axes": (robot(joint=HINGE.replace("</joint>", "<axis xyz='1 0 0'/></joint>")), "only one <axis>"),
    "mimic": (robot(joint=HINGE.replace("</joint>", "<mimic joint='ghost'/></joint>")), "'ghost'"),
    "parent": (robot(more="<joint name='k' type='fixed'><parent link='c'/><child link='a'/></joint>"), "'c'"),
    "collision": (robot(INERTIAL + "<collision/>"), "needs a <geometry>"),
    "xacro": (robot(more="<xacro:arm/>"), "xacro"),
    "comma": (robot(joint=HINGE.replace("</joint>", "<origin xyz='0.5, 0 1'/></joint>")), "not '0.5,'"),
    "dot": (robot(joint=HINGE.replace("</joint>", "<dynamics damping='0.25.'/></joint>")), "not '0.25.'"),
    "four numbers": (robot(joint=HINGE.replace("</joint>", "<origin rpy='0 0 0 0'/></joint>")), "3 numbers, not 4"),
    "NUL": (robot() + "\n\0", "NUL byte at the end"),
    "piece": (robot(more="<link name='d'/>" + f"<joint name='k' type='fixed'>{STRAY}</joint>"), "'d'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused_and_read_where_that_is_asked(name, tmp_path):
    text, message = FAULTS[name]
    (path := tmp_path / "robot.urdf").write_text(text)
    with pytest.raises(FileError, match=message) as refused:
        read(path)
    assert 'faults="warn"' in str(refused.value) or 'xacro="skip"' in str(refused.value)
    model, warnings = read(path, faults="warn")
    assert len(model.links) + len(model.frames) >= 2
    assert any(message in warning for warning in warnings)


def test_numbers_of_faulty_files(tmp_path):
    """Missing is zero, and of two the first counts."""
    (path := tmp_path / "robot.urdf").write_text(FAULTS["two inertials"][0])
    assert read(path, faults="warn")[0].mass == 2.0
    path.write_text(FAULTS["two axes"][0])
    assert read(path, faults="warn")[0].joints[0].kind.axis == (0.0, 0.0, 1.0)
    path.write_text(FAULTS["inertia"][0])
    assert not read(path, faults="warn")[0].links[1].body.inertia.any()
    path.write_text(FAULTS["mimic"][0])
    assert read(path, faults="warn")[0].joints[0].mimic is None
    path.write_text(FAULTS["comma"][0])
    assert read(path, faults="warn")[0].joints[0].placement[:3, 3].tolist() == [0.5, 0.0, 1.0]
    path.write_text(FAULTS["dot"][0])
    assert read(path, faults="warn")[0].joints[0].passive.damping == 0.25


@pytest.mark.parametrize("mass", ["1,5", "1.5,,", "1 500", "1.5f", ",", "1\0"])
def test_numbers_that_may_mean_two_things_stay_refused(mass, tmp_path):
    (path := tmp_path / "robot.urdf").write_text(robot().replace("mass value='1'", f"mass value='{mass}'"))
    with pytest.raises(FileError):
        read(path, faults="warn")


def test_a_piece_that_moves_is_not_left_out(tmp_path):
    joint = "<joint name='k' type='continuous'><parent link='c'/><child link='d'/></joint>"
    (path := tmp_path / "robot.urdf").write_text(robot(more=f"<link name='d'>{INERTIAL}</link>{joint}"))
    with pytest.raises(FileError, match="2 pieces"):
        read(path, faults="warn")


def test_impossible_inertias_are_among_the_faults(tmp_path):
    (path := tmp_path / "robot.urdf").write_text(robot(INERTIAL.replace("izz='1'", "izz='9'")))
    with pytest.raises(FileError, match='physics="warn"'):
        read(path)
    assert any("triangle" in warning for warning in read(path, faults="warn")[1])


def test_the_message_about_macros_names_skip_first(tmp_path):
    (path := tmp_path / "robot.urdf").write_text(robot(more="<xacro:arm/>"))
    with pytest.raises(FileError, match=r'xacro="skip".*xacro="expand"'):
        read(path)


def test_what_is_drawn_is_no_reason_to_refuse(tmp_path):
    (path := tmp_path / "robot.urdf").write_text(robot(INERTIAL + "<visual/><visual><geometry/></visual>"))
    model, warnings = read(path)
    assert not model.links[1].visuals
    assert sum("not drawn" in warning for warning in warnings) == 2


def test_a_world_that_is_not_there_is_the_world(tmp_path):
    """Drake's convention: a joint whose parent is called world hangs on the world."""
    weld = "<joint name='w' type='fixed'><parent link='world'/><child link='a'/><origin xyz='0 0 2'/></joint>"
    (path := tmp_path / "robot.urdf").write_text(robot(more=weld))
    model, warnings = read(path)
    assert (model.base, model.link_names) == (Trivial(), ("world", "b"))
    assert any("as in Drake" in warning for warning in warnings)
    assert fc.forward_kinematics(model, model.state())["b"][2, 3] == 2.0
    assert read(path, base="free")[0].base == SE3()


def test_spherical_joints_of_bullet(tmp_path):
    joint = f"<joint name='j' type='spherical'>{ENDS}<origin xyz='1 0 0'/></joint>"
    (path := tmp_path / "robot.urdf").write_text(robot(joint=joint))
    model, warnings = read(path)
    assert model.joints[0].kind == Spherical()
    assert "extension" in warnings[0]
    mujoco = pytest.importorskip("mujoco")
    peer = mujoco.MjModel.from_xml_path(str(path))  # which has no free base here
    model = read(path, base="fixed")[0]
    data = mujoco.MjData(peer)
    mujoco.mj_forward(peer, data)
    np.testing.assert_allclose(np.diag(fc.mass_matrix(model, model.state())), peer.dof_M0, atol=1e-12)


READ_WITH_FAULTS = """xacro_element xacro_unbound parent_twice origin_twice mimic_nobody mimic_fixed_ghost
inertia_triangle inertia_incomplete inertia_missing inertial_twice geometry_two"""


def test_other_rules_hold_with_the_option_too():
    """Numbers that are none, trees that are none, names: refused as ever."""
    folder, read_now = Path(__file__).parents[1] / "corpus" / "urdf", set()
    for entry in json.loads((folder / "manifest.json").read_text()):
        if entry["expected"] == "reject":
            with suppress(FileError):
                read(folder / entry["file"], faults="warn")
                read_now.add(entry["file"].removesuffix(".urdf"))
    assert read_now == set(READ_WITH_FAULTS.split())
