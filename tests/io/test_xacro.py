"""Xacro: expanded where it is asked for and installed; passed over or refused otherwise."""

import sys

import pytest

from fallingcat.errors import ExtraMissingError, FileError
from fallingcat.io import read

INERTIAL = "<inertial><mass value='${2 * mass}'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
ROBOT = f"""<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>
<xacro:property name='mass' value='1.5'/>
<xacro:macro name='body' params='name'><link name='${{name}}'>{INERTIAL}</link></xacro:macro>
<xacro:body name='a'/><xacro:body name='b'/>
<joint name='j' type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint>
</robot>"""


@pytest.mark.parametrize("name", ["robot.xacro", "robot.urdf.xacro", "robot.urdf"])
def test_macros_are_expanded_on_request(tmp_path, name):
    pytest.importorskip("xacro")
    path = tmp_path / name
    path.write_text(ROBOT)
    with pytest.raises(FileError, match=r'xacro="expand"'):
        read(path)
    model, messages = read(path, xacro="expand")
    assert messages == []
    assert model.link_names == ("a", "b")
    assert model.mass == 6.0


def test_what_xacro_says_is_one_line_with_the_file(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "robot.xacro"
    path.write_text(ROBOT.replace("2 * mass", "2 * weight"))
    with pytest.raises(FileError, match=r"robot\.xacro: xacro cannot expand the file: .*weight"):
        read(path, xacro="expand")
    path.write_text(ROBOT.replace("2 * mass", "-mass"))
    with pytest.raises(FileError, match=r"robot\.xacro \(expanded\):\d+: .*not negative"):
        read(path, xacro="expand")


def test_without_xacro_one_line_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = tmp_path / "robot.xacro"
    path.write_text(ROBOT)
    with pytest.raises(ExtraMissingError, match=r"pip install '\.\[xacro\]'"):
        read(path, xacro="expand")


def test_macros_that_are_left_can_be_passed_over(tmp_path):
    path = tmp_path / "robot.urdf"
    inertial = INERTIAL.replace("${2 * mass}", "1")
    path.write_text(f"<robot name='r' xmlns:xacro='x/xacro'><link name='a'>{inertial}</link><xacro:sensors/></robot>")
    with pytest.raises(FileError, match=r'this is xacro.*xacro="skip"'):
        read(path)
    model, (message,) = read(path, xacro="skip")
    assert model.link_names == ("a",)
    assert "sensors> was not expanded and is passed over" in message
