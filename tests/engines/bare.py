"""The robot that other engines read."""

from __future__ import annotations

from dataclasses import replace

import fallingcat as fc
from fallingcat.compiler.compare import bare_urdf


def urdf_of(model: fc.Model) -> str:
    """URDF of the bodies and joints alone: rotors, which URDF does not know, and passive forces are set afterwards."""
    joints = tuple(replace(joint, armature=0.0) for joint in model.joints)
    return bare_urdf(replace(model, joints=joints))
