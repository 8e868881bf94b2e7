"""The files of meshes that a model names, opened: by who draws them, or lets them touch."""

from __future__ import annotations

import numpy as np

from ...model.shapes import Color
from ...model.shapes import Mesh as Shape
from ..diagnostics import Reader
from ..files import read_bytes
from ..limits import MAX_MESH_BYTES
from ..uris import located
from .collada import read_collada
from .files import Mesh, read_drawn


def read_pieces(shape: Shape) -> list[tuple[Mesh, Color | None]]:
    """The parts of a mesh's file in its own coordinates, before ``scale``, each with its color if it says one."""
    reader = Reader(located(shape))
    if str(reader.file).lower().endswith(".dae"):
        return list(read_collada(read_bytes(reader, MAX_MESH_BYTES), reader))
    return [(read_drawn(reader), None)]


def read_vertices(shape: Shape) -> np.ndarray:
    """``n x 3`` (m): the vertices of a mesh in the frame of its shape, at least one."""
    parts = [piece.vertices for piece, _ in read_pieces(shape)]
    vertices = np.concatenate([np.zeros((0, 3)), *parts])
    if not len(vertices):
        Reader(shape.path).fail(None, "the mesh has no vertices")
    return vertices * np.array(shape.scale)
