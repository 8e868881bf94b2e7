"""Models to URDF: what it can say, what it refuses to say, and that a file is written as a whole."""

import os
import stat
import warnings
from dataclasses import replace

import numpy as np
import pytest
from defusedxml import ElementTree

import fallingcat as fc
from fallingcat.io import read
from fallingcat.io.urdf.writer import TYPES, document
from fallingcat.lie import SE2, SE3, Trivial
from fallingcat.model import (
    Body,
    Continuous,
    Cylindrical,
    Fixed,
    Frame,
    Free,
    Helical,
    Joint,
    Limits,
    Link,
    Model,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Schoenflies,
    Translational,
    Universal,
)
from fallingcat.model.actuator import Actuator
from fallingcat.model.shapes import Box, Capsule, Ellipsoid

BODY = Body(1.0, np.array([0.1, 0.2, 0.3]), np.diag([0.1, 0.2, 0.25]))


def pair(kind=None, **joint):
    parts = (Link("a", BODY), Link("b", BODY))
    return Model("pair", SE3(), parts, (Joint("elbow", kind or Revolute(), "a", "b", **joint),))


def turn(axis=0, angle=0.5):
    H = np.eye(4)
    H[:3, :3] = fc.lie.rotations.about(np.eye(3)[axis], angle)
    return H


@pytest.mark.parametrize("kind", TYPES)
def test_types(kind):
    root = ElementTree.fromstring(document(pair(kind())).encode())
    assert root.find("joint").get("type") == TYPES[kind]


@pytest.mark.parametrize(
    "kind",
    [Helical(), Cylindrical(), Universal(), Schoenflies(), Translational(), Reversed(Free())],
    ids=lambda kind: kind.name,
)
def test_joints_that_urdf_does_not_have(kind, tmp_path):
    with pytest.raises(fc.ModelError, match=rf"'elbow'.*'{kind.name}'.*\.toml"):
        fc.save(pair(kind), tmp_path / "a.urdf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (replace(pair(), base=SE2()), "moves in SE\\(2\\)"),
        (pair(Planar(), offset=turn(2)), "'elbow' has an offset"),
    ],
    ids=["base", "turned"],
)
def test_what_urdf_cannot_say(model, message):
    with pytest.raises(fc.ModelError, match=message + r".*\.toml"):
        document(model)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (replace(pair(), base=Trivial()), r"load the file with base=\"fixed\""),
        (replace(pair(), gravity=np.zeros(3)), r"load the file with gravity=\[0\.0, 0\.0, 0\.0\]"),
        (pair(Free(), limits=Limits(velocity=1.0)), "limits of hinges and sliders only"),
        (pair(Continuous(), limits=Limits(lower=-1.0)), "an open side ends at 1e"),
        (pair(limits=Limits(lower=-1.0)), "an open side ends at 1e"),
        (pair(armature=0.1), "no armature"),
        (pair(passive=fc.model.Passive(stiffness=1.0)), "no springs"),
        (replace(pair(), links=(Link("a", BODY, (Ellipsoid((1.0, 2.0, 3.0)),)), Link("b", BODY))), "no ellipsoids"),
        (replace(pair(), actuators=(Actuator("m", "elbow", gear=2.0),)), "written as <transmission>"),
        (pair().drive(["elbow"]), "what is driven"),
    ],
    ids=["fixed", "gravity", "limits", "continuous", "one side", "armature", "spring", "ellipsoid", "drive", "driven"],
)
def test_what_urdf_leaves_out_is_said(model, message, tmp_path):
    with pytest.warns(fc.FileWarning, match=message):
        fc.save(model, tmp_path / "a.urdf")
    assert read(tmp_path / "a.urdf")[0].joint_names == model.joint_names


def test_actuators_are_transmissions():
    text = document(replace(pair(), actuators=(Actuator("m", "elbow", "position", gear=2.0, kp=3.0),)))
    drive = ElementTree.fromstring(text.encode()).find("transmission")
    assert drive.find("joint").get("name") == "elbow"
    assert drive.find("joint/hardwareInterface").text == "hardware_interface/PositionJointInterface"
    assert drive.find("actuator/mechanicalReduction").text == "2.0"


@pytest.mark.parametrize("kind", [Revolute(), Prismatic((0.0, 1.0, 0.0))], ids=lambda kind: kind.name)
def test_an_offset_is_a_link_at_the_joint(kind, tmp_path):
    """The child is fixed to a massless link at its joint: coordinates, dynamics and poses are the same."""
    offset = turn(1) @ turn(2)
    offset[:3, 3] = 0.3, -0.2, 0.1
    model = pair(kind, offset=offset, placement=turn(), limits=Limits(-1.0, 1.0))
    fc.save(model, tmp_path / "a.urdf")
    again, state = read(tmp_path / "a.urdf")[0], model.random_state(np.random.default_rng(0))
    assert again.link_names == ("a", "b/elbow")
    np.testing.assert_allclose(fc.mass_matrix(again, state), fc.mass_matrix(model, state), rtol=0, atol=1e-14)
    H = fc.forward_kinematics(again, state)["b/elbow"] @ again.frames[0].placement
    np.testing.assert_allclose(H, fc.forward_kinematics(model, state)["b"], rtol=0, atol=1e-14)


