"""fallingcat: floating-base robots, with one set of equations of motion and every formulation a change of velocity.

>>> import numpy as np
>>> import fallingcat as fc
>>> model = fc.robots.cat()
>>> state = model.random_state(np.random.default_rng(0))
>>> fc.mass_matrix(model, state).shape == (model.nv, model.nv)
True
"""

from typing import TYPE_CHECKING

from . import arrays, changes, dynamics, formulations, lie, model, single_body
from ._version import __version__ as __version__
from .compiler import Kernel, compile
from .dynamics import (
    bias_forces,
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_momentum_matrix,
    coriolis_matrix,
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_kinematics,
    gravity_forces,
    identify,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    jacobian,
    kinetic_energy,
    linearize,
    link_pose,
    link_twist,
    mass_matrix,
    mass_matrix_derivative,
    momentum,
    momentum_matrix,
    potential_energy,
)
from .errors import (
    ExtraMissingError,
    FallingCatError,
    FileError,
    ModelError,
    NumericsError,
)
from .formulations import (
    Certificate,
    EquationsOfMotion,
    ReducedEquations,
    VelocityChange,
    connection,
    curvature,
    equations,
    locked_velocity,
    reduced_equations,
)
from .io import (
    FileWarning,
    from_mujoco_model,
    from_pinocchio_model,
    load,
    save,
)
from .model import (
    Body,
    Joint,
    Link,
    Model,
    State,
    exchange,
    joints,
    robots,
)

if TYPE_CHECKING:
    from . import (
        constraints,
        contact,
        control,
        estimation,
        geometry,
        learning,
        locomotion,
        optimal,
        planning,
        simulation,
        studies,
        symbolic,
        testing,
        viewer,
        visualization,
    )
    from .simulation import BatchSimulator, Event, Rollout, Simulator, Trajectory, rollout, simulate

__all__ = [
    "BatchSimulator",
    "Body",
    "Certificate",
    "EquationsOfMotion",
    "Event",
    "ExtraMissingError",
    "FallingCatError",
    "FileError",
    "FileWarning",
    "Joint",
    "Kernel",
    "Link",
    "Model",
    "ModelError",
    "NumericsError",
    "ReducedEquations",
    "Rollout",
    "Simulator",
    "State",
    "Trajectory",
    "VelocityChange",
    "arrays",
    "bias_forces",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_momentum_matrix",
    "changes",
    "compile",
    "compiler",
    "connection",
    "constraints",
    "contact",
    "control",
    "coriolis_matrix",
    "curvature",
    "dynamics",
    "equations",
    "estimation",
    "exchange",
    "formulations",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "from_mujoco_model",
    "from_pinocchio_model",
    "geometry",
    "gravity_forces",
    "identify",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "joints",
    "kinetic_energy",
    "learning",
    "lie",
    "linearize",
    "link_pose",
    "link_twist",
    "load",
    "locked_velocity",
    "locomotion",
    "mass_matrix",
    "mass_matrix_derivative",
    "model",
    "momentum",
    "momentum_matrix",
    "optimal",
    "planning",
    "potential_energy",
    "reduced_equations",
    "robots",
    "rollout",
    "save",
    "simulate",
    "simulation",
    "single_body",
    "studies",
    "symbolic",
    "testing",
    "viewer",
    "visualization",
]

_PACKAGES = (
    "constraints",
    "contact",
    "control",
    "estimation",
    "geometry",
    "learning",
    "locomotion",
    "optimal",
    "planning",
    "simulation",
    "studies",
    "symbolic",
    "testing",
    "viewer",
    "visualization",
)
_SIMULATION = ("BatchSimulator", "Event", "Rollout", "Simulator", "Trajectory", "rollout", "simulate")
"""Imported when they are first used: they take a third of the time of an import."""


def __getattr__(name: str) -> object:
    import importlib

    from ._deprecated import former_names

    if name in _PACKAGES:
        value: object = importlib.import_module(f".{name}", __name__)
    elif name in _SIMULATION:
        value = getattr(importlib.import_module(".simulation", __name__), name)
    else:
        return former_names(__name__, depth=5)(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
