"""MJCF, the robot format of MuJoCo: ``<mujoco>`` with bodies inside bodies.

Read: bodies, frames, joints (free, ball, slide, hinge), inertials, the inertia of geoms and meshes, default classes,
settings of the compiler, gravity, includes and attached models from the robot's own folder.  Checked, not kept:
equality, tendon, actuator, sensor, contact, assets.  Refused: what makes or bends bodies (replicate, composite,
flexcomp, flex, plugins).
"""

from .reader import read_mjcf

__all__ = ["read_mjcf"]
