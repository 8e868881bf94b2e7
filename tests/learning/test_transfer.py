"""A policy that was learned here walks in MuJoCo, on its contacts."""

from pathlib import Path

import numpy as np
import pytest

import fallingcat as fc
from fallingcat.learning import Policy, Walk

mujoco = pytest.importorskip("mujoco")
FILE = Path(__file__).parents[2] / "examples" / "learning" / "quadruped_walk.npz"
SECONDS = 10.0


def in_mujoco(task, folder):
    """The robot's MJCF file with a floor, and a small sphere at each foot."""
    fc.save(task.model, folder / "robot.xml")
    spec = mujoco.MjSpec.from_file(str(folder / "robot.xml"))
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 1], friction=[0.8, 0, 0])
    for name in task.feet:
        frame = task.model.frame(name)
        body = next(b for b in spec.bodies if b.name == frame.link)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[5e-3, 0, 0], pos=frame.placement[:3, 3], mass=0.0)
    model = spec.compile()
    model.opt.timestep = task.dt
    return model, mujoco.MjData(model)


@pytest.mark.filterwarnings("ignore:.*limits of speed")
@pytest.mark.parametrize("command", [(0.5, 0.0, 0.0), pytest.param((0.0, 0.3, 0.5), marks=pytest.mark.slow)])
def test_a_policy_walks_in_mujoco(tmp_path, command):
    policy = Policy.load(FILE)
    task = Walk.of(fc.robots.quadruped(), policy.about)
    model, data = in_mujoco(task, tmp_path)
    data.qpos[:], data.qvel[:] = task.model.to_mujoco(task.stance)
    data.qpos[2] += 5e-3
    act, action = policy.law(task), np.zeros(12)
    kp, kd, posture = float(task.kp), float(task.kd), task.stance.joints
    velocities = []
    for k in range(round(SECONDS / task.dt)):
        state = task.model.from_mujoco(data.qpos, data.qvel)
        if k % 10 == 0:
            action = act(task.model, state, np.zeros(1), np.array(command), action)
            velocities.append([*state.twist[:2], state.twist[5]])
        torque = kp * (posture + task.scale * action - state.joints) - kd * state.rates
        data.qfrc_applied[6:] = np.clip(torque, -30.0, 30.0)
        mujoco.mj_step(model, data)
        assert state.pose[2, 2] > 0.8  # no fall
        assert state.pose[2, 3] > 0.7 * task.height
    went = np.mean(velocities[len(velocities) // 2 :], axis=0)
    np.testing.assert_allclose(went, command, atol=0.15)
