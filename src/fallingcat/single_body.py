"""One rigid body that moves in a group: ``M dv/dt + C(v) v = tau`` with ``C(v) = -adt(M v)``, [From].

The body-fixed velocity (m,) is an algebra vector of the group: its twist is ``S v`` (m/s, rad/s) with the selection
matrix ``S``, and the forces (m,) are the part ``S' wrench`` (N, N m) that does work on it.  Nothing depends on the
pose, so there is no chart and no singularity.  Every function takes every kind of number, and an
:class:`~fallingcat.lie.Algebra` in the place of a group: [From] section 5 holds on every Lie group.

:func:`boltzmann_hamel` are the equations in any quasi-velocity ``v = S(q) dq/dt``, of any system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .arrays import array, concatenate, is_numeric, scale, solve, stack
from .arrays.arguments import as_array, shape_of
from .arrays.differentiate import derivative
from .arrays.types import Matrix, Matrix_6_6, Matrix_m_m, Scalar, Tensor, Twist, Vector, Vector_m
from .dynamics.checks import numbers, vector
from .errors import ModelError, NumericsError, describe
from .lie import Algebra, Group, Product
from .records import concise

__all__ = [
    "BoltzmannHamel",
    "body_coriolis_matrix",
    "body_forces",
    "body_inertia",
    "boltzmann_hamel",
    "coriolis_from_series",
]


def body_inertia(group: Group, inertia: Matrix_6_6) -> Matrix_m_m:
    """Inertia matrix ``M = S' I S`` of a body in a group, [From] (60); it is constant.

    Args:
        group: Group of the body's motions.
        inertia: The body's ``6 x 6`` matrix in body-fixed axes, linear part first (kg, kg m, kg m^2):
            ``[[m 1, -m skew(c)], [m skew(c), I_o]]`` for a center of mass ``c`` and moments ``I_o`` about the origin.

    Returns:
        ``m x m`` matrix.

    Example:
        >>> from fallingcat.lie import Helical
        >>> body_inertia(Helical(pitch=0.5), np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.3]))  # 2 * 0.5**2 + 0.3
        array([[0.8]])
    """
    _check_group(group)
    if isinstance(group, Algebra):
        raise ModelError(f"a body has no inertia in {group}: give M (m x m) of the kinetic energy itself")
    if isinstance(group, Product):
        raise ModelError(f"{group} moves {len(group.factors)} bodies side by side: each factor has its own inertia")
    S = group.selection
    return S.T @ numbers(inertia, (6, 6), "inertia") @ S


def body_coriolis_matrix(group: Group | Algebra, M: Matrix_m_m, v: Twist) -> Matrix_m_m:
    """Coriolis matrix ``C(v) = -adt(M v)`` of a body, skew.

    [From] (74), (82), (68), (93) in our sign of ``adt``; ``C v = -ad(v)' M v``, and ``v' C v = 0``: no power.

    Args:
        group: Group of the body's motions, or its algebra.
        M: Inertia matrix, ``m x m``.
        v: Body-fixed velocity, ``m`` (m/s, rad/s).

    Returns:
        ``m x m`` matrix.

    Example:
        >>> from fallingcat.lie import SO3
        >>> body_coriolis_matrix(SO3(), np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]))
        array([[ 0.,  3., -2.],
               [-3.,  0.,  1.],
               [ 2., -1.,  0.]])
    """
    _check_group(group)
    m = group.dim
    return group.adt(-(numbers(M, (m, m), "M") @ vector(v, m, "v")))


def coriolis_from_series(group: Group | Algebra, momentum: Vector_m) -> Matrix_m_m:
    """Coriolis matrix as [From] (57) derives it: ``C_ij = sum_k (dS_ki/dphi_j - dS_kj/dphi_i) h_k`` at ``phi = 0``.

    ``S(phi) = dexp_right(phi) = 1 - ad(phi)/2 + ...`` (29) gives the body-fixed velocity ``v = S(phi) dphi/dt`` at the
    pose ``g exp(phi)``.  Only its linear part has a derivative at 0.

    Args:
        group: Group of the body's motions, or its algebra.
        momentum: ``h = M v``, ``m`` (N s, N m s).

    Returns:
        ``m x m`` matrix.

    Example:
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


def body_forces(group: Group | Algebra, M: Matrix_m_m, v: Twist, acceleration: Vector_m) -> Vector_m:
    """Forces of a motion, ``tau = M dv/dt - ad(v)' M v``: Newton-Euler, [From] (11), (107).

    Args:
        group: Group of the body's motions, or its algebra.
        M: Inertia matrix, ``m x m``.
        v: Body-fixed velocity, ``m`` (m/s, rad/s).
        acceleration: Time derivative of the components of ``v``, ``m`` (m/s^2, rad/s^2).

    Returns:
        Forces, ``m`` (N, N m).

    Example:
        >>> from fallingcat.lie import SO3
        >>> body_forces(SO3(), np.diag([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 1.0]), np.zeros(3))  # Euler's equations
        array([ 1., -2.,  1.])
    """
    _check_group(group)
    m = group.dim
    M, v = numbers(M, (m, m), "M"), vector(v, m, "v")
    return M @ vector(acceleration, m, "acceleration") - group.ad(v).T @ (M @ v)


