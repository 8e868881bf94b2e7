"""Walking on slopes, rough and hard ground, and with the torques applied in MuJoCo."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fallingcat as fc
from fallingcat import locomotion as loco
from fallingcat.arrays import exp, log, sin
from tests.support.walking_robots import (
    BENT,
    DOG,
    FEET,
    g1,
    humanoid,
    humanoid_run,
    in_heading,
    largest_tilt,
    talos,
    walked,
)

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Slope(fc.contact.Terrain):
    """Level ground, then a slope from x = 1 m on."""

    slope: float

    def height(self, x, y):
        return self.slope * 0.1 * log(1.0 + exp((x - 1.0) * 10.0))


@dataclass(frozen=True)
class Rough(fc.contact.Terrain):
    """Bumps, ``size`` (m) from the lowest to the highest place."""

    size: float

    def height(self, x, y):
        return 0.25 * self.size * (sin(x * 13.0) * sin(y * 11.0 + 1.0) + sin(x * 7.0 + 2.0))


def on(terrain):
    return fc.contact.CompliantFloor(FEET, (2e4, 2e4), (300.0, 300.0), friction=0.8, terrain=terrain)


def test_up_a_slope_of_15_degrees():
    walk = loco.QuadrupedWalk(DOG, FEET, BENT)
    controller = fc.control.SampledController(walk.compile(loco.VelocityCommand(0.5)), rate=500.0)
    start = DOG.standing(on(None), BENT)
    run = fc.simulate(DOG, start, 6.0, controller, on(Slope(np.tan(np.radians(15.0)))), dt=1e-3)
    assert_allclose(in_heading(run, 4.5)[0][0], 0.5, atol=0.05)
    assert run.poses[-1, 2, 3] > 0.75  # m
    assert largest_tilt(run) < 18.0


@pytest.mark.parametrize("known", [False, True])
def test_over_5_cm_of_roughness(known):
    terrain = Rough(0.05)
    walk = loco.QuadrupedWalk(DOG, FEET, BENT, terrain=terrain if known else None)
    controller = fc.control.SampledController(walk.compile(loco.VelocityCommand(0.5)), rate=500.0)
    run = fc.simulate(DOG, DOG.standing(on(None), BENT), 6.0, controller, on(terrain), dt=1e-3)
    assert_allclose(in_heading(run, 2.0)[0], [0.5, 0.0], atol=0.03)
    assert largest_tilt(run) < 8.0


def test_a_trot_on_hard_ground():
    run = walked(loco.VelocityCommand(1.5), 4.0, ground=fc.contact.HardContacts(FEET, friction=0.8))
    assert_allclose(in_heading(run, 2.0)[0], [1.5, 0.0], atol=0.03)


@pytest.mark.parametrize("command", [(0.3, 0.0, 0.0), (0.3, 0.0, 0.3)])
def test_a_humanoid_on_hard_ground(command):
    run = humanoid_run(loco.VelocityCommand(*command), 14.5, hard=True)
    velocity, turning = in_heading(run, 4.0)
    assert_allclose(velocity, command[:2], atol=0.05)
    assert_allclose(turning, command[2], atol=0.02)
    assert largest_tilt(run) < 3.0


@pytest.mark.parametrize("hard", [False, True])
def test_a_humanoid_goes_sideways(hard):
    run = humanoid_run(loco.VelocityCommand(0.0, 0.3), 11.0, hard, schedule=loco.biped_walk(0.35, 0.1))
    assert_allclose(in_heading(run, 4.0)[0], [0.0, 0.3], atol=0.05)


# MuJoCo -----------------------------------------------------------------------------------------------------------


def mujoco_model(model, points, radius, folder):
    """MuJoCo's model of a robot on small spheres over a plane."""
    mujoco = pytest.importorskip("mujoco")
    with pytest.warns(fc.FileWarning, match="MJCF has no limits of speed"):
        fc.save(model, folder / "robot.xml")
    spec = mujoco.MjSpec.from_file(str(folder / "robot.xml"))
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    common = {"friction": [0.8, 0.005, 0.0001], "condim": 3}
    for place in points:
        frame = model.frame(place)
        at = frame.placement[:3, 3] + frame.placement[:3, 2] * radius
        kind = mujoco.mjtGeom.mjGEOM_SPHERE
        size = [radius, 0, 0]
        spec.body(frame.link).add_geom(type=kind, size=size, pos=at, contype=2, conaffinity=1, mass=0.0, **common)
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=2, **common)
    spec.option.timestep, spec.option.cone = 1e-3, mujoco.mjtCone.mjCONE_ELLIPTIC
    return spec.compile()


