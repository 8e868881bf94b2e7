"""Hoppers as kinds of study: the experiments of [Feurstein] chapter 4.

``hopper`` is one run; ``hopper-scan`` varies the angle of the knee; ``hopper-basin`` pushes the gait until it is lost;
``hopper-attraction`` looks for the gait from a grid of starts.
"""

from .hopping_laws import (
    EnergyController,
    ExternalPolarSpring,
    Leg,
    LockedPolarSpring,
    PolarLaw,
    PolarSpring,
    RadialDamper,
    RadialSpring,
    virtual_leg,
)
from .kinds import Hopper, HopperAttraction, HopperBasin, HopperScan
from .measures import MEASURES, measure
from .observed import Flight, Observed
from .parameters import AttractionParameters, BasinParameters, HopperParameters, ScanParameters

__all__ = [
    "MEASURES",
    "AttractionParameters",
    "BasinParameters",
    "EnergyController",
    "ExternalPolarSpring",
    "Flight",
    "Hopper",
    "HopperAttraction",
    "HopperBasin",
    "HopperParameters",
    "HopperScan",
    "Leg",
    "LockedPolarSpring",
    "Observed",
    "PolarLaw",
    "PolarSpring",
    "RadialDamper",
    "RadialSpring",
    "ScanParameters",
    "measure",
    "virtual_leg",
]
