"""Delassus operator ``G = J M^-1 J'``: velocities that contact impulses cause, and the Newton systems made of it.

Two forms with one interface.  :class:`DenseResponse` holds ``G`` as a matrix, and a Newton step solves a system with a
row for each of its own: best for few contacts.  :class:`TreeResponse` never forms ``G``; a Newton step solves
``(M + J' K J) dv = J' f`` (the Woodbury identity) in joint space.  ``K`` is block-diagonal, a 6 x 6 matrix for each
link, so the sum is the mass matrix of a robot whose links have additional "inertias" ``K``: it is assembled from
composite inertias, has the sparsity of the tree and costs the same however many points there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..arrays import block, concatenate, factored, gram, mirror, scale, solver, stack
from ..arrays.linear import TreeFactors
from ..dynamics.geometry import Geometry, geometry, pairwise_matrix, subtree_sums
from ..dynamics.sweeps import outward, places_above
from ..model import Model, State

Block = tuple[slice, Any]
"""Rows of the Jacobian, and a square matrix on them."""
Solve = Callable[[Any], tuple[Any, Any]]
"""``f -> V, y`` with ``(1 + K G) y = f`` and ``V = G y``; ``y`` is None where it is not at hand."""


class Lever(NamedTuple):
    """How a set of rows moves with those of the Jacobian: ``u = unit X V[span]``."""

    span: slice
    X: Any
    """``rows x columns``, or None: they are the same"""
    unit: Any = 1.0
    """beside ``X``, as most entries of that are 0 or 1"""

    def of(self, V: Any) -> Any:
        """``unit X V``"""
        return V[self.span] if self.X is None else scale(self.unit, self.X @ V[self.span])

    def along(self, x: Any) -> Any:
        """``unit X' x``"""
        return x if self.X is None else self.X.T @ scale(self.unit, x)

    def congruent(self, E: Any) -> Any:
        """``unit^2 X' E X``"""
        return E if self.X is None else self.X.T @ (scale(self.unit * self.unit, E) @ self.X)


class Response(Protocol):
    """Change of velocity by a generalized impulse and by contact impulses ``f`` along the rows of ``J``."""

    @property
    def size(self) -> int:
        """Rows of ``J``."""

    @property
    def free(self) -> Any:
        """``J M^-1 impulse``"""

    def change(self, f: Any) -> Any:
        """``M^-1 (impulse + J' f)`` (nv)."""

    def velocities(self, f: Any) -> Any:
        """``G f``"""

    def mean_diagonal(self, lever: Lever) -> Any:
        """Mean diagonal of ``X G X'``."""

    def scaled(self, units: Any) -> Response:
        """With rows of ``J`` multiplied by ``units``."""

    def newton(self, blocks: Sequence[Block]) -> Solve:
        """Factorization of ``1 + K G``."""


class Jacobian(Protocol):
    """``J``: velocities of contacts from the generalized velocity."""

    def of(self, v: Any) -> Any:
        """``J v``"""

    @property
    def size(self) -> int:
        """Rows."""

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        """With further rows, each of which moves by itself."""

    def response(self, M: Any, impulse: Any) -> Response:
        """Given the mass matrix (nv x nv) and a generalized impulse (nv)."""


class DenseJacobian(NamedTuple):
    """``J`` as a matrix."""

    model: Model
    J: Any

    def of(self, v: Any) -> Any:
        return self.J @ v

    @property
    def size(self) -> int:
        return len(self.J)

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        levers = [Lever(slice(k, k + 1), None) for k in range(self.size, self.size + len(J))]
        return self._replace(J=concatenate([self.J, J])), levers

    def response(self, M: Any, impulse: Any) -> DenseResponse:
        root = factored(M, places_above(self.model))
        pushed, Y = root.inward(impulse), stack([root.inward(row) for row in self.J])
        return DenseResponse(gram(Y, root.inverses), root, pushed, Y)


