"""Righting manoeuvre of a falling cat: the joints that bend, their amplitude, and the simulated fall.

``drop()`` plans the manoeuvre (:class:`Planner`), follows it (:func:`tracker`) and records momentum and energy.
"""

from .bending import Bending, bendings
from .curve import RightingCurve
from .drop import Drop, drop
from .multi_joint import QuickRighting, largest_turn, quickest
from .plan import Manoeuvre, Planner, fastest_bending
from .tracking import tracker

__all__ = [
    "Bending",
    "Drop",
    "Manoeuvre",
    "Planner",
    "QuickRighting",
    "RightingCurve",
    "bendings",
    "drop",
    "fastest_bending",
    "largest_turn",
    "quickest",
    "tracker",
]
