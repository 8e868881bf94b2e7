"""One rigid body that moves in a group: ``M dv/dt + C(v) v = tau`` with ``C(v) = -adt(M v)``, [From].

The body-fixed velocity (m,) is an algebra vector of the group: its twist is ``S v`` (m/s, rad/s) with the selection
matrix ``S``, and the forces (m,) are the part ``S' wrench`` (N, N m) that does work on it.  Nothing depends on the
pose, so there is no chart and no singularity.  Every function takes every kind of number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays.types import Matrix, Twist, Vector
from .dynamics.checks import numbers, vector
from .errors import ModelError, told
from .lie import Group, Product

__all__ = [
    "body_coriolis_matrix",
    "body_forces",
    "body_inertia",
    "coriolis_from_series",
]


def body_inertia(group: Group, inertia: Matrix) -> Matrix:
    """The constant ``m x m`` inertia matrix ``M = S' I S`` of a body in ``group``, [From] (60).

    ``inertia`` is the body's 6 x 6 matrix in body-fixed axes, linear part first (kg, kg m, kg m^2):
    ``[[m 1, -m skew(c)], [m skew(c), I_o]]`` for a center of mass ``c`` and moments ``I_o`` about the origin.

    >>> from fallingcat.lie import Helical
    >>> body_inertia(Helical(pitch=0.5), np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.3]))  # 2 * 0.5**2 + 0.3
    array([[0.8]])
    """
    _check_group(group)
    if isinstance(group, Product):
        raise ModelError(f"{group} moves {len(group.factors)} bodies side by side: each factor has its own inertia")
    S = group.selection
    return S.T @ numbers(inertia, (6, 6), "inertia") @ S


def body_coriolis_matrix(group: Group, M: Matrix, v: Twist) -> Matrix:
    """The Coriolis matrix ``C(v) = -adt(M v)``, ``m x m`` and skew, of a body with inertia ``M`` and velocity ``v``.

    [From] (74), (82), (68), (93) in our sign of ``adt``; ``C v = -ad(v)' M v``, and ``v' C v = 0``: no power.

    >>> from fallingcat.lie import SO3
    >>> body_coriolis_matrix(SO3(), np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
    array([[ 0.,  3., -2.],
           [-3.,  0.,  1.],
           [ 2., -1.,  0.]])
    """
    _check_group(group)
    m = group.dim
    return group.adt(-(numbers(M, (m, m), "M") @ vector(v, m, "v")))


def coriolis_from_series(group: Group, momentum: Vector) -> Matrix:
    """The same matrix as [From] derives it: ``C_ij = sum_k (dS_ki/dphi_j - dS_kj/dphi_i) h_k`` at ``phi = 0``, (57).

    ``momentum`` is ``h = M v`` (m,), and ``S(phi) = dexp_right(phi) = 1 - ad(phi)/2 + ...`` (29) gives the body-fixed
    velocity ``v = S(phi) dphi/dt`` at the pose ``g exp(phi)``.  Only its linear part has a derivative at 0.

    >>> from fallingcat.lie import SE2
    >>> h = np.array([1.0, 2.0, 3.0])
    >>> bool((coriolis_from_series(SE2(), h) == -SE2().adt(h)).all())
    True
    """
    _check_group(group)
    m = group.dim
    momentum = vector(momentum, m, "momentum")
    # derivative[j, k, i] = dS_ki/dphi_j
    derivative = np.reshape([-0.5 * group.ad(direction) for direction in np.eye(m)], (m, m, m))
    half = derivative.transpose(2, 0, 1) @ momentum
    return half - half.T


def body_forces(group: Group, M: Matrix, v: Twist, acceleration: Vector) -> Vector:
    """The forces ``tau = M dv/dt - ad(v)' M v`` (m,) of a motion: Newton-Euler, [From] (11), (107).

    ``acceleration`` (m,) is the time derivative of the components of the body-fixed velocity ``v`` (m/s^2, rad/s^2).

    >>> from fallingcat.lie import SO3
    >>> body_forces(SO3(), np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), np.zeros(3))  # Euler's equations
    array([ 1., -2.,  1.])
    """
    _check_group(group)
    m = group.dim
    M, v = numbers(M, (m, m), "M"), vector(v, m, "v")
    return M @ vector(acceleration, m, "acceleration") - group.ad(v).T @ (M @ v)


def _check_group(group: Any) -> None:
    if not isinstance(group, Group):
        raise ModelError(f"the first argument is a group of fallingcat.lie, not {told(group)}")
