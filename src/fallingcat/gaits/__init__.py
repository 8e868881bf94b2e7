"""Gaits: closed curves of shapes, how far they carry a robot, and which one turns a cat over."""

from .curves import Chain, Circle, Curve, Embedded, Fourier, Jet, Segment, carried_bend, polygon
from .displacement import Displacement, Reconstruction, displacement
from .estimate import Estimate, estimate
from .gait import Gait
from .maps import CurvatureMap, Mapper, Plane, curvature_map

__all__ = [
    "Chain",
    "Circle",
    "CurvatureMap",
    "Curve",
    "Displacement",
    "Embedded",
    "Estimate",
    "Fourier",
    "Gait",
    "Jet",
    "Mapper",
    "Plane",
    "Reconstruction",
    "Segment",
    "carried_bend",
    "curvature_map",
    "displacement",
    "estimate",
    "polygon",
]
