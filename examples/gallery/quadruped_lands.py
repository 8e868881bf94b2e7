"""A quadruped lands on a slope: contact forces of its feet.

Compliant ground, friction, joints with springs and dampers; the linearly implicit integrator covers all contact
modes in one compiled step.
"""

from __future__ import annotations

import numpy as np

import fallingcat as fc
from fallingcat.visualization import Page

SLOPE = np.radians(8.0)


def page() -> Page:
    dog = fc.robots.quadruped()
    feet = tuple(frame.name for frame in dog.frames)
    normal = (-np.sin(SLOPE), 0.0, np.cos(SLOPE))
    ground = fc.contact.CompliantFloor(feet, (2e4, 2e4), (200.0, 200.0), friction=0.8, normal=normal)
    sit = np.tile([0.0, 0.6, -1.2], 4)
    laws = [fc.control.JointSpring(150.0, tuple(sit)), fc.control.JointDamper(4.0)]
    pose = dog.base.exp(np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0]))
    run = fc.simulate(dog, dog.state(pose=pose, joints=sit), 1.5, laws, ground)
    print(f"{run.status}; {run.integrator}; feet carry {run.contact_pushes[-1].sum():.1f} N")
    return run.animate("contacts")


if __name__ == "__main__":
    print(page().write("quadruped_lands.html"))
