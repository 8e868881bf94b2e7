"""The mechanical connection and its curvature.

Everything comes from composite inertias in the frame that coincides with the base: ``s_i`` the axes, ``I_i`` the
inertia of all that axis i carries.  The curvature is the area that masses sweep: ``Mb DA(x, y) = S' [0; 2 sum m u_x x
u_y]`` over the points of the robot, where ``u_x``, ``u_y`` are their velocities when the shape moves along ``x``,
``y`` and the base follows without momentum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, concatenate, mirror, solve, stack
from ..arrays.types import Matrix, Matrix_m_n, Tensor, Tensor_m_n_n, Twist, Vector_m, Vector_n, Wrench
from ..dynamics import mass_matrix_derivative
from ..dynamics.checks import check_robot, check_state, vector
from ..dynamics.geometry import geometry, inertias, subtree_sums
from ..dynamics.spatial import RigidInertia
from ..dynamics.sweeps import last_carried
from ..errors import ModelError
from ..lie.rotations import skew
from ..model import Model, State
from ..progress import check_memory, warn_of_time
from .slice import curvature_slice


class Axis(NamedTuple):
    """Axis of a joint, of a follower too, in the frame that coincides with the base."""

    s: Twist
    """``6``: its twist per unit rate"""
    link: int
    """the link that it carries first"""
    last: int
    """the last link that it carries: links are numbered depth first"""
    subtree_inertia: RigidInertia
    """the inertia of everything that it carries"""
    momentum: Wrench
    """``6``: ``subtree_inertia @ s``"""

    def moves_link_of(self, other: Axis) -> bool:
        """True if moving this axis moves ``other``'s link."""
        return self.link <= other.link <= self.last


class Shape(NamedTuple):
    """Locked inertia and connection at a shape."""

    Mb: Matrix
    """``m x m``: locked inertia"""
    Mbq: Matrix
    """``m x n``: momentum of the base per joint rate"""
    A: Matrix
    """``m x n``: mechanical connection, ``Mb^-1 Mbq``"""
    axes: list[Axis]
    A_axes: Matrix
    """``m x axes``: the connection of each axis alone; ``A``, where no joint follows another"""
    rate_selection: np.ndarray
    """``axes x n``, of 0 and 1: which rate moves which axis"""
    total_inertia: RigidInertia
    """the whole robot, frozen"""


def shape(model: Model, state: State) -> Shape:
    """Locked inertia, connection and their ingredients at a state's shape."""
    check_floating(model)
    geo = geometry(model, state)
    total = subtree_sums(geo, inertias(model, geo))
    S = model.base.selection
    axes = []
    for k, last in enumerate(last_carried(geo.tree)[1:], 1):
        for c in range(geo.places.sizes[k]):
            s = geo.axes[k][:, c]
            axes.append(Axis(s, k, last, total[k], total[k] @ s))
    # sums of rigid inertias round differently above and below the diagonal
    Mb = mirror(S.T @ (total[0] @ S))
    Mbq = S.T @ stack([axis.momentum for axis in axes], axis=1) if axes else np.zeros((model.m, 0))
    A, T = solve(Mb, Mbq), geo.places.rate_selection[model.m :, model.m :]
    if len(axes) == model.n:
        return Shape(Mb, Mbq, A, axes, A, T, total[0])
    return Shape(Mb, Mbq @ T, A @ T, axes, A, T, total[0])


def check_floating(model: Model) -> None:
    """Refuse a base that cannot move."""
    if not model.m:
        raise ModelError(f"the base of {model.name!r} is fixed: there is no connection")


def connection(model: Model, state: State) -> Matrix_m_n:
    """Mechanical connection ``A = Mb^-1 Mbq``: with zero momentum, ``twist = -A rates`` ([Mishra] Def. 4).

    Args:
        model: Robot.
        state: Configuration; only the joints count.

    Returns:
        ``m x n`` matrix.

    Example:
        >>> from fallingcat.model import robots
        >>> cat = robots.two_cylinder_cat()
        >>> connection(cat, cat.neutral()).shape == (cat.m, cat.n)
        True
    """
    check_robot(model, state)
    return shape(model, state).A


def locked_velocity(model: Model, state: State) -> Twist:
    """Locked velocity ``mu = twist + A rates`` ([Feurstein] (3.66)).

    The base twist of the frozen robot with the same momentum.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        ``m`` (m/s, rad/s), body-fixed.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> bool(np.allclose(fc.locked_velocity(cat, state), fc.dynamics.average_velocity(cat, state)))
        True
    """
    check_state(model, state)
    return state.twist + connection(model, state) @ state.rates


