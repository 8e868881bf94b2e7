"""Task-space dynamics, and operational-space control of motion and force ([ETH] 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import inverse_root, maximum, solve, solve_tree
from ...arrays.arguments import as_array, shape_of
from ...arrays.types import Matrix, Scalar, Vector, Vector_n
from ...dynamics import bias_forces, gravity_forces, mass_matrix
from ...dynamics.checks import check_robot
from ...dynamics.constrained import check_rank
from ...dynamics.sweeps import places_above
from ...errors import ModelError, describe
from ...lie.rotations import block_diagonal
from ...model import Model, State
from ...qp.least_squares import MIN_LEVEL_SIZE, Level, hierarchical, norm, orthonormal
from ...records import concise
from ..tasks.demand import Demand
from ..tasks.goals import check_rotations
from ..tasks.task import Task
from .references import plain_goal, vector_at
from .torque_law import TorqueLaw, as_damping, drives

Aim = Task | Callable[[Any], Task]
"""A task, or a function of time (s) that returns one."""


@concise
class TaskDynamics(NamedTuple):
    """Task-space dynamics ``Lambda dw/dt + mu + p = F`` along the rows of a task ([ETH] (3.86)).

    A task force ``F`` acts as the generalized force ``J' F``.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> tip = fc.control.PositionTask("end_effector", mask=(True, False, False))
        >>> task_dynamics(arm, arm.neutral(), tip).Lambda.shape
        (1, 1)
    """

    Lambda: Matrix
    """``(J M^-1 J')^-1`` (3.87): inertia along the rows"""
    mu: Vector
    """``Lambda (J M^-1 b - dJ/dt v)`` (3.88)"""
    p: Vector
    """``Lambda J M^-1 g`` (3.89): gravity"""


def task_dynamics(model: Model, state: State, task: Task) -> TaskDynamics:
    """Task-space inertia, velocity terms and gravity of a robot along a task ([ETH] (3.84)-(3.89)).

    Args:
        model: Robot.
        state: Configuration and velocity.
        task: Task; its goal and gains are not used.

    Returns:
        ``Lambda`` (rows x rows), ``mu`` (rows) and ``p`` (rows) of the rows that the mask keeps.

    Raises:
        ModelError: Rows depend on each other, as near a singularity: mask them.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3])
        >>> tip = fc.control.PositionTask("end_effector", mask=(True, False, True))
        >>> fc.control.task_dynamics(arm, at, tip).p.round(9)
        array([-5.66380614, 14.715     ])
    """
    check_robot(model, state)
    demand = task.demand(model, state)
    g, h = gravity_forces(model, state), bias_forces(model, state)
    MinvJt = solve_tree(mass_matrix(model, state), demand.J.T, places_above(model))
    inertia = demand.J @ MinvJt
    check_rank(inertia, task.name)
    Lambda = solve(inertia, np.eye(len(inertia)))
    return TaskDynamics(Lambda, Lambda @ (MinvJt.T @ (h - g) - demand.bias), Lambda @ (MinvJt.T @ g))


@concise
@dataclass(frozen=True)
class OperationalSpace(TorqueLaw):
    """Operational-space control of motion and force ([ETH] (3.90), (3.97)).

    ``tau = J' (Lambda S_M dw* + S_F F + mu + p)``.  ``task`` gives the motion: ``dw* = acceleration + 2 ratio gain
    (velocity - w) + gain^2 error``; it may be a function of time.  Rows named by ``pressed`` exert the ``force`` (N, N
    m, on the environment) instead, along the world's axes or those of ``axes`` (3 x 3, to the world's).  The null space
    of the task is controlled by ``posture``, another law; without one it is left alone, so that it may drift.

    Directions in which the task cannot move are left out; near them torques grow, unless ``damping`` (its square is
    added to ``J M^-1 J'``) keeps them small.  With a floating base, and with joints without a drive, ``J`` and ``M``
    are
    those of the motion that drives cause while all else moves freely.

    Args:
        task: Task, or a function of time (s) that returns one.
        force: One number for each row of the task (N, N m), or a function of time that returns them; None: zero.
        pressed: True for each row that is force-controlled; None: none.
        axes: Rotation (3 x 3) of the axes of ``pressed`` and ``force``; None: world axes.
        posture: Torque controller of the null space; None: no torques.
        damping: Regularization near singularities; 0: none.
        name: Line in the energy ledger.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> at = arm.state(joints=[np.pi / 6, np.pi / 3, np.pi / 3], rates=[0.1, -0.2, 0.3])
        >>> goal = [1.0, 0.0, 1.0]
        >>> tip = fc.control.PositionTask("end_effector", acceleration=goal, gain=0.0, mask=(True, False, True))
        >>> OperationalSpace(tip).torques(arm, at).round(9)
        array([-30.90371876, -18.35436075,  -2.90250137])
    """

    task: Aim
    force: Vector | Callable[[Scalar], Vector] | None = None
    """one for each row of the task, or a function of time that returns them"""
    pressed: tuple[bool, ...] | None = None
    axes: tuple[tuple[float, ...], ...] | None = None
    posture: TorqueLaw | None = None
    damping: float = 0.0
    name: str = "operational space"

    def __post_init__(self) -> None:
        """Check the fields, and turn them into plain data."""
        super().__post_init__()
        check_aim(self.task, self.name)
        object.__setattr__(self, "force", plain_goal(self.force, f"force of {self.name!r}"))
        if self.pressed is not None:
            rows = np.ravel(self.pressed) if shape_of(self.pressed) is not None else np.array([None])
            if np.ndim(rows) != 1 or not all(x in (True, False) for x in rows.tolist()):
                raise ModelError(
                    f"pressed of {self.name!r} must be True or False for each row, got {describe(self.pressed)}"
                )
            object.__setattr__(self, "pressed", tuple(bool(x) for x in rows))
        if self.axes is not None:
            axes = as_array(self.axes, (3, 3), f"axes of {self.name!r}")
            check_rotations(axes, f"axes of {self.name!r}")
            object.__setattr__(self, "axes", tuple(map(tuple, axes.tolist())))
        if not isinstance(self.posture, (TorqueLaw, type(None))):
            raise ModelError(
                f"posture of {self.name!r} must be a TorqueLaw, such as Impedance, got {describe(self.posture)}"
            )
        object.__setattr__(self, "damping", as_damping(self.damping, f"damping of {self.name!r}"))

    def check(self, model: Model) -> None:
        """Check task, selection and posture against the robot."""
        super().check(model)
        (task,) = check_tasks(model, [self.task])
        self._selections(task.rows(model))
        if self.posture is not None:
            self.posture.check(model)

    def commanded_torques(self, model: Model, t: Scalar, state: State) -> Vector_n:
        """Torques of motion, force and posture, each projected to what drives cause."""
        S, demand = drives(model).S[:, model.m :], task_at(self.task, t).demand(model, state)
        rows = len(demand.bias)
        J, M, needed, size = driven_motion(model, state, demand)
        R = inverse_root(M, range(-1, len(M) - 1))  # R' M R = 1: J' Lambda = M R (J R)^+
        moved, pressed = self._selections(rows)
        level = Level(J @ R, moved @ demand.acceleration + needed, np.ones(rows))
        u = M @ (R @ hierarchical([level], len(M), self.damping, sizes=[size * norm(R)]).x)
        if self.force is not None:
            u = u + J.T @ (pressed @ vector_at(self.force, t, rows, f"force of {self.name!r}"))
        if self.posture is not None:
            Q = orthonormal(J @ R, size * norm(R))
            rest = R.T @ (drives(model).right[model.m :].T @ self.posture.commanded_torques(model, t, state))
            u = u + M @ (R @ (rest - Q.T @ (Q @ rest)))
        return S.T @ u

    def _selections(self, rows: int) -> tuple[Matrix, Matrix]:
        """``S_M`` and ``S_F`` (3.99): ``C Sigma C'`` with ``C`` from ``axes`` to those of the task."""
        pressed = np.zeros(rows) if self.pressed is None else np.array(self.pressed, dtype=float)
        if len(pressed) != rows:
            raise ModelError(f"pressed of {self.name!r} must have {rows} entries, got {len(pressed)}")
        if self.axes is None:
            return np.diag(1.0 - pressed), np.diag(pressed)
        if rows not in (3, 6):
            raise ModelError(f"axes of {self.name!r} need a task of 3 or 6 rows, got {rows}")
        C = block_diagonal([np.array(self.axes)] * (rows // 3))
        return C @ np.diag(1.0 - pressed) @ C.T, C @ np.diag(pressed) @ C.T


class DrivenMotion(NamedTuple):
    """Dynamics that drives cause while all else moves freely: ``M* u' + h* = u`` and ``dw/dt = J* u' + ...``."""

    J: Matrix
    """``rows x k``; for a free-floating robot, the generalized Jacobian"""
    M: Matrix
    """``k x k``"""
    needed: Vector
    """``rows``: ``J* M*^-1 h* - dJ/dt v - J a_0``, less the acceleration of the task without drives"""
    size: Scalar
    """``|J| |T|``: rows of ``J*`` that are small relative to it are rounding errors"""


def driven_motion(model: Model, state: State, demand: Demand) -> DrivenMotion:
    """Task-space dynamics in the coordinates of the drives.

    With ``v = T u'`` where drives move by ``u'`` and ``Z' M T = 0`` along the motions without drives: ``J* = J T``,
    ``M* = T' M T``, ``h* = T' h``.
    """
    _, right, Z, _ = drives(model)
    M, h = mass_matrix(model, state), bias_forces(model, state)
    T, free = right, np.zeros(model.nv)
    if Z.shape[1]:
        inertia = Z.T @ M @ Z
        T = right - Z @ solve(inertia, Z.T @ (M @ right))
        free = -(Z @ solve(inertia, Z.T @ h))
    J, inertia = demand.J @ T, right.T @ (M @ T)
    needed = J @ solve(inertia, T.T @ h) - demand.bias - demand.J @ free
    return DrivenMotion(J, inertia, needed, maximum(MIN_LEVEL_SIZE, norm(demand.J)) * norm(T))


def task_at(aim: Aim, t: Scalar) -> Task:
    """Task at a time."""
    if isinstance(aim, Task):
        return aim
    task = aim(t)
    if not isinstance(task, Task):
        raise ModelError(f"a task as a function of time must return a Task, got {describe(task)}")
    return task


def check_aim(aim: Any, name: str) -> None:
    """Raise an error unless ``aim`` is a task or a function."""
    if not isinstance(aim, Task) and (not callable(aim) or isinstance(aim, type)):
        raise ModelError(f"task of {name!r} must be a Task or a function of time, got {describe(aim)}")


def check_tasks(model: Model, aims: Sequence[Aim]) -> list[Task]:
    """Tasks at time zero, each of which fits the robot and has at most one goal."""
    tasks = [task_at(aim, 0.0) for aim in aims]
    for task in tasks:
        task.check(model)
        if task.aim is not None and np.ndim(task.aim) > len(task.goal_shape(model)):
            raise ModelError(f"{task.name} must have one goal, got {len(task.aim)}")
    return tasks
