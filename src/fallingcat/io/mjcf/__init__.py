"""MJCF, the robot format of MuJoCo: ``<mujoco>`` with bodies inside bodies.

Read: bodies, frames, joints (free, ball, slide, hinge), inertials, the inertia of geoms, default classes, settings of
the compiler, gravity, includes from the file's own folder.  Checked, not kept: equality, tendon, actuator, sensor,
contact, assets.  Refused: what makes or bends bodies (replicate, attach, composite, flexcomp, flex, plugins).
"""

from .reader import read_mjcf

__all__ = ["read_mjcf"]
