"""Inverse kinematics with limits, such as collisions: many small steps of prioritized velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...model import Model, State
from ..limits.joint_limits import JointLimits, Limit, all_limits
from ..tasks.task import Task
from .differential import DifferentialIKResult, velocities
from .result import InverseKinematicsResult, Rules

STEP_TIME = 0.1
"""Time of a step (s); gains of limits are at most 1 over it."""
TASK_GAIN = 6.0
"""Gain of tasks (1/s): a step of 0.1 s removes 0.6 of the error."""
MAX_STEP = 0.3
"""Longest step (rad, m)."""
ITERATION_FACTOR = 10
"""Steps for each iteration of inverse kinematics without limits: these steps are that much shorter."""
MAX_RESTARTS = 10
"""Largest number of random starts: each takes about a hundred times as long as without limits."""
LIMIT_TOLERANCE = 1e-9
"""Tolerance of limits (m/s, rad/s): rounding of the quadratic programs."""


class _Path(NamedTuple):
    state: State
    errors: tuple[np.ndarray, ...]
    steps: int
    last_result: DifferentialIKResult

    def error(self, first: int) -> float:
        """Largest error of the first priority."""
        return max(float(np.abs(e).max(initial=0.0)) for e in self.errors[:first])


def constrained_inverse_kinematics(
    model: Model, levels: Sequence[Sequence[Task]], start: State, limits: Sequence[Limit], limited: bool, rules: Rules
) -> InverseKinematicsResult:
    """Result for the goals of ``levels``, from ``start`` or from random states that satisfy the ``limits``."""
    bounds = [*([JointLimits(1.0 / STEP_TIME)] if limited else []), *all_limits(limits, "[CollisionLimit()]")]
    tasks = [[task.replaced(gain=TASK_GAIN, velocity=None) for task in level] for level in levels]
    first, tolerance, rng = len(levels[0]), float(rules.settings[0]), np.random.default_rng(rules.seed)
    best = _iterate(model, tasks, start, bounds, rules)
    for _ in range(min(rules.restarts, MAX_RESTARTS)):
        if best.error(first) <= tolerance and satisfies_limits(model, best.state, limits):
            break
        state = model.random_state(rng)._replace(twist=np.zeros(model.m), rates=np.zeros(model.n))
        state = state if not model.m else state._replace(pose=start.pose)
        way = _iterate(model, tasks, state, bounds, rules) if satisfies_limits(model, state, limits) else best
        best = way if way.error(first) < best.error(first) and satisfies_limits(model, way.state, limits) else best
    reached = best.error(first) <= tolerance and satisfies_limits(model, best.state, limits)
    held = () if reached else tuple(best.last_result.active or ())
    status = "converged" if reached else "limited" if held else "unfinished"
    return InverseKinematicsResult(best.state, reached, status, best.steps, best.error(first), best.errors, held)


def satisfies_limits(model: Model, state: State, limits: Sequence[Limit]) -> bool:
    """True if a state satisfies these limits: zero velocity is allowed."""
    return all((limit.rows(model, state).h >= -LIMIT_TOLERANCE).all() for limit in limits)


def _iterate(model: Model, tasks: list[list[Task]], state: State, bounds: Sequence[Limit], rules: Rules) -> _Path:
    """Steps until the first priority is reached or the motion stops."""
    tolerance, flat = float(rules.settings[0]), [task for level in tasks for task in level]
    found = None
    for step in range(ITERATION_FACTOR * rules.iterations):
        errors = tuple(task.demand(model, state).error for task in flat)
        near = all(np.abs(e).max(initial=0.0) <= tolerance for e in errors[: len(tasks[0])])
        found = velocities(model, state, tasks, limits=bounds, damping=0.01)
        size = float(np.abs(found.velocity).max(initial=0.0)) * STEP_TIME
        if (near and len(tasks) == 1) or size < 0.01 * tolerance:
            return _Path(state, errors, step, found)
        state = model.configuration.displace(state, found.velocity * (STEP_TIME * min(1.0, MAX_STEP / size)))
    assert found is not None
    errors = tuple(task.demand(model, state).error for task in flat)
    return _Path(state, errors, ITERATION_FACTOR * rules.iterations, found)
