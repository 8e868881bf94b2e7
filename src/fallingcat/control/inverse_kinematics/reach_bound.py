"""Reach bound of an arm on a fixed base: goals beyond it need no search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...model import Joint, Model
from ..tasks.packing import fill_tasks
from ..tasks.task import Task


def is_beyond(model: Model, forms: Sequence[Task], numbers: Any, tolerance: float, limited: bool) -> bool:
    """True if the goal of one of these tasks is farther away than the stretched arm is long, by the tolerance."""
    if model.m:
        return False
    for task in fill_tasks(model, forms, numbers):
        spot = task.goal_point()
        if spot is not None:
            place, point, goal = spot
            center, length = reach_bound(model, place, limited)
            # sqrt(3): the tolerance holds for each coordinate
            if np.linalg.norm(goal - center) > length + np.linalg.norm(point) + np.sqrt(3.0) * tolerance:
                return True
    return False


@lru_cache(maxsize=64)
def reach_bound(model: Model, place: str, limited: bool = True) -> tuple[np.ndarray, float]:
    """Position of the first joint on the way to a place (3, m), and the length of the stretched arm (m).

    Prismatic joints are at their farther limit, if they are ``limited``.

    Example:
        >>> from fallingcat.model import robots
        >>> reach_bound(robots.planar_arm(), "end_effector")
        (array([0., 0., 1.]), 3.0)
    """
    frame = model.frame(place)
    way: list[Joint] = []
    link = model.link_index(frame.link)
    while link:
        way.insert(0, model.joints[link - 1])
        link = model.parents[link - 1]
    H = np.eye(4)
    while way and not way[0].kind.nv:
        H = H @ way.pop(0).transform(np.zeros(0))
    if not way:
        return (H @ frame.placement)[:3, 3], 0.0
    center = (H @ way[0].placement)[:3, 3]
    lengths = [*(_length(x.placement) for x in way[1:]), *(_length(x.offset) + _travel(x, limited) for x in way)]
    return center, float(sum(lengths)) + _length(frame.placement)


def _travel(joint: Joint, limited: bool) -> float:
    """Largest displacement of a joint's own origin: zero if it only rotates."""
    if not joint.kind.motion_subspace(joint.kind.neutral())[:3].any():
        return 0.0
    ends = (joint.limits.lower, joint.limits.upper)
    if joint.kind.nv > 1 or not limited or not np.isfinite(ends).all():
        return np.inf
    return max(_length(joint.kind.transform(np.array([end]))) for end in ends)


def _length(H: np.ndarray) -> float:
    return float(np.linalg.norm(H[:3, 3]))
