"""Checks of an optimal motion through code that the solver does not use."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.types import FloatArray
from ..simulation.gradient import gradient
from .result import MotionCheck, OptimalResult

MAX_DEFECT = 1e-8
"""m, rad, m/s, rad/s: difference of one step, taken by compiled and by plain code."""
MAX_GRADIENT = 1e-5
"""Derivative of the cost by a free force, relative to ``1 + cost``."""


def checks(result: OptimalResult) -> tuple[MotionCheck, ...]:
    """See :meth:`.OptimalResult.certify`."""
    low, high = result.problem.limits
    beyond = np.maximum(low - result.forces, result.forces - high).max(initial=0.0)
    found = [
        MotionCheck("defect", _defect(result), MAX_DEFECT),
        MotionCheck("force limits", float(max(beyond, 0.0)), 1e-12),
    ]
    problem = result.problem
    if problem.equality is None and problem.inequality is None and problem.final_equality is None:
        found.append(MotionCheck("gradient", _adjoint_gradient(result), MAX_GRADIENT))
    return tuple(found)


def _defect(result: OptimalResult) -> float:
    """Largest difference between a node and a plain step from the one before."""
    stepping, model, worst = result.problem.stepping, result.problem.model, 0.0
    for i in range(stepping.steps):
        q, v = model.flatten(result.states.at(i))
        after = stepping.plain_step((q, v, result.memory[i]), result.forces[i], i)
        p, w = model.flatten(result.states.at(i + 1))
        away = [model.difference(p, np.asarray(after[0], dtype=float)), np.asarray(after[1], dtype=float) - w]
        worst = max(worst, *(float(np.abs(x).max(initial=0.0)) for x in away))
    return worst


def _adjoint_gradient(result: OptimalResult) -> float:
    """Largest derivative of the cost by a force that is not at its limit, relative to ``1 + cost``."""
    problem = result.problem
    last = problem.steps
    ends = np.zeros((last + 1, 1))
    ends[last] = 1.0
    data = np.concatenate([problem.node_data, ends], axis=1)

    def cost(model: Any, state: Any, forces: Any, numbers: Any) -> Any:
        own, end = numbers[:-1], numbers[-1]
        total = 0.0 * end
        if problem.cost is not None:
            r = concatenate([np.zeros(0), np.reshape(problem.cost(model, state, forces, own), -1)])
            total = total + (1.0 - end) * 0.5 * (r @ r)
        if problem.final_cost is not None:
            r = concatenate([np.zeros(0), np.reshape(problem.final_cost(model, state, forces, own), -1)])
            total = total + end * 0.5 * (r @ r)
        return total

    found = gradient(problem.dynamics, result.states.at(0), cost, forces=result.forces, data=data)
    low, high = problem.limits
    free: FloatArray = np.where((result.forces <= low) & (found.forces > 0.0), 0.0, found.forces)
    free = np.where((result.forces >= high) & (found.forces < 0.0), 0.0, free)
    return float(np.abs(free).max(initial=0.0) / (1.0 + result.cost))
