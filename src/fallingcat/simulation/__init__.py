"""Lie-group integrators, events and trajectories."""

from typing import TYPE_CHECKING, Any

from .adaptive import SciPy
from .batch import Rollout
from .defaults import INTEGRATORS, default_method
from .events import Event
from .field import Field
from .fleet import Fleet
from .implicit import Implicit
from .integrator import Integrator
from .ledger import Ledger
from .located import Located
from .momentum import MomentumMidpoint, MomentumRungeKutta
from .moreau import Moreau
from .outcome import Code, Diagnostic, Kind
from .problem import problem
from .rkmk4 import RKMK4
from .rollout import rollout
from .rosenbrock import Rosenbrock, error_size
from .rule import Rule
from .semi_implicit import SemiImplicitEuler
from .simulate import simulate
from .simulator import Simulator
from .step_function import Step, step
from .system import System
from .trajectory import Trajectory

if TYPE_CHECKING:
    from .environment import VectorEnvironment

__all__ = [
    "INTEGRATORS",
    "RKMK4",
    "Code",
    "Diagnostic",
    "Event",
    "Field",
    "Fleet",
    "Implicit",
    "Integrator",
    "Kind",
    "Ledger",
    "Located",
    "MomentumMidpoint",
    "MomentumRungeKutta",
    "Moreau",
    "Rollout",
    "Rosenbrock",
    "Rule",
    "SciPy",
    "SemiImplicitEuler",
    "Simulator",
    "Step",
    "System",
    "Trajectory",
    "VectorEnvironment",
    "default_method",
    "error_size",
    "problem",
    "rollout",
    "simulate",
    "step",
]


def __getattr__(name: str) -> Any:
    if name == "VectorEnvironment":  # which needs Gymnasium
        from .environment import VectorEnvironment

        return VectorEnvironment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
