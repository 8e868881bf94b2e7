"""Tendons: cords over joints or along points of links, with springs, friction and limits."""

from .base import Tendon
from .fixed import FixedTendon
from .spatial import Pulley, SpatialTendon, Via, Wrap

__all__ = ["FixedTendon", "Pulley", "SpatialTendon", "Tendon", "Via", "Wrap"]
