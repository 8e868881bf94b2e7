"""The same robot with another base frame, without another model ([Traversaro] 4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric, solve
from ..arrays.types import Matrix, Pose, Vector
from ..dynamics import jacobian, jacobian_derivative, link_pose
from ..dynamics.checks import check_robot, choice, vector
from ..errors import ModelError
from ..lie import SE3
from ..lie.rotations import homogeneous, skew
from ..model import Model, State
from ..model.words import REPRESENTATIONS, Factorization, Place, Representation, place_name
from .equations import EquationsOfMotion, VelocityChange, equations, upper
from .representations import base_matrices


def base_at(
    model: Model, state: State, link: Place, orientation: Place | None = None, representation: Representation = "body"
) -> VelocityChange:
    """Another base: the velocity of ``link`` (or frame) in place of the base's ([Traversaro] Lemma 3, (17)-(18)).

    ``T = [[J_link], [0 1]]``.  With ``orientation`` the new base frame has the origin of ``link`` and the axes of
    another link ((25)-(28)).  ``representation``: ``body``, ``mixed`` or ``inertial``, as for the base itself.
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


class FixedAt(NamedTuple):
    """Joint-space equations of a robot that is held at a link: ``M ddq + C dq + g = tau`` ([Traversaro] Lemma 5, (46)).

    ``M``, ``C`` are n x n, ``g`` n.  :meth:`wrench` gives the wrench that holds the link (48).
    """

    M: Matrix
    C: Matrix
    g: Vector
    whole: EquationsOfMotion
    """The equations with the link as base, of which these are the joint rows."""

    def forward(self, torques: Vector) -> Vector:
        """The joint accelerations (n) under joint ``torques`` (n)."""
        rates = self.whole.v[self.whole.m :]
        return solve(self.M, vector(torques, len(self.g), "torques") - self.C @ rates - self.g)

    def wrench(self, torques: Vector) -> Vector:
        """The wrench (m) on the held link, in its frame, that keeps it at rest under joint ``torques`` ((48))."""
        m = self.whole.m
        v = concatenate([np.zeros(m), self.whole.v[m:]])
        a = self.forward(torques)
        return self.whole.M[:m, m:] @ a + self.whole.C[:m] @ v + self.whole.g[:m]


def fixed_at(model: Model, state: State, link: Place, factorization: Factorization = "christoffel") -> FixedAt:
    """The robot held at ``link`` ([Traversaro] Lemma 5, (46)-(48)): the base moves so that the link does not.

    The twist of ``state`` is not used: it is what the joint rates and the held link make it.
    """
    check_robot(model, state)
    m = model.m
    J = model.base.coselection @ jacobian(model, state, link)
    twist = -solve(J[:, :m], J[:, m:] @ state.rates) if m else state.twist
    held = State(state.pose, state.joints, twist, state.rates)
    whole = equations(model, held, factorization).change(base_at(model, held, link))
    return FixedAt(whole.M[m:, m:], whole.C[m:, m:], whole.g[m:], whole)


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


def _check_moves_in_group(model: Model, J: Any, link: Place) -> None:
    """The twist of the new base must lie in the base group, whatever the joints do."""
    S = model.base.selection
    if is_numeric(J) and np.abs(J - S @ (model.base.coselection @ J)).max(initial=0.0) > 1e-9:
        raise ModelError(f"{place_name(link)!r} does not move in the base group {model.base}: it cannot be the base")
