"""Robots: bodies, joints and the frozen tree they form."""

from . import joints, robots, shapes
from .actuator import Actuator
from .body import Body
from .joint import Joint, Limits, Mimic, Passive
from .joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    PseudoPlanar,
    Reversed,
    Revolute,
    Schoenflies,
    Spherical,
    Translational,
    Universal,
)
from .link import Frame, Link
from .loops import Couple, Loop, Pin, Rolling, Weld
from .model import Model
from .scene import combine, rigid_object
from .shapes import Shape
from .state import State

__all__ = [
    "Actuator",
    "Body",
    "Continuous",
    "Couple",
    "Cylindrical",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "Loop",
    "Mimic",
    "Model",
    "Passive",
    "Pin",
    "Planar",
    "Prismatic",
    "PseudoPlanar",
    "Reversed",
    "Revolute",
    "Rolling",
    "Schoenflies",
    "Shape",
    "Spherical",
    "State",
    "Translational",
    "Universal",
    "Weld",
    "combine",
    "joints",
    "rigid_object",
    "robots",
    "shapes",
]
