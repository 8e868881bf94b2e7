"""Robots of public packages in scenes drawn at random, beside MuJoCo with the same springs, dampers and cones.

They brake, land sliding, turn and accelerate on floors from soft to stiff, with a third to three times their mass.  At
default steps and at 2 ms a run is 5 % of the way of the base and of the largest motion of a joint off at most, or says
that its steps are too long.  The bound was chosen before the runs: of 34 scenes of the same kind the largest errors are
0.9 and 1.9 % at default steps, 2.3 and 2.6 % at 2 ms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fallingcat as fc

pytest.importorskip("mujoco")
pytest.importorskip("pinocchio")

from fallingcat.contact import CompliantFloor, collision_points
from fallingcat.geometry.contact_points import positions
from fallingcat.simulation import DiagnosticKind

from .mujoco_twin import MujocoTwin
from .robot_scenes import ANYMAL_LEGS, SOLO_LEGS, Drive, RobotScene, load, standing

BOUND = 0.05
LEAST_WAY, LEAST_BEND = 1e-3, 1e-2  # m, rad
UNITREE_LEGS, HYQ_LEGS = [0.0, 0.8, -1.6] * 4, [0.0, 0.6, -1.2, 0.0, -0.6, 1.2] * 2
ROBOTS = (
    ("a1.urdf", "", UNITREE_LEGS, 4),
    ("b1.urdf", "", UNITREE_LEGS, 4),
    ("go1.urdf", "", UNITREE_LEGS, 4),
    ("hyq_no_sensors.urdf", "", HYQ_LEGS, 4),
    ("laikago.urdf", "", UNITREE_LEGS, 4),
    ("anymal.urdf", "anymal_b", ANYMAL_LEGS, 4),
    ("anymal.urdf", "anymal_c", ANYMAL_LEGS, 8),
    ("solo12.urdf", "", SOLO_LEGS, 8),
    ("bolt.urdf", "", None, 6),
    ("g1_29dof_rev_1_0.urdf", "", None, 8),
    ("talos_reduced.urdf", "", None, 8),
    ("simple_humanoid.urdf", "", None, 8),
    ("go2.urdf", "", UNITREE_LEGS, 12),
)
"""File, folder, joints (None: all zero), and how many of the lowest points of the collision shapes touch."""
MOTIONS = ("braking", "landing", "turning", "accelerating")
QUICK = (18,)
SCENES = [pytest.param(seed, marks=() if seed in QUICK else pytest.mark.slow) for seed in range(26)]


def scene(seed: int) -> RobotScene:
    rng = np.random.default_rng(5000 + seed)
    file, folder, bent, count = ROBOTS[seed % len(ROBOTS)]
    model, names, _ = collision_points(heavier(load(file, folder), 10.0 ** rng.uniform(-0.5, 0.5)))
    joints = (np.zeros(model.n) if bent is None else np.array(bent)) + rng.uniform(-0.05, 0.05, model.n)
    heights = np.array([p[2] for p in positions(model, model.state(pose=np.eye(4), joints=joints), names)])
    points = tuple(names[i] for i in sorted(np.argsort(heights, kind="stable")[:count]))
    stiffness = model.mass * 10.0 ** rng.uniform(3.0, 4.0)
    damping = 10.0 ** rng.uniform(-0.7, 0.3) * np.sqrt(stiffness * model.mass / count)
    along, friction = damping * 10.0 ** rng.uniform(-0.7, 0.3), rng.uniform(0.3, 1.0)
    heading, speed, height = rng.uniform(-np.pi, np.pi), rng.uniform(0.4, 1.5), -model.mass * 9.81 / (count * stiffness)
    velocity, spin, drive = speed * np.array([np.cos(heading), np.sin(heading), 0.0]), 0.0, None
    kp = model.mass * rng.uniform(3.0, 20.0)
    motion = MOTIONS[(seed + seed // len(ROBOTS)) % len(MOTIONS)]
    if motion == "landing":
        height, velocity[2] = rng.uniform(0.0, 0.02), -rng.uniform(0.0, 0.6)
    elif motion == "turning":
        spin = rng.uniform(-3.0, 3.0)
    elif motion == "accelerating":
        velocity *= 0.1
        sizes, phases = rng.uniform(-0.05, 0.05, model.n) * kp, rng.uniform(0.0, 6.0, model.n)
        drive = Drive(tuple(sizes.tolist()), tuple(phases.tolist()), rng.uniform(1.0, 4.0))
    pose = standing(model, points, joints, height, velocity).pose
    start = model.state(pose=pose, joints=joints, twist=[*velocity, 0.0, 0.0, spin])
    floor = CompliantFloor(points, (stiffness, 0.0), (damping, along), friction=friction)
    return RobotScene(model, start, floor, 0.4, kp, 0.03 * kp, drive)


def heavier(model: fc.Model, share: float) -> fc.Model:
    """The robot with all masses and inertias multiplied."""
    bodies = [fc.Body(link.body.mass * share, link.body.center, share * link.body.inertia) for link in model.links]
    links = (replace(link, body=body) for link, body in zip(model.links, bodies, strict=True))
    return replace(model, links=tuple(links))


@pytest.mark.parametrize("seed", SCENES)
def test_random_scenes_are_right_or_reported(seed: int) -> None:
    given = scene(seed)
    twin = MujocoTwin(given.model, given.floor, given.kp, given.kd, given.rest, dt=4e-5)
    want = twin.run(given.start, given.duration, None if given.drive is None else given.drive.at)
    way = max(LEAST_WAY, float(np.linalg.norm(want.pose[:3, 3] - given.start.pose[:3, 3])))
    bent = max(LEAST_BEND, np.abs(want.joints - given.start.joints).max())
    for dt in (None, 2e-3):
        run = given.simulate(**({} if dt is None else {"dt": dt, "integrator": "implicit"}))
        end = run.state(-1)
        base, joints = np.linalg.norm(end.pose[:3, 3] - want.pose[:3, 3]) / way, np.abs(end.joints - want.joints).max()
        reported = DiagnosticKind.STEP_ERROR in {warning.kind for warning in run.warnings}
        assert (base < BOUND and joints / bent < BOUND) or (dt is not None and reported), (dt, base, joints / bent)
        assert run.error_estimate is not None
