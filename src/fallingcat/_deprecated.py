"""Former public names: they work for one release, with a :class:`DeprecationWarning` that gives the present name."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

_DYNAMICS = (
    "FACTORIZATIONS BaseParameters FloatingBaseMap ForwardDerivatives Hamiltonian InverseDerivatives "
    "analytical_jacobian average_velocity base_parameters center_of_mass_bias center_of_mass_derivatives "
    "centroidal_dynamics_derivatives centroidal_momentum_matrix_derivative constrained_forward_dynamics displace "
    "end_effector_parameters energy_regressors floating_base_map hamiltonian inertial_parameters "
    "inverse_dynamics_regressor jacobian_derivative joint_regressor kinematic_hessian link_acceleration "
    "locked_inertia mass_condition momentum_matrix_derivative momentum_regressor potential_forces principal_axes "
    "relative_jacobian reroot_state with_inertial_parameters"
)
_FORMULATIONS = (
    "Check Claim Conservation FixedAt Integrability ReducedDerivatives certify_reduced "
    "connection_derivative connection_exterior fixed_at integrability internal_jacobian is_conserved locked_angle "
    "locked_frame locked_inertia_rate locked_inertia_slope reduced_derivatives"
)
_MODEL = "Actuator Couple Frame Limits Loop Mimic Passive Pin Rolling Weld"
_HOPPING = (
    "EnergyController ExternalPolarSpring Leg LockedPolarSpring PolarLaw PolarSpring RadialDamper RadialSpring "
    "virtual_leg"
)

RENAMED: Mapping[str, Mapping[str, str]] = {
    "fallingcat": {
        **{name: f"dynamics.{name}" for name in _DYNAMICS.split()},
        **{name: f"formulations.{name}" for name in _FORMULATIONS.split()},
        **{name: f"model.{name}" for name in _MODEL.split()},
        "Constrained": "dynamics.ConstrainedDynamicsResult",
        "Identified": "dynamics.IdentificationResult",
        "Ledger": "simulation.Ledger",
        "Unproved": "formulations.UnprovedError",
        "falling": "planning",
        "gaits": "planning",
        "kernels": "compiler",
        "live": "viewer",
        "loops": "constraints",
        "views": "visualization",
    },
    "fallingcat.constraints": {"Driven": "constraints.LoopInverseDynamics"},
    "fallingcat.contact": {
        "Relief": "contact.Terrain",
        "Sole": "contact.WrenchCone",
        "loops": "constraints",
    },
    "fallingcat.control": {
        **{name: f"studies.hoppers.{name}" for name in _HOPPING.split()},
        "Accelerations": "control.AccelerationResult",
        "Cycles": "control.PeriodicReference",
        "FloatingInverse": "control.FloatingInverseDynamics",
        "Prioritised": "control.PrioritizedControl",
        "Reached": "control.InverseKinematicsResult",
        "Sampled": "control.SampledController",
        "Torques": "control.WholeBodyResult",
        "Velocities": "control.DifferentialIKResult",
        "actuated": "control.actuator_controller",
        "on_external": "control.external_forces",
    },
    "fallingcat.dynamics": {
        "Constrained": "dynamics.ConstrainedDynamicsResult",
        "Identified": "dynamics.IdentificationResult",
    },
    "fallingcat.formulations": {"Unproved": "formulations.UnprovedError"},
    "fallingcat.planning": {
        "Embedded": "planning.EmbeddedCurve",
        "Paced": "planning.TimeParametrization",
        "easiest": "planning.fastest_bending",
        "paced": "planning.time_parametrization",
    },
    "fallingcat.simulation": {
        "Code": "simulation.StatusCode",
        "Field": "simulation.VectorField",
        "Fleet": "simulation.BatchSimulator",
        "Kind": "simulation.DiagnosticKind",
        "Located": "simulation.EventLocator",
        "System": "simulation.Problem",
    },
    "fallingcat.studies": {"Reproduced": "studies.ReproductionResult"},
    "fallingcat.symbolic": {"Named": "symbolic.NamedExpressions"},
    "fallingcat.testing": {"check_relief": "testing.check_terrain"},
    "fallingcat.viewer": {"Puppet": "viewer.PosedRobot"},
    "fallingcat.visualization": {"Looks": "visualization.Appearance", "looks": "visualization.appearance"},
}
"""Module -> former name in it -> present name, relative to the package."""

METHODS: Mapping[str, str] = {
    "answers": "saturates",
    "asked": "commanded_torques",
    "asks_forces": "needs_applied_forces",
    "beside": "saturated_forces",
    "beside_loops": "acts_with_loops",
    "braking": "implicit_damping",
    "fading": "fade_rates",
    "fastest": "fastest_rate",
    "foreseeing": "for_implicit_steps",
    "grip": "dry_friction",
    "holds": "stored_energy",
    "most_events": "max_events",
    "noises": "noise_size",
    "remembering": "with_memory",
    "resistance": "joint_impedance",
    "unheld": "step_failure",
    "unlocated": "unlocated_reason",
}
"""Former name of an optional method of force laws, contacts and study kinds -> present name."""

ARGUMENTS: list[tuple[Any, Mapping[str, str]]] = []
"""Functions and classes with former names of arguments (former -> present), see :func:`former_arguments`."""


def former_names(module: str, depth: int = 4) -> Callable[[str], Any]:
    """``__getattr__`` of a module, for its former names.

    Args:
        module: Name of the module, ``__name__``.
        depth: Frames from the warning to the user's line; 5 where a ``__getattr__`` calls the result.

    Returns:
        Function of a name: the object, with a warning that gives its present name.
    """

    def find(name: str) -> Any:
        target = RENAMED.get(module, {}).get(name)
        if target is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _present(f"{module}.{name}", target, depth)

    return find


def former_module(module: str, target: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module that has another name now, such as ``fallingcat.gaits``.

    Args:
        module: Former name of the module.
        target: Present name, relative to the package.

    Returns:
        Function of a name: the object of the present module, with a warning.
    """

    def find(name: str) -> Any:
        renamed = RENAMED.get(f"fallingcat.{target}", {}).get(name, f"{target}.{name}")
        known = name in getattr(importlib.import_module(f"fallingcat.{target}"), "__all__", ())
        if renamed == f"{target}.{name}" and not known:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _present(f"{module}.{name}", renamed)

    return find


