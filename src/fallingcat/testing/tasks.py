"""Laws of tasks: the error is zero at the goal, rows are derivatives of it, and machine code gives the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..arrays import concatenate
from ..arrays.types import Vector
from ..compiler import compile, fields
from ..control import Task
from ..dynamics import displace
from ..model import Model, State
from .report import Report, Requirement, generator, of_type, relative_difference, states_of

STEP = 1e-5
"""Step of central differences (m or rad)."""


def check_task(task: Task, model: Model, states: Iterable[State] | None = None, seed: int = 0) -> Report:
    """Check the laws of tasks on a task.

    Args:
        task: Task; its goal is not used.
        model: Robot.
        states: States at which it is checked; None: five random ones.
        seed: Seed of the random states.

    Returns:
        Table of residuals.

    Raises:
        BrokenLawError: A law does not hold.

    Example:
        >>> import fallingcat as fc
        >>> print(check_task(fc.control.PositionTask("end_effector"), fc.robots.planar_arm()))
        task PositionTask('end_effector'): passed
          rows            ...  holds        size finite numbers, and rows for them
          goal            ...  holds        no error at the goal that is reached
          jacobian        ...  holds        d error/dt = -J v at the goal, by differences
          bias            ...  holds        dJ/dt v, by differences
          compiled        ...  holds        machine code gives the same numbers
    """
    of_type(task, Task, "task must be a Task")
    of_type(model, Model, "model must be a Model")
    subject = f"task {task.name}"
    cases = [(task, model, state) for state in states_of(model, states, generator(seed), 5)]
    trials = (ROWS, GOAL, JACOBIAN, BIAS, COMPILED)
    return Report.of(subject, chain(one.check_cases(subject, cases) for one in trials))


def _task_at_goal(task: Any, model: Model, state: State) -> Any:
    """Task whose goal is reached at a state."""
    return replace(task, goal=np.asarray(task.value(model, state), dtype=float))


def _rows(task: Task, model: Model, state: State) -> float:
    task.check(model)
    size, found = task.size(model), task.motion(model, state)
    shapes = [np.shape(x) for x in found] == [(size,), (size, model.nv), (size,)]
    return 0.0 if shapes and all(np.isfinite(np.asarray(x, dtype=float)).all() for x in found) else np.inf


def _goal_residual(task: Task, model: Model, state: State) -> float:
    here = np.asarray(task.value(model, state))
    if here.shape != task.goal_shape(model):
        return np.inf
    return float(np.abs(np.asarray(_task_at_goal(task, model, state).motion(model, state).error)).max(initial=0.0))


def _neighbouring_states(model: Model, state: State, along: np.ndarray) -> list[State]:
    """States before and after, at the same velocity."""
    there = (displace(model, state, sign * STEP * along) for sign in (1.0, -1.0))
    return [place._replace(twist=state.twist, rates=state.rates) for place in there]


def _jacobian(task: Task, model: Model, state: State) -> float:
    aimed, columns = _task_at_goal(task, model, state), []
    for unit in np.eye(model.nv):
        ahead, behind = (aimed.motion(model, there).error for there in _neighbouring_states(model, state, unit))
        columns.append((ahead - behind) / (2.0 * STEP))
    return relative_difference(-np.array(columns).T, np.asarray(aimed.motion(model, state).J, dtype=float))


def _bias(task: Task, model: Model, state: State) -> float:
    v = state.velocity
    ahead, behind = (task.motion(model, there).J for there in _neighbouring_states(model, state, v))
    size = max(1.0, float(v @ v))
    return relative_difference(
        (ahead - behind) @ v / (2.0 * STEP * size), np.asarray(task.motion(model, state).bias) / size
    )


def motion_at(model: Model, state: State, *, task: Task) -> Vector:
    """Error, Jacobian and bias, for kernels."""
    error, J, bias = task.motion(model, state)
    return concatenate([error, J.reshape(-1), bias])


def _compiled_residual(task: Task, model: Model, state: State) -> float:
    aimed = _task_at_goal(task, model, state)
    kernel = compile(model, motion_at, state=State._fields, task=aimed)
    return relative_difference(kernel(*fields(state)), motion_at(model, state, task=aimed))


ROWS = Requirement("rows", "size finite numbers, and rows for them", 0.0, _rows)
GOAL = Requirement("goal", "no error at the goal that is reached", 1e-12, _goal_residual)
JACOBIAN = Requirement("jacobian", "d error/dt = -J v at the goal, by differences", 1e-7, _jacobian)
BIAS = Requirement("bias", "dJ/dt v, by differences", 1e-6, _bias)
COMPILED = Requirement("compiled", "machine code gives the same numbers", 1e-11, _compiled_residual)
