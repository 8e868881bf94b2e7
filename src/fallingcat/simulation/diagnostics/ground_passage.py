"""Collision shapes that passed through the ground, because the contact has no points on their links."""

from __future__ import annotations

import functools
from typing import Final

import numpy as np

from ...errors import FallingCatError
from ...geometry.collision_points import CollisionPoints, collision_points
from ...geometry.contact_points import Ground, touches
from ...geometry.point_positions import level_heights
from ...geometry.reduced_points import reduce_points
from ...model import Model
from ..outcome import Diagnostic, DiagnosticKind
from .motion import Motion

MAX_DEPTH: Final = 0.05
"""m: depth of a link in the ground, most of it below, from which on it is reported"""
MAX_STATES: Final = 8
"""States of a run, or robots of a batch, that are looked at."""


def passed_ground(run: Motion) -> Diagnostic | None:
    """Link that is in the ground with most of its collision shapes, at the end of a run or at one of some samples."""
    contact, model = run.problem.contact, run.problem.model
    floor = None if contact is None else contact.on_ground
    if floor is None or not _on_ground(model, getattr(floor, "points", ())):
        return None
    shapes = _unmonitored_points(model, floor.points)
    if shapes is None:
        return None
    try:
        ground = floor.ground(model)
    except (FallingCatError, NotImplementedError):  # a contact without a ground
        return None
    last, robots = len(run.times) - 1, np.flatnonzero(run.finite)[:MAX_STATES]
    samples = sorted({last} if run.many else {*np.linspace(last, 0, MAX_STATES).astype(int).tolist()})
    heights = _heights(model, ground, shapes, *(x[np.ix_(samples, robots)] for x in run.series.states[:2]))
    links, order, starts = _grouped_by_link(shapes)
    own = heights[..., order]
    depths = np.where(np.add.reduceat(own, starts, axis=-1) < 0.0, -np.minimum.reduceat(own, starts, axis=-1), 0.0)
    sunk = robots[(depths > MAX_DEPTH).any(axis=(0, 2))]
    if not len(sunk):
        return None
    deepest, name = max(zip(depths.max(axis=(0, 1)).tolist(), links, strict=True))
    advice = "leave out the points of the contact, and all collision shapes touch"
    message = f"link {name!r} is {deepest:.2g} m in the ground: the contact has no points there"
    found = Diagnostic(DiagnosticKind.BELOW_GROUND, message, deepest, MAX_DEPTH, advice, name)
    return run.about(found, sunk)


def _heights(
    model: Model, ground: Ground, shapes: CollisionPoints, poses: np.ndarray, joints: np.ndarray
) -> np.ndarray:
    """``K x N x points``: heights (m) of shapes at poses (K x N x 4 x 4) and joint coordinates (K x N x k)."""
    lead, points = poses.shape[:2], (shapes.points, shapes.radii)
    poses, joints = poses.reshape(-1, 4, 4), joints.reshape(lead[0] * lead[1], -1)
    if ground.flat:
        return level_heights(model, ground, poses, joints, *points, shapes.model).reshape(*lead, -1)
    states = (model.state(pose, own) for pose, own in zip(poses, joints, strict=True))
    found = [touches(shapes.model, state, shapes.points, ground, shapes.radii) for state in states]
    return np.array([[float(touch.site.height) for touch in each] for each in found]).reshape(*lead, -1)


@functools.lru_cache(maxsize=32)
def _grouped_by_link(shapes: CollisionPoints) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Links, indices of the points link by link, and where those of each link begin."""
    place, groups = {point: i for i, point in enumerate(shapes.points)}, shapes.groups
    order = np.array([place[point] for points in groups.values() for point in points])
    return tuple(groups), order, np.cumsum([0, *map(len, groups.values())])[:-1]


@functools.lru_cache(maxsize=32)
def _on_ground(model: Model, points: tuple[str, ...]) -> bool:
    """True for points that are links and frames: not between bodies, nor none, as those of a user's own contact."""
    return bool(points) and {*points} <= {*model.link_names, *(frame.name for frame in model.frames)}


@functools.lru_cache(maxsize=32)
def _unmonitored_points(model: Model, points: tuple[str, ...]) -> CollisionPoints | None:
    """Points of the collision shapes of links without contact points; None where there are none."""
    touching = {model.frame(point).link for point in points}
    names = [link.name for i, link in enumerate(model.links) if link.collisions and link.name not in touching and i]
    base = model.links[0]
    names = [base.name, *names] if model.m and base.collisions and base.name not in touching else names
    try:
        return reduce_points(collision_points(model, names)) if names else None
    except FallingCatError:  # a mesh that cannot be read
        return None
