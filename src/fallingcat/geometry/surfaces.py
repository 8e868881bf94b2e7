"""Contact parameters of points and pairs of shapes, by the surfaces of their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..errors import ModelError
from ..model import Model, Surface
from ..model.shapes import Shape
from .body_pairs import BodyPair, pair_surfaces
from .collision_points import balls


@lru_cache(maxsize=32)
def ground_frictions(model: Model, points: tuple[str, ...]) -> tuple[float | None, ...]:
    """Coefficient of friction between the ground and each point; None where no surface is known.

    The surface of a point is that of the nearest collision shape of its link.

    Args:
        model: Robot.
        points: Names of links and frames.

    Returns:
        An entry for each point.
    """
    ground = model.ground or Surface()
    surfaces = [_surface_at(model, point) for point in points]
    return tuple(None if own is None else own.mixed(ground).sliding_friction for own in surfaces)


@lru_cache(maxsize=32)
def pair_frictions(model: Model, pairs: tuple[BodyPair, ...]) -> tuple[float | None, ...]:
    """Coefficient of friction of each pair of shapes; None where a surface is not known.

    Args:
        model: Scene.
        pairs: Shapes that may touch.

    Returns:
        An entry for each pair.
    """
    return tuple(None if surface is None else surface.sliding_friction for surface in pair_surfaces(model, pairs))


def _surface_at(model: Model, point: str) -> Surface | None:
    """Surface of the nearest collision shape of a point's link."""
    frame = model.frame(point)
    shapes = model.links[model.link_index(frame.link)].collisions
    if len({shape.surface for shape in shapes}) < 2:
        return shapes[0].surface if shapes else None
    at = frame.placement[:3, 3]
    return min(shapes, key=lambda shape: _distance(shape, at)).surface


def _distance(shape: Shape, at: Sequence[float] | np.ndarray) -> float:
    """Distance (m) of a point of a link from the nearest point that stands for a shape, or from its origin."""
    try:
        centers = np.array([center for center, _ in balls(shape)])
    except ModelError:  # of a kind without points
        centers = np.zeros((1, 3))
    places = centers @ shape.placement[:3, :3].T + shape.placement[:3, 3]
    return float(np.linalg.norm(places - at, axis=1).min())