@pytest.mark.parametrize("passive", [fc.model.Passive(0.5, 0.25), fc.model.Passive(friction=1e-3), fc.model.Passive()])
def test_damping_and_friction_come_back(tmp_path, passive):
    fc.save(pair(passive=passive, limits=Limits(-1.0, 1.0)), tmp_path / "a.urdf")
    assert fc.load(tmp_path / "a.urdf").joints[0].passive == passive


@pytest.mark.parametrize("limits", [Limits(-1.0, 2.0, 3.0, 4.0), Limits(-1.0, 2.0), Limits(velocity=3.0), Limits()])
@pytest.mark.parametrize("kind", [Revolute, Prismatic])
def test_limits_come_back(tmp_path, kind, limits):
    fc.save(pair(kind(), limits=limits), tmp_path / "a.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fc.FileWarning)
        assert fc.load(tmp_path / "a.urdf").joints[0].limits == limits


def test_frames_come_back_as_frames_and_names_of_joints_do_not_clash(tmp_path):
    model = pair()
    model = replace(
        model,
        joints=(replace(model.joints[0], name="tip_fixed"),),
        frames=(Frame("tip", "b", turn()), Frame("tip_", "a")),
    )
    fc.save(model, tmp_path / "a.urdf")
    with pytest.warns(fc.FileWarning, match="limit"):
        again = fc.load(tmp_path / "a.urdf")
    assert sorted((f.name, f.link) for f in again.frames) == [("tip", "b"), ("tip_", "a")]


def test_fixed_links_are_kept_where_asked_for(tmp_path):
    model = pair(Fixed(), placement=turn())
    fc.save(model, tmp_path / "a.urdf")
    assert fc.load(tmp_path / "a.urdf", fixed="keep").joints[0].kind == Fixed()
    assert len(fc.load(tmp_path / "a.urdf").links) == 1


def test_names_are_escaped():
    model = Model("<robot>", SE3(), (Link("a\"'<&>", BODY),))
    root = ElementTree.fromstring(document(model).encode())
    assert (root.get("name"), root.find("link").get("name")) == ("<robot>", "a\"'<&>")


@pytest.mark.parametrize("name", ["a\x00b", "a\x1b[31m", "a\nb", "\ud800", "x" * 300])
@pytest.mark.parametrize("suffix", ["urdf", "toml"])
def test_names_that_no_file_can_hold_are_refused(tmp_path, name, suffix):
    with pytest.raises(fc.FileError):
        fc.save(Model("r", SE3(), (Link(name, BODY),)), tmp_path / f"a.{suffix}")
    assert not list(tmp_path.iterdir())


def test_pinocchio_reads_the_same_robot():
    pin = pytest.importorskip("pinocchio")
    model = fc.robots.cat()
    theirs = pin.buildModelFromXML(document(model), pin.JointModelFreeFlyer())
    assert (theirs.nv, set(theirs.names[2:])) == (model.nv, set(model.joint_names))
    mass = sum(inertia.mass for inertia in theirs.inertias)
    assert abs(mass - model.mass) < 1e-12
    assert all(theirs.existFrame(frame.name) for frame in model.frames)


# files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["urdf", "toml"])
def test_a_file_is_replaced_as_a_whole(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"a.{suffix}"
    fc.save(pair(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(fc.FileError, match="cannot be written: No space left"):
        fc.save(pair(Prismatic()), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]  # nothing left behind


def test_permissions_and_links_stay(tmp_path):
    target, link = tmp_path / "real.toml", tmp_path / "link.toml"
    fc.save(pair(), target)
    target.chmod(0o640)
    link.symlink_to(target)
    fc.save(pair(Prismatic()), link)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert fc.load(target).joints[0].kind.name == "prismatic"


@pytest.mark.parametrize("path", ["missing/a.urdf", "a.obj", "bad\0.toml"])
def test_places_where_nothing_can_be_written(tmp_path, path):
    with pytest.raises(fc.FileError):
        fc.save(pair(), f"{tmp_path}/{path}")


def test_capsules_are_read_by_urdfdom(tmp_path):
    """Its URDF 1.0 has none: they were left out there, with an error on the terminal alone."""
    pinocchio = pytest.importorskip("pinocchio")
    shape = Capsule(0.1, 0.3)
    fc.save(
        Model("rod", SE3(), (Link("rod", BODY, visuals=(shape,), collisions=(shape,)),)), file := tmp_path / "r.urdf"
    )
    theirs = pinocchio.buildModelFromUrdf(str(file))
    for kind in (pinocchio.GeometryType.COLLISION, pinocchio.GeometryType.VISUAL):
        (found,) = pinocchio.buildGeomFromUrdf(theirs, str(file), kind).geometryObjects
        assert (found.geometry.radius, 2.0 * found.geometry.halfLength) == (0.1, 0.3)
    assert read(file)[0].links[0].collisions[0].length == 0.3
    fc.save(Model("box", SE3(), (Link("box", BODY, collisions=(Box((1.0, 1.0, 1.0)),)),)), file)
    assert '<robot name="box">' in file.read_text()
