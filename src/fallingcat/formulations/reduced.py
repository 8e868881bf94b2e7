"""The reduced Euler-Lagrange (REL) equations ([Mishra] Theorem 1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, solve, stack
from ..dynamics import coriolis_matrix, gravity_forces, mass_matrix
from ..dynamics.checks import vector
from ..dynamics.spatial import RigidInertia
from ..dynamics.sweeps import mirror
from ..lie.rotations import block_diagonal
from ..model import Model, State
from .connection import Shape, curvature_forces, shape


class ReducedEquations(NamedTuple):
    """``Lambda dxi/dt + D_q xi = D_mu xi + forces - g``, with ``xi = [mu; rates]`` ([Mishra] (18)-(20)).

    ``D_q`` depends on the joint rates alone and ``Lambda' = D_q + D_q'``; ``D_mu`` depends on the locked velocity
    alone and is skew.  Base quantities live in the algebra of the base's group (m), body-fixed.
    """

    Mb: Any
    """``m x m``: locked inertia"""
    Lq: Any
    """``n x n``: reduced shape inertia (19a)"""
    A: Any
    """``m x n``: mechanical connection"""
    mu: Any
    """``m``: locked velocity"""
    P: Any
    """``m x m``: rate of the locked inertia (19b), symmetric"""
    S: Any
    """``m x n``: derivative of the locked inertia along the shape, times ``mu`` (19c)"""
    Gamma: Any
    """``n x n``: reduced shape Coriolis matrix (19d); ``dLq/dt = Gamma + Gamma'``"""
    B: Any
    """``n x n``: curvature force matrix (19e), skew: ``B[j, i] = mu' Mb DA(e_i, e_j)``"""
    D_q: Any
    """``nv x nv``"""
    D_mu: Any
    """``nv x nv``, skew"""
    g: Any
    """``nv``: gravity forces on ``xi``"""
    xi: Any
    """``nv``: ``[mu; rates]``"""
    group: Any
    """the base's group"""

    @property
    def Lambda(self) -> Any:
        """``nv x nv``: block-diagonal inertia."""
        return block_diagonal([self.Mb, self.Lq])

    @property
    def rates(self) -> Any:
        """``n``: joint rates."""
        return self.xi[len(self.mu) :]

    def forces(self, forces: Any) -> Any:
        """Forces ``[F; tau]`` on ``[twist; rates]`` as forces on ``xi``: ``[F; tau - A' F]`` (18)."""
        m = len(self.mu)
        return concatenate([forces[:m], forces[m:] - self.A.T @ forces[:m]])

    def forward(self, forces: Any) -> Any:
        """``dxi/dt`` (nv) under forces ``[F; tau]`` on ``[twist; rates]``."""
        forces = vector(forces, len(self.xi), "forces")
        right = self.forces(forces) - self.g + (self.D_mu - self.D_q) @ self.xi
        m = len(self.mu)
        return concatenate([solve(self.Mb, right[:m]), solve(self.Lq, right[m:]) if len(right) > m else right[m:]])

    def linearized_coupling(self) -> Any:
        """``d(S(mu) rates) / dxi = [P(rates), S(mu)]`` (m x nv), [Mishra] (29)."""
        return concatenate([self.P, self.S], axis=1)

    def in_frame(self, g_1c: Any, V_1c: Any) -> ReducedEquations:
        """The same equations with the momentum in a frame at ``g_1c`` on the base, moving with ``V_1c`` (Properties
        4, 5).

        ``mu_c = Ad(g_1c)^-1 mu``; the shape dynamics stay as they are.
        """
        G = self.group
        X, Xi = G.Ad(g_1c), G.Ad(G.inverse(g_1c))
        Mb, A, mu = X.T @ self.Mb @ X, Xi @ self.A, Xi @ self.mu
        S = X.T @ self.S
        half_P = X.T @ (0.5 * self.P) @ X + Mb @ G.ad(V_1c)
        m = len(mu)
        turn = G.adt(Mb @ mu)
        D_mu = _coupling(turn, S, A, self.B)
        xi = concatenate([mu, self.rates])
        D_q = block_diagonal([half_P, self.Gamma])
        P = half_P + half_P.T
        g = concatenate([X.T @ self.g[:m], self.g[m:]])
        return self._replace(Mb=Mb, A=A, mu=mu, P=P, S=S, D_q=D_q, D_mu=D_mu, g=g, xi=xi)


def reduced_equations(model: Model, state: State) -> ReducedEquations:
    """The REL equations at a state, for any base group and joints of any group ([Mishra] Theorem 1).

    >>> import fallingcat as fc
    >>> cat = fc.robots.cat()
    >>> rel = fc.reduced_equations(cat, cat.random_state(np.random.default_rng(0)))
    >>> bool(np.allclose(rel.D_mu, -rel.D_mu.T, atol=1e-12))
    True
    """
    parts = shape(model, state)
    Mb, A = parts.Mb, parts.A
    m = model.m
    mu = state.twist + A @ state.rates
    rates_of_inertia = [axis.carried.rate(axis.s) for axis in parts.axes]  # dMb along each axis
    P = _sum_of(rates_of_inertia, state.rates, model)
    S = _columns([rate @ (model.base.selection @ mu) for rate in rates_of_inertia], model)
    B = curvature_forces(model, parts, mu)
    Gamma = _shape_coriolis(model, state, parts)
    M = mass_matrix(model, state)
    Lq = mirror(M[m:, m:] - A.T @ parts.Mbq)
    gravity = gravity_forces(model, state)
    D_mu = _coupling(model.base.adt(Mb @ mu), S, A, B)
    return ReducedEquations(
        Mb, Lq, A, mu, P, S, Gamma, B,
        block_diagonal([0.5 * P, Gamma]), D_mu,
        concatenate([gravity[:m], gravity[m:] - A.T @ gravity[:m]]),
        concatenate([mu, state.rates]), model.base,
    )  # fmt: skip


def _coupling(turn: Any, S: Any, A: Any, B: Any) -> Any:
    """``D_mu`` of (18): skew by its making."""
    side = 0.5 * S + turn @ A
    return concatenate([concatenate([turn, -side], axis=1), concatenate([side.T, -B], axis=1)])


def _sum_of(rates: list[RigidInertia], x: Any, model: Model) -> Any:
    """``sum_i rates[i] x_i`` (m x m)."""
    S = model.base.selection
    if not rates:
        return np.zeros((model.m, model.m))
    moment = stack([r.moment for r in rates], axis=1) @ x
    second = (stack([r.second.reshape(9) for r in rates], axis=1) @ x).reshape(3, 3)
    return mirror(S.T @ (RigidInertia(0.0, moment, second) @ S))


def _columns(columns: list[Any], model: Model) -> Any:
    return model.base.selection.T @ stack(columns, axis=1) if columns else np.zeros((model.m, 0))


def _shape_coriolis(model: Model, state: State, parts: Shape) -> Any:
    """``Gamma`` of (19d): the shape block of the coadjoint matrix when the momentum is zero."""
    m, A = model.m, parts.A
    still = state._replace(twist=-(A @ state.rates))
    C = coriolis_matrix(model, still, "coadjoint")
    return C[m:, m:] - C[m:, :m] @ A - A.T @ (C[:m, m:] - C[:m, :m] @ A)
