"""Hoppers as kinds of study: the experiments of [Feurstein] chapter 4.

``hopper`` is one run; ``hopper-scan`` varies the angle of the knee; ``hopper-basin`` pushes the gait until it is lost.
"""

from .kinds import Hopper, HopperBasin, HopperScan
from .measures import MEASURES, measure
from .observed import Flight, Observed
from .parameters import BasinParameters, HopperParameters, ScanParameters

__all__ = [
    "MEASURES",
    "BasinParameters",
    "Flight",
    "Hopper",
    "HopperBasin",
    "HopperParameters",
    "HopperScan",
    "Observed",
    "ScanParameters",
    "measure",
]