class DenseResponse(NamedTuple):
    """``G`` as a matrix: ``M = L' D L``, ``Y = J L^-1``, ``G = Y D^-1 Y'``."""

    G: Any
    root: TreeFactors | None = None
    pushed: Any = None
    """``L^-T impulse``"""
    Y: Any = None

    @property
    def size(self) -> int:
        return len(self.G)

    @property
    def free(self) -> Any:
        assert self.root is not None
        return (self.Y * self.root.inverses) @ self.pushed

    def change(self, f: Any) -> Any:
        assert self.root is not None
        return self.root.outward(self.root.inverses * (self.pushed + self.Y.T @ f))

    def velocities(self, f: Any) -> Any:
        return self.G @ f

    def mean_diagonal(self, lever: Lever) -> Any:
        G = self.G[lever.span, lever.span]
        rows = np.eye(len(G)) if lever.X is None else lever.X
        return sum((row @ (G @ row) for row in rows), start=0.0) * (1.0 / len(rows))

    def scaled(self, units: Any) -> DenseResponse:
        return DenseResponse(units[:, None] * self.G * units[None, :])

    def newton(self, blocks: Sequence[Block]) -> Solve:
        one = np.eye(self.size)
        solved = solver(concatenate([one[span] + K @ self.G[span] for span, K in blocks]))

        def solve(f: Any) -> tuple[Any, Any]:
            y = solved(f)
            return self.G @ y, y

        return solve


class TreeJacobian(NamedTuple):
    """Twists ``[v; w]`` of links in world axes at the origin of the base, and further rows.

    All links share one frame, so that a wrench on a subtree is a sum.  Generalized velocities have the twist of the
    base in the same axes inside, ``turn @ v``; their other entries are rates of joints.
    """

    model: Model
    geo: Geometry
    """with ``axes`` in world axes"""
    turn: Any
    """``nv x nv``"""
    links: tuple[int, ...]
    """each has six rows"""
    rows: Any
    """``k x nv``"""

    @classmethod
    def at(cls, model: Model, state: State, links: Sequence[int]) -> TreeJacobian:
        """Of the given links."""
        geo, R, selection = geometry(model, state), state.pose[:3, :3], model.base.selection
        axes = [selection, *(concatenate([R @ s[:3], R @ s[3:]]) for s in geo.axes[1:])]
        base = np.linalg.pinv(selection) @ concatenate([R @ selection[:3], R @ selection[3:]])
        m, n = model.m, model.n
        turn = block([[base, np.zeros((m, n))], [np.zeros((n, m)), np.eye(n)]])
        return cls(model, geo._replace(axes=axes), turn, tuple(links), np.zeros((0, model.nv)))

    def of(self, v: Any) -> Any:
        return self.times(self.turn @ v)

    @property
    def size(self) -> int:
        return 6 * len(self.links) + len(self.rows)

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        levers = [Lever(slice(k, k + 1), np.eye(1)) for k in range(self.size, self.size + len(J))]
        return self._replace(rows=concatenate([self.rows, J @ self.turn.T])), levers

    def response(self, M: Any, impulse: Any) -> TreeResponse:
        turned = mirror(self.turn @ M @ self.turn.T)
        root = factored(turned, places_above(self.model))
        return TreeResponse(self, turned, root, root.inward(self.turn @ impulse), self.times(root.inverse))

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
        found = outward(self.geo.tree, moves[0], lambda node, Y: Y + moves[node.link])
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
        return pairwise_matrix(self.geo, lambda i, k: (axes[i].T @ right[k], left[k] @ axes[i])) + rest


class TreeResponse(NamedTuple):
    """``G`` as a product of sparse operators, Newton systems in joint space."""

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
        return self.jacobian.size

    @property
    def free(self) -> Any:
        return self.jacobian.times(self.root.outward(self.root.inverses * self.pushed))

    def change(self, f: Any) -> Any:
        inward = self.pushed + self.root.inward(self.jacobian.forces(f))
        return self.jacobian.turn.T @ self.root.outward(self.root.inverses * inward)

    def velocities(self, f: Any) -> Any:
        inward = self.root.inward(self.jacobian.forces(f))
        return self.jacobian.times(self.root.outward(self.root.inverses * inward))

    def mean_diagonal(self, lever: Lever) -> Any:
        Y = self.Y[lever.span]
        moved = Y if lever.X is None else lever.X @ Y
        return sum((row @ (self.root.inverses * row) for row in moved), start=0.0) * (1.0 / len(moved))

    def scaled(self, units: Any) -> TreeResponse:
        return self

    def newton(self, blocks: Sequence[Block]) -> Solve:
        solved = solver((self.M + self.jacobian.stiffness(blocks))[::-1, ::-1])  # from the tips: nothing fills

        def solve(f: Any) -> tuple[Any, Any]:
            return self.jacobian.times(solved(self.jacobian.forces(f)[::-1])[::-1]), None

        return solve
