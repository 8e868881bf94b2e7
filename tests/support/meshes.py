"""Convex polyhedra as mesh files, and their inertia."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fallingcat as fc
from fallingcat.geometry.hulls import Hull
from fallingcat.model.shapes import Mesh


def triangles(hull: Hull) -> np.ndarray:
    """``m x 3``: corners of triangles around a hull."""
    return np.array([(face[0], face[i], face[i + 1]) for face in hull.faces for i in range(1, len(face) - 1)])


def mesh(folder: Path, name: str, hull: Hull, faces: Any = None) -> Mesh:
    """A mesh whose file is written."""
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in hull.vertices.tolist()]
    rows += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in (triangles(hull) if faces is None else faces).tolist()]
    (folder / name).write_text("\n".join(rows) + "\n")
    return Mesh(name, folder=str(folder))


def solid(hull: Hull, density: float) -> fc.Body:
    """Body of a uniform hull: sum over tetrahedra to the origin."""
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for corners in hull.vertices[triangles(hull)]:
        v, total = np.linalg.det(corners) / 6.0, corners.sum(axis=0)
        volume, first = volume + v, first + v * total / 4.0
        second += v / 20.0 * (corners.T @ corners + np.outer(total, total))
    second -= np.outer(first, first) / volume
    return fc.Body(density * volume, first / volume, density * (np.trace(second) * np.eye(3) - second))


def stone(folder: Path, name: str, hull: Hull, density: float | None = 1000.0) -> fc.Model:
    """A free body with the shape of a hull; fixed where there is no density."""
    shape = mesh(folder, name, hull)
    body = fc.Body() if density is None else solid(hull, density)
    base = fc.lie.Trivial() if density is None else fc.lie.SE3()
    return fc.Model("stone", base, (fc.Link("body", body, (shape,), (shape,)),))


def polyhedron(rng: np.random.Generator, count: int, size: float = 0.1) -> np.ndarray:
    """``count x 3``: corners of a random polyhedron around the origin, no four of them in a plane."""
    points = rng.normal(size=(count, 3))
    points *= size * rng.uniform(0.6, 1.0, 3) / np.linalg.norm(points, axis=1)[:, None]
    return points - points.mean(axis=0)
