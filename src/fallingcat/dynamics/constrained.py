"""Forward dynamics under constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, is_numeric, solve
from ..arrays.arguments import shape_of
from ..arrays.types import Matrix, Matrix_k_nv, Vector, Vector_nv
from ..errors import ModelError, NumericsError, describe
from ..model import Model, State
from ..records import concise
from .checks import check_robot, numbers, vector
from .inverse import bias_forces
from .mass import mass_matrix

RANK_TOLERANCE = 1e-10
"""Least eigenvalue of ``J M^-1 J'``, scaled to a unit diagonal, of rows that do not depend on each other."""
ROW_ROUNDING = 1e-13
"""Rounding of a row, per root of the mass it moves: as where a point is on the axis that should move it."""


@concise
class ConstrainedDynamicsResult(NamedTuple):
    """Acceleration and constraint forces of :func:`constrained_forward_dynamics`.

    Example:
        >>> import fallingcat as fc
        >>> body, J = fc.robots.free_body(), np.eye(6)[:3]
        >>> found = fc.dynamics.constrained_forward_dynamics(body, body.neutral(), np.zeros(6), J, np.zeros(3))
        >>> found.acceleration.shape, found.multipliers.shape
        ((6,), (3,))
    """

    acceleration: Vector_nv
    """``nv``: of the quasi-velocity ``[twist; rates]``"""
    multipliers: Vector
    """``k``: forces of the constraint *on the robot*, which act as ``J' multipliers``"""


@argument_sizes(forces="nv")
def constrained_forward_dynamics(
    model: Model, state: State, forces: Vector_nv, jacobian: Matrix_k_nv, bias: Vector
) -> ConstrainedDynamicsResult:
    """Motion under forces that keeps ``jacobian @ acceleration + bias = 0`` ([ETH] (3.62)-(3.65)).

    ``M a + C v + g = forces + J' multipliers`` with
    ``multipliers = -(J M^-1 J')^-1 (J M^-1 (forces - C v - g) + bias)``: forces on the robot, like those of contacts,
    so minus the ``F_c`` of [ETH] (3.62), which by (3.57) the robot exerts on its environment.

    Args:
        model: Robot.
        state: Configuration and velocity.
        forces: Generalised forces ``[base wrench; joint forces]``, ``nv`` (N, N m).
        jacobian: ``k x nv``: rows of the constraint.
        bias: ``dJ/dt v``, ``k``.

    Returns:
        Acceleration (nv) and multipliers (k).

    Raises:
        NumericsError: Rows of the constraint depend on each other.

    Example:
        >>> from fallingcat.model import robots
        >>> body = robots.free_body()
        >>> J = np.eye(6)[:3]  # hold the origin
        >>> held = constrained_forward_dynamics(body, body.neutral(), np.zeros(6), J, np.zeros(3))
        >>> bool(np.allclose(held.multipliers, [0.0, 0.0, 9.81 * body.mass]))
        True
    """
    check_robot(model, state)
    forces = vector(forces, model.nv, "forces")
    shape = shape_of(jacobian)
    if shape is None or len(shape) != 2 or shape[1] != model.nv:
        raise ModelError(f"jacobian must have shape (k, {model.nv}), got {shape or describe(jacobian)}")
    jacobian = numbers(np.asarray(jacobian) if isinstance(jacobian, (list, tuple)) else jacobian, shape, "jacobian")
    bias = vector(bias, len(jacobian), "bias")
    M = mass_matrix(model, state)
    free = forces - bias_forces(model, state)
    if not len(jacobian):
        return ConstrainedDynamicsResult(solve(M, free), bias)
    MinvJt = solve(M, jacobian.T)
    inertia = jacobian @ MinvJt  # the inverse of the inertia that the constraint feels
    check_rank(inertia, "constraint")
    multipliers = -solve(inertia, MinvJt.T @ free + bias)
    return ConstrainedDynamicsResult(solve(M, free) + MinvJt @ multipliers, multipliers)


def check_rank(inertia: Matrix, what: str) -> None:
    """Raise an error where the rows of ``J`` in ``J M^-1 J'`` depend on each other; numbers only."""
    if not is_numeric(inertia):
        return
    size = np.sqrt(np.diag(inertia))
    if not (size > ROW_ROUNDING).all():
        raise NumericsError(f"row {int(np.argmin(size))} of the {what} Jacobian is zero: it feels no motion")
    # unit diagonal: the rank must not depend on the units of the rows
    scaled = inertia / np.outer(size, size)
    low = float(np.linalg.eigvalsh(scaled)[0])
    if low < RANK_TOLERANCE:
        rank = int((np.linalg.eigvalsh(scaled) >= RANK_TOLERANCE).sum())
        raise NumericsError(
            f"the {len(inertia)} {what} rows depend on each other (rank {rank}): remove the redundant ones",
            value=low,
        )
