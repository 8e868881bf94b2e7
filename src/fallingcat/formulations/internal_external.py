"""Internal and external velocities of a link ([Feurstein] 3.3.4): the generalized Jacobian of space robots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric, solve
from ..arrays.types import Matrix, Matrix_m_n
from ..dynamics import jacobian, jacobian_derivative, mass_matrix, mass_matrix_derivative
from ..dynamics.checks import check_robot, choice, numbers
from ..errors import ModelError, NumericsError
from ..model import Model, State
from ..model.literals import WEIGHTS, Place, Weight, place_name
from .center_frames import Orientation, axes_of, check_orientation, frame_matrices, from_base
from .connection import Shape, connection_rate, shape
from .decoupling import DECOUPLING_CHECKS
from .velocity_change import VelocityChange, upper


def internal_jacobian(model: Model, state: State, link: Place) -> Matrix_m_n:
    """Generalized Jacobian of space robots, ``J_int = J_q - A_jb A`` ([Feurstein] (3.96)).

    The twist of ``link`` per joint rate when the momentum is zero; body-fixed, in the algebra of the base's group.

    Args:
        model: Robot.
        state: Configuration; only the joints count.
        link: Link or frame: its name, or a :class:`Frame`.

    Returns:
        ``m x n`` matrix.

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.orbital_arm()
        >>> fc.formulations.internal_jacobian(arm, arm.neutral(), arm.link_names[-1]).shape == (arm.m, arm.n)
        True
    """
    check_robot(model, state)
    return _internal(model, state, link, shape(model, state))


def internal_external(
    model: Model,
    state: State,
    link: Place,
    weight: Weight = "inertia",
    null_space: Matrix | None = None,
    orientation: Orientation = "world",
) -> VelocityChange:
    """Change to ``[external; internal; null space]`` velocities, [Feurstein] (3.96).

    The external velocity is the locked one at the center of mass (m), the internal one that of ``link`` (m), and the
    null space what is left of the joint rates (n - m): ``T = [[A_cb, A_cb A], [0, J_int], [0, K]]``.

    With more joints than ``m`` the joints also move in the null space of ``J_int``: ``rates = J# v_int + N v_null``,
    where ``J_int N = 0``.  ``null_space`` is the constant ``Z`` (n x (n - m)) that counts these motions, ``Z' N = 1``,
    so ``K = Z' (1 - J# J_int)``.  If left out, ``Z`` selects the joints that move most in the null space at random
    shapes: ``v_null`` is what they do beyond the internal motion, and depends smoothly on the state.

    ``weight`` chooses ``J#``: ``inertia`` is dynamically consistent, all three blocks of the mass matrix decouple;
    ``moore_penrose`` moves with the smallest rates, and internal and null space stay coupled.  ``orientation`` gives
    the frame at the center of mass other axes than the world's, as in :func:`fallingcat.changes.centroidal`.

    Args:
        model: Robot.
        state: Configuration and velocity.
        link: Link or frame: its name, or a :class:`Frame`.
        weight: ``inertia`` or ``moore_penrose``.
        null_space: ``Z``, n x (n - m); None: chosen at random shapes.
        orientation: Axes of the frame at the center of mass, as in :func:`fallingcat.changes.centroidal`.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> arm = fc.robots.orbital_arm()
        >>> state = arm.random_state(np.random.default_rng(0))
        >>> eom = fc.equations(arm, state).change(fc.changes.internal_external(arm, state, arm.link_names[-1]))
        >>> eom.M.shape, bool(abs(eom.M[:12, 12:]).max() < 1e-12)
        ((13, 13), True)
    """
    check_robot(model, state)
    choice(weight, WEIGHTS, "weight")
    check_orientation(model, state, orientation)
    m, n = model.m, model.n
    if n < m:
        raise ModelError(
            f"the internal velocity of a link has {m} components: {n} joint degrees of freedom are too few"
        )
    Z = _free_joints(model, link) if null_space is None else _check_null_space(null_space, (n, n - m))

    def split_at(state: State, parts: Shape) -> JointRateSplit:
        W = np.eye(n) if weight == "moore_penrose" else reduced_shape_inertia(model, state, parts)
        return _split_joint_rates(_internal(model, state, link, parts), W, Z, link)

    def matrix(at: State) -> Matrix:
        parts = shape(model, at)
        X, Y = from_base(model, at, "centroidal", orientation), split_at(at, parts).Y
        return upper(X, X, X @ parts.A, Y, Y)[0]

    parts = shape(model, state)
    joints = split_at(state, parts)
    X, X_inverse, X_dot = frame_matrices(model, state, "centroidal", orientation)
    A_dot = connection_rate(model, state, parts)
    J_dot = _internal_rate(model, state, link, parts, A_dot)
    W_dot = np.zeros((n, n)) if weight == "moore_penrose" else _shape_inertia_rate(model, state, parts)
    top = concatenate([X_dot, X_dot @ parts.A + X @ A_dot], axis=1)
    T_dot = concatenate([top, concatenate([np.zeros((n, m)), joints.rate(J_dot, W_dot, Z)], axis=1)])
    inverse = upper(X, X_inverse, X @ parts.A, joints.Y, joints.inverse)[1]
    name = place_name(link)
    rest = f"internal velocity of {name}" + (f", {n - m} velocities in its null space" if n > m else "")
    external = "external velocity at the center of mass"
    external += "" if orientation == "world" else f", {axes_of(orientation)}"
    claims = (*DECOUPLING_CHECKS, "null space") if weight == "inertia" and n > m else DECOUPLING_CHECKS
    return VelocityChange.of(
        model, state, matrix, f"internal/external at {name}", external, rest, claims, T_dot, inverse
    )


class JointRateSplit(NamedTuple):
    """Split of joint rates into internal velocity and null space: ``Y = [J; K]``, ``Y^-1 = [J#, N]``.

    Orthogonal in ``W``.
    """

    J: Matrix
    K: Matrix
    """``K = Z' (1 - J# J) = (N' W N)^-1 N' W``"""
    right_inverse: Matrix
    """``J# = W^-1 J' (J W^-1 J')^-1``"""
    N: Matrix
    W: Matrix

    @property
    def Y(self) -> Matrix:
        """Matrix ``[J; K]`` (n x n)."""
        return concatenate([self.J, self.K])

    @property
    def inverse(self) -> Matrix:
        """Matrix ``[J#, N]`` (n x n)."""
        return concatenate([self.right_inverse, self.N], axis=1)

    def rate(self, J_dot: Matrix, W_dot: Matrix, Z: Matrix) -> Matrix:
        """Rate ``dY/dt``: ``dK/dt = (N' W N)^-1 N' (dW/dt - dJ'/dt J#' W) J# J - Z' J# dJ/dt N K``."""
        if not Z.shape[1]:
            return J_dot
        J, K, right, N, W = self
        bend = N.T @ (W_dot - J_dot.T @ right.T @ W) @ right @ J
        return concatenate([J_dot, solve(N.T @ W @ N, bend) - (Z.T @ right) @ (J_dot @ N) @ K])


