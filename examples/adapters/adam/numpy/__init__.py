"""NumPy's numbers."""

from .computations import KinDynComputations

__all__ = ["KinDynComputations"]
