"""A dog lands on rough ground: balls as feet, a height field below, and what each foot feels.

`python examples/contact/rough_ground.py [page.html]` prints a table, and writes the run as a page if asked to.
"""

from __future__ import annotations

import sys

import numpy as np

import fallingcat as fc

FEET = tuple(f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right"))
RADIUS = 0.02  # m
STEP = 0.25  # m between the heights of the ground


def ground(seed: int, roughness: float) -> fc.contact.HeightField:
    """Heights (m) at random, around the origin."""
    heights = np.random.default_rng(seed).uniform(0.0, roughness, (6, 5))
    return fc.contact.HeightField(heights, STEP, origin=(-2.5 * STEP, -2.0 * STEP))


def land(seed: int = 1, roughness: float = 0.05, duration: float = 1.0) -> fc.Trajectory:
    """From a little above, on joints with springs and dampers."""
    dog = fc.robots.quadruped()
    floor = fc.contact.CompliantFloor(
        FEET, stiffness=(2e4, 2e4), damping=(200.0, 100.0), friction=0.8, radius=RADIUS, terrain=ground(seed, roughness)
    )
    joints = [fc.control.JointSpring(60.0), fc.control.JointDamper(2.0)]
    start = np.eye(4)
    start[2, 3] = 0.5
    return fc.simulate(dog, dog.state(pose=start), duration, joints, floor, integrator="implicit", dt=1e-3)


def main() -> None:
    run = land()
    terrain = run.problem.contact.terrain
    print(f"{run.status}; books balance to {run.energy_residual:.1e}")
    print("foot                 ground (mm)   push (N)   depth (mm)   slip (mm/s)")
    for i, foot in enumerate(FEET):
        x, y, _ = fc.contact.position(run.model, run.state(-1), foot)
        row = 1e3 * terrain.height(x, y), run.contact_pushes[-1, i], 1e3 * run.penetration[-1, i], 1e3 * run.slip[-1, i]
        print(f"{foot:<18} {row[0]:11.1f} {row[1]:11.2f} {row[2]:11.3f} {row[3]:12.4f}")
    if len(sys.argv) > 1:
        run.animate("contacts").write(sys.argv[1])


if __name__ == "__main__":
    main()
