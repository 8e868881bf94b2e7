"""The reduced Euler-Lagrange (REL) equations ([Mishra] Theorem 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import columns, concatenate, mirror, skew_mirror, solve, solve_tree, upper_triangle
from ..arrays.types import (
    Matrix,
    Matrix_m_m,
    Matrix_m_n,
    Matrix_m_nv,
    Matrix_n_n,
    Matrix_nv_nv,
    Pose,
    Twist,
    Vector_n,
    Vector_nv,
)
from ..dynamics import gravity_forces
from ..dynamics.checks import check_robot, vector
from ..dynamics.mass import composite_mass
from ..dynamics.rotors import with_rotor_coriolis
from ..lie import Group
from ..lie.rotations import block_diagonal
from ..model import Model, State
from ..progress import check_memory
from ..records import concise
from .branches import branches, frames
from .connection import check_floating


@concise
class ReducedEquations(NamedTuple):
    """Reduced Euler-Lagrange equations ``Lambda dxi/dt + D_q xi = D_mu xi + forces - g`` ([Mishra] (18)-(20)).

    ``xi = [mu; rates]``.  ``D_q`` depends on the joint rates alone and ``Lambda' = D_q + D_q'``; ``D_mu`` depends on
    the locked velocity alone and is skew.  Base quantities live in the algebra of the base's group (m), body-fixed.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state = cat.random_state(np.random.default_rng(0))
        >>> rel = fc.reduced_equations(cat, state)
        >>> bool(np.allclose(rel.forward(fc.bias_forces(cat, state))[6:], 0.0, atol=1e-9))  # no joint acceleration
        True
    """

    Mb: Matrix_m_m
    """``m x m``: locked inertia"""
    Lq: Matrix_n_n
    """``n x n``: reduced shape inertia (19a)"""
    A: Matrix_m_n
    """``m x n``: mechanical connection"""
    mu: Twist
    """``m``: locked velocity"""
    P: Matrix_m_m
    """``m x m``: rate of the locked inertia along the shape (19b), symmetric; ``P mu = S rates``"""
    S: Matrix_m_n
    """``m x n``: derivative of the locked inertia along the shape, times ``mu`` (19c)"""
    Gamma: Matrix_n_n
    """``n x n``: reduced shape Coriolis matrix (19d); ``dLq/dt = Gamma + Gamma'``"""
    B: Matrix_n_n
    """``n x n``: curvature force matrix (19e), skew: ``B[j, i] = mu' Mb DA(e_i, e_j)``"""
    D_q: Matrix_nv_nv
    """``nv x nv``"""
    D_mu: Matrix_nv_nv
    """``nv x nv``, skew"""
    g: Vector_nv
    """``nv``: gravity forces on ``xi``"""
    xi: Vector_nv
    """``nv``: ``[mu; rates]``"""
    group: Group
    """the base's group"""

    @property
    def Lambda(self) -> Matrix_nv_nv:
        """Block-diagonal inertia (nv x nv)."""
        return block_diagonal([self.Mb, self.Lq])

    @property
    def rates(self) -> Vector_n:
        """Joint rates (n; rad/s, m/s)."""
        return self.xi[len(self.mu) :]

    def forces(self, forces: Vector_nv) -> Vector_nv:
        """Forces on ``xi``, ``[F; tau - A' F]`` (18).

        Args:
            forces: ``[F; tau]`` on ``[twist; rates]``, ``nv`` (N, N m).

        Returns:
            ``nv`` (N, N m).
        """
        m, forces = len(self.mu), vector(forces, len(self.xi), "forces")
        return concatenate([forces[:m], forces[m:] - self.A.T @ forces[:m]])

    def forward(self, forces: Vector_nv) -> Vector_nv:
        """Acceleration ``dxi/dt`` under forces.

        Args:
            forces: ``[F; tau]`` on ``[twist; rates]``, ``nv`` (N, N m).

        Returns:
            ``nv`` (m/s^2, rad/s^2).
        """
        right = self.forces(forces) - self.g + (self.D_mu - self.D_q) @ self.xi
        m = len(self.mu)
        return concatenate([solve(self.Mb, right[:m]), solve(self.Lq, right[m:]) if len(right) > m else right[m:]])

    def linearized_coupling(self) -> Matrix_m_nv:
        """Derivative of the coupling, ``d(S(mu) rates) / dxi = [P(rates), S(mu)]``, [Mishra] (29).

        Returns:
            ``m x nv`` matrix.
        """
        return concatenate([self.P, self.S], axis=1)

    def in_frame(self, g_1c: Pose, V_1c: Twist) -> ReducedEquations:
        """Equations with the momentum in a frame that moves on the base (Properties 4, 5).

        ``mu_c = Ad(g_1c)^-1 mu``, and forces on the base are those in that frame, ``Ad(g_1c)' F``; the shape dynamics
        stay as they are.  ``D_q`` has the frame's motion, ``dMb/dt = P + Mb ad(V_1c) + ad(V_1c)' Mb``; ``P`` has not.

        Args:
            g_1c: Pose of the frame on the base (4 x 4).
            V_1c: Its velocity relative to the base, ``m``, body-fixed.

        Returns:
            Equations with ``mu_c`` in the place of ``mu``.
        """
        G = self.group
        X, Xi = G.Ad(g_1c), G.Ad(G.inverse(g_1c))
        Mb, A, mu = X.T @ self.Mb @ X, Xi @ self.A, Xi @ self.mu
        S = X.T @ self.S
        m = len(mu)
        half_P = X.T @ self.D_q[:m, :m] @ X + Mb @ G.ad(V_1c)
        turn = G.adt(Mb @ mu)
        D_mu = _momentum_coupling(turn, S, A, self.B)
        xi = concatenate([mu, self.rates])
        D_q = block_diagonal([half_P, self.Gamma])
        P = X.T @ self.P @ X
        g = concatenate([X.T @ self.g[:m], self.g[m:]])
        return self._replace(Mb=Mb, A=A, mu=mu, P=P, S=S, D_q=D_q, D_mu=D_mu, g=g, xi=xi)


