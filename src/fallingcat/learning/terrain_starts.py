"""Random places on terrain at which episodes start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contact import HeightField, Terrain
from ..dynamics import link_pose
from ..model import Model, State

START_SQUARE = 10.0
"""m: side of the square of terrain in which robots start, unless it is a height field"""


def spread_over_terrain(
    poses: np.ndarray, model: Model, stance: State, feet: Sequence[str], terrain: Terrain, rng: np.random.Generator
) -> None:
    """Spread poses of bases (N x 4 x 4, in place) over the terrain, so high that no foot of the stance is in it."""
    (low, high), inverse = _start_corners(terrain), np.linalg.inv(stance.pose)
    poses[:, :2, 3] += rng.uniform(low, high, (len(poses), 2))
    positions = np.stack([(inverse @ link_pose(model, stance, foot))[:, 3] for foot in feet], axis=1)
    heights = [[float(terrain.height(*foot[:2])) for foot in each.T] for each in poses @ positions]
    poses[:, 2, 3] += np.max(heights, axis=1)


def _start_corners(terrain: Any) -> tuple[np.ndarray, np.ndarray]:
    """Corners (m) of where robots start: of a height field but for its edges, else of a square."""
    if not isinstance(terrain, HeightField):
        return np.full(2, -START_SQUARE / 2.0), np.full(2, START_SQUARE / 2.0)
    low = np.array(terrain.origin)
    size = np.multiply(np.shape(terrain.heights) - np.ones(2), terrain.spacing)
    return low + 0.1 * size, low + 0.9 * size