def connection_derivative(model: Model, state: State) -> Matrix_m_n:
    """Time derivative of the connection along the joint rates, ``dA/dt = Mb^-1 (dMbq/dt - dMb/dt A)``.

    Args:
        model: Robot.
        state: Joints and their rates count.

    Returns:
        ``m x n`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> bool((fc.formulations.connection_derivative(cat, cat.neutral()) == 0.0).all())  # at rest
        True
    """
    check_robot(model, state)
    return connection_rate(model, state, shape(model, state))


def connection_rate(model: Model, state: State, parts: Shape) -> Matrix:
    """Time derivative ``dA/dt`` from the rate of the mass matrix."""
    m = model.m
    Mdot = mass_matrix_derivative(model, state)
    return solve(parts.Mb, Mdot[:m, m:] - Mdot[:m, :m] @ parts.A)


@argument_sizes(x="n", y="n")
def curvature(
    model: Model, state: State, x: Vector_n | None = None, y: Vector_n | None = None
) -> Vector_m | Tensor_m_n_n:
    """Curvature of the mechanical connection ([Mishra] Theorem 2, Def. 5; [Feurstein] (3.72): the same tensor).

    ``DA(x, y) = (d_x A) y - (d_y A) x - ad(A x) A y`` for two shape directions, in O(n); without them the whole tensor
    ``F[:, i, j] = DA(e_i, e_j)`` in O(n^2).  On joints of several degrees of freedom ``- A [x, y]`` joins it, with the
    bracket of the joints' own groups.  A small closed gait around the area ``x ^ y`` moves the robot by ``-DA(x, y)``
    to leading order.

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        x: First direction of the shape, ``n``.
        y: Second direction, ``n``.

    Returns:
        ``DA(x, y)`` (m), or the tensor (m x n x n) where ``x`` and ``y`` are left out.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> F, x = fc.curvature(cat, state), np.eye(cat.n)
        >>> bool(np.allclose(F[:, 0, 1], fc.curvature(cat, state, x[0], x[1])))
        True
    """
    check_robot(model, state)
    if (x is None) != (y is None):
        raise ModelError("curvature takes two shape directions, or none")
    if x is not None:
        return curvature_slice(model, state, vector(x, model.n, "x"), vector(y, model.n, "y"))
    effort = f"the curvature of {model.name!r}", "give two directions, or lock joints (model.lock)"
    check_memory(effort[0], 340.0 * model.n**2, effort[1])  # bytes of a pair of axes, and below s
    warn_of_time(effort[0], 3e-6 * model.n**2, effort[1])
    return curvature_tensor(model, shape(model, state))


def curvature_tensor(model: Model, parts: Shape) -> Tensor:
    """Curvature ``F[:, i, j]`` (m x n x n), skew in i and j: swept areas of all pairs of axes."""
    m, n = model.m, len(parts.axes)
    S = model.base.selection
    follow = [S @ parts.A_axes[:, i] for i in range(n)]  # how the base follows axis i, against its motion
    moved = [_area_matrix(axis.subtree_inertia, axis.s, axis.momentum) for axis in parts.axes]
    base = [
        _area_matrix(parts.total_inertia, a, parts.total_inertia @ a) - W for a, W in zip(follow, moved, strict=True)
    ]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if not pairs:
        return np.zeros((m, model.n, model.n))
    areas = []
    for i, j in pairs:
        by_i = follow[i] - parts.axes[i].s if parts.axes[i].moves_link_of(parts.axes[j]) else follow[i]
        by_j = base[i] @ follow[j]
        if parts.axes[j].moves_link_of(parts.axes[i]) and parts.axes[i].link != parts.axes[j].link:
            by_j = by_j + moved[i] @ parts.axes[j].s
        areas.append(by_j + moved[j] @ by_i)
    # all right sides at once: Mb is factored once
    lifted = solve(parts.Mb, S[3:].T @ (2.0 * stack(areas, axis=1)))
    entries = {pair: lifted[:, p] for p, pair in enumerate(pairs)}
    zero = np.zeros(m)
    rows = [
        stack([entries[i, j] if i < j else -entries[j, i] if j < i else zero for j in range(n)], axis=1)
        for i in range(n)
    ]
    F = stack(rows, axis=1)
    return F if n == model.n else stack([parts.rate_selection.T @ F[i] @ parts.rate_selection for i in range(m)])


def _area_matrix(inertia: RigidInertia, s: Twist, momentum: Wrench) -> Matrix:
    """``3 x 6``: takes a twist ``t`` to ``sum m u_s x u_t`` over the points of a body; ``[[p], J [w] - [v] [h]]``."""
    v, w = skew(s[:3]), skew(s[3:])
    return concatenate([skew(momentum[:3]), inertia.second_moment @ w - v @ skew(inertia.moment)], axis=1)
