"""Force laws, to be put side by side."""

from .actuators import Actuators, actuated
from .hopping import (
    EnergyController,
    Leg,
    LockedPolarSpring,
    PolarLaw,
    PolarSpring,
    RadialDamper,
    RadialSpring,
    virtual_leg,
)
from .law import Law
from .passive import DriveLimits, DryFriction, JointStops, PassiveDamping, PassiveSprings, passive
from .springs import JointDamper, JointSpring

__all__ = [
    "Actuators",
    "DriveLimits",
    "DryFriction",
    "EnergyController",
    "JointDamper",
    "JointSpring",
    "JointStops",
    "Law",
    "Leg",
    "LockedPolarSpring",
    "PassiveDamping",
    "PassiveSprings",
    "PolarLaw",
    "PolarSpring",
    "RadialDamper",
    "RadialSpring",
    "actuated",
    "passive",
    "virtual_leg",
]
