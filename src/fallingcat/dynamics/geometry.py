"""The robot in one frame: every axis, twist and inertia in the coordinates of the base, at one instant.

The frame does not move: it is the world-fixed frame that coincides with the base now.  In it the Jacobian of a link
has the same column for a joint as that of every other link behind the joint, so that sums over links become composite
inertias of subtrees.  Nothing depends on the pose of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import map_each
from ..arrays.types import Matrix, Pose, Twist
from ..lie import SE3
from ..model import Model, State
from .spatial import RigidInertia, rigid_inertias
from .sweeps import Factors, Node, Places, accumulate_inward, ancestors, nodes, propagate_outward

_SE3 = SE3()


class Geometry(NamedTuple):
    """The base is link 0, and its axes are the columns of its group's selection matrix."""

    tree: Sequence[Node]
    poses: list[Pose]
    """``H_bj``, 4x4, for each link."""
    axes: list[Matrix]
    """``s_j``, 6 x nv: the twist of link j relative to its parent is ``s_j @ rates``."""
    twists: list[Twist]
    """``nu_j``, 6: absolute twist of each link."""
    axes_dot: list[Matrix]
    """``ds_j/dt``, 6 x nv."""
    places: Places
    """indices of the axes in a quasi-velocity"""

    def mask_moving_joints(self, link: int, parts: Sequence[Matrix]) -> list[Matrix]:
        """Given part of every joint (6 x nv each), with zeros for those that do not move a link."""
        path = set(ancestors(self.tree, link))
        return [x if i in path else np.zeros(x.shape) for i, x in enumerate(parts)]


def geometry(model: Model, state: State) -> Geometry:
    """Joint axes and link twists in the frame that coincides with the base."""
    tree = nodes(model, state)
    poses = propagate_outward(tree, np.eye(4), lambda node, H: H @ node.H)
    moves = [_SE3.Ad(poses[node.link]) for node in tree]
    axes = [model.base.selection, *(X @ node.S for X, node in zip(moves, tree, strict=True))]
    speeds = [state.twist, *(node.rates for node in tree)]
    twists = propagate_outward(tree, axes[0] @ speeds[0], lambda node, nu: nu + axes[node.link] @ speeds[node.link])
    axes_dot = map_each(lambda nu, s: _SE3.ad(nu) @ s, twists, axes)
    for X, node in zip(moves, tree, strict=True):
        if not node.constant:
            axes_dot[node.link] = axes_dot[node.link] + X @ node.S_dot
    return Geometry(tree, poses, axes, twists, axes_dot, Places.from_model(model))


def inertias(model: Model, geo: Geometry) -> list[RigidInertia]:
    """The inertia of each link's body."""
    bodies = rigid_inertias(model)
    return map_each(lambda body, H: body.to_parent(H), bodies, geo.poses)


def subtree_sums(geo: Geometry, own: Sequence[Any]) -> list[Any]:
    """Sum of ``own`` over each link and everything that it carries."""
    return accumulate_inward(geo.tree, own, lambda node, value: value)


def pairwise_matrix(geo: Geometry, above: Sequence[Factors], below: Sequence[Factors]) -> Matrix:
    """Matrix (nv x nv) of blocks for every link k and each link i between it and the base, sums over factors.

    ``above`` gives the blocks in the rows of i and the columns of k, ``a_i' b_k``, also for ``i = k``; ``below`` those
    in the rows of k and the columns of i, ``a_k b_i``.
    """
    tree, places = geo.tree, geo.places
    return places.strips(places.upper_rows(tree, *above), places.lower_columns(tree, *below))


def pairwise_symmetric(geo: Geometry, *above: Factors) -> Matrix:
    """Symmetric matrix (nv x nv) with the blocks ``a_i' b_k`` for every link k and ancestor i of k (or k itself)."""
    return geo.places.symmetric(geo.places.upper_rows(geo.tree, *above))


def rate_of_mass(geo: Geometry, own: list[RigidInertia]) -> Matrix:
    """``dM/dt`` (nv x nv) from axes, twists and body inertias in this frame."""
    rate = subtree_sums(geo, map_each(lambda inertia, nu: inertia.rate(nu), own, geo.twists))
    total = subtree_sums(geo, own)
    momenta = map_each(lambda inertia, s: inertia @ s, total, geo.axes)
    change = map_each(lambda R, s, L, s_dot: R @ s + L @ s_dot, rate, geo.axes, total, geo.axes_dot)
    return pairwise_symmetric(geo, (geo.axes, change), (geo.axes_dot, momenta))
