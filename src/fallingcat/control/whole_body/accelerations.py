"""Accelerations that do what tasks ask for, by priority ([ETH] 3.9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...arrays.types import Vector
from ...model import Model, State
from ...qp.least_squares import Level, hierarchical
from ...records import concise
from ..inverse_kinematics.differential import checked_levels, damped_by, metric_of, root_of
from ..tasks.task import Task, stacked


@concise
class AccelerationResult(NamedTuple):
    """What :func:`accelerations` found."""

    acceleration: Vector
    """``nv``: of the quasi-velocity"""
    residuals: tuple[Vector, ...]
    """for each task, ``J a + dJ/dt v`` less what it asks for"""
    ranks: tuple[Any, ...]
    """for each level how many of its rows are independent of each other and of the levels before"""


def accelerations(
    model: Model, state: State, tasks: Sequence[Sequence[Task]], *, damping: float = 0.0, metric: Any = None
) -> AccelerationResult:
    """The acceleration (nv) that meets ``tasks``: an outer list of priorities ([ETH] (3.82), (3.83)).

    As :func:`.velocities`, one derivative later: each task asks for ``J a + dJ/dt v = acceleration + 2 ratio gain
    (velocity - J v) + gain^2 error``.  What is left open is the least in the sense of ``metric``.

    >>> import numpy as np
    >>> import fallingcat as fc
    >>> arm = fc.robots.planar_arm()
    >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3], rates=[0.1, -0.2, 0.3])
    >>> tip = fc.control.PositionTask("end_effector", acceleration=[1.0, 0.0, 1.0], gain=0.0, mask=(True, False, True))
    >>> still = fc.control.JointsTask(joints=("joint1", "joint2"), gain=0.0)
    >>> fc.control.accelerations(arm, at, [[tip], [still]]).acceleration.round(6)
    array([-0.150585, -0.075292, -1.119823])
    """
    levels = checked_levels(model, state, tasks)
    name, W = metric_of(model, metric)
    demands = [[task.demand(model, state) for task in level] for level in levels]
    problem = [
        Level(
            stacked([d.J for d in level], (0, model.nv)),
            stacked([d.acceleration - d.bias for d in level], (0,)),
            stacked([d.weight for d in level], (0,)),
        )
        for level in demands
    ]
    a, ranks = hierarchical(problem, model.nv, damped_by(damping), root_of(model, state, name, W))
    residuals = tuple(d.J @ a + d.bias - d.acceleration for level in demands for d in level)
    return AccelerationResult(a, residuals, tuple(ranks))
