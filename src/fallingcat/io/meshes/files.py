"""Triangles out of mesh files: STL, binary or as text, OBJ and MSH.  Nothing in them is trusted.

Coordinates are those of single precision: a binary STL holds no others, and MuJoCo keeps no others of an OBJ.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Final

import numpy as np

from ..diagnostics import Reader
from ..files import read_bytes
from ..limits import MAX_BYTES, MAX_FACES, MAX_LENGTH, MAX_MESH_BYTES
from .polygons import MAX_CORNERS, triangles_of

_STL: Final = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_VERTEX: Final = re.compile(rb"^[ \t]*v[ \t](.*)", re.MULTILINE)
_FACE: Final = re.compile(rb"^[ \t]*f[ \t](.*)", re.MULTILINE)
_VERTEX_OR_FACE: Final = re.compile(rb"^[ \t]*([vf])[ \t]", re.MULTILINE)
_OBJECT: Final = re.compile(rb"^[ \t]*[og](?=\s)", re.MULTILINE)
_AFTER_SLASH: Final = re.compile(rb"/\S*")  # texture coordinates and normals
_HEADER: Final = 84  # bytes before the first triangle of a binary STL; the last four of them count the triangles


@dataclass(frozen=True, eq=False)
class Mesh:
    """``vertices`` (n x 3, in the units of the file) and triangles, ``faces`` (m x 3, numbers of vertices)."""

    vertices: np.ndarray
    faces: np.ndarray
    whole: bool = True
    """True if nothing was left out: of an OBJ file other objects than the first, and faces with many corners."""


def read_mesh(reader: Reader, most: int = MAX_BYTES) -> tuple[Mesh, int]:
    """The mesh in the reader's file, and how many bytes that has, at most ``most``."""
    suffix = PurePath(reader.file).suffix.lower()
    readers = {".stl": _stl, ".obj": _obj, ".msh": _msh}
    if suffix not in readers:
        rule = f"the inertia of a mesh is computed from {', '.join(readers)} files, not from {suffix!r}"
        reader.fail(None, rule, "convert it, or give the body an <inertial>")
    data = read_bytes(reader, most)
    mesh = readers[suffix](data, reader)
    if len(mesh.vertices) < 4:
        reader.fail(None, f"a mesh has at least 4 vertices, not {len(mesh.vertices)}")
    if not (np.abs(mesh.vertices) <= MAX_LENGTH).all():  # false for nan, too
        reader.fail(None, f"the vertices of a mesh are finite numbers up to {MAX_LENGTH:g}")
    return mesh, len(data)


def _stl(data: bytes, reader: Reader) -> Mesh:
    count = int.from_bytes(data[_HEADER - 4 : _HEADER], "little")
    if count and len(data) == _HEADER + _STL.itemsize * count:
        corners = np.frombuffer(data, _STL, count, _HEADER)["corners"].reshape(-1, 3).astype(float)
    elif data.lstrip().startswith(b"solid"):
        corners = _points(data.split(b"vertex")[1:], reader)
    else:
        reader.fail(None, "this is no STL file: its size does not fit the number of its triangles")
    if len(corners) % 3:
        reader.fail(None, f"triangles have 3 corners each, and there are {len(corners):,}")
    first, numbers = unique_rows(corners)
    return Mesh(corners[first], numbers.reshape(-1, 3))


def unique_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of the first of all rows (n x 3) that are equal, in the order of their entries, and which each row is.

    What ``np.unique(rows, axis=0, return_index=True, return_inverse=True)`` finds by comparing whole rows, in a quarter
    of the time.

    Example:
        >>> unique_rows(np.array([[2.0, 0.0, 1.0], [1.0, 5.0, 0.0], [2.0, 0.0, 1.0]]))
        (array([1, 0]), array([1, 0, 1]))
    """
    order = np.lexsort(rows.T[::-1])
    ordered, new, place = rows[order], np.ones(len(rows), dtype=bool), np.empty(len(rows), dtype=np.int64)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def _msh(data: bytes, reader: Reader) -> Mesh:
    """MuJoCo's own: four counts - of vertices, normals, texture coordinates, faces - and these, one after the other."""
    counts = np.frombuffer(data[:16].ljust(16, b"\0"), "<i4").astype(int)
    vertices, normals, textures, faces = counts.tolist()
    if counts.min() < 0 or len(data) != 16 + 12 * vertices + 12 * normals + 8 * textures + 12 * faces:
        reader.fail(None, "this is no MSH file: its size does not fit the numbers in its first 16 bytes")
    points = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(float)
    numbers = np.frombuffer(data, "<i4", 3 * faces, len(data) - 12 * faces).reshape(-1, 3).astype(int)
    return Mesh(points, _existing(numbers, points, reader))


