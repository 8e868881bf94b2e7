"""States in MuJoCo's conventions, against MuJoCo itself."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from laws import generators
from link_sums import link_poses, link_twists, mass_matrix, potential_energy

from fallingcat.errors import ModelError
from fallingcat.lie import SE3, Trivial
from fallingcat.lie.rotations import embed, homogeneous, matrix_from_quaternion
from fallingcat.model import Body, Free, Joint, Link, Model, Prismatic, Revolute, Spherical, robots
from fallingcat.model.robots import random_tree

MJCF = """
<mujoco>
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"><flag energy="enable"/></option>
  <worldbody>
    <body name="base">
      <freejoint/>
      <inertial pos="0.1 0 0.2" mass="3" fullinertia="0.3 0.2 0.25 0.01 0.02 -0.03"/>
      <body name="arm" pos="0.3 -0.1 0.2" quat="0.5 0.5 -0.5 0.5">
        <joint type="hinge" axis="0 0.6 0.8"/>
        <inertial pos="0 0.1 0" mass="1" diaginertia="0.1 0.1 0.05"/>
        <body name="hand" pos="0 0 0.4">
          <joint type="ball"/>
          <inertial pos="0 0 0.05" mass="0.5" diaginertia="0.01 0.02 0.02"/>
        </body>
      </body>
      <body name="slider" pos="-0.3 0 0">
        <joint type="slide" axis="1 0 0"/>
        <inertial pos="0 0 0" mass="0.7" diaginertia="0.01 0.02 0.02"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def body(mass, center, xx, yy, zz, xy=0.0, xz=0.0, yz=0.0):
    return Body(mass, np.array(center), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def twin() -> Model:
    """The robot of `MJCF`, by hand."""
    links = (
        Link("base", body(3.0, (0.1, 0, 0.2), 0.3, 0.2, 0.25, 0.01, 0.02, -0.03)),
        Link("arm", body(1.0, (0, 0.1, 0), 0.1, 0.1, 0.05)),
        Link("hand", body(0.5, (0, 0, 0.05), 0.01, 0.02, 0.02)),
        Link("slider", body(0.7, (0, 0, 0), 0.01, 0.02, 0.02)),
    )
    turned = matrix_from_quaternion(np.array([0.5, -0.5, 0.5, 0.5]))
    joints = (
        Joint("hinge", Revolute((0.0, 0.6, 0.8)), "base", "arm", homogeneous(turned, np.array([0.3, -0.1, 0.2]))),
        Joint("ball", Spherical(), "arm", "hand", homogeneous(np.eye(3), np.array([0.0, 0.0, 0.4]))),
        Joint("slide", Prismatic((1.0, 0.0, 0.0)), "base", "slider", homogeneous(np.eye(3), np.array([-0.3, 0, 0]))),
    )
    return Model("twin", SE3(), links, joints)


def close(a, b, tolerance=1e-12):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def mujoco_model():
    return mujoco.MjModel.from_xml_string(MJCF)


@settings(max_examples=20)
@given(rng=generators())
def test_mujoco_sees_the_same_robot_in_the_same_state(mujoco_model, rng):
    model, data = twin(), mujoco.MjData(mujoco_model)
    state = model.random_state(rng)
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(mujoco_model, data)
    poses, twists = link_poses(model, state), link_twists(model, state)
    for name in model.link_names:
        i = mujoco_model.body(name).id
        close(data.xpos[i], poses[name][:3, 3])
        close(matrix_from_quaternion(np.roll(data.xquat[i], -1)), poses[name][:3, :3])
        velocity = np.zeros(6)  # [w; v] at the body frame, in its own axes
        mujoco.mj_objectVelocity(mujoco_model, data, mujoco.mjtObj.mjOBJ_XBODY, i, velocity, 1)
        close(np.roll(velocity, 3), twists[name])
    close(data.energy[0], potential_energy(model, state))
    close(data.energy[1], 0.5 * state.velocity @ mass_matrix(model, state) @ state.velocity)


@given(rng=generators())
def test_there_and_back(rng):
    kinds = ["revolute", "continuous", "prismatic", "spherical", "free", "fixed"]
    model = random_tree(rng, 5, kinds=kinds, base=Trivial() if rng.random() < 0.2 else None)
    state = model.random_state(rng)
    back = model.from_mujoco(*model.to_mujoco(state))
    for a, b in zip(back, state, strict=True):
        close(a, b)
    qpos, qvel = model.to_mujoco(state)
    again = model.to_mujoco(model.from_mujoco(qpos, qvel))
    close(again[1], qvel)
    close(model.from_mujoco(*again).joints, state.joints)


def test_quaternions_are_wxyz_and_linear_velocities_of_the_world():
    model = robots.free_body()
    turn = embed(matrix_from_quaternion(np.array([0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])))  # 90 degrees about z
    qpos, qvel = model.to_mujoco(model.state(pose=turn, twist=[1.0, 0.0, 0.0, 0.0, 2.0, 0.0]))
    close(qpos, [0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    close(qvel, [0.0, 1.0, 0.0, 0.0, 2.0, 0.0])


def test_a_free_joint_inside_the_tree_counts_too():
    model = Model("m", Trivial(), tuple(map(Link, "ab")), (Joint("j", Free(), "a", "b"),))
    state = model.random_state(np.random.default_rng(0))
    qpos, qvel = model.to_mujoco(state)
    R = matrix_from_quaternion(state.joints[3:])
    close(qpos[3:], np.roll(state.joints[3:], 1), 0.0)
    close(qvel, np.concatenate([R @ state.rates[:3], state.rates[3:]]))


def test_the_givers_arrays_are_left_alone():
    model = robots.free_body()
    qpos, qvel = model.to_mujoco(model.random_state(np.random.default_rng(0)))
    kept = qpos.copy(), qvel.copy()
    model.from_mujoco(qpos, qvel)
    close((*qpos, *qvel), (*kept[0], *kept[1]), 0.0)


def test_qvel_may_be_left_out():
    model = robots.quadruped()
    qpos, _ = model.to_mujoco(model.random_state(np.random.default_rng(0)))
    close(model.from_mujoco(qpos).velocity, np.zeros(18), 0.0)


def test_what_mujoco_does_not_know():
    with pytest.raises(ModelError, match=r"MuJoCo has no joint with the group SE\(2\)"):
        robots.revolute_hopper().to_mujoco(robots.revolute_hopper().state())
    with pytest.raises(ModelError, match="qpos and qvel of 'free_body'"):
        robots.free_body().from_mujoco(np.zeros(6))
    with pytest.raises(ModelError, match="quaternion"):
        robots.free_body().from_mujoco(np.zeros(7))