def in_mujoco(model, points, loop, joints, duration, folder, radius=0.005):
    """Heights (m), headings (rad) and horizontal places (m) of the base, each 2 ms."""
    import mujoco

    m = mujoco_model(model, points, radius, folder)
    d = mujoco.MjData(m)
    q_at = [m.joint(name).qposadr[0] for name in model.joint_names]
    v_at = [m.joint(name).dofadr[0] for name in model.joint_names]
    d.qpos[q_at] = joints
    d.qpos[2] = -min(fc.link_pose(model, model.state(joints=joints), place)[2, 3] for place in points)
    poses = []
    for k in range(round(duration / 1e-3)):
        if k % 2 == 0:
            w, x, y, z = d.qpos[3:7]
            state = model.state(position=d.qpos[:3], quaternion=[x, y, z, w], joints=d.qpos[q_at])
            R = state.pose[:3, :3]
            state = state._replace(twist=np.append(R.T @ d.qvel[:3], d.qvel[3:6]), rates=d.qvel[v_at])
            d.qfrc_applied[v_at] = loop(k * 1e-3, state)
            poses.append(state.pose)
        mujoco.mj_step(m, d)
    return np.array(poses)


def mean_velocity(poses, since):
    v = np.diff(poses[:, :3, 3], axis=0)[since:] / 2e-3
    return np.einsum("tji,tj->ti", poses[since:-1, :3, :3], v).mean(axis=0)[:2]


@pytest.mark.parametrize("command", [(1.5, 0.0, 0.0), (0.5, 0.0, 0.8)])
def test_torques_of_a_trot_in_mujoco(command, tmp_path):
    walk = loco.QuadrupedWalk(DOG, FEET, BENT, loco.trot(0.32))  # with 0.4 s it falls at 1.5 m/s on feet this small
    loop = walk.compile(loco.VelocityCommand(*command))
    poses = in_mujoco(DOG, FEET, loop, BENT, 4.0, tmp_path)
    assert_allclose(mean_velocity(poses, 1000), command[:2], atol=0.03)
    assert poses[:, 2, 2].min() > np.cos(np.radians(5.0))


@pytest.mark.parametrize("who", [humanoid, g1, talos])
@pytest.mark.parametrize("command", [(0.3, 0.0, 0.0), (0.3, 0.0, 0.3), (0.0, 0.15, 0.0), (0.0, 0.3, 0.0)])
@pytest.mark.filterwarnings("ignore::fallingcat.FileWarning")
def test_torques_of_a_humanoid_in_mujoco(command, who, tmp_path):
    robot, contacts, posture, *soles = who()
    how = {"schedule": loco.biped_walk(0.35, 0.1)} if command[1] else {}
    walk = loco.HumanoidWalk(robot, soles[0] if soles else ("left_sole", "right_sole"), contacts, posture, **how)
    loop = walk.compile(loco.VelocityCommand(*command))
    poses = in_mujoco(robot, [*contacts[0], *contacts[1]], loop, posture, 14.5, tmp_path)
    assert_allclose(mean_velocity(poses, 2000), command[:2], atol=0.05)
    assert poses[:, 2, 2].min() > np.cos(np.radians(10.0 if command[1] == 0.3 else 5.0))
