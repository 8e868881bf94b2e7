"""Clearance between limbs: cost of a motion in which two of them come too near, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import concatenate
from ...arrays.types import Tensor
from ...compiler.compilation import compile_step
from ...dynamics import jacobian, link_pose
from ...dynamics.checks import check_model
from ...errors import ModelError, describe
from ...model import Model, State


class LimbClearance(NamedTuple):
    """Clearance of limbs at N shapes."""

    distance: np.ndarray
    """``N`` (m): smallest distance between two center lines"""
    cost: np.ndarray
    """``N``: sum of ``(1 - d / wanted)^2`` over all pairs of points that are nearer than wanted"""
    slope: np.ndarray
    """``N x n``: its derivative by the joints"""


class Limbs:
    """Chains from the base to each of the ``tips``, as points along their center lines: joints and midpoints.

    Example:
        >>> import fallingcat as fc
        >>> dog = fc.robots.quadruped()
        >>> limbs = Limbs(dog, ["front_left_foot", "front_right_foot"])
        >>> limbs.clearance(np.zeros((1, 12)), 0.1).distance.round(12)
        array([0.32])
    """

    def __init__(self, model: Model, tips: Sequence[str]) -> None:
        """Compile the positions of the points."""
        check_model(model)
        if isinstance(tips, str) or len(tips) < 2:
            raise ModelError(f"tips must be the names of two limbs or more, got {describe(tips)}")
        chains = [_chain(model, tip) for tip in tips]
        places = tuple(name for chain in chains for name in chain)
        self.model, self._nodes = model, compile_step(model, nodes, {}, ["joints"], places=places)
        halves = [_midpoint_matrix(len(chain)) for chain in chains]
        points = np.zeros((sum(len(x) for x in halves), len(places)))
        row = column = 0
        for half in halves:
            points[row : row + len(half), column : column + half.shape[1]] = half
            row, column = row + len(half), column + half.shape[1]
        limb = np.repeat(np.arange(len(chains)), [len(x) for x in halves])
        first, second = np.nonzero(np.triu(limb[:, None] != limb))
        self._pair_offsets = points[first] - points[second]  # pairs x places

    def clearance(self, joints: np.ndarray, wanted: float) -> LimbClearance:
        """Clearance at shapes (N x n), where points should be ``wanted`` (m) apart."""
        found = np.asarray(self._nodes(joints))
        way = self._pair_offsets @ found[..., 0]  # N x pairs x 3
        # where two points meet the direction between them is undefined: no pull, instead of 0 / 0
        d = np.maximum(np.linalg.norm(way, axis=2), 1e-12)
        near = np.maximum(1.0 - d / wanted, 0.0)
        pull = (-2.0 * near / (wanted * d))[:, :, None] * way
        force = self._pair_offsets.T @ pull  # N x places x 3
        return LimbClearance(d.min(axis=1), np.sum(near**2, axis=1), np.einsum("nki,nkij->nj", force, found[..., 1:]))


def nodes(model: Model, state: State, *, places: tuple[str, ...]) -> Tensor:
    """Positions of places in the frame of the base (m), and derivatives by the joints, ``K x 3 x (1 + n)``."""
    still = state._replace(pose=np.eye(4))
    rows = [
        concatenate([link_pose(model, still, place)[:3, 3:], jacobian(model, still, place, "mixed")[:3, model.m :]], 1)
        for place in places
    ]
    return concatenate(rows, 0).reshape(len(places), 3, 1 + model.n)


def _chain(model: Model, tip: str) -> list[str]:
    """Links from the first that a joint moves to the tip, and the tip; without those fixed to the base."""
    link, above = model.frame(tip).link, {joint.child: joint for joint in model.joints}
    chain = [tip] if tip != link else []
    while link in above:
        chain.append(link)
        link = above[link].parent
    return chain[-2::-1] if len(chain) > 2 else chain[::-1]


def _midpoint_matrix(count: int) -> np.ndarray:
    """Matrix ``(2 count - 1) x count`` of nodes and the midpoints between them."""
    out = np.zeros((2 * count - 1, count))
    out[::2] = np.eye(count)
    out[1::2] = 0.5 * (np.eye(count)[:-1] + np.eye(count)[1:])
    return out
