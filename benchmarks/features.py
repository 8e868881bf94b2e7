"""What libraries for floating-base robots offer, beside each other; every cell is backed by what is installed.

A cell that says yes, or in part, names something that is imported and found in the library; a cell that says no was
looked for: no public name of the library contains one of the words of its row.  Libraries that are not installed here
keep the answer of the machine that last had them, with its date; those that cannot be had as a Python package name
their documentation.

    python benchmarks/features.py            look, write results/features.json
    python benchmarks/all.py --tables        then the table of README.md
"""

from __future__ import annotations

import datetime
import importlib
import importlib.metadata
import json
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

RESULT = Path(__file__).parent / "results" / "features.json"


class Library(NamedTuple):
    """Its modules, the package that has them, and where its documentation is."""

    modules: tuple[str, ...]
    package: str
    documentation: str


LIBRARIES = {
    "Pinocchio": Library(("pinocchio",), "pin", "https://docs.ros.org/en/jazzy/p/pinocchio/"),
    "iDynTree": Library(("idyntree.bindings",), "idyntree", "https://github.com/gbionics/idyntree"),
    "Drake": Library(
        ("pydrake.multibody", "pydrake.symbolic", "pydrake.autodiffutils", "pydrake.systems.analysis"),
        "drake",
        "https://drake.mit.edu/pydrake/",
    ),
    "MuJoCo": Library(("mujoco",), "mujoco", "https://mujoco.readthedocs.io/"),
    "adam": Library(("adam", "adam.casadi", "adam.jax"), "adam-robotics", "https://github.com/gbionics/adam"),
    "JaxSim": Library(("jaxsim", "jaxsim.api"), "jaxsim", "https://jaxsim.readthedocs.io/"),
    "SPART": Library(("spart",), "", "https://spart.readthedocs.io/"),
}


class Feature(NamedTuple):
    """What it is; its name here; words that its name would contain elsewhere; who has it, by which name.

    ``part`` has those that have something near it: the name, and what is missing.
    """

    what: str
    ours: str
    words: tuple[str, ...]
    has: Mapping[str, str] = MappingProxyType({})
    part: Mapping[str, tuple[str, str]] = MappingProxyType({})


IDYN, ADAM = "idyntree.bindings.KinDynComputations", "adam.casadi.KinDynComputations"
PLANT = "pydrake.multibody.plant.MultibodyPlant"
FEATURES = (
    Feature(
        "mass matrix, inverse and forward dynamics",
        "forward_dynamics",
        (),
        {
            "Pinocchio": "pinocchio.aba",
            "iDynTree": "idyntree.bindings.ArticulatedBodyAlgorithm",
            "Drake": f"{PLANT}.CalcInverseDynamics",
            "MuJoCo": "mujoco.mj_forward",
            "adam": f"{ADAM}.aba",
            "JaxSim": "jaxsim.api.model.forward_dynamics_aba",
            "SPART": "documentation",
        },
    ),
    Feature(
        "Coriolis matrix",
        "coriolis_matrix",
        ("coriolismatrix", "convective"),
        {
            "Pinocchio": "pinocchio.computeCoriolisMatrix",
            "iDynTree": "idyntree.bindings.CoriolisMatrixAlgorithm",
            "JaxSim": "jaxsim.api.model.free_floating_coriolis_matrix",
            "SPART": "documentation",
        },
    ),
    Feature("a choice of its factorizations", "FACTORIZATIONS", ("christoffel", "factorization", "passivecoriolis")),
    Feature(
        "body, mixed and inertial equations",
        "changes.mixed",
        ("velocityrepresentation", "velrepr", "representations"),
        {
            "iDynTree": f"{IDYN}.setFrameVelocityRepresentation",
            "adam": "adam.Representations",
            "JaxSim": "jaxsim.VelRepr",
        },
        {"Pinocchio": ("pinocchio.ReferenceFrame", "of Jacobians and velocities, not of the equations")},
    ),
    Feature(
        "another base link, same robot",
        "Model.reroot",
        ("setfloatingbase", "reroot", "changebase", "setrootlink"),
        {"iDynTree": f"{IDYN}.setFloatingBase"},
        {"adam": (ADAM, "`set_root_link` in its source since pull request 160; release 0.5.0 ignores `root_link`")},
    ),
    Feature(
        "centroidal momentum matrix",
        "centroidal_momentum_matrix",
        ("centroidalm", "momentummatrix", "momentumjacobian", "angmommat"),
        {
            "Pinocchio": "pinocchio.ccrba",
            "iDynTree": f"{IDYN}.getCentroidalTotalMomentumJacobian",
            "adam": f"{ADAM}.centroidal_momentum_matrix",
            "JaxSim": "jaxsim.api.com.centroidal_momentum_jacobian",
        },
        {
            "Drake": (f"{PLANT}.CalcSpatialMomentumInWorldAboutPoint", "the momentum, not its matrix"),
            "MuJoCo": ("mujoco.mj_angmomMat", "of the angular momentum"),
        },
    ),
    Feature(
        "its time derivative",
        "centroidal_momentum_matrix_derivative",
        ("dccrba", "centroidalmaptimevariation", "momentummatrixderivative", "momentummatrixdot"),
        {"Pinocchio": "pinocchio.dccrba"},
    ),
    Feature(
        "equations with base and joints decoupled, reduced Euler-Lagrange",
        "reduced_equations",
        ("decoupl", "eulerlagrange", "reducedequation"),
    ),
    Feature(
        "mechanical connection and its curvature",
        "curvature",
        ("mechanicalconnection", "connectioncurvature", "holonomy"),
    ),
    Feature("turning gaits planned from the curvature", "gaits.reorient", ("turninggait", "gaitplan", "reorient")),
    Feature(
        "derivatives of the dynamics",
        "forward_dynamics_derivatives",
        ("dynamicsderivatives", "abaderivatives", "derivativesaba"),
        {
            "Pinocchio": "pinocchio.computeABADerivatives",
            "Drake": "pydrake.autodiffutils.AutoDiffXd",
            "adam": "adam.jax.KinDynComputations",
            "JaxSim": "jaxsim.api.model.forward_dynamics_aba",
        },
        {"MuJoCo": ("mujoco.mjd_transitionFD", "by finite differences")},
    ),
    Feature(
        "regressor of the inertial parameters",
        "inverse_dynamics_regressor",
        ("regressor",),
        {
            "Pinocchio": "pinocchio.computeJointTorqueRegressor",
            "iDynTree": f"{IDYN}.inverseDynamicsInertialParametersRegressor",
        },
    ),
    Feature(
        "equations as formulas",
        "symbolic.derive",
        ("symbolic", "casadi"),
        {"Drake": f"{PLANT}.ToSymbolic", "adam": ADAM, "SPART": "documentation"},
        {"Pinocchio": ("documentation", "CasADi numbers, where it is built with them")},
    ),
    Feature(
        "simulation with contacts",
        "simulate",
        ("simulator", "mjstep", "timestepping"),
        {
            "Drake": "pydrake.systems.analysis.Simulator",
            "MuJoCo": "mujoco.mj_step",
            "JaxSim": "jaxsim.api.model.step",
        },
        {"Pinocchio": ("pinocchio.constraintDynamics", "accelerations of one state")},
    ),
    Feature(
        "closed kinematic loops",
        "Loop",
        ("rigidconstraint", "ballconstraint", "weldconstraint", "mjteq", "loopclosure", "constraintmap"),
        {
            "JaxSim": "jaxsim.rbda.kinematic_constraints.ConstraintMap",
            "Pinocchio": "pinocchio.RigidConstraintModel",
            "Drake": f"{PLANT}.AddWeldConstraint",
            "MuJoCo": "mujoco.mjtEq",
        },
        {"adam": ("adam.casadi.InverseKinematics.add_ball_constraint", "in its inverse kinematics")},
    ),
    Feature(
        "inverse kinematics",
        "control.inverse_kinematics",
        ("inversekinematics",),
        {
            "iDynTree": "idyntree.bindings.InverseKinematics",
            "adam": "adam.casadi.InverseKinematics",
            "Drake": "pydrake.multibody.inverse_kinematics.InverseKinematics",
        },
    ),
    Feature(
        "whole-body control: priorities, cones, limits",
        "control.WholeBody",
        ("wholebody", "taskprior", "hierarchicalqp"),
    ),
    Feature("certificates of the equations", "EquationsOfMotion.certify", ("certif",)),
)


