"""Relative motion of bodies at the points where they touch, or would."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..arrays import concatenate, cross, scale, skew
from ..dynamics.geometry import Geometry, geometry
from ..dynamics.sweeps import ancestors
from ..model import Model, State
from .body_pairs import BodyPair, couples, pair_margins
from .collision_pairs import Side
from .manifold import manifolds, tangent_axes


class BodyTouch(NamedTuple):
    """A pair of bodies at a state.  Forces act on the second, and their opposites on the first."""

    sides: tuple[Side, Side]
    J: Any
    """``6 x nv``: relative twist ``[v; w]`` of the second body at :attr:`center`, in world axes"""
    center: Any
    """3 (m): of the second shape, world"""
    arms: list[Any]
    """3 (m) each: from it to the points, in world axes"""
    heights: Any
    """``k`` (m): how far the surfaces are apart at the points, less the margin"""
    axes: Any
    """``3 x 3``: the normal towards the second body, then two tangents, as rows (world)"""
    margin: float
    """m: distance of the surfaces at which contact begins"""

    def to_core(self, k: int) -> Any:
        """Distance (m) from the place of touch to the core of a round shape, of the first or second side."""
        return self.sides[k].solid.radius + 0.5 * self.margin

    def lever(self, arm: Any) -> Any:
        """``3 x 6``: from the relative twist to the velocity of a point along the axes."""
        return concatenate([self.axes, scale(-1.0, self.axes @ skew(arm))], axis=1)


def body_touches(model: Model, state: State, pairs: tuple[BodyPair, ...]) -> list[BodyTouch]:
    """All pairs of bodies at a state; velocities are not used."""
    geo = geometry(model, state)
    R, origin, sides = state.pose[:3, :3], state.pose[:3, 3], couples(model.nominal, pairs)
    found, margins = [], pair_margins(model.nominal, pairs)
    for (a, b), (heights, normal, points), margin in zip(sides, manifolds(sides, geo.poses), margins, strict=True):
        center = b.place_solid(geo.poses)[0][:3, 3]
        J = _relative_jacobian(geo, R, a, b, center)
        arms = [R @ (p - center) for p in points]
        heights, axes = heights - margin if margin else heights, tangent_axes(R @ normal)
        found.append(BodyTouch((a, b), J, R @ center + origin, arms, heights, axes, margin))
    return found


def _relative_jacobian(geo: Geometry, R: Any, a: Side, b: Side, center: Any) -> Any:
    """``6 x nv``: twist of the second link against the first at a ``center`` (3, axes of the base), in world axes."""
    s = geo.places.columns(geo.mask_moving_joints(b.link, geo.axes)) - geo.places.columns(
        geo.mask_moving_joints(a.link, geo.axes)
    )
    return concatenate([R @ (s[:3] - skew(center) @ s[3:]), R @ s[3:]])


def nominal_rows(model: Model, state: State, pairs: tuple[BodyPair, ...]) -> np.ndarray:
    """``points x 3 x nv``: relative velocities at corners of the smaller shape of each pair, wherever they are."""
    geo, R, rows = geometry(model, state), state.pose[:3, :3], [np.zeros((0, 3, model.nv))]
    for (a, b), pair in zip(couples(model.nominal, pairs), pairs, strict=True):
        small = min((a, b), key=lambda side: side.solid.reach)
        H, half, radius = small.place_solid(geo.poses)
        J = _relative_jacobian(geo, R, a, b, H[:3, 3])
        for x, y in list(product((-1.0, 1.0), repeat=2))[: pair.points]:
            arm = R @ H[:3, :3] @ (np.array([x, y, -1.0]) * (half + radius))
            rows.append(np.asarray(J[:3] - skew(arm) @ J[3:], dtype=float)[None])
    return np.concatenate(rows)


def relative_biases(model: Model, state: State, touches: Sequence[BodyTouch]) -> list[list[Any]]:
    """Relative accelerations (3, along the axes) of the points of each pair at constant quasi-velocity.

    What is round rolls: its place of touch is held at a radius from its core, as :meth:`.PointMotion.rim` has it.
    """
    geo, R = geometry(model, state), state.pose[:3, :3]
    found = []
    for touch in touches:
        normal, center = R.T @ touch.axes[0], R.T @ (touch.center - state.pose[:3, 3])
        (a, b), biases = touch.sides, []
        for arm in touch.arms:
            p = center + R.T @ arm
            second = _bias(geo, state, b.link, p, scale(touch.to_core(1), normal))
            first = _bias(geo, state, a.link, p, scale(-touch.to_core(0), normal))
            biases.append(touch.axes @ (R @ (second - first)))
        found.append(biases)
    return found


def _bias(geo: Geometry, state: State, link: int, p: Any, to_core: Any) -> Any:
    """``3``: acceleration of the place of touch ``p`` of a link at constant quasi-velocity, in the axes of the base."""
    a, (v, w) = _drift(geo, state, link), (geo.twists[link][:3], geo.twists[link][3:])
    return a[:3] + cross(a[3:], p) + cross(w, v + cross(w, p + to_core))


def _drift(geo: Geometry, state: State, link: int) -> Any:
    """``6``: ``ds/dt v`` of the twist of a link, in the axes of the base."""
    rates = [state.twist, *(node.rates for node in geo.tree)]
    return sum((geo.axes_dot[i] @ rates[i] for i in sorted(ancestors(geo.tree, link))), start=np.zeros(6))


def link_motion(geo: Geometry, state: State, link: int, gravity: Any) -> tuple[Any, Any]:
    """``J`` (6 x nv) and ``drift`` (6) of the acceleration ``J a + drift`` of a link's origin, less gravity.

    Angular acceleration beside it, both in the frame of the link.
    """
    R, p = geo.poses[link][:3, :3], geo.poses[link][:3, 3]
    s = geo.places.columns(geo.mask_moving_joints(link, geo.axes))
    J = concatenate([R.T @ (s[:3] - skew(p) @ s[3:]), R.T @ s[3:]])
    fall = _bias(geo, state, link, p, np.zeros(3)) - state.pose[:3, :3].T @ gravity
    return J, concatenate([R.T @ fall, R.T @ _drift(geo, state, link)[3:]])
