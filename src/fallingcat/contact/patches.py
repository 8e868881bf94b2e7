"""Patches: contact points of a link that lie together, left out of a step where all are high above the ground.

A robot has points all over its links and stands on a few of them.  The height of its lowest point tells whether a patch
may touch in a step; the others cost no more than that.  Of regions of links that are high above the ground, which a
ball around their points tells, not even patches are looked at.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import absolute, branch, cross, less, minimum, where
from ..dynamics.spatial import motion_to_child
from ..dynamics.sweeps import nodes, propagate_outward
from ..geometry.contact_points import Ground
from ..geometry.ellipsoids import Around, ball_radii, extents
from ..model import Model, State

MIN_POINTS = 4
"""Points of a link from which on they are put into patches."""
PATCH_POINTS = 2
"""Points of a patch at most, twice as many on links with several regions: three points of a foot that touch are in as
many patches, and each patch takes a comparison and some sums."""
REGION_POINTS = 12
"""Points of a region of a link at most: a shank with 42 of them stands on those of its foot, and the rest is far (of 6,
12, 24 and all points, a step of a robot with 265 takes least with 12)."""
MIN_LINKS = 8
"""Regions with patches from which on each is looked at as a whole first: most are far, where it saves 0.2 us a step; it
costs 0.1 us where a region is near, as feet are."""
CLEARANCE = 5e-3
"""m: height that a patch keeps over the ground in a step for which it is left out, beside twice the way that it moves.
At 1 ms an impact would have to change its velocity by 5 m/s in one step; such steps are found, and taken in parts."""


class LinkPatches(NamedTuple):
    """Patches of a region of a link, in a ball that moves with it."""

    link: int
    patches: list[list[int]]
    """indices of the points of each"""
    center: np.ndarray
    """``3``: of the ball, in the link frame"""
    radius: float
    """m: around points and ellipsoids"""
    reach: float
    """m: around balls too, which do not move the height of what touches when they turn"""

    def bottom(self, height: Any) -> Any:
        """Height (m) of the lowest place of the ball whose center is at a ``height``."""
        return height - self.reach

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


def patches_of(model: Model, points: Sequence[str], radii: Sequence[Around]) -> list[LinkPatches]:
    """Patches of links with many points; points of other links are in none.

    Args:
        model: Robot.
        points: Names of frames.
        radii: Radii of balls around them (m), or ellipsoids.

    Returns:
        Patches, region by region of each link.

    Example:
        >>> import fallingcat as fc
        >>> model, corners = fc.contact.corners(fc.robots.humanoid(), "left_sole", (0.2, 0.1))
        >>> [on_link.patches for on_link in patches_of(model, corners, [0.0] * 4)]
        [[[1, 2], [0, 3]]]
    """
    on_link: dict[str, list[int]] = {}
    frames = [model.frame(name) for name in points]
    for i, frame in enumerate(frames):
        on_link.setdefault(frame.link, []).append(i)
    places, found = [frame.placement[:3, 3] for frame in frames], []
    for link, mine in on_link.items():
        most = PATCH_POINTS if len(mine) <= REGION_POINTS else 2 * PATCH_POINTS
        for region in _clusters(mine, places, REGION_POINTS) if len(mine) >= MIN_POINTS else ():
            corners = np.array([places[i] for i in region])
            center = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
            own = [radii[i] for i in region]
            radius = float((np.linalg.norm(corners - center, axis=1) + extents(own)).max())
            about = center, radius, radius + max(ball_radii(own))
            found.append(LinkPatches(model.link_index(link), _clusters(region, places, most), *about))
    return found


def margins(
    model: Model, ground: Ground, state: State, found: Sequence[LinkPatches], dt: Any, part: float = 1.0
) -> list[Any]:
    """:meth:`LinkPatches.margin` (m) of each link at a state."""
    tree = nodes(model, state)
    poses = propagate_outward(tree, state.pose, lambda node, H: H @ node.H)
    start = model.base.selection @ state.twist
    twists = propagate_outward(tree, start, lambda node, nu: motion_to_child(node.H, nu) + node.S @ node.rates)
    heights = []
    for on_link in found:
        pose, twist = poses[on_link.link], twists[on_link.link]
        axes = ground.site(pose[:3, 3]).axes @ pose[:3, :3]
        arm, v, spin = (axes @ x for x in (on_link.center, twist[:3], twist[3:]))
        heights.append(on_link.margin((v + cross(spin, arm))[0], spin, dt, part))
    return heights


def ball_bottoms(model: Model, ground: Ground, state: State, found: Sequence[LinkPatches]) -> list[Any]:
    """:meth:`LinkPatches.bottom` (m) of each link at a state, over flat ground."""
    poses = propagate_outward(nodes(model, state), state.pose, lambda node, H: H @ node.H)
    centers = [poses[x.link][:3, :3] @ x.center + poses[x.link][:3, 3] for x in found]
    return [x.bottom(ground.site(center).height) for x, center in zip(found, centers, strict=True)]


def _clusters(points: list[int], places: Sequence[np.ndarray], most: int) -> list[list[int]]:
    """Points halved along the longest side of their box until no part has more than ``most``."""
    if len(points) <= most:
        return [sorted(points)]
    corners = np.array([places[i] for i in points])
    longest = int(np.argmax(np.ptp(corners, axis=0)))
    order = sorted(points, key=lambda i: (places[i][longest], i))
    half = len(order) // 2
    return [*_clusters(order[:half], places, most), *_clusters(order[half:], places, most)]


class PatchCondition(NamedTuple):
    """Conditions that a patch may touch in a step."""

    link: Any
    """condition that its link may; None: nobody asks"""
    patch: Any


class PatchActivity(NamedTuple):
    """Patches of a link before a step: which of them may touch in it."""

    nears: list[PatchCondition]
    heights: list[Any]
    """m: of the lowest point of each"""
    bottom: Any
    """m: a height above which all of them are"""

    @classmethod
    def of(cls, bottom: Any, heights: list[list[Any]], margin: Any, links: int) -> PatchActivity:
        """Patches of one of so many ``links`` whose points are at ``heights`` (m), near if one is below the ``margin``.

        Of many links most are far: if ``bottom`` (m) is above the margin, nobody looks at heights.
        """
        lowest = [functools.reduce(_lower, part) for part in heights]
        link = less(bottom, margin) if links >= MIN_LINKS else None
        known = lowest if link is None else [branch(link, height, bottom) for height in lowest]
        return cls([PatchCondition(link, less(height, margin)) for height in known], lowest, bottom)

    def touched(self, low: Any) -> Any:
        """Number of those that were left out, and are below ``low`` (m)."""
        pairs = zip(self.nears, self.heights, strict=True)
        missed = sum(where(less(height, low), where(near.patch, 0.0, 1.0), 0.0) for near, height in pairs)
        link = self.nears[0].link
        return missed if link is None else branch(link, missed, where(less(self.bottom, low), 1.0, 0.0))


def _lower(a: Any, b: Any) -> Any:
    """The lower of two heights; numbers that are not finite end a run anyway."""
    return where(less(a, b), a, b)


def guarded(near: PatchCondition | None, x: Any, other: Any = 0.0) -> Any:
    """``x`` of a patch where it is near (None: it always is), else the ``other``."""
    return x if near is None else _on_link(near, branch(near.patch, x, other), other)


def _on_link(near: PatchCondition, x: Any, other: Any = 0.0) -> Any:
    return x if near.link is None else branch(near.link, x, other)


def summed(nears: Sequence[PatchCondition | None], terms: Sequence[Any], start: Any = 0.0) -> Any:
    """Sum of the terms of points, patch by patch and link by link, as ``nears`` says."""
    links: dict[int | None, dict[int, list[int]]] = {}
    for i, near in enumerate(nears):
        link = id(near) if near is None or near.link is None else id(near.link)
        links.setdefault(link, {}).setdefault(id(near), []).append(i)
    for patches in links.values():
        firsts = [nears[part[0]] for part in patches.values()]
        parts = [sum((terms[i] for i in part[1:]), start=terms[part[0]]) for part in patches.values()]
        parts = [x if near is None else branch(near.patch, x, 0.0) for near, x in zip(firsts, parts, strict=True)]
        whole = sum(parts[1:], start=parts[0])
        start = start + (whole if firsts[0] is None else _on_link(firsts[0], whole))
    return start
