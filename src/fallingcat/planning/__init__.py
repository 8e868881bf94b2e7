"""Motion planning by the mechanical connection: gaits, reorientation, the righting manoeuvre."""

from .._deprecated import former_names
from .curvature.maps import CurvatureMap, Mapper, Plane, curvature_map
from .curvature.perturbation import MinimumPerturbation, minimum_perturbation
from .curvature.regions import Region
from .gaits.chains import Chain, carried_bend, polygon
from .gaits.curves import Circle, Curve, EmbeddedCurve, Fourier, Jet, Segment
from .gaits.displacement import Displacement, LockedFrame, Reconstruction, displacement, locked_frame_along
from .gaits.estimate import Estimate, estimate, estimate_error
from .gaits.gait import Gait
from .gaits.optimization import Optimum, optimize
from .gaits.splines import Spline
from .gaits.time_parametrization import TimeParametrization, time_parametrization
from .reorientation.closed_gaits import Reorientation, reorient
from .reorientation.least_time import LeastTime, least_time
from .righting import (
    Bending,
    Drop,
    Manoeuvre,
    Planner,
    QuickRighting,
    RightingCurve,
    bendings,
    drop,
    fastest_bending,
    largest_turn,
    quickest,
    tracker,
)

__all__ = [
    "Bending",
    "Chain",
    "Circle",
    "CurvatureMap",
    "Curve",
    "Displacement",
    "Drop",
    "EmbeddedCurve",
    "Estimate",
    "Fourier",
    "Gait",
    "Jet",
    "LeastTime",
    "LockedFrame",
    "Manoeuvre",
    "Mapper",
    "MinimumPerturbation",
    "Optimum",
    "Plane",
    "Planner",
    "QuickRighting",
    "Reconstruction",
    "Region",
    "Reorientation",
    "RightingCurve",
    "Segment",
    "Spline",
    "TimeParametrization",
    "bendings",
    "carried_bend",
    "curvature_map",
    "displacement",
    "drop",
    "estimate",
    "estimate_error",
    "fastest_bending",
    "largest_turn",
    "least_time",
    "locked_frame_along",
    "minimum_perturbation",
    "optimize",
    "polygon",
    "quickest",
    "reorient",
    "time_parametrization",
    "tracker",
]

__getattr__ = former_names(__name__)