def former_methods(cls: type, names: Mapping[str, str] = METHODS) -> None:
    """Gives methods that a class defines under a former name their present one, with a warning."""
    for old in names.keys() & vars(cls).keys():
        new = names[old]
        former_name(f"{cls.__name__}.{old}", f"{cls.__name__}.{new}", 4)
        if new not in vars(cls):
            setattr(cls, new, vars(cls)[old])


def former_attribute(old: str, new: str) -> Any:
    """Property of a class: attribute ``new`` under its former name, with a warning."""

    def present(self: Any) -> Any:
        former_name(f"{type(self).__name__}.{old}", f"{type(self).__name__}.{new}")
        return getattr(self, new)

    present.__doc__ = f"Former name of :attr:`{new}`."
    return property(present)


def former_arguments(**names: str) -> Callable[[Any], Any]:
    """Decorator of a function or class that takes arguments under their former names too, with a warning.

    A field of a class can still be read under its former name.

    Args:
        names: Former name -> present name.

    Returns:
        The decorator.
    """

    def decorated(thing: Any) -> Any:
        ARGUMENTS.append((thing, names))
        call = vars(thing)["__init__"] if isinstance(thing, type) else thing

        @functools.wraps(call)
        def present(*given: Any, **named: Any) -> Any:
            for old in names.keys() & named.keys():
                former_name(f"argument {old} of {thing.__name__}", names[old])
                if names[old] in named:
                    raise TypeError(f"{thing.__name__}() got both {names[old]} and its former name {old}")
                named[names[old]] = named.pop(old)
            return call(*given, **named)

        if not isinstance(thing, type):
            return present
        thing.__init__ = present  # type: ignore[misc]
        for old in names.keys() - vars(thing).keys():
            setattr(thing, old, former_attribute(old, names[old]))
        return thing

    return decorated


def formerly(thing: Any) -> Mapping[str, str]:
    """Former names of the arguments of a function or class, each with its present one."""
    return {old: new for one, names in ARGUMENTS if one is thing for old, new in names.items()}


def former_name(old: str, new: str, depth: int = 3) -> None:
    """Warns of a former name, at the line of the caller ``depth`` frames up."""
    message = f"{old} is now {new}; the former name goes with the next release"
    warnings.warn(message, DeprecationWarning, stacklevel=depth)


def _present(old: str, target: str, depth: int = 4) -> Any:
    former_name(old, f"fallingcat.{target}", depth)
    module, _, name = target.rpartition(".")
    if not module:
        return importlib.import_module(f"fallingcat.{target}")
    return getattr(importlib.import_module(f"fallingcat.{module}"), name)