def _split_joint_rates(J: Matrix, W: Matrix, Z: Matrix, link: Place) -> JointRateSplit:
    """Any inverse ``[B, N]`` of ``[J; Z']`` holds a right inverse ``B`` and the null space; ``J# = B - N c``."""
    m = len(J)
    _check_rank(J, f"the internal Jacobian of {place_name(link)!r} has lost rank: a dynamic singularity")
    if not Z.shape[1]:
        return JointRateSplit(J, Z.T, _inverse(J), Z, W)
    counted = concatenate([J, Z.T])
    _check_rank(
        counted, f"null_space misses motions in the null space of {place_name(link)!r} at this shape: choose another"
    )
    both = _inverse(counted)
    B, N = both[:, :m], both[:, m:]
    c = solve(N.T @ W @ N, N.T @ W @ B)
    return JointRateSplit(J, Z.T + c @ J, B - N @ c, N, W)


def _free_joints(model: Model, link: Place) -> np.ndarray:
    """``Z`` (n x (n - m)): unit vectors of the joints that move most in the null space, on average of random shapes."""
    one, rng = np.eye(model.n), np.random.default_rng(0)
    moved, chosen = np.zeros_like(one), []
    for _ in range(8 if model.n > model.m else 0):
        J = internal_jacobian(model, model.random_state(rng), link)
        if not is_numeric(J):
            raise ModelError(f"{model.name!r} holds symbols: say with null_space how to count its redundant joints")
        moved = moved + one - np.linalg.pinv(J) @ J
    for _ in range(model.n - model.m):  # a pivoted Cholesky factorization: each joint for what the others leave
        chosen.append(int(np.argmax(np.diag(moved))))
        column = moved[:, chosen[-1]]
        moved = moved - np.outer(column, column) / column[chosen[-1]]
    return one[:, sorted(chosen)]


def _check_null_space(null_space: Matrix, wanted: tuple[int, int]) -> Matrix:
    return numbers(null_space, wanted, "null_space")


def reduced_shape_inertia(model: Model, state: State, parts: Shape) -> Matrix:
    """Reduced shape inertia ``Lq = Mqq - A' Mb A`` (n x n) of the joints at constant momentum ([Mishra] (19a))."""
    m = model.m
    return mass_matrix(model, state)[m:, m:] - parts.A.T @ parts.Mbq


def _shape_inertia_rate(model: Model, state: State, parts: Shape) -> Matrix:
    """``dLq/dt = [-A; 1]' dM/dt [-A; 1]``: the rate of ``A`` drops out, ``[-A; 1]`` has no momentum."""
    still = concatenate([-parts.A, np.eye(model.n)])
    return still.T @ mass_matrix_derivative(model, state) @ still


def _internal(model: Model, state: State, link: Place, parts: Shape) -> Matrix:
    J = model.base.coselection @ jacobian(model, state, link)
    return J[:, model.m :] - J[:, : model.m] @ parts.A


def _internal_rate(model: Model, state: State, link: Place, parts: Shape, A_dot: Matrix) -> Matrix:
    C, m = model.base.coselection, model.m
    J, J_dot = C @ jacobian(model, state, link), C @ jacobian_derivative(model, state, link)
    return J_dot[:, m:] - J_dot[:, :m] @ parts.A - J[:, :m] @ A_dot


def _inverse(R: Matrix) -> Matrix:
    """``R^-1 = R' (R R')^-1``: safe without looking at values; a step of Newton's method mends what squaring costs."""
    one = np.eye(len(R))
    first = R.T @ solve(R @ R.T, one)
    # one step of Newton-Schulz for the right inverse: R R' squares the condition number, this wins the digits back
    return first @ (2.0 * one - R @ first)


def _check_rank(R: Matrix, lost: str) -> None:
    if is_numeric(R) and np.isrealobj(R) and not np.linalg.cond(R) < 1e8:
        raise NumericsError(lost, value=float(np.linalg.cond(R)))
