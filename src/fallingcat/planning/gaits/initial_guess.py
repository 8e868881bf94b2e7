"""Initial guesses: the plane of joints in which small gaits turn or carry a robot most, and circles in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiler.compilation import compile_step
from ...formulations import curvature
from ...model import Model
from .curves import Circle, Curve

RANDOM_CENTERS = 48
"""Number of random centers that are tried beside the given one."""


class Bend(NamedTuple):
    """Two directions of joints, and the displacement of small gaits in their plane."""

    center: np.ndarray
    """``n``: the shape"""
    first_direction: np.ndarray
    """``n``: a direction, with entries up to the room that a joint has"""
    second_direction: np.ndarray
    """``n``: another one; anticlockwise from the first the displacement is positive"""
    strength: float
    """displacement per area in the coordinates of the two directions"""
    axis: np.ndarray
    """``3``: axis of the rotation, or direction of the translation"""

    def circle(self, share: float) -> Curve:
        """Circle of shapes that takes a share of the room, beginning in the first direction."""
        return Circle(share).embedded(np.stack([self.first_direction, self.second_direction], axis=1), self.center)


def strongest_plane(forms: np.ndarray, room: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Directions (n, n) with entries up to ``room``, strength, and unit vector ``a`` (p) of the strongest plane.

    ``forms`` (p x n x n, skew) are curvatures.  Measured with ``room``, ``a . forms`` has its largest singular value
    in the plane, and ``a`` points along what the plane's gaits do: each follows from the other, and both from a good
    beginning.

    >>> form = np.zeros((1, 3, 3))
    >>> form[0, 0, 2], form[0, 2, 0] = 2.0, -2.0
    >>> first, second, strength, axis = strongest_plane(form, np.array([1.0, 1.0, 0.5]))
    >>> (float(round(strength, 12)), float(first @ second))
    (1.0, 0.0)
    """
    scaled = forms * room[:, None] * room
    p, n, _ = scaled.shape
    axis = np.linalg.svd(scaled.reshape(p, n * n))[0][:, 0]
    for _ in range(40):
        u, _sizes, _v = np.linalg.svd(np.einsum("p,pij->ij", axis, scaled))
        first, second = u[:, 0], u[:, 1]
        pull = np.einsum("pij,i,j->p", scaled, first, second)
        size = float(np.linalg.norm(pull))
        if size == 0.0:
            break
        axis, before = pull / size, axis
        if np.abs(axis - before).max() < 1e-12:
            break
    farthest = np.hypot(first, second).max()
    first, second = first * room / farthest, second * room / farthest
    pull = np.einsum("pij,i,j->p", forms, first, second)
    return first, second, float(np.linalg.norm(pull)), axis


def strongest_bends(
    model: Model, rows: np.ndarray, low: np.ndarray, high: np.ndarray, origin: np.ndarray
) -> list[Bend]:
    """Bends around ``origin`` and around random shapes between ``low`` and ``high`` (n), the strongest first.

    ``rows`` (p x m) pick what counts of the base's algebra; joints have room up to the nearer of the two bounds.
    """
    rng = np.random.default_rng(0)
    centers = np.vstack([np.clip(origin, low, high), rng.uniform(low, high, size=(RANDOM_CENTERS, model.n))])
    forms = np.einsum("pm,kmij->kpij", rows, compile_step(model, curvature, {}, ["joints"])(centers))
    out = []
    for center, form in zip(centers, forms, strict=True):
        room = np.minimum(high - center, center - low)
        first, second, strength, axis = strongest_plane(form, room)
        # the displacement is minus the curvature: go around the other way
        out.append(Bend(center, second, first, strength, axis))
    return sorted(out, key=lambda bend: -bend.strength)
