"""Impacts: velocities that change at once ([ETH] 3.7.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....arrays import concatenate, is_numeric
from ....arrays.types import Matrix_points_3, Scalar
from ....constraints.redundant_constraints import (
    Response,
    check_consistent,
    check_resolved,
    plane_axes,
    solve_constraint_forces,
    tree_response,
)
from ....dynamics import kinetic_energy
from ....dynamics.checks import check_robot
from ....errors import ModelError, NumericsError
from ....geometry.contact_points import checked_points, named_points, plane, point_jacobian, stack_rows
from ....model import Model, State
from ....records import concise
from .complementarity import OPEN, STICK, UNBOUNDED_FRICTION, Collision

MAX_ENERGY_GAIN = 1e-12
"""Kinetic energy, relative to what there was, that rounding may seem to create."""


@concise
class Impact(NamedTuple):
    """Result of an impact.

    Example:
        >>> from fallingcat.model import robots
        >>> ball = robots.free_body()
        >>> impact(ball, ball.state(twist=[0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), ["body"]).status
        ('stick',)
    """

    state: State
    """the same configuration, with the velocities after"""
    impulses: Matrix_points_3
    """``points x 3``: on the robot at each point, in the world (N s)"""
    loss: Scalar
    """lost kinetic energy (J), never negative"""
    status: tuple[str, ...] = ()
    """status of each point: stick, slide or open"""


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
    """State after points have hit the ground simultaneously ([ETH] (3.66)-(3.72)).

    ``M (v+ - v-) = J' impulses``: without restitution the points come to rest, ``J v+ = 0``, and the loss is
    ``1/2 v_s' Lambda v_s`` with ``v_s = J v-`` and ``Lambda = (J M^-1 J')^-1``; with it ``v+_n = -restitution v-_n``.

    Points push and do not pull: those that would have to are released, and friction bounds the tangential impulses of
    the others; see :class:`.Collision`.  Redundant points share the impulses of least norm.  Newton's law can create
    energy where normal and tangential motion are coupled: then the restitution is lowered until none is created.

    Args:
        model: Robot.
        state: State before the impact.
        points: Links or frames whose origins hit the ground.
        restitution: Newton's coefficient from 0 to 1, one number or one for each point.
        friction: Coulomb's coefficient; None: points that touch stick.
        pulling: Every point comes to rest, as if glued, which works on every kind of number.
        normal: Normal of the ground (3, world); None: against gravity.

    Returns:
        State after the impact, impulses (points x 3, N s, world) and lost energy (J).

    Example:
        >>> from fallingcat.model import robots
        >>> ball = robots.free_body()
        >>> hit = impact(ball, ball.state(twist=[0.0, 0.0, -2.0, 0.0, 0.0, 0.0]), ["body"], restitution=0.5)
        >>> [round(float(x), 12) for x in (hit.state.twist[2], hit.impulses[0, 2], hit.loss)]
        [1.0, 6.0, 3.0]
    """
    points = named_points(points)
    checked_points(model, points)
    check_robot(model, state)
    elastic = restitutions(restitution, points)
    if friction is not None and not (isinstance(friction, (int, float, np.floating)) and 0.0 <= friction < np.inf):
        raise ModelError(f"friction is a finite number that is not negative, not {friction!r}")
    ground = plane(model, normal)
    axes = plane_axes(model, points, normal)
    parts = [ground.axes[a] @ point_jacobian(model, state, place) for a, place in zip(axes, points, strict=True)]
    hit = touching(model, points, parts, [ground.axes[a] for a in axes])
    elastic = elastic * np.array([0 in a for a in axes])
    if pulling or not is_numeric(hit.J):
        return _sticking_impact(model, state, hit, elastic)
    return pushing(model, state, tree_response(model, state), hit, elastic, friction)


class Touching(NamedTuple):
    """Points that take part in an impact."""

    points: tuple[str, ...]
    J: Any
    """the rows of all, one point after the other, the normal first"""
    rows: tuple[list[int], ...]
    """indices of the rows of each point"""
    directions: np.ndarray
    """``rows x 3``: of the rows, in the world"""


def touching(model: Model, points: Sequence[str], parts: list[Any], directions: list[np.ndarray]) -> Touching:
    """Points that touch, given ``J`` and the directions (world) of each."""
    ends = np.cumsum([0, *map(len, parts)])
    rows = tuple(list(range(a, b)) for a, b in pairwise(ends))
    return Touching(tuple(points), stack_rows(parts, model.nv), rows, np.concatenate([np.zeros((0, 3)), *directions]))


def switch(model: Model, state: State, closed_before: Sequence[str], closed_after: Sequence[str]) -> Impact:
    """Change of the set of closed points, for planners: released points go on, new ones hit without bouncing.

    The points of ``closed_after`` are at rest afterwards, whether they would have to pull or not.  Without a new point
    nothing changes.  Works on every kind of number.

    Args:
        model: Robot.
        state: State before the switch.
        closed_before: Points closed before.
        closed_after: Points closed after.

    Returns:
        State after the switch, impulses (points x 3, N s, world) and lost energy (J).

    Example:
        >>> import numpy as np
        >>> from fallingcat.model import robots
        >>> dog = robots.quadruped()
        >>> trot = dog.state(twist=[0.5, 0.0, -0.2, 0.0, 0.0, 0.0])
        >>> feet = ("front_left_foot", "rear_right_foot")
        >>> landed = switch(dog, trot, (), feet)
        >>> bool(landed.loss > 0.0), switch(dog, landed.state, feet, feet[:1]).loss
        (True, 0.0)
    """
    closed_before, closed_after = named_points(closed_before), named_points(closed_after)
    checked_points(model, closed_before)
    checked_points(model, closed_after)
    if set(closed_after) <= set(closed_before):
        return Impact(state, np.zeros((len(closed_after), 3)), 0.0, (STICK,) * len(closed_after))
    return impact(model, state, closed_after, pulling=True)


def restitutions(restitution: float | Sequence[float], points: Sequence[str]) -> np.ndarray:
    """One coefficient for each point, between 0 and 1."""
    try:
        given = np.array(restitution, dtype=float)
    except (TypeError, ValueError, OverflowError):
        given = np.array(np.nan)
    if given.shape not in ((), (len(points),)) or not ((given >= 0.0) & (given <= 1.0)).all():
        raise ModelError(
            f"restitution is a number from 0 to 1, or one for each of {len(points)} points: {restitution!r}"
        )
    return np.array(np.broadcast_to(given, (len(points),)))


def _sticking_impact(model: Model, state: State, hit: Touching, elastic: np.ndarray) -> Impact:
    """All points at rest, or thrown back by their restitution."""
    v = state.velocity
    before = hit.J @ v
    bounce = np.zeros(len(hit.directions))
    for own, e in zip(hit.rows, elastic, strict=True):
        bounce[own[:1]] = e
    names = [place for place, own in zip(hit.points, hit.rows, strict=True) for _ in own]
    check_consistent(hit.J, before * (1.0 + bounce), names, "the velocities after the impact")
    held = solve_constraint_forces(tree_response(model, state), hit.J, hit.J, v, -before * bounce)
    check_resolved(held, hit.points, "the impulses")
    return _impact_result(model, state, held.motion, held.forces, hit, (STICK,) * len(hit.points))


def pushing(model: Model, state: State, respond: Response, hit: Touching, elastic: np.ndarray, friction: Any) -> Impact:
    """Points that only push; restitution as large as energy allows; friction is one number or one for each point."""
    MinvJt, before = respond(hit.J.T), hit.J @ state.velocity
    G = hit.J @ MinvJt
    movable = [i for i, own in enumerate(hit.rows) if own]
    own_rows = tuple(hit.rows[i] for i in movable)
    each = [friction[i] for i in movable] if isinstance(friction, list) else [friction] * len(movable)
    mu = None if all(x is None for x in each) else np.array([UNBOUNDED_FRICTION if x is None else x for x in each])

    def at(share: float) -> Impact:
        target = np.array([-share * elastic[i] * min(float(before[hit.rows[i][0]]), 0.0) for i in movable])
        # rounding makes J M^-1 J' unsymmetric, and the solver factors it as a symmetric matrix
        found = Collision(0.5 * (G + G.T), before, own_rows, target, mu).solve()
        status = [OPEN] * len(hit.rows)
        for i, s in zip(movable, found.status, strict=True):
            status[i] = s
        after = state.velocity + MinvJt @ found.impulse
        return _impact_result(model, state, after, found.impulse, hit, tuple(status))

    energy = MAX_ENERGY_GAIN * max(float(kinetic_energy(model, state)), 1e-300)
    best = at(1.0)
    low, high = 0.0, 1.0  # without restitution an impact takes energy, so some share in between gives none
    while best.loss < -energy and high - low > 1e-9:
        share = 0.5 * (low + high)
        tried = at(share)
        low, high, best = (share, high, best) if tried.loss >= -energy else (low, share, tried)
    best = at(low) if best.loss < -energy else best
    if best.loss < -energy:
        raise NumericsError(f"an impact of {', '.join(hit.points)} would create energy", value=-best.loss)
    return best._replace(loss=max(best.loss, 0.0))


def _impact_result(model: Model, state: State, after: Any, x: Any, hit: Touching, status: tuple[str, ...]) -> Impact:
    """Velocities, impulses in the world, and ``loss = -x' J (v- + v+) / 2``."""
    v = state.velocity
    loss = -0.5 * (x @ (hit.J @ (v + after))) if len(hit.J) else 0.0
    impulses = [hit.directions[own].T @ x[np.array(own)] if own else np.zeros(3) for own in hit.rows]
    world = concatenate([np.zeros((0, 3)), *(np.reshape(i, (1, 3)) for i in impulses)])
    moved = state._replace(twist=after[: model.m], rates=after[model.m :])
    return Impact(moved, world, float(loss) if is_numeric(loss) else loss, status)
