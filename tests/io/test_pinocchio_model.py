"""Every kind of joint of Pinocchio becomes a model with the same dynamics."""

import numpy as np
import pinocchio as pin
import pytest

import fallingcat as fc
from fallingcat.errors import ModelError
from fallingcat.io import FileWarning

AXIS = np.array([0.48, 0.6, 0.64])


def _wheel():
    """An unbounded hinge about an axis that Python cannot set: a URDF has one."""
    moments = "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/>"
    link = f"<inertial><mass value='1'/>{moments}</inertial>"
    joint = "<parent link='a'/><child link='b'/><axis xyz='0.48 0.6 0.64'/>"
    text = f"<robot name='r'><link name='a'>{link}</link><link name='b'>{link}</link>"
    peer = pin.buildModelFromXML(text + f"<joint name='w' type='continuous'>{joint}</joint></robot>")
    return peer.joints[1]


def _composite():
    joint = pin.JointModelComposite(pin.JointModelTranslation())
    joint.addJoint(pin.JointModelSphericalZYX(), pin.SE3.Random())
    return joint


def _slider_on_a_wheel():
    joint = pin.JointModelComposite(pin.JointModelRUBX())
    joint.addJoint(pin.JointModelPY(), pin.SE3.Random())
    return joint


KINDS = {
    **{
        f"{kind}{axis}": lambda name=f"JointModel{kind}{axis}": getattr(pin, name)()
        for kind in ("R", "RUB", "P")
        for axis in "XYZ"
    },
    **{f"H{axis}": lambda name=f"JointModelH{axis}": getattr(pin, name)(0.3) for axis in "XYZ"},
    "RevoluteUnaligned": lambda: pin.JointModelRevoluteUnaligned(AXIS),
    "RevoluteUnboundedUnaligned": _wheel,
    "PrismaticUnaligned": lambda: pin.JointModelPrismaticUnaligned(AXIS),
    "HelicalUnaligned": lambda: pin.JointModelHelicalUnaligned(AXIS, 0.3),
    "Universal": lambda: pin.JointModelUniversal(np.eye(3)[0], np.eye(3)[1]),
    "SphericalZYX": pin.JointModelSphericalZYX,
    "Composite": _composite,
    "Composite of a wheel": _slider_on_a_wheel,
    **{name: getattr(pin, f"JointModel{name}") for name in ("FreeFlyer", "Spherical", "Planar", "Translation")},
}


def robot(joint):
    """A free body, the joint, and a hinge behind it."""
    peer = pin.Model()
    at = 0
    for name, one in (("root_joint", pin.JointModelFreeFlyer()), ("joint", joint), ("hinge", pin.JointModelRY())):
        at = peer.addJoint(at, one, pin.SE3.Random() if at else pin.SE3.Identity(), name)
        peer.appendBodyToJoint(at, pin.Inertia.Random(), pin.SE3.Identity())
        peer.addFrame(pin.Frame(f"{name}_body", at, 0, pin.SE3.Identity(), pin.FrameType.BODY))
    return peer


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_has_the_same_dynamics(kind):
    pin.seed(1)
    peer = robot(KINDS[kind]())
    model = fc.from_pinocchio_model(peer)
    exchange = fc.exchange.pinocchio(model, peer)
    state = model.random_state(np.random.default_rng(2))
    q, v = exchange.to(*model.flatten(state))
    data, order = peer.createData(), exchange.v_order
    M = pin.crba(peer, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(M, fc.mass_matrix(model, state)[np.ix_(order, order)], rtol=0, atol=1e-12 * M.max())
    bias = pin.nonLinearEffects(peer, data, q, v)
    np.testing.assert_allclose(bias, fc.bias_forces(model, state)[order], rtol=0, atol=1e-12 * np.abs(bias).max())
    pin.framesForwardKinematics(peer, data, q)
    pose = data.oMf[peer.getFrameId("hinge_body")].homogeneous
    np.testing.assert_allclose(fc.forward_kinematics(model, state)["hinge_body"], pose, rtol=0, atol=1e-12)
    again = exchange.from_(q, v)
    np.testing.assert_allclose(exchange.to(*again)[0], q, rtol=0, atol=1e-12)


def test_names_of_chains():
    model = fc.from_pinocchio_model(robot(_composite()))
    assert model.joint_names[:4] == ("joint/0", "joint/1/z", "joint/1/y", "joint/1/x")
    assert model.link_names[1] == "joint_body/0"


def test_crossed_limits_are_none_with_a_warning():
    peer = robot(pin.JointModelRX())
    peer.lowerPositionLimit[7], peer.upperPositionLimit[7] = 1.0, -1.0
    with pytest.warns(FileWarning, match=r"joint 'joint': the lower limit lies above the upper one \(1 > -1\)"):
        model = fc.from_pinocchio_model(peer)
    assert model.joints[0].limits.lower == -np.inf


def test_an_ellipsoid_joint_is_refused_by_name():
    with pytest.raises(ModelError, match="'joint' is of the kind Ellipsoid"):
        fc.from_pinocchio_model(robot(pin.JointModelEllipsoid(1.0, 1.0, 1.0)))