def resolve(dotted: str) -> Any:
    """What a dotted name means: a module, or something in one."""
    head, *rest = dotted.split(".")
    found = importlib.import_module(head)
    for name in rest:
        if not hasattr(found, name):
            importlib.import_module(f"{found.__name__}.{name}")
        found = getattr(found, name)
    return found


def public_names(module: types.ModuleType, seen: set[int], depth: int = 0) -> Iterator[str]:
    """Of a module, its classes and its own modules; lower case without underscores."""
    if id(module) in seen or depth > 4:
        return
    seen.add(id(module))
    for name in [name for name in dir(module) if not name.startswith("_")]:
        yield name.lower().replace("_", "")
        found = getattr(module, name, None)
        if isinstance(found, types.ModuleType) and found.__name__.startswith(module.__name__.split(".")[0]):
            yield from public_names(found, seen, depth + 1)
        elif isinstance(found, type):
            yield from (inner.lower().replace("_", "") for inner in dir(found) if not inner.startswith("_"))


def shown(evidence: str, library: Library) -> str:
    """A name that was found, or where the documentation is."""
    if evidence == "documentation":
        return library.documentation
    resolve(evidence)
    return evidence


def look(name: str, library: Library) -> dict[str, Any]:
    """One column: the mark of every feature, with its evidence."""
    names = (
        {x for module in library.modules for x in public_names(resolve(module), set())} if library.package else set()
    )
    cells: dict[str, Any] = {}
    for feature in FEATURES:
        if name in feature.has:
            cells[feature.what] = {"mark": "yes", "evidence": shown(feature.has[name], library)}
        elif name in feature.part:
            evidence, missing = feature.part[name]
            cells[feature.what] = {"mark": "part", "evidence": f"{shown(evidence, library)}: {missing}"}
        else:
            if near := sorted(x for x in names if any(word in x for word in feature.words)):
                raise SystemExit(f"{name} may have {feature.what!r}: {near[:6]}")
            looked = "no public name with " + ", ".join(feature.words) if library.package else library.documentation
            cells[feature.what] = {"mark": "no", "evidence": looked}
    version = importlib.metadata.version(library.package) if library.package else ""
    return {"version": version, "date": datetime.date.today().isoformat(), "cells": cells}


def main() -> None:
    for feature in FEATURES:
        resolve(f"fallingcat.{feature.ours}")
    columns = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for name, library in LIBRARIES.items():
        try:
            columns[name] = look(name, library)
        except ModuleNotFoundError as missing:
            print(f"{name}: not looked at, {missing}")
    RESULT.write_text(json.dumps(columns, indent=2) + "\n", encoding="utf-8")
    for name, column in columns.items():
        marks = [cell["mark"] for cell in column["cells"].values()]
        print(f"{name} {column['version']}, {column['date']}: {marks.count('yes')} yes, {marks.count('part')} in part")


if __name__ == "__main__":
    main()
