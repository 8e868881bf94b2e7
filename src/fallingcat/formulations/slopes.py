"""Derivatives along the shape: of the locked inertia, of the connection, and of the forces of the REL equations.

[Mishra] Lemmas 6-8 and (80), for any argument, and what (29) begins: the Coriolis forces of Theorem 1, linearised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import argument_sizes, block, concatenate, mirror, stack
from ..arrays.types import (
    FloatArray,
    Matrix,
    Matrix_m_m,
    Matrix_m_n,
    Tensor_m_n_n,
    Twist,
    Vector_m,
    Vector_n,
)
from ..dynamics import coriolis_matrix
from ..dynamics.checks import check_robot, check_state, vector
from ..errors import ModelError
from ..lie import SE3
from ..model import Model, State
from ..records import concise
from .connection import Axis, curvature, curvature_tensor, shape
from .reduced import reduced_equations

_SE3 = SE3()


@argument_sizes(x="n")
def locked_inertia_rate(model: Model, state: State, x: Vector_n) -> Matrix_m_m:
    """Rate of the locked inertia along a shape velocity, ``P(q, x) = dMb/dt``: [Mishra] Lemma 6, (15).

    Symmetric, linear in ``x``; ``P(x) y = S(y) x`` (27).

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        x: Velocity of the shape, ``n`` (rad/s, m/s).

    Returns:
        ``m x m`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> bool(np.allclose(locked_inertia_rate(cat, state, state.rates), fc.reduced_equations(cat, state).P))
        True
    """
    check_state(model, state)
    x = vector(x, model.n, "x")
    parts = shape(model, state)
    rates = parts.rate_selection @ x
    rows = [_slope(axis, model.base.selection) * rates[i] for i, axis in enumerate(parts.axes)]
    return mirror(sum(rows[1:], start=rows[0])) if rows else np.zeros((model.m, model.m))


@argument_sizes(y="m")
def locked_inertia_slope(model: Model, state: State, y: Twist) -> Matrix_m_n:
    """Derivative of the locked inertia times a velocity, ``S(q, y)``: [Mishra] Lemma 7, (16), (76).

    Column i is ``(dMb/dq_i) y``.  ``d(y' Mb z)/dq = S(y)' z`` for any ``z``, and ``S(y)' z = S(z)' y`` (27).

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        y: Locked velocity, ``m`` (m/s, rad/s).

    Returns:
        ``m x n`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> rel = fc.reduced_equations(cat, state := cat.random_state(np.random.default_rng(0)))
        >>> bool(np.allclose(locked_inertia_slope(cat, state, rel.mu), rel.S))
        True
    """
    check_state(model, state)
    y = vector(y, model.m, "y")
    parts = shape(model, state)
    columns = [_slope(axis, model.base.selection) @ y for axis in parts.axes]
    return stack(columns, axis=1) @ parts.rate_selection if columns else np.zeros((model.m, 0))


@argument_sizes(x="n", y="n")
def connection_exterior(
    model: Model, state: State, x: Vector_n | None = None, y: Vector_n | None = None
) -> Vector_m | Tensor_m_n_n:
    """Exterior derivative of the connection, ``dA(x, y) = (d_x A) y - (d_y A) x``, [Mishra] (80).

    The curvature without the bracket of the base: ``dA(x, y) = DA(x, y) + ad(A x) A y``.  On joints of several degrees
    of freedom ``-A [x, y]`` is part of it, as of the curvature.

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        x: First direction of the shape, ``n``.
        y: Second direction, ``n``.

    Returns:
        ``dA(x, y)`` (m), or the tensor (m x n x n) where ``x`` and ``y`` are left out.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.formulations.connection_exterior(cat, cat.neutral()).shape == (cat.m, cat.n, cat.n)
        True
    """
    check_robot(model, state)
    if (x is None) != (y is None):
        raise ModelError("connection_exterior takes two shape directions, or none")
    parts = shape(model, state)
    G, A = model.base, parts.A
    if x is not None and y is not None:
        x, y = vector(x, model.n, "x"), vector(y, model.n, "y")
        return curvature(model, state, x, y) + G.ad(A @ x) @ (A @ y)
    brackets = [G.ad(A[:, i]) @ A for i in range(model.n)]
    F = curvature_tensor(model, parts)
    return F + stack(brackets, axis=1) if brackets else F


@concise
class ReducedDerivatives(NamedTuple):
    """Derivatives of the Coriolis forces of Theorem 1 by ``xi = [mu; rates]`` (nv x nv each).

    ``Lambda dxi/dt + D_q(rates) xi = D_mu(mu) xi + forces - g``; the forces of either part are quadratic in ``xi``.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> fc.formulations.reduced_derivatives(cat, cat.neutral()).D_q.shape == (cat.nv, cat.nv)
        True
    """

    D_q: Matrix
    """``d(D_q xi)/dxi``"""
    D_mu: Matrix
    """``d(D_mu xi)/dxi``"""


def reduced_derivatives(model: Model, state: State) -> ReducedDerivatives:
    """Linearised Coriolis forces ``d(D_q xi)/dxi`` and ``d(D_mu xi)/dxi`` of [Mishra] Theorem 1 (Table I).

    With ``N = [-A; 1]`` and the christoffel matrix of the motion without momentum, ``d(Gamma rates)/drates = 2 N' C N -
    Lq [rates, .]``; the rest is (27) and ``adt(Mb y) w = ad(w)' Mb y``.

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Two ``nv x nv`` matrices.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> rel, found = fc.reduced_equations(cat, state), reduced_derivatives(cat, state)
        >>> bool(np.allclose(found.D_q @ rel.xi, 2.0 * rel.D_q @ rel.xi))  # quadratic forms: Euler's identity
        True
    """
    check_robot(model, state)
    rel = reduced_equations(model, state)
    G, m, n, A, Mb, mu, rates = model.base, model.m, model.n, rel.A, rel.Mb, rel.mu, rel.rates
    turn, drag = G.adt(Mb @ mu), G.ad(mu).T @ Mb
    N = concatenate([-A, np.eye(n)])
    still = state._replace(twist=-(A @ rates))
    C = coriolis_matrix(model, still, "christoffel")
    bracket = model.configuration.shape.ad(rates) if n else np.zeros((0, 0))
    shape_part = 2.0 * (N.T @ C @ N) - rel.Lq @ bracket
    D_q = block([[0.5 * rel.P, 0.5 * rel.S], [np.zeros((n, m)), shape_part]])
    F = curvature_tensor(model, shape(model, state))
    swept = stack([F[k].T @ rates for k in range(m)]) if n else np.zeros((m, 0))  # DA(rates, e_j)
    by_mu = drag + turn - 0.5 * rel.P - G.ad(A @ rates).T @ Mb
    side = 0.5 * rel.S + turn @ A
    D_mu = block([[by_mu, -side], [rel.S.T - A.T @ (turn + drag) - (Mb @ swept).T, -rel.B]])
    return ReducedDerivatives(D_q, D_mu)


def _slope(axis: Axis, S: FloatArray) -> Matrix:
    """``dMb/dq_i = -S' (ad(s)' I + I ad(s)) S`` (m x m) of one axis: all that it carries turns about it."""
    half = S.T @ (axis.subtree_inertia @ (_SE3.ad(axis.s) @ S))
    return -(half + half.T)
