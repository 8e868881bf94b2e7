"""Quadruped and humanoid that walk in simulation, for tests of locomotion."""

import numpy as np

import fallingcat as fc
from fallingcat import locomotion as loco

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BENT = (0.0, 0.7, -1.4) * 4
GROUND = fc.contact.CompliantFloor(FEET, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)


def walked(command, duration, laws=(), ground=GROUND, **options):
    walk = loco.QuadrupedWalk(DOG, FEET, BENT, **options)
    controller = fc.control.Sampled(walk.compile(command), rate=500.0)
    return fc.simulate(DOG, DOG.standing(ground, BENT), duration, [controller, *laws], ground, dt=1e-3)


def in_heading(run, start):
    """Mean velocity along the axes of the trunk, and rate of its heading, from a time on."""
    since = run.times >= start
    R, v = run.poses[since, :3, :3], np.gradient(run.poses[:, :3, 3], run.times, axis=0)[since]
    heading = np.unwrap(np.arctan2(R[:, 1, 0], R[:, 0, 0]))
    rate = (heading[-1] - heading[0]) / (run.times[-1] - start)
    return np.einsum("tji,tj->ti", R, v).mean(axis=0)[:2], rate


def largest_tilt(run):
    return np.degrees(np.arccos(np.clip(run.poses[:, 2, 2], -1.0, 1.0))).max()


def humanoid():
    robot, left = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.2, 0.1))
    robot, right = fc.contact.corners(robot, "right_sole", (0.2, 0.1))
    bent = {"hip_pitch": -0.3, "knee_pitch": 0.6, "ankle_pitch": -0.3}
    angles = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in bent.items()}
    return robot, (left, right), robot.state(joints=angles).joints


def humanoid_run(command, duration, hard=False, **options):
    robot, contacts, posture = humanoid()
    points = (*contacts[0], *contacts[1])
    soft = fc.contact.CompliantFloor(points, stiffness=(3e4, 3e4), damping=(500.0, 500.0), friction=0.8)
    ground = fc.contact.HardContacts(points, friction=0.8) if hard else soft
    walk = loco.HumanoidWalk(robot, ("left_sole", "right_sole"), contacts, posture, **options)
    controller = fc.control.Sampled(walk.compile(command), rate=500.0)
    return fc.simulate(robot, robot.standing(ground, posture), duration, controller, ground, dt=1e-3)