def read_drawn(reader: Reader) -> Mesh:
    """The mesh in the reader's file, to be drawn: of an OBJ file all objects."""
    suffix = PurePath(reader.file).suffix.lower()
    every: Callable[[bytes, Reader], Mesh] = partial(_obj, every=True)
    readers = {".stl": _stl, ".obj": every, ".msh": _msh}
    if suffix not in readers:
        reader.fail(None, f"meshes are drawn from {', '.join(readers)} and .dae files, not from {suffix!r}")
    mesh = readers[suffix](read_bytes(reader, MAX_MESH_BYTES), reader)
    if not (np.abs(mesh.vertices) <= MAX_LENGTH).all():  # false for nan, too
        reader.fail(None, f"the vertices of a mesh are finite numbers up to {MAX_LENGTH:g}")
    return mesh


def _obj(data: bytes, reader: Reader, every: bool = False) -> Mesh:
    """Vertices, and the faces of the first object that has some, or of all."""
    points = _points(_VERTEX.findall(data), reader)
    face = None if every else _FACE.search(data)
    other = _OBJECT.search(data, face.end()) if face else None
    corners, sizes = _faces(data if other is None else data[: other.start()], points, reader)
    whole = (sizes <= MAX_CORNERS).all() and (other is None or not _FACE.search(data, other.end()))
    return Mesh(points, triangles_of(points, corners, sizes, reader), bool(whole))


def _faces(data: bytes, points: np.ndarray, reader: Reader) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of vertices, from 0, of all faces one after the other, and how many each has.

    Lines are like ``f 7/1/3 8//3 9``, where vertices are counted from 1 on, or back from -1.
    """
    texts = _FACE.findall(data)
    if len(texts) > MAX_FACES:
        reader.fail(None, f"a mesh has at most {MAX_FACES:,} faces, not {len(texts):,}")
    numbers = _numbers(_AFTER_SLASH.sub(b"", b" 0 ".join(texts)), int)  # no vertex has the number 0: it ends a face
    ends = np.append(np.flatnonzero(numbers == 0), len(numbers))
    if len(ends) != max(len(texts), 1) or (texts and not len(numbers)):
        reader.fail(None, "a face is made of the numbers of vertices")
    corners, sizes = numbers[numbers != 0], np.diff(ends, prepend=-1) - 1
    if (corners < 0).any():
        is_vertex = np.array(_VERTEX_OR_FACE.findall(data)) == b"v"
        corners = np.where(corners < 0, corners + np.repeat(np.cumsum(is_vertex)[~is_vertex], sizes) + 1, corners)
    return _existing(corners - 1, points, reader), sizes


def _numbers(text: bytes, kind: type) -> np.ndarray:
    """The numbers in a text; none where anything else stands in it."""
    with warnings.catch_warnings(action="error", category=DeprecationWarning):  # what NumPy says, old or new
        try:
            return np.fromstring(text, dtype=kind, sep=" ") if text.strip() else np.zeros(0, dtype=kind)
        except (ValueError, DeprecationWarning):
            return np.zeros(0, dtype=kind)


def _existing(faces: np.ndarray, points: np.ndarray, reader: Reader) -> np.ndarray:
    if faces.size and not (faces.min() >= 0 and faces.max() < len(points)):
        reader.fail(None, f"a face is made of the numbers of vertices, and there are {len(points):,} of them")
    return faces


def _points(texts: Sequence[bytes], reader: Reader) -> np.ndarray:
    """``n x 3`` out of the first three words each, rounded to single precision."""
    if len(texts) > 3 * MAX_FACES:
        reader.fail(None, f"a mesh has at most {3 * MAX_FACES:,} vertices, not {len(texts):,}")
    numbers = _numbers(b" ".join(texts), float)
    if len(numbers) != 3 * len(texts):  # a fourth number, or a colour
        numbers = _numbers(b" ".join(word for text in texts for word in text.split(maxsplit=3)[:3]), float)
    if len(numbers) != 3 * len(texts):
        reader.fail(None, "a vertex has 3 numbers")
    with np.errstate(over="ignore"):  # infinite ones are refused later
        return numbers.astype(np.float32).astype(float).reshape(-1, 3)
