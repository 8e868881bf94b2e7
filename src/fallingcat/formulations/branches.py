"""Terms of the reduced equations with the zeros of the tree: one sweep with composite inertias, in the links' frames.

Two links on different branches meet through the base alone.  So every matrix of the shape is a matrix with the zeros
of the tree, made here, and a product of low rank with the connection, made in :mod:`fallingcat.formulations.reduced`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import block, concatenate, cross, scale
from ..arrays.types import Matrix, Pose, Twist, Vector, Wrench
from ..dynamics.spatial import RigidInertia, motion_to_child, rigid_inertias, wrench_to_parent, wrenches_to_parent
from ..dynamics.sweeps import Node, Places, accumulate_inward, nodes, propagate_outward
from ..lie import SE3
from ..lie.rotations import skew
from ..model import Joint, Model, State

_SE3 = SE3()


class Swirl(NamedTuple):
    """Sum ``sum L ad(nu)`` over bodies: the motion of a subtree relative to its first link, weighted by inertia.

    24 numbers, which add up over bodies and move between frames more cheaply than the 6x6 matrix.
    """

    spin: Vector
    """``sum m w`` (3)"""
    drift: Vector
    """``sum m v`` (3), ``v`` of the point at the origin"""
    moment: Matrix
    """``sum H W`` (3x3), ``H = skew(h)``"""
    second_moment: Matrix
    """``sum H V + I W`` (3x3)"""

    @classmethod
    def from_inertia(cls, inertia: RigidInertia, twist: Twist) -> Swirl:
        """Sum of one body, or of several that move together."""
        v, w, H = twist[:3], twist[3:], skew(inertia.moment)
        W = skew(w)
        return cls(scale(inertia.mass, w), scale(inertia.mass, v), H @ W, H @ skew(v) + inertia.inertia @ W)

    def to_parent(self, H: Pose) -> Swirl:
        """Sum in the parent frame: ``Ad(H^-1)' . Ad(H^-1)``, block by block."""
        R, p = H[:3, :3], skew(H[:3, 3])
        spin, drift = R @ self.spin, R @ self.drift
        turned = R @ self.moment @ R.T
        moment = turned + p @ skew(spin)
        second = R @ self.second_moment @ R.T + p @ (skew(drift) - turned) - moment @ p
        return Swirl(spin, drift - cross(spin, H[:3, 3]), moment, second)

    def __add__(self, other: Any) -> Swirl:
        return Swirl(*(a + b for a, b in zip(self, other, strict=True)))

    def matrix(self) -> Matrix:
        """Matrix (6x6) ``[[sum m W, sum m V - H W], [sum H W, sum H V + I W]]``."""
        return block([[skew(self.spin), skew(self.drift) - self.moment], [self.moment, self.second_moment]])


_REST = Swirl(np.zeros(3), np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3)))


class Frames(NamedTuple):
    """The robot in frames that move with links: each link is seen from its own or from that of a link below it."""

    tree: list[Node]
    """the joints, as seen from these frames"""
    link_inertias: list[RigidInertia]
    """inertia of each link"""
    relative_twists: list[Twist]
    """``6``: how the frame of each link moves relative to that of its parent"""
    swirls: list[Swirl]
    """motion of each link relative to its frame"""


def frames(model: Model, state: State) -> Frames:
    """Frames with the fewest products.

    A link's own where its joint turns about an axis of the frames, else that of its parent.
    """
    rest, bodies = np.zeros(6), rigid_inertias(model)
    seen = Frames([], bodies[:1], [rest], [_REST])
    poses, slips = [np.eye(4)], [rest]  # of the links relative to their frames
    for node, joint, body in zip(nodes(model, state), model.joints, bodies[1:], strict=True):
        H, below = poses[node.parent] @ node.H, slips[node.parent]
        if _is_axis_aligned(node, joint):
            poses.append(poses[0])
            slips.append(rest)
            seen.tree.append(node._replace(H=H))
            seen.link_inertias.append(body)
            seen.relative_twists.append(motion_to_child(H, below) + node.S @ node.rates)
            seen.swirls.append(_REST)
        else:
            X = _SE3.Ad(H)
            S = X @ node.S
            slip = below + S @ node.rates
            S_dot = _SE3.ad(slip) @ S + X @ node.S_dot
            poses.append(H)
            slips.append(slip)
            seen.tree.append(node._replace(H=poses[0], S=S, S_dot=S_dot, constant=False))
            seen.link_inertias.append(body.to_parent(H))
            seen.relative_twists.append(rest)
            seen.swirls.append(Swirl.from_inertia(seen.link_inertias[-1], slip))
    return seen


def _is_axis_aligned(node: Node, joint: Joint) -> bool:
    """Answer if a joint turns about a coordinate axis, or not at all, on a placement that permutes the axes at most."""
    turns = np.count_nonzero(node.S[3:]) if node.constant else node.S.shape[1]
    return bool(turns <= 1 and np.count_nonzero(joint.placement[:3, :3]) == 3)


