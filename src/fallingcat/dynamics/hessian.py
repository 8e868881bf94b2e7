"""Derivatives of Jacobians by the configuration."""

from __future__ import annotations

import numpy as np

from ..arrays import concatenate, stack
from ..arrays.types import Matrix, Tensor_6_nv_nv
from ..lie import SE3
from ..lie.rotations import block_diagonal, skew
from ..model import Frame, Model, State
from ..model.literals import REPRESENTATIONS, Place, Representation
from .checks import check_robot, choice
from .geometry import Geometry, geometry
from .kinematics import place_frame
from .sweeps import ancestors

_SE3 = SE3()


def kinematic_hessian(
    model: Model, state: State, link: Place, representation: Representation = "body"
) -> Tensor_6_nv_nv:
    """Kinematic Hessian: ``H[:, k, i]`` is the derivative of column k of :func:`jacobian` along direction i.

    Directions are those of :func:`displace`, so ``dJ/dt = H @ v``.  Seen from the link, the axis ``J_k`` changes when a
    joint between the two moves: by ``[J_k, J_i]``; seen from the world, when a joint before it does, by ``[J_i, J_k]``.

    Args:
        model: Robot.
        state: Configuration; velocities are not used.
        link: Link or frame: its name, or a :class:`Frame`.
        representation: As in :func:`jacobian`.

    Returns:
        ``6 x nv x nv`` array.

    Example:
        >>> from fallingcat.dynamics import jacobian_derivative
        >>> from fallingcat.model import robots
        >>> cat = robots.cat()
        >>> state, paw = cat.random_state(np.random.default_rng(0)), cat.link_names[-1]
        >>> H = kinematic_hessian(cat, state, paw)
        >>> bool(np.allclose(H @ state.velocity, jacobian_derivative(cat, state, paw), atol=1e-12))
        True
    """
    check_robot(model, state)
    choice(representation, REPRESENTATIONS, "representation")
    geo, frame = geometry(model, state), place_frame(model, link)
    index, T = model.link_index(frame.link), geo.places.rate_selection
    H_bf = geo.poses[index] @ frame.placement
    # the axes of all joints, followers too
    J = _SE3.Ad(_SE3.inverse(H_bf)) @ concatenate(geo.mask_moving_joints(index, geo.axes), axis=1)
    own = _turning_axes(model, state, geo, frame)
    sizes = geo.places.sizes
    # columns of one joint do not move each other, whatever their order: brackets begin with the next joint
    ends = np.repeat(np.cumsum(sizes), sizes)  # for each column the first one of the next joint
    columns = []
    for k, end in enumerate(ends):
        bracket, v, w = _SE3.ad(J[:, k]), skew(J[:3, k]), skew(J[3:, k])
        before, behind = J[:, :end], J[:, end:]
        if representation == "inertial":
            H = concatenate([-(bracket @ before), np.zeros(behind.shape)], axis=1)
        else:
            H = concatenate([np.zeros(before.shape), bracket @ behind], axis=1)
        if representation == "mixed":
            H = H - concatenate([v @ J[3:], w @ J[3:]])
        columns.append(own[k] + H)
    R = (state.pose @ H_bf)[:3, :3]
    seen = {"body": np.eye(6), "mixed": block_diagonal([R, R]), "inertial": _SE3.Ad(state.pose @ H_bf)}[representation]
    if len(T) > model.nv:  # a follower moves with its leader, and its column is part of its leader's
        columns = [sum((columns[k] @ T for k in np.flatnonzero(of)), start=np.zeros((6, model.nv))) for of in T.T]
    return stack([seen @ H for H in columns], axis=1) if columns else np.zeros((6, 0, 0))


def _turning_axes(model: Model, state: State, geo: Geometry, frame: Frame) -> list[Matrix]:
    """Rotation of each axis by its own joint in the child (6 x all axes), as universal joints do."""
    sizes = geo.places.sizes
    own: list[Matrix] = [np.zeros((6, sum(sizes))) for _ in range(sum(sizes))]
    if all(joint.kind.fixed_axes for joint in model.joints):
        return own
    index, ends = model.link_index(frame.link), np.cumsum(sizes)
    for k in set(ancestors(geo.tree, index)) - {0}:
        joint, q, start = model.joints[k - 1], state.joints[model.q_slices[k - 1]], int(ends[k - 1])
        X = _SE3.Ad(_SE3.inverse(geo.poses[index] @ frame.placement) @ geo.poses[k])
        turned = [X @ joint.motion_subspace_derivative(q, unit) for unit in np.eye(joint.kind.nv)]
        before, after = (np.zeros((6, n)) for n in (start, sum(sizes[k + 1 :])))
        for c in range(0 if joint.kind.fixed_axes else joint.kind.nv):
            columns = stack([rate[:, c] for rate in turned], axis=1)
            own[start + c] = concatenate([before, columns, after], axis=1)
    return own
