"""Contact Jacobian as twists of links, and its Delassus operator in joint space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import block, concatenate, factor_tree, is_numeric, mirror, solver
from ....arrays.linear import TreeFactors
from ....dynamics.geometry import Geometry, pairwise_matrix, subtree_sums
from ....dynamics.sweeps import Places, nodes, places_above, propagate_outward
from ....lie import SE3
from ....model import Model, State
from .articulated import ArticulatedResponse
from .delassus import Block, Jacobian, Lever, Response, Solve, mass_with


class TreeJacobian(NamedTuple):
    """Twists ``[v; w]`` of links in world axes at the origin of the base, and further rows.

    All links share one frame, so that a wrench on a subtree is a sum.  Generalized velocities have the twist of the
    base in the same axes inside, ``turn @ v``; their other entries are rates of joints.
    """

    model: Model
    state: State
    geo: Geometry
    """in world axes: poses and axes of links"""
    turn: Any
    """``nv x nv``"""
    links: tuple[int, ...]
    """each has six rows"""
    rows: Any
    """``k x nv``"""

    @classmethod
    def at(cls, model: Model, state: State, links: Sequence[int]) -> TreeJacobian:
        """Jacobian of the twists of the given links."""
        R, selection, m, n = state.pose[:3, :3], model.base.selection, model.m, model.n
        upright = block([[R, np.zeros((3, 1))], [np.zeros((1, 3)), np.eye(1)]])
        tree = nodes(model, state)
        poses = propagate_outward(tree, upright, lambda node, H: H @ node.H)
        axes = [selection, *(SE3().Ad(poses[node.link]) @ node.S for node in tree)]
        base = np.linalg.pinv(selection) @ concatenate([R @ selection[:3], R @ selection[3:]])
        turn = block([[base, np.zeros((m, n))], [np.zeros((n, m)), np.eye(n)]])
        geo = Geometry(tree, poses, axes, [], [], Places.from_model(model))
        return cls(model, state, geo, turn, tuple(links), np.zeros((0, model.nv)))

    def of(self, v: Any) -> Any:
        """Velocities ``J v``."""
        return self.times(self.turn @ v)

    @property
    def size(self) -> int:
        """Number of rows: six for each link, and the further ones."""
        return 6 * len(self.links) + len(self.rows)

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        """Jacobian with further rows, and their levers."""
        levers = [Lever(slice(k, k + 1), np.eye(1)) for k in range(self.size, self.size + len(J))]
        joints_only = is_numeric(J) and not J[:, : self.model.m].any()
        return self._replace(rows=concatenate([self.rows, J if joints_only else J @ self.turn.T])), levers

    @property
    def branched(self) -> bool:
        """True if no joint follows another and each further row is about one axis of a joint."""
        if self.model.leaders != tuple(range(len(self.model.joints))) or not is_numeric(self.rows):
            return False
        return bool((np.count_nonzero(self.rows, axis=1) == 1).all() and not self.rows[:, : self.model.m].any())

    def response(self, armature: Any, impulse: Any) -> Response:
        """Response by articulated bodies where the tree is :attr:`branched`, else by the mass matrix."""
        pushed = self.turn @ impulse
        if self.branched:
            return ArticulatedResponse.of(self, armature, pushed)
        M = mirror(self.turn @ mass_with(self.model, self.state, armature) @ self.turn.T)
        root = factor_tree(M, places_above(self.model))
        return JointSpaceResponse(self, M, root, root.solve_transposed(pushed), self.times(root.inverse))

    def joint_impulses(self, f: Any) -> Any:
        """Impulses (n) on joints by those along the rows."""
        return self.forces(f)[self.model.m :]

    def forces(self, f: Any) -> Any:
        """``J' f`` in world axes."""
        end = 6 * len(self.links)
        wrenches: list[Any] = [np.zeros(6)] * len(self.geo.axes)
        for k, link in enumerate(self.links):
            wrenches[link] = wrenches[link] + f[6 * k : 6 * k + 6]
        sums = subtree_sums(self.geo, wrenches)
        parts = [s.T @ F for s, F in zip(self.geo.axes, sums, strict=True)]
        return self.geo.places.vector(parts) + self.rows.T @ f[end:]

    def times(self, N: Any) -> Any:
        """``J N`` of velocities in world axes (nv, or nv x k)."""
        m = self.model.m
        places = [slice(0, m), *(slice(m + v.start, m + v.stop) for v in self.model.v_slices)]
        moves = [s @ N[place] for s, place in zip(self.geo.axes, places, strict=True)]
        found = propagate_outward(self.geo.tree, moves[0], lambda node, Y: Y + moves[node.link])
        return concatenate([*(found[link] for link in self.links), self.rows @ N])

    def stiffness(self, blocks: Sequence[Block]) -> Any:
        """``J' K J`` (nv x nv) in world axes."""
        end, axes = 6 * len(self.links), self.geo.axes
        own: list[Any] = [np.zeros((6, 6))] * len(axes)
        rest = np.zeros((self.model.nv, self.model.nv))
        for span, K in blocks:
            if span.start < end:
                link = self.links[span.start // 6]
                own[link] = own[link] + K
            else:
                row = self.rows[span.start - end : span.stop - end]
                rest = rest + row.T @ K @ row
        total = subtree_sums(self.geo, own)
        right = [K @ s for K, s in zip(total, axes, strict=True)]
        left = [s.T @ K for K, s in zip(total, axes, strict=True)]
        return pairwise_matrix(self.geo, [(axes, right)], [(left, axes)]) + rest


class JointSpaceResponse(NamedTuple):
    """``G`` as a product of sparse operators; Newton systems by elimination from the tips of the tree."""

    jacobian: TreeJacobian
    M: Any
    """``nv x nv`` in world axes, ``L' D L``"""
    root: TreeFactors
    pushed: Any
    """``L^-T impulse``"""
    Y: Any
    """``J L^-1``"""

    @property
    def size(self) -> int:
        """Number of rows of the Jacobian."""
        return self.jacobian.size

    @property
    def free(self) -> Any:
        """Velocities ``J M^-1 impulse`` without reactions."""
        return self.jacobian.times(self.root.solve_lower(self.root.inverses * self.pushed))

    def change(self, f: Any) -> Any:
        """Change of the quasi-velocity (nv) under the impulse and the reactions ``f``."""
        inward = self.pushed + self.root.solve_transposed(self.jacobian.forces(f))
        return self.jacobian.turn.T @ self.root.solve_lower(self.root.inverses * inward)

    def velocities(self, f: Any) -> Any:
        """Velocities ``G f`` under reactions alone."""
        inward = self.root.solve_transposed(self.jacobian.forces(f))
        return self.jacobian.times(self.root.solve_lower(self.root.inverses * inward))

    def mean_diagonal(self, lever: Lever) -> Any:
        """Mean of the diagonal of ``X G X'`` over the rows of a lever."""
        Y = self.Y[lever.span]
        moved = Y if lever.X is None else lever.X @ Y
        return sum((row @ (self.root.inverses * row) for row in moved), start=0.0) * (1.0 / len(moved))

    def scaled(self, units: Any) -> JointSpaceResponse:
        """The same response: its levers carry the units."""
        return self

    def newton(self, blocks: Sequence[Block]) -> Solve:
        """Solver of a Newton step: the blocks are added to the mass matrix as ``J' K J``."""
        solved = solver((self.M + self.jacobian.stiffness(blocks))[::-1, ::-1])  # from the tips: nothing fills

        def solve(f: Any) -> tuple[Any, Any]:
            return self.jacobian.times(solved(self.jacobian.forces(f)[::-1])[::-1]), None

        return solve
