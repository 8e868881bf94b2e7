"""Delassus operator ``G = J M^-1 J'``: velocities that contact impulses cause, and the Newton systems made of it.

Three forms with one interface.  :class:`DenseResponse` holds ``G`` as a matrix, and a Newton step solves a system with
a row for each of its own: best for few contacts.  The others never form ``G``; a Newton step solves ``(M + J' K J) dv =
J' f`` (the Woodbury identity).  ``K`` is block-diagonal, a 6 x 6 matrix for each link, so the sum is the mass matrix of
a robot whose links have additional "inertias" ``K``: it costs the same however many points a link has.
:class:`.ArticulatedResponse` solves it by articulated bodies in O(n); :class:`.JointSpaceResponse` by elimination in
joint space, where joints follow others or loops couple branches of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ....arrays import concatenate, factor_tree, gram, scale, solver, stack
from ....arrays.linear import TreeFactors
from ....dynamics import mass_matrix
from ....dynamics.sweeps import places_above
from ....model import Model, State

Block = tuple[slice, Any]
"""Rows of the Jacobian, and a square matrix on them."""
Solve = Callable[[Any], tuple[Any, Any]]
"""``f -> V, y`` with ``(1 + K G) y = f`` and ``V = G y``; ``y`` is None where it is not at hand."""


class Lever(NamedTuple):
    """Map from rows of the Jacobian to a set of rows: ``u = unit X V[span]``."""

    span: slice
    X: Any
    """``rows x columns``, or None: they are the same"""
    unit: Any = 1.0
    """beside ``X``, as most entries of that are 0 or 1"""

    def of(self, V: Any) -> Any:
        """Velocities ``unit X V``."""
        return V[self.span] if self.X is None else scale(self.unit, self.X @ V[self.span])

    def along(self, x: Any) -> Any:
        """Impulses ``unit X' x``."""
        return x if self.X is None else self.X.T @ scale(self.unit, x)

    def congruent(self, E: Any) -> Any:
        """Congruence ``unit^2 X' E X``."""
        return E if self.X is None else self.X.T @ (scale(self.unit * self.unit, E) @ self.X)


class Response(Protocol):
    """Change of velocity by a generalized impulse and by contact impulses ``f`` along the rows of ``J``."""

    @property
    def size(self) -> int:
        """Rows of ``J``."""

    @property
    def free(self) -> Any:
        """Velocities ``J M^-1 impulse`` without reactions."""

    def change(self, f: Any) -> Any:
        """``M^-1 (impulse + J' f)`` (nv)."""

    def velocities(self, f: Any) -> Any:
        """Velocities ``G f`` under reactions alone."""

    def mean_diagonal(self, lever: Lever) -> Any:
        """Mean diagonal of ``X G X'``."""

    def scaled(self, units: Any) -> Response:
        """Response with rows of ``J`` multiplied by ``units``."""

    def newton(self, blocks: Sequence[Block]) -> Solve:
        """Factorization of ``1 + K G``."""


class Jacobian(Protocol):
    """``J``: velocities of contacts from the generalized velocity."""

    def of(self, v: Any) -> Any:
        """Velocities ``J v``."""

    def joint_impulses(self, f: Any) -> Any:
        """Impulses (n) on joints by those along the rows, ``J' f`` without the base."""

    @property
    def size(self) -> int:
        """Rows."""

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        """Jacobian with further rows, each of which moves by itself."""

    def response(self, armature: Any, impulse: Any) -> Response:
        """Response for an armature of joints (n) beyond that of the model, and a generalized impulse (nv)."""


class DenseJacobian(NamedTuple):
    """``J`` as a matrix."""

    model: Model
    state: State
    J: Any

    def of(self, v: Any) -> Any:
        """Velocities ``J v``."""
        return self.J @ v

    def joint_impulses(self, f: Any) -> Any:
        """Impulses (n) on joints by those along the rows."""
        return self.J[:, self.model.m :].T @ f

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.J)

    def with_rows(self, J: Any) -> tuple[Jacobian, list[Lever]]:
        """Jacobian with further rows, and their levers."""
        levers = [Lever(slice(k, k + 1), None) for k in range(self.size, self.size + len(J))]
        return self._replace(J=concatenate([self.J, J])), levers

    def response(self, armature: Any, impulse: Any) -> DenseResponse:
        """Response with the matrix ``G = J M^-1 J'``."""
        root = factor_tree(mass_with(self.model, self.state, armature), places_above(self.model))
        pushed, Y = root.solve_transposed(impulse), stack([root.solve_transposed(row) for row in self.J])
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
        """Number of rows of the Jacobian."""
        return len(self.G)

    @property
    def free(self) -> Any:
        """Velocities ``J M^-1 impulse`` without reactions."""
        assert self.root is not None
        return (self.Y * self.root.inverses) @ self.pushed

    def change(self, f: Any) -> Any:
        """Change of the quasi-velocity (nv) under the impulse and the reactions ``f``."""
        assert self.root is not None
        return self.root.solve_lower(self.root.inverses * (self.pushed + self.Y.T @ f))

    def velocities(self, f: Any) -> Any:
        """Velocities ``G f`` under reactions alone."""
        return self.G @ f

    def mean_diagonal(self, lever: Lever) -> Any:
        """Mean of the diagonal of ``X G X'`` over the rows of a lever."""
        G = self.G[lever.span, lever.span]
        rows = np.eye(len(G)) if lever.X is None else lever.X
        return sum((row @ (G @ row) for row in rows), start=0.0) * (1.0 / len(rows))

    def scaled(self, units: Any) -> DenseResponse:
        """Response of rows in given units."""
        return DenseResponse(units[:, None] * self.G * units[None, :])

    def newton(self, blocks: Sequence[Block]) -> Solve:
        """Solver of ``(1 + K G) y = f``, with ``K`` by blocks."""
        one = np.eye(self.size)
        # not K^-1 + G: K is zero for points in the air, and G singular for redundant ones; 1 + K G is neither
        solved = solver(concatenate([one[span] + K @ self.G[span] for span, K in blocks]))

        def solve(f: Any) -> tuple[Any, Any]:
            y = solved(f)
            return self.G @ y, y

        return solve


def mass_with(model: Model, state: State, armature: Any) -> Any:
    """Mass matrix (nv x nv) with further armature (n) of joints."""
    return mass_matrix(model, state) + concatenate([np.zeros(model.m), armature])[:, None] * np.eye(model.nv)
