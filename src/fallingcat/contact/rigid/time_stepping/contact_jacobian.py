"""Contact Jacobians by the links that carry the points: rows that many points of one sole share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....arrays import any_nonzero, concatenate, skew
from ....dynamics.geometry import Geometry, geometry
from ....geometry.contact_points import Ground, touching
from ....geometry.ellipsoids import Around
from ....model import Model, State
from ...patches import LinkPatches, patches_of
from ..solvers.delassus import DenseJacobian, Jacobian, Lever
from ..solvers.link_twists import TreeJacobian

DENSE_ROWS = 12, 0.55
"""Rows of the Jacobian, at least and per degree of freedom, up to which a dense Delassus matrix takes fewer operations
than articulated bodies (counted for robots with 18 to 36 degrees of freedom)."""


class StackedJacobian(NamedTuple):
    """Points at a state; lists have an entry for each."""

    heights: list[Any]
    """m: over the ground"""
    jacobian: Jacobian
    """Jacobian of the twists of links, or of points where a link has few"""
    levers: list[Lever]
    """maps from these to the rows of each point"""
    patches: Sequence[LinkPatches] = ()
    """points on flat ground that may be left out together"""


def stacked_jacobian(
    model: Model,
    state: State,
    points: Sequence[str],
    ground: Ground,
    radii: Sequence[Around],
    axes: Sequence[np.ndarray],
    further: int = 0,
) -> StackedJacobian:
    """Contact points with their levers on the links that carry them.

    Args:
        model: Robot.
        state: Configuration.
        points: Names of frames.
        ground: Shape of the ground.
        radii: Of balls around the points (m), or ellipsoids.
        axes: Which of normal and tangents each point has rows for.
        further: Number of rows that are still to come: joint stops, loops, dry friction.
    """
    links = [model.link_index(model.frame(place).link) for place in points]
    rows = {link: sum(len(axes[i]) for i, other in enumerate(links) if other == link) for link in dict.fromkeys(links)}
    least, share = DENSE_ROWS
    few = sum(min(6, count) for count in rows.values()) + further <= max(least, share * model.nv)
    on = (_dense_jacobian if few else _tree_jacobian)(model, state, points, links, ground, radii, axes)
    return on._replace(patches=patches_of(model, points, radii)) if points and ground.flat else on


def _tree_jacobian(
    model: Model,
    state: State,
    points: Sequence[str],
    links: Sequence[int],
    ground: Ground,
    radii: Sequence[Around],
    axes: Sequence[np.ndarray],
) -> StackedJacobian:
    """All points move with the twists of their links at the base: ``u = A (v + w x p)`` along the axes ``A``."""
    carrying = list(dict.fromkeys(links))
    jacobian = TreeJacobian.at(model, state, carrying)
    heights, levers = [], []
    for i, link in enumerate(links):
        H = jacobian.geo.poses[link] @ model.frame(points[i]).placement
        site, lever = touching(ground, _moved(H, state.pose[:3, 3]), radii[i])
        A, start = site.axes[axes[i]], 6 * carrying.index(link)
        X = concatenate([A, A @ skew(-(H[:3, 3] + lever))], axis=1)
        heights.append(site.height)
        levers.append(Lever(slice(start, start + 6), X))
    return StackedJacobian(heights, jacobian, levers)


def _dense_jacobian(
    model: Model,
    state: State,
    points: Sequence[str],
    links: Sequence[int],
    ground: Ground,
    radii: Sequence[Around],
    axes: Sequence[np.ndarray],
) -> StackedJacobian:
    """Stacked Jacobian whose points share the twist of their link where they have more rows than it has ways to move.

    With the twist ``[v; w]`` (world axes, at the first of them), ``u = A (v + w x p)`` along the axes ``A`` of the
    ground.
    """
    geo, frames, R = geometry(model, state), [model.frame(place) for place in points], state.pose[:3, :3]
    heights, levers, J = dict[int, Any](), dict[int, Lever](), [np.zeros((0, model.nv))]
    for link in dict.fromkeys(links):
        mine = [i for i, other in enumerate(links) if other == link]
        centers, X = {i: frames[i].placement[:3, 3] for i in mine}, {}
        first, twist = _twist(geo, R, link, centers[mine[0]])
        for i in mine:
            turn = R @ geo.poses[link][:3, :3]
            p = turn @ (centers[i] - centers[mine[0]])
            pose = concatenate([turn @ frames[i].placement[:3, :3], np.reshape(p, (3, 1))], axis=1)
            site, lever = touching(ground, _moved(pose, state.pose[:3, 3] + first), radii[i])
            A = site.axes[axes[i]]
            heights[i], X[i] = site.height, concatenate([A, A @ skew(-(p + lever))], axis=1)
        ways = [k for k in range(6) if any_nonzero(twist[k])]
        shared = sum(len(x) for x in X.values()) > len(ways)
        for i in mine:
            start = sum(map(len, J))
            if shared:
                levers[i] = Lever(slice(start, start + len(ways)), X[i][:, ways])
            else:
                levers[i] = Lever(slice(start, start + len(X[i])), None)
                J.append(X[i] @ twist)
        if shared:
            J.append(twist[ways])
    order = range(len(points))
    return StackedJacobian(
        [heights[i] for i in order], DenseJacobian(model, state, concatenate(J)), [levers[i] for i in order]
    )


def _moved(pose: Any, way: Any) -> Any:
    """Pose (its upper rows) moved by a way (3, m)."""
    return concatenate([pose[:3, :3], np.reshape(way + pose[:3, 3], (3, 1))], axis=1)


def _twist(geo: Geometry, R: Any, link: int, center: Any) -> tuple[Any, Any]:
    """Vector from the base to a point of a link (3, world axes), and its Jacobian ``[v; w]`` (6 x nv) there."""
    s, p = (
        geo.places.columns(geo.mask_moving_joints(link, geo.axes)),
        geo.poses[link][:3, :3] @ center + geo.poses[link][:3, 3],
    )
    return R @ p, concatenate([R @ (s[:3] - skew(p) @ s[3:]), R @ s[3:]])
