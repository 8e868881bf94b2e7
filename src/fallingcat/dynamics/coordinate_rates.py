"""Rates of coordinates and quasi-velocities: ``u = E_fb dq/dt``, [ETH] (2.261)-(2.262)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import concatenate, scale, stack
from ..arrays.differentiate import derivative
from ..arrays.types import Matrix, Matrix_k_nv, Rotation, Vector
from ..errors import ModelError, describe
from ..lie import SE3, SO3, Group
from ..lie.charts import RotationChart
from ..lie.rotations import block_diagonal
from ..model import Model, State
from ..records import concise
from .checks import check_state


@concise
class FloatingBaseMap(NamedTuple):
    """Map of coordinate rates to quasi-velocities, ``u = E dq/dt``, and its right inverse, ``dq/dt = inverse u``.

    ``u = [velocity of the base along the world's axes; its angular velocity, body-fixed; joint rates]`` (nv) as in
    :func:`fallingcat.changes.world_linear`.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> E, inverse = fc.dynamics.floating_base_map(cat, cat.neutral())  # a quaternion, so one coordinate more
        >>> E.shape, inverse.shape
        ((16, 17), (17, 16))
    """

    E: Matrix
    """``nv x k``"""
    inverse: Matrix_k_nv
    """``k x nv``: the right inverse whose rates keep what ties coordinates, such as quaternions of length 1"""


def floating_base_map(model: Model, state: State, rotation: RotationChart | None = None) -> FloatingBaseMap:
    """Map ``E_fb`` from rates of coordinates to quasi-velocities, [ETH] (2.262).

    Coordinates are ``q = [coordinates of the base; coordinates of the joints]``.  The base of SE(3) has its position
    and the parameters of ``rotation`` as coordinates, that of SO(3) the parameters; without a chart, and on other
    bases, they are those of :meth:`Model.flatten` (a quaternion ``xyzw``).

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        rotation: Chart of the rotation of the base; None: coordinates of :meth:`Model.flatten`.

    Returns:
        ``E`` (nv x k) and its right inverse (k x nv), for ``k`` coordinates.

    Example:
        >>> from fallingcat.lie.charts import EulerZYX
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> E, inverse = floating_base_map(cat, cat.random_state(np.random.default_rng(0)), EulerZYX())
        >>> E.shape, bool(np.allclose(E @ inverse, np.eye(16)))
        ((16, 16), True)
    """
    check_state(model, state)
    G, R, shape = model.base, state.pose[:3, :3], model.configuration.shape
    E, inverse = of_coordinates(G, G.coordinates(state.pose)) if rotation is None else _of_chart(G, R, rotation)
    base = FloatingBaseMap(world_linear(G, R) @ E, inverse @ world_linear(G, R.T))
    q = shape.split_coordinates(state.joints)
    blocks = [base, *(of_coordinates(group, part) for group, part in zip(shape.factors, q, strict=True))]
    return FloatingBaseMap(*(_diagonal(list(parts)) for parts in zip(*blocks, strict=True)))


def of_coordinates(group: Group, q: Vector) -> FloatingBaseMap:
    """Map of coordinate rates to body-fixed velocities of ``element(q)`` (dim x nq), ``(g^-1 dg/dq_i)^v``."""
    if group.additive:
        return FloatingBaseMap(np.eye(group.dim), np.eye(group.dim))
    back = group.inverse(group.element(q))

    def column(e: np.ndarray) -> Vector:
        return derivative(lambda t: group.vee(back @ group.element(q + scale(t, e))), like=[q])

    E = stack([column(e) for e in np.eye(group.nq)], axis=1)
    return FloatingBaseMap(E, E.T * (1.0 / (E * E).sum(axis=1)))  # rows are orthogonal in the coordinates of each group


def world_linear(group: Group, R: Rotation) -> Matrix:
    """Matrix (m x m) that takes body-fixed twists to ``[R v; w]`` in the algebra of the group."""
    return group.coselection @ block_diagonal([R, np.eye(3)]) @ group.selection


def _of_chart(group: Group, R: Rotation, rotation: RotationChart | None) -> FloatingBaseMap:
    """Body-fixed twist per rates of position and chart, and back."""
    if not isinstance(rotation, RotationChart):
        raise ModelError(f"rotation is a chart of rotations of fallingcat.lie.charts, not {describe(rotation)}")
    if not isinstance(group, (SE3, SO3)):
        raise ModelError(f"a base {group} has no rotation to be written in chart {rotation.name}")
    x = rotation.from_matrix(R)
    turning = FloatingBaseMap(rotation.rate_matrix(x, "body"), rotation.rate_matrix_inverse(x, "body"))
    if isinstance(group, SO3):
        return turning
    return FloatingBaseMap(_diagonal([R.T, turning.E]), _diagonal([R, turning.inverse]))


def _diagonal(blocks: list[Matrix]) -> Matrix:
    """Blocks of any shape on the diagonal of a matrix."""
    width, height = sum(b.shape[1] for b in blocks), sum(b.shape[0] for b in blocks)
    rows, left = [np.zeros((0, width))], 0
    for b in blocks:
        sides = np.zeros((len(b), left)), np.zeros((len(b), width - left - b.shape[1]))
        rows.append(concatenate([sides[0], b, sides[1]], axis=1))
        left += b.shape[1]
    return concatenate(rows) if height else rows[0]
