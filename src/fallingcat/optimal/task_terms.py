"""Tasks of whole-body control as terms of an optimal control problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import concatenate
from ..control import Task
from ..dynamics.checks import choice
from ..errors import ModelError, describe
from ..model import Model, State
from .terms import Term


def task_residual(*tasks: Task, of: str = "error") -> Term:
    """Residual of tasks, as a cost or constraint of a :class:`.Problem`.

    Args:
        *tasks: Tasks of :mod:`fallingcat.control` that ask for motion; each row counts with the root of its weight.
        of: ``"error"``: how far each task is from its goal (m, rad); ``"velocity"``: by how much its velocity differs
            from the one that it asks for, ``velocity + gain error`` (m/s, rad/s).

    Returns:
        ``term(model, state, forces, data)``.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> reach = fc.control.PositionTask("end_effector", [1.0, 0.0, 3.0], weight=100.0, mask=(True, False, True))
        >>> there = fc.optimal.task_residual(reach)
        >>> there(arm, arm.neutral(), np.zeros(3), None)
        array([ 10., -10.])
        >>> def calm(model, state, forces, data):
        ...     return fc.arrays.concatenate([0.02 * forces, 0.1 * state.rates])
        >>> step = fc.simulation.step_derivatives(arm, dt=0.02)
        >>> found = fc.optimal.solve(fc.optimal.Problem(step, arm.neutral(), 40, calm, final_equality=there))
        >>> found.converged, fc.link_pose(arm, found.states.at(-1), "end_effector")[:3, 3].round(5).tolist()
        (True, [1.0, 0.0, 3.0])
    """
    choice(of, ("error", "velocity"), "of")
    for task in tasks:
        if not isinstance(task, Task) or task.of_forces:
            raise ModelError(f"task_residual takes tasks of fc.control that ask for motion, not {describe(task)}")
    if not tasks:
        raise ModelError("task_residual takes one task or more")

    def term(model: Model, state: State, forces: Any, data: Any) -> Any:
        rows = []
        for task in tasks:
            wanted = task.demand(model, state)
            missing = wanted.error if of == "error" else wanted.velocity - wanted.J @ state.velocity
            rows.append(np.sqrt(np.asarray(wanted.weight, dtype=float)) * missing)
        return concatenate(rows)

    return term
