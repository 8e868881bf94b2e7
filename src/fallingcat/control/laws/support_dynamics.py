"""Dynamics of robots on rigid contacts: support Jacobian, contact inertia, inverse dynamics ([ETH] 3.9, 3.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import inverse_root, is_numeric, numbers_only, solve, solve_tree
from ...arrays.types import Matrix, Matrix_k_nv, Matrix_nv_nv, Matrix_points_3, Vector, Vector_n, Vector_nv
from ...dynamics import bias_forces, mass_matrix
from ...dynamics.checks import check_robot, vector
from ...dynamics.sweeps import places_above
from ...errors import ModelError, describe
from ...model import Model, State
from ...qp.least_squares import RANK_TOLERANCE
from ...records import concise
from ..tasks import PositionTask, Task
from ..tasks.demand import stack_parts
from .torque_law import drives

Contact = str | Task
"""A link or frame whose origin stays where it is, or a task: ``PoseTask("foot")`` for a sole that lies flat."""


@concise
class Support(NamedTuple):
    """Dynamics of rigid contacts ``J a + bias = 0`` ([ETH] (3.61)).

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> support_dynamics(dog, dog.neutral(), ["front_left_foot"]).Lambda.shape
        (3, 3)
    """

    J: Matrix_k_nv
    """``J_c`` (rows x nv), along the world's axes"""
    bias: Vector
    """``dJ_c/dt v`` (rows)"""
    Lambda: Matrix
    """``Lambda_c = (J_c M^-1 J_c')^-1`` (3.68): contact inertia; a pseudo-inverse where rows are dependent"""
    N: Matrix_nv_nv
    """``N_c = 1 - M^-1 J_c' Lambda_c J_c`` (nv x nv, (3.63)): projector to motions without contact motion"""


def support_dynamics(model: Model, state: State, contacts: Sequence[Contact]) -> Support:
    """Contact Jacobian, contact inertia and null-space projector of contacts ([ETH] (3.63), (3.68)).

    After an impact on the contacts, velocities are ``N v`` (3.70).  Numeric states may have rows that depend on each
    other.

    Args:
        model: Robot.
        state: Configuration and velocity.
        contacts: Links or frames whose origins stay, or tasks that stay, such as ``PoseTask("foot")``.

    Returns:
        ``J`` (rows x nv), ``bias`` (rows), ``Lambda`` (rows x rows) and ``N`` (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> found = support_dynamics(dog, dog.neutral(), feet)
        >>> found.J.shape, bool(np.abs(found.J @ found.N).max() < 1e-12)
        ((12, 18), True)
    """
    check_robot(model, state)
    J, bias, _ = constrained_motion(model, state, contacts)
    M = mass_matrix(model, state)
    MinvJt = solve_tree(M, J.T, places_above(model)) if len(J) else np.zeros((model.nv, 0))
    inertia = J @ MinvJt
    if is_numeric(inertia):
        U, d, _ = np.linalg.svd(J @ inverse_root(M, places_above(model)), full_matrices=False)
        kept = d > RANK_TOLERANCE * np.linalg.norm(d)
        Lambda = (U[:, kept] / d[kept] ** 2) @ U[:, kept].T
    else:
        Lambda = solve(inertia, np.eye(len(inertia)))
    return Support(J, bias, Lambda, np.eye(model.nv) - MinvJt @ (Lambda @ J))


@concise
class FloatingInverseDynamics(NamedTuple):
    """Result of :func:`floating_inverse_dynamics`.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.planar_arm()
        >>> floating_inverse_dynamics(arm, arm.neutral(), np.zeros(3), []).rank
        3
    """

    torques: Vector_n
    """``n`` (N m or N)"""
    forces: Matrix_points_3
    """``contacts x 3``, or rows for contacts that are tasks: on the robot, along the world's axes"""
    residual: Vector_nv
    """``nv``: ``N_c' (S' u - (M a + h))``; not zero where drives are too few for the acceleration"""
    slip: Vector
    """rows: ``J_c a + dJ_c/dt v``, zero for an acceleration that contacts allow"""
    rank: int
    """rank of ``N_c' S'``: directions in which drives move the robot; the others change internal contact forces"""


@numbers_only("the rank of a pseudo-inverse is determined")
def floating_inverse_dynamics(
    model: Model, state: State, acceleration: Vector_nv, contacts: Sequence[Contact], torques: Vector_n | None = None
) -> FloatingInverseDynamics:
    """Least torques for an acceleration of a robot on contacts ([ETH] (3.100), (3.101)).

    ``u = (N_c' S')^+ N_c' (M a + h)``.

    Args:
        model: Robot.
        state: Configuration and velocity.
        acceleration: Acceleration of the quasi-velocity (nv).
        contacts: Links or frames whose origins stay, or tasks that stay.
        torques: Torques (n) that are added as far as they do not move the robot: they change contact forces alone.

    Returns:
        Torques (n) and contact forces (N); ``residual`` and ``slip`` hold the impossible part of the acceleration.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> feet = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]
        >>> stand = dog.state(joints=np.tile([0.1, 0.6, -1.2], 4))
        >>> found = floating_inverse_dynamics(dog, stand, np.zeros(dog.nv), feet)
        >>> found.rank, bool(np.isclose(found.forces[:, 2].sum(), 9.81 * dog.mass))
        (6, True)
    """
    check_robot(model, state)
    a = vector(acceleration, model.nv, "acceleration")
    J, bias, _, N = support_dynamics(model, state, contacts)
    S = model.actuation
    f = mass_matrix(model, state) @ a + bias_forces(model, state)
    U, d, Vt = np.linalg.svd(N.T @ S.T, full_matrices=False)
    rank = int((d > RANK_TOLERANCE * max(1.0, float(np.linalg.norm(d)))).sum())
    u = Vt[:rank].T @ ((U[:, :rank].T @ (N.T @ f)) / d[:rank])
    if torques is not None:
        own = drives(model).right[model.m :].T @ vector(torques, model.n, "torques")
        u = u + own - Vt[:rank].T @ (Vt[:rank] @ own)
    forces = np.linalg.lstsq(J.T, f - S.T @ u, rcond=RANK_TOLERANCE)[0] if len(J) else np.zeros(0)
    points = all(isinstance(contact, str) for contact in contacts)
    return FloatingInverseDynamics(
        S[:, model.m :].T @ u, forces.reshape(-1, 3) if points else forces, N.T @ (S.T @ u - f), J @ a + bias, rank
    )


def as_tasks(contacts: Any) -> list[Task]:
    """Contacts as tasks; a name means a point at rest, as those of :func:`fallingcat.contact.feet` do."""
    contacts = getattr(contacts, "points", contacts)
    if isinstance(contacts, str) or not isinstance(contacts, Sequence):
        raise ModelError(f"contacts must be names of links and frames, or tasks, got {describe(contacts)}")
    found: list[Task] = []
    for each in contacts:
        if not isinstance(each, (str, Task)):
            raise ModelError(f"a contact must be the name of a link or frame, or a task, got {describe(each)}")
        found.append(PositionTask(each, gain=0.0) if isinstance(each, str) else each)
    return found


def constrained_motion(model: Model, state: State, contacts: Any) -> tuple[Matrix, Vector, Vector]:
    """``J_c``, ``dJ_c/dt v`` and the desired ``J_c a + dJ_c/dt v`` of all contacts."""
    demands = [task.demand(model, state) for task in as_tasks(contacts)]
    J = stack_parts([d.J for d in demands], (0, model.nv))
    return J, *(stack_parts([getattr(d, part) for d in demands], (0,)) for part in ("bias", "acceleration"))
