"""Robots: bodies, joints and the frozen tree they form."""

from . import joints, robots, shapes
from .activation import Activation, FirstOrderFilter, Integrator, MuscleActivation
from .actuator import Actuator
from .body import Body
from .coupled_sums import CoupledSums
from .fluid_drag import FluidDrag
from .force_elements import ForceElement, GravityCompensation
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
from .keyframes import Keyframe
from .link import Frame, Link
from .loops import Couple, Loop, Pin, Rolling, Weld
from .model import Model
from .muscle import Muscle
from .scene import combine, rigid_object
from .shapes import Shape
from .state import State
from .surface import Surface
from .tendons import FixedTendon, Pulley, SpatialTendon, Tendon, Via, Wrap
from .transmissions import OnSite, OnTendon, SliderCrank, Transmission

__all__ = [
    "Activation",
    "Actuator",
    "Body",
    "Continuous",
    "Couple",
    "CoupledSums",
    "Cylindrical",
    "FirstOrderFilter",
    "Fixed",
    "FixedTendon",
    "FluidDrag",
    "ForceElement",
    "Frame",
    "Free",
    "GravityCompensation",
    "Helical",
    "Integrator",
    "Joint",
    "JointKind",
    "Keyframe",
    "Limits",
    "Link",
    "Loop",
    "Mimic",
    "Model",
    "Muscle",
    "MuscleActivation",
    "OnSite",
    "OnTendon",
    "Passive",
    "Pin",
    "Planar",
    "Prismatic",
    "PseudoPlanar",
    "Pulley",
    "Reversed",
    "Revolute",
    "Rolling",
    "Schoenflies",
    "Shape",
    "SliderCrank",
    "SpatialTendon",
    "Spherical",
    "State",
    "Surface",
    "Tendon",
    "Translational",
    "Transmission",
    "Universal",
    "Via",
    "Weld",
    "Wrap",
    "combine",
    "joints",
    "rigid_object",
    "robots",
    "shapes",
]
