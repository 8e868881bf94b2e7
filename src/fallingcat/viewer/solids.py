"""Simple solids as triangles, for viewers that know nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..visualization import Box, Capsule, Shape, Solid
from ..visualization.appearance import ball, tube
from ..visualization.meshes import Triangles

_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
_CUBE = Triangles(_CORNERS, np.concatenate([_SIDES[:, [0, 1, 2]], _SIDES[:, [0, 2, 3]]]))


def triangles_of(shape: Shape) -> Triangles:
    """Triangles of a solid in the frame of its part.

    Example:
        >>> triangles_of(Box((0.0, 0.0, 1.0), (0.1, 0.2, 0.3))).points.max(axis=0)
        array([0.1, 0.2, 1.3])
    """
    if isinstance(shape, Solid):
        H = np.asarray(shape.transform, dtype=float)
        return _place_mesh(shape.triangles, H[:3, :3], H[:3, 3])
    if isinstance(shape, Box):
        return _place_mesh(
            _CUBE, np.asarray(shape.axes) * np.asarray(shape.half), np.asarray(shape.center, dtype=float)
        )
    if isinstance(shape, Capsule):
        return _capsule(np.asarray(shape.start, dtype=float), np.asarray(shape.end, dtype=float), shape.radius)
    return Triangles(np.asarray(shape.corners, dtype=float), np.array([[0, 1, 2]]))


def _capsule(start: np.ndarray, end: np.ndarray, radius: float) -> Triangles:
    way = end - start
    length = float(np.linalg.norm(way))
    ends = [_place_mesh(ball(), radius * np.eye(3), at) for at in ([start, end] if length else [start])]
    if not length:
        return ends[0]
    z = way / length
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x = x / np.linalg.norm(x)
    axes = np.stack([radius * x, radius * np.cross(z, x), way], axis=1)
    return _merge_meshes([*ends, _place_mesh(tube(), axes, 0.5 * (start + end))])


def _place_mesh(mesh: Triangles, axes: Any, origin: Any) -> Triangles:
    return Triangles(mesh.points @ np.asarray(axes).T + origin, mesh.faces)


def _merge_meshes(meshes: list[Triangles]) -> Triangles:
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Triangles(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces))
