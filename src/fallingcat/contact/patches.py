"""Patches: contact points of a link that lie together, left out of a step where all are high above the ground.

A robot has points all over its links and stands on a few of them.  The height of its lowest point tells whether a patch
may touch in a step; the others cost no more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, branch, cross, minimum
from ..dynamics.spatial import motion_to_child
from ..dynamics.sweeps import nodes, outward
from ..geometry.contact_points import Ground
from ..model import Model, State

MIN_POINTS = 4
"""Points of a link from which on they are put into patches."""
PATCH_POINTS, LINK_PATCHES = 2, 6
"""Points of a patch at most, or more where a link would have more patches than about these: three points of a foot that
touch are in as many patches, and each patch takes a comparison and some sums."""
CLEARANCE = 5e-3
"""m: height that a patch keeps over the ground in a step for which it is left out, beside twice the way that it moves.
At 1 ms an impact would have to change its velocity by 5 m/s in one step; such steps are found, and taken in parts."""


class LinkPatches(NamedTuple):
    """Patches of a link, in a ball that moves with it."""

    link: int
    patches: list[list[int]]
    """indices of the points of each"""
    center: np.ndarray
    """``3``: of the ball, in the link frame"""
    radius: float
    """m"""

    def margin(self, speed: Any, spin: Any, dt: Any, part: float = 1.0) -> Any:
        """Height (m) from which on a point stays above the ground for ``dt`` (s), with a ``part`` of the clearance.

        Args:
            speed: Of the center along the normal (m/s).
            spin: Angular velocity (3, rad/s) along normal and tangents.
            dt: Time (s).
            part: Of :data:`CLEARANCE`.
        """
        turning = self.radius * (absolute(spin[1]) + absolute(spin[2]))
        return dt * (turning - minimum(speed, 0.0)) + part * CLEARANCE


def patches_of(model: Model, points: Sequence[str]) -> list[LinkPatches]:
    """Patches of links with many points; points of other links are in none.

    Args:
        model: Robot.
        points: Names of frames.

    Returns:
        Patches, link by link.

    Example:
        >>> import fallingcat as fc
        >>> model, corners = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.2, 0.1))
        >>> [on_link.patches for on_link in patches_of(model, corners)]
        [[[1, 2], [0, 3]]]
    """
    on_link: dict[str, list[int]] = {}
    frames = [model.frame(name) for name in points]
    for i, frame in enumerate(frames):
        on_link.setdefault(frame.link, []).append(i)
    places, found = [frame.placement[:3, 3] for frame in frames], []
    for link, mine in on_link.items():
        if len(mine) >= MIN_POINTS:
            corners = np.array([places[i] for i in mine])
            center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            radius = float(np.linalg.norm(corners - center, axis=1).max())
            most = max(PATCH_POINTS, -(-len(mine) // LINK_PATCHES))
            found.append(LinkPatches(model.link_index(link), _clusters(mine, places, most), center, radius))
    return found


def margins(
    model: Model, ground: Ground, state: State, found: Sequence[LinkPatches], dt: Any, part: float = 1.0
) -> list[Any]:
    """:meth:`LinkPatches.margin` (m) of each link at a state."""
    tree = nodes(model, state)
    poses = outward(tree, state.pose, lambda node, H: H @ node.H)
    start = model.base.selection @ state.twist
    twists = outward(tree, start, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
    heights = []
    for on_link in found:
        pose, twist = poses[on_link.link], twists[on_link.link]
        axes = ground.site(pose[:3, 3]).axes @ pose[:3, :3]
        arm, v, spin = (axes @ x for x in (on_link.center, twist[:3], twist[3:]))
        heights.append(on_link.margin((v + cross(spin, arm))[0], spin, dt, part))
    return heights


def _clusters(points: list[int], places: Sequence[np.ndarray], most: int) -> list[list[int]]:
    """Points halved along the longest side of their box until no part has more than ``most``."""
    if len(points) <= most:
        return [sorted(points)]
    corners = np.array([places[i] for i in points])
    longest = int(np.argmax(np.ptp(corners, axis=0)))
    order = sorted(points, key=lambda i: (places[i][longest], i))
    half = len(order) // 2
    return [*_clusters(order[:half], places, most), *_clusters(order[half:], places, most)]


def guarded(near: Any, x: Any, other: Any = 0.0) -> Any:
    """``x`` of a patch where it is near (None: it always is), else the ``other``."""
    return x if near is None else branch(near, x, other)


def summed(nears: Sequence[Any], terms: Sequence[Any], start: Any = 0.0) -> Any:
    """Sum of the terms of points, patch by patch, as ``nears`` says."""
    parts: dict[int, list[int]] = {}
    for i, near in enumerate(nears):
        parts.setdefault(id(near), []).append(i)
    for part in parts.values():
        start = start + guarded(nears[part[0]], sum((terms[i] for i in part[1:]), start=terms[part[0]]))
    return start
