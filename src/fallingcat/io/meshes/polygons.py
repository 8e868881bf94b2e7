"""Faces of an OBJ file to triangles, cut where MuJoCo cuts them: the volume of a face that is not plane depends on it.

MuJoCo reads OBJ with tinyobjloader, which works in single precision; so does this file.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..diagnostics import Reader

MAX_CORNERS: Final = 100
"""Largest number of corners of a face; MuJoCo leaves out those with more."""
MAX_WORK: Final = 5_000_000
"""For one mesh: attempts to cut ears off its polygons, each counted as the number of their corners plus 100."""


def triangles_of(points: np.ndarray, corners: np.ndarray, sizes: np.ndarray, reader: Reader) -> np.ndarray:
    """``m x 3`` numbers of ``points`` (n x 3); ``corners`` has those of all faces, of ``sizes``, one after the other.

    What has fewer than three corners is left out, as are faces with more than :data:`MAX_CORNERS`.

    Example:
        >>> square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]])
        >>> triangles_of(square, np.array([0, 1, 2, 3]), np.array([4]), Reader("square.obj")).tolist()
        [[0, 1, 3], [1, 2, 3]]
    """
    starts, single = np.cumsum(sizes) - sizes, points.astype(np.float32)
    triangles, quads = (corners[starts[sizes == n][:, None] + np.arange(n)] for n in (3, 4))
    cut, left = [triangles, *_halves(single, quads)], MAX_WORK
    many = (sizes > 4) & (sizes <= MAX_CORNERS)
    for start, size in zip(starts[many], sizes[many], strict=True):
        face = corners[start : start + size]
        ears, left = _ears(single[face], left)
        if left < 0:
            reader.fail(None, "the faces of the mesh have too many corners", "triangulate it")
        cut.append(face[ears])
    return np.concatenate(cut)


def _halves(points: np.ndarray, quads: np.ndarray) -> list[np.ndarray]:
    """Quadrangles (m x 4), cut along the shorter diagonal."""
    p = points[quads]
    x, y, z = np.square(p[:, [2, 3]] - p[:, [0, 1]]).transpose(2, 0, 1)
    squares = x + y + z
    one, other = quads[squares[:, 0] < squares[:, 1]], quads[~(squares[:, 0] < squares[:, 1])]
    return [one[:, [0, 1, 2]], one[:, [0, 2, 3]], other[:, [0, 1, 3]], other[:, [1, 2, 3]]]


def _ears(corners: np.ndarray, left: int) -> tuple[np.ndarray, int]:
    """A polygon (n x 3), ear after ear: triangles (m x 3, numbers of corners), and what is left of the allowed work.

    An ear is a corner that turns the right way - judged, as there, by the triangle of its edge and the origin - with no
    other corner inside.  Where there is none left, the rest of the polygon is dropped.
    """
    plane = corners[:, _seen_from(corners)]
    rest, ears = list(range(len(corners))), []
    start, tries = 0, len(rest)
    while len(rest) > 3 and tries > 0 and left >= 0:
        count, tries = len(rest), tries - 1
        left -= count + 100
        start -= count if start >= count else 0
        ear = [rest[(start + k) % count] for k in range(3)]
        others = [rest[(start + k) % count] for k in range(3, count)]
        if _turns_back(plane[ear]) or _inside_triangle(plane[ear], plane[others]).any():
            start += 1
            continue
        ears.append(ear)
        del rest[(start + 1) % count]
        tries = len(rest) + 1 if tries else 0
    return np.array([*ears, rest] if len(rest) == 3 else ears, dtype=int).reshape(-1, 3), left


def _seen_from(corners: np.ndarray) -> list[int]:
    """The two axes that show a polygon largest, at its first corner that is not straight."""
    edges = np.roll(corners, -1, axis=0) - corners
    turns = np.abs(np.cross(edges, np.roll(edges, -1, axis=0)))
    bent = np.flatnonzero((turns > np.finfo(np.float32).eps).any(axis=1))
    x, y, z = turns[bent[0]] if len(bent) else (1.0, 0.0, 0.0)
    if x > y and x > z:
        return [1, 2]
    return [0, 1] if z > x and z > y else [0, 2]


def _turns_back(ear: np.ndarray) -> bool:
    (ax, ay), (bx, by), (cx, cy) = ear
    turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx)
    return bool(turn * ((ax * by - ay * bx) * np.float32(0.5)) < 0.0)


def _inside_triangle(ear: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Mask of points (n x 2) inside a triangle (3 x 2): those whose way to the right crosses its border once."""
    x, y = points.T
    inside = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(ear, np.roll(ear, 1, axis=0), strict=True):
        crossed = (y0 > y) != (y1 > y)
        if crossed.any():
            inside ^= crossed & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return inside