@concise
class BoltzmannHamel(NamedTuple):
    """Equations ``M dv/dt + C v + g = forces`` in a quasi-velocity ``v = S(q) dq/dt``, [From] (26)-(27).

    Example:
        >>> eom = boltzmann_hamel(np.eye(2), np.diag([1.0, 2.0]), [0.0, 0.0], [1.0, 1.0])
        >>> eom.forward(eom.forces(np.array([3.0, 4.0])))
        array([3., 4.])
    """

    M: Matrix
    """``n x n``"""
    C: Matrix
    """``n x n``: ``sum_k gamma_k v_k M + dM/dt - (S^-T d(v' M v)/dq) / 2``"""
    g: Vector
    """``n``: ``S^-T dU/dq``"""
    gamma: Tensor
    """``n x n x n``: ``gamma[k]`` of (46), zero where ``v`` is the rate of coordinates"""
    v: Vector
    """``n``: quasi-velocity"""

    def forces(self, acceleration: Vector) -> Vector:
        """Forces that give an acceleration.

        Args:
            acceleration: ``dv/dt``, ``n``.

        Returns:
            Forces collocated with ``v``, ``n``.
        """
        return self.M @ vector(acceleration, len(self.v), "acceleration") + self.C @ self.v + self.g

    def forward(self, forces: Vector) -> Vector:
        """Acceleration under forces.

        Args:
            forces: Forces collocated with ``v``, ``n``.

        Returns:
            ``dv/dt``, ``n``.
        """
        return solve(self.M, vector(forces, len(self.v), "forces") - self.C @ self.v - self.g)


def boltzmann_hamel(
    S: Matrix | Callable[[Vector], Matrix],
    M: Matrix | Callable[[Vector], Matrix],
    q: Vector,
    v: Vector,
    U: Callable[[Vector], Scalar] | None = None,
) -> BoltzmannHamel:
    """Boltzmann-Hamel equations at coordinates ``q`` and a quasi-velocity ``v = S(q) dq/dt``.

    [From] Proposition 2.1, (26)-(27), (46): ``d/dt(dL/dv) - S^-T dL/dq + sum_k (gamma_k v_k) dL/dv = tau`` with ``L =
    v' M v / 2 - U`` and ``(gamma_k)_ij = sum_lm S^-1_li (dS_jl/dq_m - dS_jm/dq_l) S^-1_mk``.  Functions compute with
    every kind of number; plain ones are differentiated by a complex step.

    Args:
        S: ``n x n`` matrix, or a function of ``q``.
        M: Inertia matrix ``n x n``, or a function of ``q``.
        q: Coordinates, ``n``.
        v: Quasi-velocity, ``n``.
        U: Potential energy (J) as a function of ``q``; None: zero.

    Returns:
        Matrices and vectors of the equations.

    Raises:
        NumericsError: ``S`` is singular, so that there is no quasi-velocity.

    Example:
        >>> from fallingcat.lie.charts import EulerZYX
        >>> turn = lambda q: EulerZYX().rate_matrix(q, "body")  # Euler angles to body-fixed angular velocity
        >>> q, v = np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, 1.0])
        >>> found = boltzmann_hamel(turn, np.diag([1.0, 2.0, 3.0]), q, v)
        >>> (found.C @ found.v).round(12)  # Euler's equations: w x I w, without a trace of the angles
        array([ 1., -2.,  1.])
    """
    shape = shape_of(q)
    if shape is None or len(shape) != 1 or not shape[0]:
        raise ModelError(f"q is a vector of coordinates, not {describe(q)}")
    q, n = as_array(q, shape, "q"), shape[0]
    v = vector(v, n, "v")
    matrix, inertia = _function_of(S, n, "S"), _function_of(M, n, "M")
    now, mass = matrix(q), inertia(q)
    if is_numeric(now) and np.isrealobj(now) and n and not np.linalg.cond(now) < 1e12:
        raise NumericsError("S is singular here: the quasi-velocity misses a motion", value=float(np.linalg.cond(now)))
    T = solve(now, np.eye(n))  # dq = T v
    quasi = [
        _directional_derivative(matrix, q, T[:, k]) @ T for k in range(n)
    ]  # derivatives of S along the k-th quasi-velocity, times T
    gamma = [stack([quasi[k][:, i] - quasi[i][:, k] for i in range(n)]) for k in range(n)]
    bend = sum((scale(v[k], gamma[k]) for k in range(1, n)), start=scale(v[0], gamma[0]))
    moved = [_directional_derivative(inertia, q, T[:, k]) for k in range(n)]
    M_dot = sum((scale(v[k], moved[k]) for k in range(1, n)), start=scale(v[0], moved[0]))
    C = bend @ mass + M_dot - 0.5 * stack([dM @ v for dM in moved])
    g = np.zeros(n) if U is None else _slope_of(U, q, T)
    return BoltzmannHamel(mass, C, g, stack(gamma), v)


def _function_of(X: Any, n: int, what: str) -> Callable[[Vector], Any]:
    """``X`` as a function of ``q`` with values of the right shape."""
    if callable(X):
        return lambda q: numbers(X(q), (n, n), f"{what}(q)")
    constant = numbers(X, (n, n), what)
    return lambda q: constant


def _directional_derivative(function: Callable[[Vector], Any], q: Vector, direction: Vector) -> Any:
    return derivative(lambda t: function(q + scale(t, direction)), like=[q, direction])


def _slope_of(U: Callable[[Vector], Any], q: Vector, T: Matrix) -> Vector:
    if not callable(U):
        raise ModelError(f"U is a function of q (J), not {describe(U)}")
    value = U(q)
    if is_numeric(value) and not np.isfinite(value):
        raise NumericsError("U is not finite here", value=float(np.real(value)))

    def along(direction: Vector) -> Any:
        return derivative(lambda t: array([U(q + scale(t, direction))]), like=[q, direction])

    return concatenate([along(T[:, k]) for k in range(len(q))])


def _check_group(group: Any) -> None:
    if not isinstance(group, (Group, Algebra)):
        raise ModelError(f"the first argument is a group or algebra of fallingcat.lie, not {describe(group)}")
