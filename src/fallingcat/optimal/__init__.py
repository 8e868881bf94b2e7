"""Optimal control: problems on the configuration group, differential dynamic programming, predictive control."""

from .mpc import MPC
from .problem import Problem
from .result import MotionCheck, OptimalResult, Status
from .solver import solve

__all__ = ["MPC", "MotionCheck", "OptimalResult", "Problem", "Status", "solve"]
