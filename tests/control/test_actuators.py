"""Actuators under the controls of laws and functions, against MuJoCo."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.arrays import array, sin
from fallingcat.control import Actuators, actuator_controller
from fallingcat.errors import ModelError
from fallingcat.testing import check_law

MJCF = """<mujoco><compiler angle="radian"/><worldbody>
<body pos="0 0 1"><joint name="hip" axis="0 1 0" damping="0.02" actuatorfrcrange="-1.5 1.5"/>
 <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.02 0.002"/>
 <body pos="0 0 -0.4"><joint name="rail" type="slide" axis="1 0 0"/>
  <inertial pos="0 0 -0.1" mass="0.6" diaginertia="0.01 0.01 0.001"/>
  <body pos="0 0 -0.2"><joint name="wrist" axis="1 0 0" armature="0.01"/>
   <inertial pos="0.02 0 -0.1" mass="0.3" diaginertia="0.003 0.002 0.001"/></body></body></body>
</worldbody><actuator>
 <motor name="push" joint="hip" gear="30" ctrllimited="true" ctrlrange="-0.5 0.5"/>
 <position name="hold" joint="rail" kp="90" kv="3" forcelimited="true" forcerange="-4 4"/>
 <velocity name="spin" joint="wrist" kv="0.4" gear="2"/>
 <motor name="more" joint="wrist"/>
</actuator></mujoco>"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "arm.xml"
    path.write_text(MJCF)
    with pytest.warns(fc.FileWarning, match="off unless a law commands them"):
        return fc.load(path, base="fixed")


@dataclass(frozen=True)
class Waves(Actuators):
    """Controls that follow from time and state."""

    def controls(self, model, t, state, touching):
        return array([0.9 * sin(7.0 * t), 0.3 * sin(5.0 * t), 2.0 + 0.0 * t, -0.2 * state.rates[2]])


def theirs(duration, controls, dt=2e-4):
    mujoco = pytest.importorskip("mujoco")
    peer = mujoco.MjModel.from_xml_string(MJCF)
    peer.opt.integrator, peer.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, dt
    data = mujoco.MjData(peer)
    mujoco.set_mjcb_control(lambda m, d: controls(d))
    try:
        for _ in range(round(duration / dt)):
            mujoco.mj_step(peer, data)
    finally:
        mujoco.set_mjcb_control(None)
    return data


@pytest.mark.parametrize("given", [None, (0.04, -0.05, 3.0, 0.1), (5.0, 0.3, -2.0, 0.0)])
def test_constant_controls_move_a_robot_as_in_mujoco(robot, given):
    def controls(data):
        data.ctrl[:] = np.zeros(4) if given is None else given

    data = theirs(0.4, controls)
    run = fc.simulate(robot, robot.neutral(), 0.4, Actuators(given), integrator="rkmk4", dt=2e-4)
    assert run.ledger.ports == ("actuators", "passive damping", "drive limits")
    np.testing.assert_allclose(run.joints[-1], data.qpos, atol=2e-6)
    np.testing.assert_allclose(run.rates[-1], data.qvel, atol=2e-5)


def test_controls_of_time_and_state_as_law_and_as_function(robot):
    def controls(data):
        data.ctrl[:] = [0.9 * np.sin(7.0 * data.time), 0.3 * np.sin(5.0 * data.time), 2.0, -0.2 * data.qvel[2]]

    def plain(t, state):
        return [0.9 * np.sin(7.0 * t), 0.3 * np.sin(5.0 * t), 2.0, -0.2 * state.rates[2]]

    data = theirs(0.3, controls)
    law = fc.simulate(robot, robot.neutral(), 0.3, Waves(), integrator="rkmk4", dt=2e-4)
    np.testing.assert_allclose(law.joints[-1], data.qpos, atol=2e-5)
    function = fc.simulate(robot, robot.neutral(), 0.3, actuator_controller(robot, plain), integrator="rkmk4", dt=1e-3)
    again = fc.simulate(robot, robot.neutral(), 0.3, Waves(), integrator="rkmk4", dt=1e-3)
    np.testing.assert_allclose(function.joints, again.joints, atol=1e-12)


def test_the_effort_limit_bounds_all_actuators_of_a_joint_together(robot):
    run = fc.simulate(robot, robot.neutral(), 0.05, Actuators((0.5, 0.0, 0.0, 0.0)), integrator="rkmk4")
    driven = run.port_forces["actuators"][:, 0] + run.port_forces["drive limits"][:, 0]
    np.testing.assert_allclose(run.port_forces["actuators"][:, 0], 15.0, rtol=1e-12)
    np.testing.assert_allclose(driven, 1.5, rtol=1e-12)


def test_without_a_command_actuators_are_off(robot):
    run = fc.simulate(robot, robot.neutral(), 0.05, integrator="rkmk4")
    assert run.ledger.ports == ("passive damping",)


def test_it_is_a_law_and_what_is_wrong_is_named(robot):
    check_law(Actuators((0.1, 0.2, 0.3, 0.4)), robot)
    with pytest.raises(ModelError, match="controls of 'actuators'"):
        fc.simulate(robot, robot.neutral(), 0.1, Actuators((1.0,)))
    with pytest.raises(ModelError, match="has no actuators"):
        fc.simulate(replace(robot, actuators=()), robot.neutral(), 0.1, Actuators())
    with pytest.raises(ModelError, match="has no actuators"):
        actuator_controller(replace(robot, actuators=()), lambda t, s: [])
    run = fc.simulate(
        robot, robot.neutral(), 0.1, actuator_controller(robot, lambda t, s: [0.0] * 4), integrator="rkmk4"
    )
    assert run.status == "finished"


def test_stiff_servos_get_steps_that_resolve_them(robot):
    servo = fc.model.Actuator("stiff", "rail", "position", kp=1e6, kv=5e3)
    strong = replace(robot, actuators=(servo,))
    run = fc.simulate(strong, strong.neutral(), 0.05, Actuators((0.01,)))
    assert run.times[1] < 2e-4
    assert run.status == "finished"
    assert run.joints[-1, 1] == pytest.approx(0.01, abs=1e-4)
