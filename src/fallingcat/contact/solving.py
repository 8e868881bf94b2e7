"""Equations of contacts that may be redundant, and the check that they can be met together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays import is_numeric, scale, solve, solve_tree
from ..dynamics import mass_matrix
from ..dynamics.sweeps import places_above
from ..errors import NumericsError
from ..model import Model, State
from .points import Plane, point_jacobian

REGULARISATION = 1e-6
"""of the contacts' inverse inertia, relative to its mean diagonal"""
CORRECTIONS = 5
CONTRADICTION = 1e-7
"""What rows cannot meet together, relative to what they demand, before that is an error."""


def minimum_norm(G: Any, b: Any) -> Any:
    """The shortest ``x`` with ``G x = b``, for a positive semi-definite ``G`` whose range holds ``b``.

    Proximal iteration ``x <- x + (G + eps)^-1 (b - G x)`` from zero.  Parts of ``b`` along an eigenvector of ``G``
    converge by the factor ``eps / (eigenvalue + eps)`` each time, and nothing ever leaves the range of ``G``: where
    rows of contacts depend on each other, this is the solution of least norm.  No decision is taken on a value, so that
    it runs on every kind of number.

    >>> minimum_norm(np.ones((2, 2)), np.array([4.0, 4.0])).round(9)
    array([2., 2.])
    """
    if not len(b):
        return b
    near = regularised(G)
    x = solve(near, b)
    for _ in range(CORRECTIONS):
        x = x + solve(near, b - G @ x)
    return x


def within_range(G: Any, b: Any) -> Any:
    """``b`` without what ``G`` cannot reach: ``G (G + eps)^-1 b``, right to a relative ``eps / eigenvalue``."""
    return G @ solve(regularised(G), b) if len(b) else b


def regularised(G: Any) -> Any:
    """``G + eps``, with ``eps`` a small part of the mean of its diagonal."""
    size = len(G)
    mean = sum((G[i, i] for i in range(1, size)), start=G[0, 0]) * (1.0 / size)
    return G + scale(REGULARISATION * mean, np.eye(size))


def response(model: Model, state: State, forces: Any) -> Any:
    """``M^-1 forces`` (nv x k): the accelerations that generalised forces (nv x k) cause, from tips to base."""
    return solve_tree(mass_matrix(model, state), forces, places_above(model))


def check_consistent(J: Any, demand: Any, names: Sequence[str], what: str) -> None:
    """An error that names the points whose rows of ``J x = demand`` cannot hold together; on numbers only.

    ``names`` has one entry for each row.
    """
    if not (len(J) and is_numeric(J) and is_numeric(demand)):
        return
    U, s, _ = np.linalg.svd(np.real(J))
    rank = int((s > 1e-9 * s[0]).sum()) if s[0] > 0.0 else 0
    beyond = U[:, rank:] @ (U[:, rank:].T @ np.real(demand))
    allowed = CONTRADICTION * max(1.0, float(np.abs(demand).max(initial=0.0)))
    worst = float(np.abs(beyond).max(initial=0.0))
    if worst > allowed:
        points = sorted({name for name, x in zip(names, beyond, strict=True) if abs(x) > allowed}, key=names.index)
        raise NumericsError(f"{what} of {', '.join(points)} contradict each other: no motion meets all", value=worst)


@lru_cache(maxsize=64)
def moving_axes(model: Model, points: tuple[str, ...], axes: tuple[tuple[float, ...], ...]) -> tuple[list[int], ...]:
    """For each point the axes (rows, world) along which it can move at all.

    A planar robot cannot leave its plane, a fixed base not at all: such rows of the Jacobian are zero whatever the
    state, which a few random states tell.
    """
    rng, directions = np.random.default_rng(0), np.array(axes)
    states = [model.random_state(rng) for _ in range(3)]
    found = []
    for place in points:
        sizes = np.max(
            [np.abs(directions @ point_jacobian(model, s, place)).max(axis=1, initial=0.0) for s in states], 0
        )
        found.append([int(i) for i in np.flatnonzero(sizes > 1e-12)])
    return tuple(found)


def plane_axes(model: Model, points: tuple[str, ...], ground: Plane) -> tuple[list[int], ...]:
    """:func:`moving_axes` of a plane: 0 its normal, 1 and 2 its tangents."""
    return moving_axes(model, points, tuple(tuple(float(x) for x in row) for row in ground.axes))
