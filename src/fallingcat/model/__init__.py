"""Robots: bodies, joints and the frozen tree they form."""

from . import joints, robots
from .body import Body
from .joint import Joint, Limits
from .joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    JointKind,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    Schoenflies,
    Spherical,
    Translational,
    Universal,
)
from .model import Frame, Link, Model
from .state import State

__all__ = [
    "Body",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Frame",
    "Free",
    "Helical",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "Model",
    "Planar",
    "Prismatic",
    "Reversed",
    "Revolute",
    "Schoenflies",
    "Spherical",
    "State",
    "Translational",
    "Universal",
    "joints",
    "robots",
]
