"""Force laws, to be put side by side."""

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
from .springs import JointDamper, JointSpring

__all__ = [
    "EnergyController",
    "JointDamper",
    "JointSpring",
    "Law",
    "Leg",
    "LockedPolarSpring",
    "PolarLaw",
    "PolarSpring",
    "RadialDamper",
    "RadialSpring",
    "virtual_leg",
]
