"""Equations of motion by recursive algorithms: kinematics, inverse and forward dynamics, mass and Coriolis matrices.

Every function is pure, ``f(model, state, ...)``, and takes every kind of number; nothing is cached or changed.

>>> import numpy as np
>>> import fallingcat as fc
>>> cat = fc.robots.cat()
>>> state = cat.random_state(np.random.default_rng(0))
>>> forces = fc.inverse_dynamics(cat, state, np.zeros(cat.nv))
>>> bool(np.allclose(fc.forward_dynamics(cat, state, forces), 0.0, atol=1e-9))
True
"""

from .._deprecated import former_names
from ..model.literals import FACTORIZATIONS
from .center_of_mass import center_of_mass, center_of_mass_bias, center_of_mass_jacobian
from .centroidal import (
    CenterOfMassDerivatives,
    CentroidalDerivatives,
    center_of_mass_derivatives,
    centroidal_dynamics_derivatives,
)
from .constrained import ConstrainedDynamicsResult, constrained_forward_dynamics
from .coordinate_rates import FloatingBaseMap, floating_base_map
from .coriolis import coriolis_matrix, mass_matrix_derivative
from .derivatives import (
    ForwardDerivatives,
    InverseDerivatives,
    displace,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
    linearize,
)
from .energy import kinetic_energy, potential_energy
from .forward import forward_dynamics
from .hamiltonian import Hamiltonian, hamiltonian, potential_forces
from .hessian import kinematic_hessian
from .identification import IdentificationResult, identify, joint_regressor
from .inverse import bias_forces, gravity_forces, inverse_dynamics
from .kinematics import (
    analytical_jacobian,
    end_effector_parameters,
    forward_kinematics,
    jacobian,
    jacobian_derivative,
    link_acceleration,
    link_pose,
    link_twist,
    relative_jacobian,
    reroot_state,
)
from .mass import mass_condition, mass_matrix
from .momentum import (
    average_velocity,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_derivative,
    locked_inertia,
    momentum,
    momentum_matrix,
    momentum_matrix_derivative,
)
from .principal import principal_axes
from .regressors import (
    BaseParameters,
    base_parameters,
    energy_regressors,
    inertial_parameters,
    inverse_dynamics_regressor,
    momentum_regressor,
    with_inertial_parameters,
)

__all__ = [
    "FACTORIZATIONS",
    "BaseParameters",
    "CenterOfMassDerivatives",
    "CentroidalDerivatives",
    "ConstrainedDynamicsResult",
    "FloatingBaseMap",
    "ForwardDerivatives",
    "Hamiltonian",
    "IdentificationResult",
    "InverseDerivatives",
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
    "constrained_forward_dynamics",
    "coriolis_matrix",
    "displace",
    "end_effector_parameters",
    "energy_regressors",
    "floating_base_map",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "gravity_forces",
    "hamiltonian",
    "identify",
    "inertial_parameters",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_regressor",
    "jacobian",
    "jacobian_derivative",
    "joint_regressor",
    "kinematic_hessian",
    "kinetic_energy",
    "linearize",
    "link_acceleration",
    "link_pose",
    "link_twist",
    "locked_inertia",
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
    "relative_jacobian",
    "reroot_state",
    "with_inertial_parameters",
]

__getattr__ = former_names(__name__)
