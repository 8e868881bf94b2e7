"""Features of libraries for floating-base robots, each cell with its evidence.

A cell that says yes, or in part, names something that is imported from the library; for a cell that says no, no public
name of the library contains one of the words of its row.  Libraries that are not installed keep the cells of the
machine that last had them, with the date; a library that is no Python package names files of its repository.

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
    """Its modules, the package that has them, where its documentation is, and what is known of newer releases."""

    modules: tuple[str, ...]
    package: str
    documentation: str
    newer: str = ""


LIBRARIES = {
    "Pinocchio": Library(("pinocchio",), "pin", "https://docs.ros.org/en/jazzy/p/pinocchio/"),
    "iDynTree": Library(("idyntree.bindings",), "idyntree", "https://github.com/gbionics/idyntree"),
    "Drake": Library(
        ("pydrake.all",),
        "drake",
        "https://drake.mit.edu/pydrake/",
        "The newest release for Python 3.11; the release notes of 1.52 to 1.57, read on 2026-11-18, change no cell.",
    ),
    "MuJoCo": Library(("mujoco",), "mujoco", "https://mujoco.readthedocs.io/"),
    "adam": Library(
        ("adam", "adam.casadi", "adam.jax"),
        "adam-robotics",
        "https://github.com/gbionics/adam",
        "The newest release on PyPI; the sources of the tag 0.5.3, read on 2026-11-18, change no cell.",
    ),
    "JaxSim": Library(("jaxsim", "jaxsim.api"), "jaxsim", "https://jaxsim.readthedocs.io/"),
    "SPART": Library(
        ("spart",),
        "",
        "https://spart.readthedocs.io/",
        "MATLAB; its repository, [NPS-SRL/SPART](https://github.com/NPS-SRL/SPART), at the commit 1365c7e.",
    ),
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
            "SPART": "src/kinematics_dynamics/FD.m",
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
            "SPART": "src/kinematics_dynamics/CIM.m",
        },
    ),
    Feature(
        "a choice of its factorizations", "dynamics.FACTORIZATIONS", ("christoffel", "factorization", "passivecoriolis")
    ),
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
        {
            "Pinocchio": ("pinocchio.graph.ModelGraph", "of models that are built as graphs, not of loaded files"),
            "adam": (ADAM, "`set_root_link` on its main branch since pull request 160; no release has it"),
        },
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
        "dynamics.centroidal_momentum_matrix_derivative",
        ("dccrba", "centroidalmaptimevariation", "momentummatrixderivative", "momentummatrixdot", "momentumderivative"),
        {"Pinocchio": "pinocchio.dccrba"},
        {
            "iDynTree": (
                "idyntree.bindings.ComputeLinearAndAngularMomentumDerivativeBias",
                "its product with the velocity",
            )
        },
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
    Feature("turning gaits planned from the curvature", "planning.reorient", ("turninggait", "gaitplan", "reorient")),
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
        {
            "MuJoCo": ("mujoco.mjd_transitionFD", "by finite differences"),
            "iDynTree": ("documentation", "`ForwardDynamicsLinearization` of C++, experimental, not in its bindings"),
        },
    ),
    Feature(
        "regressor of the inertial parameters",
        "dynamics.inverse_dynamics_regressor",
        ("regressor", "lumpedparameters"),
        {
            "Pinocchio": "pinocchio.computeJointTorqueRegressor",
            "iDynTree": f"{IDYN}.inverseDynamicsInertialParametersRegressor",
        },
        {"Drake": ("pydrake.symbolic.DecomposeLumpedParameters", "from symbolic equations")},
    ),
    Feature(
        "equations as formulas",
        "symbolic.derive",
        ("symbolic", "casadi"),
        {"Drake": f"{PLANT}.ToSymbolic", "adam": ADAM, "SPART": "docs/source/Tutorial_Kinematics.rst"},
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
        {"Pinocchio": ("pinocchio.ADMMConstraintSolver", "contact forces of a step; the time loop is yours")},
    ),
    Feature(
        "closed kinematic loops",
        "model.Loop",
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
    Feature("certificates of the equations", "EquationsOfMotion.certify", ("certify", "equationcertificate")),
)

FALSE_FRIENDS = frozenset(
    {
        "setfloatingbasebodyposeinanchoredframe",  # of Drake: where the base is, not which link
        "setfloatingbasebodyposeinworldframe",
        "usesquarerootmethod",  # of its Kalman filters, beside the word reroot
    }
)
"""Names that contain a word of a row and mean something else."""


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
    """A name that was found, a file of the repository, or where the documentation is."""
    if evidence == "documentation":
        return library.documentation
    if library.package:
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
            if near := sorted(x for x in names - FALSE_FRIENDS if any(word in x for word in feature.words)):
                raise SystemExit(f"{name} may have {feature.what!r}: {near[:6]}")
            looked = "no public name with " + ", ".join(feature.words) if library.package else "no function of `src`"
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
