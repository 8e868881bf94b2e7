"""Derivatives of force laws in a step, entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import concatenate
from ...arrays.differentiate import value_and_jacobian
from ...dynamics import inverse_dynamics
from ...model import Model, State
from .implicit.step import moving
from .linearized_forces import end_forces
from .step_arguments import StepArguments
from .step_jacobian import Blocks, with_laws


def law_forces(
    source: StepArguments, state: State, memory: Any, a: Any, linear_forces: Callable[..., Any], kinds: Any, dt: Any
) -> tuple[Blocks, Any]:
    """Derivatives of the forces (nv) of laws and controller in a step with the acceleration ``a`` (nv).

    Args:
        source: StepArguments of the step.
        state: Place at which laws act, and velocity before the step.
        memory: Memory of contact and laws before it.
        a: Acceleration of the step.
        linear_forces: ``(problem, state, memory, forces) -> dict`` of :func:`.linearized_forces`.
        kinds: Arrays of numbers of the kind of the step.
        dt: Step (s).

    Returns:
        Derivatives by place, velocity, acceleration, memory of laws and numbers; and by joint forces (nv x n).
    """
    problem, _ = source.problem(source.values)
    model, m, nv = problem.model, problem.model.m, problem.model.nv
    own, given = sum(problem.sizes), source.forces
    sizes = np.cumsum([nv, nv, own, model.n if len(given) else 0])

    def forces(y: Any) -> Any:
        moved, velocity, laws, asked, numbers = np.split(y, sizes)
        at = moving(model.configuration.displace(state, moved), velocity)
        asked = concatenate([np.zeros(m), asked]) if len(given) else given
        found = linear_forces(source.problem(numbers)[0], at, with_laws(memory, laws), asked)
        total, armature = end_forces(model, at, found, dt)
        return concatenate([total - concatenate([np.zeros(m), armature * a[m:]]), armature])

    y = concatenate([np.zeros(nv), state.velocity, memory[len(memory) - own :], given[m:], source.values])
    value, D = value_and_jacobian(forces, y, kinds)
    q, v, by_memory, asked, numbers = np.split(D[:nv], sizes, axis=1)
    armature = concatenate([np.zeros(m), value[nv:]])
    return Blocks(q, v, np.zeros((nv, nv)), -armature[:, None] * np.eye(nv), by_memory, numbers), asked


def law_memory(source: StepArguments, state: State, velocity: Any, memory: Any, t: Any, kinds: Any, dt: Any) -> Blocks:
    """Derivatives of the memory of laws at the end of a step, by place, ``velocity`` (nv), memory and numbers."""
    problem, _ = source.problem(source.values)
    nv, total = problem.model.nv, sum(problem.sizes)
    if not total:
        return Blocks(*(np.zeros((0, k)) for k in (nv, nv, nv, nv, 0, len(source.wanted))))

    def later(y: Any) -> Any:
        moved, moves, laws, numbers = np.split(y, np.cumsum([nv, nv, total]))
        at = moving(problem.model.configuration.displace(state, moved), moves)
        return source.problem(numbers)[0].later(with_laws(memory, laws), t, at, dt)

    y = concatenate([np.zeros(nv), velocity, memory[len(memory) - total :], source.values])
    q, v, by_memory, numbers = np.split(value_and_jacobian(later, y, kinds)[1], np.cumsum([nv, nv, total]), axis=1)
    return Blocks(q, v, np.zeros((total, nv)), np.zeros((total, nv)), by_memory, numbers)


def body_numbers(
    source: StepArguments, state: State, a: Any, kinds: Any, robot: Callable[[Any], Model] | None = None
) -> Any:
    """``nv x wanted``: inverse dynamics by masses, centers and inertias, of the robot with some numbers."""
    if not source.varied or not source.wanted:
        return np.zeros((source.model.nv, len(source.wanted)))

    def forces(own: Any) -> Any:
        return inverse_dynamics(source.problem(own)[0].model if robot is None else robot(own), state, a)

    return value_and_jacobian(forces, source.values, kinds)[1]
