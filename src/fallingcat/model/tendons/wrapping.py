"""Shortest way of a cord around a sphere or a cylinder, without a branch on values.

In the plane of the circle two tangents lead from each end to it.  A cord whose straight line meets the circle goes
around it the shorter way; the other way, whether its line meets the circle or not, where a side point lies behind the
center as both ends see it (between the rays opposite to them): the rule of MuJoCo 4.  A cord that does not touch takes
the straight line: then both points of tangency are its middle, and the arc between them is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import absolute, arctan2, cross, less, less_equal, scale, sqrt, stack, where
from ...arrays.types import Scalar, Vector

NEWTON_STEPS = 6
"""Steps after which the point at which a cord bends inside a ring is known to rounding."""
MIN_LENGTH = 1e-15
"""Lengths (m) and squares below which there is no direction."""


def wrap_around(
    kind: str, a: Vector, b: Vector, radius: float, side: Vector | None = None
) -> tuple[Vector, Vector, Scalar]:
    """Points at which a cord from ``a`` to ``b`` touches a sphere or cylinder, and the length between them.

    Args:
        kind: ``sphere`` around the origin, or ``cylinder`` around the z axis.
        a: First end, 3 (m).
        b: Second end, 3 (m).
        radius: m.
        side: Point on whose side the cord passes, 3 (m), outside of the shape; None: the shorter way.

    Returns:
        Both points (3 each), and the length (m) of the cord on the surface; the middle of the line twice, and 0,
        where it does not touch.

    Example:
        >>> p, q, arc = wrap_around("sphere", np.array([-2.0, 0.5, 0.0]), np.array([2.0, 0.5, 0.0]), 1.0)
        >>> bool(p[1] > 0.0), bool(np.isclose(p @ p, 1.0)), bool(arc > 0.0)
        (True, True, True)
    """
    first, second = _axes(a, b) if kind == "sphere" else (np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    d0, d1 = stack([a @ first, a @ second]), stack([b @ first, b @ second])
    towards = None if side is None else stack([side @ first, side @ second])
    p, q, arc, touches = _circle(d0, d1, radius, towards)
    P = scale(p[0], first) + scale(p[1], second)
    Q = scale(q[0], first) + scale(q[1], second)
    if kind == "cylinder":
        P, Q, arc = _climb_heights(a, b, d0, d1, P, Q, arc)
    middle = scale(0.5, a + b)
    return where(touches, P, middle), where(touches, Q, middle), where(touches, arc, 0.0 * arc)


def pass_through(kind: str, a: Vector, b: Vector, radius: float) -> tuple[Vector, Vector, Scalar]:
    """Points at which a cord from ``a`` to ``b`` passes a ring on its inner side, as :func:`wrap_around` returns them.

    It bends at the point of the circle at which its way is shortest, if its straight line misses the circle.

    Args:
        kind: ``sphere`` around the origin, or ``cylinder`` around the z axis.
        a: First end, 3 (m).
        b: Second end, 3 (m).
        radius: m.

    Returns:
        The point twice (3 each), and the length 0.

    Example:
        >>> p, _, _ = pass_through("cylinder", np.array([-1.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0]), 1.0)
        >>> p.round(9) + 0.0
        array([0., 1., 0.])
    """
    first, second = _axes(a, b) if kind == "sphere" else (np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    d0, d1 = stack([a @ first, a @ second]), stack([b @ first, b @ second])
    square, dif = radius * radius, d1 - d0
    dd = dif @ dif
    share = -(d0 @ dif) / where(less(MIN_LENGTH, dd), dd, 1.0 + 0.0 * dd)
    share = where(less(share, 0.0), 0.0 * share, where(less(1.0, share), 1.0 + 0.0 * share, share))
    nearest = d0 + scale(share, dif)
    bends = _all(less(square, d0 @ d0), less(square, d1 @ d1), less(square, nearest @ nearest))
    p = _shortest(d0, d1, radius)
    P = scale(p[0], first) + scale(p[1], second)
    if kind == "cylinder":
        P = _climb_heights(a, b, d0, d1, P, P, 0.0)[0]
    middle, touches = scale(0.5, a + b), less(0.5, bends)
    P = where(touches, P, middle)
    return P, P, 0.0 * dd


def _shortest(d0: Any, d1: Any, radius: float) -> Any:
    """Point of a circle with the least sum of distances to two points outside of it: Newton's method on its angle."""
    p = scale(radius, _unit(_unit(d0) + _unit(d1)))
    for _ in range(NEWTON_STEPS):
        slope, bend = 0.0, 0.0
        tangent = stack([-p[1], p[0]])
        for end in (d0, d1):
            distance = _norm(end - p)
            u = scale(1.0 / distance, end - p)
            along = u @ tangent
            slope, bend = slope - along, bend + (radius * radius - along * along) / distance + u @ p
        turn = -slope / bend
        p = scale(radius, _unit(p + scale(turn, tangent)))  # the tangent of the angle: the same to second order
    return p


