"""A satellite turns without thrusters: its arm draws a loop, and the base does not come back.

The rotation is, to leading order, the integral of the curvature of the mechanical connection over the loop's area.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.planning import Circle, EmbeddedCurve, Gait, displacement
from fallingcat.visualization import Page, Scene, appearance


def page() -> Page:
    arm = fc.robots.orbital_arm()
    middle = np.radians([0.0, 45.0, 0.0, -60.0, 0.0, 30.0, 0.0])
    plane = np.eye(arm.n)[:, [1, 3]]
    gait = Gait(EmbeddedCurve(Circle(0.6), plane, middle), duration=4.0)
    moved = displacement(arm, gait)
    print(f"{np.degrees(np.linalg.norm(arm.base.log(moved.pose)[3:])):.2f} degrees in one loop, to {moved.error:.0e}")
    shapes = gait(moved.times).q
    states = [arm.state(pose=H, joints=q) for H, q in zip(moved.path, shapes, strict=True)]
    poses = {name: np.array([fc.link_pose(arm, s, name) for s in states]) for name in arm.link_names}
    scene = Scene(moved.times, poses, appearance(arm).shapes, floor=False, ghosts=(0.0,))
    return Page("A satellite turns without thrusters", "its arm draws a loop", blocks=(scene,))


if __name__ == "__main__":
    print(page().write("satellite_turns.html"))
