"""Real robots, read by us, by Pinocchio and by MuJoCo: the same masses, centers, inertias, placements and axes."""

import importlib.metadata
import warnings
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from fallingcat.errors import FileError
from fallingcat.io import read
from fallingcat.lie.rotations import matrix_from_quaternion

pinocchio = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

ROBOTS = {  # file: package, and whether the default physics="strict" reads it
    "upkie.urdf": ("upkie-description", True),
    "talos_full_v2.urdf": ("example-robot-data", True),
    "talos_reduced.urdf": ("example-robot-data", True),
    "solo12.urdf": ("example-robot-data", True),
    "go2.urdf": ("example-robot-data", True),
    "g1_29dof_rev_1_0.urdf": ("example-robot-data", True),
    "go1.urdf": ("example-robot-data", True),
    "bolt.urdf": ("example-robot-data", True),
    "romeo_small.urdf": ("example-robot-data", False),
}
REFUSED_BY_MUJOCO = ("go1.urdf", "romeo_small.urdf")
EQUAL = {"rtol": 1e-12, "atol": 1e-12}


@cache
def path(name):
    package, _ = ROBOTS[name]
    try:
        files = importlib.metadata.files(package) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    found = next((Path(file.locate()).resolve() for file in files if file.name == name), None)
    assert found is not None, f"{package} has no {name}"
    return found


@cache
def robot(name, fixed):
    return read(path(name), fixed=fixed, physics="strict" if ROBOTS[name][1] else "warn", loops="open")[0]


@pytest.mark.parametrize("name", [name for name, (_, strict) in ROBOTS.items() if not strict])
def test_slightly_unphysical_robots_say_so(name):
    with pytest.raises(FileError, match='physics="warn"'):
        read(path(name))
    assert read(path(name), physics="warn")[1]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_same_robot_as_pinocchio(name):
    ours = robot(name, "merge")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pinocchio.buildModelFromUrdf(str(path(name)), pinocchio.JointModelFreeFlyer())
    assert set(ours.joint_names) == set(list(theirs.names)[2:])
    assert theirs.nv == ours.nv
    assert ours.link_names[0] == next(f.name for f in theirs.frames if f.type == pinocchio.FrameType.BODY)
    assert_same_body(theirs.inertias[1], ours.links[0].body)
    for joint, link in zip(ours.joints, ours.links[1:], strict=True):
        i = theirs.getJointId(joint.name)
        assert_same_body(theirs.inertias[i], link.body)
        np.testing.assert_allclose(theirs.jointPlacements[i].homogeneous, joint.placement, **EQUAL)
        np.testing.assert_allclose(motion(theirs, i), joint.motion_subspace(joint.kind.neutral())[:, 0], **EQUAL)
    np.testing.assert_allclose(ours.mass, pinocchio.computeTotalMass(theirs), **EQUAL)


def assert_same_body(theirs, ours):
    np.testing.assert_allclose(theirs.mass, ours.mass, **EQUAL)
    np.testing.assert_allclose(theirs.lever, ours.center, **EQUAL)
    np.testing.assert_allclose(theirs.inertia, ours.inertia, **EQUAL)


def motion(model, i):
    """The motion subspace of one of Pinocchio's joints: ``[v; w]`` in the frame of the child."""
    data = model.joints[i].createData()
    model.joints[i].calc(data, pinocchio.neutral(model))
    return np.asarray(data.S).reshape(-1)


@pytest.mark.parametrize("name", REFUSED_BY_MUJOCO)
def test_mujoco_is_at_least_as_strict(name):
    with pytest.raises(ValueError, match="inertia"):
        bare(path(name))


@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in REFUSED_BY_MUJOCO])
def test_the_same_robot_as_mujoco(name):
    ours = robot(name, "keep")
    theirs = bare(path(name))
    for link in ours.links:
        i = theirs.body(link.name).id
        np.testing.assert_allclose(theirs.body_mass[i], link.body.mass, **EQUAL)
        if link.body.mass == 0.0:  # a frame has no center
            continue
        np.testing.assert_allclose(theirs.body_ipos[i], link.body.center, **EQUAL)
        R = matrix_from_quaternion(np.roll(theirs.body_iquat[i], -1))
        np.testing.assert_allclose(R @ np.diag(theirs.body_inertia[i]) @ R.T, link.body.inertia, **EQUAL)
    for joint in ours.joints:
        i = theirs.body(joint.child).id
        np.testing.assert_allclose(theirs.body_pos[i], joint.placement[:3, 3], **EQUAL)
        R = matrix_from_quaternion(np.roll(theirs.body_quat[i], -1))
        np.testing.assert_allclose(R, joint.placement[:3, :3], **EQUAL)
        if joint.kind.nv == 1:
            np.testing.assert_allclose(theirs.joint(joint.name).axis, joint.kind.axis, **EQUAL)


def bare(file):
    """MuJoCo's reading of a URDF: without the shapes, whose files it would open, and as the file says it."""
    root = ElementTree.parse(file).getroot()
    for link in root.iter("link"):
        for shape in [child for child in link if child.tag in ("visual", "collision")]:
            link.remove(shape)
    for other in [child for child in root if child.tag not in ("link", "joint")]:
        root.remove(other)
    settings = {"fusestatic": "false", "balanceinertia": "false", "boundmass": "0", "boundinertia": "0"}
    ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", settings)
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