def _climb_heights(a: Any, b: Any, d0: Any, d1: Any, P: Any, Q: Any, arc: Any) -> tuple[Any, Any, Any]:
    """Heights of the points along a cylinder: a cord climbs evenly along its way in the plane."""
    before, behind = _norm(d0 - P[:2]), _norm(d1 - Q[:2])
    slope = (b[2] - a[2]) / (before + arc + behind)
    P = stack([P[0], P[1], a[2] + slope * before])
    Q = stack([Q[0], Q[1], a[2] + slope * (before + arc)])
    climb = Q[2] - P[2]
    return P, Q, sqrt(arc * arc + climb * climb + MIN_LENGTH**2)


def _axes(a: Any, b: Any) -> tuple[Any, Any]:
    """Two unit vectors in the plane of the center of a sphere and both ends, the first towards ``a``."""
    first, normal = _unit(a), cross(a, b)
    x, y, z = absolute(first[0]), absolute(first[1]), absolute(first[2])
    one, none = 1.0 + 0.0 * x, 0.0 * x
    largest_z = where(less(x, z), where(less(y, z), one, none), none)
    largest_y = where(less(x, y), one - largest_z, none)
    other = stack(
        [largest_z + largest_y, one - largest_y, one - largest_z]
    )  # of ends in line with the center: any plane
    normal = where(less(normal @ normal, MIN_LENGTH**2), cross(first, other), normal)
    return first, cross(_unit(normal), first)


def _circle(d0: Any, d1: Any, radius: float, side: Any) -> tuple[Any, Any, Any, Any]:
    """Both points on the circle (2 each), the length between them, and whether the cord touches at all."""
    square, dif, turn = radius * radius, d1 - d0, _cross(d0, d1)
    s0, s1, dd = d0 @ d0, d1 @ d1, dif @ dif
    outside = _all(less_equal(square, s0), less_equal(square, s1), less(MIN_LENGTH, dd))
    out = less(0.5, outside)
    s0, s1, dd = (where(out, x, 1.0 + square + 0.0 * x) for x in (s0, s1, dd))
    share = -(d0 @ dif) / dd
    share = where(less(share, 0.0), 0.0 * share, where(less(1.0, share), 1.0 + 0.0 * share, share))
    nearest = d0 + scale(share, dif)
    held = where(less(square, nearest @ nearest), 0.0, 1.0)
    sign = where(less(0.0, turn), -1.0, 1.0)  # -1 goes around counterclockwise
    if side is not None:  # behind the center, as both ends see it: the other way around
        far = _all(less(turn * _cross(side, d1), 0.0), less(turn * _cross(d0, side), 0.0))
        held, sign = held + far - held * far, sign * (1.0 - 2.0 * far)
    t0, t1 = (sign * radius * sqrt(where(out, x - square, 1.0 + 0.0 * x) + MIN_LENGTH**2) for x in (s0, s1))
    p = stack([(square * d0[0] + t0 * d0[1]) / s0, (square * d0[1] - t0 * d0[0]) / s0])
    q = stack([(square * d1[0] - t1 * d1[1]) / s1, (square * d1[1] + t1 * d1[0]) / s1])
    angle = arctan2(-sign * _cross(p, q), p @ q)
    arc = radius * where(less(angle, 0.0), angle + 2.0 * np.pi, angle)
    return p, q, arc, less(0.5, outside * held)


def _cross(a: Any, b: Any) -> Any:
    return a[0] * b[1] - a[1] * b[0]


def _all(*conditions: Any) -> Any:
    """1 where all conditions hold, else 0."""
    value: Any = 1.0
    for condition in conditions:
        value = where(condition, value, 0.0)
    return value


def _norm(x: Any) -> Any:
    return sqrt(x @ x + MIN_LENGTH**2)


def _unit(x: Any) -> Any:
    return scale(1.0 / _norm(x), x)
