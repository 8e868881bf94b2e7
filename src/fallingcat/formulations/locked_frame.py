"""Frame of the locked velocity, and the condition under which it exists: the connection is integrable."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import is_numeric, numbers_only
from ..arrays.arguments import as_array
from ..arrays.types import Pose, Scalar, Tensor_m_n_n, Vector, Vector_n
from ..dynamics.checks import check_model, check_robot, positive, vector
from ..errors import ModelError, NumericsError, describe
from ..lie import SE2
from ..lie.magnus import NODES, step_logarithm
from ..model import Model, State
from ..records import concise
from .connection import check_floating, connection, curvature_tensor, shape


@concise
class Integrability(NamedTuple):
    """Result of the integrability condition: is the locked velocity that of a frame that depends on the shape alone?

    [Feurstein] (3.72).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.formulations.integrability(cat, cat.neutral()).curvature.shape == (cat.m, cat.n, cat.n)
        True
    """

    residual: float
    """largest curvature entry, relative to the connection's size squared (or 1)"""
    integrable: bool
    """True if the residual is within the tolerance"""
    curvature: Tensor_m_n_n
    """``m x n x n``"""


@numbers_only("it compares the curvature with a tolerance; curvature can be compiled")
def integrability(model: Model, state: State, tolerance: float = 1e-9) -> Integrability:
    """Integrability condition [Feurstein] (3.72) at a shape: the curvature vanishes.

    With one joint of one degree of freedom it always does, and on a base R^3 too.

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        tolerance: Largest relative residual that counts as zero.

    Returns:
        Residual, verdict and curvature.

    Example:
        >>> import fallingcat as fc
        >>> hopper, cat = fc.robots.revolute_hopper(), fc.robots.cat()
        >>> [fc.formulations.integrability(robot, robot.neutral()).integrable for robot in (hopper, cat)]
        [True, False]
    """
    check_robot(model, state)
    positive(tolerance, "tolerance")
    parts = shape(model, state)
    F = curvature_tensor(model, parts)
    scale = max(1.0, float(np.abs(parts.A).max(initial=0.0)) ** 2)
    residual = float(np.abs(F).max(initial=0.0)) / scale
    return Integrability(residual, residual <= tolerance, F)


def locked_angle(model: Model, joints: Vector, reference: Vector_n | None = None, tolerance: float = 1e-9) -> Scalar:
    """Angle of the locked-velocity frame relative to the base of a planar robot.

    [Feurstein]'s ``theta_bc``, (3.76): ``theta_bc(q) - theta_bc(reference) = integral of A_w dq`` along the straight
    line between the shapes; refused where it depends on the path, see :func:`check_locked_angle`.

    Args:
        model: Robot with a planar base.
        joints: Shape, flat coordinates (rad, m).
        reference: Joint coordinates (n) at which the angle is zero; None: the neutral one.
        tolerance: Largest relative curvature that counts as zero.

    Returns:
        Angle (rad).

    Raises:
        NumericsError: The angle depends on the path.

    Example:
        >>> import fallingcat as fc
        >>> bool(fc.formulations.locked_angle(fc.robots.revolute_hopper(), [0.0]) == 0.0)
        True
    """
    check_model(model)
    check_locked_angle(model, tolerance)
    end = vector(joints, model.n, "joints")
    start = np.zeros(model.n) if reference is None else vector(reference, model.n, "reference")
    nodes, weights = np.polynomial.legendre.leggauss(48)
    total: Scalar = 0.0
    for s, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        A = connection(model, model.state(joints=start + s * (end - start)))
        total = total + weight * (A[2] @ (end - start))
    return total


def locked_frame(
    model: Model,
    joints: Vector,
    reference: Vector_n | None = None,
    start: Pose | None = None,
    steps: int = 32,
    tolerance: float = 1e-9,
) -> Pose:
    """Frame that moves with the locked velocity, seen from the base, where it is integrable.

    [Feurstein] (3.70)-(3.71): ``dH_bc/dt H_bc^-1 = hat(A rates)`` from ``start`` at the shape ``reference`` to
    ``joints``, by Magnus' series of order 6.  Any base and joints; refused where the curvature is not zero, because
    there it depends on the path (:func:`fallingcat.planning.locked_frame_along` follows one).  A frame that starts at
    the center of mass stays there.

    Args:
        model: Robot.
        joints: Shape, flat coordinates (rad, m).
        reference: Joint coordinates (n) to start from; None: the neutral one.
        start: ``H_bc`` there (4 x 4); None: the identity.
        steps: Steps of the series.
        tolerance: Largest relative curvature that counts as zero.

    Returns:
        ``H_bc`` (4 x 4).

    Raises:
        NumericsError: The frame depends on the path.

    Example:
        >>> from fallingcat.model import robots
        >>> hopper = robots.revolute_hopper()
        >>> H = locked_frame(hopper, [0.5])
        >>> bool(np.isclose(np.arctan2(H[1, 0], H[0, 0]), locked_angle(hopper, [0.5])))
        True
    """
    check_model(model)
    check_floating(model)
    check_integrable(model, tolerance)
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ModelError(f"steps is a whole number above zero, not {describe(steps)}")
    G, shapes, size = model.base, model.configuration.shape, model.nq - model.base.nq
    end = vector(joints, size, "joints")
    first = model.neutral().joints if reference is None else vector(reference, size, "reference")
    H = np.eye(4) if start is None else as_array(start, (4, 4), "start")
    x = shapes.between(first, end)

    def slope(s: float) -> Vector:
        """``-A x / steps``: its reconstruction is ``H_bc^-1``."""
        return -(connection(model, model.state(joints=shapes.moved(first, s * x))) @ x) * (1.0 / steps)

    back: Pose = np.eye(4)
    for i in range(steps):
        back = back @ G.exp(step_logarithm(lambda a, b: G.ad(a) @ b, *(slope((i + c) / steps) for c in NODES)))
    return G.inverse(back) @ H


def check_integrable(model: Model, tolerance: float = 1e-9) -> None:
    """Refuse robots on which :func:`locked_frame` depends on the path: the curvature is not zero."""
    _check_flat(model, slice(None), tolerance, "the frame of the locked velocity")


def check_locked_angle(model: Model, tolerance: float = 1e-9) -> None:
    """Refuse robots on which :func:`locked_angle` depends on the path: the curvature's angular part is not zero.

    It is analytic in the shape, so if it vanishes at a few random shapes it does everywhere; whatever kind of number
    the angle is asked for, the model alone decides.
    """
    if not isinstance(model.base, SE2):
        raise ModelError(f"locked_angle is the angle of a planar robot, not of one with base {model.base}")
    _check_flat(model, slice(2, 3), tolerance, "the orientation of the locked velocity")


def _check_flat(model: Model, rows: slice, tolerance: float, what: str) -> None:
    positive(tolerance, "tolerance")
    rng = np.random.default_rng(0)
    for _ in range(3 if model.n > 1 else 0):
        parts = shape(model, model.random_state(rng))
        F = curvature_tensor(model, parts)[rows]
        if not is_numeric(F):
            raise ModelError(f"{model.name!r} holds symbols: whether {what} depends on the path is unknown")
        worst = float(np.abs(F).max())
        # the curvature is a difference of products of two entries of A: its rounding grows with their square
        if worst > tolerance * max(1.0, float(np.abs(parts.A).max()) ** 2):
            raise NumericsError(f"{what} depends on the path: the curvature is not zero", value=worst)
