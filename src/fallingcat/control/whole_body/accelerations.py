"""Prioritized accelerations for tasks ([ETH] 3.9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...arrays.types import Matrix_nv_nv, Vector, Vector_nv
from ...model import Model, State
from ...qp.least_squares import Level, hierarchical
from ...records import concise
from ..inverse_kinematics.differential import checked_levels, damped_by, metric_of, root_of
from ..tasks.demand import stack_parts
from ..tasks.task import Task


@concise
class AccelerationResult(NamedTuple):
    """Result of :func:`accelerations`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> found = accelerations(arm, arm.neutral(), [[fc.control.JointsTask(acceleration=[1.0, 0.0, 0.0])]])
        >>> found.acceleration, found.ranks
        (array([1., 0., 0.]), (3,))
    """

    acceleration: Vector_nv
    """``nv``: of the quasi-velocity"""
    residuals: tuple[Vector, ...]
    """for each task, ``J a + dJ/dt v`` minus its desired acceleration"""
    ranks: tuple[Any, ...]
    """for each level the number of rows that are independent of each other and of the levels before"""


def accelerations(
    model: Model,
    state: State,
    tasks: Sequence[Sequence[Task]],
    *,
    damping: float = 0.0,
    metric: str | Matrix_nv_nv | None = None,
) -> AccelerationResult:
    """Acceleration that meets prioritized tasks ([ETH] (3.82), (3.83)).

    As :func:`.velocities`, one derivative later: each task asks for ``J a + dJ/dt v = acceleration + 2 ratio gain
    (velocity - J v) + gain^2 error``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        tasks: List of priorities, the highest first, each a list of tasks that share it by their weights.
        damping: Regularization near singularities; 0: none.
        metric: Norm (``nv x nv``, or its name) of what tasks leave open, as of :func:`.velocities`.

    Returns:
        Acceleration of the quasi-velocity (nv), with residuals and ranks.

    Example:
        >>> import numpy as np
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3], rates=[0.1, -0.2, 0.3])
        >>> goal = [1.0, 0.0, 1.0]
        >>> tip = fc.control.PositionTask("end_effector", acceleration=goal, gain=0.0, mask=(True, False, True))
        >>> still = fc.control.JointsTask(joints=("joint1", "joint2"), gain=0.0)
        >>> fc.control.accelerations(arm, at, [[tip], [still]]).acceleration.round(6)
        array([-0.150585, -0.075292, -1.119823])
    """
    levels = checked_levels(model, state, tasks)
    name, W = metric_of(model, metric)
    demands = [[task.demand(model, state) for task in level] for level in levels]
    problem = [
        Level(
            stack_parts([d.J for d in level], (0, model.nv)),
            stack_parts([d.acceleration - d.bias for d in level], (0,)),
            stack_parts([d.weight for d in level], (0,)),
        )
        for level in demands
    ]
    a, ranks = hierarchical(problem, model.nv, damped_by(damping), root_of(model, state, name, W))
    residuals = tuple(d.J @ a + d.bias - d.acceleration for level in demands for d in level)
    return AccelerationResult(a, residuals, tuple(ranks))
