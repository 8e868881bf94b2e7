"""Robots that another library holds in memory."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from laws import generators

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.lie import R3, SE2, SE3, SO3, Trivial

JOINTS = [
    pin.JointModelRX(),
    pin.JointModelRevoluteUnaligned(0.0, 0.6, 0.8),
    pin.JointModelRUBY(),
    pin.JointModelPZ(),
    pin.JointModelPrismaticUnaligned(0.6, 0.0, -0.8),
    pin.JointModelHX(0.2),
    pin.JointModelHelicalUnaligned(0.6, 0.8, 0.0, -0.1),
    pin.JointModelSpherical(),
    pin.JointModelPlanar(),
    pin.JointModelTranslation(),
    pin.JointModelFreeFlyer(),
]
BASES = [
    (pin.JointModelFreeFlyer(), SE3()),
    (pin.JointModelSpherical(), SO3()),
    (pin.JointModelPlanar(), SE2()),
    (pin.JointModelTranslation(), R3()),
    (None, Trivial()),
]


def robot(rng, base):
    """A random tree of all kinds of joint, inertias everywhere, frames at odd places."""
    peer, index = pin.Model(), 0
    peer.name = "peer"
    if base is not None:
        index = peer.addJoint(0, base, pin.SE3.Identity(), "root_joint")
        peer.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    for k in rng.permutation(len(JOINTS)):
        joint = peer.njoints - 1
        parent = int(rng.choice([i for i in peer.supports[joint] if i >= index]))  # Pinocchio wants joints depth first
        joint = peer.addJoint(parent, JOINTS[k], pin.SE3.Random(), f"joint {k}")
        peer.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
        if k % 2:
            peer.addBodyFrame(f"link {k}", joint, pin.SE3.Identity(), 0)
        peer.addFrame(pin.Frame(f"tool {k}", joint, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
        if JOINTS[k].nv == 1:
            peer.armature[peer.idx_vs[joint]] = rng.uniform(0.0, 1.0)
    return peer


@pytest.mark.parametrize(("base", "group"), BASES)
@settings(max_examples=8)
@given(rng=generators())
def test_a_model_of_pinocchio_is_the_same_robot(base, group, rng):
    pin.seed(int(rng.integers(1 << 30)))
    peer = robot(rng, base)
    model, data = fc.from_pinocchio_model(peer), peer.createData()
    assert str(model.base) == str(group)
    state = model.random_state(rng)
    q, v = model.to_pinocchio(state, peer)
    order = fc.exchange.pinocchio(model, peer).v_order
    M = pin.crba(peer, data, q)
    scale = np.abs(M).max()
    np.testing.assert_allclose(fc.mass_matrix(model, state)[np.ix_(order, order)], M, rtol=0.0, atol=1e-12 * scale)
    h = pin.nonLinearEffects(peer, data, q, v)
    np.testing.assert_allclose(fc.bias_forces(model, state)[order], h, rtol=0.0, atol=1e-11 * np.abs(h).max())
    pin.framesForwardKinematics(peer, data, q)
    for k in range(len(JOINTS)):
        there = data.oMf[peer.getFrameId(f"tool {k}")].homogeneous
        np.testing.assert_allclose(fc.link_pose(model, state, f"tool {k}"), there, rtol=0.0, atol=1e-11)


def test_names_limits_and_gravity():
    peer = pin.Model()
    joint = peer.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "shoulder")
    peer.addBodyFrame("arm", joint, pin.SE3.Identity(), 0)
    peer.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    peer.lowerPositionLimit, peer.upperPositionLimit = np.array([-1.0]), np.array([2.0])
    peer.effortLimit, peer.velocityLimit = np.array([np.finfo(float).max]), np.array([3.0])
    peer.gravity.linear = np.array([0.0, 0.0, -1.62])
    peer.damping[0], peer.upperDryFrictionLimit[0] = 0.5, 0.25
    model = fc.from_pinocchio_model(peer)
    assert model.joints[0].passive == fc.model.Passive(0.5, 0.25)
    assert model.link_names == ("universe", "arm")
    assert model.joints[0].limits == fc.model.Limits(-1.0, 2.0, 3.0, np.inf)
    assert model.gravity.tolist() == [0.0, 0.0, -1.62]


def test_the_armature_of_a_base_is_left_out_with_a_warning():
    """As of a free joint in MJCF: Pinocchio gives it to every joint of such a file, and no rotor turns a base."""
    peer = robot(np.random.default_rng(0), pin.JointModelFreeFlyer())
    peer.armature[3] = 0.1
    with pytest.warns(fc.io.FileWarning, match="joint 'root_joint': the armature of the base is not read"):
        model = fc.from_pinocchio_model(peer)
    peer.armature[3] = 0.0
    state, like = model.random_state(np.random.default_rng(1)), fc.exchange.pinocchio(model, peer)
    q = like.to(*model.flatten(state))[0]
    M = np.triu(pin.crba(peer, peer.createData(), q))
    order = np.ix_(like.v_order, like.v_order)
    np.testing.assert_allclose(fc.mass_matrix(model, state)[order], M + np.triu(M, 1).T, atol=1e-12)


def test_a_root_that_stands_elsewhere_is_a_joint():
    """Our pose of the base is measured from the world, Pinocchio's coordinates from the joint's placement."""
    peer = pin.Model()
    peer.appendBodyToJoint(
        peer.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Random(), "root_joint"),
        pin.Inertia.Random(),
        pin.SE3.Identity(),
    )
    model = fc.from_pinocchio_model(peer)
    assert str(model.base) == str(Trivial())
    assert model.joint_names == ("root_joint",)


def test_what_is_refused():
    with pytest.raises(ModelError, match=r"peer is a pinocchio\.Model, not"):
        fc.from_pinocchio_model("talos")
    peer = pin.Model()
    peer.addJoint(0, pin.JointModelEllipsoid(), pin.SE3.Identity(), "neck")
    with pytest.raises(ModelError, match="joint 'neck' is of the kind Ellipsoid"):
        fc.from_pinocchio_model(peer)


MJCF = """
<mujoco model="dog">
  <compiler angle="radian"/>
  <option gravity="0 0 -1.62"/>
  <default><joint armature="0.02"/><geom mass="0.5"/></default>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05"/>
      <body name="leg" pos="0.2 0 0" quat="0.8 0 0.6 0">
        <joint name="hip" type="hinge" axis="0 0.6 0.8" pos="0.01 0.02 0.03" ref="0.3" range="-1 2"/>
        <joint name="slide" type="slide" axis="1 0 0" ref="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0.1 -0.3" size="0.02"/>
        <body pos="0 0.1 -0.3">
          <joint type="ball" armature="0.01" pos="0 0 0.05"/>
          <geom type="sphere" size="0.05"/>
          <body name="toe" pos="0.05 0 0"><geom type="box" size="0.05 0.02 0.01" euler="0.1 0.2 0.3"/></body>
        </body>
      </body>
    </body>
    {more}
  </worldbody>
