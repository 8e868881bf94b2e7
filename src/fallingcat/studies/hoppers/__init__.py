"""Hoppers as kinds of study: the experiments of [Feurstein] chapter 4.

``hopper`` is one run; ``hopper-scan`` varies the angle of the knee; ``hopper-basin`` pushes the gait until it is lost;
``hopper-attraction`` looks for the gait from a grid of starts.
"""

from .kinds import Hopper, HopperAttraction, HopperBasin, HopperScan
from .measures import MEASURES, measure
from .observed import Flight, Observed
from .parameters import AttractionParameters, BasinParameters, HopperParameters, ScanParameters

__all__ = [
    "MEASURES",
    "AttractionParameters",
    "BasinParameters",
    "Flight",
    "Hopper",
    "HopperAttraction",
    "HopperBasin",
    "HopperParameters",
    "HopperScan",
    "Observed",
    "ScanParameters",
    "measure",
]