def reduced_equations(model: Model, state: State) -> ReducedEquations:
    """Reduced Euler-Lagrange equations at a state, for any base group and joints of any group ([Mishra] Theorem 1).

    Args:
        model: Robot.
        state: Configuration and velocity.

    Returns:
        Matrices and vectors of the equations.

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> rel = fc.reduced_equations(cat, cat.random_state(np.random.default_rng(0)))
        >>> bool(np.allclose(rel.D_mu, -rel.D_mu.T, atol=1e-12))
        True
    """
    check_robot(model, state)
    check_floating(model)
    check_memory(f"the reduced equations of {model.name!r}", 84.0 * model.nv**2, "lock joints (model.lock)")
    m, S6 = model.m, model.base.selection
    seen = frames(model, state)
    M = composite_mass(model, seen.tree, seen.link_inertias)
    Mb, Mbq = M[:m, :m], M[:m, m:]
    A = solve_tree(Mb[::-1, ::-1], Mbq[::-1], range(-1, m - 1))[::-1]  # translations first: their block is diagonal
    follow = A @ state.rates  # the base follows with minus this when there is no momentum
    mu = state.twist + follow
    still = -(S6 @ follow)
    tree = branches(model, seen, still, (S6 @ mu)[3:])
    swirl, turn = S6.T @ tree.swirl @ S6, model.base.adt(Mb @ mu)
    # what branches share goes through the base: the zeros of the tree, plus products with the connection
    Lq = mirror(columns(lambda x, y: x - A.T @ y, M[m:, m:], Mbq))
    left = (S6.T @ tree.base_columns).T
    C = with_rotor_coriolis(model, tree.C, state.rates, "coadjoint")
    Gamma = columns(lambda C, a, right: C - left @ a - A.T @ (right + swirl @ a), C, A, S6.T @ tree.base_rows)
    # mirrored, so that P is symmetric to the bit: its skew part would pass for work
    P = mirror(-(swirl + swirl.T))
    ad, rows = model.base.ad(mu), S6.T @ tree.rows
    S = rows + ad.T @ Mbq
    whole = Mb @ ad
    B = _curvature_forces(model, M, A, tree.areas, rows, whole - whole.T - turn)
    gravity = gravity_forces(model, state)
    return ReducedEquations(
        Mb, Lq, A, mu, P, S, Gamma, B,
        block_diagonal([0.5 * P, Gamma]), _momentum_coupling(turn, S, A, B),
        concatenate([gravity[:m], gravity[m:] - A.T @ gravity[:m]]),
        concatenate([mu, state.rates]), model.base,
    )  # fmt: skip


def _momentum_coupling(turn: Matrix, S: Matrix, A: Matrix, B: Matrix) -> Matrix:
    """``D_mu`` of (18): skew by its making."""
    side = 0.5 * S + turn @ A
    return concatenate([concatenate([turn, -side], axis=1), concatenate([side.T, -B], axis=1)])


def _curvature_forces(model: Model, M: Matrix, A: Matrix, areas: Matrix, rows: Matrix, whole: Matrix) -> Matrix:
    """Curvature forces ``B = areas + rows' A - A' rows + A' whole A`` (19e), skew.

    The areas that pairs of axes, an axis and the base, and the whole robot with the base sweep along the axis of
    ``mu``.

    Where the base can both move and turn, its translations (t) are taken with the velocity ``c`` that an axis gives to
    the center of mass, and its rotations (r) about that center: no area mixes them, and
    ``B = areas + rows_t' c + y' A_r - A_r' y``, 9 products for an entry on SE(3) instead of 12.
    """
    turns = model.base.selection[3:].any(axis=0)
    t, r = np.flatnonzero(~turns), np.flatnonzero(turns)
    if not len(t) or not len(r):
        # half of the skew term on each side: B is skew by its making, and two products with A are saved
        y = rows - 0.5 * (whole @ A)
        return skew_mirror(areas + y.T @ A - A.T @ y)
    mass = M[np.ix_(t, t)]
    # rotations about the center of mass: there translations and rotations decouple, and mass is all that is divided by
    center = solve(mass, M[np.ix_(t, r)])
    mixed = whole[np.ix_(r, t)] @ center
    about = skew_mirror(whole[np.ix_(r, r)] - mixed + mixed.T + center.T @ whole[np.ix_(t, t)] @ center)
    y = rows[r] - center.T @ rows[t] - 0.5 * about @ A[r]
    lift, turned, follow = rows[t].T, y.T, A[r].T
    parts = (upper_triangle(areas), M[t, model.m :], A[r], y)
    return skew_mirror(columns(lambda area, x, a, y: area + lift @ solve(mass, x) + turned @ a - follow @ y, *parts))