class Branches(NamedTuple):
    """Matrices with the zeros of the tree, and the columns that the axes send to the base."""

    C: Matrix
    """``n x n``: coadjoint Coriolis matrix of the joints"""
    areas: Matrix
    """``n x n``, skew: twice the area that two axes sweep, along the spin"""
    momenta: Matrix
    """``6 x n``: momentum per joint rate"""
    base_rows: Matrix
    """``6 x n``: base rows of the coadjoint matrix"""
    base_columns: Matrix
    """``6 x n``: its base columns, transposed"""
    rows: Matrix
    """``6 x n``: ``rows[:, i] . t`` is twice the area that axis i and a twist ``t`` of the base sweep"""
    swirl: Matrix
    """``6 x 6``: ``sum L ad(nu)`` of the links relative to the base"""


def branches(model: Model, seen: Frames, twist: Twist, spin: Vector) -> Branches:
    """Terms of the tree when the base moves with ``twist`` (6) and areas are seen along ``spin`` (3).

    For axis i on the way from axis k to the base ``C[i, k] = s_i . right_k`` and ``C[k, i] = s_i . left_k + ds_i/dt .
    momentum_k``, with ``right = L ds/dt - (Q + adt(p)) s`` (``base_rows``) and ``left = -(Q - adt(p))' s``
    (``base_columns``) of the composite inertia ``L``, momentum ``p`` and ``Q = sum L ad(nu)``, all relative to the
    frame of k.  From there to the frame of i, ``left`` takes ``-ad(relative twist)' momentum`` along at each joint.
    """
    tree, own, crossing, own_swirls = seen
    rates = [np.zeros(6), *(node.S @ node.rates for node in tree)]
    twists = propagate_outward(tree, twist, lambda node, nu: motion_to_child(node.H, nu) + rates[node.link])
    spins = propagate_outward(tree, spin, lambda node, w: node.H[:3, :3].T @ w)
    momenta = [inertia @ nu for inertia, nu in zip(own, twists, strict=True)]
    inertias = accumulate_inward(tree, own, lambda node, inertia: inertia.to_parent(node.H))
    momenta = accumulate_inward(tree, momenta, lambda node, momentum: wrench_to_parent(node.H, momentum))

    def swirl_in_parent(node: Node, swirl: Swirl) -> Swirl:
        return (swirl + Swirl.from_inertia(inertias[node.link], crossing[node.link])).to_parent(node.H)

    swirls = accumulate_inward(tree, own_swirls, swirl_in_parent)
    joints = Places.from_model(model)._replace(sizes=[0, *Places.from_model(model).sizes[1:]])
    # columns of all that moves behind a link, the last child first
    carried: list[list[list[Matrix]]] = [[] for _ in own]
    C: list[tuple[Matrix, Matrix]] = []
    areas: list[tuple[Matrix, Matrix]] = []
    for node in reversed(tree):
        k, S, width = node.link, node.S, joints.sizes[node.link]
        own_columns = _columns(node, inertias[k], swirls[k].matrix(), momenta[k], spins[k])
        momentum, right, left, rows = columns = _side_by_side([own_columns, *reversed(carried[k])])
        carried[k].clear()
        swept = S.T @ rows
        C.append((S.T @ right, left[:, width:].T @ S + momentum[:, width:].T @ node.S_dot))
        areas.append((swept, -swept[:, width:].T))
        carried[node.parent].append(_to_parent(node, crossing[k], columns))
    root = _side_by_side([[np.zeros((6, 0))] * 4, *reversed(carried[0])])
    nothing = np.zeros((0, root[0].shape[1])), np.zeros((root[0].shape[1], 0))
    axes = [slice(span.start, span.start + size) for span, size in zip(joints.spans(tree), joints.sizes, strict=True)]
    momentum, right, left, rows = (joints.columns([x[:, own] for own in axes]) for x in root)
    C_joints, areas_joints = (joints.strips(*zip(nothing, *strips[::-1], strict=True)) for strips in (C, areas))
    return Branches(C_joints, areas_joints, momentum, right, left, rows, swirls[0].matrix())


def _side_by_side(columns: Sequence[Sequence[Matrix]]) -> list[Matrix]:
    """Columns of several links, each of the four kinds together."""
    return [concatenate(kind, axis=1) for kind in zip(*columns, strict=True)]


def _columns(node: Node, inertia: RigidInertia, swirl: Matrix, momentum: Wrench, spin: Vector) -> list[Matrix]:
    """Columns (6 x nv each) that joint axes send to the base: momenta, right and left factors of ``C``, area rows."""
    S, turn = node.S, _SE3.adt(momentum) @ node.S
    momenta = inertia @ S
    right = -(swirl @ S) - turn
    if not node.constant:
        right = right + inertia @ node.S_dot
    return [momenta, right, turn - swirl.T @ S, _area_rows(inertia, S, momenta, spin)]


def _area_rows(inertia: RigidInertia, S: Matrix, momenta: Matrix, spin: Vector) -> Matrix:
    """``6 x nv``: takes a twist ``t`` to ``2 spin . sum m u_s x u_t``."""
    twice = 2.0 * spin
    W = skew(twice)
    turned = skew(inertia.moment) @ (W @ S[:3]) + skew(inertia.second_moment @ twice) @ S[3:]
    return concatenate([W @ momenta[:3], turned])


def _to_parent(node: Node, crossing: Twist, columns: Sequence[Matrix]) -> list[Matrix]:
    """The four kinds of columns in the parent frame, where wrenches turn with the twist of the joint."""
    momenta, right, left, rows = columns
    left = left - _SE3.ad(crossing).T @ momenta
    return [wrenches_to_parent(node.H, x) for x in (momenta, right, left, rows)]
