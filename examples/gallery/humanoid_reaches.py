"""Inverse kinematics in three lines: a humanoid reaches for a point while both feet stay where they are.

Two soles, the center of mass above them, and a hand: one call within joint limits. The result has a status
and the error of each task.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Page, Scene, appearance

STEPS = 60


def page() -> Page:
    robot = fc.robots.humanoid()
    bent = {"knee_pitch": 0.6, "hip_pitch": -0.3, "ankle_pitch": -0.3, "elbow_pitch": -0.8}
    start = robot.state(joints=[bent.get(name.partition("_")[2], 0.0) for name in robot.joint_names])
    hand = robot.link_names[robot.joint_names.index("left_wrist_pitch") + 1]
    feet = [fc.control.PoseTask(f"{side}_ankle_roll_link", fc.link_pose(robot, start, f"{side}_ankle_roll_link"))
            for side in ("left", "right")]  # fmt: skip
    center = fc.center_of_mass(robot, start)
    balance = fc.control.CenterOfMassTask(center, mask=(True, True, False))
    place = fc.link_pose(robot, start, hand)[:3, 3]
    state, states = start, []
    for k in range(STEPS):
        goal = place + np.array([0.25, 0.05, -0.35]) * k / (STEPS - 1)
        found = fc.control.inverse_kinematics(robot, [*feet, balance, fc.control.PositionTask(hand, goal)], state)
        state = found.state
        states.append(state)
    print(
        f"{found.status}: the hand is {1e3 * np.linalg.norm(fc.link_pose(robot, state, hand)[:3, 3] - goal):.3f} mm off"
    )
    poses = {name: np.array([fc.link_pose(robot, s, name) for s in states]) for name in robot.link_names}
    scene = Scene(np.linspace(0.0, 2.0, STEPS), poses, appearance(robot).shapes, floor=_ground(poses), azimuth=-40.0)
    return Page("A humanoid reaches down", "both feet stay, the center of mass stays above them", blocks=(scene,))


def _ground(poses):
    H = np.eye(4)
    H[2, 3] = min(x[0, 2, 3] for x in poses.values()) - 0.05
    return H


if __name__ == "__main__":
    print(page().write("humanoid_reaches.html"))
