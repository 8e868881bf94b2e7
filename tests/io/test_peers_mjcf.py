"""The MJCF robots of gymnasium, and some of our own, read by us and by MuJoCo: the same bodies, wherever they are."""

import importlib.metadata
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fallingcat.io import read
from fallingcat.lie.rotations import matrix_from_quaternion

mujoco = pytest.importorskip("mujoco")

EQUAL = {"rtol": 1e-12, "atol": 1e-12}
HERE = Path(__file__).parents[1] / "corpus" / "mjcf"
OWN = ["every_pose", "every_shape", "every_setting", "defaults", "frames", "many_joints", "includes"]
GYMNASIUM = [
    "ant", "half_cheetah", "hopper", "humanoid", "humanoidstandup", "inverted_double_pendulum", "inverted_pendulum",
    "point", "pusher", "pusher_v5", "reacher", "swimmer", "walker2d", "walker2d_v5",
]  # fmt: skip


@cache
def path(name):
    if name in OWN:
        return HERE / f"{name}.xml"
    try:
        files = importlib.metadata.files("gymnasium") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("gymnasium is not installed")
    return next(Path(file.locate()).resolve() for file in files if file.match(f"mujoco/assets/{name}.xml"))


@cache
def both(name):
    """MuJoCo's model, and ours with a link for every body."""
    return mujoco.MjModel.from_xml_path(str(path(name))), read(path(name), fixed="keep")[0]


def bodies(theirs):
    """Number and name of every body but the world; where there is no name, ours has the number."""
    return [(i, theirs.body(i).name or f"body{i}") for i in range(1, theirs.nbody)]


def poses(model, state):
    """The pose of every link in the world, joint after joint."""
    H = {model.links[0].name: state.pose}
    for joint, q in zip(model.joints, model.q_slices, strict=True):
        H[joint.child] = H[joint.parent] @ joint.transform(state.joints[q])
    for frame in model.frames:
        H[frame.name] = H[frame.link] @ frame.placement
    return H


def random_qpos(theirs, rng):
    data = mujoco.MjData(theirs)
    mujoco.mj_integratePos(theirs, data.qpos, rng.normal(size=theirs.nv), 1.0)
    return data.qpos.copy()


def rotation(wxyz):
    return matrix_from_quaternion(np.roll(wxyz, -1))


robots = pytest.mark.parametrize("name", GYMNASIUM + OWN)


@robots
def test_masses_centers_inertias(name):
    theirs, ours = both(name)
    by_name = {link.name: link.body for link in ours.links}
    for i, body in bodies(theirs):
        if body not in by_name:  # scenery beside a free robot
            assert theirs.body(i).weldid[0] == 0
            continue
        R = rotation(theirs.body_iquat[i])
        np.testing.assert_allclose(by_name[body].mass, theirs.body_mass[i], **EQUAL)
        np.testing.assert_allclose(by_name[body].center, theirs.body_ipos[i], **EQUAL)
        np.testing.assert_allclose(by_name[body].inertia, R @ np.diag(theirs.body_inertia[i]) @ R.T, **EQUAL)


@robots
def test_dimensions_names_gravity(name):
    theirs, ours = both(name)
    assert (ours.nq, ours.nv) == (theirs.nq, theirs.nv)
    free = ours.m == 6
    names = [theirs.joint(i).name or f"joint{i}" for i in range(theirs.njnt)]
    assert list(ours.joint_names) == names[free:]
    np.testing.assert_array_equal(ours.gravity, theirs.opt.gravity)
    assert {name for _, name in bodies(theirs)} >= {link.name for link in ours.links if "/" not in link.name} - {
        "world"
    }


@robots
@pytest.mark.parametrize("fixed", ["keep", "merge"])
def test_body_frames_wherever_the_robot_is(name, fixed):
    theirs, _ = both(name)
    ours, _ = read(path(name), fixed=fixed)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    for _ in range(5):
        data.qpos[:] = random_qpos(theirs, rng)
        mujoco.mj_kinematics(theirs, data)
        H = poses(ours, ours.from_mujoco(data.qpos))
        for i, body in bodies(theirs):
            if body in H:
                np.testing.assert_allclose(H[body][:3, 3], data.xpos[i], **EQUAL)
                np.testing.assert_allclose(H[body][:3, :3], rotation(data.xquat[i]), **EQUAL)


@robots
def test_joint_axes_and_limits(name):
    theirs, ours = both(name)
    moving = [joint for joint in ours.joints if joint.kind.nv]
    for joint, i in zip(moving, range(theirs.njnt - len(moving), theirs.njnt), strict=True):
        if joint.kind.nq == 1:
            np.testing.assert_allclose(joint.kind.axis, theirs.jnt_axis[i], **EQUAL)
            limits = theirs.jnt_range[i] if theirs.jnt_limited[i] else [-np.inf, np.inf]
            np.testing.assert_allclose([joint.limits.lower, joint.limits.upper], limits, **EQUAL)


@robots
def test_armature(name):
    theirs, ours = both(name)
    np.testing.assert_array_equal(ours.armature, theirs.dof_armature[ours.m :])
    assert not theirs.dof_armature[: ours.m].any()


@robots
def test_springs_dampers_friction_and_efforts(name):
    theirs, ours = both(name)
    moving = [joint for joint in ours.joints if joint.kind.nv]
    for joint, i in zip(moving, range(theirs.njnt - len(moving), theirs.njnt), strict=True):
        dof, passive = theirs.jnt_dofadr[i], joint.passive
        assert passive.damping == theirs.dof_damping[dof]
        assert passive.friction == theirs.dof_frictionloss[dof]
        assert passive.stiffness == theirs.jnt_stiffness[i]
        if passive.stiffness and joint.kind.nq == 1:
            np.testing.assert_allclose(passive.rest, theirs.qpos_spring[theirs.jnt_qposadr[i]], **EQUAL)
        if theirs.jnt_actfrclimited[i]:
            assert joint.limits.effort == theirs.jnt_actfrcrange[i][1]


@robots
def test_velocities_of_all_bodies(name):
    """The joints' motion subspaces, against MuJoCo's Jacobians."""
    theirs, ours = both(name)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(1)
    data.qpos[:] = random_qpos(theirs, rng)
    data.qvel[:] = rng.normal(size=theirs.nv)
    mujoco.mj_fwdPosition(theirs, data)
    state = ours.from_mujoco(data.qpos, data.qvel)
    H = poses(ours, state)
    twist = {ours.links[0].name: ours.base.selection @ state.twist}
    for joint, q, v in zip(ours.joints, ours.q_slices, ours.v_slices, strict=True):
        inverse = np.linalg.inv(joint.transform(state.joints[q]))
        R, p = inverse[:3, :3], inverse[:3, 3]
        linear, angular = twist[joint.parent][:3], twist[joint.parent][3:]
        carried = np.concatenate([R @ linear + np.cross(p, R @ angular), R @ angular])
        twist[joint.child] = carried + joint.motion_subspace(state.joints[q]) @ state.rates[v]
    for i, body in bodies(theirs):
        if body in twist:
            jacp, jacr = np.zeros((3, theirs.nv)), np.zeros((3, theirs.nv))
            mujoco.mj_jacBody(theirs, data, jacp, jacr, i)
            R = H[body][:3, :3]
            np.testing.assert_allclose(R @ twist[body][:3], jacp @ data.qvel, rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(R @ twist[body][3:], jacr @ data.qvel, rtol=1e-11, atol=1e-11)
