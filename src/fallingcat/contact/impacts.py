"""Impacts: velocities that change at once ([ETH] 3.7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, is_numeric
from ..dynamics import mass_matrix
from ..dynamics.checks import check_robot
from ..errors import ModelError, NumericsError
from ..model import Model, State
from .complementarity import OPEN, STICK, Collision
from .points import checked_points, named_points, plane, point_jacobian, stacked
from .solving import check_consistent, hold, plane_axes, resolved, responding

CREATED = 1e-12
"""Kinetic energy, relative to what there was, that rounding may seem to create."""


class Impact(NamedTuple):
    """What an impact leaves."""

    state: State
    """the same configuration, with the velocities after"""
    impulses: Any
    """``points x 3``: on the robot at each point, in the world (N s)"""
    loss: Any
    """kinetic energy that is gone (J), never negative"""
    status: tuple[str, ...] = ()
    """what each point did: stick, slide or open"""


def impact(
    model: Model,
    state: State,
    points: Sequence[str],
    restitution: float | Sequence[float] = 0.0,
    friction: float | None = None,
    *,
    pulling: bool = False,
    normal: tuple[float, float, float] | None = None,
) -> Impact:
    """The state after all of ``points`` have hit the ground at once ([ETH] (3.66)-(3.72)).

    ``M (v+ - v-) = J' impulses``: without ``restitution`` the points come to rest, ``J v+ = 0``, and the loss is
    ``1/2 v_s' Lambda v_s`` with ``v_s = J v-`` and ``Lambda = (J M^-1 J')^-1``.  With it (Newton's, one number or one
    for each point) ``v+_n = -restitution v-_n`` along the normal of the ground, by default against gravity.

    Points push and do not pull: those that would have to are let go, and ``friction`` bounds what the others hold along
    the ground; see :class:`.Collision`.  With ``pulling`` every point comes to rest, as if glued, which runs on every
    kind of number.  Redundant points share the impulses of least norm.  Newton's law can create energy where normal and
    tangential motion are coupled: then the restitution is lowered until none is created.

    >>> from fallingcat.model import robots
    >>> ball = robots.free_body()
    >>> hit = impact(ball, ball.state(twist=[0.0, 0.0, -2.0, 0.0, 0.0, 0.0]), ["body"], restitution=0.5)
    >>> hit.state.twist[2], hit.impulses[0, 2], hit.loss
    (np.float64(1.0), np.float64(6.0), 3.0)
    """
    points = named_points(points)
    checked_points(model, points)
    check_robot(model, state)
    elastic = restitutions(restitution, points)
    if friction is not None and not (isinstance(friction, (int, float)) and 0.0 <= friction < np.inf):
        raise ModelError(f"friction is a finite number that is not negative, not {friction!r}")
    ground = plane(model, normal)
    axes = plane_axes(model, points, ground)
    parts = [ground.axes[a] @ point_jacobian(model, state, place) for a, place in zip(axes, points, strict=True)]
    J = stacked(parts, model.nv)
    ends = np.cumsum([0, *map(len, axes)])
    rows = tuple(list(range(a, b)) for a, b in pairwise(ends))
    directions = np.concatenate([np.zeros((0, 3)), *(ground.axes[a] for a in axes)])
    elastic = elastic * np.array([0 in a for a in axes])
    if pulling or not is_numeric(J):
        return _glued(model, state, points, J, rows, directions, elastic)
    return _pushing(model, state, points, J, rows, directions, elastic, friction)


def switch(model: Model, state: State, closed_before: Sequence[str], closed_after: Sequence[str]) -> Impact:
    """Another set of closed points, for planners: what is released goes on, what is gained hits without bouncing.

    The points of ``closed_after`` are at rest afterwards, whether they would have to pull or not: the set is the
    planner's.  Without a new point nothing changes.  Runs on every kind of number.

    >>> import numpy as np
    >>> from fallingcat.model import robots
    >>> dog = robots.quadruped()
    >>> trot = dog.state(twist=[0.5, 0.0, -0.2, 0.0, 0.0, 0.0])
    >>> feet = ("front_left_foot", "rear_right_foot")
    >>> landed = switch(dog, trot, (), feet)
    >>> bool(landed.loss > 0.0), switch(dog, landed.state, feet, feet[:1]).loss
    (True, 0.0)
    """
    checked_points(model, tuple(closed_before))
    checked_points(model, tuple(closed_after))
    if set(closed_after) <= set(closed_before):
        return Impact(state, np.zeros((len(closed_after), 3)), 0.0, (STICK,) * len(closed_after))
    return impact(model, state, closed_after, pulling=True)


def restitutions(restitution: float | Sequence[float], points: Sequence[str]) -> np.ndarray:
    """One coefficient for each point, between 0 and 1."""
    try:
        given = np.array(restitution, dtype=float)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.shape not in ((), (len(points),)) or not ((given >= 0.0) & (given <= 1.0)).all():
        raise ModelError(
            f"restitution is a number from 0 to 1, or one for each of {len(points)} points: {restitution!r}"
        )
    return np.array(np.broadcast_to(given, (len(points),)))


def _glued(
    model: Model, state: State, points: Any, J: Any, rows: Any, directions: np.ndarray, elastic: np.ndarray
) -> Impact:
    """All points at rest, or thrown back by their restitution."""
    v = state.velocity
    before = J @ v
    bounce = np.zeros(len(directions))
    for own, e in zip(rows, elastic, strict=True):
        bounce[own[:1]] = e
    names = [place for place, own in zip(points, rows, strict=True) for _ in own]
    check_consistent(J, before * (1.0 + bounce), names, "the velocities after the impact")
    held = resolved(hold(responding(model, state), J, J, v, -before * bounce), points, "the impulses")
    return _after(model, state, held.motion, held.forces, J, rows, directions, (STICK,) * len(points))


def _pushing(
    model: Model, state: State, points: Any, J: Any, rows: Any, directions: np.ndarray, elastic: np.ndarray,
    friction: float | None,
) -> Impact:  # fmt: skip
    """Points that only push; restitution as large as energy allows."""
    MinvJt, before = responding(model, state)(J.T), J @ state.velocity
    G = J @ MinvJt
    movable = [i for i, own in enumerate(rows) if own]
    own_rows = tuple(rows[i] for i in movable)

    def at(share: float) -> Impact:
        target = np.array([-share * elastic[i] * min(float(before[rows[i][0]]), 0.0) for i in movable])
        found = Collision(0.5 * (G + G.T), before, own_rows, target, friction).solve()
        status = [OPEN] * len(rows)
        for i, s in zip(movable, found.status, strict=True):
            status[i] = s
        after = state.velocity + MinvJt @ found.impulse
        return _after(model, state, after, found.impulse, J, rows, directions, tuple(status))

    energy = CREATED * max(0.5 * float(state.velocity @ mass_matrix(model, state) @ state.velocity), 1e-300)
    hit = at(1.0)
    low, high = 0.0, 1.0
    while hit.loss < -energy and high - low > 1e-9:
        share = 0.5 * (low + high)
        tried = at(share)
        low, high, hit = (share, high, hit) if tried.loss >= -energy else (low, share, tried)
    hit = at(low) if hit.loss < -energy else hit
    if hit.loss < -energy:
        raise NumericsError(f"an impact of {', '.join(points)} would create energy", value=-hit.loss)
    return hit._replace(loss=max(hit.loss, 0.0))


def _after(
    model: Model, state: State, after: Any, x: Any, J: Any, rows: Any, directions: np.ndarray, status: tuple[str, ...]
) -> Impact:
    """Velocities, impulses in the world, and ``loss = -x' J (v- + v+) / 2``."""
    v = state.velocity
    loss = -0.5 * (x @ (J @ (v + after))) if len(J) else 0.0
    impulses = [directions[own].T @ x[np.array(own)] if own else np.zeros(3) for own in rows]
    world = concatenate([np.zeros((0, 3)), *(np.reshape(i, (1, 3)) for i in impulses)])
    moved = state._replace(twist=after[: model.m], rates=after[model.m :])
    return Impact(moved, world, float(loss) if is_numeric(loss) else loss, status)
