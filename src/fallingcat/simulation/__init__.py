"""Lie-group integrators, events and trajectories."""

from .events import Event
from .integrator import Integrator, System
from .momentum import MomentumMidpoint
from .rkmk4 import RKMK4
from .semi_implicit import SemiImplicitEuler
from .simulate import INTEGRATORS, simulate
from .trajectory import Trajectory

__all__ = [
    "INTEGRATORS",
    "RKMK4",
    "Event",
    "Integrator",
    "MomentumMidpoint",
    "SemiImplicitEuler",
    "System",
    "Trajectory",
    "simulate",
]
