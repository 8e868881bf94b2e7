"""Every formulation is a change of velocity, and every matrix carries its certificate."""

from .._deprecated import former_names
from .base_change import FixedAt, base_at, fixed_at
from .certificate import Certificate, Check
from .claims import Claim
from .connection import connection, connection_derivative, curvature, locked_velocity
from .decoupling import Conservation, center_of_mass_base, centroidal, decoupling, is_conserved, locked, momentum_map
from .equations import EquationsOfMotion, equations
from .evidence import Evidence, UnprovedError, worst
from .internal_external import internal_external, internal_jacobian
from .locked_frame import Integrability, integrability, locked_angle, locked_frame
from .reduced import ReducedEquations, reduced_equations
from .reduced_certificate import certify_reduced
from .representations import body, inertial, mixed, world_linear
from .slopes import (
    ReducedDerivatives,
    connection_exterior,
    locked_inertia_rate,
    locked_inertia_slope,
    reduced_derivatives,
)
from .velocity_change import VelocityChange

__all__ = [
    "Certificate",
    "Check",
    "Claim",
    "Conservation",
    "EquationsOfMotion",
    "Evidence",
    "FixedAt",
    "Integrability",
    "ReducedDerivatives",
    "ReducedEquations",
    "UnprovedError",
    "VelocityChange",
    "base_at",
    "body",
    "center_of_mass_base",
    "centroidal",
    "certify_reduced",
    "connection",
    "connection_derivative",
    "connection_exterior",
    "curvature",
    "decoupling",
    "equations",
    "fixed_at",
    "inertial",
    "integrability",
    "internal_external",
    "internal_jacobian",
    "is_conserved",
    "locked",
    "locked_angle",
    "locked_frame",
    "locked_inertia_rate",
    "locked_inertia_slope",
    "locked_velocity",
    "mixed",
    "momentum_map",
    "reduced_derivatives",
    "reduced_equations",
    "world_linear",
    "worst",
]

__getattr__ = former_names(__name__)
