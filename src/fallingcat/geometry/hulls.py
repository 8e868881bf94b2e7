"""Convex hulls of meshes with few vertices: faces, edges and their normals, for contact between bodies."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from ..caching import cached_property
from ..errors import ModelError
from ..io.diagnostics import FileWarning
from ..io.meshes.mesh_loading import read_pieces, read_vertices
from ..model.shapes import Mesh
from .collision_points import EXTREME_DIRECTIONS

MAX_VERTICES = 16
"""Vertices of a hull: the cost of a contact grows with the square of their number."""
HULL_ERROR = 1e-3
"""Largest distance of vertices outside of a hull with fewer vertices, relative to the size of the mesh."""
MIN_CONVEXITY = 0.95
"""Least volume of a mesh in its hull that is called convex."""
FLATNESS = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)
"""Largest distances of corners of a face from its plane, relative to its size, tried in turn."""


@dataclass(frozen=True, eq=False)
class Hull:
    """Convex polyhedron around the origin of its frame."""

    vertices: np.ndarray
    """``V x 3`` (m)"""
    faces: tuple[tuple[int, ...], ...]
    """corners of each face, counterclockwise from outside"""
    error: float = 0.0
    """m: by which what it stands for is outside of it"""

    radius = 0.0
    extent = 4
    """more than a box, see :class:`.Solid`"""

    @cached_property
    def reach(self) -> float:
        """m: from its middle to what is farthest."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @cached_property
    def half_sizes(self) -> tuple[float, float, float]:
        """Half sizes (m) of a box around it."""
        x, y, z = np.abs(self.vertices).max(axis=0).tolist()
        return x, y, z

    @cached_property
    def inradius(self) -> float:
        """m: from its middle to the nearest face."""
        return float(self.offsets.min())

    @cached_property
    def normals(self) -> np.ndarray:
        """``F x 3``: of the faces, outward."""
        return np.array([_normal(self.vertices[list(face)]) for face in self.faces])

    @cached_property
    def offsets(self) -> np.ndarray:
        """``F`` (m): of the planes of the faces along their normals."""
        rows = zip(self.faces, self.normals, strict=True)
        return np.array([(self.vertices[list(face)] @ n).max() for face, n in rows])

    @cached_property
    def polygons(self) -> np.ndarray:
        """``F x K x 3`` (m): corners of the faces; those with fewer repeat their last."""
        most = max(map(len, self.faces))
        return np.array([self.vertices[[*face, *[face[-1]] * (most - len(face))]] for face in self.faces])

    def pad_polygons(self, count: int) -> np.ndarray:
        """:attr:`polygons` with ``count`` corners each."""
        more = count - self.polygons.shape[1]
        return np.concatenate([self.polygons, np.repeat(self.polygons[:, -1:], more, axis=1)], axis=1)

    @cached_property
    def face_sides(self) -> np.ndarray:
        """``F x K x 3``: unit normals of the edges that end at the corners of each face, in its plane and outward."""
        ways = self.polygons - np.roll(self.polygons, 1, axis=1)
        sides = np.cross(ways, self.normals[:, None])
        lengths = np.linalg.norm(sides, axis=2, keepdims=True)
        return np.divide(sides, lengths, out=np.zeros_like(sides), where=lengths > 0.0)

    @cached_property
    def edge_lengths(self) -> np.ndarray:
        """``E`` (m)."""
        first, last = (self.vertices[self.edges[0][:, k]] for k in (0, 1))
        return np.linalg.norm(last - first, axis=1)

    @cached_property
    def edge_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``E x 3`` each: start, direction, and normals of the faces left and right of each edge."""
        pairs, faces = self.edges
        first, last = (self.vertices[pairs[:, k]] for k in (0, 1))
        return first, (last - first) / self.edge_lengths[:, None], self.normals[faces[:, 0]], self.normals[faces[:, 1]]

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """``E x 2``: vertices of each edge, and the faces left and right of it, seen from outside."""
        left = _face_of_edge(self.faces)
        pairs = [(pair, (left[pair], left[pair[::-1]])) for pair in left if pair[0] < pair[1]]
        return np.array([pair for pair, _ in pairs]), np.array([faces for _, faces in pairs])

    def proximity_function(self, other: Any) -> Any:
        """Function that finds contacts with another solid, see :func:`.signed_distance.proximity_function`."""
        from .hull_contact import hull_meeting

        return hull_meeting(self, other)

    @property
    def volume(self) -> float:
        """m^3."""
        fans = [(face[0], face[i], face[i + 1]) for face in self.faces for i in range(1, len(face) - 1)]
        return sum(float(np.linalg.det(self.vertices[list(fan)])) for fan in fans) / 6.0


def box_hull(half: tuple[float, float, float]) -> Hull:
    """Hull of a box of half sizes (m)."""
    return hull_of(np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]) * half)


def hull_of(points: np.ndarray) -> Hull:
    """Convex hull of few points (n x 3) around the origin of their frame; faces in one plane are one face."""
    size = float(np.abs(points).max())
    for flatness in FLATNESS:
        faces = _faces(points, flatness * size)
        left = _face_of_edge(faces)
        corners = sorted({i for face in faces for i in face})
        closed = all(pair[::-1] in left for pair in left) and sum(map(len, faces)) == len(left)
        if faces and closed and len(corners) - len(left) // 2 + len(faces) == 2:  # Euler's formula
            place = {i: k for k, i in enumerate(corners)}
            return Hull(points[corners], tuple(tuple(place[i] for i in face) for face in faces))
    raise ModelError("these points have no convex hull with a volume")


def reduced_hull(points: np.ndarray) -> Hull:
    """Hull of at most :data:`MAX_VERTICES` of many points: those farthest outside are added one by one."""
    chosen = list(dict.fromkeys(int(i) for i in np.argmax(points @ EXTREME_DIRECTIONS.T, axis=0)))
    size = float(np.abs(points).max())
    while True:
        hull = hull_of(points[chosen])
        outside = (points @ hull.normals.T - hull.offsets).max(axis=1)
        error = max(float(outside.max()), 0.0)
        if len(chosen) >= MAX_VERTICES or error <= HULL_ERROR * size:
            return Hull(hull.vertices, hull.faces, error if error > FLATNESS[1] * size else 0.0)
        chosen.append(int(np.argmax(outside)))


@lru_cache(maxsize=256)
def mesh_hull(shape: Mesh) -> tuple[np.ndarray, Hull]:
    """Middle (3, in the frame of the shape) and hull of a mesh, in a frame there with the axes of the shape."""
    vertices = np.unique(read_vertices(shape), axis=0)
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    try:
        hull = reduced_hull(vertices - middle)
    except ModelError as error:
        raise ModelError(f"the mesh {shape.path!r}: {error}; give the link a simpler collision shape") from None
    _hull_warning(shape, hull, len(vertices))
    return middle, hull


def _hull_warning(shape: Mesh, hull: Hull, count: int) -> None:
    """A warning where a hull is not what its mesh is."""
    remarks = []
    filled = _volume(shape) / hull.volume
    if filled < MIN_CONVEXITY:
        remarks.append(f"it is not convex, and touches as its convex hull, of which it fills {100.0 * filled:.0f} %")
    if hull.error:
        few = f"its hull has {len(hull.vertices)} of {count:,} vertices"
        remarks.append(f"{few}, and is up to {1e3 * hull.error:.2g} mm inside of it")
    if remarks:
        warnings.warn(FileWarning(f"{shape.path}: {'; '.join(remarks)}"), stacklevel=2)


def _volume(shape: Mesh) -> float:
    """m^3: of the triangles of a mesh, as they are oriented; of one that is not closed, about."""
    total = 0.0
    for piece, _ in read_pieces(shape):
        corners = piece.vertices[piece.faces] * np.array(shape.scale)
        total += float(np.linalg.det(corners - corners.mean(axis=(0, 1))).sum()) / 6.0 if len(corners) else 0.0
    return abs(total)


def _faces(points: np.ndarray, tolerance: float) -> list[tuple[int, ...]]:
    """Faces of the hull: planes through three points with all others on one side, and the points on them in order."""
    found: dict[frozenset[int], np.ndarray] = {}
    triples = np.array(list(combinations(range(len(points)), 3)))
    a, b, c = (points[triples[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    scale = float(np.abs(points).max())
    # triples nearly in a line: their normal is rounding
    for k in np.flatnonzero(lengths > 1e-9 * scale * scale):
        normal = normals[k] / lengths[k]
        heights = (points - a[k]) @ normal
        for side in (1.0, -1.0):
            if (side * heights).max() <= tolerance:
                on = frozenset(np.flatnonzero(np.abs(heights) <= tolerance).tolist())
                found.setdefault(on, side * normal)
    whole = [on for on in found if not any(on < other for other in found)]
    return [_face_corners(points, sorted(on), found[on]) for on in whole]


def _face_corners(points: np.ndarray, on: list[int], normal: np.ndarray) -> tuple[int, ...]:
    """Corners of a face counterclockwise about its normal, without points on its edges."""
    own = points[on] - points[on].mean(axis=0)
    first = own[np.argmax(np.linalg.norm(own, axis=1))]
    angles = np.arctan2(own @ np.cross(normal, first) / np.linalg.norm(first), own @ first / np.linalg.norm(first))
    ring = [on[i] for i in np.argsort(angles)]
    n = len(ring)
    turns = [
        np.cross(points[ring[i]] - points[ring[i - 1]], points[ring[(i + 1) % n]] - points[ring[i]]) @ normal
        for i in range(n)
    ]
    size = float(np.abs(points).max())
    # a corner that does not turn lies on an edge: without it the face is the same
    return tuple(corner for corner, turn in zip(ring, turns, strict=True) if turn > 1e-9 * size * size)


def _face_of_edge(faces: list[tuple[int, ...]] | tuple[tuple[int, ...], ...]) -> dict[tuple[int, int], int]:
    """The face left of each directed edge."""
    return {(face[i - 1], face[i]): k for k, face in enumerate(faces) for i in range(len(face))}


def _normal(corners: np.ndarray) -> np.ndarray:
    """Unit normal of a polygon, by all of its corners."""
    area = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
    return np.asarray(area / np.linalg.norm(area))
