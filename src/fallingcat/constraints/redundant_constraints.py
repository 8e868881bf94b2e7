"""Equations of contacts that may be redundant, and the check that they can be met together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import any_nonzero, concatenate, factor_tree, is_numeric, scale, solve_tree, solver
from ..arrays.linear import TreeFactors
from ..arrays.types import Matrix, Vector
from ..caching import cached_property
from ..dynamics import mass_matrix
from ..dynamics.sweeps import places_above
from ..errors import NumericsError
from ..geometry.contact_points import plane, point_motions
from ..geometry.ellipsoids import Around, lowest_lever
from ..lie.group import constant
from ..model import Model, State

MIN_SQUARED_SINGULAR_VALUE = 1e-13
"""Squared singular values of ``J``, relative to their mean, around which a direction counts as redundant."""
REFINEMENT_ROUNDS = 4
"""Corrections of forces by what they leave of the motion that they should take away, at most."""
MIN_CORRECTION = 1e-12
"""A correction, relative to the forces, after which the next would be rounding; on numbers only."""
MAX_CONTRADICTION = 1e-7
"""Largest contradiction between rows, relative to what they demand, before it is an error."""
MAX_RESIDUAL = 1e-8
"""Largest motion that forces may leave of what they should take away, relative to it."""
MAX_ACCELERATION_ERROR = 1e-3
"""m/s^2: what may be left of accelerations of points that nearly depend on each other.  It takes a point 1e-8 m into
the ground in 4 ms, where it touches down, or is drawn back at 4e-7 m by a stabilisation of 50 rad/s.  Beyond it points
share the load anew, and one lifts off."""
ROUNDING_ACCELERATION = 1e-9
"""m/s^2 or m/s: what is left below this is rounding."""


Response = Callable[[Any], Any]


class ConstraintForces(NamedTuple):
    """Constraint forces along the rows of a Jacobian, and the accelerations under them."""

    forces: Any
    """one for each row"""
    motion: Any
    """``nv``: the acceleration (or velocity) under them"""
    reserve: Any
    """negative where the forces do not bring about what they should: they could not be resolved"""


def solve_constraint_forces(respond: Response, J: Matrix, K: Matrix, free: Vector, demand: Vector) -> ConstraintForces:
    """The forces ``x`` with ``J (free + M^-1 K' x) = demand``.

    Where rows of ``J`` depend on each other it is the one in the range of ``J``: for ``K = J`` the least.

    ``G = J M^-1 K'`` is singular exactly where rows of ``J`` depend on each other, which is a matter of geometry.  So
    ``N``, the projector onto what ``J`` cannot reach, comes from ``J`` and not from ``G``, whose eigenvalues spread as
    the masses do.  ``G + c N^2`` is regular; its solution is refined by the residual of the motion itself, so that
    forces are right to rounding whatever the ratio of masses.  No decision is taken on a value, but when to stop on
    plain ones: it runs on every kind of number.

    >>> import fallingcat as fc
    >>> ball = fc.robots.free_body(fc.lie.R3())
    >>> twice = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])  # one row, held twice
    >>> free = np.array([0.0, 0.0, -9.81])
    >>> solve_constraint_forces(tree_response(ball, ball.neutral()), twice, twice, free, np.zeros(2)).forces.round(12)
    array([9.81, 9.81])
    """
    if isinstance(J, np.ndarray) and not any_nonzero(J):  # no rows, or of links that cannot move beside each other
        return ConstraintForces(np.zeros(len(J)), free, 1.0)
    filled, beyond = regularize(
        J, respond.delassus_matrix(J, K) if isinstance(respond, TreeResponse) else J @ respond(K.T)
    )
    symmetric = K is J and _is_symbolic(filled)  # half the operations of an elimination
    solved = factor_tree(filled, range(-1, len(J) - 1)).solve if symmetric else solver(filled)
    demand = demand - beyond(demand)
    x = np.zeros(len(J))
    for _ in range(REFINEMENT_ROUNDS):
        x = x - beyond(x)
        more = solved(demand - J @ (free + respond(K.T @ x)))
        x = x + more
        if is_numeric(more) and np.abs(more).max() <= MIN_CORRECTION * np.abs(x).max():
            break
    motion = free + respond(K.T @ x)
    missed, wanted = J @ motion - demand, J @ free - demand
    return ConstraintForces(x, motion, MAX_RESIDUAL**2 * (wanted @ wanted) + ROUNDING_ACCELERATION**2 - missed @ missed)


def regularize(J: Matrix, G: Matrix) -> tuple[Matrix, Response]:
    """``G + c N^2``, which is regular, and the product of vectors with ``N``; see :func:`solve_constraint_forces`.

    Rows that share no coordinate are independent: ``N`` has a block for each set of them that hangs together.
    """
    JJ = J @ J.T
    # relative to the rows themselves, so that small and large robots are cut alike
    eps = MIN_SQUARED_SINGULAR_VALUE * _mean_diagonal(JJ)
    filled, blocks = JJ + scale(eps, np.eye(len(J))), _blocks(JJ)

    # more exact than a product with N, whose columns err each its own way
    def solve_block(rows: np.ndarray, b: Any) -> Any:
        return scale(eps, solve_tree(filled[np.ix_(rows, rows)], b, range(-1, len(rows) - 1)))

    def apply_regularization(b: Any) -> Any:
        found = [solve_block(rows, b[rows]) for rows in blocks]
        return found[0] if len(blocks) == 1 else concatenate(found)[np.argsort(np.concatenate(blocks))]

    squares = [solve_block(rows, solve_block(rows, np.eye(len(rows)))) for rows in blocks]
    return G + scale(_mean_diagonal(G), _block_diagonal(blocks, squares)), apply_regularization


def _blocks(A: Any) -> list[np.ndarray]:
    """Sets of rows of a symmetric matrix of expressions without entries between them; numbers are one set."""
    n = len(A)
    if not _is_symbolic(A):
        return [np.arange(n)]
    home = list(range(n))
    for i in range(n):
        for j in range(i):
            if home[i] != home[j] and any_nonzero(A[i : i + 1, j]):
                old, new = home[i], home[j]
                home = [new if x == old else x for x in home]
    # rows are eliminated from the last on: those with few neighbours first fill few zeros
    degree = np.array([sum(any_nonzero(A[i : i + 1, j]) for j in range(n)) for i in range(n)])
    sets = [np.flatnonzero(np.array(home) == first) for first in dict.fromkeys(home)]
    return [rows[np.argsort(-degree[rows], kind="stable")] for rows in sets]


def _is_symbolic(A: Any) -> bool:
    return isinstance(A, np.ndarray) and A.dtype == object


def _block_diagonal(blocks: Sequence[np.ndarray], parts: Sequence[Any]) -> Any:
    if len(blocks) == 1:
        return parts[0]
    whole = np.zeros((sum(map(len, blocks)),) * 2, dtype=object)
    for rows, part in zip(blocks, parts, strict=True):
        whole[np.ix_(rows, rows)] = part
    return whole


def check_resolved(held: ConstraintForces, points: Sequence[str], what: str) -> ConstraintForces:
    """The same, or an error that names the points where forces could not be resolved; on numbers only."""
    if is_numeric(held.reserve) and not np.real(held.reserve) >= 0.0:
        raise NumericsError(f"{what} of {', '.join(points)} cannot be resolved: their masses or levers differ too much")
    return held


def _mean_diagonal(A: Any) -> Any:
    return sum((A[i, i] for i in range(1, len(A))), start=A[0, 0]) * (1.0 / len(A))


class TreeResponse:
    """Function ``forces (nv or nv x k) -> M^-1 forces`` for a mass matrix with the zeros of a tree."""

    def __init__(self, mass: Matrix, above: Sequence[int]) -> None:
        self.mass, self.ancestors = mass, above

    @cached_property
    def _root(self) -> TreeFactors | None:
        """Factors of a matrix of expressions; None: numbers are solved by libraries."""
        return factor_tree(self.mass, self.ancestors) if _is_symbolic(self.mass) else None

    def __call__(self, forces: Any) -> Any:
        """Accelerations that generalised forces cause."""
        if self._root is None or forces.ndim > 1:
            return solve_tree(self.mass, forces, self.ancestors)
        return self._root.solve(forces)

    def delassus_matrix(self, J: Matrix, K: Matrix) -> Matrix:
        """``J M^-1 K'``: of expressions by ``M = L' D L`` from tips to the root, so that rows keep their zeros."""
        root = self._root
        if root is None:
            return J @ self(K.T)
        left = np.array([root.solve_transposed(row) for row in J], dtype=object)
        right = left if K is J else np.array([root.solve_transposed(row) for row in K], dtype=object)
        return (left * root.inverses) @ right.T


def tree_response(model: Model, state: State) -> TreeResponse:
    """Accelerations that generalised forces cause, from tips to base."""
    return TreeResponse(mass_matrix(model, state), places_above(model))


def check_consistent(J: Matrix, demand: Vector, names: Sequence[str], what: str) -> None:
    """An error that names the points whose rows of ``J x = demand`` cannot hold together; on numbers only.

    ``names`` has one entry for each row.
    """
    if not (len(J) and is_numeric(J) and is_numeric(demand)):
        return
    U, s, _ = np.linalg.svd(np.real(J))
    # left singular vectors beyond the rank are the combinations of rows that no motion satisfies
    rank = int((s > 1e-9 * s[0]).sum()) if s[0] > 0.0 else 0
    beyond = U[:, rank:] @ (U[:, rank:].T @ np.real(demand))
    allowed = MAX_CONTRADICTION * max(1.0, float(np.abs(demand).max(initial=0.0)))
    worst = float(np.abs(beyond).max(initial=0.0))
    if worst > allowed:
        points = sorted({name for name, x in zip(names, beyond, strict=True) if abs(x) > allowed}, key=names.index)
        raise NumericsError(f"{what} of {', '.join(points)} contradict each other: no motion meets all", value=worst)


@lru_cache(maxsize=64)
def moving_axes(
    model: Model,
    points: tuple[str, ...],
    axes: tuple[tuple[float, ...], ...],
    radii: tuple[Around, ...] | None = None,
) -> tuple[np.ndarray, ...]:
    """Axes (rows, world) along which each point, or what touches around it on the first axis, can move at all.

    A planar robot cannot leave its plane, a fixed base not at all: such rows of the Jacobian are zero whatever the
    state, which a few random states show.
    """
    rng, directions = np.random.default_rng(0), np.array(axes)
    radii, sizes = radii or (0.0,) * len(points), np.zeros((len(points), len(directions)))
    for state in (model.random_state(rng) for _ in range(3)):
        motions = point_motions(model, state, points)
        levers = [lowest_lever(r, motion.axes, directions[0]) for motion, r in zip(motions, radii, strict=True)]
        rows = [directions @ motion.jacobian_at(lever) for motion, lever in zip(motions, levers, strict=True)]
        sizes = np.maximum(sizes, np.reshape([np.abs(J).max(axis=1, initial=0.0) for J in rows], sizes.shape))
    # three random states: an axis along which a point cannot move at any of them is structural, not a singularity
    return tuple(constant(np.flatnonzero(size > 1e-12)) for size in sizes)


@lru_cache(maxsize=64)
def plane_axes(
    model: Model,
    points: tuple[str, ...],
    normal: tuple[float, ...] | None = None,
    radii: tuple[Around, ...] | None = None,
) -> tuple[np.ndarray, ...]:
    """:func:`moving_axes` of a plane: 0 its normal, 1 and 2 its tangents."""
    axes = tuple(tuple(float(x) for x in row) for row in plane(model, normal).axes)
    return moving_axes(model, points, axes, radii)
