"""The meshes of links as a page can hold them: read, thinned out, and written in few bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ..errors import FileError
from ..io.meshes.files import unique_rows
from ..io.meshes.mesh_loading import read_pieces
from ..model.shapes import Color, Mesh
from ..records import concise

MAX_FACES: Final = 150_000
"""Largest number of faces of a robot: about 2 MB of a page."""
_LEVELS: Final = 65_535  # a coordinate has 16 bits


@concise
@dataclass(frozen=True, eq=False)
class Triangles:
    """Mesh of triangles.

    Example:
        >>> mesh = Triangles(np.eye(3), np.array([[0, 1, 2]]))
        >>> mesh.points.shape, len(mesh.faces)
        ((3, 3), 1)
    """

    points: np.ndarray
    """``n x 3`` (m)"""
    faces: np.ndarray
    """``m x 3``: numbers of points"""

    def data(self) -> dict[str, Any]:
        """Coordinates as steps of a box around them, in base 64.

        Returns:
            Data for JSON.
        """
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        step = np.maximum((high - low) / _LEVELS, 1e-12)
        wide = len(self.points) > _LEVELS
        return {
            "v": _base64_text(np.round((self.points - low) / step).astype("<u2")),
            "f": _base64_text(self.faces.astype("<u4" if wide else "<u2")),
            "low": [float(f"{x:.7g}") for x in low],
            "step": [float(f"{x:.7g}") for x in step],
            "wide": wide,
        }


Pieces = list[tuple[Triangles, Color | None]]
Key = tuple[str, str]
"""Path and folder of a mesh."""


def read_meshes(meshes: Sequence[Mesh], most: int = MAX_FACES) -> tuple[dict[Key, Pieces], list[tuple[str, str]]]:
    """Pieces of every file, ``most`` faces together; and which files cannot be drawn, with the reason."""
    found: dict[Key, Pieces] = {}
    troubles: list[tuple[str, str]] = []
    for mesh in meshes:
        key = mesh.path, mesh.folder
        if key in found:
            continue
        try:
            found[key] = _pieces(mesh)
        except FileError as error:
            found[key] = []
            troubles.append((mesh.path.rpartition("/")[2], error.rule))
    return _simplified_pieces(found, most), troubles


def _pieces(mesh: Mesh) -> Pieces:
    pieces = read_pieces(mesh)
    return [(Triangles(each.vertices, each.faces), color) for each, color in pieces if len(each.faces)]


def _simplified_pieces(found: Mapping[Key, Pieces], most: int) -> dict[Key, Pieces]:
    """All pieces with so many faces at most that together they have ``most``: small ones keep theirs."""
    counts = sorted(len(piece.faces) for pieces in found.values() for piece, _ in pieces)
    share, left = most, most
    for i, count in enumerate(counts):
        share = left // (len(counts) - i)
        if count > share:
            break
        left -= count
    else:
        share = most
    return {key: [(simplify_mesh(piece, share), color) for piece, color in pieces] for key, pieces in found.items()}


def simplify_mesh(mesh: Triangles, most: int) -> Triangles:
    """Mesh with at most ``most`` faces.

    Points that share a cell of a grid become their mean; the grid is as fine as that allows.

    Example:
        >>> grid = np.stack(np.meshgrid(*3 * [np.linspace(0.0, 1.0, 9)]), axis=-1).reshape(-1, 3)
        >>> faces = np.arange(3 * (len(grid) // 3)).reshape(-1, 3)
        >>> len(simplify_mesh(Triangles(grid, faces), 50).faces) <= 50
        True
    """
    if len(mesh.faces) <= most:
        return mesh
    size = float(np.ptp(mesh.points, axis=0).max()) or 1.0
    coarse, fine, best = 1.0, 2048.0, _clustered_vertices(mesh, size)
    for _ in range(9):
        cells = float(np.sqrt(coarse * fine))
        label, faces = tried = _clustered_vertices(mesh, size / cells)
        if len(faces) <= most:
            coarse, best = cells, tried
        else:
            fine = cells
    label, faces = best
    count = np.bincount(label)
    return Triangles(np.stack([np.bincount(label, weights=x) / count for x in mesh.points.T], axis=1), faces)


def _clustered_vertices(mesh: Triangles, cell: float) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each point, numbered, and the faces that are left between cells, each once."""
    places = np.floor((mesh.points - mesh.points.min(axis=0)) / cell).astype(np.int64)
    _, label = np.unique(places @ np.array([1, 4096, 4096**2]), return_inverse=True)
    label = label.reshape(-1)
    faces = label[mesh.faces]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    first = unique_rows(np.sort(faces, axis=1))[0]
    return label, faces[np.sort(first)]


def _base64_text(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
