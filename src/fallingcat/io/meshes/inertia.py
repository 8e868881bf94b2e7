"""Volume, center and inertia of a triangle mesh, by the four rules of MuJoCo's ``<mesh inertia="...">``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

RULES: Final = ("legacy", "exact", "convex", "shell")
MIN_MEASURE: Final = 1e-15
"""Smallest volume, and smallest double area (m^3, m^2): MuJoCo takes no smaller ones."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A body of density 1: its ``volume`` (of a shell its area), ``center`` (3), and ``inertia`` about it (3 x 3)."""

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def solid(corners: np.ndarray, rule: str) -> Solid:
    r"""The solid between the triangles ``corners`` (m x 3 x 3) and a point inside.

    A pyramid over a triangle :math:`a, b, c` with its tip at the origin has the volume
    :math:`V = a \cdot (b \times c) / 6` and the second moments
    :math:`\int x x^T = V/20 \, (s s^T + a a^T + b b^T + c c^T)`, :math:`s = a + b + c`; a triangle has its area and
    12 in their place.  ``legacy`` adds volumes without their sign: what is not convex weighs too much.  The volume may
    be negative or zero: triangles that look inwards, or a flat mesh.

    Example:
        >>> a, b, c, d = np.vstack([np.zeros(3), np.eye(3)])
        >>> tetrahedron = solid(np.array([[a, c, b], [a, b, d], [a, d, c], [b, c, d]]), "exact")
        >>> 6 * tetrahedron.volume, 4 * tetrahedron.center
        (1.0, array([1., 1., 1.]))
    """
    corners = corners[2.0 * areas(corners) >= MIN_MEASURE]
    area, middles = areas(corners), corners.mean(axis=1)
    if area.sum() < MIN_MEASURE:
        return Solid(0.0, np.zeros(3), np.zeros((3, 3)))
    tip = area @ middles / area.sum()
    weights = _weights(corners - tip, area, rule)
    volume = float(weights.sum())
    if volume < MIN_MEASURE:
        return Solid(volume, tip, np.zeros((3, 3)))
    center = weights @ (0.75 * middles + 0.25 * tip) / volume
    corners = corners - center
    weights = _weights(corners, area, rule)  # of pyramids with their tip at the center
    sums = corners.sum(axis=1)
    moments = np.einsum("m,mi,mj->ij", weights, sums, sums) + np.einsum("m,mki,mkj->ij", weights, corners, corners)
    moments /= 12.0 if rule == "shell" else 20.0
    return Solid(float(weights.sum()), center, np.trace(moments) * np.eye(3) - moments)


def hull(vertices: np.ndarray) -> np.ndarray:
    """``m x 3``: triangles around the convex hull, seen from outside counterclockwise.  Needs SciPy."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(vertices)
    faces = found.simplices.copy()
    inwards = np.einsum("mi,mi->m", _normals(vertices[faces]), found.equations[:, :3]) < 0.0
    faces[inwards] = faces[inwards][:, [0, 2, 1]]
    return np.asarray(faces)


def is_oriented(faces: np.ndarray) -> bool:
    """True if no edge is run through twice in the same direction, as on a closed surface seen from outside."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return len(np.unique(edges, axis=0)) == len(edges)


def areas(corners: np.ndarray) -> np.ndarray:
    """Areas of all triangles (m^2)."""
    return 0.5 * np.linalg.norm(_normals(corners), axis=1)


def _normals(corners: np.ndarray) -> np.ndarray:
    """``m x 3``: twice the area, along the normal."""
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


def _weights(corners: np.ndarray, area: np.ndarray, rule: str) -> np.ndarray:
    """Weights of the triangles: the volume of the pyramid between each and the origin, or its area."""
    if rule == "shell":
        return area
    volumes = np.einsum("mi,mi->m", corners.mean(axis=1), _normals(corners)) / 6.0
    return np.abs(volumes) if rule == "legacy" else volumes
