"""Sweeps: a study over a grid or a sample of its parameters, thousands of runs that survive being killed."""

from .sweep import Sweep, sweep

__all__ = ["Sweep", "sweep"]
