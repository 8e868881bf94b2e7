"""What may touch, as the links move that carry it: rows of Jacobians that many points of one sole share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import any_nonzero, concatenate, skew
from ..dynamics.geometry import Geometry, geometry
from ..model import Model, State
from .points import Ground
from .reactions import Lever


class Footing(NamedTuple):
    """Points at a state; lists have an entry for each."""

    heights: list[Any]
    """m: over the ground"""
    J: list[Any]
    """``k x nv`` for each link, or for each point where it has few"""
    levers: list[Lever]
    """how the rows of each point move with these"""


def footing(
    model: Model,
    state: State,
    points: Sequence[str],
    ground: Ground,
    radii: Sequence[float],
    axes: Sequence[np.ndarray],
) -> Footing:
    """``axes`` says which of normal and tangents each point has rows for.

    Where points of a link have more rows than it has ways to move, they move with its twist ``[v; w]`` (world axes, at
    the first of them): ``u = A (v + w x p)`` along the axes ``A`` of the ground.
    """
    geo, frames, R = geometry(model, state), [model.frame(place) for place in points], state.pose[:3, :3]
    links = [model.link_index(frame.link) for frame in frames]
    heights, levers, J = dict[int, Any](), dict[int, Lever](), list[Any]()
    for link in dict.fromkeys(links):
        mine = [i for i, other in enumerate(links) if other == link]
        centers, X = {i: frames[i].placement[:3, 3] for i in mine}, {}
        first, twist = _twist(geo, R, link, centers[mine[0]])
        for i in mine:
            p = (R @ geo.poses[link][:3, :3]) @ (centers[i] - centers[mine[0]])
            site = ground.site(state.pose[:3, 3] + first + p, radii[i])
            A = site.axes[axes[i]]
            heights[i], X[i] = site.height, concatenate([A, A @ skew(radii[i] * site.axes[0] - p)], axis=1)
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
    return Footing([heights[i] for i in range(len(points))], J, [levers[i] for i in range(len(points))])


def _twist(geo: Geometry, R: Any, link: int, center: Any) -> tuple[Any, Any]:
    """From the base to a point of a link (3, world axes), and its Jacobian ``[v; w]`` (6 x nv) there."""
    s, p = geo.places.columns(geo.moving(link, geo.axes)), geo.poses[link][:3, :3] @ center + geo.poses[link][:3, 3]
    return R @ p, concatenate([R @ (s[:3] - skew(p) @ s[3:]), R @ s[3:]])
