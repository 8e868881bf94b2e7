"""Gaits: closed curves in shape space, their displacement of the base, and optimal gaits."""

from .curves import Chain, Circle, Curve, Embedded, Fourier, Jet, Segment, carried_bend, polygon
from .displacement import Displacement, LockedFrame, Reconstruction, displacement, locked_frame_along
from .estimate import Estimate, estimate, estimate_error
from .gait import Gait
from .least_time import LeastTime, least_time
from .maps import CurvatureMap, Mapper, Plane, curvature_map
from .optimal import Optimum, optimize
from .pace import Paced, paced
from .perturbation import MinimumPerturbation, minimum_perturbation
from .regions import Region
from .reorientation import Reorientation, reorient
from .splines import Spline

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
    "LeastTime",
    "LockedFrame",
    "Mapper",
    "MinimumPerturbation",
    "Optimum",
    "Paced",
    "Plane",
    "Reconstruction",
    "Region",
    "Reorientation",
    "Segment",
    "Spline",
    "carried_bend",
    "curvature_map",
    "displacement",
    "estimate",
    "estimate_error",
    "least_time",
    "locked_frame_along",
    "minimum_perturbation",
    "optimize",
    "paced",
    "polygon",
    "reorient",
]
