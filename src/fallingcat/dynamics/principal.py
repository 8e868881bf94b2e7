"""Principal axes of the frozen robot, for every kind of number."""

from __future__ import annotations

import numpy as np

from ..arrays import arctan2, cross, less, scale, where
from ..arrays.types import Matrix, Rotation
from ..lie.rotations import about, skew
from ..model import Model, State
from .checks import check_dynamic, check_state
from .momentum import locked_inertia

JACOBI_SWEEPS = 5
"""Number of sweeps of Jacobi rotations: off-diagonal entries converge quadratically, five leave rounding only."""


def principal_axes(model: Model, state: State) -> Rotation:
    """Principal axes of the robot, frozen in its shape, about its center of mass.

    The columns are those near the base's own axes, by Jacobi's rotations of at most 45 degrees each: they move smoothly
    with the shape until two moments of inertia cross, and where moments are equal they stay with the base.  In them the
    locked inertia is diagonal, ``R' I R = diag``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.

    Returns:
        ``R_bc`` (3 x 3), whose columns are the axes in the base.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))._replace(pose=np.eye(4))
        >>> R = principal_axes(cat, state)
        >>> inertia = R.T @ locked_inertia(cat, state, "centroidal")[3:, 3:] @ R
        >>> bool(abs(inertia - np.diag(np.diag(inertia))).max() < 1e-15)
        True
    """
    check_state(model, state)
    check_dynamic(model)
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    return jacobi(locked_inertia(model, still, "centroidal")[3:, 3:])


def virtual_chassis(model: Model, state: State) -> Rotation:
    """Base axes, turned the shortest way onto the principal axis that stands out: ``R_bc`` (3 x 3).

    A cat's long axis ([Mishra] V-B): the axis of least or largest moment, whichever is further from the others at the
    neutral shape, where the nearest axis of the base is chosen.  The two other axes are not followed: where their
    moments cross, principal axes jump, and these do not.
    """
    check_state(model, state)
    check_dynamic(model)
    rank, nearest = standing_out(model)
    still = State(np.eye(4), state.joints, state.twist, state.rates)
    inertia = locked_inertia(model, still, "centroidal")[3:, 3:]
    R = jacobi(inertia)
    moments = R.T @ inertia @ R
    axis, best = R[:, 0], moments[0, 0]
    for k in (1, 2):
        better = less(moments[k, k], best) if rank == 0 else less(best, moments[k, k])
        axis, best = where(better, R[:, k], axis), where(better, moments[k, k], best)
    axis = where(less(axis[nearest], 0.0), -axis, axis)
    K = skew(cross(np.eye(3)[nearest], axis))
    return np.eye(3) + K + scale(1.0 / (1.0 + axis[nearest]), K @ K)  # Rodrigues' formula for the shortest turn


def standing_out(model: Model) -> tuple[int, int]:
    """Principal axis that is followed, of least (0) or largest moment (2), and the nearest axis of the base.

    Both at the neutral configuration.

    Example:
        >>> from fallingcat.model import robots
        >>> standing_out(robots.cat())
        (0, 0)
    """
    moments, axes = np.linalg.eigh(np.asarray(locked_inertia(model, model.neutral(), "centroidal"))[3:, 3:])
    rank = 0 if moments[1] - moments[0] > moments[2] - moments[1] else 2
    return rank, int(np.argmax(np.abs(axes[:, rank])))


def jacobi(A: Matrix) -> Rotation:
    """Rotation ``R`` (3 x 3) with ``R' A R`` diagonal, for a symmetric ``A``."""
    R: Rotation = np.eye(3)
    for _ in range(JACOBI_SWEEPS):
        for k, p, q in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            bend, apart = 2.0 * A[p, q], A[p, p] - A[q, q]
            # With these signs the angle stays within 45 degrees: axes keep their order, and where both numbers vanish
            # (equal moments) arctan2 gives no turn.
            turned = less(apart, 0.0)
            angle = 0.5 * arctan2(where(turned, -bend, bend), where(turned, -apart, apart))
            turn = about(tuple(np.eye(3)[k].tolist()), angle)
            R, A = R @ turn, turn.T @ A @ turn
    return R
