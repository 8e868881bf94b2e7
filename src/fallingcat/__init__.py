"""fallingcat: floating-base robots, with one set of equations of motion and every formulation a change of velocity.

>>> import numpy as np
>>> import fallingcat as fc
>>> model = fc.robots.cat()
>>> state = model.random_state(np.random.default_rng(0))
>>> fc.mass_matrix(model, state).shape == (model.nv, model.nv)
True
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import changes, lie, single_body
from ._version import __version__ as __version__
from .compiler import Kernel, compile
from .dynamics import (
    FACTORIZATIONS,
    BaseParameters,
    Constrained,
    FloatingBaseMap,
    ForwardDerivatives,
    Hamiltonian,
    IdentificationResult,
    InverseDerivatives,
    analytical_jacobian,
    average_velocity,
    base_parameters,
    bias_forces,
    center_of_mass,
    center_of_mass_bias,
    center_of_mass_derivatives,
    center_of_mass_jacobian,
    centroidal_dynamics_derivatives,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_derivative,
    constrained_forward_dynamics,
    coriolis_matrix,
    displace,
    end_effector_parameters,
    energy_regressors,
    floating_base_map,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    gravity_forces,
    hamiltonian,
    identify,
    inertial_parameters,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    inverse_dynamics_regressor,
    jacobian,
    jacobian_derivative,
    joint_regressor,
    kinematic_hessian,
    kinetic_energy,
    linearize,
    link_acceleration,
    link_pose,
    link_twist,
    locked_inertia,
    mass_condition,
    mass_matrix,
    mass_matrix_derivative,
    momentum,
    momentum_matrix,
    momentum_matrix_derivative,
    momentum_regressor,
    potential_energy,
    potential_forces,
    principal_axes,
    relative_jacobian,
    reroot_state,
    with_inertial_parameters,
)
from .errors import ExtraMissingError, FallingCatError, FileError, ModelError, NumericsError
from .formulations import (
    Certificate,
    Check,
    Claim,
    Conservation,
    EquationsOfMotion,
    FixedAt,
    Integrability,
    ReducedDerivatives,
    ReducedEquations,
    Unproved,
    VelocityChange,
    certify_reduced,
    connection,
    connection_derivative,
    connection_exterior,
    curvature,
    equations,
    fixed_at,
    integrability,
    internal_jacobian,
    is_conserved,
    locked_angle,
    locked_frame,
    locked_inertia_rate,
    locked_inertia_slope,
    locked_velocity,
    reduced_derivatives,
    reduced_equations,
)
from .io import FileWarning, from_mujoco_model, from_pinocchio_model, load, save
from .model import (
    Actuator,
    Body,
    Couple,
    Frame,
    Joint,
    Limits,
    Link,
    Loop,
    Mimic,
    Model,
    Passive,
    Pin,
    Rolling,
    State,
    Weld,
    exchange,
    joints,
    robots,
)

if TYPE_CHECKING:
    from . import contact, control, studies, symbolic, testing
    from . import planning as falling
    from . import planning as gaits
    from . import viewer as live
    from . import visualization as views
    from .constraints import loop_closure as loops
    from .simulation import Event, Ledger, Rollout, Simulator, Trajectory, rollout, simulate

__all__ = [
    "FACTORIZATIONS",
    "Actuator",
    "BaseParameters",
    "Body",
    "Certificate",
    "Check",
    "Claim",
    "Conservation",
    "Constrained",
    "Couple",
    "EquationsOfMotion",
    "Event",
    "ExtraMissingError",
    "FallingCatError",
    "FileError",
    "FileWarning",
    "FixedAt",
    "FloatingBaseMap",
    "ForwardDerivatives",
    "Frame",
    "Hamiltonian",
    "IdentificationResult",
    "Integrability",
    "InverseDerivatives",
    "Joint",
    "Kernel",
    "Ledger",
    "Limits",
    "Link",
    "Loop",
    "Mimic",
    "Model",
    "ModelError",
    "NumericsError",
    "Passive",
    "Pin",
    "ReducedDerivatives",
    "ReducedEquations",
    "Rolling",
    "Rollout",
    "Simulator",
    "State",
    "Trajectory",
    "Unproved",
    "VelocityChange",
    "Weld",
    "analytical_jacobian",
    "average_velocity",
    "base_parameters",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_bias",
    "center_of_mass_derivatives",
    "center_of_mass_jacobian",
    "centroidal_dynamics_derivatives",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_derivative",
    "certify_reduced",
    "changes",
    "compile",
    "connection",
    "connection_derivative",
    "connection_exterior",
    "constrained_forward_dynamics",
    "contact",
    "control",
    "coriolis_matrix",
    "curvature",
    "displace",
    "end_effector_parameters",
    "energy_regressors",
    "equations",
    "exchange",
    "falling",
    "fixed_at",
    "floating_base_map",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "from_mujoco_model",
    "from_pinocchio_model",
    "gaits",
    "gravity_forces",
    "hamiltonian",
    "identify",
    "inertial_parameters",
    "integrability",
    "internal_jacobian",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_regressor",
    "is_conserved",
    "jacobian",
    "jacobian_derivative",
    "joint_regressor",
    "joints",
    "kinematic_hessian",
    "kinetic_energy",
    "lie",
    "linearize",
    "link_acceleration",
    "link_pose",
    "link_twist",
    "live",
    "load",
    "locked_angle",
    "locked_frame",
    "locked_inertia",
    "locked_inertia_rate",
    "locked_inertia_slope",
    "locked_velocity",
    "loops",
    "mass_condition",
    "mass_matrix",
    "mass_matrix_derivative",
    "momentum",
    "momentum_matrix",
    "momentum_matrix_derivative",
    "momentum_regressor",
    "potential_energy",
    "potential_forces",
    "principal_axes",
    "reduced_derivatives",
    "reduced_equations",
    "relative_jacobian",
    "reroot_state",
    "robots",
    "rollout",
    "save",
    "simulate",
    "single_body",
    "studies",
    "symbolic",
    "testing",
    "views",
    "with_inertial_parameters",
]


_ROOMS = ("contact", "control", "falling", "gaits", "live", "simulation", "studies", "symbolic", "testing", "views")
_LATER = {name: f".{name}" for name in _ROOMS}
_LATER["loops"] = ".contact"
_LATER |= dict.fromkeys(("Event", "Ledger", "Rollout", "Simulator", "Trajectory", "rollout", "simulate"), ".simulation")
"""What is imported when it is first asked for: name -> module."""
_MOVED = {name: f"changes.{name}" for name in changes.__all__}
_MOVED |= {name: f"single_body.{name}" for name in single_body.__all__} | {"theta_bc": "locked_angle"}
"""What once had a flat name, or another one -> where it is."""


def __getattr__(name: str) -> Any:
    """Contacts, laws, simulation, gaits, falls and studies take a third of the time that an import takes: they wait."""
    if name not in _LATER:
        now = f": it is {__name__}.{_MOVED[name]}" if name in _MOVED else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")
    module = importlib.import_module(_LATER[name], __name__)
    value = module if _LATER[name] == f".{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
