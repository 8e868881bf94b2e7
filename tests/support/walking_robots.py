"""Quadruped and humanoid that walk in simulation, for tests of locomotion."""

from dataclasses import replace

import numpy as np

import fallingcat as fc
from fallingcat import locomotion as loco
from fallingcat.model import Frame
from tests.engines.robot_scenes import load

DOG = fc.robots.quadruped()
FEET = tuple(frame.name for frame in DOG.frames)
BENT = (0.0, 0.7, -1.4) * 4
GROUND = fc.contact.CompliantFloor(FEET, stiffness=(2e4, 2e4), damping=(300.0, 300.0), friction=0.8)


def walked(command, duration, laws=(), ground=GROUND, **options):
    walk = loco.QuadrupedWalk(DOG, FEET, BENT, **options)
    controller = fc.control.SampledController(walk.compile(command), rate=500.0)
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


def g1():
    """Unitree G1 of example-robot-data, on the four spheres under each foot, arms bent."""
    robot = load("g1_29dof_rev_1_0.urdf")
    below = np.eye(4)
    below[:3, 3] = 0.035, 0.0, -0.035
    soles = [Frame(f"{side}_sole", f"{side}_ankle_roll_link", below) for side in ("left", "right")]
    robot = replace(robot, frames=(*robot.frames, *soles))
    outline = [(0.085, 0.03), (-0.085, 0.025), (-0.085, -0.025), (0.085, -0.03)]
    robot, left = fc.contact.corners(robot, "left_sole", outline)
    robot, right = fc.contact.corners(robot, "right_sole", outline)
    angles = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles |= {f"{side}_hip_pitch_joint": -0.3, f"{side}_knee_joint": 0.6, f"{side}_ankle_pitch_joint": -0.3}
        angles |= {f"{side}_shoulder_roll_joint": 0.2 * sign, f"{side}_elbow_joint": 0.6}
    return robot, (left, right), robot.state(joints=angles).joints, ("left_sole", "right_sole")


def talos():
    """PAL Talos of example-robot-data, without the joints of its fingers."""
    robot = load("talos_reduced.urdf")
    robot, left = fc.contact.corners(robot, "left_sole_link", (0.2, 0.12))
    robot, right = fc.contact.corners(robot, "right_sole_link", (0.2, 0.12))
    angles = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        angles |= {f"leg_{side}_3_joint": -0.4, f"leg_{side}_4_joint": 0.8, f"leg_{side}_5_joint": -0.4}
        angles |= {f"arm_{side}_2_joint": 0.3 * sign, f"arm_{side}_4_joint": -0.5}
    return robot, (left, right), robot.state(joints=angles).joints, ("left_sole_link", "right_sole_link")


def humanoid_run(command, duration, hard=False, who=None, **options):
    robot, contacts, posture, *named = (humanoid if who is None else who)()
    soles = named[0] if named else ("left_sole", "right_sole")
    points = (*contacts[0], *contacts[1])
    soft = fc.contact.CompliantFloor(points, stiffness=(3e4, 3e4), damping=(500.0, 500.0), friction=0.8)
    ground = fc.contact.HardContacts(points, friction=0.8) if hard else soft
    walk = loco.HumanoidWalk(robot, soles, contacts, posture, **options)
    controller = fc.control.SampledController(walk.compile(command), rate=500.0)
    return fc.simulate(robot, robot.standing(ground, posture), duration, controller, ground, dt=1e-3)
