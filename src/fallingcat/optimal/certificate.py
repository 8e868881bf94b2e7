"""Checks of an optimal motion through code that the solver does not use."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.types import FloatArray
from ..dynamics import (
    center_of_mass,
    center_of_mass_bias,
    center_of_mass_jacobian,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_derivative,
    link_pose,
    momentum,
)
from ..simulation.steps.gradient import gradient
from .phase_step import weight_of
from .result import MotionCheck, OptimalResult
from .stepping import PhaseSteps, SimulationSteps

MAX_DEFECT = 1e-8
"""m, rad, m/s, rad/s: difference of one step, taken by compiled and by plain code."""
MAX_FORCE = 1e-8
"""Force, or torque over 1 m, that nothing exerts, relative to the weight."""
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
    found += _momenta(result)
    constrained = any(term is not None for terms in problem.terms for term in terms[1:]) or problem.stepping.cones
    if not constrained and isinstance(problem.stepping, SimulationSteps):
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


def _momenta(result: OptimalResult) -> list[MotionCheck]:
    """Center of mass and momentum beside the forces of the ground, through momentum matrices."""
    stepping, model = result.problem.stepping, result.problem.model
    if model.m != 6 or (isinstance(stepping, SimulationSteps) and stepping.dynamics._about[0].contact is not None):
        return []
    lengths, weight, worst = np.diff(result.times), weight_of(model), np.zeros(2)
    points = stepping.dynamics.points if isinstance(stepping, PhaseSteps) else ()
    for i, dt in enumerate(lengths):
        here, after = result.states.at(i), result.states.at(i + 1)
        forces = result.contact_forces[i].reshape(-1, 3)
        total = forces.sum(axis=0) + model.mass * model.gravity
        if isinstance(stepping, SimulationSteps):  # these steps keep the momentum itself
            change = (momentum(model, after, "centroidal") - momentum(model, here, "centroidal")) / dt
            miss = change - np.concatenate([total, np.zeros(3)])
            worst = np.maximum(worst, [np.abs(miss[:3]).max(), np.abs(miss[3:]).max()])
            continue
        a = (after.velocity - here.velocity) / dt
        c, J = center_of_mass(model, here), center_of_mass_jacobian(model, here)
        moved = model.mass * (J @ a + center_of_mass_bias(model, here))
        A, rate = (f(model, here) for f in (centroidal_momentum_matrix, centroidal_momentum_matrix_derivative))
        arms = [link_pose(model, here, name)[:3, 3] - c for name in points]
        torque = sum((np.cross(r, f) for r, f in zip(arms, forces, strict=True)), start=np.zeros(3))
        spun = (A @ a + rate @ here.velocity)[3:]
        worst = np.maximum(worst, [np.abs(moved - total).max(), np.abs(spun - torque).max()])
    names = ("center of mass", "momentum balance")
    return [MotionCheck(name, float(x / weight), MAX_FORCE) for name, x in zip(names, worst, strict=True)]


def _adjoint_gradient(result: OptimalResult) -> float:
    """Largest derivative of the cost by a force that is not at its limit, relative to ``1 + cost``."""
    problem = result.problem
    last = problem.stepping.steps
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

    assert isinstance(problem.stepping, SimulationSteps)
    found = gradient(problem.stepping.dynamics, result.states.at(0), cost, forces=result.forces, data=data)
    low, high = problem.limits
    free: FloatArray = np.where((result.forces <= low) & (found.forces > 0.0), 0.0, found.forces)
    free = np.where((result.forces >= high) & (found.forces < 0.0), 0.0, free)
    return float(np.abs(free).max(initial=0.0) / (1.0 + result.cost))
