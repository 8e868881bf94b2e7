"""Optimal control: problems on the configuration group, differential dynamic programming, predictive control."""

from .batch import BatchResult, BatchSolver, solve_batch
from .mpc import MPC, Horizon
from .phases import ContactPhases, Phase
from .problem import Problem
from .result import KKT, MotionCheck, OptimalResult, Status
from .solver import solve
from .task_terms import task_residual

__all__ = [
    "KKT",
    "MPC",
    "BatchResult",
    "BatchSolver",
    "ContactPhases",
    "Horizon",
    "MotionCheck",
    "OptimalResult",
    "Phase",
    "Problem",
    "Status",
    "solve",
    "solve_batch",
    "task_residual",
]
