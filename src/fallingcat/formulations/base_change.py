"""Change of the base frame of a robot, without another model ([Traversaro] 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric, solve
from ..arrays.types import Matrix, Matrix_6_n, Matrix_n_n, Pose, Vector, Vector_m, Vector_n, Vector_nv, Wrench
from ..dynamics import jacobian, jacobian_derivative, link_pose
from ..dynamics.checks import check_robot, choice, vector
from ..dynamics.wrenches import in_link_frames
from ..errors import ModelError
from ..lie import SE3
from ..lie.rotations import block_diagonal, homogeneous, skew
from ..model import Model, State
from ..model.literals import REPRESENTATIONS, Factorization, Place, Representation, place_name
from ..records import concise
from .equations import EquationsOfMotion, equations
from .representations import base_matrices
from .velocity_change import VelocityChange, upper


def base_at(
    model: Model, state: State, link: Place, orientation: Place | None = None, representation: Representation = "body"
) -> VelocityChange:
    """Change of the base: the velocity of a link or frame in place of the base's ([Traversaro] Lemma 3, (17)-(18)).

    ``T = [[J_link], [0 1]]``.  With ``orientation`` the new base frame has the origin of ``link`` and the axes of
    another link ((25)-(28)).

    Args:
        model: Robot.
        state: Configuration and velocity.
        link: Link or frame that becomes the base.
        orientation: Link or frame whose axes the new base has; None: those of ``link``.
        representation: ``body``, ``mixed`` or ``inertial``, as for the base itself.

    Returns:
        Change of velocity (nv x nv).

    Example:
        >>> import fallingcat as fc
        >>> cat = fc.robots.cat()
        >>> state, paw = cat.random_state(np.random.default_rng(0)), cat.link_names[-1]
        >>> eom = fc.equations(cat, state).change(fc.changes.base_at(cat, state, paw))
        >>> bool(np.allclose(eom.v[:6], fc.link_twist(cat, state, paw)))
        True
    """
    check_robot(model, state)
    choice(representation, REPRESENTATIONS, "representation")
    G, m, one = model.base, model.m, np.eye(model.n)

    def matrix(at: State) -> Matrix:
        X, _, _ = base_matrices(G, representation, _pose(model, at, link, orientation), at.twist)
        J, _ = _jacobians(model, at, link, orientation)
        return concatenate([X @ (G.coselection @ J), concatenate([np.zeros((model.n, m)), one], axis=1)])

    J, J_dot = _jacobians(model, state, link, orientation)
    _check_moves_in_group(model, J, link)
    JG, JG_dot = G.coselection @ J, G.coselection @ J_dot
    pose = _pose(model, state, link, orientation)
    X, X_inverse, X_dot = base_matrices(G, representation, pose, JG @ state.velocity)
    T_dot = concatenate([X_dot @ JG + X @ JG_dot, np.zeros((model.n, model.nv))])
    back = G.coselection @ SE3().Ad(SE3().inverse(state.pose) @ pose) @ G.selection
    _, inverse = upper(X, back @ X_inverse, X @ JG[:, m:], one, one)
    label = place_name(link) if orientation is None else f"{place_name(link)}[{place_name(orientation)}]"
    return VelocityChange.of(
        model, state, matrix, f"base at {label}", f"{representation} velocity of {label}", T_dot=T_dot, inverse=inverse
    )


@concise
class FixedAt(NamedTuple):
    """Joint-space equations of a robot that is held at a link: ``M ddq + C dq + g = tau + external``.

    [Traversaro] Lemma 5, (46)-(48).  :meth:`wrench` gives the wrench that holds the link.

    Example:
        >>> import fallingcat as fc
        >>> walker = fc.robots.humanoid()
        >>> stands = fc.formulations.fixed_at(walker, walker.neutral(), "left_sole")
        >>> bool(np.allclose(stands.forward(stands.g), 0.0, atol=1e-9))  # at rest under its own weight
        True
    """

    M: Matrix_n_n
    """``n x n``: mass matrix of the joints"""
    C: Matrix_n_n
    """``n x n``: Coriolis matrix"""
    g: Vector_n
    """``n``: gravity forces (N m, N)"""
    whole: EquationsOfMotion
    """The equations with the link as base, of which these are the joint rows."""
    forces: Vector_nv
    """``nv``: the given wrenches as forces on ``whole.v``; zero if none were given"""
    link: Place
    """link or frame that is held"""

    @property
    def external(self) -> Vector_n:
        """Joint forces of the given wrenches, ``sum J^fixed' f`` (n; N m, N), the right of (46)."""
        return self.forces[self.whole.m :]

    def forward(self, torques: Vector_n) -> Vector_n:
        """Joint accelerations under joint torques and the given wrenches.

        Args:
            torques: ``n`` (N m, N).

        Returns:
            ``n`` (rad/s^2, m/s^2).
        """
        rates = self.whole.v[self.whole.m :]
        tau = vector(torques, len(self.g), "torques")
        return solve(self.M, tau + self.external - self.C @ rates - self.g)

    def jacobian(self, link: Place, representation: Representation = "body") -> Matrix_6_n:
        """Jacobian ``J^fixed`` of another link or frame while this one is held, (47e).

        Args:
            link: Link or frame: its name, or a :class:`Frame`.
            representation: ``body`` (the frame's origin and axes), ``mixed`` (its origin, the world's axes) or
                ``inertial`` (the world's origin and axes).

        Returns:
            ``6 x n`` matrix.
        """
        J = jacobian(self.whole.model, self.whole.state, link, representation)
        return self.whole.changes.jacobian(J)[:, self.whole.m :]

    def wrench(self, torques: Vector_n, representation: Representation = "body", axes: Place | None = None) -> Vector_m:
        """Wrench on the held link that keeps it at rest, (48).

        Args:
            torques: Joint torques, ``n`` (N m, N).
            representation: About the link's origin along its own axes (``body``) or the world's (``mixed``:
                [Traversaro]'s ``F[A]``), or about the world's origin (``inertial``).
            axes: Link or frame along whose axes the wrench about the link's origin is written, instead.

        Returns:
            ``[f; t]``, ``m`` (N, N m).
        """
        whole, m = self.whole, self.whole.m
        choice(representation, REPRESENTATIONS, "representation")
        v = concatenate([np.zeros(m), whole.v[m:]])
        a = self.forward(torques)
        held = whole.M[:m, m:] @ a + whole.C[:m] @ v + whole.g[:m] - self.forces[:m]
        G, H = whole.model.base, link_pose(whole.model, whole.state, self.link)
        if axes is not None:
            R = link_pose(whole.model, whole.state, axes)[:3, :3].T @ H[:3, :3]
            return G.coselection @ block_diagonal([R, R]) @ G.selection @ held
        # a wrench is moved by the inverse transpose of what moves the twist
        return base_matrices(G, representation, H, np.zeros(m))[1].T @ held


