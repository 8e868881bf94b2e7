"""Pinocchio's and MuJoCo's quantities as changes of velocity: every line of reference/coming_from.md that is not in
tests/dynamics/test_peers.py."""

from pathlib import Path

import numpy as np
import pytest
from residuals import agree

import fallingcat as fc

ROOT = Path(__file__).parents[2]
CAT = ROOT / "examples/robots/cat.urdf"
ARM = """<mujoco><worldbody><body name="hull" pos="0 0 1"><freejoint/>
  <inertial pos="0.1 0.02 -0.03" mass="3" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
  <body name="upper" pos="0.2 0.1 0"><joint name="shoulder" axis="0 1 0"/>
    <inertial pos="0.1 0 0.05" mass="1" diaginertia="0.02 0.03 0.04"/>
    <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="1 0 0"/>
      <inertial pos="0.1 0.1 0" mass="0.5" diaginertia="0.01 0.02 0.02"/></body></body></body></worldbody></mujoco>"""


@pytest.fixture(params=range(3))
def pinocchio_cat(request):
    """The cat twice, at one state, with Pinocchio's data filled; and the order of its velocities."""
    pin = pytest.importorskip("pinocchio")
    ours, theirs = fc.load(CAT), pin.buildModelFromUrdf(str(CAT), pin.JointModelFreeFlyer())
    order = np.array([*range(6), *(theirs.joints[theirs.getJointId(name)].idx_v for name in ours.joint_names)])
    state = ours.random_state(np.random.default_rng(request.param))
    flat_q, flat_v = ours.flatten(state)
    q, v = pin.neutral(theirs), np.zeros(theirs.nv)
    q[:7], q[order[6:] + 1], v[order] = flat_q[:7], flat_q[7:], flat_v
    data = theirs.createData()
    pin.computeAllTerms(theirs, data, q, v)
    for function in (pin.computeCoriolisMatrix, pin.dccrba, pin.ccrba):  # each overwrites what others left
        function(theirs, data, q, v)
    pin.computeJointJacobians(theirs, data, q)
    pin.updateFramePlacements(theirs, data)
    return pin, ours, state, theirs, data, order


def test_pinocchio_is_body_fixed_and_christoffel(pinocchio_cat):
    _, ours, state, _, data, p = pinocchio_cat
    eom = fc.equations(ours, state)
    upper = np.triu(data.M) + np.triu(data.M, 1).T
    agree("pin: M", eom.M, upper[np.ix_(p, p)])
    agree("pin: C", eom.C, data.C[np.ix_(p, p)])
    agree("pin: nle", eom.C @ eom.v + eom.g, data.nle[p])


def test_pinocchio_centroidal(pinocchio_cat):
    _, ours, state, _, data, p = pinocchio_cat
    change = fc.changes.centroidal(ours, state)
    eom = fc.equations(ours, state).change(change)
    agree("pin: Ig", eom.M[:6, :6], data.Ig.matrix(), scale=1.0)
    agree("pin: hg", eom.M[:6, :6] @ eom.v[:6], data.hg.vector)
    agree("pin: vcom", eom.v[:3], data.vcom[0])
    agree("pin: Ag", eom.M[:6, :6] @ change.T[:6], data.Ag[:, p])
    agree("pin: Ag, by name", fc.centroidal_momentum_matrix(ours, state), data.Ag[:, p])
    agree("pin: dAg", fc.dynamics.centroidal_momentum_matrix_derivative(ours, state), data.dAg[:, p])
    agree("pin: Jcom", fc.changes.center_of_mass_base(ours, state).T[:3], data.Jcom[:, p])


def test_pinocchio_reference_frames_are_representations(pinocchio_cat):
    pin, ours, state, theirs, data, p = pinocchio_cat
    for name in ("front", "tail"):
        frame = theirs.getFrameId(name, pin.FrameType.BODY)
        for reference, ours_ in (("LOCAL", "body"), ("LOCAL_WORLD_ALIGNED", "mixed"), ("WORLD", "inertial")):
            J = pin.getFrameJacobian(theirs, data, frame, getattr(pin, reference))[:, p]
            T = fc.changes.base_at(ours, state, name, representation=ours_).T[:6]
            agree(f"pin: {reference}", T, J)


def mujoco_velocity(model, state):
    """MuJoCo's free joint: linear velocity along the world's axes, angular velocity along the body's."""
    R, w = state.pose[:3, :3], state.twist[3:]
    spin = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    T, T_dot = np.eye(model.nv), np.zeros((model.nv, model.nv))
    T[:3, :3], T_dot[:3, :3] = R, R @ spin
    return fc.VelocityChange(T, T_dot, T.T, "mujoco")


@pytest.mark.parametrize("seed", range(3))
def test_mujoco_is_a_change_of_velocity(tmp_path, seed):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "arm.xml").write_text(ARM, encoding="utf-8")
    ours, theirs = fc.load(tmp_path / "arm.xml"), mujoco.MjModel.from_xml_string(ARM)
    data, M = mujoco.MjData(theirs), np.zeros((theirs.nv, theirs.nv))
    state = ours.random_state(np.random.default_rng(seed))
    data.qpos[:], data.qvel[:] = ours.to_mujoco(state)
    mujoco.mj_forward(theirs, data)
    try:
        mujoco.mj_fullM(theirs, M, data.qM)
    except (TypeError, AttributeError):  # its signature changed
        mujoco.mj_fullM(theirs, data, M)
    change = mujoco_velocity(ours, state)
    eom = fc.equations(ours, state).change(change)
    agree("mujoco: qvel", eom.v, data.qvel)
    agree("mujoco: M", eom.M, M, 1e-11)
    agree("mujoco: qfrc_bias", eom.C @ eom.v + eom.g, data.qfrc_bias, 1e-11)
    agree("mujoco: qacc", eom.forward(np.zeros(ours.nv)), data.qacc, 1e-10)
    centroidal = fc.changes.centroidal(ours, state)
    back = change.inverted().then(centroidal)
    agree("mujoco, then centroidal", eom.change(back).M, fc.equations(ours, state).change(centroidal).M)
