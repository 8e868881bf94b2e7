"""The righting manoeuvre of a falling cat: which joints bend, by how much, and the fall in which they do it.

``drop()`` plans the manoeuvre (:class:`Planner`), follows it (:func:`tracker`) and accounts for what it cost.
"""

from .bending import Bending, bendings
from .curve import RightingCurve
from .drop import Drop, drop
from .multi_joint import QuickRighting, quickest
from .plan import Manoeuvre, Planner, easiest
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
    "easiest",
    "quickest",
    "tracker",
]