def fixed_at(
    model: Model,
    state: State,
    link: Place,
    factorization: Factorization = "christoffel",
    wrenches: Mapping[str, Wrench] | None = None,
    representation: Representation = "body",
) -> FixedAt:
    """Joint-space equations of the robot held at a link ([Traversaro] Lemma 5, (46)-(48)).

    The base moves so that the link does not: the twist of ``state`` is not used.

    Args:
        model: Robot.
        state: Configuration and joint rates.
        link: Link or frame that is held.
        factorization: Coriolis matrix: one of :data:`FACTORIZATIONS`.
        wrenches: Wrenches ``[f; t]`` (N, N m) by link or frame, which act beside the one that holds the link.
        representation: Axes and point of these wrenches: ``body``, ``mixed`` or ``inertial``.

    Returns:
        Equations of the joints (n).

    Example:
        >>> import fallingcat as fc
        >>> walker = fc.robots.humanoid()
        >>> stands = fc.formulations.fixed_at(walker, walker.neutral(), "left_sole")
        >>> held = stands.wrench(stands.g, "mixed")  # torques that carry the weight
        >>> bool(np.allclose(held[:3], [0.0, 0.0, 9.81 * walker.mass]))
        True
    """
    check_robot(model, state)
    m = model.m
    J = model.base.coselection @ jacobian(model, state, link)
    twist = -solve(J[:, :m], J[:, m:] @ state.rates) if m else state.twist
    held = State(state.pose, state.joints, twist, state.rates)
    whole = equations(model, held, factorization).change(base_at(model, held, link))
    forces = whole.changes.forces(_generalized_forces(model, held, wrenches, representation))
    return FixedAt(whole.M[m:, m:], whole.C[m:, m:], whole.g[m:], whole, forces, link)


def _generalized_forces(
    model: Model, state: State, wrenches: Mapping[str, Wrench] | None, representation: Representation
) -> Vector:
    """``sum J' f`` (nv)."""
    forces = np.zeros(model.nv)
    for index, wrench in in_link_frames(model, state, wrenches, representation):
        forces = forces + jacobian(model, state, model.link_names[index]).T @ wrench
    return forces


def _pose(model: Model, state: State, link: Place, orientation: Place | None) -> Pose:
    H = link_pose(model, state, link)
    if orientation is None:
        return H
    return homogeneous(link_pose(model, state, orientation)[:3, :3], H[:3, 3])


def _jacobians(model: Model, state: State, link: Place, orientation: Place | None) -> tuple[Matrix, Matrix]:
    """Body Jacobian of the new base frame and its rate."""
    if orientation is None:
        return jacobian(model, state, link), jacobian_derivative(model, state, link)
    R = link_pose(model, state, orientation)[:3, :3]
    turn, turn_dot = jacobian(model, state, orientation), jacobian_derivative(model, state, orientation)
    J, J_dot = jacobian(model, state, link, "mixed"), jacobian_derivative(model, state, link, "mixed")
    W = skew(turn[3:] @ state.velocity)
    linear = R.T @ J[:3]
    return concatenate([linear, turn[3:]]), concatenate([R.T @ J_dot[:3] - W @ linear, turn_dot[3:]])


def _check_moves_in_group(model: Model, J: Matrix, link: Place) -> None:
    """Raise an error unless the twist of the new base lies in the base group, whatever the joints do."""
    S = model.base.selection
    # S coselection projects on the group: what is left over are motions that the base cannot make
    if is_numeric(J) and np.abs(J - S @ (model.base.coselection @ J)).max(initial=0.0) > 1e-9:
        raise ModelError(f"{place_name(link)!r} does not move in the base group {model.base}: it cannot be the base")
