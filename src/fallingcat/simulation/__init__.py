"""Simulation: problems, integrators, events, single runs and batches, trajectories."""

from typing import TYPE_CHECKING, Any

from .._deprecated import former_names
from .batch.batch_simulator import BatchSimulator
from .build_problem import build_problem
from .defaults import INTEGRATORS, default_method
from .diagnostics.ledger import Ledger
from .events import Event
from .integrators.base import Integrator
from .integrators.event_located import EventLocator
from .integrators.implicit.integrator import Implicit
from .integrators.momentum.integrator import MomentumMidpoint, MomentumRungeKutta
from .integrators.moreau.integrator import Moreau
from .integrators.rkmk4 import RKMK4
from .integrators.rosenbrock import Rosenbrock, error_size
from .integrators.rule import Rule
from .integrators.scipy_methods import SciPy
from .integrators.semi_implicit import SemiImplicitEuler
from .outcome import Diagnostic, DiagnosticKind, StatusCode
from .output.trajectory import Trajectory
from .problem.problem import Problem
from .problem.vector_field import VectorField
from .rollout import rollout
from .runner.rollout_runner import Rollout
from .simulate import simulate
from .simulator import Simulator
from .steps.gradient import Gradient, gradient
from .steps.step_derivatives import StepDerivatives, step_derivatives
from .steps.step_function import Step, step

if TYPE_CHECKING:
    from .environment import VectorEnvironment

__all__ = [
    "INTEGRATORS",
    "RKMK4",
    "BatchSimulator",
    "Diagnostic",
    "DiagnosticKind",
    "Event",
    "EventLocator",
    "Gradient",
    "Implicit",
    "Integrator",
    "Ledger",
    "MomentumMidpoint",
    "MomentumRungeKutta",
    "Moreau",
    "Problem",
    "Rollout",
    "Rosenbrock",
    "Rule",
    "SciPy",
    "SemiImplicitEuler",
    "Simulator",
    "StatusCode",
    "Step",
    "StepDerivatives",
    "Trajectory",
    "VectorEnvironment",
    "VectorField",
    "build_problem",
    "default_method",
    "error_size",
    "gradient",
    "rollout",
    "simulate",
    "step",
    "step_derivatives",
]


def __getattr__(name: str) -> Any:
    if name == "VectorEnvironment":  # which needs Gymnasium
        from .environment import VectorEnvironment

        return VectorEnvironment
    return former_names(__name__, depth=5)(name)