</mujoco>
"""


@settings(max_examples=10)
@given(rng=generators())
def test_a_model_of_mujoco_is_the_same_robot(rng):
    peer = mujoco.MjModel.from_xml_string(MJCF.format(more=""))
    model, data = fc.from_mujoco_model(peer), mujoco.MjData(peer)
    state = model.random_state(rng)
    data.qpos, data.qvel = model.to_mujoco(state)
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, data, M)
    T = fc.exchange.mujoco(model).velocity_map(model.flatten(state)[0])
    ours = fc.mass_matrix(model, state)
    np.testing.assert_allclose(T.T @ M @ T, ours, rtol=0.0, atol=1e-12 * np.abs(ours).max())
    np.testing.assert_allclose(T.T @ data.qfrc_bias, bias_there(model, state, T), rtol=0.0, atol=1e-11)
    for name in ("trunk", "leg", "toe"):
        np.testing.assert_allclose(fc.link_pose(model, state, name)[:3, 3], data.body(name).xpos, atol=1e-12)


def bias_there(model, state, T):
    """Bias forces of MuJoCo's velocity, whose linear part lies along the world's axes: ``h - M T^-1 dT/dt v``."""
    turned = np.concatenate([np.cross(state.twist[3:], state.twist[:3]), np.zeros(model.nv - 3)])
    return fc.bias_forces(model, state) - fc.mass_matrix(model, state) @ turned


def test_names_and_numbers_of_mujoco():
    model = fc.from_mujoco_model(mujoco.MjSpec.from_string(MJCF.format(more="")))
    assert model.name == "dog"
    assert model.gravity.tolist() == [0.0, 0.0, -1.62]
    hip = model.joints[0]
    assert (hip.name, hip.limits.lower, hip.limits.upper, hip.armature.tolist()) == ("hip", -1.0, 2.0, [0.02])
    assert model.joints[2].armature.tolist() == [0.01] * 3
    assert "toe" in {frame.name for frame in model.frames}


def test_the_armature_of_a_free_joint_is_said_not_to_be_read():
    text = MJCF.format(more="").replace("<freejoint/>", '<joint type="free"/>')
    with pytest.warns(fc.FileWarning, match="'armature' of a free joint is not read"):
        fc.from_mujoco_model(mujoco.MjModel.from_xml_string(text))


def test_springs_and_efforts_are_those_of_the_file(tmp_path):
    more = 'name="slide" damping=".5" frictionloss=".25" stiffness="2" springref="-.3" actuatorfrcrange="-4 4"'
    text = MJCF.format(more="").replace('name="slide"', more)
    (tmp_path / "dog.xml").write_text(text)
    ours = fc.load(tmp_path / "dog.xml")
    theirs = fc.from_mujoco_model(mujoco.MjModel.from_xml_string(text))
    assert ours.joints[1].passive == theirs.joints[1].passive == fc.model.Passive(0.5, 0.25, 2.0, -0.3)
    assert [joint.limits for joint in ours.joints] == [joint.limits for joint in theirs.joints]
    assert ours.joints[1].limits.effort == 4.0


def test_one_robot_among_several():
    ball = '<body name="ball"><freejoint/><geom type="sphere" size="0.1"/></body>'
    peer = mujoco.MjModel.from_xml_string(MJCF.format(more=ball))
    with pytest.warns(fc.FileWarning, match="2 bodies move on their own: 'trunk', 'ball'; all are read"):
        assert fc.from_mujoco_model(peer).link_names == fc.from_mujoco_model(peer, root="world").link_names
    with pytest.warns(fc.FileWarning, match="is no part of the robot, 'ball'"):
        assert fc.from_mujoco_model(peer, root="ball").link_names == ("ball",)
    with pytest.raises(ModelError, match=r"peer is a mujoco\.MjModel or a mujoco\.MjSpec, not"):
        fc.from_mujoco_model("dog")
