"""Collision shapes as few points: those of a link that a plane can touch first, up to a stated depth."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Final

import numpy as np

from ..model import Model
from .collision_points import EXTREME_DIRECTIONS, CollisionPoints, collision_points
from .ellipsoids import ball_radii, depth_below, is_rim, radii_and_margin

MAX_DEPTH: Final = 3e-3
"""m: how far what is left out may be below the points of its link, on a plane in any direction."""
MAX_RELATIVE_DEPTH: Final = 0.05
"""The same relative to the extent of the points of a link, if that is more."""
DIRECTIONS: Final = 400


def reduce_points(points: CollisionPoints, depth: float = MAX_DEPTH) -> CollisionPoints:
    """The points of each link that stand for all: on a plane no other is lower by more than ``depth``.

    A plane touches the convex hull of a link, so most points of a link with many shapes never do.  Points are taken
    greedily, the farthest first, until the support function of those taken is that of all, less ``depth``, in
    :data:`DIRECTIONS` directions.

    Args:
        points: Points and balls of a robot.
        depth: m, or :data:`MAX_RELATIVE_DEPTH` of the extent of a link, whichever is more.

    Returns:
        Some of the points, in their order; the model is the same.

    Example:
        >>> import fallingcat as fc
        >>> from fallingcat.model.shapes import Box, Sphere
        >>> shapes = Box((0.2, 0.2, 0.2)), Sphere(0.05)
        >>> body = fc.Link("body", fc.Body(1.0, (0, 0, 0), np.eye(3)), collisions=shapes)
        >>> whole = fc.contact.collision_points(fc.Model("brick", fc.lie.SE3(), (body,)))
        >>> len(whole.points), len(reduce_points(whole).points)
        (9, 8)
    """
    kept = sorted(i for mine in _by_link(points) for i in _extreme(points, mine, depth))
    chosen = tuple(points.points[i] for i in kept)
    return CollisionPoints(points.model, chosen, tuple(points.radii[i] for i in kept))


@functools.lru_cache(maxsize=32)
def shape_points(model: Model) -> CollisionPoints:
    """All collision shapes of a robot as :func:`reduce_points` points, and the model with their frames alone.

    Args:
        model: Robot with collision shapes.

    Returns:
        Points and balls, the same object for the same model.
    """
    whole = reduce_points(collision_points(model))
    wanted = {*whole.points} | {frame.name for frame in model.frames}
    frames = tuple(frame for frame in whole.model.frames if frame.name in wanted)
    return whole._replace(model=replace(model, frames=frames))


def _by_link(points: CollisionPoints) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for i, name in enumerate(points.points):
        found.setdefault(points.model.frame(name).link, []).append(i)
    return list(found.values())


def _extreme(points: CollisionPoints, mine: list[int], depth: float) -> list[int]:
    """Indices of the points of one link that are kept."""
    placements = np.array([points.model.frame(points.points[i]).placement for i in mine])
    centers, ways, around = placements[:, :3, 3], _unit_directions(), [points.radii[i] for i in mine]
    ovals = np.array([np.zeros(3) if radii is None else radii for radii, _ in map(radii_and_margin, around)])
    beyond = depth_below(ovals[:, None], ways @ placements[:, :3, :3])
    reach = centers @ ways.T + beyond + np.array(ball_radii(around))[:, None]  # points x directions
    support = reach.max(axis=0)
    enough = max(depth, MAX_RELATIVE_DEPTH * float((support + (-centers @ ways.T).max(axis=0)).max()))
    taken = [int(reach[:, 0].argmax())]
    best = reach[taken[0]]
    while (missing := support - best).max() > enough:
        taken.append(int(reach[:, int(missing.argmax())].argmax()))
        best = np.maximum(best, reach[taken[-1]])
    return [mine[i] for i in {*taken, *_on_faces(placements, ovals, [is_rim(one) for one in around], taken)}]


def _on_faces(placements: np.ndarray, ovals: np.ndarray, rims: list[bool], taken: list[int]) -> list[int]:
    """Points on the faces of rims that are taken: a disc stands on them, not on the rim alone."""
    found = set[int]()
    for i in (i for i in taken if rims[i]):
        away = (placements[:, :3, 3] - placements[i, :3, 3]) @ placements[i, :3, :3]
        on = (np.abs(away[:, 2]) <= 1.01 * ovals[i, 2]) & (np.hypot(away[:, 0], away[:, 1]) < ovals[i, 0])
        found |= {int(k) for k in np.flatnonzero(on) if not ovals[k].any()}
    return [*found]


@functools.lru_cache(maxsize=1)
def _unit_directions() -> np.ndarray:
    """Unit vectors all around, along axes and diagonals first (n x 3)."""
    k = np.arange(DIRECTIONS) + 0.5
    # Fibonacci spiral: turns of the golden angle cover a sphere evenly, without a pole
    z, turn = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    spiral = np.stack([np.sqrt(1.0 - z * z) * np.cos(turn), np.sqrt(1.0 - z * z) * np.sin(turn), z], axis=1)
    corners = EXTREME_DIRECTIONS / np.linalg.norm(EXTREME_DIRECTIONS, axis=1)[:, None]
    return np.concatenate([corners, spiral])
